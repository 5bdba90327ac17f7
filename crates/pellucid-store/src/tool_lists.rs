//! The tools that each MCP server listed last, so that a request can be shown without starting the server.
//!
//! A list is kept under the digest of the server's configuration. The file is private, and its content is not
//! trusted: reading is bounded, and a damaged file is refused with the reason. The newest lists are kept, older ones
//! are deleted.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::mcp::McpTool;
use serde::Deserialize;
use serde::Serialize;

/// The folder in the home folder.
const FOLDER: &str = "mcp_tools";

/// The format that is written and read.
const FORMAT: u32 = 1;

/// How long a list may be.
const BYTES_MAX: u64 = 4 << 20;

/// How many tools a list may have.
const TOOLS_MAX: usize = 4096;

/// How long a revision is remembered, in seconds.
const REVISION_SECONDS: u64 = 24 * 60 * 60;

/// How many lists stay.
const LISTS_MAX: usize = 64;

/// The lists of a home folder.
#[derive(Debug, Clone)]
pub struct ToolLists {
    folder: PathBuf,
}

/// The content of a file: its format and what is kept.
#[derive(Serialize, Deserialize)]
struct KeptFile {
    format: u32,
    #[serde(flatten)]
    list: KeptList,
}

/// What is kept of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptList {
    /// The tools that the server listed.
    pub tools: Vec<McpTool>,
    /// The revision of the protocol that the server spoke, if it was asked for the newest one that it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<KeptRevision>,
}

/// The revision of the protocol that a server spoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRevision {
    /// The name of the revision.
    pub name: String,
    /// When the server was asked, in seconds since 1970.
    pub at: u64,
}

impl KeptRevision {
    /// Whether the server need not be asked again at a time in seconds since 1970.
    pub fn is_fresh(&self, now: u64) -> bool {
        now.checked_sub(self.at).is_some_and(|age| age < REVISION_SECONDS)
    }
}

impl ToolLists {
    /// The lists in this home folder.
    pub fn new(home: &Path) -> Self {
        Self { folder: home.join(FOLDER) }
    }

    /// The list that was kept last under a digest; absent if none was.
    ///
    /// # Errors
    /// When there is one that cannot be read, is too long or is damaged.
    pub fn last(&self, digest: &str) -> io::Result<Option<KeptList>> {
        let bytes = match pellucid_files::read(&self.path(digest), BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result?,
        };
        let damaged = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
        let KeptFile { format, list } = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if format != FORMAT {
            return Err(damaged(format!("it has the format {format}, which this version does not know")));
        }
        if list.tools.len() > TOOLS_MAX {
            return Err(damaged(format!("it has more than {TOOLS_MAX} tools")));
        }
        Ok(Some(list))
    }

    /// Stores a list under a digest. A file with the same content is not written again. A list that is too long is
    /// not stored, and the older list is deleted.
    ///
    /// # Errors
    /// When it cannot be written, or is too long.
    pub fn keep(&self, digest: &str, list: KeptList) -> io::Result<()> {
        let path = self.path(digest);
        let n_tools = list.tools.len();
        let bytes = serde_json::to_vec(&KeptFile { format: FORMAT, list })?;
        if n_tools > TOOLS_MAX || bytes.len() as u64 > BYTES_MAX {
            // The older list is no longer true.
            let _gone = std::fs::remove_file(&path);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the list of tools is too long to be kept"));
        }
        if pellucid_files::read(&path, BYTES_MAX).is_ok_and(|kept| kept == bytes) {
            return Ok(());
        }
        pellucid_files::make_private_folder(&self.folder)?;
        pellucid_files::write_private(&path, &bytes)?;
        self.let_old_ones_go()
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.folder.join(format!("{digest}.json"))
    }

    fn let_old_ones_go(&self) -> io::Result<()> {
        let mut lists = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            if path.extension().is_some_and(|it| it == "json") {
                lists.push((entry.metadata()?.modified()?, path));
            }
        }
        lists.sort();
        let n_old = lists.len().saturating_sub(LISTS_MAX);
        for (_, path) in lists.iter().take(n_old) {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> KeptList {
        let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object", "b": 1, "a": 2 } });
        let tools = names.iter().map(|name| serde_json::from_value(tool(name)).unwrap()).collect();
        KeptList { tools, revision: None }
    }

    /// Checks the result for a list whose file has this text.
    #[track_caller]
    fn check_damaged(text: &str, expected: &str) {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(FOLDER)).unwrap();
        std::fs::write(home.path().join(FOLDER).join("d.json"), text).unwrap();
        assert_eq!(ToolLists::new(home.path()).last("d").unwrap_err().to_string(), expected);
    }

    #[test]
    fn the_last_list_is_there_again() {
        let home = tempfile::tempdir().unwrap();
        let lists = ToolLists::new(home.path());
        assert_eq!(lists.last("d").unwrap(), None);
        lists.keep("d", tools(&["b", "a"])).unwrap();
        lists.keep("e", KeptList::default()).unwrap();
        assert_eq!(lists.last("d").unwrap(), Some(tools(&["b", "a"])));
        lists.keep("d", tools(&["c"])).unwrap();
        assert_eq!(lists.last("d").unwrap(), Some(tools(&["c"])));
        assert_eq!(lists.last("e").unwrap(), Some(KeptList::default()));
    }

    #[test]
    fn a_revision_is_remembered_for_a_day() {
        let home = tempfile::tempdir().unwrap();
        let lists = ToolLists::new(home.path());
        let revision = KeptRevision { name: "2026-07-28".to_owned(), at: 1000 };
        lists.keep("d", KeptList { revision: Some(revision), ..tools(&["a"]) }).unwrap();
        let kept = lists.last("d").unwrap().unwrap().revision.unwrap();
        assert_eq!([999, 1000, 87_399, 87_400].map(|now| kept.is_fresh(now)), [false, true, true, false]);
    }

    #[test]
    fn a_damaged_list_is_refused() {
        check_damaged("{", "EOF while parsing an object at line 1 column 1");
        check_damaged(r#"{"format":2,"tools":[]}"#, "it has the format 2, which this version does not know");
        check_damaged(&" ".repeat((BYTES_MAX + 1) as usize), "it is longer than 4 MiB");
        let many = vec![json!({ "name": "a", "inputSchema": {} }); TOOLS_MAX + 1];
        check_damaged(&json!({ "format": 1, "tools": many }).to_string(), "it has more than 4096 tools");
    }

    #[test]
    fn a_list_that_is_too_long_is_not_kept_and_the_older_one_is_not_believed() {
        let home = tempfile::tempdir().unwrap();
        let lists = ToolLists::new(home.path());
        lists.keep("d", tools(&["a"])).unwrap();
        let error = lists.keep("d", tools(&vec!["a"; TOOLS_MAX + 1])).unwrap_err();
        assert_eq!(error.to_string(), "the list of tools is too long to be kept");
        assert_eq!(lists.last("d").unwrap(), None);
    }

    #[test]
    fn only_so_many_lists_stay() {
        let home = tempfile::tempdir().unwrap();
        let lists = ToolLists::new(home.path());
        for n in 0..LISTS_MAX + 3 {
            lists.keep(&n.to_string(), KeptList::default()).unwrap();
        }
        assert_eq!(std::fs::read_dir(home.path().join(FOLDER)).unwrap().count(), LISTS_MAX);
    }

    #[cfg(unix)]
    #[test]
    fn lists_are_for_this_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        ToolLists::new(home.path()).keep("d", KeptList::default()).unwrap();
        let mode = |path: &str| home.path().join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(FOLDER), mode("mcp_tools/d.json")], [0o700, 0o600]);
    }
}
