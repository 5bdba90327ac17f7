//! Origins of small bodies, found by content.

use pellucid_engine::file_version::FileVersion;

use super::*;

const RULES: &str = "# Rules\n\nEvery change comes with a test, and every test fails first.\nNever touch Cargo.toml.\n";

fn document(path: &str, text: &str) -> Document {
    let kind = match path {
        "/h/config.toml" => DocumentKind::Config,
        "/w/notes.txt" => DocumentKind::Named,
        _ => DocumentKind::Instructions,
    };
    Document { version: FileVersion::of(path, text.as_bytes()), text: text.into(), kind }
}

/// The origins of an item, each with the text as written: `certainty kind detail: text`.
#[track_caller]
fn check_item(item: &str, documents: &[Document], answers: &SeenAnswers, expected: &[&str]) {
    let program = "codex".into();
    let words = ["exec".to_owned(), "fix the bug".to_owned()];
    let evidence = Evidence { program: &program, words: &words, documents, answers };
    let mut names = CallNames::new();
    note_calls(&serde_json::json!({"type":"function_call","call_id":"c1","name":"shell"}), &mut names);
    note_calls(
        &serde_json::json!({"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read"}]}),
        &mut names,
    );
    let spans = self::item(item, &names, &evidence);
    let mut at = 0;
    let mut found = Vec::new();
    for span in spans.iter() {
        let text = &item[at..at + span.len];
        at += span.len;
        if span.origin != Origin::Wire {
            let name = format!("{} {} {}", span.origin.certainty(), span.origin.kind(), span.origin.detail());
            found.push(format!("{}: {text}", name.trim_end()));
        }
    }
    assert_eq!((at, found), (item.len(), expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()));
}

#[test]
fn what_a_person_typed_is_exact_if_it_is_on_the_command_line() {
    let none = SeenAnswers::default();
    check_item(r#"{"role":"user","content":"fix the bug"}"#, &[], &none, &["exact user: fix the bug"]);
    check_item(r#"{"role":"user","content":"and \"this\""}"#, &[], &none, &["likely user: and \\\"this\\\""]);
    check_item(
        r#"{"role":"user","content":[{"type":"text","text":"<system-reminder>\nx\n</system-reminder>"}]}"#,
        &[],
        &none,
        &["likely program codex: <system-reminder>\\nx\\n</system-reminder>"],
    );
    check_item(r#"{"role":"user","content":"<task>look</task>"}"#, &[], &none, &["unknown unknown: <task>look</task>"]);
    check_item(r#"{"role":"developer","content":"be brief"}"#, &[], &none, &["likely program codex: be brief"]);
    check_item(r#"{"type":"hologram"}"#, &[], &none, &["unknown unknown: {\"type\":\"hologram\"}"]);
}

#[test]
fn a_value_of_a_configuration_is_given_by_the_person() {
    let none = SeenAnswers::default();
    let config =
        [document("/h/config.toml", "key = \"be brief, and be kind\"\nother = \"\"\"\nName the files.\n\"\"\"\n")];
    let item = |role: &str, text: &str| serde_json::json!({"role": role, "content": text}).to_string();
    for (text, expected) in [
        ("be brief, and be kind", "exact provided /h/config.toml: be brief, and be kind"),
        ("Name the files.\n", "exact provided /h/config.toml: Name the files.\\n"),
        ("be brief, and", "likely program codex: be brief, and"),
    ] {
        check_item(&item("developer", text), &config, &none, &[expected]);
    }
    check_item(&item("user", "be brief, and be kind"), &config, &none, &["likely user: be brief, and be kind"]);
}

#[test]
fn a_file_that_a_person_may_have_typed_is_found_on_lines_by_itself() {
    let none = SeenAnswers::default();
    let text = "No one may read the numbers twice, and no one may leave out a number.";
    let notes = [document("/w/notes.txt", &format!("{text}\n"))];
    let item = |content: &str| serde_json::json!({"role": "user", "content": content}).to_string();
    check_item(&item(text), &notes, &none, &[&format!("likely user: {text}")]);
    check_item(&item(&format!("why? {text}")), &notes, &none, &[&format!("likely user: why? {text}")]);
    check_item(
        &item(&format!("see notes.txt\n{text}")),
        &notes,
        &none,
        &["likely user: see notes.txt\\n", &format!("exact file /w/notes.txt: {text}")],
    );
}

#[test]
fn a_list_of_skills_has_lines_of_their_files() {
    let skill = "---\nname: tidy\ndescription: \"Puts imports in order.\"\n---\nSort them.\n";
    let text = serde_json::json!({"role": "developer", "content": "Skills:\n- tidy: Puts imports in order. (a file)\nThat is all."});
    check_item(
        &text.to_string(),
        &[document("/h/skills/tidy/SKILL.md", skill)],
        &SeenAnswers::default(),
        &[
            "likely program codex: Skills:\\n",
            "likely skill /h/skills/tidy/SKILL.md: - tidy: Puts imports in order. (a file)\\n",
            "likely program codex: That is all.",
        ],
    );
}

#[test]
fn the_text_of_a_file_is_found_within_what_a_program_puts_around_it() {
    let none = SeenAnswers::default();
    let written = serde_json::to_string(&format!("# AGENTS.md for /w\n\n<X>\n{}\n</X>", RULES.trim_end())).unwrap();
    let rules = serde_json::to_string(RULES.trim_end()).unwrap();
    check_item(
        &format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{written}}}]}}"#),
        &[document("/w/AGENTS.md", RULES), document("/w/no.md", "not in there at all")],
        &none,
        &[
            "likely program codex: # AGENTS.md for /w\\n\\n<X>\\n",
            &format!("exact file /w/AGENTS.md: {}", rules.trim_matches('"')),
            "unknown unknown: \\n",
            "likely program codex: </X>",
        ],
    );
    // A short file is found only on lines by itself.
    let short = document("/w/s.md", "use tabs only");
    check_item(
        r#"{"role":"system","content":"do use tabs only here"}"#,
        std::slice::from_ref(&short),
        &none,
        &["likely program codex: do use tabs only here"],
    );
    check_item(
        r#"{"role":"system","content":"a:\nuse tabs only\nb"}"#,
        &[short],
        &none,
        &["likely program codex: a:\\n", "exact file /w/s.md: use tabs only", "likely program codex: \\nb"],
    );
}

#[test]
fn a_file_that_was_cut_is_found_by_its_beginning() {
    let long: String = (0..40).map(|n| format!("line number {n} of a long file\n")).collect();
    let whole = document("/w/AGENTS.md", &long);
    let program: Arc<str> = "codex".into();
    let answers = SeenAnswers::default();
    let evidence = Evidence { program: &program, words: &[], documents: &[whole], answers: &answers };
    let text = format!("before\n{}[cut]", &long[..500]);
    let found = pieces(&text, Author::Program, &evidence);
    let ranges: Vec<(Range<usize>, &str, &str)> =
        found.iter().map(|(range, it)| (range.clone(), it.certainty(), it.kind())).collect();
    assert_eq!(ranges, [(0..7, "likely", "program"), (7..507, "exact", "file"), (507..512, "likely", "program")]);
    assert!(
        matches!(&found[1].1, Origin::File { range, size, .. } if *range == (0..500) && *size == long.trim_end().len() as u64)
    );
}

#[test]
fn outputs_are_of_the_tool_that_the_conversation_called() {
    let none = SeenAnswers::default();
    let output = r#"{"type":"function_call_output","call_id":"c1","output":"x"}"#;
    check_item(output, &[], &none, &[&format!("exact tool shell: {output}")]);
    let stray = r#"{"role":"tool","tool_call_id":"c9","content":"x"}"#;
    check_item(stray, &[], &none, &[&format!("likely tool: {stray}")]);
    let result = r#"{"type":"tool_result","tool_use_id":"t1","content":"x"}"#;
    check_item(
        &format!(r#"{{"role":"user","content":[{result},{{"type":"text","text":"go on"}}]}}"#),
        &[],
        &none,
        &[&format!("exact tool Read: {result}"), "likely user: go on"],
    );
}

#[test]
fn an_answer_is_exact_if_it_was_forwarded() {
    let mut answers = SeenAnswers::default();
    answers.note_text("done");
    answers.note_call("c1");
    for (item, certainty) in [
        (r#"{"role":"assistant","content":"done"}"#, "exact"),
        (r#"{"role":"assistant","content":"other"}"#, "likely"),
        (r#"{"type":"function_call","call_id":"c1","name":"shell","arguments":"{}"}"#, "exact"),
        (r#"{"type":"function_call","call_id":"c2","name":"shell","arguments":"{}"}"#, "likely"),
        (r#"{"type":"function_call","id":"fc","call_id":"c1","name":"shell","arguments":"{}"}"#, "likely"),
        (
            r#"{"role":"assistant","content":[{"type":"text","text":"done"},{"type":"tool_use","id":"c1","name":"Read","input":{"text":"x"}}]}"#,
            "exact",
        ),
        (r#"{"type":"reasoning","summary":[],"encrypted_content":"zz"}"#, "likely"),
    ] {
        check_item(item, &[], &answers, &[&format!("{certainty} model: {item}")]);
    }
}

#[test]
fn a_frame_has_its_instructions_tools_and_settings_as_parts() {
    let text = r#"{"model":"m","instructions":"be brief","input":[{"role":"user"}],"tools":[{"type":"function","name":"shell"},{"name":"mcp__wiki__find"}],"store":false}"#;
    let program: Arc<str> = "codex".into();
    let answers = SeenAnswers::default();
    let evidence = Evidence { program: &program, words: &[], documents: &[], answers: &answers };
    let taken = TakenBody::of("/responses", text);
    let (head, tail) = frame(&taken, &evidence);
    let parts = |encoded: &Encoded| -> Vec<String> {
        assert_eq!(encoded.spans.iter().map(|span| span.len).sum::<usize>(), encoded.bytes.len());
        encoded
            .spans
            .iter()
            .map(|it| format!("{} {} {}", it.part, it.origin.kind(), it.origin.detail()).trim_end().to_owned())
            .collect()
    };
    assert_eq!(parts(&head), ["settings wire", "base wire", "base program codex", "base wire", "settings wire"]);
    assert_eq!(
        parts(&tail),
        [
            "settings wire",
            "tools wire",
            "tools/shell program codex",
            "tools wire",
            "tools/mcp__wiki__find provided mcp_servers.wiki",
            "tools wire",
            "settings wire"
        ]
    );
}
