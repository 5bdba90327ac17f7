//! What records come from: a client of this program, on this machine.

use pellucid_protocol::telemetry::TelemetrySettings;

use crate::facts::SessionFacts;
use crate::names;
use crate::otlp::RecordSource;
use crate::record::Attribute;

/// The name in the place of that of an SDK.
const SDK: &str = "pellucid";

/// The operating system.
#[derive(Debug, Clone, Copy)]
pub struct HostSystem<'a> {
    /// The name of the system.
    pub name: &'a str,
    /// The version of the system.
    pub version: &'a str,
}

/// The resource of a session. Attributes that variables add do not replace ours, except for the name of the service.
pub fn of(facts: &SessionFacts, settings: &TelemetrySettings, system: HostSystem<'_>) -> RecordSource {
    let service = settings.service_name.as_deref().unwrap_or(&facts.originator);
    let text = |name: &'static str, value: &str| -> Attribute { (name.into(), value.into()) };
    let mut attributes = vec![
        text(names::SERVICE_NAME, service),
        text(names::SERVICE_VERSION, &facts.version),
        text(names::ENV, &settings.environment),
        text(names::SDK_NAME, SDK),
        text(names::SDK_LANGUAGE, "rust"),
        text(names::SDK_VERSION, &facts.version),
    ];
    for (name, value) in &settings.resource {
        if !attributes.iter().any(|(known, _)| known == name) {
            attributes.push((name.clone().into(), value.as_str().into()));
        }
    }
    RecordSource {
        attributes,
        of_metrics: vec![text(names::OS, system.name), text(names::OS_VERSION, system.version)],
        version: facts.version.clone(),
        schema_url: format!("https://opentelemetry.io/schemas/{}", settings.semconv),
    }
}
