//! Files of a tag of another repository, fetched with the user's git.
//!
//! The one question that may use the network, and only if the address is one of https. Git gets an empty private folder: there is
//! no configuration but the user's, no hook, no filter, no submodule, no credential and no prompt, and the protocol is the one of the
//! address, whatever a redirection or a setting says. Nothing is checked out; the files are read as objects.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use crate::private::Access;
use crate::private::Needs;
use crate::private::Private;
use crate::revision;
use crate::revision::Revision;
use crate::run::Ask;
use crate::run::Git;
use crate::run::GitError;

/// How long a fetch may take.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// The protocols that are fetched by, with how addresses begin and whether they need the network.
const PROTOCOLS: [(&str, &str, bool); 2] = [("https", "https://", true), ("file", "file:///", false)];

/// A tag of another repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteTag<'a> {
    /// The address of the repository: `https://…` or `file:///…`.
    pub url: &'a str,
    /// The name of the tag.
    pub tag: &'a str,
}

impl RemoteTag<'_> {
    /// Whether the tag can be asked for, as far as its address and name say.
    ///
    /// # Errors
    /// If the address or the name is not one.
    pub fn check(&self) -> Result<(), GitError> {
        self.protocol().map(drop)
    }

    /// The protocol of the address, and whether it needs the network.
    ///
    /// # Errors
    /// If the protocol is another, or the address has a name and a password, or the tag is no name of a tag.
    fn protocol(&self) -> Result<(&'static str, bool), GitError> {
        let refused = |what| GitError::Remote { url: self.url.to_owned(), what };
        let known = PROTOCOLS.iter().find(|(_, start, _)| self.url.starts_with(start));
        let (protocol, start, has_network) =
            known.ok_or_else(|| refused("an address begins with https:// or file:///"))?;
        let host = self.url[start.len()..].split('/').next().unwrap_or_default();
        if host.contains('@') {
            return Err(GitError::Remote {
                url: format!("{start}…"),
                what: "an address must not have a name or a password",
            });
        }
        if self.url.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(refused("an address has no white space"));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if self.tag.is_empty()
            || self.tag.starts_with(['-', '.'])
            || !self.tag.chars().all(is_plain)
            || self.tag.contains("..")
        {
            return Err(refused("the name of the tag is not one"));
        }
        Ok((protocol, *has_network))
    }
}

/// The program that a fetch would use, for a message before it.
///
/// # Errors
/// If git is not installed outside of the folder that is worked in.
pub fn program(git: &Git, cwd: &Path) -> Result<PathBuf, GitError> {
    Ok(git.program(cwd)?.path)
}

/// Fetches a tag without its history, and reads those of its files that are wanted. `cwd` is the folder that is worked in: no
/// program in it is used.
///
/// Blocks until git has ended.
///
/// # Errors
/// When the address is not one to fetch from, git cannot be confined or fails, there is no such tag, or what is wanted is too much.
pub fn read(git: &Git, remote: RemoteTag<'_>, cwd: &Path, wants: &dyn Fn(&Path) -> bool) -> Result<Revision, GitError> {
    let (protocol, has_network) = remote.protocol()?;
    let mut private = Private::new(git, cwd, None, Needs::Objects)?;
    // Git sees an empty folder as the work tree, so that it reads nothing of the project.
    private.see("tmp");
    private.allow_protocol(protocol);
    let name = format!("refs/tags/{}", remote.tag);
    let spec = format!("+{name}:{name}");
    let words = [
        "-c",
        "fetch.fsckObjects=true",
        "-c",
        "http.followRedirects=initial",
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--end-of-options",
        remote.url,
        &spec,
    ];
    let ask = Ask { command: "fetch", limit: LIMIT, has_network, ..Ask::new(&words) };
    private.bytes(ask, Access::Read, None)?;
    let commit = private.text(&["rev-parse", "--verify", "--end-of-options", &format!("{name}^{{commit}}")])?;
    let commit = commit.lines().last().unwrap_or_default().to_owned();
    let files = revision::files(&private, &commit, wants)?;
    Ok(Revision { commit, root: PathBuf::new(), files })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_address(url: &str, tag: &str, expected: Result<(&str, bool), &str>) {
        let found = RemoteTag { url, tag }.protocol();
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn only_plain_addresses_and_tags_are_fetched() {
        check_address("https://example.org/a", "v1.0", Ok(("https", true)));
        check_address("file:///srv/a", "rust-v0.104.0", Ok(("file", false)));
        let scheme = "an address begins with https:// or file:///";
        for url in ["http://a/b", "ssh://a/b", "git@a:b", "ext::sh -c x", "/srv/a", "-oProxyCommand=x", "file://host/a"]
        {
            check_address(url, "v1", Err(&format!("{url} cannot be fetched from: {scheme}")));
        }
        let secret = "https://… cannot be fetched from: an address must not have a name or a password";
        check_address("https://me:secret@example.org/a", "v1", Err(secret));
        for tag in ["", "-x", "a b", "a:b", "a..b", "a/b", "é"] {
            let problem = "https://a/b cannot be fetched from: the name of the tag is not one";
            check_address("https://a/b", tag, Err(problem));
        }
    }
}
