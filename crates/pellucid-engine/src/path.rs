//! Paths as texts: made absolute and normal by their names alone.

/// `path` from `base`, absolute, without `.` and `..`. `~` is the home folder.
pub(crate) fn expand(path: &str, base: &str, home: &str) -> String {
    if path == "~" {
        return normal(home);
    }
    if let Some(rest) = path.strip_prefix("~/") {
        return normal(&format!("{home}/{rest}"));
    }
    if path.starts_with('/') { normal(path) } else { normal(&format!("{base}/{path}")) }
}

/// Whether `path` is `root` or below it. Nothing is below the root of the file system.
pub(crate) fn is_inside(path: &str, root: &str) -> bool {
    path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

/// The last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// An absolute path without `.` and `..`.
pub(crate) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_by_their_names() {
        let expand = |path| expand(path, "/r/s", "/home/ada");
        assert_eq!(expand("a/../b/./c/"), "/r/s/b/c");
        assert_eq!(expand("../../../x"), "/x");
        assert_eq!(expand("/x//y"), "/x/y");
        assert_eq!(expand("~/n"), "/home/ada/n");
        assert_eq!(expand("~"), "/home/ada");
        assert_eq!(expand(""), "/r/s");
    }

    #[test]
    fn a_sibling_with_the_same_beginning_is_outside() {
        assert!(is_inside("/ws/a", "/ws"));
        assert!(is_inside("/ws", "/ws"));
        assert!(!is_inside("/ws2/a", "/ws"));
        assert!(!is_inside("/a", "/"));
    }

    proptest::proptest! {
        #[test]
        fn a_normal_path_has_no_dots_and_stays_normal(path in "[a.~/ é]{0,20}", base in "(/[a.]{0,3}){0,3}") {
            let expanded = expand(&path, &base, "/home/ada");
            proptest::prop_assert!(expanded.starts_with('/'));
            proptest::prop_assert!(!expanded.split('/').any(|part| part == "." || part == ".."));
            proptest::prop_assert!(!expanded.contains("//"));
            proptest::prop_assert!(expanded == "/" || !expanded.ends_with('/'));
            proptest::prop_assert_eq!(normal(&expanded), expanded.clone());
            proptest::prop_assert_eq!(expand(&expanded, "/elsewhere", "/home"), expanded);
        }

        #[test]
        fn what_is_joined_to_a_folder_without_dots_is_inside(root in "(/[a-c]{1,3}){1,3}", rest in "[a-c]{1,3}(/[a-c]{1,3}){0,2}") {
            let path = expand(&rest, &root, "/home");
            proptest::prop_assert!(is_inside(&path, &root));
            proptest::prop_assert!(!is_inside(&root, &path));
            proptest::prop_assert_eq!(path.strip_suffix(base_name(&path)).map(|it| it.ends_with('/')), Some(true));
        }
    }
}
