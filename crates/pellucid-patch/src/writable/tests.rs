use super::*;

#[track_caller]
fn check(writable: &Writable, path: &str, expected: bool) {
    assert_eq!(writable.allows(Path::new(path)), expected, "{path}");
}

fn root(path: &str, protected: &[&str]) -> Root {
    Root { path: path.into(), protected: protected.iter().map(PathBuf::from).collect() }
}

#[test]
fn a_root_ends_where_its_name_ends() {
    let writable = Writable::folder("/nowhere/w");
    check(&writable, "/nowhere/w/a/b", true);
    check(&writable, "/nowhere/w/../w/a", true);
    check(&writable, "/nowhere/w/../x", false);
    check(&writable, "/nowhere/wide", false);
    check(&writable, "/nowhere", false);
    check(&Writable::Everywhere, "/nowhere", true);
    check(&Writable::In(Vec::new()), "/nowhere/w/a", false);
}

#[test]
fn the_innermost_root_decides() {
    let outer = root("/nowhere", &[]);
    let inner = root("/nowhere/w", &["/nowhere/w/.git"]);
    let writable = Writable::In(vec![inner.clone(), outer.clone()]);
    check(&writable, "/nowhere/w/.git/config", false);
    check(&writable, "/nowhere/w/.github/x", true);
    check(&writable, "/nowhere/.git/config", true);
    let opened = Writable::In(vec![outer, inner, root("/nowhere/w/.git", &[])]);
    check(&opened, "/nowhere/w/.git/config", true);
}

#[cfg(unix)]
#[test]
fn a_root_may_be_a_link_and_a_protected_folder_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("real/store")).unwrap();
    std::os::unix::fs::symlink("real", at("link")).unwrap();
    std::os::unix::fs::symlink("store", at("real/.git")).unwrap();
    let writable = Writable::In(vec![Root { path: at("link"), protected: vec![at("link/.git")] }]);
    assert!(writable.allows(&at("real/a")) && writable.allows(&at("link/a")));
    for path in ["link/.git/x", "real/.git/x", "link/store/x", "real/store/x"] {
        assert!(!writable.allows(&at(path)), "{path}");
    }
}
