//! Questions as JSON, answers as JSON.

use pellucid_context::BuiltRequest;
use pellucid_context::InputError;
use pellucid_context::Pack;
use pellucid_context::RequestInput;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

/// What JavaScript asks. The keys are those of the npm package's types.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
enum Question {
    /// The body of a request.
    Assemble { input: Box<RequestInput> },
    /// The report of a request, with the text of each row.
    Report { input: Box<RequestInput> },
    /// What is different between two requests.
    Diff { before: Box<RequestInput>, after: Box<RequestInput> },
    /// The names of the built-in packs.
    Packs,
    /// The files of a built-in pack.
    PackFiles { name: String },
}

/// Answers a question: `{"ok": …}` or `{"error": "…"}`.
pub fn answer(question: &[u8]) -> Vec<u8> {
    let answer = match answered(question) {
        Ok(answer) => json!({ "ok": answer }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    answer.to_string().into_bytes()
}

fn answered(question: &[u8]) -> Result<Value, InputError> {
    Ok(match serde_json::from_slice(question)? {
        Question::Assemble { input } => assembled(&input.build()?),
        Question::Report { input } => report(&input.build()?)?,
        Question::Diff { before, after } => after.build()?.diff(&before.build()?).to_json(),
        Question::Packs => json!(Pack::builtin_names()),
        Question::PackFiles { name } => json!(Pack::builtin_files(&name)),
    })
}

fn assembled(request: &BuiltRequest) -> Value {
    // A body is JSON, and so it is UTF-8.
    json!({ "body": String::from_utf8_lossy(&request.body()), "sha256": request.digest().to_string() })
}

fn report(request: &BuiltRequest) -> Result<Value, InputError> {
    let mut report = serde_json::to_value(request.report().to_json())?;
    report["texts"] = json!(request.texts());
    report["body"] = assembled(request)["body"].take();
    Ok(report)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn ask(question: &Value) -> Value {
        serde_json::from_slice(&answer(question.to_string().as_bytes())).unwrap()
    }

    fn input(text: &str) -> Value {
        json!({
            "pack": { "builtin": "codex" },
            "facts": {
                "model": "gpt-5.2-codex",
                "cwd": "/p",
                "project_documents": [{ "path": "/p/AGENTS.md", "text": text }],
            },
            "messages": ["hello"],
        })
    }

    #[test]
    fn the_rows_of_a_report_cover_the_assembled_body() {
        let body = ask(&json!({ "ask": "assemble", "input": input("Use tabs.") }))["ok"]["body"].clone();
        let report = ask(&json!({ "ask": "report", "input": input("Use tabs.") }))["ok"].clone();
        assert_eq!(report["body"], body);
        let rows = report["rows"].as_array().unwrap();
        let bytes: u64 = rows.iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!(bytes as usize, body.as_str().unwrap().len());
        let texts = report["texts"].as_array().unwrap();
        assert_eq!(texts.len(), rows.len());
        let file = rows.iter().position(|row| row["source"] == "file").unwrap();
        assert_eq!((&rows[file]["origin"], &texts[file]), (&json!("/p/AGENTS.md"), &json!("Use tabs.")));
    }

    #[test]
    fn a_difference_has_the_row_of_the_file_that_changed() {
        let question = json!({ "ask": "diff", "before": input("Use tabs."), "after": input("Use blanks.") });
        let diff = ask(&question)["ok"].clone();
        let changed = diff["rows"].as_array().unwrap().iter().filter(|row| row["fate"] != "same");
        assert_eq!(changed.map(|row| row["fate"].clone()).collect::<Vec<_>>(), [json!("changed")]);
        assert_eq!(diff["continuity"]["broken"]["part"], "user_instructions");
    }

    #[test]
    fn built_in_packs_are_listed_with_their_files() {
        let packs = ask(&json!({ "ask": "packs" }))["ok"].clone();
        assert!(packs.as_array().unwrap().contains(&json!("codex")), "{packs}");
        let files = ask(&json!({ "ask": "pack_files", "name": "codex" }))["ok"].clone();
        assert!(files["pack.toml"].as_str().unwrap().contains("[[slot]]"));
        assert_eq!(ask(&json!({ "ask": "pack_files", "name": "none" })), json!({ "ok": null }));
    }

    #[track_caller]
    fn check_error(question: &str, expected: &Expect) {
        expected.assert_eq(&String::from_utf8(answer(question.as_bytes())).unwrap());
    }

    #[test]
    fn a_question_with_a_mistake_gets_an_error() {
        check_error(
            "",
            &expect![[r#"{"error":"the input cannot be read: EOF while parsing a value at line 1 column 0"}"#]],
        );
        check_error(
            r#"{"ask":"sing"}"#,
            &expect![[
                r#"{"error":"the input cannot be read: unknown variant `sing`, expected one of `assemble`, `report`, `diff`, `packs`, `pack_files` at line 1 column 13"}"#
            ]],
        );
        check_error(
            r#"{"ask":"assemble","input":{"pack":{"builtin":"x"},"facts":{"model":"m","cwd":"/"}}}"#,
            &expect![[
                r#"{"error":"no built-in pack is named `x`; known: ads, agentcore, codex, openclaw, pellucid, risuai"}"#
            ]],
        );
    }
}
