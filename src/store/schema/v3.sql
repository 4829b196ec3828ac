-- Schema version 3: teams.

CREATE TABLE teams (
    n         INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE,          -- its `roster.create` event
    joined_at INTEGER NOT NULL,
    left_at   INTEGER                        -- this device left, or was taken out
) STRICT;

-- The scopes of a team that this device may read, each bound to a scope here. `org`, `project`: the name in the team.
CREATE TABLE team_scopes (
    n       INTEGER PRIMARY KEY,
    team    INTEGER NOT NULL REFERENCES teams (n),
    org     TEXT NOT NULL,
    project TEXT NOT NULL,
    scope   INTEGER NOT NULL UNIQUE REFERENCES scopes (n),
    roster  INTEGER NOT NULL,                -- 1: holds the roster's events
    writes  INTEGER NOT NULL,                -- what this device writes is taken by the others
    events  INTEGER NOT NULL DEFAULT 0,      -- how many are shared
    sum     BLOB NOT NULL DEFAULT x'',       -- of their ids
    digest  BLOB NOT NULL,                   -- of the sum
    UNIQUE (team, org, project)
) STRICT;

-- What the rosters call devices, past members included; read with each claim.
CREATE TABLE devices (
    device BLOB PRIMARY KEY,
    name   TEXT NOT NULL,
    person TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Read from the header: the team, where it is one of ours; it tells the chains of a scope apart.
ALTER TABLE events ADD COLUMN team INTEGER REFERENCES teams (n);
-- The team takes it: it is offered to the others.
ALTER TABLE events ADD COLUMN shared INTEGER REFERENCES team_scopes (n);
-- It stands in a document.
ALTER TABLE events ADD COLUMN documented INTEGER NOT NULL DEFAULT 0;
-- The device that brought it; NULL for what was written here or came by a file.
ALTER TABLE events ADD COLUMN received_from BLOB;

DROP INDEX events_chain;
CREATE INDEX events_chain ON events (author, epoch, scope, log, team, seq);
CREATE INDEX events_shared ON events (shared, author, epoch, team, seq) WHERE shared IS NOT NULL;
CREATE INDEX events_by_month ON events (shared, wall, tick, n) WHERE shared IS NOT NULL;
CREATE INDEX events_undocumented ON events (shared, wall, n) WHERE shared IS NOT NULL AND documented = 0;
CREATE INDEX events_bodiless ON events (shared, n) WHERE shared IS NOT NULL AND body IS NULL;

-- How far each shared chain reaches without a gap.
CREATE TABLE chains (
    shared  INTEGER NOT NULL REFERENCES team_scopes (n),
    author  BLOB NOT NULL,
    epoch   INTEGER NOT NULL,
    adopted INTEGER NOT NULL,
    next    INTEGER NOT NULL,
    head    BLOB,
    PRIMARY KEY (shared, author, epoch, adopted)
) STRICT, WITHOUT ROWID;

-- Places of shared chains where two events follow the same one: a copied store, a restored one, or a thief.
CREATE TABLE forks (
    shared  INTEGER NOT NULL REFERENCES team_scopes (n),
    author  BLOB NOT NULL,
    epoch   INTEGER NOT NULL,
    adopted INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (shared, author, epoch, adopted, seq)
) STRICT, WITHOUT ROWID;

-- Events that the team does not take. They take part in nothing.
CREATE TABLE quarantined (
    id            BLOB PRIMARY KEY,
    team          INTEGER NOT NULL REFERENCES teams (n),
    org           TEXT NOT NULL,             -- the scope's name in the team
    project       TEXT NOT NULL,
    author        BLOB NOT NULL,
    epoch         INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    wall          INTEGER NOT NULL,
    header        BLOB NOT NULL,
    signature     BLOB NOT NULL,
    salt          BLOB,
    body          BLOB,
    reason        TEXT NOT NULL,
    received_from BLOB,
    received_at   INTEGER NOT NULL,
    discarded     INTEGER NOT NULL DEFAULT 0 -- a person looked at it and wants to see it no more
) STRICT, WITHOUT ROWID;
CREATE INDEX quarantined_in ON quarantined (team, received_at, id);
CREATE INDEX quarantined_chain ON quarantined (team, author, epoch, seq);

-- The replication index: opaque to the store, and made again from the events wherever it is lost.
CREATE TABLE documents (
    n       INTEGER PRIMARY KEY,
    id      BLOB NOT NULL UNIQUE,
    shared  INTEGER NOT NULL REFERENCES team_scopes (n),
    month   INTEGER NOT NULL,                -- YYYYMM
    part    INTEGER NOT NULL,
    events  INTEGER NOT NULL DEFAULT 0,
    sum     BLOB NOT NULL DEFAULT x'',
    digest  BLOB NOT NULL,
    heads   BLOB NOT NULL,
    UNIQUE (shared, month, part)
) STRICT;
CREATE TABLE document_chunks (
    document INTEGER NOT NULL REFERENCES documents (n) ON DELETE CASCADE,
    n        INTEGER NOT NULL,
    snapshot INTEGER NOT NULL,
    bytes    BLOB NOT NULL,
    PRIMARY KEY (document, n)
) STRICT;
CREATE TABLE document_entries (
    document INTEGER NOT NULL REFERENCES documents (n) ON DELETE CASCADE,
    event    BLOB NOT NULL,
    PRIMARY KEY (document, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_entries_event ON document_entries (event);

CREATE TABLE peers (
    device        BLOB PRIMARY KEY,
    team          INTEGER NOT NULL REFERENCES teams (n),
    name          TEXT,
    addresses     TEXT NOT NULL,             -- a JSON list
    last_seen     INTEGER,
    last_sync     INTEGER,
    last_error    TEXT,
    behind        INTEGER NOT NULL,
    ahead         INTEGER NOT NULL,
    digests_equal INTEGER NOT NULL,
    via           TEXT
) STRICT, WITHOUT ROWID;

-- How far a peer's copy of a document is known.
CREATE TABLE peer_documents (
    peer     BLOB NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (n) ON DELETE CASCADE,
    state    BLOB NOT NULL,
    digest   BLOB NOT NULL,
    PRIMARY KEY (peer, document)
) STRICT, WITHOUT ROWID;

-- What another device is known to have, as it said itself: chains of a scope, by the team's name, as CBOR.
CREATE TABLE peer_vectors (
    peer      BLOB NOT NULL,
    team      BLOB NOT NULL,
    org_id    TEXT NOT NULL,
    project   TEXT NOT NULL,
    ends      BLOB NOT NULL,
    learnt_at INTEGER NOT NULL,
    PRIMARY KEY (peer, team, org_id, project)
) STRICT, WITHOUT ROWID;

CREATE TABLE invites (
    hash        BLOB PRIMARY KEY,            -- of the secret, which is not kept
    team        INTEGER NOT NULL REFERENCES teams (n),
    grant_      BLOB NOT NULL,               -- CBOR
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    redeemed_by BLOB,
    done        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every address that was contacted, for `ergo doctor`.
CREATE TABLE contacts (
    address TEXT NOT NULL,
    what    TEXT NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    PRIMARY KEY (address, what)
) STRICT, WITHOUT ROWID;
