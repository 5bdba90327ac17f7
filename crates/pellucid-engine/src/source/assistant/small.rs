//! Sections of a few lines.

use pellucid_protocol::settings::PromptMode;

use super::LINES;
use super::Lines;
use super::tooling;
use super::with_assistant;
use crate::assistant::Citations;
use crate::fragment::Fragment;
use crate::source::Source;
use crate::source::SourceKind;
use crate::source::SourceOutput;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;
use crate::utf16;

const RECALL: &str = "sections/memory_recall.md";
const CITED: &str = "sections/memory_cited.md";
const NOT_CITED: &str = "sections/memory_not_cited.md";

pub(super) const MEMORY_RECALL: Source = Source {
    name: "assistant_memory",
    kind: SourceKind::Text,
    templates: &[(RECALL, LINES), (CITED, LINES), (NOT_CITED, LINES)],
    give: |ask| {
        with_assistant(ask, |assistant| {
            let tools = tooling::tool_names(ask.pack, ask.facts);
            if !tools.has("memory_search") && !tools.has("memory_get") {
                return SourceOutput::nothing();
            }
            let mut lines = Lines::default();
            lines.push(ask.pack.template(RECALL).text());
            let file = if assistant.memory_citations == Citations::Off { NOT_CITED } else { CITED };
            lines.push(ask.pack.template(file).text());
            lines.given()
        })
    },
};

const ALIASES: &str = "sections/model_aliases.md";

pub(super) const MODEL_ALIASES: Source = Source {
    name: "assistant_model_aliases",
    kind: SourceKind::Text,
    templates: &[(ALIASES, LINES)],
    give: |ask| {
        with_assistant(ask, |assistant| {
            if assistant.model_aliases.is_empty() {
                return SourceOutput::nothing();
            }
            let mut lines = Lines::default();
            lines.push(ask.pack.template(ALIASES).text());
            for line in &assistant.model_aliases {
                lines.fact("model aliases", line.as_str());
            }
            lines.given()
        })
    },
};

const DOCS: &str = "sections/documentation.md";
const DOCS_PATH: &str = "{{ path }}";

pub(super) const DOCUMENTATION: Source = Source {
    name: "assistant_docs",
    kind: SourceKind::Text,
    templates: &[(DOCS, Shape { trim: Trim::Newline, places: &[TemplatePlace::must(DOCS_PATH)] })],
    give: |ask| {
        with_assistant(ask, |assistant| {
            let path = assistant.docs_path.as_deref().map(utf16::trim).filter(|path| !path.is_empty());
            path.map_or_else(SourceOutput::nothing, |path| {
                let path = vec![Fragment::fact("docs path", path)];
                SourceOutput::text(ask.pack.template(DOCS).render(&[(DOCS_PATH, path)]))
            })
        })
    },
};

const OWNERS_LINE: &str = "sections/owners.md";
const NUMBERS: &str = "{{ numbers }}";

pub(super) const OWNERS: Source = Source {
    name: "assistant_owners",
    kind: SourceKind::Text,
    templates: &[(OWNERS_LINE, Shape { trim: Trim::Newline, places: &[TemplatePlace::must(NUMBERS)] })],
    give: |ask| {
        with_assistant(ask, |assistant| {
            let numbers =
                assistant.messaging.owner_numbers.iter().map(|it| utf16::trim(it)).filter(|it| !it.is_empty());
            let numbers = numbers.collect::<Vec<_>>().join(", ");
            if numbers.is_empty() {
                return SourceOutput::nothing();
            }
            let numbers = vec![Fragment::fact("owner numbers", numbers)];
            SourceOutput::text(ask.pack.template(OWNERS_LINE).render(&[(NUMBERS, numbers)]))
        })
    },
};

pub(super) const TIME_ZONE: Source = Source {
    name: "assistant_time_zone",
    kind: SourceKind::Text,
    templates: &[],
    give: |ask| {
        with_assistant(ask, |assistant| {
            let zone = assistant.time_zone.as_deref().map(utf16::trim).filter(|zone| !zone.is_empty());
            zone.map_or_else(SourceOutput::nothing, |zone| {
                let mut lines = Lines::headed("## Current Date & Time");
                lines.fact("time zone", format!("Time zone: {zone}"));
                lines.given()
            })
        })
    },
};

pub(super) const VOICE: Source = Source {
    name: "assistant_voice",
    kind: SourceKind::Text,
    templates: &[],
    give: |ask| {
        with_assistant(ask, |assistant| headed("## Voice (TTS)", "voice", assistant.messaging.voice_hint.as_deref()))
    },
};

pub(super) const EXTRA_PROMPT: Source = Source {
    name: "assistant_extra_prompt",
    kind: SourceKind::Text,
    templates: &[],
    give: |ask| {
        let heading = match ask.facts.system.prompt_mode {
            PromptMode::Minimal => "## Subagent Context",
            PromptMode::Full | PromptMode::None => "## Group Chat Context",
        };
        with_assistant(ask, |assistant| headed(heading, "extra prompt", assistant.extra_prompt.as_deref()))
    },
};

const REACTIONS_MINIMAL: &str = "sections/reactions_minimal.md";
const REACTIONS_EXTENSIVE: &str = "sections/reactions_extensive.md";
const CHANNEL: &str = "{{ channel }}";
const IN_CHANNEL: Shape = Shape { trim: Trim::Newline, places: &[TemplatePlace::may(CHANNEL)] };

pub(super) const REACTIONS: Source = Source {
    name: "assistant_reactions",
    kind: SourceKind::Text,
    templates: &[(REACTIONS_MINIMAL, IN_CHANNEL), (REACTIONS_EXTENSIVE, IN_CHANNEL)],
    give: |ask| {
        with_assistant(ask, |assistant| {
            let Some(reactions) = &assistant.messaging.reactions else {
                return SourceOutput::nothing();
            };
            let file = if reactions.is_minimal { REACTIONS_MINIMAL } else { REACTIONS_EXTENSIVE };
            let channel = vec![Fragment::fact("channel", reactions.channel.as_str())];
            SourceOutput::text(ask.pack.template(file).render(&[(CHANNEL, channel)]))
        })
    },
};

const HEARTBEATS_RULES: &str = "sections/heartbeats.md";
const PROMPT: &str = "{{ prompt }}";

pub(super) const HEARTBEATS: Source = Source {
    name: "assistant_heartbeats",
    kind: SourceKind::Text,
    templates: &[(HEARTBEATS_RULES, Shape { trim: Trim::Newline, places: &[TemplatePlace::must(PROMPT)] })],
    give: |ask| {
        with_assistant(ask, |assistant| {
            let prompt = assistant.messaging.heartbeat_prompt.as_deref().map(utf16::trim).filter(|it| !it.is_empty());
            let prompt = vec![Fragment::fact("heartbeat prompt", prompt.unwrap_or("(configured)"))];
            SourceOutput::text(ask.pack.template(HEARTBEATS_RULES).render(&[(PROMPT, prompt)]))
        })
    },
};

const REASONING: &str = "sections/reasoning.md";
const LEVEL: &str = "{{ level }}";

pub(super) const RUNTIME: Source = Source {
    name: "assistant_runtime",
    kind: SourceKind::Text,
    templates: &[(REASONING, Shape { trim: Trim::Newline, places: &[TemplatePlace::must(LEVEL)] })],
    give: |ask| {
        with_assistant(ask, |assistant| {
            let mut lines = Lines::headed("## Runtime");
            lines.fact("runtime", assistant.runtime.line(assistant.thinking.think_level.as_deref()));
            let level = assistant.thinking.reasoning_level.as_deref().unwrap_or("off");
            lines.push(ask.pack.template(REASONING).render(&[(LEVEL, vec![Fragment::fact("reasoning", level)])]));
            lines.given()
        })
    },
};

/// A text under a heading; an empty result without a text.
fn headed(heading: &str, name: &'static str, text: Option<&str>) -> SourceOutput {
    let Some(text) = text.map(utf16::trim).filter(|text| !text.is_empty()) else {
        return SourceOutput::nothing();
    };
    let mut lines = Lines::headed(heading);
    lines.fact(name, text);
    lines.given()
}
