//! Gates: named conditions that a layout puts before slots and tools.
//!
//! A gate looks at facts and nothing else. `not:` in front of any gate turns it round.

use std::sync::Arc;

use pellucid_protocol::feature::Feature;
use pellucid_protocol::model::ApplyPatchType;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::WebSearchMode;
use pellucid_script::Program;

use crate::computed;
use crate::computed::Looking;
use crate::deferred;
use crate::facts::Facts;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::pack::LAYOUT;
use crate::pack::Pack;

/// A condition on facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// The other way round.
    Not(Box<Self>),
    /// A feature is on.
    Feature(Feature),
    /// The configured shell tool is this one.
    Shell(ShellType),
    /// This form of the patch tool is the one to offer.
    Patch(ApplyPatchType),
    /// The model was trained on this further tool.
    ModelTool(String),
    /// Some MCP server is configured, or connected apps are on, which come from one.
    AnyMcpServer,
    /// Some tool of an MCP server is offered by name.
    DeferredTools,
    /// The hosted web search is offered.
    WebSearch,
    /// The prompt has one of these modes.
    Mode(Vec<PromptMode>),
    /// A condition of the pack holds.
    If(Arc<Program>),
    /// The program around the engine opened the gate of this name.
    Host(String),
}

/// How gates are written, and when they are open.
pub const ABOUT: &[(&str, &str)] = &[
    ("not:GATE", "the other gate is closed"),
    ("feature:KEY", "the feature is on"),
    ("shell:default|local|unified_exec|shell_command", "this shell tool is the one to offer"),
    ("patch:freeform|function", "this form of the patch tool is the one to offer"),
    ("model_tool:NAME", "the model was trained on this further tool"),
    ("mcp:any", "some MCP server is configured, or the feature `apps` is on"),
    ("mcp:deferred", "some tool of an MCP server is offered by name, without its schema"),
    ("web_search:on", "the hosted web search is offered"),
    ("mode:full|minimal|none", "the prompt has one of these modes"),
    ("if:CONDITION", "the condition holds; see *Texts that are computed*"),
    ("host:NAME", "the program that uses the engine as a library opened the gate"),
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
            ("mcp", "deferred") => Self::DeferredTools,
            ("web_search", "on") => Self::WebSearch,
            ("mode", modes) => Self::Mode(modes.split('|').map(PromptMode::from_word).collect::<Option<_>>()?),
            ("host", name) if !name.is_empty() => Self::Host(name.to_owned()),
            ("if", condition) => Self::If(Arc::new(Program::expression(LAYOUT, condition).ok()?)),
            _ => return None,
        })
    }

    /// How gates are written.
    pub fn known() -> Vec<String> {
        ABOUT.iter().map(|(gate, _)| (*gate).to_owned()).collect()
    }

    /// The name of the gate of the host that it asks for, also inside `not:`.
    pub(crate) fn host_name(&self) -> Option<&str> {
        match self {
            Self::Not(gate) => gate.host_name(),
            Self::Host(name) => Some(name),
            _ => None,
        }
    }

    /// The condition of the pack in this gate, if it has one.
    pub(crate) fn condition(&self) -> Option<&Program> {
        match self {
            Self::Not(gate) => gate.condition(),
            Self::If(condition) => Some(condition),
            _ => None,
        }
    }

    /// Whether the condition holds. A condition of the pack that fails keeps the gate closed, behind `not:` too.
    pub fn is_open(&self, pack: &Pack, facts: &Facts) -> bool {
        match self {
            Self::Not(gate) => !gate.is_open(pack, facts) && gate.failure(pack, facts).is_none(),
            Self::Feature(feature) => facts.settings.features.is_on(*feature),
            Self::Shell(shell) => shell_type(facts) == *shell,
            Self::Patch(form) => patch_type(facts) == Some(*form),
            Self::ModelTool(tool) => facts.settings.model.experimental_supported_tools.contains(tool),
            Self::AnyMcpServer => facts.tools.has_mcp_servers || facts.settings.features.is_on(Feature::Apps),
            Self::DeferredTools => deferred::is_any(pack, facts),
            Self::WebSearch => facts.settings.web_search != WebSearchMode::Disabled,
            Self::Mode(modes) => modes.contains(&facts.system.prompt_mode),
            Self::Host(name) => facts.system.host.open.contains(name),
            Self::If(condition) => computed::holds(condition, Looking { pack, facts }).unwrap_or(false),
        }
    }

    /// The error of the pack's condition in this gate, if it fails.
    fn failure(&self, pack: &Pack, facts: &Facts) -> Option<String> {
        let condition = self.condition()?;
        let error = computed::holds(condition, Looking { pack, facts }).err()?;
        Some(format!("the condition `{}` fails: {}", condition.source(), error.message))
    }
}

/// Whether all gates are open.
pub fn all_open(gates: &[Gate], pack: &Pack, facts: &Facts) -> bool {
    gates.iter().all(|gate| gate.is_open(pack, facts))
}

/// An omission for each condition that fails, and so keeps its gate closed.
pub(crate) fn failures(gates: &[Gate], pack: &Pack, facts: &Facts, slot: &Arc<str>) -> Vec<Omission> {
    let failed = gates.iter().filter_map(|gate| gate.failure(pack, facts));
    let omission = |error| Omission { slot: slot.clone(), what: slot.to_string(), why: Why::Unusable { error } };
    failed.map(omission).collect()
}

/// The shell tool to offer: switches first, then what the model was trained on.
pub fn shell_type(facts: &Facts) -> ShellType {
    if !facts.settings.features.is_on(Feature::ShellTool) {
        ShellType::Disabled
    } else if facts.settings.features.is_on(Feature::UnifiedExec) {
        ShellType::UnifiedExec
    } else {
        facts.settings.model.shell_type
    }
}

/// The patch tool to offer: what the model was trained on, then the switch.
pub(crate) fn patch_type(facts: &Facts) -> Option<ApplyPatchType> {
    let by_switch = || facts.settings.features.is_on(Feature::ApplyPatchFreeform).then_some(ApplyPatchType::Freeform);
    facts.settings.model.apply_patch_tool_type.or_else(by_switch)
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

    #[test]
    fn every_gate_that_is_listed_can_be_written_in_each_of_its_forms() {
        let mut forms = Vec::new();
        for (about, why) in ABOUT {
            assert!(!why.is_empty());
            let (kind, rest) = about.split_once(':').unwrap();
            match rest {
                "GATE" => forms.push(format!("{kind}:mcp:any")),
                "KEY" => forms.extend(Feature::ALL.iter().map(|it| format!("{kind}:{}", it.key()))),
                "NAME" => forms.push(format!("{kind}:anything")),
                "CONDITION" => forms.push(format!("{kind}:mode == \"full\"")),
                words => forms.extend(words.split('|').map(|word| format!("{kind}:{word}"))),
            }
        }
        for form in &forms {
            let gate = Gate::parse(form).unwrap_or_else(|| panic!("{form}"));
            let not = Gate::parse(&format!("not:{form}"));
            assert_eq!(not, Some(Gate::Not(Box::new(gate))), "{form}");
        }
        assert_eq!(Gate::known().len(), ABOUT.len());
    }

    #[test]
    fn several_modes_are_one_gate_and_unknown_ones_are_none() {
        assert_eq!(Gate::parse("mode:full|none"), Some(Gate::Mode(vec![PromptMode::Full, PromptMode::None])));
        for wrong in ["mode:", "mode:full|", "mode:|full", "mode:Full", "mode:full,none", "patch:", "shell", ":", ""] {
            assert_eq!(Gate::parse(wrong), None, "{wrong:?}");
        }
        for wrong in ["if:", "if:mode ==", "web_search:off", "mcp:one", " feature:js_repl", "not:not:"] {
            assert_eq!(Gate::parse(wrong), None, "{wrong:?}");
        }
    }
}
