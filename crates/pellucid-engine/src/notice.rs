//! Messages to the model about its use of tools.

use crate::fragment::Fragment;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::transcript::Draft;

const PATCH_THROUGH_SHELL: &str = "warnings/apply_patch_via_shell.md";
const MANY_TERMINALS: &str = "warnings/too_many_processes.md";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (PATCH_THROUGH_SHELL, Shape::with(&[TemplatePlace::must("{tool}")])),
    (MANY_TERMINALS, Shape::with(&[TemplatePlace::must("{max}"), TemplatePlace::must("{count}")])),
];

/// A patch came through a tool that runs commands.
pub fn patch_through_shell(pack: &Pack, tool: &str) -> Draft {
    let tool = vec![Fragment::fact("tool", tool)];
    warning(pack.template(PATCH_THROUGH_SHELL).render(&[("{tool}", tool)]))
}

/// The warning that `n` terminals are open, of at most `max`.
pub fn many_terminals(pack: &Pack, n: usize, max: usize) -> Draft {
    let count = vec![Fragment::fact("open terminals", n.to_string())];
    let max = vec![Fragment::fact("terminals at most", max.to_string())];
    warning(pack.template(MANY_TERMINALS).render(&[("{count}", count), ("{max}", max)]))
}

/// A person allowed commands that begin with these words, for good.
pub fn prefix_saved(prefix: &[String]) -> Draft {
    let words: Vec<String> = prefix.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
    let text = vec![
        Fragment::layout("Approved command prefix saved:\n- ["),
        Fragment::fact("approved prefix", words.join(", ")),
        Fragment::layout("]"),
    ];
    Draft::text("approved_prefix", "developer", text)
}

/// A resource of an MCP server has changed since the model, or a person for it, read the resource.
pub fn resource_changed(server: &str, uri: &str) -> Draft {
    let text = vec![
        Fragment::layout("The resource "),
        Fragment::fact("resource", uri),
        Fragment::layout(" of the MCP server "),
        Fragment::fact("MCP server", server),
        Fragment::layout(" has changed since it was read."),
    ];
    Draft::text("mcp_resource", "developer", text)
}

fn warning(text: Vec<Fragment>) -> Draft {
    let mut fragments = vec![Fragment::layout("Warning: ")];
    fragments.extend(text);
    Draft::text("warning", "user", fragments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::concat;
    use crate::transcript::DraftPart;

    #[test]
    fn a_warning_says_so_first() {
        let pack = Pack::builtin("codex").unwrap();
        let draft = patch_through_shell(&pack, "shell");
        let DraftPart::Text(text) = &draft.parts[0] else { panic!("a warning is a text") };
        let expected =
            "Warning: apply_patch was requested via shell. Use the apply_patch tool instead of exec_command.";
        assert_eq!(concat(text), expected);
    }
}
