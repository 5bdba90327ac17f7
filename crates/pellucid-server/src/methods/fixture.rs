//! A server in a small tree of files, for tests.
//!
//! `$R` in a text is the tree's folder; it has a `home`, a `user` and a `work`, where the server was started.

use std::path::PathBuf;
use std::sync::Arc;

use pellucid_config::Env;
use pellucid_config::Override;
use pellucid_testkit::Workspace;
use serde::Serialize;

use crate::rpc::RpcError;
use crate::server::Server;
use pellucid_agent::ground::Ground;

/// A server, and the files around it.
pub(crate) struct World {
    pub server: Arc<Server>,
    files: Workspace,
}

/// A server with these files and command-line overrides.
pub(crate) fn world(files: &[(&str, &str)], flags: &[&str]) -> World {
    let workspace = Workspace::empty();
    let root = workspace.root().to_str().unwrap().to_owned();
    for folder in ["home", "user", "work"] {
        workspace.folder(folder);
    }
    for (path, text) in files {
        workspace.write(path, text.replace("$R", &root));
    }
    let user = workspace.path("user").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let ground = Ground {
        home: workspace.path("home"),
        env: Env::from_pairs([("HOME", user.as_str()), ("PATH", path.as_str())]),
        cwd: workspace.path("work"),
        script: None,
        overrides: flags.iter().map(|flag| Override::parse(&flag.replace("$R", &root)).unwrap()).collect(),
    };
    World { server: Server::new(ground), files: workspace }
}

impl World {
    /// A path in the world.
    pub fn path(&self, path: &str) -> PathBuf {
        self.files.path(path)
    }

    /// A text with `$R` filled in.
    pub fn filled(&self, text: &str) -> String {
        text.replace("$R", self.files.root().to_str().unwrap())
    }

    /// The text of a file, as it could be written in a test.
    pub fn read(&self, path: &str) -> String {
        self.shown(&self.files.read(path))
    }

    /// Writes a file of the world.
    pub fn write(&self, path: &str, text: &str) {
        self.files.write(path, self.filled(text));
    }

    /// A text as it could be written in a test: the world is `$R`, hashes are numbered.
    pub fn shown(&self, text: &str) -> String {
        let mut text = text.replace(self.files.root().to_str().unwrap(), "$R");
        let mut n_hashes = 0;
        const HASH: &str = "sha256:";
        let mut from = 0;
        while let Some(found) = text[from..].find(HASH).map(|found| from + found) {
            let end = found + HASH.len() + 64;
            if text.get(found + HASH.len()..end).is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                let hash = text[found..end].to_owned();
                n_hashes += 1;
                text = text.replace(&hash, &format!("hash{n_hashes}"));
            } else {
                from = found + HASH.len();
            }
        }
        text
    }

    /// An answer as it could be written in a test.
    pub fn answer<T: Serialize>(&self, answer: Result<T, RpcError>) -> String {
        self.shown(&match answer {
            Ok(answer) => serde_json::to_string_pretty(&answer).unwrap(),
            Err(RpcError { code, message, data: None }) => format!("{code}: {message}"),
            Err(RpcError { code, message, data: Some(data) }) => format!("{code}: {message} {data}"),
        })
    }
}
