//! Whether a failed command probably failed because of its sandbox.
//!
//! A guess from what it said and how it ended; programs word their failures as they like.
//!
//! Not here: what is done about it.

/// Words that a denied program tends to say.
const WORDS: [&str; 7] = [
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
];

/// Statuses by which shells say that a command was misused, not executable or not found.
const ORDINARY: [i32; 3] = [2, 126, 127];

/// The status of a process that a system call filter ended: 128 and the signal's number.
const BAD_SYSTEM_CALL: i32 = 128 + 31;

/// The helper's own status when it could not start a command or could not confine it.
pub const HELPER_FAILED: i32 = 101;

/// Whether a confined command that ended like this, having said these texts, was probably denied
/// something.
pub fn is_likely(exit_code: i32, said: &[&str]) -> bool {
    if exit_code == 0 {
        return false;
    }
    let has_word = said.iter().any(|text| {
        let text = text.to_ascii_lowercase();
        WORDS.iter().any(|word| text.contains(word))
    });
    if has_word {
        return true;
    }
    !ORDINARY.contains(&exit_code) && cfg!(target_os = "linux") && exit_code == BAD_SYSTEM_CALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_in_any_case_and_any_text() {
        assert!(is_likely(1, &["", "touch: cannot touch 'x': Permission denied"]));
        assert!(is_likely(127, &["bash: READ-ONLY FILE SYSTEM"]));
        assert!(is_likely(101, &["pellucid sandbox: it does not work here"]));
    }

    #[test]
    fn ordinary_failures_do_not() {
        assert!(!is_likely(0, &["permission denied"]));
        assert!(!is_likely(1, &["assertion failed"]));
        assert!(!is_likely(2, &[]));
        assert!(!is_likely(127, &["command not found"]));
        assert!(!is_likely(137, &[]));
    }

    #[test]
    fn a_filtered_system_call_counts() {
        assert_eq!(is_likely(159, &[]), cfg!(target_os = "linux"));
    }
}
