//! Patches that are given to a shell instead of the tool for them.
//!
//! Known are `apply_patch` with the patch as its only argument, and a script that is nothing but
//! `apply_patch` with the patch as a here-document, after a `cd` or not. Anything more, and the script
//! just runs.

use tree_sitter::Node;

use super::shell;
use super::tree;

const NAMES: &[&str] = &["apply_patch", "applypatch"];
/// The text before a document is a few words; a longer one is not searched.
const HEAD_BYTES_MAX: usize = 4096;

/// How a command involves a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchIn {
    /// The command applies a patch.
    Call(PatchCall),
    /// The command is a patch itself, without a word on what to do with it.
    Bare,
}

/// A patch that a command would apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchCall {
    /// The folder that the script changes to before, as written.
    pub cd: Option<String>,
    /// The text of the patch.
    pub body: String,
}

/// How a command involves a patch. `is_patch` decides whether a text is one.
pub fn patch_in(argv: &[String], is_patch: impl Fn(&str) -> bool) -> Option<PatchIn> {
    let script = shell::patch_script(argv);
    let bare = match argv {
        [only] => Some(only.as_str()),
        _ => script,
    };
    if bare.is_some_and(is_patch) {
        return Some(PatchIn::Bare);
    }
    match argv {
        [name, body] if NAMES.contains(&name.as_str()) => {
            Some(PatchIn::Call(PatchCall { cd: None, body: body.clone() }))
        }
        _ => call(script?).map(PatchIn::Call),
    }
}

/// Whether a script is short but for one document at its end, so that it can be read in proportion to its length.
fn is_document(script: &str) -> bool {
    let Some((head, rest)) = script.split_once("<<").filter(|(head, _)| head.len() <= HEAD_BYTES_MAX) else {
        return false;
    };
    let Some((line, body)) = rest.split_once('\n') else {
        return false;
    };
    let end = line.strip_prefix('-').unwrap_or(line).trim_start();
    let is_literal = end.starts_with(['\'', '"', '\\']);
    let end: String = end.chars().take_while(|it| !it.is_whitespace()).filter(|it| !"'\"\\".contains(*it)).collect();
    let mut after = body.lines().skip_while(|line| line.trim_start_matches('\t') != end).skip(1);
    let is_last = after.all(|line| line.trim().is_empty());
    // A document without quotes can hold scripts.
    let is_text = is_literal || !body.contains("$(") && !body.contains('`') || tree::has_few_pipes(body);
    is_last && is_text && line.len() <= HEAD_BYTES_MAX && NAMES.iter().any(|name| head.contains(name))
}

fn call(script: &str) -> Option<PatchCall> {
    let tree = is_document(script).then(|| tree::parse(script)).flatten()?;
    let [statement] = tree::named_children(tree.root_node())[..] else {
        return None;
    };
    let [body, redirect] = tree::named_children(statement)[..] else {
        return None;
    };
    if tree.root_node().kind() != "program" || statement.kind() != "redirected_statement" {
        return None;
    }
    let cd = match body.kind() {
        "command" if applies_patch(body, script) => None,
        "list" => Some(folder(body, script)?),
        _ => return None,
    };
    Some(PatchCall { cd, body: document(redirect, script)? })
}

/// Whether a command is `apply_patch` and nothing else.
fn applies_patch(command: Node<'_>, script: &str) -> bool {
    match tree::named_children(command)[..] {
        [name] => name.kind() == "command_name" && tree::text(name, script).is_some_and(|it| NAMES.contains(&it)),
        _ => false,
    }
}

/// The folder of `cd FOLDER && apply_patch`.
fn folder(list: Node<'_>, script: &str) -> Option<String> {
    let children: Vec<_> = list.children(&mut list.walk()).collect();
    let [go, and, apply] = children[..] else {
        return None;
    };
    if go.kind() != "command" || and.kind() != "&&" || apply.kind() != "command" || !applies_patch(apply, script) {
        return None;
    }
    let [name, place] = tree::named_children(go)[..] else {
        return None;
    };
    if name.kind() != "command_name" || tree::text(name, script) != Some("cd") {
        return None;
    }
    let text = tree::text(place, script)?;
    let folder = match (place.kind(), &tree::named_children(place)[..]) {
        ("word", []) => text,
        ("raw_string", _) => text.strip_prefix('\'')?.strip_suffix('\'')?,
        ("string", [content]) if content.kind() == "string_content" => tree::text(*content, script)?,
        _ => return None,
    };
    Some(folder.to_owned())
}

/// The text of a here-document.
fn document(redirect: Node<'_>, script: &str) -> Option<String> {
    let [start, body, end] = tree::named_children(redirect)[..] else {
        return None;
    };
    let kinds = (redirect.kind(), start.kind(), body.kind(), end.kind());
    if kinds != ("heredoc_redirect", "heredoc_start", "heredoc_body", "heredoc_end") {
        return None;
    }
    tree::text(body, script).map(|text| text.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";

    fn is_patch(text: &str) -> bool {
        text.trim().starts_with("*** Begin Patch")
    }

    #[track_caller]
    fn check_patch(argv: &[&str], expected: &Expect) {
        let argv: Vec<String> = argv.iter().map(|word| word.replace("PATCH", PATCH)).collect();
        let found = match patch_in(&argv, is_patch) {
            Some(PatchIn::Call(call)) if call.body == PATCH => format!("patch, cd {:?}", call.cd),
            Some(PatchIn::Call(call)) => format!("{call:?}"),
            Some(PatchIn::Bare) => "bare".to_owned(),
            None => "no patch".to_owned(),
        };
        expected.assert_eq(&found);
    }

    #[track_caller]
    fn check_script(script: &str, expected: &Expect) {
        check_patch(&["bash", "-lc", script], expected);
    }

    #[test]
    fn the_patch_as_an_argument() {
        check_patch(&["apply_patch", "PATCH"], &expect!["patch, cd None"]);
        check_patch(&["applypatch", "PATCH"], &expect!["patch, cd None"]);
        check_patch(&["apply_patch", "PATCH", "x"], &expect!["no patch"]);
        check_patch(&["/bin/apply_patch", "PATCH"], &expect!["no patch"]);
        check_patch(&["apply_patch"], &expect!["no patch"]);
        check_patch(&["apply_patch", "anything"], &expect![[r#"PatchCall { cd: None, body: "anything" }"#]]);
        check_patch(&[], &expect!["no patch"]);
    }

    #[test]
    fn the_patch_as_a_document() {
        let yes = expect!["patch, cd None"];
        for script in [
            "apply_patch <<'EOF'\nPATCH\nEOF",
            "apply_patch <<EOF\nPATCH\nEOF\n",
            "apply_patch << \"X\"\nPATCH\nX",
            "applypatch <<'EOF'\nPATCH\n\n\nEOF",
            "\n  apply_patch <<'EOF'\nPATCH\nEOF\n\n",
        ] {
            check_script(script, &yes);
        }
        for shell in [&["/bin/zsh", "-c"] as &[&str], &["sh", "-lc"], &["pwsh", "-Command"], &["cmd.exe", "/c"]] {
            check_patch(&[shell[0], shell[1], "apply_patch <<'EOF'\nPATCH\nEOF"], &yes);
        }
        check_patch(&["PowerShell", "-NoProfile", "-command", "apply_patch <<'EOF'\nPATCH\nEOF"], &yes);
    }

    #[test]
    fn a_folder_to_go_to() {
        check_script("cd a/b && apply_patch <<'EOF'\nPATCH\nEOF", &expect![[r#"patch, cd Some("a/b")"#]]);
        check_script("cd 'a b' && apply_patch <<'EOF'\nPATCH\nEOF", &expect![[r#"patch, cd Some("a b")"#]]);
        check_script("cd \"a b\" && apply_patch <<'EOF'\nPATCH\nEOF", &expect![[r#"patch, cd Some("a b")"#]]);
    }

    #[test]
    fn anything_more_just_runs() {
        let no = expect!["no patch"];
        for script in [
            "apply_patch foo <<'EOF'\nPATCH\nEOF",
            "cd a && apply_patch foo <<'EOF'\nPATCH\nEOF",
            "cd a b && apply_patch <<'EOF'\nPATCH\nEOF",
            "cd a; apply_patch <<'EOF'\nPATCH\nEOF",
            "cd a || apply_patch <<'EOF'\nPATCH\nEOF",
            "cd a && cd b && apply_patch <<'EOF'\nPATCH\nEOF",
            "cd \"$A/b\" && apply_patch <<'EOF'\nPATCH\nEOF",
            "cd $A && apply_patch <<'EOF'\nPATCH\nEOF",
            "echo a && apply_patch <<'EOF'\nPATCH\nEOF",
            "apply_patch <<'EOF'\nPATCH\nEOF\necho done",
            "apply_patch <<'EOF' && echo done\nPATCH\nEOF",
            "apply_patch <<'EOF' | cat\nPATCH\nEOF",
            "apply_patch <<'EOF' > log\nPATCH\nEOF",
            "echo a\napply_patch <<'EOF'\nPATCH\nEOF",
            "cat <<'EOF'\nPATCH\nEOF",
            "apply_patch < file",
            "apply_patch",
            "A=1 apply_patch <<'EOF'\nPATCH\nEOF",
            "(apply_patch <<'EOF'\nPATCH\nEOF\n)",
            "",
        ] {
            check_script(script, &no);
        }
        check_patch(&["bash", "-l", "apply_patch <<'EOF'\nPATCH\nEOF"], &no);
        check_patch(&["cmd", "/k", "apply_patch <<'EOF'\nPATCH\nEOF"], &no);
    }

    #[test]
    fn a_patch_with_no_word_on_what_to_do() {
        check_patch(&["PATCH"], &expect!["bare"]);
        check_script("PATCH", &expect!["bare"]);
        check_patch(&["cat", "PATCH"], &expect!["no patch"]);
    }
}
