//! Values for the templates and conditions of a pack that are not facts of every session: what the configuration says of
//! an assistant, what it runs on, and `[facts]`.

use std::fs;

use pellucid_config::Config;
use pellucid_engine::facts::Facts;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_workspace::os::Host;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::shown;

/// The values of `given`: what the configuration says of an assistant, what it runs on, and `[facts]`.
pub(super) fn given(config: &Config, facts: &Facts) -> Map<String, Value> {
    let settings = &config.prompt.assistant;
    let host = Host::read();
    let model = format!("{}/{}", config.model.provider_id, facts.settings.model.slug);
    let all = json!({
        "session_key": settings.session_key,
        "time_zone": settings.time_zone.clone().unwrap_or_else(system_time_zone),
        "docs_path": settings.docs_path.as_deref().map(shown),
        "owner_numbers": settings.owner_numbers,
        "voice_hint": settings.voice_hint,
        "heartbeat_prompt": settings.heartbeat_prompt,
        "extra_prompt": settings.extra_system_prompt,
        "think_level": facts.settings.effort.map(ReasoningEffort::as_str),
        "runtime": known(json!({
            "agent": "main",
            "host": host_name(),
            "repo": pellucid_git::work_tree_root(&config.folders.cwd).as_deref().map(shown),
            "os": format!("{} {}", host.name, host.version),
            "arch": host.architecture,
            "model": model,
            "shell": facts.world.shell,
            "channel": settings.channel,
            "capabilities": settings.channel.is_some().then_some(&settings.capabilities),
        })),
    });
    let mut given = known(all);
    given.extend(config.prompt.facts.clone());
    given
}

/// The values of a table that are known. What is not known has the layout's value.
fn known(table: Value) -> Map<String, Value> {
    match table {
        Value::Object(values) => values.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname")).ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn system_time_zone() -> String {
    jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned()
}
