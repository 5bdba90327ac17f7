//! The permissions of the model: sandbox, approvals, writable roots.
//!
//! Composed from one template for the sandbox, one for the approval policy and one for the roots. Pieces are joined
//! by a newline unless the piece before ends with one.

use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::NetworkAccess;
use pellucid_protocol::settings::SandboxPolicy;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::facts::PrefixToken;
use crate::fragment::Fragment;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

const FULL_ACCESS: &str = "permissions/sandbox_danger_full_access.md";
const WORKSPACE_WRITE: &str = "permissions/sandbox_workspace_write.md";
const READ_ONLY: &str = "permissions/sandbox_read_only.md";
const NEVER: &str = "permissions/approval_never.md";
const ON_FAILURE: &str = "permissions/approval_on_failure.md";
const ON_REQUEST: &str = "permissions/approval_on_request.md";
const UNTRUSTED: &str = "permissions/approval_unless_trusted.md";
const PREFIXES: &str = "permissions/approved_prefixes_intro.md";
const ROOT_ONE: &str = "permissions/writable_root_one.md";
const ROOT_MANY: &str = "permissions/writable_root_many.md";

const SANDBOX: Shape = Shape { trim: Trim::End, places: &[TemplatePlace::may("{network_access}")] };

pub(super) const SOURCE: Source = Source {
    name: "permissions",
    kind: SourceKind::Text,
    templates: &[
        (FULL_ACCESS, SANDBOX),
        (WORKSPACE_WRITE, SANDBOX),
        (READ_ONLY, SANDBOX),
        (NEVER, Shape::VERBATIM),
        (ON_FAILURE, Shape::VERBATIM),
        (ON_REQUEST, Shape::VERBATIM),
        (UNTRUSTED, Shape::VERBATIM),
        (PREFIXES, Shape::VERBATIM),
        (ROOT_ONE, Shape::with(&[TemplatePlace::must("{root}")])),
        (ROOT_MANY, Shape::with(&[TemplatePlace::must("{roots}")])),
    ],
    give,
};

/// How many approved prefixes are listed, and in how many characters.
const PREFIXES_MAX: usize = 100;
const PREFIX_CHARS_MAX: usize = 5_000;

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let mut text = vec![Fragment::layout("<permissions instructions>")];
    for piece in [sandbox(ask), approval(ask), roots(ask)] {
        join(&mut text, piece);
    }
    join(&mut text, vec![Fragment::layout("</permissions instructions>")]);
    SourceOutput::text(text)
}

fn join(text: &mut Vec<Fragment>, piece: Vec<Fragment>) {
    let ends_line = text.iter().rev().find(|it| !it.text.is_empty()).is_some_and(|it| it.text.ends_with('\n'));
    if !ends_line {
        text.push(Fragment::layout("\n"));
    }
    text.extend(piece);
}

fn sandbox(ask: &SourceInput<'_>) -> Vec<Fragment> {
    let (file, network) = match &ask.facts.settings.sandbox_policy {
        SandboxPolicy::DangerFullAccess => (FULL_ACCESS, NetworkAccess::Enabled),
        SandboxPolicy::ExternalSandbox { network_access } => (FULL_ACCESS, *network_access),
        SandboxPolicy::ReadOnly => (READ_ONLY, NetworkAccess::Restricted),
        SandboxPolicy::WorkspaceWrite { network_access: true, .. } => (WORKSPACE_WRITE, NetworkAccess::Enabled),
        SandboxPolicy::WorkspaceWrite { network_access: false, .. } => (WORKSPACE_WRITE, NetworkAccess::Restricted),
    };
    let network = vec![Fragment::fact("network access", network.as_str())];
    ask.pack.template(file).render(&[("{network_access}", network)])
}

fn approval(ask: &SourceInput<'_>) -> Vec<Fragment> {
    let file = match ask.facts.settings.approval_policy {
        ApprovalPolicy::Never => NEVER,
        ApprovalPolicy::OnFailure => ON_FAILURE,
        ApprovalPolicy::Untrusted => UNTRUSTED,
        ApprovalPolicy::OnRequest => ON_REQUEST,
    };
    let mut text = ask.pack.template(file).text();
    if ask.facts.settings.approval_policy == ApprovalPolicy::OnRequest {
        text.push(Fragment::layout("\n## Approved command prefixes\n"));
        text.extend(ask.pack.template(PREFIXES).text());
        text.push(Fragment::layout(" "));
        text.push(Fragment::fact("approved prefixes", prefix_list(&ask.facts.settings.approved_prefixes)));
    }
    text
}

fn roots(ask: &SourceInput<'_>) -> Vec<Fragment> {
    if !matches!(ask.facts.settings.sandbox_policy, SandboxPolicy::WorkspaceWrite { .. }) {
        return Vec::new();
    }
    match ask.facts.settings.writable_roots.as_slice() {
        [] => Vec::new(),
        [root] => {
            let root = vec![Fragment::fact("writable roots", format!("`{root}`"))];
            ask.pack.template(ROOT_ONE).render(&[("{root}", root)])
        }
        many => {
            let list = many.iter().map(|root| format!("`{root}`")).collect::<Vec<_>>().join(", ");
            ask.pack.template(ROOT_MANY).render(&[("{roots}", vec![Fragment::fact("writable roots", list)])])
        }
    }
}

/// The approved prefixes, the shortest first, as far as they fit.
fn prefix_list(prefixes: &[Vec<PrefixToken>]) -> String {
    let mut words: Vec<Vec<String>> = prefixes.iter().map(|tokens| tokens.iter().map(word).collect()).collect();
    words.sort_by_cached_key(|words| (words.len(), words.iter().map(String::len).sum::<usize>(), words.clone()));
    words.dedup();
    let lines: Vec<String> = words.iter().take(PREFIXES_MAX).map(|words| line(words)).collect();
    let mut list = lines.join("\n");
    let cut_at = list.char_indices().nth(PREFIX_CHARS_MAX).map(|(at, _)| at);
    if let Some(at) = cut_at {
        list.truncate(at);
    }
    if cut_at.is_some() || words.len() > PREFIXES_MAX {
        list.push_str("...\n[Some commands were truncated]");
    }
    list
}

fn word(token: &PrefixToken) -> String {
    match token {
        PrefixToken::Word(word) => word.clone(),
        PrefixToken::OneOf(words) => format!("[{}]", words.join("|")),
    }
}

fn line(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
    format!("- [{}]", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn words(words: &str) -> Vec<PrefixToken> {
        words.split(' ').map(|word| PrefixToken::Word(word.to_owned())).collect()
    }

    #[test]
    fn short_prefixes_come_first_and_repeats_once() {
        let alternatives = PrefixToken::OneOf(vec!["run".to_owned(), "test".to_owned()]);
        let npm = vec![PrefixToken::Word("npm".to_owned()), alternatives, PrefixToken::Word("x".to_owned())];
        expect![[r#"
            - ["ls"]
            - ["git", "pull"]
            - ["npm", "[run|test]", "x"]"#]]
        .assert_eq(&prefix_list(&[npm, words("git pull"), words("ls"), words("git pull")]));
        assert_eq!(prefix_list(&[]), "");
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let many: Vec<_> = (0..105).map(|n| words(&format!("command-{n:03} {}", "x".repeat(50)))).collect();
        let list = prefix_list(&many);
        assert!(list.ends_with("...\n[Some commands were truncated]"));
        assert_eq!(list.chars().count(), PREFIX_CHARS_MAX + "...\n[Some commands were truncated]".len());
    }
}
