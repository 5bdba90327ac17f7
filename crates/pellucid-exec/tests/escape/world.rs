//! The little world of an attempt: a writable root, something outside, and services that listen.
//!
//! Not here: what is tried in it.

use std::fs;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::ProtectionBasis;

/// The paths and services of the test's world.
#[derive(Debug, Clone)]
pub struct World {
    /// The folder of the whole world.
    pub base: PathBuf,
    /// The folder that commands may write in. The working directory of attempts.
    pub root: PathBuf,
    /// A folder that commands may not write in.
    pub outside: PathBuf,
    /// A file in that folder.
    pub secret: PathBuf,
    /// A service on this machine.
    pub tcp: SocketAddr,
    /// Another, by a name that is no file.
    pub abstract_name: String,
    /// The process that confines.
    pub agent: i32,
}

const BASE: &str = "ESCAPE_BASE";
const TCP: &str = "ESCAPE_TCP";
const ABSTRACT: &str = "ESCAPE_ABSTRACT";
const AGENT: &str = "ESCAPE_AGENT";

impl World {
    /// Makes the files and folders.
    fn make(base: &Path, services: &Services) -> Self {
        let world = Self::at(base, services.address, services.abstract_name.clone(), services.agent);
        for folder in [".git/hooks", ".codex", ".pellucid", ".agents/skills", "src"] {
            fs::create_dir_all(world.root.join(folder)).unwrap();
        }
        for file in [".git/config", ".git/hooks/pre-commit.sample", ".codex/config.toml", "src/lib.rs", "top.txt"] {
            fs::write(world.root.join(file), "before\n").unwrap();
        }
        // A session in `mid/bare`, whose own folders are missing, a home folder, and repositories further down.
        for folder in ["mid/bare", "settings", "home", "known/.git/hooks", "src/nested/.git/hooks"] {
            fs::create_dir_all(world.root.join(folder)).unwrap();
        }
        for folder in ["known", "src/nested"] {
            for file in ["HEAD", "config"] {
                fs::write(world.root.join(folder).join(".git").join(file), "before\n").unwrap();
            }
        }
        for (file, text) in [("mid/.agents", ""), (".gitmodules", "[submodule \"known\"]\n\tpath = known\n")] {
            fs::write(world.root.join(file), text).unwrap();
        }
        std::os::unix::fs::symlink("../settings", world.root.join("mid/.codex")).unwrap();
        fs::create_dir_all(world.outside.join("empty")).unwrap();
        fs::write(&world.secret, "before\n").unwrap();
        // A file that no process has open.
        fs::write(world.outside.join("quiet"), "before\n").unwrap();
        std::os::unix::fs::symlink(&world.outside, world.root.join("way-out")).unwrap();
        world
    }

    /// The ground of commands in it.
    pub fn ground(&self) -> ProtectionBasis {
        ProtectionBasis {
            protection: Protection::On,
            cwd: self.root.join("mid/bare"),
            project_root: self.root.clone(),
            homes: vec![self.root.join("home")],
        }
    }

    fn at(base: &Path, tcp: SocketAddr, abstract_name: String, agent: i32) -> Self {
        let (root, outside) = (base.join("root"), base.join("outside"));
        let secret = outside.join("secret");
        Self { base: base.to_owned(), root, outside, secret, tcp, abstract_name, agent }
    }

    /// Passes the world to a process, in its environment.
    pub fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env(BASE, &self.base)
            .env(TCP, self.tcp.to_string())
            .env(ABSTRACT, &self.abstract_name)
            .env(AGENT, self.agent.to_string())
            .current_dir(&self.root)
    }

    /// The world that this process was started with.
    pub fn told() -> Self {
        let value = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
        let tcp = value(TCP).parse().unwrap();
        Self::at(Path::new(&value(BASE)), tcp, value(ABSTRACT), value(AGENT).parse().unwrap())
    }
}

/// A world that is gone when this is dropped, with services that listen meanwhile.
#[derive(Debug)]
pub struct Services {
    _folder: tempfile::TempDir,
    address: SocketAddr,
    abstract_name: String,
    agent: i32,
    _tcp: TcpListener,
    _abstract: UnixListener,
    _sockets: Option<(UnixListener, UnixDatagram)>,
}

impl Services {
    /// Makes a world and listens in it.
    pub fn start() -> (World, Self) {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let abstract_name = format!("escape{}", base.display());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let mut services = Self {
            _folder: folder,
            address: tcp.local_addr().unwrap(),
            abstract_name,
            agent: i32::try_from(std::process::id()).unwrap(),
            _tcp: tcp,
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            _sockets: None,
        };
        let world = World::make(&base, &services);
        let stream = UnixListener::bind(world.outside.join("stream")).unwrap();
        let datagram = UnixDatagram::bind(world.outside.join("datagram")).unwrap();
        services._sockets = Some((stream, datagram));
        (world, services)
    }
}
