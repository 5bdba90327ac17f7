use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::base::Base;

/// Compares the result with a small window with that of `edit` on the whole text.
fn both(text: &[u8], chunks: &[PatchChunk<'_>], n_window: usize) -> (Option<String>, Option<String>) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut buffer = vec![0; n_window];
    let parts = edit(&file, &mut buffer, chunks).unwrap();
    let Ok(text) = std::str::from_utf8(text) else {
        return (parts.map(|_| String::new()), None);
    };
    (parts.map(|parts| parts.slices(text).collect()), crate::edit(text, chunks).ok())
}

fn chunk<'a>(context: Option<&'a str>, old: &[&'a str], new: &[&'a str]) -> PatchChunk<'a> {
    PatchChunk { context, old: old.to_vec(), new: new.to_vec(), is_at_end: false }
}

#[track_caller]
fn check(text: &str, chunks: &[PatchChunk<'_>], expected: &str) {
    for n_window in [8, 9, 64] {
        let expected = Some(expected.to_owned());
        assert_eq!(both(text.as_bytes(), chunks, n_window), (expected.clone(), expected), "window of {n_window}");
    }
}

#[test]
fn chunks_are_found_across_windows() {
    let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let expected = text.replace("line 20\n", "a\n").replace("line 90\n", "b\nc\n");
    check(&text, &[chunk(None, &["line 20"], &["a"]), chunk(Some("line 88"), &["line 90"], &["b", "c"])], &expected);
}

#[test]
fn beginnings_and_ends_are_lines() {
    check("a\nb\nc", &[chunk(None, &["a"], &["x"]), chunk(None, &["c"], &["y"])], "x\nb\ny\n");
    check("a\n", &[chunk(None, &[], &["z"])], "a\nz\n");
    check("a\n\n", &[chunk(None, &[], &["z"])], "a\nz\n");
    check("", &[chunk(None, &[], &["z"])], "z\n");
    check("a\n\nb\n", &[chunk(None, &["b"], &[])], "a\n");
}

#[test]
fn what_is_not_plain_is_left_to_others() {
    for chunks in [
        &[chunk(None, &["a"], &[])][..],
        &[PatchChunk { is_at_end: true, ..chunk(None, &["  b"], &[]) }],
        &[chunk(Some("nowhere"), &["  b"], &[])],
    ] {
        assert_eq!(both(b"a \n  b\n", chunks, 16).0, None, "{chunks:?}");
    }
    assert_eq!(both(b"a\n\xFF\n", &[chunk(None, &["a"], &[])], 16).0, None);
    assert_eq!(both("a\n\u{20AC}".as_bytes().split_last().unwrap().1, &[chunk(None, &["a"], &[])], 16).0, None);
}

#[test]
fn a_large_file_is_copied_through_one_buffer() {
    let text: String = (0..100_000).map(|n| format!("line \u{20AC} {n}\n")).collect();
    let chunks = [chunk(None, &["line \u{20AC} 50000"], &["a"]), chunk(None, &["line \u{20AC} 99999"], &["b"])];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    std::fs::write(&path, &text).unwrap();
    let file = File::open(&path).unwrap();
    let parts = edit(&file, &mut Vec::new(), &chunks).unwrap().unwrap();
    let stamp = crate::files::Stamp::from(&pellucid_files::FileStatus::of(&file).unwrap());
    let base = crate::base::OnDisk { path: path.clone(), stamp };
    let copy = folder.path().join("copy");
    base.copy(&parts, &mut File::create(&copy).unwrap()).unwrap();
    let expected = crate::edit(&text, &chunks).unwrap();
    assert!(std::fs::read_to_string(&copy).unwrap() == expected);
    assert!(*crate::text::PatchedText::new(Base::OnDisk(base.into()), parts).flat().unwrap() == expected);
    std::fs::write(&path, "short\n").unwrap();
    let base = crate::base::OnDisk { path, stamp };
    base.copy(&TextParts::whole(text.len()), &mut File::create(&copy).unwrap()).unwrap_err();
}

proptest! {
    #[test]
    fn what_is_found_is_what_is_found_in_the_whole(
        text in "[ab\u{e9} \n]{0,60}",
        blocks in prop::collection::vec(
            (prop::option::of("[ab\u{e9}]{0,2}"), prop::collection::vec("[ab\u{e9}]{0,2}", 0..3), prop::collection::vec("[ab]{0,1}", 0..3)),
            0..4,
        ),
        n_window in 8_usize..24,
    ) {
        let chunks: Vec<PatchChunk<'_>> = blocks
            .iter()
            .map(|(context, old, new)| PatchChunk {
                context: context.as_deref(),
                old: old.iter().map(String::as_str).collect(),
                new: new.iter().map(String::as_str).collect(),
                is_at_end: false,
            })
            .collect();
        let (windowed, whole) = both(text.as_bytes(), &chunks, n_window);
        if windowed.is_some() {
            prop_assert_eq!(windowed, whole);
        }
    }
}
