-- Times are in microseconds since 1970, leases in milliseconds.

CREATE TABLE threads (
    key         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    length      INTEGER NOT NULL DEFAULT 0,
    -- The lease: its fencing token, and while it is held who holds it and until when.
    token       INTEGER NOT NULL,
    owner       TEXT,
    lease_until INTEGER,
    cancel      INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX threads_by_use ON threads (updated DESC, id);

-- An ordinary table with an index, not WITHOUT ROWID: entries of a kilobyte or more would spill to a page of their own there.
CREATE TABLE entries (
    thread   INTEGER NOT NULL REFERENCES threads (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    -- The entry as JSON; its kind is body ->> 'entry'.
    body     TEXT    NOT NULL,
    PRIMARY KEY (thread, position)
) STRICT;

CREATE TRIGGER entries_are_counted AFTER INSERT ON entries BEGIN
    UPDATE threads SET length = NEW.position + 1, updated = NEW.at WHERE key = NEW.thread;
END;

CREATE TRIGGER entries_are_never_rewritten BEFORE UPDATE ON entries BEGIN
    SELECT raise(ABORT, 'entries are never rewritten');
END;

-- A thread that is made again after it was deleted goes on from the deleted one's token, so that an old lease stays lost.
CREATE TABLE fence (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    token INTEGER NOT NULL
) STRICT;

INSERT INTO fence VALUES (1, 0);

CREATE TRIGGER tokens_never_repeat AFTER DELETE ON threads BEGIN
    UPDATE fence SET token = max(token, OLD.token);
END;
