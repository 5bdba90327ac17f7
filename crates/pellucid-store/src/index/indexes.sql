-- Made after the first rows are in, which is quicker.
CREATE INDEX IF NOT EXISTS sessions_id ON sessions (id);
CREATE INDEX IF NOT EXISTS sessions_created ON sessions (archived, created_at, id) WHERE listed;
CREATE INDEX IF NOT EXISTS sessions_updated ON sessions (archived, updated_at, id) WHERE listed;
CREATE INDEX IF NOT EXISTS sessions_folder_created ON sessions (folder, archived, created_at, id) WHERE listed;
CREATE INDEX IF NOT EXISTS sessions_folder_updated ON sessions (folder, archived, updated_at, id) WHERE listed;
