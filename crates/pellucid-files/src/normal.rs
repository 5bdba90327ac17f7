//! Paths without `.` and `..`, worked out by name and without looking at the disk.

use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// Works `.` and `..` out by name. A slash at the end is dropped.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_worked_out_by_name() {
        for (path, expected) in [("/a/./b/../c/", "/a/c"), ("/..", "/"), ("a/../../b", "b"), ("", "")] {
            assert_eq!(normal(Path::new(path)).as_os_str(), expected, "{path}");
        }
    }
}
