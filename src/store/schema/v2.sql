-- Schema version 2.

-- Phrases of active guarded claims: pairs of words that stand near each other, by the hash of scope and phrase. They belong
-- to the candidate index, and are dropped by a rebuild.
CREATE TABLE phrases (
    phrase INTEGER NOT NULL,
    claim  INTEGER NOT NULL REFERENCES claims (n),
    PRIMARY KEY (phrase, claim)
) STRICT, WITHOUT ROWID;

-- Vectors. They follow from the statements and the embedding model, so they are no truth; but making
-- them again takes long, so a rebuild keeps them.

-- The exact vector of a claim, of any status: one signed byte a dimension, to a scale of its own.
CREATE TABLE vectors (
    claim INTEGER PRIMARY KEY REFERENCES events (n),
    code  BLOB NOT NULL
) STRICT;

-- Claims that wait for their vector: active, in the text index (1), and not in the vector index (4).
CREATE INDEX claims_without_vector ON claims (n) WHERE status = 0 AND indexed & 5 = 1;

-- The vector index itself, `vector_index`, has the model's dimension in its definition: it is made with the first vector.
