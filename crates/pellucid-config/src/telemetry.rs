//! Telemetry: `[otel]`, the variables `OTEL_*` below it, and the administrator's requirements above it.
//!
//! A signal whose exporter no file sets may be switched on by variables: they are the user's, as the file is. A value
//! that cannot be used exports nothing and is a warning, so that telemetry never stops a turn.
//!
//! Not here: what is exported and how (`pellucid-telemetry`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_protocol::secret::Secret;
use pellucid_protocol::telemetry::COLLECTOR_TIMEOUT;
use pellucid_protocol::telemetry::Collector;
use pellucid_protocol::telemetry::CollectorTls;
use pellucid_protocol::telemetry::OtlpEncoding;
use pellucid_protocol::telemetry::SemconvRevision;
use pellucid_protocol::telemetry::TelemetryContent;
use pellucid_protocol::telemetry::TelemetrySchema;
use pellucid_protocol::telemetry::TelemetrySettings;

use crate::config::Config;
use crate::env::Env;
use crate::keys::default;
use crate::reader::Reader;
use crate::reader::map;
use crate::requirements::TelemetryRequirements;
use crate::value::Table;
use crate::value::Value;

/// The pack whose sessions are exported under the names of the Codex CLI, if nothing else is set.
const CODEX_PACK: &str = "codex";

/// What may stand in the table of certificates.
const TLS_NAMES: [&str; 3] = ["ca-certificate", "client-certificate", "client-private-key"];

/// `[otel]` as the files have it.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryConfig {
    environment: Option<String>,
    shows_prompt: bool,
    logs: Option<Exporter>,
    traces: Option<Exporter>,
    metrics: Option<Exporter>,
    schema: Option<TelemetrySchema>,
    content: TelemetryContent,
    semconv: SemconvRevision,
    propagates: bool,
    /// Whether use may be counted, if a file says so.
    analytics: Option<bool>,
}

/// An exporter as a file names it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exporter {
    /// Nothing is exported.
    None,
    /// The collector of a vendor, which Pellucid never sends to.
    Statsig,
    /// A collector of the user.
    Http(HttpExporter),
    /// A collector that takes gRPC only.
    Grpc,
}

/// A collector as a file describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpExporter {
    pub endpoint: String,
    pub headers: BTreeMap<String, Secret>,
    pub encoding: OtlpEncoding,
    pub tls: BTreeMap<String, PathBuf>,
}

/// What telemetry a session has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedTelemetry {
    /// What is exported; absent if nothing is.
    pub settings: Option<TelemetrySettings>,
    /// What cannot be used, and what an administrator changes, for people.
    pub warnings: Vec<String>,
}

/// A kind of things that are exported.
struct Signal {
    /// The key of its exporter.
    key: &'static str,
    /// Its name in variables.
    variable: &'static str,
    /// The variable with its address.
    endpoint: &'static str,
    /// The end of its address, where a variable names the address of all signals.
    path: &'static str,
}

const LOGS: Signal =
    Signal { key: "otel.exporter", variable: "LOGS", endpoint: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", path: "v1/logs" };
const TRACES: Signal = Signal {
    key: "otel.trace_exporter",
    variable: "TRACES",
    endpoint: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    path: "v1/traces",
};
const METRICS: Signal = Signal {
    key: "otel.metrics_exporter",
    variable: "METRICS",
    endpoint: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    path: "v1/metrics",
};

impl TelemetryConfig {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            environment: reader.text("otel.environment").filter(|it| it != const { default::text("otel.environment") }),
            shows_prompt: reader
                .flag("otel.log_user_prompt")
                .unwrap_or(const { default::flag("otel.log_user_prompt") }),
            logs: reader.value(LOGS.key).and_then(exporter),
            traces: reader.value(TRACES.key).and_then(exporter),
            metrics: reader.value(METRICS.key).and_then(exporter),
            schema: reader.word("otel.schema", TelemetrySchema::from_word),
            content: reader
                .word("otel.content", TelemetryContent::from_word)
                .unwrap_or(const { TelemetryContent::named(default::text("otel.content")) }),
            semconv: reader
                .word("otel.semconv", SemconvRevision::from_word)
                .unwrap_or(const { SemconvRevision::named(default::text("otel.semconv")) }),
            propagates: reader.flag("otel.propagate").unwrap_or(const { default::flag("otel.propagate") }),
            analytics: reader.flag("analytics.enabled"),
        }
    }
}

impl Config {
    /// The telemetry of a session: the administrator's requirements, then the files, then the variables.
    pub fn telemetry(&self, env: &Env) -> ResolvedTelemetry {
        let (files, required) = (&self.otel, self.requirements.telemetry.as_ref());
        let is_named = |name: &str| env.var_os(name).is_some();
        let has_variables =
            is_named("OTEL_EXPORTER_OTLP_ENDPOINT") || [LOGS, TRACES, METRICS].iter().any(|it| is_named(it.endpoint));
        let has_files = files.logs.is_some() || files.traces.is_some() || files.metrics.is_some();
        if !has_variables && !has_files && required.is_none() {
            return ResolvedTelemetry::default();
        }
        Resolving { files, required, env, warnings: Vec::new() }.resolve(&self.prompt.pack)
    }
}

struct Resolving<'a> {
    files: &'a TelemetryConfig,
    required: Option<&'a TelemetryRequirements>,
    env: &'a Env,
    warnings: Vec<String>,
}

impl Resolving<'_> {
    fn resolve(mut self, pack: &str) -> ResolvedTelemetry {
        let required =
            |one: fn(&TelemetryRequirements) -> &Option<Exporter>| self.required.and_then(|it| one(it).as_ref());
        let required_logs = required(|it| &it.logs);
        let logs = required_logs.or(self.files.logs.as_ref());
        let traces = required(|it| &it.traces).or(self.files.traces.as_ref()).or(logs);
        let metrics = required(|it| &it.metrics).or(self.files.metrics.as_ref());
        let logs = self.collector(&LOGS, logs);
        let traces = self.collector(&TRACES, traces);
        let metrics = self.collector(&METRICS, metrics).filter(|_| self.files.analytics != Some(false));
        let settings = (logs.is_some() || traces.is_some() || metrics.is_some())
            .then(|| self.settings(pack, logs, traces, metrics));
        ResolvedTelemetry { settings, warnings: self.warnings }
    }

    fn settings(
        &mut self,
        pack: &str,
        logs: Option<Collector>,
        traces: Option<Collector>,
        metrics: Option<Collector>,
    ) -> TelemetrySettings {
        let (content, shows_prompt) = self.content();
        let schema = if pack == CODEX_PACK { TelemetrySchema::Codex } else { TelemetrySchema::GenAi };
        let (service_name, resource) = self.resource();
        TelemetrySettings {
            environment: self.files.environment.clone().unwrap_or_else(|| default::text("otel.environment").to_owned()),
            service_name,
            resource,
            logs,
            traces,
            metrics,
            schema: self.files.schema.unwrap_or(schema),
            content,
            shows_prompt,
            semconv: self.files.semconv,
            propagates: self.files.propagates,
            parent: self.env.text("TRACEPARENT"),
        }
    }

    /// How much of contents is exported, and whether inputs are.
    fn content(&mut self) -> (TelemetryContent, bool) {
        let (content, shows_prompt) = (self.files.content, self.files.shows_prompt);
        let Some(required) = self.required.filter(|it| it.forbids_content) else {
            return (content, shows_prompt);
        };
        let file = required.source.display();
        if content != TelemetryContent::None {
            self.warnings
                .push(format!("`otel.content` is `none` and not `{content}` as configured: {file} forbids contents"));
        }
        if shows_prompt {
            self.warnings.push(format!(
                "`otel.log_user_prompt` is `false` and not `true` as configured: {file} forbids contents"
            ));
        }
        (TelemetryContent::None, false)
    }

    /// Where a signal is sent: as files say, or else variables.
    fn collector(&mut self, signal: &Signal, exporter: Option<&Exporter>) -> Option<Collector> {
        let key = signal.key;
        match exporter {
            None => self.of_variables(signal),
            Some(Exporter::None) => None,
            Some(Exporter::Statsig) => {
                let what = "the collector of a vendor, which Pellucid never sends to, so nothing is exported";
                self.warnings.push(format!("`{key}` names `statsig`: {what}; use `otlp-http`"));
                None
            }
            Some(Exporter::Grpc) => {
                let what = "this version exports over HTTP only, so nothing is exported";
                self.warnings.push(format!("`{key}` names `otlp-grpc`: {what}; use `otlp-http`"));
                None
            }
            Some(Exporter::Http(http)) => {
                let unknown = http.tls.keys().find(|name| !TLS_NAMES.contains(&name.as_str()));
                if let Some(name) = unknown {
                    let known = TLS_NAMES.join("`, `");
                    self.warnings
                        .push(format!("`{key}`: `tls.{name}` is not known, so it has no effect; known are `{known}`"));
                }
                let path = |name: &str| http.tls.get(name).cloned();
                let collector = Collector {
                    endpoint: http.endpoint.clone(),
                    headers: http.headers.clone(),
                    encoding: http.encoding,
                    timeout: self.timeout(signal),
                    tls: CollectorTls {
                        ca_certificate: path(TLS_NAMES[0]),
                        client_certificate: path(TLS_NAMES[1]),
                        client_private_key: path(TLS_NAMES[2]),
                    },
                };
                self.with_address(&format!("`{key}`: `endpoint`"), collector)
            }
        }
    }

    /// The collector if its address is one.
    fn with_address(&mut self, place: &str, collector: Collector) -> Option<Collector> {
        let endpoint = &collector.endpoint;
        let host = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
        if host.is_some_and(|host| !host.is_empty() && !host.starts_with('/')) {
            return Some(collector);
        }
        self.warnings.push(format!(
            "{place} is no address, so nothing is exported; it begins with `http://` or `https://` and a host"
        ));
        None
    }

    fn of_variables(&mut self, signal: &Signal) -> Option<Collector> {
        let is_word =
            |name: &str, word: &str| self.env.text(name).is_some_and(|it| it.trim().eq_ignore_ascii_case(word));
        if is_word("OTEL_SDK_DISABLED", "true") || is_word(&signal.name("OTEL_", "_EXPORTER"), "none") {
            return None;
        }
        let (place, endpoint) = match self.env.text(signal.endpoint) {
            Some(endpoint) => (signal.endpoint, endpoint),
            None => {
                let base = self.env.text("OTEL_EXPORTER_OTLP_ENDPOINT")?;
                let slash = if base.ends_with('/') { "" } else { "/" };
                ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{base}{slash}{}", signal.path))
            }
        };
        let encoding = match self.of(signal, "PROTOCOL").as_deref() {
            None | Some("http/protobuf") => OtlpEncoding::Binary,
            Some("http/json") => OtlpEncoding::Json,
            Some(other) => {
                let what = "is not supported, so nothing is exported; use `http/protobuf` or `http/json`";
                self.warnings.push(format!("OTEL_EXPORTER_OTLP_PROTOCOL: `{other}` {what}"));
                return None;
            }
        };
        let headers = self.of(signal, "HEADERS").map(|text| pairs(&text)).unwrap_or_default();
        let path = |name: &str| self.of(signal, name).map(PathBuf::from);
        let collector = Collector {
            endpoint,
            headers: headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
            encoding,
            timeout: self.timeout(signal),
            tls: CollectorTls {
                ca_certificate: path("CERTIFICATE"),
                client_certificate: path("CLIENT_CERTIFICATE"),
                client_private_key: path("CLIENT_KEY"),
            },
        };
        self.with_address(place, collector)
    }

    /// The variable of a signal, or that of all signals.
    fn of(&self, signal: &Signal, name: &str) -> Option<String> {
        let own = self.env.text(&signal.name("OTEL_EXPORTER_OTLP_", &format!("_{name}")));
        own.or_else(|| self.env.text(&format!("OTEL_EXPORTER_OTLP_{name}"))).map(|text| text.trim().to_owned())
    }

    fn timeout(&self, signal: &Signal) -> Duration {
        let milliseconds = self.of(signal, "TIMEOUT").and_then(|text| text.parse().ok()).filter(|it| *it > 0);
        milliseconds.map_or(COLLECTOR_TIMEOUT, Duration::from_millis)
    }

    /// The name of the service and further attributes, as variables have them.
    fn resource(&self) -> (Option<String>, Vec<(String, String)>) {
        let mut all = self.env.text("OTEL_RESOURCE_ATTRIBUTES").map(|text| pairs(&text)).unwrap_or_default();
        let of_list = all.iter().position(|(name, _)| name == "service.name").map(|at| all.remove(at).1);
        (self.env.text("OTEL_SERVICE_NAME").or(of_list), all)
    }
}

impl Signal {
    fn name(&self, before: &str, after: &str) -> String {
        format!("{before}{}{after}", self.variable)
    }
}

/// Reads an exporter: a word, or a table with the one that it names.
fn exporter(value: &Value) -> Option<Exporter> {
    match value.as_str() {
        Some("none") => return Some(Exporter::None),
        Some("statsig") => return Some(Exporter::Statsig),
        Some("otlp-grpc") => return Some(Exporter::Grpc),
        _ => {}
    }
    let table = value.as_table()?;
    if table.get("otlp-grpc").is_some() {
        return Some(Exporter::Grpc);
    }
    let http = table.get("otlp-http")?.as_table()?;
    Some(Exporter::Http(http_exporter(http)))
}

fn http_exporter(table: &Table) -> HttpExporter {
    let text = |name: &str| table.get(name).and_then(Value::as_str);
    let texts = |name: &str| table.get(name).and_then(map).unwrap_or_default();
    HttpExporter {
        endpoint: text("endpoint").unwrap_or_default().to_owned(),
        headers: texts("headers").into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
        encoding: text("protocol").and_then(OtlpEncoding::from_word).unwrap_or(OtlpEncoding::Binary),
        tls: texts("tls").into_iter().map(|(name, path)| (name, PathBuf::from(path))).collect(),
    }
}

/// Reads `a=1,b=2`, with escapes of addresses in the values. What is no pair is left out.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), unescaped(value.trim())))
    };
    text.split(',').filter_map(pair).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| *byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
