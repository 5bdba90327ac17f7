//! The sandbox that an assistant's commands run in.

use super::Lines;
use super::with_assistant;
use crate::assistant::sanitised;
use crate::fragment::Fragment;
use crate::source::Source;
use crate::source::SourceInput;
use crate::source::SourceKind;
use crate::source::SourceOutput;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

const SECTION: &str = "sections/sandbox.md";
const ELEVATED: &str = "sections/sandbox_elevated.md";
const LEVEL: &str = "{{ level }}";

pub(super) const SOURCE: Source = Source {
    name: "assistant_sandbox",
    kind: SourceKind::Text,
    templates: &[
        (SECTION, super::LINES),
        (ELEVATED, Shape { trim: Trim::Newline, places: &[TemplatePlace::must(LEVEL)] }),
    ],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    with_assistant(ask, |assistant| {
        let Some(sandbox) = assistant.sandbox.as_ref().filter(|sandbox| sandbox.enabled) else {
            return SourceOutput::nothing();
        };
        let mut lines = Lines::default();
        lines.push(ask.pack.template(SECTION).text());
        let mut line = |label: &str, value: &Option<String>| {
            if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
                lines.fact("sandbox", format!("{label}: {}", sanitised(value)));
            }
        };
        line("Sandbox container workdir", &sandbox.container_dir);
        line("Sandbox host mount source (only for file tools outside)", &sandbox.workspace_dir);
        if let Some(access) = sandbox.workspace_access.as_deref().filter(|access| !access.is_empty()) {
            let mount = sandbox.agent_mount.as_deref().filter(|mount| !mount.is_empty());
            let mount = mount.map(|mount| format!(" (mounted at {})", sanitised(mount))).unwrap_or_default();
            lines.fact("sandbox", format!("Agent workspace access: {access}{mount}"));
        }
        if sandbox.browser_url.as_deref().is_some_and(|url| !url.is_empty()) {
            lines.fact("sandbox", "Sandbox browser: enabled.");
        }
        if let Some(url) = sandbox.observer_url.as_deref().filter(|url| !url.is_empty()) {
            lines.fact("sandbox", format!("Sandbox browser can be watched at: {}", sanitised(url)));
        }
        if let Some(is_allowed) = sandbox.host_browser_allowed {
            let word = if is_allowed { "allowed" } else { "blocked" };
            lines.fact("sandbox", format!("Host browser control: {word}."));
        }
        if let Some(level) = &sandbox.elevated_level {
            let level = vec![Fragment::fact("sandbox", level.as_str())];
            lines.push(ask.pack.template(ELEVATED).render(&[(LEVEL, level)]));
        }
        lines.given()
    })
}
