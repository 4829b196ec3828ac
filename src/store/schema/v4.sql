-- What a language model answered about a statement, by the statement's hash and the normaliser's version. No truth: it follows from both and can be
-- asked for again; a rebuild keeps it, it never syncs, and a redaction drops that of its words.
CREATE TABLE readings (
    statement  BLOB NOT NULL,
    normaliser TEXT NOT NULL,
    answer     TEXT NOT NULL,
    PRIMARY KEY (statement, normaliser)
) STRICT, WITHOUT ROWID;
