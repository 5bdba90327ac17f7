//! Gates: named conditions that a layout puts before slots and tools.
//!
//! A gate looks at facts and nothing else. `not:` in front of any gate turns it round.

use pellucid_protocol::feature::Feature;
use pellucid_protocol::model::ApplyPatchType;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::settings::WebSearchMode;

use crate::facts::Facts;

/// A condition on facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// The other way round.
    Not(Box<Self>),
    /// A feature is on.
    Feature(Feature),
    /// This shell tool is the one to offer.
    Shell(ShellType),
    /// This form of the patch tool is the one to offer.
    Patch(ApplyPatchType),
    /// The model was trained on this further tool.
    ModelTool(String),
    /// Some MCP server is configured.
    AnyMcpServer,
    /// The hosted web search is offered.
    WebSearch,
}

/// How gates are written, and when they are open.
pub const ABOUT: &[(&str, &str)] = &[
    ("not:GATE", "the other gate is closed"),
    ("feature:KEY", "the feature is on"),
    ("shell:default|local|unified_exec|shell_command", "this shell tool is the one to offer"),
    ("patch:freeform|function", "this form of the patch tool is the one to offer"),
    ("model_tool:NAME", "the model was trained on this further tool"),
    ("mcp:any", "some MCP server is configured"),
    ("web_search:on", "the hosted web search is offered"),
];

impl Gate {
    /// Reads a gate as a layout writes it.
    pub fn parse(name: &str) -> Option<Self> {
        let (kind, rest) = name.split_once(':')?;
        Some(match (kind, rest) {
            ("not", gate) => Self::Not(Box::new(Self::parse(gate)?)),
            ("feature", key) => Self::Feature(Feature::from_key(key)?),
            ("shell", "default") => Self::Shell(ShellType::Default),
            ("shell", "local") => Self::Shell(ShellType::Local),
            ("shell", "unified_exec") => Self::Shell(ShellType::UnifiedExec),
            ("shell", "shell_command") => Self::Shell(ShellType::ShellCommand),
            ("patch", "freeform") => Self::Patch(ApplyPatchType::Freeform),
            ("patch", "function") => Self::Patch(ApplyPatchType::Function),
            ("model_tool", tool) if !tool.is_empty() => Self::ModelTool(tool.to_owned()),
            ("mcp", "any") => Self::AnyMcpServer,
            ("web_search", "on") => Self::WebSearch,
            _ => return None,
        })
    }

    /// How gates are written.
    pub fn known() -> Vec<String> {
        ABOUT.iter().map(|(gate, _)| (*gate).to_owned()).collect()
    }

    /// Whether the condition holds.
    pub fn is_open(&self, facts: &Facts) -> bool {
        match self {
            Self::Not(gate) => !gate.is_open(facts),
            Self::Feature(feature) => facts.features.is_on(*feature),
            Self::Shell(shell) => shell_type(facts) == *shell,
            Self::Patch(form) => patch_type(facts) == Some(*form),
            Self::ModelTool(tool) => facts.model.experimental_supported_tools.contains(tool),
            Self::AnyMcpServer => facts.has_mcp_servers,
            Self::WebSearch => facts.web_search != WebSearchMode::Disabled,
        }
    }
}

/// Whether all of them hold.
pub fn all_open(gates: &[Gate], facts: &Facts) -> bool {
    gates.iter().all(|gate| gate.is_open(facts))
}

/// The shell tool to offer: switches first, then what the model was trained on.
pub fn shell_type(facts: &Facts) -> ShellType {
    if !facts.features.is_on(Feature::ShellTool) {
        ShellType::Disabled
    } else if facts.features.is_on(Feature::UnifiedExec) {
        ShellType::UnifiedExec
    } else {
        facts.model.shell_type
    }
}

/// The patch tool to offer: what the model was trained on, then the switch.
pub(crate) fn patch_type(facts: &Facts) -> Option<ApplyPatchType> {
    let by_switch = || facts.features.is_on(Feature::ApplyPatchFreeform).then_some(ApplyPatchType::Freeform);
    facts.model.apply_patch_tool_type.or_else(by_switch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_read_as_it_is_written() {
        assert_eq!(Gate::parse("feature:js_repl"), Some(Gate::Feature(Feature::JsRepl)));
        assert_eq!(Gate::parse("not:mcp:any"), Some(Gate::Not(Box::new(Gate::AnyMcpServer))));
        for wrong in ["feature:nothing", "mcp", "shell:fish", "not:", "model_tool:"] {
            assert_eq!(Gate::parse(wrong), None, "{wrong}");
        }
    }
}
