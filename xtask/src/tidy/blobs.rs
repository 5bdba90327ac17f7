//! Blobs: no file is so large that every clone pays for it for ever.

use crate::tidy::{Problem, except};
use crate::tree::Tree;

const N_BYTES_MAX: usize = 512 * 1024;

/// Files that are larger for a reason. May only shrink.
const EXCEPTIONS: &[&str] = &[];

pub fn check(tree: &Tree) -> Vec<Problem> {
    except(large_files(tree), EXCEPTIONS)
}

fn large_files(tree: &Tree) -> Vec<Problem> {
    tree.files()
        .iter()
        .filter(|it| it.n_bytes > N_BYTES_MAX)
        .map(|it| {
            let what = format!("{} bytes; {N_BYTES_MAX} are allowed", it.n_bytes);
            Problem::in_file(&it.path, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing;

    #[test]
    fn holds_here() {
        testing::check_holds_here(check);
    }

    #[test]
    fn a_large_file_is_found() {
        let just = "x".repeat(N_BYTES_MAX - 1);
        testing::check_finds(
            large_files,
            &format!("== just\n{just}\n== over\n{just}x\n"),
            "over: 524289 bytes; 524288 are allowed",
        );
    }
}
