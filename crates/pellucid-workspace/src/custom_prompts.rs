//! Custom prompts on disk: the Markdown files of a folder in the home folder.
//!
//! Not here: what they say and how their places are filled (`pellucid-engine`).

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use pellucid_engine::custom_prompt::CustomPrompt;

/// The folder, within the home folder.
const FOLDER: &str = "prompts";

/// The custom prompts, by name. Files that cannot be read or are not text are passed over.
pub fn load(home: &Path) -> Vec<CustomPrompt> {
    let Ok(entries) = fs::read_dir(home.join(FOLDER)) else {
        return Vec::new();
    };
    let mut prompts: Vec<_> = entries.flatten().filter_map(|entry| read(&entry.path())).collect();
    prompts.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    prompts
}

fn read(path: &Path) -> Option<CustomPrompt> {
    let is_markdown = path.extension().and_then(OsStr::to_str).is_some_and(|it| it.eq_ignore_ascii_case("md"));
    // Links are followed, so that a prompt may be elsewhere.
    if !is_markdown {
        return None;
    }
    let name = path.file_stem()?.to_str()?;
    let text = pellucid_files::read_text(path, pellucid_files::TEXT_BYTES_MAX).ok()?;
    Some(CustomPrompt::parse(name, &path.to_string_lossy(), &text))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn markdown_files_and_links_to_them_are_prompts() {
        let fixture = Fixture::new(
            "
            prompts/b.md: ---\\ndescription: Does b.\\nargument-hint: FILE=x\\n---\\nDo $FILE
            prompts/a.MD: Do a.
            prompts/c.d.md: Do c.
            prompts/linked.md -> ../elsewhere
            elsewhere: Do it elsewhere.
            prompts/note.txt: no
            prompts/md: no
            prompts/folder.md/inner.md: no
            prompts/gone.md -> nowhere
            ",
        );
        fixture.write("prompts/bytes.md", b"\xff");
        let show = |prompt: CustomPrompt| {
            let CustomPrompt { name, path, content, description, argument_hint } = prompt;
            format!("{name} {path} {content:?} {description:?} {argument_hint:?}\n")
        };
        let text: String = load(fixture.root()).into_iter().map(show).collect();
        expect![[r#"
            a $/prompts/a.MD "Do a." None None
            b $/prompts/b.md "Do $FILE" Some("Does b.") Some("FILE=x")
            c.d $/prompts/c.d.md "Do c." None None
            linked $/prompts/linked.md "Do it elsewhere." None None
        "#]]
        .assert_eq(&fixture.shown(text));
    }

    #[test]
    fn without_a_folder_there_are_none() {
        let fixture = Fixture::new("prompts: a file");
        assert_eq!(load(fixture.root()), []);
        assert_eq!(load(&fixture.path("missing")), []);
    }
}
