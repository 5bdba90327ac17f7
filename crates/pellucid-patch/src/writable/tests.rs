use super::*;

#[track_caller]
fn check(writable: &Writable, path: &str, expected: bool) {
    assert_eq!(writable.allows(Path::new(path)), expected, "{path}");
}

fn root(path: &str, protected: &[&str]) -> PatchFolder {
    let protected = protected.iter().map(PathBuf::from).collect();
    PatchFolder { path: path.into(), identity: None, protected, git: GitAccess::Writable }
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
    let writable = Writable::In(vec![PatchFolder {
        path: at("link"),
        identity: None,
        protected: vec![at("link/.git")],
        git: GitAccess::Writable,
    }]);
    assert!(writable.allows(&at("real/a")) && writable.allows(&at("link/a")));
    for path in ["link/.git/x", "real/.git/x", "link/store/x", "real/store/x"] {
        assert!(!writable.allows(&at(path)), "{path}");
    }
}

#[test]
fn what_is_protected_need_not_be_there_and_may_be_in_capitals() {
    let mut root = root("/nowhere/w", &["/nowhere/w/.codex", "/nowhere/w/sub/.agents"]);
    root.git = GitAccess::Protected;
    let writable = Writable::In(vec![root.clone()]);
    for path in [".codex", ".codex/config.toml", ".CODEX/x", "sub/.agents/x", "Sub/.Agents/x"] {
        check(&writable, &format!("/nowhere/w/{path}"), false);
    }
    for path in [".git", ".git/hooks/x", "a/.git/config", "a/.Git", "x/../.git/config"] {
        check(&writable, &format!("/nowhere/w/{path}"), false);
    }
    for path in ["sub/.codex/x", ".codexrc", ".gitignore", ".github/x", "a.git/b"] {
        check(&writable, &format!("/nowhere/w/{path}"), true);
    }
    // Who names a repository as a root means it.
    let named = PatchFolder { path: "/nowhere/w/.git".into(), ..root.clone() };
    check(&Writable::In(vec![root, named]), "/nowhere/w/.git/config", true);
}

#[test]
fn what_somebody_agreed_to_is_these_files_only() {
    let writable = Writable::Only(vec!["/nowhere/a".into()]);
    check(&writable, "/nowhere/a", true);
    check(&writable, "/nowhere/b/../a", true);
    check(&writable, "/nowhere/a/b", false);
    check(&writable, "/nowhere/b", false);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_name_of_a_repository_is_no_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("a/.git")).unwrap();
    std::os::unix::fs::symlink("a/.git", at("plain")).unwrap();
    fs::create_dir(at("store")).unwrap();
    std::os::unix::fs::symlink("store", at(".git")).unwrap();
    let root = PatchFolder { path: at(""), identity: None, protected: Vec::new(), git: GitAccess::Protected };
    let writable = Writable::In(vec![root]);
    for path in ["a/.git/config", "plain/config", ".git/config"] {
        assert!(!writable.allows(&at(path)), "{path}");
    }
    assert!(writable.allows(&at("store/config")));
}
