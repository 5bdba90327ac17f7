//! The files that a session's requests are made from, by hash, and which of them changed between two requests.
//!
//! A request that was sent stays what it is when such a file changes, and some layouts never say the new text in a
//! session that has the old one. So the report of the next request names every change with both hashes.
//!
//! Not here: the message to the model about changes (`documents::change`), which only some layouts do.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use crate::digest::Digest;
use crate::documents::listed;
use crate::facts::Facts;
use crate::file_version::FileVersion;
use crate::injection::FileRead;
use crate::pack::Pack;

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilePurpose {
    /// The text is sent to the model as instructions.
    Instructions,
    /// The text is sent before the user's input, in packs that have such texts.
    Standing,
    /// The file belongs to the pack.
    Pack,
}

impl FilePurpose {
    /// The kind in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Standing => "standing",
            Self::Pack => "pack",
        }
    }
}

/// Files by path, with their hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStates {
    files: BTreeMap<(FilePurpose, String), Digest>,
}

/// A file that is not what it was for the request before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path of the file.
    pub path: String,
    /// The purpose of the file.
    pub kind: FilePurpose,
    /// The hash of what was read for the request before; absent if it was not read then.
    pub old: Option<Digest>,
    /// The hash of what is read now; absent if it is not read any more.
    pub new: Option<Digest>,
}

/// How states are written down: hashes by path.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    instructions: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    standing: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pack: BTreeMap<String, String>,
}

impl FileStates {
    /// The files among the facts and those of the pack that are on disk.
    pub fn of(facts: &Facts, pack: &Pack) -> Self {
        let mut states = Self::default();
        for file in listed::versions(facts) {
            states.add(FilePurpose::Instructions, &file);
        }
        let reads = facts.system.injection.reads.iter();
        let found = reads.flat_map(|read| read.files.values().chain(read.repo.documents.iter().map(|(_, it)| it)));
        for found in found {
            if let FileRead::Text(text) = found {
                states.add(FilePurpose::Instructions, text.path());
            }
        }
        if let Some(memory) = &facts.world.memory {
            states.add(FilePurpose::Instructions, &memory.summary.version());
        }
        for file in pack.files_on_disk() {
            states.add(FilePurpose::Pack, file);
        }
        states
    }

    /// Adds a file, if its hash is known.
    pub fn add(&mut self, kind: FilePurpose, file: &FileVersion) {
        if let Some(sha256) = file.sha256() {
            self.files.insert((kind, file.to_string()), *sha256);
        }
    }

    /// Adds the files of a kind that another state has, where this one does not have them.
    pub fn carry(&mut self, kind: FilePurpose, from: &Self) {
        for (key, sha256) in from.files.iter().filter(|((it, _), _)| *it == kind) {
            self.files.entry(key.clone()).or_insert(*sha256);
        }
    }

    /// The files that differ between this state and a later one.
    pub fn changed(&self, later: &Self) -> Vec<ChangedFile> {
        let gone = self.files.iter().filter(|(key, _)| !later.files.contains_key(*key));
        let gone = gone.map(|(key, old)| (key, Some(*old), None));
        let now = later.files.iter().map(|(key, new)| (key, self.files.get(key).copied(), Some(*new)));
        let mut all: Vec<_> = gone.chain(now.filter(|(_, old, new)| old != new)).collect();
        all.sort_by_key(|(key, ..)| *key);
        let changed = |((kind, path), old, new): (&(FilePurpose, String), _, _)| ChangedFile {
            path: path.clone(),
            kind: *kind,
            old,
            new,
        };
        all.into_iter().map(changed).collect()
    }

    /// The states as text.
    pub fn write(&self) -> String {
        let of = |wanted: FilePurpose| {
            let files = self.files.iter().filter(|((kind, _), _)| *kind == wanted);
            files.map(|((_, path), sha256)| (path.clone(), sha256.to_string())).collect()
        };
        let (instructions, standing) = (of(FilePurpose::Instructions), of(FilePurpose::Standing));
        let written = Written { instructions, standing, pack: of(FilePurpose::Pack) };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// States that were written, or nothing if the text says something else.
    pub fn read(text: &str) -> Option<Self> {
        let Written { instructions, standing, pack } = serde_json::from_str(text).ok()?;
        let of = |kind: FilePurpose, files: BTreeMap<String, String>| {
            files.into_iter().map(move |(path, sha256)| Some(((kind, path), Digest::read(&sha256)?)))
        };
        let files = of(FilePurpose::Instructions, instructions).chain(of(FilePurpose::Standing, standing));
        let files = files.chain(of(FilePurpose::Pack, pack));
        Some(Self { files: files.collect::<Option<_>>()? })
    }
}

impl ChangedFile {
    /// The change as JSON.
    pub fn to_json(&self) -> Value {
        let Self { path, kind, old, new } = self;
        let hash = |digest: &Option<Digest>| digest.map(|it| it.to_string());
        json!({ "path": path, "kind": kind.as_str(), "old_sha256": hash(old), "new_sha256": hash(new) })
    }
}

impl std::fmt::Display for ChangedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = &self.path;
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "{path} changed since the last request, sha256 {old} -> {new}"),
            (None, Some(new)) => write!(f, "{path} is new since the last request, sha256 none -> {new}"),
            (Some(old), None) => write!(f, "{path} is no longer read, sha256 {old} -> none"),
            (None, None) => write!(f, "{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    /// States of files, each `kind:path=text`.
    fn states(files: &str) -> FileStates {
        let mut states = FileStates::default();
        for file in files.split_whitespace() {
            let (kind, rest) = file.split_once(':').unwrap();
            let (path, text) = rest.split_once('=').unwrap();
            let kind = match kind {
                "pack" => FilePurpose::Pack,
                "standing" => FilePurpose::Standing,
                _ => FilePurpose::Instructions,
            };
            states.add(kind, &FileVersion::of(path, text.as_bytes()));
        }
        states
    }

    #[track_caller]
    fn check_changes(before: &str, after: &str, expected: &Expect) {
        let (before, after) = (states(before), states(after));
        assert_eq!(FileStates::read(&before.write()), Some(before.clone()), "it is read as it was written");
        let short = |digest: Option<Digest>| digest.map_or("none".to_owned(), |it| it.short()[..6].to_owned());
        let line =
            |it: &ChangedFile| format!("{} {} {} -> {}", it.kind.as_str(), it.path, short(it.old), short(it.new));
        expected.assert_eq(&before.changed(&after).iter().map(line).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn changed_new_and_gone_files_are_named_with_both_hashes() {
        check_changes("i:/a=1 pack:/p=2", "pack:/p=2 i:/a=1", &expect![[""]]);
        check_changes(
            "i:/a=1 i:/b=1 i:/c=1 standing:/s=1 pack:/p=1 pack:/q=1",
            "i:/b=2 i:/c=1 i:/d=1 standing:/s=2 pack:/p=3 pack:/r=1",
            &expect![[r#"
                instructions /a 6b86b2 -> none
                instructions /b 6b86b2 -> d4735e
                instructions /d none -> 6b86b2
                standing /s 6b86b2 -> d4735e
                pack /p 6b86b2 -> 4e0740
                pack /q 6b86b2 -> none
                pack /r none -> 6b86b2"#]],
        );
    }

    #[test]
    fn a_file_without_a_hash_is_not_compared() {
        let mut states = FileStates::default();
        states.add(FilePurpose::Instructions, &"/a".into());
        assert_eq!(states, FileStates::default());
        assert_eq!(FileStates::read("{\"instructions\":{\"/a\":\"no hash\"}}"), None);
        assert_eq!(FileStates::read("nothing"), None);
    }

    #[test]
    fn a_change_is_told_with_both_hashes() {
        let digest = |text: &str| Some(Digest::of([text.as_bytes()]));
        let changed = |old, new| ChangedFile { path: "/a".to_owned(), kind: FilePurpose::Standing, old, new };
        let hash = |text: &str| digest(text).unwrap().to_string();
        let (one, two) = (hash("1"), hash("2"));
        assert_eq!(
            [
                changed(digest("1"), digest("2")).to_string(),
                changed(None, digest("2")).to_string(),
                changed(digest("1"), None).to_string(),
                changed(None, None).to_string(),
            ],
            [
                format!("/a changed since the last request, sha256 {one} -> {two}"),
                format!("/a is new since the last request, sha256 none -> {two}"),
                format!("/a is no longer read, sha256 {one} -> none"),
                "/a".to_owned(),
            ]
        );
        assert_eq!(
            changed(None, digest("2")).to_json(),
            json!({ "path": "/a", "kind": "standing", "old_sha256": null, "new_sha256": two })
        );
    }

    #[test]
    fn files_of_a_kind_are_carried_over_where_they_are_not_known() {
        let mut later = states("i:/a=2 standing:/s=2");
        later.carry(FilePurpose::Standing, &states("standing:/s=1 standing:/t=1 i:/b=1"));
        assert_eq!(later, states("i:/a=2 standing:/s=2 standing:/t=1"));
    }

    #[test]
    fn states_are_written_in_one_form_and_read_from_any_cut_only_whole() {
        let all = states("i:/a=1 standing:/s=2 pack:/p=3");
        let written = all.write();
        assert_eq!(FileStates::default().write(), "{}");
        assert_eq!(FileStates::read("{}"), Some(FileStates::default()));
        for cut in 0..written.len() {
            assert_eq!(FileStates::read(&written[..cut]), None, "{}", &written[..cut]);
        }
        assert_eq!(FileStates::read(&written), Some(all));
        for wrong in ["[1]", "{\"pack\":7}", "{\"pack\":{\"/p\":7}}", "{\"pack\":{\"/p\":\"00\"}}"] {
            assert_eq!(FileStates::read(wrong), None, "{wrong}");
        }
    }
}
