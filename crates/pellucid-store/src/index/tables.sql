-- The tables of the index of sessions. Everything in them is made from files, but for the tools that sessions were begun
-- with (first_tools).
CREATE TABLE sessions (
    path TEXT NOT NULL, id TEXT NOT NULL, archived INTEGER NOT NULL, listed INTEGER NOT NULL,
    modified INTEGER NOT NULL, size INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    cwd TEXT NOT NULL, folder TEXT NOT NULL, first_message TEXT NOT NULL, source TEXT NOT NULL, provider TEXT,
    model TEXT, sandbox_policy TEXT, approval_policy TEXT, originator TEXT NOT NULL, cli_version TEXT NOT NULL,
    forked_from TEXT, git_commit TEXT, git_branch TEXT, git_url TEXT,
    input_tokens INTEGER NOT NULL, cached_input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_output_tokens INTEGER NOT NULL, total_tokens INTEGER NOT NULL
);
CREATE UNIQUE INDEX sessions_state ON sessions (path, modified, size);
CREATE TABLE dynamic_tools (
    path TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
    input_schema TEXT NOT NULL, PRIMARY KEY (path, position)
) WITHOUT ROWID;
CREATE TABLE first_tools (
    id TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
    input_schema TEXT NOT NULL, PRIMARY KEY (id, position)
) WITHOUT ROWID;
CREATE TABLE names (id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE stamps (what TEXT PRIMARY KEY, stamp INTEGER NOT NULL) WITHOUT ROWID;
