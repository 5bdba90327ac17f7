//! A file is the same only with the same path and the same bytes.

use super::*;

#[test]
fn a_version_is_its_path_and_its_bytes() {
    let one = FileVersion::of("/a", b"x");
    assert_eq!(one, FileVersion::of("/a", b"x"));
    assert_ne!(one, FileVersion::of("/b", b"x"));
    assert_ne!(one, FileVersion::of("/a", b"y"));
    assert_ne!(one, FileVersion::from("/a"), "a hash that is not known is no hash");
    assert_eq!(FileVersion::default(), "".into());
}

#[test]
fn a_version_is_read_as_its_path() {
    let known = FileVersion::of("/a/b.md", b"abc");
    let unknown: FileVersion = "/a/b.md".into();
    assert_eq!((known.to_string().as_str(), &*known, known.len()), ("/a/b.md", "/a/b.md", 7));
    assert_eq!(known.sha256().copied(), Some(Digest::of([b"abc".as_slice()])));
    assert_eq!(unknown.sha256(), None);
    assert_eq!(format!("{known:?}"), "\"/a/b.md\" (ba7816bf8f01cfea414140de5dae2223)");
    assert_eq!(format!("{unknown:?}"), "\"/a/b.md\"");
    assert_eq!(known.clone(), known);
}
