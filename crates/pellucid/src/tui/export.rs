//! `/export`: the session as a file to read or to process, with secrets blanked.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use pellucid_answers::transcript::CallOutput;
use pellucid_answers::transcript::KeptOutput;
use pellucid_answers::transcript::TranscriptEntry;
use pellucid_answers::transcript::TranscriptFacts;
use pellucid_answers::transcript::transcript;
use pellucid_store::read;

use crate::sessions::export::Export;
use crate::sessions::export::redacted_line;

/// Writes a session into a new file: JSON if its name ends so, else Markdown. Returns what a person is to know.
pub fn export(home: &Path, session: Option<&Path>, cwd: &Path, name: &str) -> Result<String, String> {
    let session = session.filter(|file| file.exists()).ok_or("nothing was said yet, so there is nothing to export")?;
    let to = match name.trim() {
        "" => cwd.join(usual_name(session)),
        name => cwd.join(name),
    };
    let mut export = Export::new(home, true);
    let failed = |error: &dyn std::fmt::Display| format!("the session cannot be exported: {error}");
    let text = if to.extension().is_some_and(|it| it == "json") {
        let lines =
            export.session(session, None).map_err(|(path, error)| failed(&format!("{}: {error}", path.display())))?;
        format!("[\n{}\n]\n", lines.trim_end().split('\n').collect::<Vec<_>>().join(",\n"))
    } else {
        let records = read::read(session).map_err(|error| failed(&error))?.records;
        export.text(markdown(&transcript(&records, TranscriptFacts::default(), KeptOutput::Whole)))
    };
    // A file that exists is not changed, and a link is not followed.
    let mut file =
        pellucid_files::create_private(&to).map_err(|error| failed(&format!("{}: {error}", to.display())))?;
    file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    Ok(format!("the session is in {}; {}", to.display(), redacted_line(export.n_blanks())))
}

/// The name of the file if none is given.
fn usual_name(session: &Path) -> PathBuf {
    PathBuf::from(session.file_name().unwrap_or_default()).with_extension("md")
}

/// A transcript as Markdown.
fn markdown(entries: &[TranscriptEntry]) -> String {
    let mut out = String::new();
    for entry in entries {
        let block = match entry {
            TranscriptEntry::User { text } => format!("## You\n\n{}", text.trim_end()),
            TranscriptEntry::Agent { text, is_interrupted: false } => format!("## Answer\n\n{}", text.trim_end()),
            TranscriptEntry::Agent { text, .. } => format!("## Answer, interrupted\n\n{}", text.trim_end()),
            TranscriptEntry::Reasoning { text } => {
                let quoted: Vec<String> =
                    text.trim().lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
                quoted.join("\n")
            }
            TranscriptEntry::Command { command } => fenced("sh", command),
            TranscriptEntry::Patch { patch } => fenced("diff", patch),
            TranscriptEntry::Call { tool, arguments } => format!("`{tool}`\n\n{}", fenced("json", arguments)),
            TranscriptEntry::Output(output) => output_block(output),
            TranscriptEntry::Request(_) => continue,
            TranscriptEntry::Summarised => "*A summary took the place of the history.*".to_owned(),
            TranscriptEntry::TakenBack { n_turns } => format!("*Turns that were taken back: {n_turns}.*"),
            TranscriptEntry::Interrupted => "*The turn was interrupted.*".to_owned(),
            TranscriptEntry::Error { message } => format!("*Error:* {message}"),
        };
        let _ = write!(out, "{block}\n\n");
    }
    format!("{}\n", out.trim_end())
}

fn output_block(output: &CallOutput) -> String {
    let code = match output.exit_code {
        Some(code) => format!("Exit code {code}"),
        None => "Output".to_owned(),
    };
    let denied = if output.is_denied { ", stopped by the sandbox" } else { "" };
    match output.body.trim_end() {
        "" => format!("{code}{denied}, no output"),
        body => format!("{code}{denied}:\n\n{}", fenced("text", body)),
    }
}

/// A text in a fence that is longer than any in the text.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_transcript_is_markdown_that_fences_cannot_break() {
        let entries = [
            TranscriptEntry::User { text: "run it\n".to_owned() },
            TranscriptEntry::Reasoning { text: "**Look**\n\nfirst".to_owned() },
            TranscriptEntry::Command { command: "cat a.md".to_owned() },
            TranscriptEntry::Output(CallOutput {
                exit_code: Some(1),
                time: None,
                is_denied: true,
                body: "```\nx\n```\n".to_owned(),
                n_more_lines: 0,
            }),
            TranscriptEntry::Output(CallOutput {
                exit_code: None,
                time: None,
                is_denied: false,
                body: String::new(),
                n_more_lines: 0,
            }),
            TranscriptEntry::Agent { text: "Done.".to_owned(), is_interrupted: false },
            TranscriptEntry::Interrupted,
        ];
        expect![[r"
            ## You

            run it

            > **Look**
            >
            > first

            ```sh
            cat a.md
            ```

            Exit code 1, stopped by the sandbox:

            ````text
            ```
            x
            ```
            ````

            Output, no output

            ## Answer

            Done.

            *The turn was interrupted.*
        "]]
        .assert_eq(&markdown(&entries));
    }

    #[test]
    fn a_session_is_exported_once_into_a_new_file() {
        let top = tempfile::tempdir().unwrap();
        let session = top.path().join("rollout-1.jsonl");
        let export = |name: &str| export(top.path(), Some(&session), top.path(), name);
        assert_eq!(export("a.md"), Err("nothing was said yet, so there is nothing to export".to_owned()));
        let meta = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}"#;
        std::fs::write(&session, format!("{meta}\n")).unwrap();
        export("a.json").unwrap();
        let read: serde_json::Value =
            serde_json::from_slice(&std::fs::read(top.path().join("a.json")).unwrap()).unwrap();
        assert_eq!(read[0]["payload"]["message"], "hi");
        assert!(export("a.json").unwrap_err().contains("a.json"), "an existing file is not changed");
    }
}
