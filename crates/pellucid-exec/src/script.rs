//! What a shell script consists of, as far as that can be told for sure.
//!
//! A script is taken apart only if every piece of it is known: then each command can be judged for
//! itself. Whatever could hide something else (substitutions, variables, control flow) leaves the
//! script whole.
//!
//! Everything here is a function of its argument and answers for any text.
//!
//! Not here: what is thought of the commands (`pellucid_engine::approval`).

mod patch;
mod plain;
mod shell;
mod single;
mod tree;

use pellucid_engine::approval::part::Part;
use pellucid_engine::approval::part::Parts;
use pellucid_engine::approval::part::Split;

pub use patch::PatchCall;
pub use patch::PatchIn;
pub use patch::patch_in;

/// The commands that an argument list would run.
pub fn parts(argv: &[String]) -> Parts {
    let Some(script) = shell::script(argv) else {
        return Parts::whole(argv, Split::NoScript);
    };
    let Some(tree) = tree::parse_whole(script) else {
        return Parts::whole(argv, Split::Opaque);
    };
    let plain = plain::commands(&tree, script).unwrap_or_default();
    let plain = plain.into_iter().map(part).collect();
    Parts::of_script(plain, Split::Plain)
        .or_else(|| Parts::of_script(vec![part(single::command(&tree, script)?)], Split::Complex))
        .unwrap_or_else(|| Parts::whole(argv, Split::Opaque))
}

/// The commands of an argument list that is a shell with a script of plain commands.
pub fn plain_commands(argv: &[String]) -> Option<Vec<Vec<String>>> {
    let script = shell::script(argv)?;
    plain::commands(&tree::parse_whole(script)?, script).filter(|commands| !commands.is_empty())
}

fn part(words: Vec<String>) -> Part {
    let inner = plain_commands(&words).unwrap_or_default();
    Part { words, inner }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_engine::approval::grants::canonical;
    use proptest::prelude::*;

    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn render(parts: &Parts) -> String {
        let commands: Vec<String> = parts
            .iter()
            .map(|part| match part.inner.as_slice() {
                [] => format!("{:?}", part.words),
                inner => format!("{:?} with {inner:?}", part.words),
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
                    Plain ["echo", "a\\ b"]
                echo ''
                    Plain ["echo", ""]
                echo ""
                    Plain ["echo", ""]
                echo "a\"b"
                    Plain ["echo", "a\\\"b"]
                echo "a⏎b"
                    Plain ["echo", "a\nb"]
                cd /a && touch *.c ~/x
                    Plain ["cd", "/a"] ["touch", "*.c", "~/x"]
                bash -c "ls && pwd"
                    Plain ["bash", "-c", "ls && pwd"] with [["ls"], ["pwd"]]
                bash -c 'bash -c "rm -rf x"'
                    Plain ["bash", "-c", "bash -c \"rm -rf x\""] with [["bash", "-c", "rm -rf x"]]
                time make
                    Plain ["time", "make"]
                make {a,b} c=d
                    Plain ["make", "{a,b}", "c=d"]
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
                    Complex ["mkdir", "d"]
                ls 2>&1
                    Complex ["ls"]
                A=1 B=2 make all
                    Complex ["make", "all"]
                python3 <<'PY'⏎print(1)⏎PY
                    Complex ["python3"]
                cat <<EOF⏎$HOME⏎EOF
                    Complex ["cat"]
                wc <<< word
                    Complex ["wc"]
                ls # comment
                    Complex ["ls"]
                make &
                    Complex ["make"]
                (make)
                    Complex ["make"]
                { make; }
                    Complex ["make"]
                ! make
                    Complex ["make"]
                if make; then :; fi
                    Opaque ["bash", "-lc", "if make; then :; fi"]
                mkdir "d" > /dev/null
                    Opaque ["bash", "-lc", "mkdir \"d\" > /dev/null"]
                export A=1; make
                    Complex ["make"]
                [ -f x ] && make
                    Complex ["make"]
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
                    Opaque ["bash", "-lc", "ls && forb x; echo $HOME"]
                echo $(rm -rf /)
                    Opaque ["bash", "-lc", "echo $(rm -rf /)"]
                echo `id`
                    Opaque ["bash", "-lc", "echo `id`"]
                echo "$A"
                    Opaque ["bash", "-lc", "echo \"$A\""]
                echo "${A}"
                    Opaque ["bash", "-lc", "echo \"${A}\""]
                a > b && c
                    Opaque ["bash", "-lc", "a > b && c"]
                for i in 1 2; do rm x; rm y; done
                    Opaque ["bash", "-lc", "for i in 1 2; do rm x; rm y; done"]
                f() { rm x; rm y; }
                    Opaque ["bash", "-lc", "f() { rm x; rm y; }"]
                cat <(ls)
                    Opaque ["bash", "-lc", "cat <(ls)"]
                "ls" -a
                    Opaque ["bash", "-lc", "\"ls\" -a"]
                $CMD x
                    Opaque ["bash", "-lc", "$CMD x"]
                A=1
                    Opaque ["bash", "-lc", "A=1"]
                echo 'unbalanced
                    Opaque ["bash", "-lc", "echo 'unbalanced"]
                echo (
                    Opaque ["bash", "-lc", "echo ("]
                ls &&
                    Opaque ["bash", "-lc", "ls &&"]
                echo $'a'
                    Opaque ["bash", "-lc", "echo $'a'"]
                echo $((1+1))
                    Opaque ["bash", "-lc", "echo $((1+1))"]
                # only a comment
                    Opaque ["bash", "-lc", "# only a comment"]
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

    /// What a person allowed once is not asked for again, however it is wrapped; what differs is.
    #[test]
    fn the_same_command_is_the_same_grant() {
        let key = |words: &[&str]| {
            let argv = argv(words);
            canonical(&argv, &parts(&argv))
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
        /// Any text has an answer, and a plain one consists of what stands in the text.
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

        /// Words that need no quoting come back as they were.
        #[test]
        fn quoted_words_come_back(words in prop::collection::vec("[a-z][a-zA-Z0-9 ./_-]{0,6}[a-z]", 1..5)) {
            prop_assume!(!words[0].contains(' '));
            let keywords = ["if", "do", "in", "fi", "for", "case", "then", "else", "elif", "done", "esac", "while",
                "until", "select", "function", "time", "unset", "declare", "export", "local", "readonly", "typeset"];
            prop_assume!(!keywords.contains(&words[0].as_str()));
            let script = shlex::try_join(words.iter().map(String::as_str)).unwrap();
            let found = plain_commands(&argv(&["sh", "-c", &script]));
            prop_assert_eq!(found, Some(vec![words]));
        }
    }
}
