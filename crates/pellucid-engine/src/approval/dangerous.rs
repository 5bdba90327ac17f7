//! Commands that are asked about even where everything else runs: removal by force.
//!
//! Removal is searched in every command that can be seen in a script, however it is spelt. The search catches mistakes,
//! not an adversary: a program can remove files without `rm`. A sandbox stops such programs.

use crate::approval::part::Begins;
use crate::approval::part::CommandPart;
use crate::approval::part::Seen;
use crate::approval::wrapper::base_name;

/// Whether a command is dangerous: itself, or anything that can be seen in it.
pub fn is_dangerous(part: &CommandPart) -> bool {
    part.seen.iter().any(removes_by_force)
}

fn removes_by_force(seen: &Seen) -> bool {
    match seen.begins {
        Begins::First | Begins::Pattern => match seen.words.split_first() {
            Some((program, arguments)) => {
                base_name(program) == "rm" && arguments.iter().take_while(|it| *it != "--").any(|it| is_force(it))
            }
            None => false,
        },
        Begins::Anywhere => {
            let mut is_forced = false;
            seen.words.iter().rev().any(|word| {
                is_forced |= is_force(word);
                is_forced && base_name(word) == "rm"
            })
        }
    }
}

/// `-f`, alone or among other letters, or `--force`, which may be shortened.
fn is_force(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(name) => !name.is_empty() && "force".starts_with(name),
        None => option.strip_prefix('-').is_some_and(|letters| letters.contains('f')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::rules::testing::words;

    fn is_forced(line: &str, begins: Begins) -> bool {
        removes_by_force(&Seen { words: words(line), begins })
    }

    #[test]
    fn forced_removal_is_dangerous_in_any_order() {
        for line in
            ["rm -f a", "rm -rf a", "rm -fr a", "rm -r -f a", "rm a -Rf", "rm --force a", "rm --for a", "/bin/rm -f"]
        {
            assert!(is_forced(line, Begins::First), "{line}");
            assert!(is_forced(&format!("x {line}"), Begins::Anywhere), "{line}");
        }
        for line in
            ["rm a", "rm -r a", "rm", "rm -- -f", "rm --recursive a", "rmdir -f", "ls -f rm", "rm --one-file-system a"]
        {
            assert!(!is_forced(line, Begins::First), "{line}");
        }
        assert!(!is_forced("ls -f rm", Begins::Anywhere));
        assert!(!is_dangerous(&CommandPart::new(Vec::new())));
    }
}
