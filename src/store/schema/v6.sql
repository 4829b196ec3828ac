-- Schema version 6.

-- Acts that settle something, by the act they were part of: a claim asks whether one was stored along with it, and what is
-- imported at once shares one act.
CREATE INDEX events_settling ON events (op)
    WHERE kind IN ('resolve.exception', 'resolve.dismiss', 'resolve.narrow');
