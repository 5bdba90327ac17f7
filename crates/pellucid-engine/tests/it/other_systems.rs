//! The packs of other systems: what they make of facts, and that it is the same every time.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::Context;
use pellucid_engine::assemble::assemble;
use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::FileSetLayout;
use pellucid_engine::bootstrap::LoadedFiles;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::injection;
use pellucid_engine::injection::FileRead;
use pellucid_engine::injection::FileText;
use pellucid_engine::injection::InjectionRead;
use pellucid_engine::pack::Pack;
use pellucid_engine::utf16;
use pellucid_protocol::settings::PromptMode;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::fixture;

/// Facts with these items of a caller and these sources.
fn injected(sources: &Value, items: &Value, files: &[(&str, &str)]) -> Facts {
    let mut facts = fixture::facts();
    facts.system.injection.sources = injection::sources(sources);
    facts.system.injection.attributes.insert("prompt_injections".to_owned(), items.clone());
    facts.system.injection.attributes.insert("cwd".to_owned(), "/ws".into());
    facts.system.injection.process_dir = "/ws".to_owned();
    let file = |(path, text): &(&str, &str)| {
        ((*path).to_owned(), FileRead::Text(FileText::whole(*path, text.as_bytes().to_vec())))
    };
    let read = InjectionRead { files: files.iter().map(file).collect(), ..InjectionRead::default() };
    facts.system.injection.reads = facts.system.injection.sources.iter().map(|_| read.clone()).collect();
    facts
}

fn agentcore(facts: &Facts) -> Context {
    assemble(&Pack::builtin("agentcore").unwrap(), facts)
}

fn set() -> &'static FileSetLayout {
    openclaw().layout.bootstrap.as_ref().unwrap()
}

fn openclaw() -> &'static Pack {
    static PACK: LazyLock<Pack> = LazyLock::new(|| Pack::builtin("openclaw").unwrap());
    &PACK
}

/// The instructions after the base, and the messages before the history.
#[track_caller]
fn check_agentcore(facts: &Facts, expected: &Expect) {
    let context = agentcore(facts);
    let text = concat(&context.instructions);
    let sections = text.split_once("\n\n").map_or("", |(_, sections)| sections);
    let messages = context.messages.iter().map(|it| format!("[{}] {}\n", it.role, concat(&it.fragments)));
    let omissions = context.omissions.iter().map(|it| format!("omitted: {}\n", it.what));
    let shown = format!("{sections}\n---\n{}{}", messages.collect::<String>(), omissions.collect::<String>());
    expected.assert_eq(&shown);
}

#[test]
fn items_become_sections_and_messages_in_their_order() {
    let items = json!([
        { "target": "system_section", "content": "late", "order": 900 },
        { "target": "preamble_message", "role": "assistant", "content": "noted", "order": 2 },
        { "target": "preamble_message", "role": "user", "content": "hello", "order": 1 },
        { "target": "system_section", "content": "early", "order": 100 },
        { "target": "elsewhere", "content": "x" },
    ]);
    let mut facts = injected(&json!([{ "type": "provided" }]), &items, &[]);
    facts.system.injection.memory = vec!["likes tea".to_owned()];
    check_agentcore(
        &facts,
        &expect![[r#"
            early

            <relevant_context>
            likes tea
            </relevant_context>

            late
            ---
            [user] hello
            [assistant] noted
            omitted: prompt_injections[4]
        "#]],
    );
}

#[test]
fn mode_none_is_one_line_and_what_names_it() {
    let items = json!([
        { "target": "system_section", "content": "named", "prompt_modes": ["none", "full"] },
        { "target": "system_section", "content": "other" },
    ]);
    let mut facts = injected(&json!([{ "type": "provided", "version": 2 }]), &items, &[]);
    facts.system.prompt_mode = PromptMode::None;
    let text = concat(&agentcore(&facts).instructions);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1..], ["", "named"], "{text}");
}

#[test]
fn files_of_the_second_version_keep_shares_and_say_so() {
    let source = json!([{
        "type": "file_set", "version": 2, "files": [{ "path": "a.md" }, { "path": "no.md" }, { "path": "b.md" }],
        "max": 60, "total_max": 80, "head_ratio": 0.5, "tail_ratio": 0.25, "min_remaining": 10,
        "marker_template": "<{{name}}: {{kept_head}}+{{kept_tail}}/{{total}}>", "missing_template": "no {{path}}",
    }]);
    let long = "0123456789".repeat(10);
    let facts = injected(&source, &json!([]), &[("/ws/a.md", &long), ("/ws/b.md", "b")]);
    check_agentcore(
        &facts,
        &expect![[r#"
            # Project Context

            ## a.md
            012345678901234567890<a.md: 21+10/100>0123456789

            ## no.md
            no no.md

            ## b.md
            b

            ---
            omitted: Project Context
        "#]],
    );
}

#[test]
fn a_preset_lists_the_files_of_an_assistant() {
    let source = json!([{ "type": "file_set", "version": 2, "preset": "openclaw", "empty_section": "omit" }]);
    let mut facts = injected(&source, &json!([]), &[("/ws/AGENTS.md", "rules\n\n"), ("/ws/memory.md", "tea")]);
    let text = concat(&agentcore(&facts).instructions);
    expect![[r#"
        You are an agent that gets things done for the person it talks to. Work with the tools you are given, look before you change, and say what you did and what is left.

        # Project Context

        ## AGENTS.md
        rules

        ## SOUL.md
        [MISSING] Expected at: /ws/SOUL.md

        ## TOOLS.md
        [MISSING] Expected at: /ws/TOOLS.md

        ## IDENTITY.md
        [MISSING] Expected at: /ws/IDENTITY.md

        ## USER.md
        [MISSING] Expected at: /ws/USER.md

        ## HEARTBEAT.md
        [MISSING] Expected at: /ws/HEARTBEAT.md

        ## BOOTSTRAP.md
        [MISSING] Expected at: /ws/BOOTSTRAP.md

        ## memory.md
        tea
    "#]].assert_eq(&text);
    facts.system.prompt_mode = PromptMode::Minimal;
    let text = concat(&agentcore(&facts).instructions);
    assert_eq!(text.matches("\n## ").count(), 2, "{text}");
}

#[test]
fn documents_of_the_second_version_are_those_of_codex() {
    let source = json!([{
        "type": "repo_docs", "version": 2, "max_total_bytes": 12, "prepend": "mine",
        "prepend_separator": "\n\n--- project-doc ---\n\n",
        "wrapper_template": "# AGENTS.md instructions for {{cwd}}\n\n<INSTRUCTIONS>\n{{content}}\n</INSTRUCTIONS>",
    }]);
    let mut facts = injected(&source, &json!([]), &[]);
    let document = |path: &str, text: &str| {
        (path.to_owned(), FileRead::Text(FileText::whole(format!("/ws/{path}"), text.as_bytes().to_vec())))
    };
    facts.system.injection.reads[0].repo.documents =
        vec![document("AGENTS.md", "one \\0 two"), document("b/AGENTS.md", "  \n"), document("c/AGENTS.md", "three")];
    check_agentcore(
        &facts,
        &expect![[r#"

            ---
            [user] # AGENTS.md instructions for /ws

            <INSTRUCTIONS>
            mine

            --- project-doc ---

            one \0 two

            th
            </INSTRUCTIONS>
            omitted: repo_docs
        "#]],
    );
}

fn assistant(files: &[BootstrapFile], max: usize, total: usize) -> Facts {
    let mut facts = fixture::facts();
    facts.system.files = LoadedFiles {
        placed: set().fit(files, Some(max), Some(total)).files,
        read: files.to_vec(),
        limits: Some((max, total)),
    };
    facts
}

#[test]
fn a_cut_file_is_traced_to_its_bytes_and_told() {
    let files = [
        BootstrapFile::read("AGENTS.md", "/ws/AGENTS.md", "0123456789".repeat(30).as_bytes()),
        BootstrapFile::missing("SOUL.md", "/ws/SOUL.md"),
        BootstrapFile::read("TOOLS.md", "/ws/TOOLS.md", b"short\n"),
        BootstrapFile::read("USER.md", "/ws/USER.md", "x".repeat(300).as_bytes()),
    ];
    let facts = assistant(&files, 200, 384);
    let context = assemble(openclaw(), &facts);
    let ranges: Vec<String> = context
        .instructions
        .iter()
        .filter_map(|fragment| match &fragment.origin {
            Origin::File { path, range, size } => Some(format!("{path} {range:?} of {size}")),
            _ => None,
        })
        .collect();
    assert_eq!(ranges, ["/ws/AGENTS.md 0..140 of 300", "/ws/AGENTS.md 260..300 of 300", "/ws/TOOLS.md 0..5 of 5"]);
    let omitted: BTreeMap<String, u64> = context.omissions.iter().map(|it| (it.what.clone(), it.why.bytes())).collect();
    assert_eq!(omitted, BTreeMap::from([("/ws/AGENTS.md".to_owned(), 120), ("/ws/USER.md".to_owned(), 300)]));
}

/// A pack of a user's with this layout.
fn users_pack(layout: &str) -> Pack {
    Pack::load_user(&BTreeMap::from([("pack.toml".to_owned(), layout.to_owned())]), "/packs/mine").unwrap()
}

#[test]
fn a_few_lines_bring_bootstrap_files_and_items_into_another_layout() {
    let pack = users_pack(
        r#"
        name = "mine"
        from = "openclaw"
        [bootstrap]
        max_chars = 8000
        total_max_chars = 30000
        [[slot]]
        id = "base"
        target = "instructions"
        source = "base_instructions"
        [[slot]]
        id = "files"
        target = "user"
        file = "sections/project_context.jinja"
        [[slot]]
        id = "preamble"
        target = "messages"
        source = "injected_preamble"
        [[slot]]
        id = "environment"
        target = "user"
        source = "environment"
        [[injection]]
        type = "provided"
        "#,
    );
    let set = pack.layout.bootstrap.as_ref().unwrap();
    assert_eq!((set.rules.per_file, set.names.len()), (Some(8000), 7));
    let mut facts = assistant(&[BootstrapFile::read("SOUL.md", "/ws/SOUL.md", b"calm")], 100, 100);
    facts.system.injection.sources = injection::sources(&Value::Array(pack.layout.injections.clone()));
    let item = json!([{ "target": "preamble_message", "role": "user", "content": "hello" }]);
    facts.system.injection.attributes.insert("prompt_injections".to_owned(), item);
    let slots: Vec<String> = assemble(&pack, &facts).messages.iter().map(|it| it.slot.to_string()).collect();
    assert_eq!(slots, ["files", "preamble", "environment"]);
}

#[test]
fn an_unknown_kind_of_injection_is_refused() {
    let layout = "name = \"mine\"\nfrom = \"agentcore\"\n[[injection]]\ntype = \"fileset\"\n";
    let files = BTreeMap::from([("pack.toml".to_owned(), layout.to_owned())]);
    let error = Pack::load_user(&files, "/packs/mine").unwrap_err().to_string();
    let known = "`file_set`, `repo_docs`, `provided`, `text_store`, `text_store_entries`";
    assert_eq!(error, format!("/packs/mine/pack.toml:4: unknown injection `fileset`; known: {known}"));
}

proptest! {
    #[test]
    fn the_same_facts_make_the_same_bytes(
        texts in proptest::collection::vec("\\PC{0,400}", 0..9), max in 1usize..300, total in 1usize..900,
    ) {
        let file = |(name, text): (&String, &String)| BootstrapFile::read(name, &format!("/ws/{name}"), text.as_bytes());
        let files: Vec<BootstrapFile> = set().names.iter().zip(&texts).map(file).collect();
        let facts = assistant(&files, max, total);
        let first = assemble(openclaw(), &facts);
        prop_assert_eq!(&first, &assemble(openclaw(), &facts));
        let placed: usize = facts.system.files.placed.iter().map(|file| file.n_units).sum();
        prop_assert!(placed <= total);
    }

    #[test]
    fn a_text_that_fits_is_whole_and_one_that_does_not_has_its_ends(text in "\\PC{0,200}", max in 5usize..200) {
        let placed = set().trim(&text, "A.md", max);
        let trimmed = utf16::units(utf16::trim_end(&text));
        prop_assert_eq!(placed.is_cut, trimmed.len() > max);
        let (head, tail) = placed.shares.unwrap_or((trimmed.len(), trimmed.len()));
        prop_assert!(placed.units.starts_with(&trimmed[..head]));
        prop_assert!(placed.units.ends_with(&trimmed[trimmed.len() - tail..]));
    }
}
