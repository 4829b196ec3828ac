-- Schema version 1. Never edited once released: changes are further files, applied in order.

-- What belongs to the memory and is no event: the clock, this installation's epoch, versions of what was derived.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE scopes (
    n        INTEGER PRIMARY KEY,
    org      TEXT NOT NULL,
    project  TEXT NOT NULL,
    identity TEXT,
    latest   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (org, project)
) STRICT;

-- Truth: both logs. The columns beside header, signature, salt and body are read from the header.
CREATE TABLE events (
    n           INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE,
    log         INTEGER NOT NULL,            -- 0 shared, 1 local
    scope       INTEGER NOT NULL REFERENCES scopes (n),
    author      BLOB NOT NULL,
    epoch       INTEGER NOT NULL,            -- the bits of an unsigned number
    seq         INTEGER NOT NULL,
    wall        INTEGER NOT NULL,
    tick        INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    op          BLOB NOT NULL,
    who         TEXT NOT NULL,
    agent       TEXT,
    effective   INTEGER NOT NULL DEFAULT 1,  -- derived: it was not undone
    header      BLOB NOT NULL,
    signature   BLOB NOT NULL,
    salt        BLOB,                        -- NULL with the body once redacted
    body        BLOB,
    received_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_op ON events (op);
CREATE INDEX events_chain ON events (author, epoch, scope, log, seq);
CREATE INDEX events_in_scope ON events (scope, wall, tick, n);
CREATE INDEX events_by_time ON events (wall, tick, n);
CREATE INDEX events_by_who ON events (who, wall, tick, n);

-- What events point at; the other end may not have arrived yet.
CREATE TABLE edges (
    src  INTEGER NOT NULL REFERENCES events (n),
    role INTEGER NOT NULL,                   -- 0 target, 1 successor, 2 seen, 3 card
    ord  INTEGER NOT NULL,
    dst  BLOB NOT NULL,
    PRIMARY KEY (src, role, ord)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_dst ON edges (dst, role, src);

-- Everything below is derived, and dropped by a rebuild.

-- Claims that are alike in all that lists filter by: counts are kept per lane, and a page merges lanes.
CREATE TABLE lanes (
    n      INTEGER PRIMARY KEY,
    scope  INTEGER NOT NULL REFERENCES scopes (n),
    kind   INTEGER NOT NULL,
    status INTEGER NOT NULL,
    review INTEGER NOT NULL,
    who    TEXT NOT NULL,
    agent  TEXT NOT NULL,                    -- empty for none
    claims INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, kind, status, review, who, agent)
) STRICT;

CREATE TABLE claims (
    n            INTEGER PRIMARY KEY REFERENCES events (n),
    id           BLOB NOT NULL UNIQUE,
    scope        INTEGER NOT NULL REFERENCES scopes (n),
    kind         INTEGER NOT NULL,
    wall         INTEGER NOT NULL,
    tick         INTEGER NOT NULL,
    key_hash     BLOB,
    status       INTEGER NOT NULL DEFAULT 0,
    undone       INTEGER NOT NULL DEFAULT 0,
    contested    INTEGER NOT NULL DEFAULT 0,
    needs_review INTEGER NOT NULL DEFAULT 0,
    excepted     INTEGER NOT NULL DEFAULT 0,
    redacted     INTEGER NOT NULL DEFAULT 0,
    forked       INTEGER NOT NULL DEFAULT 0, -- at least two live acts
    content      BLOB,                       -- hash of what it says, while it is active
    indexed      INTEGER NOT NULL DEFAULT 0, -- 1 in the text index, 2 in the candidate index, 3 in both
    lane         INTEGER REFERENCES lanes (n),
    rev          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX claims_lane ON claims (lane, wall, tick, n);
CREATE INDEX claims_by_time ON claims (wall, tick, n);
CREATE INDEX claims_key ON claims (scope, key_hash) WHERE key_hash IS NOT NULL AND status = 0;
CREATE INDEX claims_content ON claims (content) WHERE content IS NOT NULL;
CREATE INDEX claims_forked ON claims (scope) WHERE forked = 1;

-- The acts that keep a claim out of the active set.
CREATE TABLE live_acts (
    claim     INTEGER NOT NULL REFERENCES claims (n),
    act       INTEGER NOT NULL REFERENCES events (n),
    successor BLOB,
    PRIMARY KEY (claim, act)
) STRICT, WITHOUT ROWID;
CREATE INDEX live_acts_successor ON live_acts (successor, claim) WHERE successor IS NOT NULL;

-- Why a claim needs, or would need, review.
CREATE TABLE causes (
    claim INTEGER NOT NULL REFERENCES claims (n),
    cause BLOB NOT NULL,
    PRIMARY KEY (claim, cause)
) STRICT, WITHOUT ROWID;

CREATE TABLE cards (
    n         INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE,
    scope     INTEGER NOT NULL REFERENCES scopes (n),
    kind      INTEGER NOT NULL,
    open      INTEGER NOT NULL,
    moot      INTEGER NOT NULL,
    candidate BLOB,
    content   BLOB,                          -- hash of what the candidate says
    wall      INTEGER NOT NULL,
    tick      INTEGER NOT NULL,
    author    INTEGER NOT NULL REFERENCES events (n), -- the event whose writer caused it
    settled   INTEGER REFERENCES events (n),
    snoozed   INTEGER,
    held      INTEGER NOT NULL,              -- 0: was true once and left no event behind; no part of the projection
    rev       INTEGER NOT NULL
) STRICT;
CREATE INDEX cards_in_scope ON cards (open, scope, wall, tick, n);
CREATE INDEX cards_content ON cards (content) WHERE content IS NOT NULL;
CREATE INDEX cards_by_time ON cards (open, wall, tick, n);

-- What cards are derived from, beside events: contests by their origin (a claim or a fact's key), contradictions by
-- their first member. `open`: not settled by an exception or a dismissal.
CREATE TABLE card_sources (
    card BLOB NOT NULL,
    kind INTEGER NOT NULL,
    src  BLOB NOT NULL,
    open INTEGER NOT NULL,
    PRIMARY KEY (card, kind, src)
) STRICT, WITHOUT ROWID;
CREATE INDEX card_sources_src ON card_sources (src, kind);

CREATE TABLE card_members (
    card   INTEGER NOT NULL REFERENCES cards (n),
    ord    INTEGER NOT NULL,
    member BLOB NOT NULL,
    PRIMARY KEY (card, ord)
) STRICT, WITHOUT ROWID;
CREATE INDEX card_members_member ON card_members (member, card);

-- The candidate index of active guarded claims, per scope: subjects (written "=subject"), the keys that contradicting
-- claims share ("~subject, attribute"), and content terms.
CREATE TABLE terms (
    n     INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (n),
    term  TEXT NOT NULL,
    df    INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, term)
) STRICT;
CREATE TABLE postings (
    term  INTEGER NOT NULL REFERENCES terms (n),
    claim INTEGER NOT NULL REFERENCES claims (n),
    PRIMARY KEY (term, claim)
) STRICT, WITHOUT ROWID;

-- The text index over all claims; contentless, so that the text is stored once, with the event. It is given words
-- that are stems already. `place` holds the scope as a word.
CREATE VIRTUAL TABLE texts USING fts5 (
    statement, reason, source, place,
    content = '',
    tokenize = "unicode61 remove_diacritics 2",
    detail = full
);
INSERT INTO texts (texts, rank) VALUES ('secure-delete', 1);
