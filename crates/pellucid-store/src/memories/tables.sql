-- What is kept of past sessions. Times are seconds of Unix time.
CREATE TABLE extracts (
    session TEXT PRIMARY KEY, updated_at INTEGER NOT NULL, made_at INTEGER NOT NULL, cwd TEXT NOT NULL,
    raw_memory TEXT NOT NULL, rollout_summary TEXT NOT NULL, rollout_slug TEXT
) WITHOUT ROWID;
CREATE INDEX extracts_newest ON extracts (updated_at DESC, session DESC);
CREATE TABLE jobs (
    kind TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL, worker TEXT, token TEXT, started_at INTEGER,
    finished_at INTEGER, lease_until INTEGER, retry_at INTEGER, retries_left INTEGER NOT NULL, last_error TEXT,
    input INTEGER, done INTEGER, PRIMARY KEY (kind, key)
) WITHOUT ROWID;
