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
}
