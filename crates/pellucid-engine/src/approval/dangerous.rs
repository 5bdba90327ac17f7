//! Commands that are asked about even where everything else runs.
//!
//! The list is short on purpose: it catches the usual slip, not an adversary. A sandbox and rules do that.

use crate::approval::part::Part;

/// Whether a command is dangerous: itself, or anything in its script.
pub fn is_dangerous(part: &Part) -> bool {
    destroys(&part.words) || part.inner.iter().any(|words| destroys(words))
}

fn destroys(words: &[String]) -> bool {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        match first.as_str() {
            "sudo" => words = rest,
            "rm" => return rest.first().is_some_and(|option| option == "-f" || option == "-rf"),
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::rules::testing::words;

    #[test]
    fn forced_removal_is_dangerous() {
        for line in ["rm -f a", "rm -rf a", "sudo rm -rf /", "sudo sudo rm -f a", "rm -f"] {
            assert!(is_dangerous(&Part::new(words(line))), "{line}");
        }
        for line in ["rm a", "rm -fr a", "rm -r a", "/bin/rm -rf a", "sudo", "sudo ls", "sudo -u x rm -rf a", "rm"] {
            assert!(!is_dangerous(&Part::new(words(line))), "{line}");
        }
        assert!(!is_dangerous(&Part::new(Vec::new())));
    }

    #[test]
    fn a_script_is_dangerous_when_anything_in_it_is() {
        let script =
            |inner: &[&str]| Part { words: words("bash -c x"), inner: inner.iter().map(|line| words(line)).collect() };
        assert!(is_dangerous(&script(&["ls", "rm -rf a"])));
        assert!(!is_dangerous(&script(&["ls", "rm a"])));
    }
}
