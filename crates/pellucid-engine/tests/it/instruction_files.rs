//! Instruction files in the report: their hash, and what hides in them.

use expect_test::expect;
use pellucid_engine::documents::listed::instruction_files;
use pellucid_engine::documents::listed::instruction_files_after;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_protocol::item::Item;

use crate::fixture;

#[test]
fn files_are_listed_with_what_was_read_of_them() {
    let document = |path: &str, text: &str, size: u64| Document { size, ..Document::whole(path, text) };
    let mut facts = fixture::facts();
    facts.world.home_document = Some(document("/home/AGENTS.md", "Be brief.\n", 10));
    facts.world.project_documents = vec![document("/p/AGENTS.md", "x\u{202E}", 9)];
    let files = instruction_files(&facts);
    let shown: Vec<String> =
        files.iter().map(|it| format!("{} {}/{} {} {:?}", it.path, it.n_read, it.size, it.hash, it.hidden)).collect();
    expect![[r#"
        /home/AGENTS.md 10/10 96fb1c7f068c5ce63e2b45fc4aea602d48d5302be6ca033f3e1f0c7148558a49 []
        /p/AGENTS.md 4/9 7f411cf31399ca3a7bf96453255ec86352546bc587630f2580a2135d9b5fdfbe [Hidden { line: 1, column: 2, kind: Bidirectional, characters: ['\u{202e}'] }]"#]].assert_eq(&shown.join("\n"));
}

/// Checks which files are found in a history of these messages, and how many messages are taken to know it.
#[track_caller]
fn check_found(facts: &Facts, messages: &[&str], found: &[bool], n_taken: usize) {
    let mut taken = 0;
    let history = messages.iter().map(|text| {
        taken += 1;
        Item::text("user", *text)
    });
    let files: Vec<bool> = instruction_files_after(facts, history).iter().map(|file| file.is_in_history).collect();
    assert_eq!((files.as_slice(), taken), (found, n_taken), "{messages:?}");
}

#[test]
fn a_history_is_read_until_every_file_is_found_in_it() {
    let mut facts = fixture::facts();
    check_found(&facts, &["a", "b"], &[], 0);
    facts.world.home_document = Some(Document::whole("/home/AGENTS.md", " \n"));
    check_found(&facts, &["a", "b"], &[false], 0);
    facts.world.project_documents =
        vec![Document::whole("/p/AGENTS.md", "Be kind.\n"), Document::whole("/p/q/AGENTS.md", "Be brief.\n")];
    check_found(&facts, &["Be brief.", "x", "y: Be kind. Be", "z"], &[false, true, true], 3);
    check_found(&facts, &["Be", "brief.", "Be kind."], &[false, true, false], 3);
}
