//! The folder that git is given instead of the repository's own.
//!
//! The folder holds what a query needs: the head, a copy of the index, references, and of the configuration the few
//! settings that name no program. Everything else that a repository can configure (filters, hooks, monitors, drivers,
//! helpers, included files, settings of a work tree) is missing, so git cannot act on it, whatever future versions
//! invent. The repository's objects are read where they are.
//!
//! The user's configuration counts, such as ignored files or a filter that the user has installed, unless that
//! configuration is in the project.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::fs::FileTimes;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_files::git_config::GitConfigEntry;

use crate::program::GitProgram;
use crate::refs;
use crate::refs::Checkout;
use crate::repository::Repository;
use crate::run::Ask;
use crate::run::Git;
use crate::run::GitError;
use crate::run::Said;

/// How names of these folders begin.
const PREFIX: &str = "git-";

/// No question takes as long.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// An index that is longer is not copied.
const INDEX_BYTES_MAX: u64 = 2 << 30;

/// A list of patterns or of commits that is longer is left out.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// Settings that are true or false, or one of a few words.
const PLAIN_KEYS: [(&str, &str); 11] = [
    ("core", "filemode"),
    ("core", "symlinks"),
    ("core", "ignorecase"),
    ("core", "precomposeunicode"),
    ("core", "autocrlf"),
    ("core", "eol"),
    ("core", "trustctime"),
    ("core", "checkstat"),
    ("core", "sparsecheckout"),
    ("core", "sparsecheckoutcone"),
    ("status", "showuntrackedfiles"),
];

/// Overrides the user's settings that do not apply to queries, and forbids what must never happen.
const ALWAYS: [&str; 26] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "core.gitProxy=none",
    "core.alternateRefsCommand=",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.quotePath=true",
    "credential.helper=",
    "diff.external=",
    "diff.renames=true",
    "diff.submodule=short",
    "diff.ignoreSubmodules=dirty",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Variables of the person that git gets.
const VARIABLES: [&str; 6] = ["HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "LANG", "TZ"];

/// Further variables of the person for questions that reach other repositories: proxies and certificates.
const REACHING: [&str; 12] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// The parts of a repository that are copied, beside its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Only the objects are needed.
    Objects,
    /// The index is copied too.
    Index,
    /// The index and all references, with what branches follow.
    References,
}

/// The folders that git may write, beside its private folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Git may write nothing else.
    Read,
    /// Objects of the repository.
    Objects,
}

/// A folder that git runs on. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Private<'g> {
    git: &'g Git,
    program: GitProgram,
    /// The path of the private folder.
    folder: PathBuf,
    /// The work tree that git sees.
    work_tree: PathBuf,
    /// The repository's objects, if there is one.
    objects: Option<PathBuf>,
    variables: BTreeMap<OsString, OsString>,
}

impl<'g> Private<'g> {
    /// Makes a folder for the work tree at `root`, which may be in no repository.
    pub fn new(git: &'g Git, root: &Path, repository: Option<&Repository>, needs: Needs) -> Result<Self, GitError> {
        let settings = git.settings();
        let program = git.program(root)?;
        let above = settings.home.join("tmp");
        remove_old(&above);
        let folder = above.join(format!("{PREFIX}{}", uuid::Uuid::new_v4()));
        pellucid_files::make_private_folder(&folder).map_err(GitError::file(&folder))?;
        // From here on it is removed again, whatever happens.
        let mut private = Self {
            git,
            program,
            work_tree: root.to_owned(),
            objects: None,
            variables: BTreeMap::new(),
            folder: folder.canonicalize().map_err(GitError::file(&folder))?,
        };
        for part in ["git/refs", "git/objects", "git/info", "tmp"] {
            let part = private.path(part);
            pellucid_files::make_private_folder(&part).map_err(GitError::file(&part))?;
        }
        match repository {
            Some(repository) => private.copy(repository, needs)?,
            None => {
                private.write("git/HEAD", b"ref: refs/heads/none\n")?;
                private.write("git/config", b"[core]\n\tbare = false\n")?;
            }
        }
        private.variables = private.variables();
        Ok(private)
    }

    /// A file or a folder in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Whether a path of the work tree leads here.
    pub fn is_own(&self, path: &Path) -> bool {
        self.work_tree.join(path).starts_with(&self.folder)
    }

    /// Git sees another work tree from now on: a folder in this one.
    pub fn see(&mut self, name: &str) {
        self.work_tree = self.path(name);
        self.variables.insert("GIT_WORK_TREE".into(), self.work_tree.clone().into());
    }

    /// Questions may reach other repositories by this protocol from now on, and by no other.
    pub fn allow_protocol(&mut self, protocol: &str) {
        let theirs = &self.git.settings().variables;
        let taken =
            REACHING.iter().filter_map(|name| Some((OsString::from(name), theirs.get(OsStr::new(name))?.clone())));
        self.variables.extend(taken);
        self.variables.insert("GIT_ALLOW_PROTOCOL".into(), protocol.into());
    }

    /// Runs git and takes what it says, however it ends.
    pub fn ask(&self, ask: Ask<'_>, access: Access, index: Option<&str>) -> Result<Said, GitError> {
        let mut variables = self.variables.clone();
        if let Some(index) = index {
            variables.insert("GIT_INDEX_FILE".into(), self.path(index).into());
        }
        let mut writable = vec![self.folder.clone()];
        if let (Access::Objects, Some(objects)) = (access, &self.objects) {
            writable.push(objects.clone());
        }
        let mut words: Vec<OsString> = ALWAYS.iter().flat_map(|setting| ["-c", setting]).map(OsString::from).collect();
        words.extend(ask.words);
        let cwd = if ask.cwd == Path::new("/") { self.work_tree.as_path() } else { ask.cwd };
        self.git.run(&self.program, &Ask { words, cwd, ..ask }, variables, &writable)
    }

    /// The output of git, as bytes.
    pub fn bytes(&self, ask: Ask<'_>, access: Access, index: Option<&str>) -> Result<Vec<u8>, GitError> {
        let about = Ask { words: Vec::new(), ..ask };
        self.ask(Ask { words: ask.words, ..about }, access, index)?.bytes(&Ask::new(&[about.command]))
    }

    /// The output of git, as text without the last newline.
    pub fn text(&self, words: &[&str]) -> Result<String, GitError> {
        let bytes = self.bytes(Ask::new(words), Access::Read, None)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), GitError> {
        let path = self.path(name);
        let written = pellucid_files::create_private(&path).and_then(|mut file| file.write_all(bytes));
        written.map_err(GitError::file(path))
    }

    fn variables(&self) -> BTreeMap<OsString, OsString> {
        let theirs = &self.git.settings().variables;
        let taken =
            VARIABLES.iter().filter_map(|name| Some((OsString::from(name), theirs.get(OsStr::new(name))?.clone())));
        let mut variables: BTreeMap<OsString, OsString> = taken.collect();
        let mut set = |name: &str, value: &OsStr| drop(variables.insert(name.into(), value.into()));
        set("LC_ALL", OsStr::new("C"));
        set("TMPDIR", self.path("tmp").as_os_str());
        set("GIT_DIR", self.path("git").as_os_str());
        set("GIT_WORK_TREE", self.work_tree.as_os_str());
        if let Some(objects) = &self.objects {
            set("GIT_OBJECT_DIRECTORY", objects.as_os_str());
        }
        for (name, value) in [
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", ""),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_PAGER", "cat"),
        ] {
            set(name, OsStr::new(value));
        }
        // A configuration in the project is not the person's.
        let is_inside = |name: &str| {
            let folder = theirs.get(OsStr::new(name)).and_then(|folder| fs::canonicalize(folder).ok());
            folder.is_some_and(|folder| folder.starts_with(&self.work_tree))
        };
        if is_inside("HOME") || is_inside("XDG_CONFIG_HOME") {
            set("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null"));
        }
        variables
    }

    /// Copies what is needed of a repository.
    fn copy(&mut self, repository: &Repository, needs: Needs) -> Result<(), GitError> {
        let Repository { git_dir, common_dir, .. } = repository;
        let unreadable =
            |path: &Path, what: &str| GitError::Unreadable { path: path.to_owned(), what: what.to_owned() };
        let config = match repository.config() {
            Some(config) => config,
            None if common_dir.join("config").symlink_metadata().is_err() => Vec::new(),
            None => return Err(unreadable(&common_dir.join("config"), "it is not a git configuration")),
        };
        let references = config.iter().rev().find(|entry| entry.section == "extensions" && entry.key == "refstorage");
        if references.and_then(|entry| entry.value.as_deref()).is_some_and(|value| !value.eq_ignore_ascii_case("files"))
        {
            return Err(unreadable(git_dir, "its references are not kept in files"));
        }
        let checkout = repository.checkout().ok_or_else(|| unreadable(&git_dir.join("HEAD"), "it names no commit"))?;
        let known = if needs == Needs::References { refs::all(common_dir) } else { BTreeMap::new() };
        let head = match &checkout {
            Checkout::Nothing => "ref: refs/heads/none\n".to_owned(),
            Checkout::At(head) => match &head.branch {
                Some(branch) if known.contains_key(&format!("refs/heads/{branch}")) => {
                    format!("ref: refs/heads/{branch}\n")
                }
                _ => format!("{}\n", head.commit),
            },
        };
        self.write("git/HEAD", head.as_bytes())?;
        let packed: String = known.iter().map(|(name, commit)| format!("{commit} {name}\n")).collect();
        self.write("git/packed-refs", packed.as_bytes())?;
        self.write("git/config", plain_config(&config).as_bytes())?;
        for (from, name) in [
            (common_dir, "info/exclude"),
            (common_dir, "info/attributes"),
            (common_dir, "shallow"),
            (git_dir, "info/sparse-checkout"),
        ] {
            if let Ok(bytes) = pellucid_files::read(&from.join(name), LIST_BYTES_MAX) {
                self.write(&format!("git/{name}"), &bytes)?;
            }
        }
        if needs != Needs::Objects {
            self.copy_index(git_dir)?;
        }
        let objects = common_dir.join("objects");
        self.objects = Some(fs::canonicalize(&objects).map_err(GitError::file(objects))?);
        Ok(())
    }

    /// Copies the index, which says by its own time which of its entries may be out of date, and what it shares with
    /// others.
    fn copy_index(&self, git_dir: &Path) -> Result<(), GitError> {
        copy_file(&git_dir.join("index"), &self.path("git/index"))?;
        let entries = fs::read_dir(git_dir).map_err(GitError::file(git_dir))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_shared = name.to_str().and_then(|name| name.strip_prefix("sharedindex."));
            if is_shared.is_some_and(refs::is_hash) {
                copy_file(&entry.path(), &self.path("git").join(name))?;
            }
        }
        Ok(())
    }
}

impl Drop for Private<'_> {
    fn drop(&mut self) {
        // Files that cannot be removed are in the user's folder, and nothing depends on them.
        let _ = fs::remove_dir_all(&self.folder);
        let _ = self.folder.parent().map(fs::remove_dir);
    }
}

/// Removes folders of agents that were killed.
fn remove_old(above: &Path) {
    let Ok(entries) = fs::read_dir(above) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let age = entry.metadata().and_then(|it| it.modified()).map(|it| it.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > OLD) {
            // Another agent may be about to do the same.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Copies a regular file with its time. A missing file is not copied.
fn copy_file(from: &Path, to: &Path) -> Result<(), GitError> {
    let file = match pellucid_files::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(GitError::file(from))?,
    };
    let copy = || {
        let metadata = file.metadata()?;
        let mut copy = pellucid_files::create_private(to)?;
        if io::copy(&mut (&file).take(INDEX_BYTES_MAX), &mut copy)? == INDEX_BYTES_MAX {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        copy.set_times(FileTimes::new().set_modified(metadata.modified()?))
    };
    copy().map_err(GitError::file(from))
}

/// The settings of a repository that name no program, no file and no address.
fn plain_config(entries: &[GitConfigEntry]) -> String {
    let mut text = String::from("[core]\n\tbare = false\n\trepositoryformatversion = 1\n");
    let is_word = |value: &str| value.len() <= 16 && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for entry in entries {
        let GitConfigEntry { section, subsection, key, value } = entry;
        let Some(name) = subsection else {
            let value = value.as_deref().unwrap_or("true");
            let is_format = (section.as_str(), key.as_str()) == ("extensions", "objectformat");
            if is_word(value) && (is_format || PLAIN_KEYS.contains(&(section, key))) {
                let _ = write!(text, "[{section}]\n\t{key} = {value}\n");
            }
            continue;
        };
        let is_plain = matches!((section.as_str(), key.as_str()), ("branch", "remote" | "merge") | ("remote", "fetch"));
        if let (true, Some(value)) = (is_plain, value) {
            let (name, value) = (quoted(name), quoted(value));
            let _ = write!(text, "[{section} {name}]\n\t{key} = {value}\n");
        }
    }
    text
}

/// A text in quotes; what cannot be in them is left out.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|it| !it.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use pellucid_files::git_config;

    use super::*;

    #[test]
    fn only_settings_that_name_no_program_are_taken() {
        let text = "[core]\n\tfileMode = false\n\tfsmonitor = evil\n\tautocrlf\n\teol = \"lf\\n[core]\\nfsmonitor=evil\"\n\
             [filter \"x\"]\n\tclean = evil\n[include]\n\tpath = evil\n[extensions]\n\tobjectFormat = sha256\n\tworktreeConfig = true\n\
             [branch \"a\\\"b\"]\n\tremote = o\n\tmerge = refs/heads/m\n[remote \"o\"]\n\turl = ext::evil\n\tfetch = +refs/heads/*:refs/remotes/o/*\n\tuploadpack = evil\n\
             [alias]\n\tstatus = !evil\n[remote \"l\"]\n\tfetch = \"a\\n[core]\\nfsmonitor=evil\"\n";
        let entries = git_config::parse(text).unwrap();
        let plain = plain_config(&entries);
        expect_test::expect![[r#"
            [core]
            	bare = false
            	repositoryformatversion = 1
            [core]
            	filemode = false
            [core]
            	autocrlf = true
            [extensions]
            	objectformat = sha256
            [branch "a\"b"]
            	remote = "o"
            [branch "a\"b"]
            	merge = "refs/heads/m"
            [remote "o"]
            	fetch = "+refs/heads/*:refs/remotes/o/*"
            [remote "l"]
            	fetch = "a[core]fsmonitor=evil"
        "#]]
        .assert_eq(&plain);
        assert!(git_config::parse(&plain).is_some());
    }
}
