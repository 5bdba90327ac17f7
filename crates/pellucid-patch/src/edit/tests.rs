use super::*;

#[test]
fn many_loose_chunks_are_found_by_one_index() {
    let text: String = (0..20_000).map(|n| format!("  line {n} \n  }}\n")).collect();
    let lines: Vec<[String; 2]> =
        (0..200).map(|n| [format!("line {}", n * 100), format!("new \u{2013} {n}")]).collect();
    let chunks: Vec<_> = lines
        .iter()
        .map(|[old, new]| PatchChunk { context: None, old: vec![old, "}"], new: vec![new, "}"], is_at_end: false })
        .collect();
    let edited = edit(&text, &chunks).unwrap();
    assert_eq!(edited.matches("new \u{2013} ").count(), 200);
    assert_eq!(lines_changed(&text, &edited), 400);
}

/// How many lines of two texts of the same length are not the same.
fn lines_changed(one: &str, other: &str) -> usize {
    one.lines().zip(other.lines()).filter(|(one, other)| one != other).count()
}

#[test]
fn what_overlaps_is_replaced_from_the_end() {
    let chunk = |old: &[&'static str], new: &[&'static str], is_at_end| PatchChunk {
        context: None,
        old: old.to_vec(),
        new: new.to_vec(),
        is_at_end,
    };
    let chunks = [chunk(&["b", "c"], &["B", "c"], false), chunk(&["c", "d"], &["c", "D"], true)];
    assert_eq!(edit("a\nb\nc\nd", &chunks).unwrap(), "a\nB\nc\nD\n");
}
