//! `.credentials.json` of the home folder: the stored logins of MCP servers, in the format of the Codex CLI.
//!
//! Both programs use each other's entries. Members and entries that this program does not know are kept. The file is
//! replaced as a whole, only its owner can read it, a link in its place is refused, and it is removed with its last
//! entry. Errors name the file and the place in it, never content.
//!
//! Not here: keyrings.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_engine::digest::Digest;
use pellucid_files::Folder;
use pellucid_protocol::secret::Secret;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;
use tokio::time::Instant;

use super::LoginError;

/// The name of the file in the home folder.
const FILE_NAME: &str = ".credentials.json";

/// The folder of the home folder with the locks, because the file itself is replaced.
const LOCK_FOLDER: &str = "mcp_logins";

/// A longer file is refused.
const BYTES_MAX: u64 = 4 << 20;

/// How long a process waits for another one that changes the file or renews the same token.
const LOCK_PATIENCE: Duration = Duration::from_secs(90);

/// How long a process waits before it tries again to get a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The stored logins of a home folder.
#[derive(Debug, Clone)]
pub struct LoginStore {
    home: PathBuf,
}

/// A stored login, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    pub server_name: String,
    pub server_url: String,
    pub client_id: String,
    pub access_token: Secret,
    /// When the access token ends, in milliseconds since 1970.
    #[serde(default)]
    pub expires_at: Option<u64>,
    #[serde(default)]
    pub refresh_token: Option<Secret>,
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The authorization server that made the tokens. Older programs do not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The secret that the authorization server gave when this client registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Secret>,
}

/// The members of an entry that a new login replaces even if it has none.
const OPTIONAL_MEMBERS: [&str; 2] = ["issuer", "client_secret"];

/// Whether a login was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// The login was removed.
    Yes,
    /// There was no login.
    WasNotThere,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

/// The key of a server's entry: its name and a hash of how it is reached.
pub(super) fn key(name: &str, url: &str) -> String {
    let reach = format!(r#"{{"type":"http","url":{},"headers":{{}}}}"#, Value::from(url));
    let hash = Digest::of([reach.as_bytes()]).to_string();
    format!("{name}|{}", hash.get(..16).unwrap_or(&hash))
}

impl LoginStore {
    /// The stored logins of a home folder.
    pub fn in_home(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// Whether there is a login for a server.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn has(&self, name: &str, url: &str) -> Result<bool, LoginError> {
        Ok(self.get(name, url)?.is_some())
    }

    /// The login for a server.
    pub(super) fn get(&self, name: &str, url: &str) -> Result<Option<StoredLogin>, LoginError> {
        let Some(entry) = self.read()?.remove(&key(name, url)) else { return Ok(None) };
        let login = serde_json::from_value(entry).map_err(|_| {
            let (path, command) = (self.path(), format!("pellucid mcp logout {name}"));
            LoginError::Store(format!(
                "the entry of `{name}` in {} is not a login; `{command}` removes it",
                path.display()
            ))
        })?;
        Ok(Some(login))
    }

    /// Stores the login of a server, in place of an older one.
    pub(super) async fn put(&self, login: &StoredLogin) -> Result<(), LoginError> {
        let _held = self.lock("store").await?;
        let logins = with(self.read()?, login).map_err(|error| LoginError::Store(error.to_string()))?;
        self.write(&logins)
    }

    /// Removes the login of a server.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub async fn forget(&self, name: &str, url: &str) -> Result<Forgotten, LoginError> {
        let _held = self.lock("store").await?;
        let mut logins = self.read()?;
        if logins.shift_remove(&key(name, url)).is_none() {
            return Ok(Forgotten::WasNotThere);
        }
        self.write(&logins)?;
        Ok(Forgotten::Yes)
    }

    /// Waits until no other process renews the token of a server.
    pub(super) async fn lock_refresh(&self, name: &str, url: &str) -> Result<Held, LoginError> {
        let key = key(name, url);
        let hash = key.rsplit('|').next().unwrap_or_default();
        // The name is in the hash as well, because two servers may have one address.
        let name = Digest::of([key.as_bytes()]).to_string();
        self.lock(&format!("{hash}-{}", name.get(..8).unwrap_or_default())).await
    }

    async fn lock(&self, name: &str) -> Result<Held, LoginError> {
        let folder = self.home.join(LOCK_FOLDER);
        let path = folder.join(format!("{name}.lock"));
        let wrong = |error: &dyn std::fmt::Display| LoginError::Store(format!("{}: {error}", path.display()));
        pellucid_files::make_private_folder(&folder).map_err(|error| wrong(&error))?;
        let file = pellucid_files::create_or_empty_private(&path).map_err(|error| wrong(&error))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Held { _file: file }),
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_PATIENCE => {
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let seconds = LOCK_PATIENCE.as_secs();
                    return Err(wrong(&format!("another process has held this lock for {seconds} s")));
                }
                Err(TryLockError::Error(error)) => return Err(wrong(&error)),
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.home.join(FILE_NAME)
    }

    /// All entries; none if there is no file.
    fn read(&self) -> Result<Map<String, Value>, LoginError> {
        let wrong = |error: io::Error| LoginError::Store(format!("{} cannot be read: {error}", self.path().display()));
        let folder = match Folder::open(&self.home, None) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            folder => folder.map_err(wrong)?,
        };
        let bytes = match folder.read(FILE_NAME.as_ref(), BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            bytes => bytes.map_err(wrong)?,
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            LoginError::Store(format!("{}:{line}:{column}: these are not stored logins", self.path().display()))
        })
    }

    fn write(&self, logins: &Map<String, Value>) -> Result<(), LoginError> {
        let write = || -> io::Result<()> {
            let folder = Folder::open(&self.home, None)?;
            if logins.is_empty() {
                return match folder.remove_file(FILE_NAME.as_ref()) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    removed => removed,
                };
            }
            folder.write_private(Path::new(FILE_NAME), &serde_json::to_vec(logins)?)
        };
        write().map_err(|error| LoginError::Store(format!("{} cannot be written: {error}", self.path().display())))
    }
}

/// The entries with a login in place of the older one of its server, whose unknown members are kept.
fn with(mut logins: Map<String, Value>, login: &StoredLogin) -> serde_json::Result<Map<String, Value>> {
    let key = key(&login.server_name, &login.server_url);
    let mut entry = match logins.get(&key) {
        Some(Value::Object(entry)) => entry.clone(),
        _ => Map::new(),
    };
    for member in OPTIONAL_MEMBERS {
        entry.shift_remove(member);
    }
    if let Value::Object(members) = serde_json::to_value(login)? {
        entry.extend(members);
    }
    logins.insert(key, entry.into());
    Ok(logins)
}

#[cfg(test)]
pub(super) mod tests {
    use expect_test::expect;

    use super::*;

    pub(in crate::login) fn login(name: &str) -> StoredLogin {
        StoredLogin {
            server_name: name.to_owned(),
            server_url: "http://127.0.0.1:1/mcp".to_owned(),
            client_id: "c".to_owned(),
            access_token: Secret::new("access"),
            expires_at: Some(7),
            refresh_token: None,
            scopes: vec!["a".to_owned()],
            issuer: None,
            client_secret: None,
        }
    }

    #[test]
    fn a_key_is_the_name_and_a_hash_of_the_address() {
        // The hash is what `printf '{"type":"http","url":"http://127.0.0.1:1/mcp","headers":{}}' | sha256sum` begins with.
        expect!["a|55e5211a433f07a6"].assert_eq(&key("a", "http://127.0.0.1:1/mcp"));
    }

    #[tokio::test]
    async fn logins_are_kept_for_the_owner_alone_until_the_last_is_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let store = LoginStore::in_home(home.path());
        let file = home.path().join(FILE_NAME);
        store.put(&login("a")).await.unwrap();
        store.put(&login("b")).await.unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        }
        assert_eq!(store.get("a", "http://127.0.0.1:1/mcp").unwrap(), Some(login("a")));
        assert_eq!(store.get("a", "http://127.0.0.1:1/other").unwrap(), None);
        assert_eq!(store.forget("c", "http://127.0.0.1:1/mcp").await, Ok(Forgotten::WasNotThere));
        for name in ["a", "b"] {
            assert!(file.exists());
            assert_eq!(store.forget(name, "http://127.0.0.1:1/mcp").await, Ok(Forgotten::Yes));
        }
        assert!(!file.exists());
    }

    #[test]
    fn what_other_programs_stored_is_kept() {
        let key = key("a", "http://127.0.0.1:1/mcp");
        let before = format!(
            r#"{{"other|1":{{"x":1}},"{key}":{{"client_id":"old","issuer":"http://old","client_secret":"s","new":[2]}}}}"#
        );
        let after = with(serde_json::from_str(&before).unwrap(), &login("a")).unwrap();
        expect![[r#"{"other|1":{"x":1},"KEY":{"client_id":"c","new":[2],"server_name":"a","server_url":"http://127.0.0.1:1/mcp","access_token":"access","expires_at":7,"refresh_token":null,"scopes":["a"]}}"#]]
            .assert_eq(&Value::from(after).to_string().replace(&key, "KEY"));
    }

    #[tokio::test]
    async fn a_file_that_is_not_ours_is_left_alone_and_never_quoted() {
        let home = tempfile::tempdir().unwrap();
        let store = LoginStore::in_home(home.path());
        let file = home.path().join(FILE_NAME);
        let refused = async || {
            let error = store.put(&login("a")).await.unwrap_err().to_string();
            error.replace(&home.path().display().to_string(), "HOME")
        };
        std::fs::write(&file, "planted-secret").unwrap();
        expect!["HOME/.credentials.json:1:1: these are not stored logins"].assert_eq(&refused().await);
        assert_eq!(pellucid_files::read_text(&file, BYTES_MAX).unwrap(), "planted-secret");
        std::fs::write(&file, format!(r#"{{"{}":{{"client_id":"planted-secret"}}}}"#, key("a", "u"))).unwrap();
        expect!["the entry of `a` in HOME/.credentials.json is not a login; `pellucid mcp logout a` removes it"]
            .assert_eq(
                &store.has("a", "u").unwrap_err().to_string().replace(&home.path().display().to_string(), "HOME"),
            );
        #[cfg(unix)]
        {
            let target = home.path().join("target");
            std::fs::rename(&file, &target).unwrap();
            std::os::unix::fs::symlink(&target, &file).unwrap();
            expect!["HOME/.credentials.json cannot be read: it is a link"].assert_eq(&refused().await);
        }
    }
}
