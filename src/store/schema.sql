-- The tables of a store. Never edited once released: changes are further files, applied in order (`MIGRATIONS` in `open.rs`).

-- The event clock, the epoch of this installation, the versions of the projections and of the vectors' model, and the progress of background passes.
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

-- Both logs, from which everything derived is computed. The columns other than header, signature, salt and body are copied from the header.
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
    effective   INTEGER NOT NULL DEFAULT 1,  -- derived: the event was not undone
    team        INTEGER REFERENCES teams (n), -- of the header, if this store has the team; each team has its own chain in a scope
    shared      INTEGER REFERENCES team_scopes (n), -- the team accepts the event, so it is offered to other devices
    documented  INTEGER NOT NULL DEFAULT 0,  -- a document contains the event
    received_from BLOB,                      -- the peer that delivered it; NULL if written on this device or imported from a file
    header      BLOB NOT NULL,
    signature   BLOB NOT NULL,
    salt        BLOB,                        -- NULL if body is NULL (redacted, or not arrived)
    body        BLOB,
    received_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_op ON events (op);
CREATE INDEX events_chain ON events (author, epoch, scope, log, team, seq);
CREATE INDEX events_in_scope ON events (scope, wall, tick, n);
CREATE INDEX events_by_time ON events (wall, tick, n);
CREATE INDEX events_by_who ON events (who, wall, tick, n);
CREATE INDEX events_by_agent ON events (agent, wall, tick, n) WHERE agent IS NOT NULL;
-- Judgements, and writes that were held to ask an agent.
CREATE INDEX events_judging ON events (agent, wall, tick, n)
    WHERE kind IN ('judgement.contradicts', 'judgement.replaces', 'judgement.same', 'judgement.compatible', 'local.held');
CREATE INDEX events_refused ON events (wall, tick, n) WHERE kind = 'local.refused';
CREATE INDEX events_redacted ON events (scope, wall) WHERE body IS NULL;
-- Events that settle cards, by act: finds whether one was stored with a claim without reading the whole act, which may be an import.
CREATE INDEX events_settling ON events (op)
    WHERE kind IN ('resolve.exception', 'resolve.dismiss', 'resolve.narrow');
-- Events that insights are computed from, besides claims: judgements and observations.
CREATE INDEX events_noted ON events (scope, kind)
    WHERE kind IN ('observe', 'judgement.contradicts', 'judgement.replaces', 'judgement.same', 'judgement.compatible');
CREATE INDEX events_shared ON events (shared, author, epoch, team, seq) WHERE shared IS NOT NULL;
CREATE INDEX events_by_month ON events (shared, wall, tick, n) WHERE shared IS NOT NULL;
CREATE INDEX events_undocumented ON events (shared, wall, n) WHERE shared IS NOT NULL AND documented = 0;
CREATE INDEX events_bodiless ON events (shared, n) WHERE shared IS NOT NULL AND body IS NULL;

-- References from events (`src`) to events, cards, lists and pairs (`dst`). A referenced event may not have arrived yet.
CREATE TABLE edges (
    src  INTEGER NOT NULL REFERENCES events (n),
    role INTEGER NOT NULL,                   -- 0 target, 1 successor, 2 seen, 3 card, 4 list, 5 judged pair
    ord  INTEGER NOT NULL,
    dst  BLOB NOT NULL,
    PRIMARY KEY (src, role, ord)
) STRICT, WITHOUT ROWID;
-- With `ord`: the premises of a claim are in the events that name it as the first target, and thousands may name it as a later one.
CREATE INDEX edges_dst ON edges (dst, role, ord, src);

CREATE TABLE teams (
    n         INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE,          -- its `roster.create` event
    joined_at INTEGER NOT NULL,
    left_at   INTEGER                        -- when this device left or was revoked
) STRICT;

-- The scopes of a team that this device may read, each bound to a scope of this device. `org`, `project`: the scope's name in the team.
CREATE TABLE team_scopes (
    n       INTEGER PRIMARY KEY,
    team    INTEGER NOT NULL REFERENCES teams (n),
    org     TEXT NOT NULL,
    project TEXT NOT NULL,
    scope   INTEGER NOT NULL UNIQUE REFERENCES scopes (n),
    roster  INTEGER NOT NULL,                -- 1: the scope of the roster's events
    writes  INTEGER NOT NULL,                -- the team accepts what this device writes
    events  INTEGER NOT NULL DEFAULT 0,      -- number of shared events
    sum     BLOB NOT NULL DEFAULT x'',       -- of their ids
    digest  BLOB NOT NULL,                   -- of the sum
    UNIQUE (team, org, project)
) STRICT;

-- The names that rosters give devices, including past members; read with each claim.
CREATE TABLE devices (
    device BLOB PRIMARY KEY,
    name   TEXT NOT NULL,
    person TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The end of each shared chain before its first gap: the next sequence number, and the last event.
CREATE TABLE chains (
    shared  INTEGER NOT NULL REFERENCES team_scopes (n),
    author  BLOB NOT NULL,
    epoch   INTEGER NOT NULL,
    adopted INTEGER NOT NULL,
    next    INTEGER NOT NULL,
    head    BLOB,
    PRIMARY KEY (shared, author, epoch, adopted)
) STRICT, WITHOUT ROWID;

-- Positions of shared chains with more than one event: a store was copied or restored, or a key was stolen.
CREATE TABLE forks (
    shared  INTEGER NOT NULL REFERENCES team_scopes (n),
    author  BLOB NOT NULL,
    epoch   INTEGER NOT NULL,
    adopted INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (shared, author, epoch, adopted, seq)
) STRICT, WITHOUT ROWID;

-- Events that the team's roster does not accept. Nothing is derived from them.
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
    discarded     INTEGER NOT NULL DEFAULT 0 -- a person discarded it
) STRICT, WITHOUT ROWID;
CREATE INDEX quarantined_in ON quarantined (team, received_at, id);
CREATE INDEX quarantined_chain ON quarantined (team, author, epoch, seq);

-- The replication index. The store does not interpret it; it can be computed again from the events.
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

-- What is known of peers' copies of documents.
CREATE TABLE peer_documents (
    peer     BLOB NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (n) ON DELETE CASCADE,
    state    BLOB NOT NULL,
    digest   BLOB NOT NULL,
    PRIMARY KEY (peer, document)
) STRICT, WITHOUT ROWID;

-- How far other devices have received each chain of a scope, according to their last bundle. `org_id`, `project`: the scope's name in the team.
CREATE TABLE peer_progress (
    peer        BLOB NOT NULL,
    team        BLOB NOT NULL,
    org_id      TEXT NOT NULL,
    project     TEXT NOT NULL,
    chain_ends  BLOB NOT NULL,              -- CBOR
    reported_at INTEGER NOT NULL,           -- by that device's clock
    PRIMARY KEY (peer, team, org_id, project)
) STRICT, WITHOUT ROWID;

CREATE TABLE invites (
    hash        BLOB PRIMARY KEY,            -- of the secret, which is not stored
    team        INTEGER NOT NULL REFERENCES teams (n),
    grant_      BLOB NOT NULL,               -- CBOR
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    redeemed_by BLOB,
    done        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- All addresses that this device contacted, for `ergo doctor`.
CREATE TABLE contacts (
    address TEXT NOT NULL,
    what    TEXT NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    PRIMARY KEY (address, what)
) STRICT, WITHOUT ROWID;

-- The following tables are not events, but a rebuild keeps them.

-- Hashes of the requests of this device's acts, which distinguish a retry from another request with the same key; deleted when the
-- act is redacted.
CREATE TABLE requests (
    op   BLOB PRIMARY KEY,
    hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Answers of a language model about statements, by the statement's hash and the normaliser's version. Never synced; deleted when the statement is redacted.
CREATE TABLE readings (
    statement  BLOB NOT NULL,
    normaliser TEXT NOT NULL,
    answer     TEXT NOT NULL,
    PRIMARY KEY (statement, normaliser)
) STRICT, WITHOUT ROWID;

-- Pairs of claims that may contradict each other, and that wait for a verdict because nobody was asked when they were stored. Never synced; contains
-- no text. At most the newest 1,000 of each scope.
CREATE TABLE doubts (
    n     INTEGER PRIMARY KEY,
    id    BLOB NOT NULL UNIQUE,              -- id of the card that the pair would have
    newer BLOB NOT NULL,                     -- the claim that was written later
    older BLOB NOT NULL,
    pair  BLOB NOT NULL,                     -- key of both statements, as in judgements
    band  INTEGER NOT NULL,                  -- 0 mention, 1 ask
    tried INTEGER NOT NULL DEFAULT 0         -- bits of the judges that gave no verdict
) STRICT;
CREATE INDEX doubts_newer ON doubts (newer);

-- The vector of a claim of any status, or of a chunk: one signed byte per dimension, each vector with its own scale.
CREATE TABLE vectors (
    claim INTEGER PRIMARY KEY REFERENCES events (n),
    code  BLOB NOT NULL
) STRICT;

-- Vectors of statement and reason as one text, in the form of `vectors`. Not searched, only compared for claims that were found.
CREATE TABLE reason_vectors (
    claim INTEGER PRIMARY KEY REFERENCES events (n),
    code  BLOB NOT NULL
) STRICT;

-- Vectors of another model, computed while the old ones are in use, until all exist; the settings `vectors.next.*` name the model.
CREATE TABLE vectors_next (
    claim INTEGER PRIMARY KEY REFERENCES events (n),
    code  BLOB NOT NULL
) STRICT;

-- The vector index, `vector_index`, is created with the first vector, because its definition contains the model's dimension.

-- All tables below are derived, and a rebuild computes them again.

-- Groups of claims with equal values of everything that lists filter by. Each has its count, and a page merges lanes.
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
    forked       INTEGER NOT NULL DEFAULT 0, -- at least two live acts, or one although its creation was undone
    dependents   INTEGER NOT NULL DEFAULT 0, -- rows of `dependencies` that name it as the premise
    content      BLOB,                       -- hash of the content, while the claim is active
    indexed      INTEGER NOT NULL DEFAULT 0, -- bits: 1 text index, 2 candidate index, 4 vector index, 8 reason vector
    lane         INTEGER REFERENCES lanes (n),
    rev          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX claims_lane ON claims (lane, wall, tick, n);
CREATE INDEX claims_by_time ON claims (wall, tick, n);
CREATE INDEX claims_key ON claims (scope, key_hash) WHERE key_hash IS NOT NULL AND status = 0;
CREATE INDEX claims_content ON claims (content) WHERE content IS NOT NULL;
CREATE INDEX claims_forked ON claims (scope) WHERE forked = 1;
-- Claims that wait for a vector: active, in the text index (1), and not in the vector index (4).
CREATE INDEX claims_without_vector ON claims (n) WHERE status = 0 AND indexed & 5 = 1;
-- Claims with a vector (4) that were not yet examined for a vector of their reason (8).
CREATE INDEX claims_without_reason_vector ON claims (n) WHERE status = 0 AND indexed & 12 = 4;

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

-- Which active claims depend on which premise, with the time of the claim for newest-first reads.
CREATE TABLE dependencies (
    premise INTEGER NOT NULL REFERENCES claims (n),
    wall    INTEGER NOT NULL,
    tick    INTEGER NOT NULL,
    claim   INTEGER NOT NULL REFERENCES claims (n),
    PRIMARY KEY (premise, wall, tick, claim)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_claim ON dependencies (claim);

CREATE TABLE cards (
    n         INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE,
    scope     INTEGER NOT NULL REFERENCES scopes (n),
    kind      INTEGER NOT NULL,
    open      INTEGER NOT NULL,
    moot      INTEGER NOT NULL,
    new_claim BLOB,
    content   BLOB,                          -- hash of the new claim's content
    wall      INTEGER NOT NULL,
    tick      INTEGER NOT NULL,
    author    INTEGER NOT NULL REFERENCES events (n), -- the event whose writer opened the card
    settled   INTEGER REFERENCES events (n),
    snoozed   INTEGER,
    applies   INTEGER NOT NULL,              -- 0: no source and no event gives a reason for the card
    confusion INTEGER,                       -- of a story card: its category
    rule      INTEGER,                       -- of a story card: the rule that found it
    rev       INTEGER NOT NULL
) STRICT;
CREATE INDEX cards_in_scope ON cards (open, scope, wall, tick, n);
CREATE INDEX cards_content ON cards (content) WHERE content IS NOT NULL;
CREATE INDEX cards_by_time ON cards (open, wall, tick, n);

-- What cards are derived from, besides events: contests by their origin (a claim, a fact's key or a circle), contradictions and story
-- marks by their first member in the order of ids. `open`: not settled by an exception or a dismissal.
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

-- Phrases of active guarded claims: pairs of words that are near each other, by the hash of scope and phrase. Part of the
-- candidate index.
CREATE TABLE phrases (
    phrase INTEGER NOT NULL,
    claim  INTEGER NOT NULL REFERENCES claims (n),
    PRIMARY KEY (phrase, claim)
) STRICT, WITHOUT ROWID;

-- The story of each scope, written by the background pass (`story_pass.rs`). `place`: bytes whose order is that of the story; `words`: the keys of
-- the claim in `story_words`, eight bytes each.
CREATE TABLE story_claims (
    claim INTEGER PRIMARY KEY REFERENCES claims (n),
    scope INTEGER NOT NULL REFERENCES scopes (n),
    place BLOB NOT NULL,
    words BLOB NOT NULL
) STRICT;
CREATE INDEX story_claims_in ON story_claims (scope, place);
CREATE TABLE story_words (
    word  INTEGER NOT NULL,                  -- a hash of scope and word
    place BLOB NOT NULL,
    claim INTEGER NOT NULL REFERENCES claims (n),
    PRIMARY KEY (word, place)
) STRICT, WITHOUT ROWID;
-- The earlier claims whose state decides about the marks of a claim; `settles`: those whose ambiguity the claim settles.
CREATE TABLE story_links (
    claim   INTEGER NOT NULL REFERENCES claims (n),
    other   INTEGER NOT NULL REFERENCES claims (n),
    settles INTEGER NOT NULL,
    PRIMARY KEY (claim, other, settles)
) STRICT, WITHOUT ROWID;
CREATE INDEX story_links_other ON story_links (other);
-- The claims of each mark, in order. `by`: the claim that completed the mark, which is its last one.
CREATE TABLE story_marks (
    card      BLOB NOT NULL,
    ord       INTEGER NOT NULL,
    member    INTEGER NOT NULL REFERENCES claims (n),
    by        INTEGER NOT NULL REFERENCES claims (n),
    confusion INTEGER NOT NULL,
    rule      INTEGER NOT NULL,
    strength  REAL NOT NULL,
    PRIMARY KEY (card, ord)
) STRICT, WITHOUT ROWID;
CREATE INDEX story_marks_member ON story_marks (member, card);
CREATE INDEX story_marks_by ON story_marks (by);
-- Claims that the pass has yet to read. `stage`: 0 the claim changed, 1 a claim that is read with it changed.
CREATE TABLE story_backlog (
    claim INTEGER PRIMARY KEY REFERENCES claims (n),
    stage INTEGER NOT NULL
) STRICT;
-- In the order of the pass: without DESC each step would sort the whole backlog.
CREATE INDEX story_backlog_stage ON story_backlog (stage, claim DESC);
-- The last day on which the state of a claim is the present one; it is read again after that day.
CREATE TABLE story_due (
    claim INTEGER PRIMARY KEY REFERENCES claims (n),
    day   TEXT NOT NULL
) STRICT;
CREATE INDEX story_due_day ON story_due (day);
-- Answers of persons to story cards, by scope, category and rule.
CREATE TABLE story_answers (
    event     INTEGER PRIMARY KEY REFERENCES events (n),
    scope     INTEGER NOT NULL REFERENCES scopes (n),
    confusion INTEGER NOT NULL,
    rule      INTEGER NOT NULL,
    dismissed INTEGER NOT NULL
) STRICT;
CREATE INDEX story_answers_in ON story_answers (scope, confusion, rule, dismissed);

-- Events that happened without a person and that a person should review.
CREATE TABLE notices (
    n      INTEGER PRIMARY KEY REFERENCES events (n),
    scope  INTEGER NOT NULL REFERENCES scopes (n),
    warned INTEGER NOT NULL,                 -- 1: a warning of the guard, 0: an act of an agent
    claim  INTEGER,                          -- the claim that the event is about, if known
    state  INTEGER NOT NULL                  -- 0 undone, 1 seen by a person or no longer applicable, 2 open
) STRICT;
CREATE INDEX notices_open ON notices (warned) WHERE state = 2;
CREATE INDEX notices_open_in_scope ON notices (warned, scope) WHERE state = 2;
CREATE INDEX notices_of_claim ON notices (claim, warned, state);

-- The text index over all claims; contentless, so that the text is stored only once, with the event. It contains
-- stems. `place` is the scope as a word.
CREATE VIRTUAL TABLE texts USING fts5 (
    statement, reason, source, place,
    content = '',
    tokenize = "unicode61 remove_diacritics 2",
    detail = full
);
INSERT INTO texts (texts, rank) VALUES ('secure-delete', 1);

-- Reference chunks, from events `local.chunk` and `chunk`.
CREATE TABLE chunks (
    n       INTEGER PRIMARY KEY REFERENCES events (n),
    scope   INTEGER NOT NULL REFERENCES scopes (n),
    path    TEXT NOT NULL,
    first   INTEGER NOT NULL,                -- lines of the file, from 1
    last    INTEGER NOT NULL,
    content BLOB NOT NULL,                   -- hash of the text
    active  INTEGER NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 0       -- in the vector index
) STRICT;
CREATE INDEX chunks_in_file ON chunks (scope, path, first) WHERE active = 1;
CREATE INDEX chunks_content ON chunks (content);
CREATE INDEX chunks_without_vector ON chunks (n) WHERE active = 1 AND indexed = 0;

-- The text index over active chunks, which contains stems. `place` is the scope as a word.
CREATE VIRTUAL TABLE chunk_texts USING fts5 (
    text, path, place,
    tokenize = "unicode61 remove_diacritics 2",
    detail = full
);
INSERT INTO chunk_texts (chunk_texts, rank) VALUES ('secure-delete', 1);
