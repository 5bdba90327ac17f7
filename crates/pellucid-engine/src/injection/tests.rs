//! What each kind of source makes of loosely typed options, files and attributes, and what it says of the rest.

mod accounts;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::settings::PromptMode;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::pack::Pack;

/// What a built-in pack says for options that a source leaves out.
fn texts() -> &'static SourceTexts {
    static TEXTS: LazyLock<SourceTexts> = LazyLock::new(|| Pack::builtin("codex").unwrap().layout.source_texts);
    &TEXTS
}

/// What a call brings, and what is on the disk.
#[derive(Default)]
struct World {
    attributes: Map<String, Value>,
    places: BTreeMap<String, Vec<String>>,
    store: Option<BTreeMap<String, String>>,
    read: InjectionRead,
}

impl World {
    fn with(attributes: &Value) -> Self {
        Self { attributes: attributes.as_object().unwrap().clone(), ..Self::default() }
    }

    fn file(mut self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let text = FileRead::Text(FileText::whole(path, text.as_ref()));
        self.read.files.insert(path.to_owned(), text);
        self
    }

    fn document(mut self, path: &str, text: &str) -> Self {
        let text = FileRead::Text(FileText::whole(format!("/w/{path}"), text));
        self.read.repo.documents.push((path.to_owned(), text));
        self
    }

    fn failing(mut self, path: &str) -> Self {
        let failed = FileRead::Failed { error: "Permission denied".to_owned() };
        self.read.files.insert(path.to_owned(), failed.clone());
        self.read.repo.documents.push((path.to_owned(), failed));
        self
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            attributes: &self.attributes,
            places: &self.places,
            store: self.store.as_ref(),
            texts: texts(),
            process_dir: "/w",
            home: "/home/ada",
        }
    }

    fn collect(&self, list: &Value, mode: PromptMode) -> Collected {
        let sources = sources(list);
        let reads = vec![self.read.clone(); sources.len()];
        collect(&sources, &self.inputs(), mode, &reads)
    }
}

/// An item as one line with its text, and an account as one line.
fn shown(collected: &Collected) -> String {
    let mut lines = String::new();
    for item in &collected.items {
        let role = item.role.map_or("", PreambleRole::as_str);
        lines += &format!("{} {role} {}: {:?}\n", item.target.as_str(), item.order, item.text());
    }
    for it in &collected.injected {
        let id = it.item_id.as_deref().unwrap_or("-");
        let cut = if it.truncated { " cut" } else { "" };
        let reason = it.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        lines += &format!(
            "[{} {}] {id}: {} {}→{}{cut}{reason}\n",
            it.source_type,
            it.source_index,
            it.outcome.as_str(),
            it.bytes_before,
            it.bytes_after
        );
    }
    lines
}

#[track_caller]
fn check_in(mode: PromptMode, world: &World, source: &Value, expected: &Expect) {
    expected.assert_eq(&shown(&world.collect(&json!([source]), mode)));
}

#[track_caller]
fn check_source(world: &World, source: &Value, expected: &Expect) {
    check_in(PromptMode::Full, world, source, expected);
}

#[test]
fn provided_items_are_taken_as_they_come() {
    let world = World::with(&json!({ "prompt_injections": [
        { "target": "system_section", "content": "one", "order": "0x10", "id": 7, "role": "user" },
        { "target": "preamble_message", "role": "assistant", "content": "two" },
        { "target": "preamble_message", "role": "user", "content": 2.5, "prompt_modes": ["minimal"] },
        { "target": "system_section", "content": " \n" },
        { "target": "system_section", "content": "0123456789", "max_bytes": 7 },
        { "target": "system_section" },
    ] }));
    check_source(
        &world,
        &json!({ "type": "provided" }),
        &expect![[r#"
        system_section  16: "one"
        preamble_message assistant 0: "two"
        system_section  0: " \n"
        system_section  0: "0\n...\n9"
        system_section  0: ""
        [provided 0] 7: injected 3→3
        [provided 0] prompt_injections[1]: injected 3→3
        [provided 0] prompt_injections[2]: skipped_mode 3→3
        [provided 0] prompt_injections[3]: skipped_blank 2→2
        [provided 0] prompt_injections[4]: injected 10→7 cut
        [provided 0] prompt_injections[5]: skipped_blank 0→0
    "#]],
    );
    check_in(
        PromptMode::Minimal,
        &world,
        &json!({ "type": " provided " }),
        &expect![[r#"
        system_section  16: "one"
        preamble_message assistant 0: "two"
        preamble_message user 0: "2.5"
        system_section  0: " \n"
        system_section  0: "0\n...\n9"
        system_section  0: ""
        [provided 0] 7: injected 3→3
        [provided 0] prompt_injections[1]: injected 3→3
        [provided 0] prompt_injections[2]: injected 3→3
        [provided 0] prompt_injections[3]: skipped_blank 2→2
        [provided 0] prompt_injections[4]: injected 10→7 cut
        [provided 0] prompt_injections[5]: skipped_blank 0→0
    "#]],
    );
    check_in(
        PromptMode::None,
        &world,
        &json!({ "type": "provided" }),
        &expect![[r#"
        [provided 0] 7: skipped_mode 3→3
        [provided 0] prompt_injections[1]: skipped_mode 3→3
        [provided 0] prompt_injections[2]: skipped_mode 3→3
        [provided 0] prompt_injections[3]: skipped_mode 2→2
        [provided 0] prompt_injections[4]: skipped_mode 10→7 cut
        [provided 0] prompt_injections[5]: skipped_mode 0→0
    "#]],
    );
}

#[test]
fn what_is_no_item_is_named_with_its_place() {
    let mut world = World::with(&json!({ "mine": [
        "text",
        { "target": "sidebar", "content": "x" },
        { "content": "x" },
        { "target": 7 },
        { "target": "preamble_message", "content": "x" },
        { "target": "preamble_message", "role": "system", "content": "x" },
        { "target": "preamble_message", "role": 7, "content": "x" },
        { "target": "system_section", "content": "x", "prompt_modes": [1] },
    ] }));
    world.places.insert("mine".to_owned(), vec!["first.md".to_owned()]);
    check_source(
        &world,
        &json!({ "type": "provided", "context_key": "mine" }),
        &expect![[r#"
            [provided 0] first.md: error 0→0 (it is not a map)
            [provided 0] mine[1]: error 0→0 (target must be one of [:system_section, :preamble_message] (got "sidebar"))
            [provided 0] mine[2]: error 0→0 (`target` is of the wrong type)
            [provided 0] mine[3]: error 0→0 (`target` is of the wrong type)
            [provided 0] mine[4]: error 0→0 (preamble_message requires role)
            [provided 0] mine[5]: error 0→0 (role must be one of [:user, :assistant] (got "system"))
            [provided 0] mine[6]: error 0→0 (`role` is of the wrong type)
            [provided 0] mine[7]: error 0→0 (`prompt_modes` is of the wrong type)
        "#]],
    );
    check_source(&world, &json!({ "type": "provided" }), &expect![""]);
    let no_list = World::with(&json!({ "prompt_injections": "text" }));
    check_source(
        &no_list,
        &json!({ "type": "provided" }),
        &expect![[r#"
        [provided 0] prompt_injections: error 0→0 (the attribute is no list)
    "#]],
    );
}

#[test]
fn texts_of_a_store_are_wrapped() {
    let entry = |key: &str, wrapper: Value| json!({ "key": key, "target": "system_section", "wrapper": wrapper });
    let source = |version: u8| {
        json!({ "type": "text_store", "version": version, "entries": [
            entry("a", json!(null)),
            entry("a", json!("<x>{{content}}</x>")),
            entry("a", json!("# Heading")),
            entry("a", json!({ "prefix": "[", "suffix": "]" })),
            entry("a", json!({ "template": "({{content}} {{content}})" })),
            entry("path", json!("<{{content}}>")),
            entry("group", json!("<{{content}}>")),
            entry("gone", json!(null)),
            { "key": "a" },
            { "target": "system_section" },
            "a",
            { "key": "a", "target": "nowhere" },
            { "key": "long", "target": "preamble_message", "role": "user", "max_bytes": 9 },
        ] })
    };
    let texts = [("a", "text"), ("path", r"C:\\new\0"), ("group", r"\k<x>"), ("long", "0123456789")];
    let store = texts.into_iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
    let world = World { store: Some(store), ..World::default() };
    check_source(
        &world,
        &source(1),
        &expect![[r##"
            system_section  0: "text"
            system_section  0: "<x>text</x>"
            system_section  0: "# Heading\ntext"
            system_section  0: "[text]"
            system_section  0: "(text text)"
            system_section  0: "<C:\\new{{content}}>"
            system_section  0: "\\k<x>"
            preamble_message user 0: "01\n...\n89"
            [text_store 0] a: injected 4→4
            [text_store 0] a: injected 11→11
            [text_store 0] a: injected 14→14
            [text_store 0] a: injected 6→6
            [text_store 0] a: injected 11→11
            [text_store 0] path: injected 19→19
            [text_store 0] group: injected 5→5
            [text_store 0] gone: missing 0→0 (it is not there)
            [text_store 0] entry: error 0→0 (it needs `key` and `target`)
            [text_store 0] entry: error 0→0 (it needs `key` and `target`)
            [text_store 0] entry: error 0→0 (it is not a map)
            [text_store 0] a: error 0→0 (target must be one of [:system_section, :preamble_message] (got "nowhere"))
            [text_store 0] long: injected 10→9 cut
        "##]],
    );
    check_source(
        &world,
        &source(2),
        &expect![[r##"
            system_section  0: "text"
            system_section  0: "<x>text</x>"
            system_section  0: "# Heading\ntext"
            system_section  0: "[text]"
            system_section  0: "(text text)"
            system_section  0: "<C:\\\\new\\0>"
            system_section  0: "<\\k<x>>"
            preamble_message user 0: "01\n...\n89"
            [text_store 0] a: injected 4→4
            [text_store 0] a: injected 11→11
            [text_store 0] a: injected 14→14
            [text_store 0] a: injected 6→6
            [text_store 0] a: injected 11→11
            [text_store 0] path: injected 11→11
            [text_store 0] group: injected 7→7
            [text_store 0] gone: missing 0→0 (it is not there)
            [text_store 0] entry: error 0→0 (it needs `key` and `target`)
            [text_store 0] entry: error 0→0 (it needs `key` and `target`)
            [text_store 0] entry: error 0→0 (it is not a map)
            [text_store 0] a: error 0→0 (target must be one of [:system_section, :preamble_message] (got "nowhere"))
            [text_store 0] long: injected 10→9 cut
        "##]],
    );
    check_source(
        &World::default(),
        &source(1),
        &expect![[r#"
        [text_store 0] a: error 0→0 (there is no store of texts)
        [text_store 0] a: error 0→0 (there is no store of texts)
        [text_store 0] a: error 0→0 (there is no store of texts)
        [text_store 0] a: error 0→0 (there is no store of texts)
        [text_store 0] a: error 0→0 (there is no store of texts)
        [text_store 0] path: error 0→0 (there is no store of texts)
        [text_store 0] group: error 0→0 (there is no store of texts)
        [text_store 0] gone: error 0→0 (there is no store of texts)
        [text_store 0] entry: error 0→0 (it needs `key` and `target`)
        [text_store 0] entry: error 0→0 (it needs `key` and `target`)
        [text_store 0] entry: error 0→0 (it is not a map)
        [text_store 0] a: error 0→0 (there is no store of texts)
        [text_store 0] long: error 0→0 (there is no store of texts)
    "#]],
    );
}

#[test]
fn a_set_of_files_is_one_section() {
    let world = World::with(&json!({ "workspace_dir": "/w" }))
        .file("/w/a.md", "A\n")
        .file("/w/b.md", b"B\xff")
        .file("/w/sub/c.md", "")
        .failing("/w/locked.md");
    let files = json!([
        { "path": "a.md", "title": " First " },
        { "path": "b.md" },
        { "path": "sub/c.md", "title": "" },
        { "path": "gone.md" },
        { "path": "locked.md" },
        { "path": "../outside.md" },
        { "path": " " },
        { "title": "no path" },
        7,
        { "path": "a.md", "prompt_modes": ["minimal"] },
    ]);
    check_source(
        &world,
        &json!({ "type": "file_set", "files": files }),
        &expect![[r##"
            system_section  0: "# Project Context\n\n## First\nA\n\n## b.md\nB�\n\n## sub/c.md\n\n## gone.md\n[MISSING] gone.md\n\n## ../outside.md\n[MISSING] ../outside.md\n"
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] a.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] gone.md: missing 0→0 (it is not there)
            [file_set 0] locked.md: error 0→0 (Permission denied)
            [file_set 0] ../outside.md: missing 0→0 (it is not there)
            [file_set 0] Project Context: injected 129→129
        "##]],
    );
    check_source(
        &world,
        &json!({ "type": "file_set", "files": files, "include_missing": false, "section_header": " Notes ", "order": 5 }),
        &expect![[r##"
            system_section  5: "# Notes\n\n## First\nA\n\n## b.md\nB�\n\n## sub/c.md\n"
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] a.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] gone.md: missing 0→0 (it is not there)
            [file_set 0] locked.md: error 0→0 (Permission denied)
            [file_set 0] ../outside.md: missing 0→0 (it is not there)
            [file_set 0] Notes: injected 47→47
        "##]],
    );
    check_in(
        PromptMode::Minimal,
        &world,
        &json!({ "type": "file_set", "files": [{ "path": "a.md", "prompt_modes": ["minimal"] }] }),
        &expect![[r##"
        system_section  0: "# Project Context\n\n## a.md\nA\n"
        [file_set 0] Project Context: injected 29→29
    "##]],
    );
    check_source(
        &world,
        &json!({ "type": "file_set", "version": 2, "files": files }),
        &expect![[r##"
            system_section  0: "# Project Context\n\n## First\nA\n\n## b.md\nB�\n\n## sub/c.md\n\n## gone.md\n[MISSING] gone.md\n\n## ../outside.md\n[MISSING] ../outside.md\n"
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] entry: error 0→0 (a file of the list needs `path`)
            [file_set 0] a.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] gone.md: missing 0→0 (it is not there)
            [file_set 0] locked.md: error 0→0 (Permission denied)
            [file_set 0] ../outside.md: missing 0→0 (it is not there)
            [file_set 0] Project Context: injected 129→129
        "##]],
    );
}

#[test]
fn files_and_sections_are_cut_to_their_budgets() {
    let world = World::default().file("/w/long.md", "0123456789".repeat(4)).file("/w/short.md", "ok");
    let files = |max: Value| json!([{ "path": "long.md", "max_bytes": max }, { "path": "short.md" }, { "path": "gone.md", "max_bytes": 12 }]);
    check_source(
        &world,
        &json!({ "type": "file_set", "files": files(json!(15)) }),
        &expect![[r##"
        system_section  0: "# Project Context\n\n## long.md\n01234\n...\n56789\n\n## short.md\nok\n\n## gone.md\n[MI\n...\ne.md\n"
        [file_set 0] gone.md: missing 0→0 (it is not there)
        [file_set 0] Project Context: injected 117→87 cut
    "##]],
    );
    check_source(
        &world,
        &json!({ "type": "file_set", "files": files(json!("0x10")), "marker": "~" }),
        &expect![[r##"
        system_section  0: "# Project Context\n\n## long.md\n0123456~23456789\n\n## short.md\nok\n\n## gone.md\n[MISS~one.md\n"
        [file_set 0] gone.md: missing 0→0 (it is not there)
        [file_set 0] Project Context: injected 113→88 cut
    "##]],
    );
    check_source(
        &world,
        &json!({ "type": "file_set", "files": files(json!(0)), "total_max_bytes": 30 }),
        &expect![[r##"
        system_section  0: "# Project Co\n...\n[MI\n...\ne.md\n"
        [file_set 0] gone.md: missing 0→0 (it is not there)
        [file_set 0] Project Context: injected 112→30 cut
    "##]],
    );
    let two = |rest: Value| {
        let mut source = json!({ "type": "file_set", "version": 2, "files": files(json!(null)) });
        source.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        source
    };
    check_source(
        &world,
        &two(json!({ "max": 20, "head_ratio": 0.5, "tail_ratio": 0.1, "marker_template": "…" })),
        &expect![[r##"
        system_section  0: "# Project Context\n\n## long.md\n01234567…9\n\n## short.md\nok\n\n## gone.md\n[MISSING] gone.md\n"
        [file_set 0] gone.md: missing 0→0 (it is not there)
        [file_set 0] Project Context: injected 120→89 cut
    "##]],
    );
    check_source(
        &world,
        &two(json!({ "total_max": 41, "min_remaining": 5 })),
        &expect![[r##"
        system_section  0: "# Project Context\n\n## long.md\n0123456789012345678901234567890123456789\n"
        [file_set 0] short.md: error 0→0 (only 1 of the budget are left)
        [file_set 0] Project Context: injected 71→71
    "##]],
    );
    check_source(
        &world,
        &two(json!({ "total_max": 40 })),
        &expect![[r##"
        system_section  0: "# Project Context\n\n## long.md\n0123456789012345678901234567890123456789\n"
        [file_set 0] short.md: error 0→0 (the budget is spent)
        [file_set 0] Project Context: injected 71→71
    "##]],
    );
    check_source(
        &world,
        &two(json!({ "unit": "utf16", "max": 10, "missing_template": "no {{name}}" })),
        &expect![[r##"
        system_section  0: "# Project Context\n\n## long.md\n01\n...\n89\n\n## short.md\nok\n\n## gone.md\nno {{name}}\n"
        [file_set 0] gone.md: missing 0→0 (it is not there)
        [file_set 0] Project Context: injected 116→80 cut
    "##]],
    );
}

#[test]
fn a_section_without_files_may_be_left_out() {
    let world = World::default();
    check_source(
        &world,
        &json!({ "type": "file_set" }),
        &expect![[r##"
        system_section  0: "# Project Context\n"
        [file_set 0] Project Context: injected 18→18
    "##]],
    );
    check_source(
        &world,
        &json!({ "type": "file_set", "version": 2 }),
        &expect![[r##"
        system_section  0: "# Project Context\n"
        [file_set 0] Project Context: injected 18→18
    "##]],
    );
    check_source(&world, &json!({ "type": "file_set", "version": 2, "empty_section": "omit" }), &expect![""]);
    check_source(
        &world,
        &json!({ "type": "file_set", "empty_section": "omit" }),
        &expect![[r##"
        system_section  0: "# Project Context\n"
        [file_set 0] Project Context: injected 18→18
    "##]],
    );
}

#[test]
fn the_root_of_a_set_of_files_is_an_attribute_or_the_folder_of_the_process() {
    let source = |key: Value| {
        sources(&json!([{ "type": "file_set", "root_key": key, "files": [{ "path": "a.md" }, { "path": "~/b.md" }] }]))
    };
    let wanted = |attributes: &Value, key: Value| -> Vec<String> {
        let world = World::with(attributes);
        let files = source(key)[0].wants(&world.inputs(), PromptMode::Full).files;
        files.into_iter().map(|it| it.path).collect()
    };
    assert_eq!(wanted(&json!({}), Value::Null), ["/w/a.md"]);
    assert_eq!(wanted(&json!({ "cwd": "/c", "workspace_dir": "/ws" }), Value::Null), ["/ws/a.md"]);
    assert_eq!(wanted(&json!({ "cwd": "sub" }), Value::Null), ["/w/sub/a.md"]);
    assert_eq!(
        wanted(&json!({ "cwd": "~", "workspace_dir": false }), Value::Null),
        ["/home/ada/a.md", "/home/ada/b.md"]
    );
    assert_eq!(wanted(&json!({ "cwd": "/c", "root": "/r" }), json!("root")), ["/r/a.md"]);
    assert_eq!(wanted(&json!({ "cwd": "/c" }), json!("root")), ["/w/a.md"]);
    assert_eq!(wanted(&json!({ "cwd": " " }), Value::Null), ["/w/a.md"]);
}

#[test]
fn a_source_wants_no_more_of_a_file_than_it_can_use() {
    let keep = |source: Value| {
        let world = World::default();
        sources(&json!([source]))[0].wants(&world.inputs(), PromptMode::Full).files.remove(0).keep
    };
    let ends = |bytes, counts| ReadExtent::Ends { bytes, counts };
    let file = json!([{ "path": "a.md" }]);
    let short = json!([{ "path": "a.md", "max_bytes": 10 }]);
    assert_eq!(keep(json!({ "type": "file_set", "files": file })), ReadExtent::Whole);
    assert_eq!(keep(json!({ "type": "file_set", "files": short })), ends(10, Counts::Nothing));
    assert_eq!(keep(json!({ "type": "file_set", "files": [{ "path": "a.md", "max_bytes": -1 }] })), ReadExtent::Whole);
    assert_eq!(keep(json!({ "type": "file_set", "version": 2, "files": file })), ReadExtent::Whole);
    assert_eq!(keep(json!({ "type": "file_set", "version": 2, "files": file, "max": 7 })), ends(21, Counts::Text));
    assert_eq!(keep(json!({ "type": "file_set", "version": 2, "files": short, "max": 7 })), ends(30, Counts::Text));
    assert_eq!(keep(json!({ "type": "file_set", "version": 2, "preset": "openclaw" })), ReadExtent::Whole);
}

#[test]
fn a_standard_list_of_files_comes_before_those_that_are_named() {
    let world = World::default().file("/w/AGENTS.md", "Rules. \n").file("/w/mine.md", "Mine.");
    let source = json!({ "type": "file_set", "version": 2, "preset": "openclaw", "files": [{ "path": "mine.md" }] });
    check_source(
        &world,
        &source,
        &expect![[r##"
        system_section  0: "# Project Context\n\n## AGENTS.md\nRules.\n\n## SOUL.md\n[MISSING] Expected at: /w/SOUL.md\n\n## TOOLS.md\n[MISSING] Expected at: /w/TOOLS.md\n\n## IDENTITY.md\n[MISSING] Expected at: /w/IDENTITY.md\n\n## USER.md\n[MISSING] Expected at: /w/USER.md\n\n## HEARTBEAT.md\n[MISSING] Expected at: /w/HEARTBEAT.md\n\n## BOOTSTRAP.md\n[MISSING] Expected at: /w/BOOTSTRAP.md\n\n## mine.md\nMine.\n"
        [file_set 0] SOUL.md: missing 0→0 (it is not there)
        [file_set 0] TOOLS.md: missing 0→0 (it is not there)
        [file_set 0] IDENTITY.md: missing 0→0 (it is not there)
        [file_set 0] USER.md: missing 0→0 (it is not there)
        [file_set 0] HEARTBEAT.md: missing 0→0 (it is not there)
        [file_set 0] BOOTSTRAP.md: missing 0→0 (it is not there)
        [file_set 0] MEMORY.md: missing 0→0 (it is not there)
        [file_set 0] memory.md: missing 0→0 (it is not there)
        [file_set 0] Project Context: injected 363→363
    "##]],
    );
    check_in(
        PromptMode::Minimal,
        &world,
        &source,
        &expect![[r##"
            system_section  0: "# Project Context\n\n## AGENTS.md\nRules.\n\n## TOOLS.md\n[MISSING] Expected at: /w/TOOLS.md\n\n## mine.md\nMine.\n"
            [file_set 0] SOUL.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] IDENTITY.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] USER.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] HEARTBEAT.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] BOOTSTRAP.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] MEMORY.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] memory.md: skipped_mode 0→0 (it is for other modes)
            [file_set 0] TOOLS.md: missing 0→0 (it is not there)
            [file_set 0] Project Context: injected 105→105
        "##]],
    );
}

#[test]
fn documents_of_a_repository_are_one_message() {
    let world = World::default().document("AGENTS.md", "Root.\n").document("sub/AGENTS.md", "Sub.");
    check_source(
        &world,
        &json!({ "type": "repo_docs" }),
        &expect![[r#"
        preamble_message user 0: "<user_instructions>\n# Repo Instructions\n\n## AGENTS.md\nRoot.\n\n## sub/AGENTS.md\nSub.\n\n</user_instructions>"
        [repo_docs 0] -: injected 104→104
    "#]],
    );
    check_source(
        &world,
        &json!({ "type": "repo_docs", "wrapper_template": "{{content}}|{{content}}", "order": 3 }),
        &expect![[r##"
        preamble_message user 3: "# Repo Instructions\n\n## AGENTS.md\nRoot.\n\n## sub/AGENTS.md\nSub.\n|# Repo Instructions\n\n## AGENTS.md\nRoot.\n\n## sub/AGENTS.md\nSub.\n"
        [repo_docs 0] -: injected 127→127
    "##]],
    );
    check_source(
        &world,
        &json!({ "type": "repo_docs", "max_total_bytes": 40, "marker": "~" }),
        &expect![[r#"
        preamble_message user 0: "<user_instructions>\n# Repo Instructions~ sub/AGENTS.md\nSub.\n\n</user_instructions>"
        [repo_docs 0] -: injected 104→81 cut
    "#]],
    );
    check_source(
        &World::default(),
        &json!({ "type": "repo_docs", "filenames": ["A", "B"] }),
        &expect![[r#"
        [repo_docs 0] A, B: missing 0→0 (it is not there)
    "#]],
    );
    check_source(
        &World::default().failing("AGENTS.md"),
        &json!({ "type": "repo_docs" }),
        &expect![[r#"
        preamble_message user 0: "<user_instructions>\n\n</user_instructions>"
        [repo_docs 0] AGENTS.md: error 0→0 (Permission denied)
        [repo_docs 0] -: injected 41→41
    "#]],
    );
    let escaped = World::default().document("AGENTS.md", r"C:\\x \k<y>");
    check_source(
        &escaped,
        &json!({ "type": "repo_docs" }),
        &expect![[r#"
        [repo_docs 0] AGENTS.md: error 0→0 (a document has `\k<`, which the wrapper cannot take)
    "#]],
    );
    check_source(
        &escaped,
        &json!({ "type": "repo_docs", "version": 2 }),
        &expect![[r#"
        preamble_message user 0: "<user_instructions>\nC:\\\\x \\k<y>\n</user_instructions>"
        [repo_docs 0] -: injected 52→52
    "#]],
    );
}

#[test]
fn the_second_version_of_repository_documents_says_what_stands_around_them() {
    let world = || {
        World::default().document("AGENTS.md", "Root.").document("blank.md", " \n").document("sub/AGENTS.md", "Sub.")
    };
    let two = |rest: Value| {
        let mut source = json!({ "type": "repo_docs", "version": 2, "wrapper_template": "{{cwd}}:{{content}}" });
        source.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        source
    };
    check_source(
        &world(),
        &two(json!({})),
        &expect![[r#"
        preamble_message user 0: "/w:Root.\n\nSub."
        [repo_docs 0] -: injected 14→14
    "#]],
    );
    check_source(
        &world(),
        &two(json!({
            "separator": "--", "heading": "[{{path}} in {{dir}}]", "title": "Docs", "prepend": "first",
            "prepend_separator": "++", "append": ["last", 7],
        })),
        &expect![[r#"
            preamble_message user 0: "/w:Docs\nfirst++[AGENTS.md in .]Root.--[sub/AGENTS.md in sub]Sub.--last--7"
            [repo_docs 0] -: injected 73→73
        "#]],
    );
    check_source(
        &world(),
        &two(json!({ "max_total_bytes": 7 })),
        &expect![[r#"
        preamble_message user 0: "/w:Root.\n\nSu"
        [repo_docs 0] -: injected 14→12 cut
    "#]],
    );
    check_source(
        &world(),
        &two(json!({ "max_total_bytes": 9, "truncation": "head_marker_tail", "marker": "~" })),
        &expect![[r#"
        preamble_message user 0: "/w:Root~Sub."
        [repo_docs 0] -: injected 14→12 cut
    "#]],
    );
    check_source(
        &world(),
        &two(json!({ "max_total_bytes": 1, "truncation": "none" })),
        &expect![[r#"
        preamble_message user 0: "/w:Root.\n\nSub."
        [repo_docs 0] -: injected 14→14
    "#]],
    );
    check_source(
        &World::default(),
        &two(json!({ "when_empty": "none here" })),
        &expect![[r#"
        preamble_message user 0: "/w:none here"
        [repo_docs 0] -: injected 12→12
    "#]],
    );
    check_source(
        &World::default(),
        &two(json!({ "prepend": "only this" })),
        &expect![[r#"
        preamble_message user 0: "/w:only this"
        [repo_docs 0] -: injected 12→12
    "#]],
    );
    check_source(
        &World::default(),
        &two(json!({})),
        &expect![[r#"
        [repo_docs 0] AGENTS.override.md, AGENTS.md: missing 0→0 (it is not there)
    "#]],
    );
}

#[test]
fn documents_are_looked_for_by_the_names_that_a_source_gives() {
    let wanted = |source: Value, attributes: &Value| {
        let world = World::with(attributes);
        let repo = sources(&json!([source]))[0].wants(&world.inputs(), PromptMode::Full).repo.unwrap();
        format!("{} {} {} {}", repo.start, repo.markers.join(","), repo.names.join(","), repo.first_only)
    };
    assert_eq!(wanted(json!({ "type": "repo_docs" }), &json!({})), "/w .git AGENTS.md false");
    assert_eq!(
        wanted(json!({ "type": "repo_docs", "filenames": ["A", "", 7] }), &json!({ "cwd": "x/../y" })),
        "/w/y .git A,7 false"
    );
    assert_eq!(
        wanted(json!({ "type": "repo_docs", "version": "2" }), &json!({ "workspace_dir": "/ws" })),
        "/ws .git AGENTS.override.md,AGENTS.md true"
    );
    let full = json!({ "type": "repo_docs", "version": 2, "candidates": "A", "fallback_names": ["B"], "root_markers": [".hg"] });
    assert_eq!(wanted(full, &json!({ "cwd": "/c" })), "/c .hg A,B true");
}

#[test]
fn sources_that_are_off_unknown_or_none_say_so_or_are_passed_over() {
    let list = json!([
        { "type": "provided", "enabled": false },
        { "type": "file_set", "enabled": null },
        { "type": "hologram" },
        7,
        { "type": "file_set", "prompt_modes": [7] },
        { "type": "repo_docs", "prompt_modes": [null] },
        { "type": "text_store_entries", "enabled": "no" },
    ]);
    expect![[r#"
        [provided 0] -: skipped_disabled 0→0 (it is switched off)
        [file_set 1] -: skipped_disabled 0→0 (it is switched off)
        [hologram 2] -: error 0→0 (no source has this type; known: file_set, repo_docs, provided, text_store, text_store_entries)
        [? 3] -: error 0→0 (a source is a map)
        [file_set 4] -: error 0→0 (`prompt_modes` is of the wrong type)
        [repo_docs 5] -: error 0→0 (`prompt_modes` is of the wrong type)
    "#]]
    .assert_eq(&shown(&World::default().collect(&list, PromptMode::Full)));
    for none in [json!(null), json!({}), json!("provided"), json!([])] {
        assert_eq!(sources(&none).len(), 0, "{none}");
    }
    assert_eq!(ItemSource::parse(&list[0]), None, "what is switched off cannot be used");
    assert!(ItemSource::parse(&json!({ "type": "provided" })).is_some());
}

#[test]
fn options_that_a_source_does_not_have_are_refused() {
    let why = |spec: Value| check(&spec).err().unwrap_or_else(|| "fine".to_owned());
    for fine in [
        json!({ "type": "file_set", "files": [], "marker": "~", "enabled": false }),
        json!({ "type": "file_set", "version": 2, "preset": "openclaw", "unit": "utf16" }),
        json!({ "type": "repo_docs", "filenames": [] }),
        json!({ "type": "repo_docs", "version": 2, "candidates": [] }),
        json!({ "type": "provided", "context_key": "x" }),
        json!({ "type": "text_store", "entries": [] }),
    ] {
        assert_eq!(why(fine.clone()), "fine", "{fine}");
    }
    let refused = [
        json!({ "type": "file_set", "preset": "openclaw" }),
        json!({ "type": "repo_docs", "candidates": [] }),
        json!({ "type": "repo_docs", "version": 2, "filenames": [] }),
        json!({ "type": "provided", "entries": [] }),
        json!({ "type": "text_store", "context_key": "x" }),
        json!({ "type": "file_set", "prompt_modes": [1] }),
        json!("file_set"),
    ];
    expect![[r#"
        unknown option `preset` of `file_set`; known: `type`, `enabled`, `version`, `files`, `section_header`, `total_max_bytes`, `marker`, `order`, `prompt_modes`, `root_key`, `substitute_variables`, `include_missing`
        unknown option `candidates` of `repo_docs`; known: `type`, `enabled`, `version`, `filenames`, `max_total_bytes`, `marker`, `wrapper_template`, `order`, `prompt_modes`
        unknown option `filenames` of `repo_docs`; known: `type`, `enabled`, `version`, `candidates`, `fallback_names`, `root_markers`, `max_total_bytes`, `marker`, `wrapper_template`, `order`, `prompt_modes`, `separator`, `heading`, `title`, `truncation`, `prepend`, `prepend_separator`, `append`, `when_empty`
        unknown option `entries` of `provided`; known: `type`, `enabled`, `version`, `context_key`
        unknown option `context_key` of `text_store`; known: `type`, `enabled`, `version`, `entries`
        `prompt_modes` is of the wrong type
        a source is a table"#]].assert_eq(&refused.map(why).join("\n"));
}

fn section(text: &str, order: i64) -> InjectionItem {
    let fields = json!({ "target": "system_section", "content": text, "order": order });
    InjectionItem::from_fields(fields.as_object().unwrap(), Version::Two, "here").unwrap()
}

#[test]
fn sections_of_a_system_prompt_stand_in_their_order() {
    let items = [
        section("late", 900),
        section("early", -1),
        section("at memory", 200),
        section("at skills", 800),
        section(" ", 1),
    ];
    let own = |text: &str, order: i64, after_items: bool| OwnSection {
        order,
        after_items,
        content: vec![Fragment::layout(text)],
    };
    let parts = || SystemParts {
        base: vec![Fragment::layout("Base.")],
        items: &items,
        own: vec![own("what is recalled", 200, false), own("the skills", 800, true), own(" \n", 5, false)],
        ..SystemParts::default()
    };
    expect![[r#"
        Base.

        early

        what is recalled

        at memory

        at skills

        the skills

        late"#]]
    .assert_eq(&concat(&system_prompt(parts(), PromptMode::Full)));
    let none = SystemParts { own: Vec::new(), ..parts() };
    expect!["Base."].assert_eq(&concat(&system_prompt(none, PromptMode::None)));
    assert_eq!(concat(&system_prompt(SystemParts::default(), PromptMode::Full)), "");
    let alone = SystemParts { items: &items[..1], ..SystemParts::default() };
    assert_eq!(concat(&system_prompt(alone, PromptMode::Full)), "late", "nothing stands before the first section");
}

#[test]
fn variables_are_filled_where_an_item_asks_for_it() {
    let variables = [("name".to_owned(), "Ada".to_owned()), ("bad".to_owned(), r"\k<x>".to_owned())];
    let mut filling = section("Hello {{name}} {{bad}} {{other}}.", 1);
    filling.fills_variables = true;
    let items = [filling, section("Plain {{name}}.", 2)];
    let parts = SystemParts {
        base: vec![Fragment::layout("I am {{name}}.")],
        variables: &variables,
        items: &items,
        ..SystemParts::default()
    };
    assert_eq!(
        concat(&system_prompt(parts, PromptMode::Full)),
        "I am Ada.\n\nHello Ada {{bad}} {{other}}.\n\nPlain {{name}}."
    );
}

#[test]
fn messages_before_the_history_stand_in_their_order() {
    let message = |text: &str, role: &str, order: i64, modes: &[&str]| {
        let fields = json!({ "target": "preamble_message", "content": text, "role": role, "order": order, "prompt_modes": modes });
        InjectionItem::from_fields(fields.as_object().unwrap(), Version::Two, "here").unwrap()
    };
    let items = [
        message("three", "user", 5, &[]),
        message("one", "assistant", -5, &["full", "full", "odd"]),
        message("two", "user", 0, &["none", "full"]),
        message(" ", "user", 0, &[]),
        section("no message", 0),
    ];
    let said = |mode| -> Vec<String> {
        preamble(&items, mode).iter().map(|it| format!("{} {}", it.role.as_str(), concat(&it.content))).collect()
    };
    assert_eq!(said(PromptMode::Full), ["assistant one", "user two", "user three"]);
    assert_eq!(said(PromptMode::Minimal), ["user three"]);
    assert_eq!(said(PromptMode::None), ["user two"]);
}

#[test]
fn ends_of_a_file_are_cut_like_the_whole_file() {
    let text = "0123456789".repeat(10);
    let whole = FileText::whole("/w/a.md", text.as_str());
    let ends = FileText::Ends {
        path: whole.path().clone(),
        head: text.as_bytes()[..40].to_vec(),
        tail: text.as_bytes()[60..].to_vec(),
        size: 100,
        text_bytes: 100,
        units: 100,
    };
    for max in -1..40 {
        for marker in ["", "~", "a marker that is long"] {
            let ((ends, kept), (whole, of_whole)) = (ends.cut(max, marker), whole.cut(max, marker));
            assert_eq!((concat(&ends), kept), (concat(&whole), of_whole), "{max} {marker}");
            let n_kept = kept.map_or(100, |kept| kept.head + kept.marker + kept.tail);
            assert_eq!(concat(&whole).len(), n_kept, "{max} {marker}");
        }
    }
    assert_eq!((whole.size(), ends.size()), (100, 100));
    assert_eq!(concat(&ends.fragments()), text[..40]);
}
