-- Schema version 8: what rests on a claim costs what is shown of it.

-- Which active claims rest on which, by the time of the claims that rest. Derived, and dropped by a rebuild.
CREATE TABLE rests (
    premise INTEGER NOT NULL REFERENCES claims (n),
    wall    INTEGER NOT NULL,
    tick    INTEGER NOT NULL,
    claim   INTEGER NOT NULL REFERENCES claims (n),
    PRIMARY KEY (premise, wall, tick, claim)
) STRICT, WITHOUT ROWID;
CREATE INDEX rests_claim ON rests (claim);

-- How many rows of `rests` name it as the premise.
ALTER TABLE claims ADD COLUMN dependents INTEGER NOT NULL DEFAULT 0;

-- By the place among the targets: what a claim rests on is said by events that name it first, however many name it later.
DROP INDEX edges_dst;
CREATE INDEX edges_dst ON edges (dst, role, ord, src);

INSERT INTO rests (premise, wall, tick, claim)
SELECT DISTINCT p.n, c.wall, c.tick, c.n
FROM events e
JOIN edges first ON first.src = e.n AND first.role = 0 AND first.ord = 0
JOIN claims c ON c.id = first.dst AND c.scope = e.scope AND c.status = 0
JOIN edges other ON other.src = e.n AND other.role = 0 AND other.ord > 0
JOIN claims p ON p.id = other.dst AND p.scope = e.scope AND p.n <> c.n
WHERE e.kind = 'depend' AND e.effective = 1;

UPDATE claims SET dependents = (SELECT count(*) FROM rests WHERE premise = claims.n)
WHERE n IN (SELECT premise FROM rests);
