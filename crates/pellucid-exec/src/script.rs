//! Splits a shell script into its commands, as far as that is certain.
//!
//! A script is taken apart only if every piece of it is known: then each command can be judged for itself. Whatever
//! could hide something else (substitutions, variables, control flow) leaves the script whole. In addition, every
//! command that occurs anywhere in the script is listed, so that a forbidden command is found wherever it is.
//!
//! Everything here is a function of its argument, answers for any text, and works in proportion to its length.
//!
//! Not here: what is thought of the commands (`pellucid_engine::approval`).

mod given;
mod literal;
mod patch;
mod plain;
mod scan;
mod seen;
mod shell;
mod single;
mod tree;

use pellucid_engine::approval::part::CommandPart;
use pellucid_engine::approval::part::CommandParts;
use pellucid_engine::approval::part::ShellFeature;
use pellucid_engine::approval::part::Split;

pub use patch::PatchCall;
pub use patch::PatchIn;
pub use patch::patch_in;

/// The commands that an argument list would run.
pub fn parts(argv: &[String]) -> CommandParts {
    let (Some(script), [shell, ..]) = (shell::script(argv), argv) else {
        return CommandParts::whole(argv, Split::NoScript, seen::in_words(argv), None);
    };
    let literal = literal::commands(script);
    let whole = |seen| CommandParts::whole(argv, Split::Opaque, seen, literal.as_ref().err().copied());
    let Some(tree) = tree::parse_whole(script) else {
        return whole(seen::in_script(script));
    };
    if let Some(parts) =
        plain_parts(&tree, script).and_then(|parts| CommandParts::of_script(shell, parts, Split::Plain))
    {
        return parts;
    }
    let seen = seen::in_script(script);
    match single::command(&tree, script) {
        Some(words) => {
            let mark = Some(literal.as_ref().err().copied().unwrap_or(ShellFeature::Unclear));
            let part = CommandPart { words, inner: Vec::new(), seen, mark };
            CommandParts::of_script(shell, vec![part], Split::Complex).unwrap_or_else(|| whole(Vec::new()))
        }
        None => whole(seen),
    }
}

/// The commands of a script that has nothing else; absent if it is not plain.
fn plain_parts(tree: &tree_sitter::Tree, script: &str) -> Option<Vec<CommandPart>> {
    let commands = plain::commands(tree, script)?;
    let literal = literal::commands(script);
    let otherwise = literal.as_ref().err().copied().unwrap_or(ShellFeature::Unclear);
    let literal = literal.ok().filter(|literal| literal.len() == commands.len());
    let mark = |at: usize, words: &[String]| match literal.as_ref().map(|literal| &literal[at]) {
        Some(literal) if literal.mark.is_some() => literal.mark,
        Some(literal) if literal.words == words => None,
        // Two readers that disagree are no ground to let anything go.
        _ => Some(otherwise),
    };
    let seen = seen::by_command(tree, script);
    let parts = commands.into_iter().zip(seen).enumerate().map(|(at, (words, seen))| {
        let mark = mark(at, &words);
        let nested = shell::script(&words).filter(|_| mark.is_none());
        let inner = nested.and_then(inner).unwrap_or_default();
        CommandPart { words, inner, seen, mark }
    });
    Some(parts.collect())
}

/// The commands of a plain script in a script. Deeper ones are not known.
fn inner(script: &str) -> Option<Vec<CommandPart>> {
    let commands = plain::commands(&tree::parse_whole(script)?, script)?;
    let literal = literal::commands(script).ok()?;
    let is_same = |(one, other): (&Vec<String>, &literal::Command)| *one == other.words;
    let agree = commands.len() == literal.len() && commands.iter().zip(&literal).all(is_same);
    agree.then(|| literal.into_iter().map(|it| CommandPart { mark: it.mark, ..CommandPart::new(it.words) }).collect())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_engine::approval::grants::canonical;
    use pellucid_engine::approval::program::FoundProgram;
    use pellucid_engine::approval::program::ProgramPlace;
    use pellucid_engine::approval::program::Programs;
    use proptest::prelude::*;

    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn render(parts: &CommandParts) -> String {
        let commands: Vec<String> = parts
            .iter()
            .map(|part| {
                let mark = part.mark.map(|mark| format!(" ({mark:?})")).unwrap_or_default();
                let inner: Vec<_> = part.inner.iter().map(|part| &part.words).collect();
                let inner = if inner.is_empty() { String::new() } else { format!(" with {inner:?}") };
                format!("{:?}{inner}{mark}", part.words)
            })
            .collect();
        format!("{:?} {}", parts.split(), commands.join(" "))
    }

    /// Each line is a script; `⏎` is the end of a line in it.
    #[track_caller]
    fn check_scripts(scripts: &str, expected: &Expect) {
        let mut found = String::new();
        for line in scripts.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let script = line.replace('⏎', "\n");
            found += &format!("{line}\n    {}\n", render(&parts(&argv(&["bash", "-lc", &script]))));
        }
        expected.assert_eq(&found);
    }

    #[test]
    fn plain_commands_are_taken_apart() {
        check_scripts(
            r#"
            ls
            ls -la && git status || echo no; pwd | wc -l
            ls⏎pwd⏎
            ls;
            echo "a b" 'c d' e"f"'g' 10
            rg -g"*.py" x
            echo a\ b
            echo ''
            echo ""
            echo "a\"b"
            echo "a⏎b"
            cd /a && touch *.c ~/x
            bash -c "ls && pwd"
            bash -c 'bash -c "rm -rf x"'
            time make
            make {a,b} c=d
            "#,
            &expect![[r#"
                ls
                    Plain ["ls"]
                ls -la && git status || echo no; pwd | wc -l
                    Plain ["ls", "-la"] ["git", "status"] ["echo", "no"] ["pwd"] ["wc", "-l"]
                ls⏎pwd⏎
                    Plain ["ls"] ["pwd"]
                ls;
                    Plain ["ls"]
                echo "a b" 'c d' e"f"'g' 10
                    Plain ["echo", "a b", "c d", "efg", "10"]
                rg -g"*.py" x
                    Plain ["rg", "-g*.py", "x"]
                echo a\ b
                    Plain ["echo", "a\\ b"] (Backslash)
                echo ''
                    Plain ["echo", ""]
                echo ""
                    Plain ["echo", ""]
                echo "a\"b"
                    Plain ["echo", "a\\\"b"] (Backslash)
                echo "a⏎b"
                    Plain ["echo", "a\nb"]
                cd /a && touch *.c ~/x
                    Plain ["cd", "/a"] ["touch", "*.c", "~/x"] (Glob)
                bash -c "ls && pwd"
                    Plain ["bash", "-c", "ls && pwd"] with [["ls"], ["pwd"]]
                bash -c 'bash -c "rm -rf x"'
                    Plain ["bash", "-c", "bash -c \"rm -rf x\""] with [["bash", "-c", "rm -rf x"]]
                time make
                    Plain ["time", "make"] (ControlFlow)
                make {a,b} c=d
                    Plain ["make", "{a,b}", "c=d"] (Brace)
            "#]],
        );
    }

    #[test]
    fn a_single_command_may_have_attachments() {
        check_scripts(
            r#"
            mkdir d > /dev/null
            ls 2>&1
            A=1 B=2 make all
            python3 <<'PY'⏎print(1)⏎PY
            cat <<EOF⏎$HOME⏎EOF
            wc <<< word
            ls # comment
            make &
            (make)
            { make; }
            ! make
            if make; then :; fi
            mkdir "d" > /dev/null
            export A=1; make
            [ -f x ] && make
            "#,
            &expect![[r#"
                mkdir d > /dev/null
                    Complex ["mkdir", "d"] (Redirection)
                ls 2>&1
                    Complex ["ls"] (Redirection)
                A=1 B=2 make all
                    Complex ["make", "all"] (Assignment)
                python3 <<'PY'⏎print(1)⏎PY
                    Complex ["python3"] (Redirection)
                cat <<EOF⏎$HOME⏎EOF
                    Complex ["cat"] (Redirection)
                wc <<< word
                    Complex ["wc"] (Redirection)
                ls # comment
                    Complex ["ls"] (Comment)
                make &
                    Complex ["make"] (Background)
                (make)
                    Complex ["make"] (Group)
                { make; }
                    Complex ["make"] (ControlFlow)
                ! make
                    Complex ["make"] (ControlFlow)
                if make; then :; fi
                    Opaque ["bash", "-lc", "if make; then :; fi"] (ControlFlow)
                mkdir "d" > /dev/null
                    Opaque ["bash", "-lc", "mkdir \"d\" > /dev/null"] (Redirection)
                export A=1; make
                    Complex ["make"] (Unclear)
                [ -f x ] && make
                    Complex ["make"] (Unclear)
            "#]],
        );
    }

    #[test]
    fn whatever_could_hide_something_stays_whole() {
        check_scripts(
            r#"
            ls && forb x; echo $HOME
            echo $(rm -rf /)
            echo `id`
            echo "$A"
            echo "${A}"
            a > b && c
            for i in 1 2; do rm x; rm y; done
            f() { rm x; rm y; }
            cat <(ls)
            "ls" -a
            $CMD x
            A=1
            echo 'unbalanced
            echo (
            ls &&
            echo $'a'
            echo $((1+1))
            # only a comment
            "#,
            &expect![[r##"
                ls && forb x; echo $HOME
                    Opaque ["bash", "-lc", "ls && forb x; echo $HOME"] (Substitution)
                echo $(rm -rf /)
                    Opaque ["bash", "-lc", "echo $(rm -rf /)"] (Substitution)
                echo `id`
                    Opaque ["bash", "-lc", "echo `id`"] (Substitution)
                echo "$A"
                    Opaque ["bash", "-lc", "echo \"$A\""] (Substitution)
                echo "${A}"
                    Opaque ["bash", "-lc", "echo \"${A}\""] (Substitution)
                a > b && c
                    Opaque ["bash", "-lc", "a > b && c"] (Redirection)
                for i in 1 2; do rm x; rm y; done
                    Opaque ["bash", "-lc", "for i in 1 2; do rm x; rm y; done"] (ControlFlow)
                f() { rm x; rm y; }
                    Opaque ["bash", "-lc", "f() { rm x; rm y; }"] (Group)
                cat <(ls)
                    Opaque ["bash", "-lc", "cat <(ls)"] (Redirection)
                "ls" -a
                    Opaque ["bash", "-lc", "\"ls\" -a"] (QuotedName)
                $CMD x
                    Opaque ["bash", "-lc", "$CMD x"] (Substitution)
                A=1
                    Opaque ["bash", "-lc", "A=1"] (Assignment)
                echo 'unbalanced
                    Opaque ["bash", "-lc", "echo 'unbalanced"] (Unclear)
                echo (
                    Opaque ["bash", "-lc", "echo ("] (Group)
                ls &&
                    Opaque ["bash", "-lc", "ls &&"]
                echo $'a'
                    Opaque ["bash", "-lc", "echo $'a'"] (Substitution)
                echo $((1+1))
                    Opaque ["bash", "-lc", "echo $((1+1))"] (Substitution)
                # only a comment
                    Opaque ["bash", "-lc", "# only a comment"] (Comment)
            "##]],
        );
        check_scripts("", &expect![[r#""#]]);
        assert_eq!(parts(&argv(&["bash", "-c", ""])).split(), Split::Opaque);
        assert_eq!(parts(&argv(&["bash", "-c", " \n "])).split(), Split::Opaque);
    }

    #[test]
    fn only_three_words_of_known_shells_are_a_script() {
        let split = |words: &[&str]| parts(&argv(words)).split();
        for shell in ["bash", "zsh", "sh", "/bin/bash", "/usr/local/bin/zsh", "C:/x/bash.exe", "./sh"] {
            assert_eq!(split(&[shell, "-c", "ls"]), Split::Plain, "{shell}");
            assert_eq!(split(&[shell, "-lc", "ls"]), Split::Plain, "{shell}");
        }
        for words in [
            &["fish", "-c", "ls"] as &[&str],
            &["bash", "-x", "ls"],
            &["bash", "-c", "ls", "arg"],
            &["bash", "-l", "-c", "ls"],
            &["bash", "ls"],
            &["env", "bash", "-c"],
            &["ls"],
            &[],
        ] {
            assert_eq!(split(words), Split::NoScript, "{words:?}");
        }
    }

    /// A command that the user allowed once is not asked about again, however it is wrapped; a different command is.
    #[test]
    fn the_same_command_is_the_same_grant() {
        let key = |words: &[&str]| {
            let argv = argv(words);
            let mut programs = Programs::new(None);
            programs.add(&argv[0], FoundProgram { place: ProgramPlace::System, behind: None });
            canonical(&argv, &parts(&argv), &programs)
        };
        let same: &[(&[&str], &[&str])] = &[
            (&["bash", "-lc", "make all"], &["make", "all"]),
            (&["/bin/sh", "-c", "make all"], &["zsh", "-lc", "make  all"]),
            (&["bash", "-lc", "make 'all'"], &["bash", "-lc", "make \"all\""]),
            (&["bash", "-lc", "A=1 make"], &["/bin/bash", "-lc", "A=1 make"]),
            (&["bash", "-lc", "make > log"], &["zsh", "-lc", "make > log"]),
            (&["bash", "-lc", "make | tee log"], &["/usr/bin/zsh", "-lc", "make | tee log"]),
            (&["sh", "-c", "echo $(make)"], &["bash", "-c", "echo $(make)"]),
        ];
        for (one, other) in same {
            assert_eq!(key(one), key(other));
        }
        let different: &[(&[&str], &[&str])] = &[
            (&["bash", "-lc", "make all"], &["make", "install"]),
            (&["bash", "-lc", "make"], &["bash", "-lc", "make > log"]),
            (&["bash", "-lc", "make > log"], &["bash", "-lc", "make > /etc/passwd"]),
            (&["bash", "-lc", "A=1 make"], &["bash", "-lc", "make"]),
            (&["bash", "-lc", "A=1 make"], &["bash", "-lc", "A=2 make"]),
            (&["bash", "-lc", "make | tee log"], &["bash", "-lc", "make | sh"]),
            (&["bash", "-lc", "make | tee log"], &["bash", "-c", "make | tee log"]),
            (&["env", "make"], &["make"]),
            (&["sudo", "make"], &["make"]),
        ];
        for (one, other) in different {
            assert_ne!(key(one), key(other));
        }
    }

    fn any_piece() -> impl Strategy<Value = String> {
        let tokens = vec![
            "ls",
            "rm",
            "-rf",
            "a",
            "1",
            "'",
            "\"",
            "\\",
            " ",
            "  ",
            "\n",
            "&&",
            "||",
            ";",
            "|",
            "&",
            "(",
            ")",
            "{",
            "}",
            "$",
            "$(",
            "`",
            "<",
            ">",
            "<<EOF\n",
            "EOF\n",
            "<<<",
            "#",
            "=",
            "A=1",
            "if",
            "then",
            "fi",
            "do",
            "done",
            "é",
            "\u{0}",
            "[[",
            "]]",
            "!",
            "*",
            "~",
            "apply_patch",
            "cd",
            "*** Begin Patch\n",
            "*** End Patch\n",
            "\r",
        ];
        prop::collection::vec(prop::sample::select(tokens), 0..24).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        /// Any text has an answer, and a plain answer consists of words of the text.
        #[test]
        fn any_script_has_an_answer(script in any_piece(), flag in prop::sample::select(vec!["-c", "-lc"])) {
            let argv = argv(&["bash", flag, &script]);
            let parts = parts(&argv);
            prop_assert!(parts.iter().count() > 0);
            if parts.split() == Split::Plain {
                for part in parts.iter() {
                    prop_assert!(!part.words.is_empty());
                    prop_assert!(script.contains(part.words[0].as_str()));
                }
            }
            let _ = patch_in(&argv, |_| true);
        }

        /// Words that need no quoting come back unchanged.
        #[test]
        fn quoted_words_come_back(words in prop::collection::vec("[a-z][a-zA-Z0-9 ./_-]{0,6}[a-z]", 1..5)) {
            prop_assume!(!words[0].contains(' '));
            let keywords = ["if", "do", "in", "fi", "for", "case", "then", "else", "elif", "done", "esac", "while",
                "until", "select", "function", "time", "unset", "declare", "export", "local", "readonly", "typeset"];
            prop_assume!(!keywords.contains(&words[0].as_str()));
            let script = shlex::try_join(words.iter().map(String::as_str)).unwrap();
            let parts = parts(&argv(&["sh", "-c", &script]));
            prop_assert_eq!(parts.only_plain().map(|part| (&part.words, part.mark)), Some((&words, None)));
        }
    }
}
