//! The Responses wire: what surrounds the items. Items are recorded in its notation.

use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::ReasoningSummary;
use serde_json::Value;

use crate::encode::Encoded;
use crate::encode::Encoder;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::request::WireSettings;
use crate::tool_list;
use crate::tool_list::ToolList;
use crate::transcript::ItemIds;

/// The name of the list with the items.
pub(crate) const LIST: &str = "input";

/// The bytes before the items.
pub(crate) fn head(facts: &Facts, instructions: &[Fragment]) -> Encoded {
    let (model, base, input) = ("model".into(), "base".into(), "input".into());
    let mut encoder = Encoder::new(&model);
    encoder.wire("{\"model\":");
    encoder.value(&facts.settings.model.slug, &Origin::fact("model"));
    encoder.wire(",");
    encoder.set_part(&base);
    encoder.wire("\"instructions\":");
    encoder.string(instructions);
    encoder.wire(",");
    encoder.set_part(&input);
    encoder.wire("\"input\":[");
    encoder.finish()
}

/// The bytes after the items. Without a list of tools the brackets are empty.
pub(crate) fn tail(tools: Option<ToolList<'_>>, facts: &Facts, wire: &WireSettings) -> Encoded {
    let mut encoder = Encoder::new(&"input".into());
    encoder.wire("],");
    encoder.set_part(&tool_list::part());
    encoder.wire("\"tools\":");
    match tools {
        Some(tools) => tools.encode(&mut encoder, WireApi::Responses),
        None => encoder.wire("[]"),
    }
    encoder.wire(",\"tool_choice\":\"auto\",\"parallel_tool_calls\":");
    encoder.value(&facts.settings.model.supports_parallel_tool_calls, &Origin::fact("model catalogue"));
    encoder.set_part(&"settings".into());
    encoder.wire(",\"reasoning\":");
    let thinks = facts.settings.model.supports_reasoning_summaries;
    reasoning(&mut encoder, facts);
    encoder.wire(",\"store\":");
    encoder.value(&(wire.ids == ItemIds::Sent), &Origin::fact("provider"));
    encoder.wire(",\"stream\":true,\"include\":");
    encoder.wire(if thinks { "[\"reasoning.encrypted_content\"]" } else { "[]" });
    encoder.wire(",\"prompt_cache_key\":");
    encoder.value(&wire.session_id, &Origin::fact("session"));
    text_controls(&mut encoder, facts, wire.output_schema.as_ref());
    encoder.wire("}");
    encoder.finish()
}

fn reasoning(encoder: &mut Encoder, facts: &Facts) {
    if !facts.settings.model.supports_reasoning_summaries {
        encoder.wire("null");
        return;
    }
    let effort = super::effort_sent(WireApi::Responses, facts);
    let summary = (facts.settings.summary != ReasoningSummary::None).then_some(facts.settings.summary);
    encoder.wire("{");
    if let Some(effort) = effort {
        encoder.wire("\"effort\":");
        encoder.value(&effort, &Origin::fact("reasoning effort"));
    }
    if let Some(summary) = summary {
        encoder.wire(if effort.is_some() { ",\"summary\":" } else { "\"summary\":" });
        encoder.value(&summary, &Origin::fact("reasoning summary"));
    }
    encoder.wire("}");
}

fn text_controls(encoder: &mut Encoder, facts: &Facts, schema: Option<&Value>) {
    let wanted = facts.settings.verbosity.or(facts.settings.model.default_verbosity);
    let verbosity = wanted.filter(|_| facts.settings.model.support_verbosity);
    if verbosity.is_none() && schema.is_none() {
        return;
    }
    encoder.wire(",\"text\":{");
    if let Some(verbosity) = verbosity {
        encoder.wire("\"verbosity\":");
        encoder.value(&verbosity, &Origin::fact("verbosity"));
    }
    if let Some(schema) = schema {
        encoder.wire(if verbosity.is_some() { ",\"format\":" } else { "\"format\":" });
        encoder.wire("{\"type\":\"json_schema\",\"strict\":true,\"schema\":");
        encoder.value(schema, &Origin::Provided { place: "output schema".into() });
        encoder.wire(",\"name\":\"codex_output_schema\"}");
    }
    encoder.wire("}");
}
