//! The platforms that packages are made for, and what each kind of package calls them.

use anyhow::{Result, bail};

/// A platform, by its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    pub target: &'static str,
    /// The machine in the header of a program (`e_machine` of ELF).
    pub machine: u16,
    /// The architecture of a `.deb`.
    pub deb: &'static str,
    /// The architecture of a `.rpm`, which is also what `uname -m` prints.
    pub rpm: &'static str,
    /// The processor in Node's words.
    pub node: &'static str,
    /// Compilers of C with musl's headers: the first that is installed counts, else zig's. Headers of another C library name
    /// functions that musl does not have.
    pub compilers: &'static [&'static str],
}

pub const PLATFORMS: &[Platform] = &[
    Platform {
        target: "x86_64-unknown-linux-musl",
        machine: 62,
        deb: "amd64",
        rpm: "x86_64",
        node: "x64",
        compilers: &["x86_64-linux-musl-gcc", "musl-gcc"],
    },
    Platform {
        target: "aarch64-unknown-linux-musl",
        machine: 183,
        deb: "arm64",
        rpm: "aarch64",
        node: "arm64",
        compilers: &["aarch64-linux-musl-gcc"],
    },
];

impl Platform {
    pub fn named(target: &str) -> Result<Self> {
        match PLATFORMS.iter().find(|it| it.target == target) {
            Some(platform) => Ok(*platform),
            None => {
                let known: Vec<&str> = PLATFORMS.iter().map(|it| it.target).collect();
                bail!("no packages are made for {target}; there are {}", known.join(", "))
            }
        }
    }

    /// The name of the npm package with the program.
    pub fn npm(&self) -> String {
        format!("@pellucid/linux-{}", self.node)
    }

    /// The name of the archive, without its ending. Also the folder in it.
    pub fn archive(&self, version: &str) -> String {
        format!("pellucid-{version}-{}", self.target)
    }
}
