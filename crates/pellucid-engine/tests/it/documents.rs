//! Instruction files beyond what the Codex CLI does: allocation, notes of cuts, imports, changes, and what the report
//! says of them.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::documents::change::Changed;
use pellucid_engine::documents::change::NewText;
use pellucid_engine::documents::change::changed;
use pellucid_engine::documents::change::joined;
use pellucid_engine::documents::imports::ImportFault;
use pellucid_engine::documents::imports::Imported;
use pellucid_engine::documents::listed::instruction_files;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::report::Report;
use pellucid_engine::report::why_text;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::DraftPart;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::project_docs::ProjectDocs;

use crate::document;
use crate::facts;
use crate::session_id;

/// A pack over `codex` whose layout says this.
fn pack_with(layout: &str) -> Pack {
    let files = PackFiles::from([("pack.toml".to_owned(), format!("name = \"mine\"\nfrom = \"codex\"\n{layout}"))]);
    Pack::load_user(&files, "/packs/mine").unwrap()
}

fn chain(budget: usize, texts: &[(&str, &str)]) -> Facts {
    let mut facts = facts();
    facts.settings.project_document_bytes_max = budget;
    facts.world.project_documents = texts.iter().map(|(path, text)| document(path, text)).collect();
    facts
}

/// Checks the text between the tags, and the omissions.
#[track_caller]
fn check_text(layout: &str, facts: &Facts, expected: &Expect) {
    let context = assemble(&pack_with(layout), facts);
    let message = context.messages.iter().find(|message| &*message.slot == "user_instructions");
    let mut shown = message.and_then(|message| message.inside.clone()).unwrap_or_default();
    for omission in &context.omissions {
        shown += &format!("\n-- {}: {}", omission.what, why_text(&omission.why));
    }
    expected.assert_eq(&shown);
}

const LINES: [(&str, &str); 2] = [("/p/AGENTS.md", "root one\nroot two\n"), ("/p/a/AGENTS.md", "leaf one\nleaf two\n")];

#[test]
fn a_cut_at_a_line_says_what_is_missing() {
    check_text(
        "[project_docs]\ncut = \"lines\"\n",
        &chain(30, &LINES),
        &expect![[r#"
            root one
            root two


            leaf one
            [/p/a/AGENTS.md: 9 of 18 bytes are left out here, the budget for instruction files is spent]
            -- /p/a/AGENTS.md: cut after 9 of 18 bytes, the budget is spent"#]],
    );
}

#[test]
fn a_file_that_is_left_out_is_named_where_it_would_be() {
    check_text(
        "[project_docs]\ncut = \"lines\"\nallocation = \"nearest-first\"\n",
        &chain(20, &LINES),
        &expect![[r#"
            [/p/AGENTS.md: 18 of 18 bytes are left out here, the budget for instruction files is spent]

            leaf one
            leaf two

            -- /p/AGENTS.md: all 18 bytes left out, the budget is spent"#]],
    );
}

#[test]
fn the_configuration_is_stronger_than_the_pack() {
    let mut facts = chain(30, &LINES);
    facts.settings.project_docs =
        ProjectDocs { cut: Some(pellucid_protocol::project_docs::Cut::Bytes), ..ProjectDocs::default() };
    check_text(
        "[project_docs]\ncut = \"lines\"\nallocation = \"proportional\"\n",
        &facts,
        &expect![[r#"
            root one
            root t

            leaf one
            leaf t
            -- /p/AGENTS.md: cut after 15 of 18 bytes, the budget is spent
            -- /p/a/AGENTS.md: cut after 15 of 18 bytes, the budget is spent"#]],
    );
}

#[test]
fn a_large_root_costs_the_leaf_nothing() {
    let root = "x".repeat(40 * 1024);
    let facts = chain(32_768, &[("/p/AGENTS.md", &root), ("/p/a/AGENTS.md", "Leaf.\n")]);
    let text = |layout: &str| {
        let context = assemble(&pack_with(layout), &facts);
        context.messages.iter().find_map(|message| message.inside.clone()).unwrap()
    };
    assert_eq!(text(""), "x".repeat(32_768));
    let nearest = text("[project_docs]\nallocation = \"nearest-first\"\n");
    assert_eq!(nearest, format!("{}\n\nLeaf.\n", "x".repeat(32_762)));
}

fn import(path: &str, outcome: Result<&str, ImportFault>) -> Imported {
    let outcome = outcome.map(|text| document(path, text));
    let (root, by) = ("/p/AGENTS.md".to_owned(), "/p/AGENTS.md".to_owned());
    Imported { root, by, line: 1, path: path.to_owned(), outcome }
}

#[test]
fn an_import_follows_the_file_that_names_it() {
    let mut facts = chain(100, &LINES);
    facts.world.imports = vec![import("/p/style.md", Ok("Tabs.\n")), import("/p/none.md", Err(ImportFault::Missing))];
    check_text(
        "",
        &facts,
        &expect![[r#"
            root one
            root two


            [/p/style.md, imported by /p/AGENTS.md]

            Tabs.


            leaf one
            leaf two

            -- /p/none.md (imported in /p/AGENTS.md:1): there is no such file"#]],
    );
}

#[test]
fn wrong_words_are_refused_with_their_place() {
    let files = PackFiles::from([(
        "pack.toml".to_owned(),
        "name = \"m\"\nfrom = \"codex\"\n[project_docs]\ncut = \"words\"\n".to_owned(),
    )]);
    let error = Pack::load_user(&files, "/m").unwrap_err().to_string();
    expect!["/m/pack.toml:4:7: unknown variant `words`, expected `bytes` or `lines`"].assert_eq(&error);
}

fn text_of(draft: &Draft) -> String {
    let DraftPart::Text(fragments) = &draft.parts[0] else { panic!("a text") };
    concat(fragments)
}

#[test]
fn a_change_names_both_hashes_and_stands_at_the_end() {
    let facts = chain(100, &[("/p/AGENTS.md", "New.\n")]);
    let changes = [
        Changed { path: "/p/AGENTS.md", old: Some("aaa"), new: Some("bbb") },
        Changed { path: "/p/a/AGENTS.md", old: Some("ccc"), new: None },
    ];
    let told = |text| text_of(&changed(&pack_with(""), &facts, &changes, text).unwrap());
    expect![[r#"
        # AGENTS.md instructions for /home/ada/proj

        Instruction files changed since you read them. From now on each of these says what stands here, and nothing of what it said before.

        <INSTRUCTIONS>
        [/p/AGENTS.md, SHA-256 aaa before, bbb now]

        New.


        [/p/a/AGENTS.md, SHA-256 ccc before: no longer there, what it said is void]
        </INSTRUCTIONS>"#]]
    .assert_eq(&told(NewText::Here));
    expect![[r#"
        # AGENTS.md instructions for /home/ada/proj

        Instruction files changed since you read them. From now on each of these says what stands here, and nothing of what it said before.

        <INSTRUCTIONS>
        [/p/AGENTS.md, SHA-256 aaa before, bbb now: its present text is in the latest instructions above]

        [/p/a/AGENTS.md, SHA-256 ccc before: no longer there, what it said is void]
        </INSTRUCTIONS>"#]].assert_eq(&told(NewText::Above));
    assert_eq!(changed(&pack_with(""), &facts, &[], NewText::Here), None);
}

#[test]
fn a_file_that_joins_says_for_which_folder() {
    let draft = joined(&pack_with(""), &facts(), &document("/p/web/AGENTS.md", "Use React.\n"), "abc");
    expect![[r#"
        # AGENTS.md instructions for /p/web

        These hold for files in that folder and below it. They are from /p/web/AGENTS.md (SHA-256 abc).

        <INSTRUCTIONS>
        Use React.

        </INSTRUCTIONS>"#]]
    .assert_eq(&text_of(&draft));
    assert!(!pellucid_engine::boundary::begins_user_turn(&draft.item()), "the user did not write it");
}

/// Checks what the report says of sources, for a request made with this pack.
#[track_caller]
fn check_sources(pack: &Pack, facts: &Facts, expected: &Expect) {
    let context = assemble(pack, facts);
    let mut transcript = Transcript::new(ItemIds::Hidden, facts.settings.model.truncation_policy);
    for message in context.messages {
        transcript.record_draft(&Draft::from(message));
    }
    let wire = WireSettings {
        session_id: session_id(),
        wire: pellucid_protocol::provider::WireApi::Responses,
        developer: pellucid_protocol::provider::DeveloperRole::default(),
        output_tokens_max: None,
        ids: ItemIds::Hidden,
        output_schema: None,
    };
    let frame = Frame::new(pack, facts, &context.instructions, &wire);
    let _request = frame.request(&mut transcript);
    let mut report = Report::new(&frame, transcript.rendered(), context.omissions, facts.world.candidates.clone());
    report.files = instruction_files(facts);
    let lines: Vec<String> = report
        .sources()
        .iter()
        .map(|it| format!("{} {} {} {}", it.status.as_str(), it.source, it.bytes, it.why).trim_end().to_owned())
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn what_is_loaded_is_what_the_request_has() {
    let mut facts = chain(20, &LINES);
    facts.world.home_document = Some(document("/h/AGENTS.md", " Mine.\n"));
    facts.world.imports =
        vec![import("/p/style.md", Ok("Tabs.\n")), import("/p/AGENTS.md", Err(ImportFault::Duplicate))];
    let candidate = |path: &str, fate| Candidate { path: path.to_owned(), fate };
    facts.world.candidates = vec![
        candidate("/p/AGENTS.override.md", Fate::Absent),
        candidate("/p/AGENTS.md", Fate::Read),
        candidate("/p/TEAM.md", Fate::Shadowed { by: "/p/AGENTS.md".to_owned() }),
    ];
    check_sources(
        &pack_with(""),
        &facts,
        &expect![[r#"
            full /h/AGENTS.md 5
            full /p/AGENTS.md 18
            omitted /p/a/AGENTS.md 0 all 18 bytes left out, the budget is spent
            truncated /p/style.md 2 cut after 2 of 6 bytes, the budget is spent
            missing /p/AGENTS.override.md 0 not there
            shadowed /p/TEAM.md 0 /p/AGENTS.md comes first
            duplicate /p/AGENTS.md (imported in /p/AGENTS.md:1) 0 it is in the context already"#]],
    );
}

#[test]
fn a_layer_that_gets_lost_after_loading_is_seen() {
    let mut pack = pack_with("");
    for slot in &mut pack.layout.slots {
        slot.parts.retain(|part| part.source.name != "project_docs");
    }
    check_sources(&pack, &chain(100, &LINES[..1]), &expect!["omitted /p/AGENTS.md 0 read, but not in the request"]);
}

#[test]
fn instructions_that_lose_are_named_with_the_winner() {
    use pellucid_engine::facts::Provided;
    let provided = |place: &str, text: &str| Some(Provided { place: place.to_owned(), text: text.to_owned() });
    let mut facts = facts();
    facts.settings.base_instructions = provided("mine.md", "Mine.");
    facts.world.recorded_instructions = provided("the session file s.jsonl", "Before.");
    check_sources(
        &pack_with(""),
        &facts,
        &expect![[r#"
            shadowed the session file s.jsonl 0 mine.md takes its place
            shadowed the instructions of the model gpt-5.2-codex 0 mine.md takes its place"#]],
    );
}
