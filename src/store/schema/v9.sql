-- Schema version 9: what a claim means together with its reason.

-- Vectors of statement and reason as one text, in the form of `vectors`. Not searched: those of claims that were found are compared.
CREATE TABLE reason_vectors (
    claim INTEGER PRIMARY KEY REFERENCES events (n),
    code  BLOB NOT NULL
) STRICT;

-- Claims that were not looked at for it yet (8), and have a vector (4).
CREATE INDEX claims_without_reason_vector ON claims (n) WHERE status = 0 AND indexed & 12 = 4;
