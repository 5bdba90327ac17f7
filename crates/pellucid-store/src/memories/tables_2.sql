-- From version 1 to 2: extracts belong to projects, merged sessions are known, and sessions can be forgotten. An old extract
-- is taken as one of the project in its working directory, which may be too narrow and is never too wide.
ALTER TABLE extracts ADD COLUMN project TEXT NOT NULL DEFAULT '';
UPDATE extracts SET project = cwd;
CREATE TABLE merged (
    scope TEXT NOT NULL, session TEXT NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (scope, session)
) WITHOUT ROWID;
CREATE TABLE forgotten (session TEXT PRIMARY KEY, forgotten_at INTEGER NOT NULL) WITHOUT ROWID;
