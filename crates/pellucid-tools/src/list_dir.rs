//! `list_dir`: a slice of what a folder holds, some levels deep.

use std::fs::FileType;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::cut;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::blocking;

pub(crate) const TOOL: Tool = Tool {
    name: "list_dir",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::ReadsOnly),
    run: |call, job| Box::pin(run(call, job)),
};

/// A name is cut after so many bytes.
const NAME_MAX: usize = 500;

#[derive(Deserialize)]
struct Arguments {
    dir_path: PathBuf,
    #[serde(default = "one")]
    offset: usize,
    #[serde(default = "limit")]
    limit: usize,
    #[serde(default = "depth")]
    depth: usize,
}

fn one() -> usize {
    1
}

fn limit() -> usize {
    25
}

fn depth() -> usize {
    2
}

struct Entry {
    /// The path below the folder, by which entries are sorted.
    key: String,
    name: String,
    level: usize,
    mark: &'static str,
}

async fn run(call: &ToolCall, _job: &CallContext) -> Result<ToolOutput, Failed> {
    let wanted: Arguments = arguments(call)?;
    if wanted.offset == 0 {
        return Err(Failed::answered("offset must be a 1-indexed entry number"));
    }
    if wanted.limit == 0 {
        return Err(Failed::answered("limit must be greater than zero"));
    }
    if wanted.depth == 0 {
        return Err(Failed::answered("depth must be greater than zero"));
    }
    if !wanted.dir_path.is_absolute() {
        return Err(Failed::answered("dir_path must be an absolute path"));
    }
    blocking(move || list(&wanted)).await.map(ToolOutput::Text)
}

fn list(wanted: &Arguments) -> Result<String, Failed> {
    let entries = collect(&wanted.dir_path, wanted.depth)?;
    let mut lines = vec![format!("Absolute path: {}", wanted.dir_path.display())];
    if !entries.is_empty() {
        let start = wanted.offset - 1;
        let rest = entries
            .get(start..)
            .filter(|rest| !rest.is_empty())
            .ok_or_else(|| Failed::answered("offset exceeds directory entry count"))?;
        let slice = &rest[..wanted.limit.min(rest.len())];
        lines.extend(slice.iter().map(|entry| format!("{}{}{}", "  ".repeat(entry.level), entry.name, entry.mark)));
        if slice.len() < rest.len() {
            lines.push(format!("More than {} entries found", slice.len()));
        }
    }
    Ok(lines.join("\n"))
}

fn collect(folder: &Path, depth: usize) -> Result<Vec<Entry>, Failed> {
    let mut entries = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((path, prefix, level)) = folders.pop() {
        let read = |error| Failed::answered(format!("failed to read directory: {error}"));
        for entry in std::fs::read_dir(&path).map_err(read)? {
            let entry = entry.map_err(read)?;
            let kind = entry.file_type();
            let kind = kind.map_err(|error| Failed::answered(format!("failed to inspect entry: {error}")))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let below = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            if kind.is_dir() && level + 1 < depth {
                folders.push((entry.path(), below.clone(), level + 1));
            }
            let (key, name) = (cut::first(&below, NAME_MAX).to_owned(), cut::first(&name, NAME_MAX).to_owned());
            entries.push(Entry { key, name, level, mark: mark(kind) });
        }
    }
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(entries)
}

fn mark(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "@"
    } else if kind.is_dir() {
        "/"
    } else if kind.is_file() {
        ""
    } else {
        "?"
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;

    #[track_caller]
    fn check_list(arguments: &str, expected: &Expect) {
        let bench = Bench::new();
        for folder in ["a/b/c", "z"] {
            std::fs::create_dir_all(bench.path().join(folder)).unwrap();
        }
        for file in ["a/one", "a/b/two", "a/b/c/three", "four"] {
            std::fs::write(bench.path().join(file), "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("a", bench.path().join("link")).unwrap();
        let folder = bench.path().to_string_lossy().into_owned();
        let shown = bench.show(&function("list_dir", &arguments.replace("DIR", &folder)));
        expected.assert_eq(&shown.replace(&folder, "DIR"));
    }

    #[test]
    fn entries_are_sorted_by_path_and_marked() {
        check_list(
            r#"{"dir_path":"DIR"}"#,
            &expect![[r#"
            => Absolute path: DIR
            a/
              b/
              one
            four
            link@
            z/
        "#]],
        );
        check_list(
            r#"{"dir_path":"DIR","depth":3,"offset":2,"limit":3}"#,
            &expect![[r#"
            => Absolute path: DIR
              b/
                c/
                two
            More than 3 entries found
        "#]],
        );
        check_list(
            r#"{"dir_path":"DIR/z"}"#,
            &expect![[r#"
            => Absolute path: DIR/z
        "#]],
        );
    }

    #[test]
    fn wrong_numbers_and_paths_are_said() {
        check_list(
            r#"{"dir_path":"DIR","offset":0}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"list_dir","why":"the model got the reason"}
                => offset must be a 1-indexed entry number
            "#]],
        );
        check_list(
            r#"{"dir_path":"DIR","limit":0}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"list_dir","why":"the model got the reason"}
                => limit must be greater than zero
            "#]],
        );
        check_list(
            r#"{"dir_path":"DIR","depth":0}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"list_dir","why":"the model got the reason"}
                => depth must be greater than zero
            "#]],
        );
        check_list(
            r#"{"dir_path":"a"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"list_dir","why":"the model got the reason"}
                => dir_path must be an absolute path
            "#]],
        );
        check_list(
            r#"{"dir_path":"DIR/none"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"list_dir","why":"the model got the reason"}
                => failed to read directory: No such file or directory (os error 2)
            "#]],
        );
        check_list(
            r#"{"dir_path":"DIR","offset":99}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"list_dir","why":"the model got the reason"}
                => offset exceeds directory entry count
            "#]],
        );
    }
}
