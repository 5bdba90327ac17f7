//! How an assistant sends messages with its tool for that.

use super::Lines;
use super::tooling;
use super::with_assistant;
use crate::fragment::Fragment;
use crate::source::Source;
use crate::source::SourceInput;
use crate::source::SourceKind;
use crate::source::SourceOutput;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

const SECTION: &str = "sections/message_tool.md";
const BUTTONS: &str = "sections/message_tool_buttons.md";
const NO_BUTTONS: &str = "sections/message_tool_no_buttons.md";
const CHANNELS: &str = "{{ channels }}";
const CHANNEL: &str = "{{ channel }}";

/// The feature of a channel that shows buttons.
const INLINE_BUTTONS: &str = "inlinebuttons";

const STANDARD_CHANNELS: [&str; 8] =
    ["telegram", "whatsapp", "discord", "irc", "googlechat", "slack", "signal", "imessage"];

pub(super) const SOURCE: Source = Source {
    name: "assistant_message_tool",
    kind: SourceKind::Text,
    templates: &[
        (SECTION, Shape { trim: Trim::Newline, places: &[TemplatePlace::must(CHANNELS)] }),
        (BUTTONS, super::LINES),
        (NO_BUTTONS, Shape { trim: Trim::Newline, places: &[TemplatePlace::must(CHANNEL)] }),
    ],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    with_assistant(ask, |assistant| {
        if !tooling::tool_names(ask.pack, ask.facts).has("message") {
            return SourceOutput::nothing();
        }
        let own = assistant.messaging.channels.iter().map(String::as_str);
        let channels = STANDARD_CHANNELS.into_iter().chain(own).collect::<Vec<_>>().join("|");
        let mut lines = Lines::default();
        lines.push(ask.pack.template(SECTION).render(&[(CHANNELS, vec![Fragment::fact("channels", channels)])]));
        let runtime = &assistant.runtime;
        if runtime.capabilities().iter().any(|it| it.to_lowercase() == INLINE_BUTTONS) {
            lines.push(ask.pack.template(BUTTONS).text());
        } else if let Some(channel) = runtime.channel() {
            lines.push(ask.pack.template(NO_BUTTONS).render(&[(CHANNEL, vec![Fragment::fact("channel", channel)])]));
        }
        for hint in &assistant.messaging.message_tool_hints {
            lines.fact("channel", hint.as_str());
        }
        lines.given()
    })
}
