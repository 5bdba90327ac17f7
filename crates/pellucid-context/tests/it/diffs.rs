//! Two requests side by side.

use pellucid_context::BuiltRequest;
use pellucid_context::Document;
use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::ModelInfo;
use pellucid_context::RowFate;
use pellucid_context::SessionId;
use pellucid_context::WireSettings;

fn request(documents: &[(&str, &str)]) -> BuiltRequest {
    let mut facts = Facts::plain("/p", ModelInfo::named("gpt-5.2-codex"));
    facts.settings.project_document_bytes_max = 1000;
    let document = |(path, text): &(&str, &str)| Document::whole(*path, *text);
    facts.world.project_documents = documents.iter().map(document).collect();
    let mut session = Engine::builtin("codex").unwrap().begin(facts, WireSettings::new(SessionId::new("s"))).unwrap();
    session.say("hello");
    session.request()
}

/// Checks the changes of rows of files, each as its fate and the end of its path.
#[track_caller]
fn check_files(before: &[(&str, &str)], after: &[(&str, &str)], expected: &[(&str, &str)]) {
    let (before, after) = (request(before), request(after));
    let diff = after.diff(&before);
    let changes: Vec<(&str, &str)> = diff
        .rows
        .iter()
        .filter(|row| row.fate != RowFate::Same)
        .map(|row| {
            let of = |request: &'_ BuiltRequest, n: usize| request.report().rows[n].origin.clone();
            let origin = row.after.map_or_else(|| of(&before, row.before.unwrap()), |n| of(&after, n));
            (row.fate, origin)
        })
        .filter(|(_, origin)| origin.kind() == "file")
        .map(|(fate, origin)| {
            let known = expected.iter().map(|(_, path)| *path).find(|path| origin.detail() == *path);
            (fate.word(), known.unwrap_or("another file"))
        })
        .collect();
    assert_eq!(changes, expected);
    let covered = |pick: fn(&pellucid_context::RowChange) -> Option<usize>, request: &BuiltRequest| {
        let mut rows: Vec<usize> = diff.rows.iter().filter_map(pick).collect();
        rows.sort_unstable();
        assert_eq!(rows, (0..request.report().rows.len()).collect::<Vec<_>>(), "every row is in one change");
    };
    covered(|row| row.before, &before);
    covered(|row| row.after, &after);
}

#[test]
fn the_same_request_has_no_difference() {
    let (a, b) = (request(&[("/p/A", "x")]), request(&[("/p/A", "x")]));
    let diff = b.diff(&a);
    assert!(diff.is_same());
    assert_eq!(diff.same_bytes, a.body().len());
    assert!(diff.continuity.unwrap().broken.is_none());
}

#[test]
fn a_file_is_changed_added_removed_or_moved() {
    check_files(&[("/p/A", "x")], &[("/p/A", "y")], &[("changed", "/p/A")]);
    check_files(&[("/p/A", "x")], &[("/p/A", "x"), ("/p/B", "y")], &[("added", "/p/B")]);
    check_files(&[("/p/A", "x"), ("/p/B", "y")], &[("/p/B", "y")], &[("removed", "/p/A")]);
    check_files(&[("/p/A", "x"), ("/p/B", "y")], &[("/p/B", "y"), ("/p/A", "x")], &[("moved", "/p/B")]);
}

#[test]
fn the_difference_says_where_the_cache_ends() {
    let (a, b) = (request(&[("/p/A", "one")]), request(&[("/p/A", "Zwei")]));
    let broken = b.diff(&a).continuity.unwrap().broken.unwrap();
    assert_eq!((broken.cause.as_str(), &*broken.part), ("items", "user_instructions"));
    let row = b.row_with("Zwei").unwrap();
    assert!((broken.first_byte..broken.first_byte + broken.part_bytes).contains(&row.start));
}
