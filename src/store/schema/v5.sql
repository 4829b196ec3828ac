-- Schema version 5: reference chunks, made of `local.chunk` events.

CREATE TABLE chunks (
    n       INTEGER PRIMARY KEY REFERENCES events (n),
    scope   INTEGER NOT NULL REFERENCES scopes (n),
    path    TEXT NOT NULL,
    first   INTEGER NOT NULL,                -- lines of the file, from 1
    last    INTEGER NOT NULL,
    content BLOB NOT NULL,                   -- hash of its text
    active  INTEGER NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 0       -- in the vector index
) STRICT;
CREATE INDEX chunks_in_file ON chunks (scope, path, first) WHERE active = 1;
CREATE INDEX chunks_content ON chunks (content);
CREATE INDEX chunks_without_vector ON chunks (n) WHERE active = 1 AND indexed = 0;

-- The text index over active chunks: words that are stems already. `place` holds the scope as a word.
CREATE VIRTUAL TABLE chunk_texts USING fts5 (
    text, path, place,
    tokenize = "unicode61 remove_diacritics 2",
    detail = full
);
INSERT INTO chunk_texts (chunk_texts, rank) VALUES ('secure-delete', 1);

-- Vectors of another model, made beside those in use until all are there; what is begun stands in the settings `vectors.next.*`.
CREATE TABLE vectors_next (
    claim INTEGER PRIMARY KEY REFERENCES events (n),
    code  BLOB NOT NULL
) STRICT;
