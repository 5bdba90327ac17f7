//! The settings of telemetry: what is exported, where to, and how much of it.
//!
//! Not here: reading them from files and variables (`pellucid-config`), and exporting (`pellucid-telemetry`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::secret::Secret;
use crate::settings::word_enum;

/// How long a collector may take for an answer, if nothing else is set.
pub const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(10);

/// What is exported, and where to. There is such a value only if at least one signal has a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The environment that the resource names, such as `dev`.
    pub environment: String,
    /// The name of the service, if it is not that of the client.
    pub service_name: Option<String>,
    /// Further attributes of the resource, in their order.
    pub resource: Vec<(String, String)>,
    /// Where logs are sent, if they are.
    pub logs: Option<Collector>,
    /// Where spans are sent, if they are.
    pub traces: Option<Collector>,
    /// Where metrics are sent, if they are.
    pub metrics: Option<Collector>,
    /// The names of log events and metrics.
    pub schema: TelemetrySchema,
    /// How much of inputs, answers and tool calls is exported.
    pub content: TelemetryContent,
    /// Whether the text of a person's input is exported, whatever `content` says.
    pub shows_prompt: bool,
    /// The revision of the conventions for generative AI.
    pub semconv: SemconvRevision,
    /// Whether requests to the model name the span they belong to.
    pub propagates: bool,
    /// The value of `TRACEPARENT`, if a program above this one set it.
    pub parent: Option<String>,
}

/// Where a signal is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    /// The address, to which nothing is appended.
    pub endpoint: String,
    /// Headers of every request. Their values may be keys.
    pub headers: BTreeMap<String, Secret>,
    /// The encoding of the body.
    pub encoding: OtlpEncoding,
    /// How long the collector may take for an answer.
    pub timeout: Duration,
    /// The certificates for `https`.
    pub tls: CollectorTls,
}

/// The certificates of a connection to a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectorTls {
    /// The certificate that signs the collector's, if it is not one of the system's.
    pub ca_certificate: Option<PathBuf>,
    /// The certificate that is shown to the collector.
    pub client_certificate: Option<PathBuf>,
    /// The key of that certificate.
    pub client_private_key: Option<PathBuf>,
}

word_enum! {
    /// The encoding of what is sent to a collector.
    OtlpEncoding {
        /// The binary form of protocol buffers.
        Binary = "binary",
        /// The JSON form of the protocol.
        Json = "json",
    }
}

word_enum! {
    /// The names of log events and metrics.
    TelemetrySchema {
        /// The names of the Codex CLI.
        Codex = "codex",
        /// The names of the conventions for generative AI.
        GenAi = "gen_ai",
        /// The names of both.
        Both = "both",
    }
}

impl TelemetrySchema {
    /// Whether the names of the Codex CLI are exported.
    pub fn has_codex(self) -> bool {
        self != Self::GenAi
    }

    /// Whether the names of the conventions are exported.
    pub fn has_gen_ai(self) -> bool {
        self != Self::Codex
    }
}

word_enum! {
    /// How much of inputs, answers and tool calls is exported.
    TelemetryContent {
        /// Sizes and names only.
        None = "none",
        /// The SHA-256 of texts too.
        Digests = "digests",
        /// The texts, with secrets blanked as far as they are recognised.
        Full = "full",
    }
}

word_enum! {
    /// A revision of the conventions for generative AI.
    SemconvRevision {
        /// The last revision before the attributes were renamed.
        V1_36 = "1.36.0",
        /// The newest revision that is known.
        V1_41 = "1.41.0",
    }
}
