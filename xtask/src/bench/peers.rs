//! The other agents that Pellucid is measured beside: their packages, and fetching them.
//!
//! Packages come from npm and PyPI in fixed versions, into a separate folder each, without running the scripts that they
//! bring. What is there already is not fetched again. A package that cannot be had leaves out its rows, and says why.
//!
//! Not here: how an agent is driven (`bench/peers.py`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;

/// Where a package comes from, with its version.
#[derive(Debug, Clone, Copy)]
enum Package {
    Npm(&'static str),
    Python(&'static str),
}

/// An agent that Pellucid is measured beside.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The name that benchmarks choose the way of driving it by.
    pub name: &'static str,
    /// The name for people, with the version.
    pub title: &'static str,
    package: Package,
    /// The program in the folder of the package.
    program: &'static str,
}

/// An agent that is here.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub peer: Peer,
    pub program: PathBuf,
    /// The folder whose size is that of the agent.
    pub root: PathBuf,
}

/// The name of the program that is measured, among the others.
pub const OURS: &str = "ours";

/// Node for those that are scripts. Some need a newer one than systems have.
const NODE: Peer = Peer {
    name: "node",
    title: "Node 22.23.3",
    package: Package::Npm("node-linux-{arch}@22.23.3"),
    program: "node_modules/node-linux-{arch}/bin/node",
};

/// Every agent, in the order of tables and legends.
pub const PEERS: [Peer; 9] = [
    Peer {
        name: "codex104",
        title: "Codex 0.104.0",
        package: Package::Npm("@openai/codex@0.104.0"),
        program: "node_modules/@openai/codex-linux-{arch}/vendor/{cpu}-unknown-linux-musl/codex/codex",
    },
    Peer {
        name: "codex166",
        title: "Codex 0.166.0",
        package: Package::Npm("@openai/codex@0.166.0"),
        program: "node_modules/@openai/codex-linux-{arch}/vendor/{cpu}-unknown-linux-musl/bin/codex",
    },
    Peer {
        name: "goose",
        title: "goose 1.52.0",
        package: Package::Npm("@aaif/goose-binary-linux-{arch}@1.52.0"),
        program: "node_modules/@aaif/goose-binary-linux-{arch}/bin/goose",
    },
    Peer {
        name: "pi",
        title: "pi 0.87.1",
        package: Package::Npm("@earendil-works/pi-coding-agent@0.87.1"),
        program: "node_modules/.bin/pi",
    },
    Peer {
        name: "claude",
        title: "Claude Code 2.1.325",
        package: Package::Npm("@anthropic-ai/claude-code@2.1.325"),
        program: "node_modules/@anthropic-ai/claude-code-linux-{arch}/claude",
    },
    Peer {
        name: "gemini",
        title: "gemini-cli 0.61.0",
        package: Package::Npm("@google/gemini-cli@0.61.0"),
        program: "node_modules/.bin/gemini",
    },
    Peer {
        name: "opencode",
        title: "opencode 1.18.33",
        package: Package::Npm("opencode-ai@1.18.33"),
        program: "node_modules/opencode-linux-{arch}/bin/opencode",
    },
    Peer {
        name: "qwen",
        title: "qwen-code 0.24.4",
        package: Package::Npm("@qwen-code/qwen-code@0.24.4"),
        program: "node_modules/.bin/qwen",
    },
    Peer { name: "aider", title: "aider 0.86.2", package: Package::Python("aider-chat==0.86.2"), program: "bin/aider" },
];

impl Peer {
    /// The package with its version, as its registry names it.
    pub fn spec(&self) -> String {
        match self.package {
            Package::Npm(spec) | Package::Python(spec) => for_this_machine(spec),
        }
    }
}

/// The agent's name for people; programs that are no agents have none but their own.
pub fn title_of(name: &str) -> &str {
    match PEERS.iter().find(|it| it.name == name) {
        Some(peer) => peer.title,
        None if name == OURS => "Pellucid",
        None => name,
    }
}

/// The folder that packages are kept in between runs.
pub fn cache_folder() -> Result<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|it| PathBuf::from(it).join(".cache"));
    let folder = named.or(home).context("neither XDG_CACHE_HOME nor HOME is set; --cache names a folder")?;
    Ok(folder.join("pellucid-bench"))
}

/// Node's folder of programs, fetched unless it is there.
pub fn node(cache: &Path) -> Result<PathBuf> {
    let node = fetch(NODE, cache)?;
    Ok(node.program.parent().context("a program has a folder")?.to_path_buf())
}

/// An agent, fetched unless it is there.
pub fn fetch(peer: Peer, cache: &Path) -> Result<Fetched> {
    let spec = peer.spec();
    let root = cache.join(spec.replace(['/', '@', '='], "_"));
    let program = root.join(for_this_machine(peer.program));
    let done = root.join("fetched");
    if fs::read_to_string(&done).is_ok_and(|it| it == spec) && program.is_file() {
        return Ok(Fetched { peer, program, root });
    }
    println!("fetching {spec}");
    fs::create_dir_all(&root).with_context(|| format!("could not make {}", root.display()))?;
    match peer.package {
        Package::Npm(_) => {
            let mut npm = Command::new("npm");
            npm.args([
                "install",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--no-package-lock",
                "--loglevel=error",
            ]);
            run(npm.arg("--prefix").arg(&root).arg(&spec))?;
        }
        Package::Python(_) => {
            let python = program::python().map_err(anyhow::Error::msg)?;
            run(Command::new(python).args(["-m", "venv"]).arg(&root))?;
            run(Command::new(root.join("bin/pip")).args(["install", "--quiet", &spec]))?;
        }
    }
    if !program.is_file() {
        bail!("the package has no {}", for_this_machine(peer.program));
    }
    fs::write(&done, &spec)?;
    Ok(Fetched { peer, program, root })
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("could not start {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.lines().find(|line| !line.trim().is_empty() && !line.contains("warn")).unwrap_or("it failed"));
    }
    Ok(())
}

/// A name with the processor as npm and as compilers call it.
fn for_this_machine(text: &str) -> String {
    let cpu = std::env::consts::ARCH;
    text.replace("{arch}", if cpu == "aarch64" { "arm64" } else { "x64" }).replace("{cpu}", cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_was_fetched_is_not_fetched_again() {
        let scratch = Scratch::new().unwrap();
        let peer = Peer { name: "x", title: "x 1", package: Package::Npm("nobody/has-this@1"), program: "bin/x" };
        let root = scratch.path().join("nobody_has-this_1");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("bin/x"), "").unwrap();
        fs::write(root.join("fetched"), "nobody/has-this@1").unwrap();
        assert_eq!(fetch(peer, scratch.path()).unwrap().program, root.join("bin/x"));
    }

    #[test]
    fn a_program_has_a_name_for_people() {
        assert_eq!(
            [title_of("codex104"), title_of(OURS), title_of("gnu patch")],
            ["Codex 0.104.0", "Pellucid", "gnu patch"]
        );
    }
}
