-- Schema version 7: what wants a person, and what an agent did, cost what is shown of them.

-- What an agent did, and what anybody was refused, newest first; what was redacted.
CREATE INDEX events_by_agent ON events (agent, wall, tick, n) WHERE agent IS NOT NULL;
CREATE INDEX events_refused ON events (wall, tick, n) WHERE kind = 'local.refused';
CREATE INDEX events_redacted ON events (scope, wall) WHERE body IS NULL;

-- Things that were done, and that a person should have a look at. Derived, and dropped by a rebuild.
CREATE TABLE notices (
    n      INTEGER PRIMARY KEY REFERENCES events (n),
    scope  INTEGER NOT NULL REFERENCES scopes (n),
    warned INTEGER NOT NULL,                 -- a warning of the guard; else what an agent did
    claim  INTEGER,                          -- the claim that it is about, where that is known
    state  INTEGER NOT NULL                  -- 0 taken back, 1 seen by a person or no longer true, 2 open
) STRICT;
CREATE INDEX notices_open ON notices (warned) WHERE state = 2;
CREATE INDEX notices_open_in_scope ON notices (warned, scope) WHERE state = 2;
CREATE INDEX notices_of_claim ON notices (claim, warned, state);

INSERT INTO notices (n, scope, warned, claim, state)
SELECT e.n, e.scope, e.kind = 'local.warned', c.n,
    CASE
        WHEN e.effective = 0 THEN 0
        WHEN c.status IS NOT CASE e.kind WHEN 'local.retracted' THEN 2 ELSE 0 END THEN 1
        WHEN EXISTS (
            SELECT 1 FROM edges s JOIN events seen ON seen.n = s.src AND seen.kind = 'local.seen' AND seen.effective = 1
            WHERE s.dst = e.id AND s.role = 0) THEN 1
        ELSE 2
    END
FROM events e
LEFT JOIN edges t ON t.src = e.n AND t.role = 0 AND t.ord = 0
LEFT JOIN claims c ON c.id = t.dst
WHERE e.kind IN ('local.warned', 'local.forced', 'local.retracted');
