-- Schema version 10: what each act was asked for.

-- A hash of the request that an act of this device answered, so that a retry is told from another request under the same key.
-- Kept by a rebuild; dropped with the words of the act. Acts from before this version have none.
CREATE TABLE requests (
    op   BLOB PRIMARY KEY,
    hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;
