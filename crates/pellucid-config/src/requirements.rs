//! An administrator's requirements: `requirements.toml`, and the managed configuration.
//!
//! A source fills only what stronger sources left open. The file is not a configuration: it sets nothing, it limits
//! what may be set.
//!
//! Not here: which value replaces a forbidden one (`permissions`, `mcp`).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::secret::Secret;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::WebSearchMode;
use pellucid_protocol::telemetry::OtlpEncoding;
use serde::Deserialize;

use crate::files;
use crate::layers::LayerSource;
use crate::layers::Layers;
use crate::telemetry::Exporter;
use crate::telemetry::HttpExporter;

/// The administrator's requirements; an absent one allows everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requirements {
    /// The approval policies that may be set; the first is the default.
    pub approval_policies: Option<Allowed<ApprovalPolicy>>,
    /// The sandbox modes that may be set.
    pub sandbox_modes: Option<Allowed<SandboxMode>>,
    /// The web search modes that may be set; the first replaces a forbidden one.
    pub web_search_modes: Option<Allowed<WebSearchMode>>,
    /// The MCP servers that may be used.
    pub mcp_servers: Option<McpRequirements>,
    /// The region in which the provider must keep data.
    pub residency: Option<Residency>,
    /// The administrator's settings for network access.
    pub network: Option<ManagedNetwork>,
    /// Where telemetry is sent, and whether it may have contents.
    pub telemetry: Option<TelemetryRequirements>,
    /// Rules for commands, as the file has them.
    pub rules: Option<serde_json::Value>,
}

/// What an administrator requires of telemetry, and the file that says so.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryRequirements {
    /// Whether neither texts nor their digests are exported.
    pub forbids_content: bool,
    pub(crate) logs: Option<Exporter>,
    pub(crate) traces: Option<Exporter>,
    pub(crate) metrics: Option<Exporter>,
    /// The file with the requirement.
    pub source: PathBuf,
}

/// The values that are allowed, and the file that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed<T> {
    /// The values, the preferred one first.
    ///
    /// Invariant: not empty.
    values: Vec<T>,
    /// The file with the requirement.
    pub source: PathBuf,
}

impl<T: Copy + PartialEq> Allowed<T> {
    /// The values, the preferred one first.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Whether a value is allowed.
    pub fn allows(&self, value: T) -> bool {
        self.values.contains(&value)
    }

    /// The value that replaces a forbidden one.
    pub fn preferred(&self) -> T {
        self.values[0]
    }
}

/// The MCP servers that are allowed, and the file that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpRequirements {
    /// The identity that a server of this name must have.
    pub servers: BTreeMap<String, McpIdentity>,
    /// The file with the requirement.
    pub source: PathBuf,
}

/// The program or address that a server must have.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum McpIdentity {
    /// The server must be this program.
    Command {
        /// The program that is started.
        command: String,
    },
    /// The server must have this address.
    Url {
        /// The address of the server.
        url: String,
    },
}

/// The region in which the provider must keep data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residency {
    /// The United States of America.
    Us,
}

/// The administrator's settings for network access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ManagedNetwork {
    /// Whether the network proxy runs.
    pub enabled: Option<bool>,
    /// The proxy's port for HTTP.
    pub http_port: Option<u16>,
    /// The proxy's port for SOCKS.
    pub socks_port: Option<u16>,
    /// Whether the proxy may use another proxy.
    pub allow_upstream_proxy: Option<bool>,
    /// Whether other machines may use the proxy.
    pub dangerously_allow_non_loopback_proxy: Option<bool>,
    /// Whether other machines may control the proxy.
    pub dangerously_allow_non_loopback_admin: Option<bool>,
    /// The domains that commands may reach.
    pub allowed_domains: Option<Vec<String>>,
    /// The domains that commands may not reach.
    pub denied_domains: Option<Vec<String>>,
    /// The Unix sockets that commands may use.
    pub allow_unix_sockets: Option<Vec<String>>,
    /// Whether commands may listen on local ports.
    pub allow_local_binding: Option<bool>,
}

/// Why requirements cannot be used. All of these end the program, because an administrator's limits must not be
/// guessed.
#[expect(missing_docs, reason = "the messages of the variants name the fields")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementsError {
    /// The file is not valid.
    #[error("Error parsing requirements file {path}: {detail}", path = .path.display())]
    Malformed {
        path: PathBuf,
        /// What is wrong with the file.
        detail: String,
    },
    /// The file exists and cannot be read.
    #[error("failed to read requirements file {path}: {source}", path = .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A list of allowed values is empty.
    #[error("field `{field}` cannot be empty (in {path})", path = .path.display())]
    Empty {
        /// The key of the list.
        field: &'static str,
        path: PathBuf,
    },
    /// A list of allowed values lacks one that it must have.
    #[error("field `{field}` must include `{word}` (in {path})", path = .path.display())]
    Lacks {
        /// The key of the list.
        field: &'static str,
        /// The value that the list lacks.
        word: &'static str,
        path: PathBuf,
    },
}

#[derive(Deserialize, Default)]
struct File {
    allowed_approval_policies: Option<Vec<ApprovalPolicy>>,
    allowed_sandbox_modes: Option<Vec<AllowedSandbox>>,
    allowed_web_search_modes: Option<Vec<WebSearchMode>>,
    mcp_servers: Option<BTreeMap<String, McpServer>>,
    enforce_residency: Option<Residency>,
    #[serde(alias = "experimental_network")]
    network: Option<ManagedNetwork>,
    otel: Option<Telemetry>,
    rules: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Telemetry {
    #[serde(default)]
    forbid_content: bool,
    exporter: Option<RequiredExporter>,
    trace_exporter: Option<RequiredExporter>,
    metrics_exporter: Option<RequiredExporter>,
}

/// An exporter as the configuration has it, but for those that this program does not have.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RequiredExporter {
    None,
    OtlpHttp {
        endpoint: String,
        protocol: OtlpEncoding,
        #[serde(default)]
        headers: BTreeMap<String, Secret>,
        #[serde(default)]
        tls: BTreeMap<String, PathBuf>,
    },
}

impl From<RequiredExporter> for Exporter {
    fn from(required: RequiredExporter) -> Self {
        match required {
            RequiredExporter::None => Self::None,
            RequiredExporter::OtlpHttp { endpoint, protocol, headers, tls } => {
                Self::Http(HttpExporter { endpoint, headers, encoding: protocol, tls })
            }
        }
    }
}

#[derive(Deserialize)]
struct McpServer {
    identity: McpIdentity,
}

/// The sandbox modes of the configuration, and one that only the program that starts Pellucid can choose.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum AllowedSandbox {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
    ExternalSandbox,
}

impl AllowedSandbox {
    fn mode(self) -> Option<SandboxMode> {
        match self {
            Self::ReadOnly => Some(SandboxMode::ReadOnly),
            Self::WorkspaceWrite => Some(SandboxMode::WorkspaceWrite),
            Self::DangerFullAccess => Some(SandboxMode::DangerFullAccess),
            Self::ExternalSandbox => None,
        }
    }
}

/// Reads the system's file, then fills what it leaves open from the managed configuration.
pub(crate) fn read(system_file: &Path, layers: &Layers) -> Result<Requirements, RequirementsError> {
    let mut requirements = match files::read_text(system_file) {
        Ok(text) => parse(system_file, &text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Requirements::default(),
        Err(source) => return Err(RequirementsError::Unreadable { path: system_file.to_owned(), source }),
    };
    fill_from_managed(&mut requirements, layers);
    Ok(requirements)
}

fn parse(path: &Path, text: &str) -> Result<Requirements, RequirementsError> {
    let file: File = toml::from_str(text).map_err(|error| RequirementsError::Malformed {
        path: path.to_owned(),
        detail: error.to_string().trim_end().to_owned(),
    })?;
    let source = path.to_owned();
    Ok(Requirements {
        approval_policies: file.allowed_approval_policies.map(|values| approvals(values, path)).transpose()?,
        sandbox_modes: file.allowed_sandbox_modes.map(|modes| sandboxes(&modes, path)).transpose()?,
        web_search_modes: file.allowed_web_search_modes.map(|modes| web_searches(&modes, path)),
        mcp_servers: file.mcp_servers.map(|servers| McpRequirements {
            servers: servers.into_iter().map(|(name, server)| (name, server.identity)).collect(),
            source,
        }),
        residency: file.enforce_residency,
        network: file.network,
        telemetry: file.otel.map(|otel| TelemetryRequirements {
            forbids_content: otel.forbid_content,
            logs: otel.exporter.map(Exporter::from),
            traces: otel.trace_exporter.map(Exporter::from),
            metrics: otel.metrics_exporter.map(Exporter::from),
            source: path.to_owned(),
        }),
        rules: file.rules,
    })
}

fn approvals(values: Vec<ApprovalPolicy>, path: &Path) -> Result<Allowed<ApprovalPolicy>, RequirementsError> {
    if values.is_empty() {
        return Err(RequirementsError::Empty { field: "allowed_approval_policies", path: path.to_owned() });
    }
    Ok(Allowed { values, source: path.to_owned() })
}

fn sandboxes(modes: &[AllowedSandbox], path: &Path) -> Result<Allowed<SandboxMode>, RequirementsError> {
    let modes: Vec<_> = modes.iter().filter_map(|mode| mode.mode()).collect();
    if !modes.contains(&SandboxMode::ReadOnly) {
        return Err(RequirementsError::Lacks {
            field: "allowed_sandbox_modes",
            word: SandboxMode::ReadOnly.as_str(),
            path: path.to_owned(),
        });
    }
    Ok(Allowed { values: read_only_and(&modes), source: path.to_owned() })
}

/// Puts `read-only` first, because it replaces forbidden modes.
fn read_only_and(modes: &[SandboxMode]) -> Vec<SandboxMode> {
    let mut values = vec![SandboxMode::ReadOnly];
    values.extend(modes.iter().filter(|mode| **mode != SandboxMode::ReadOnly));
    values
}

fn web_searches(modes: &[WebSearchMode], path: &Path) -> Allowed<WebSearchMode> {
    let preference = [WebSearchMode::Cached, WebSearchMode::Live, WebSearchMode::Disabled];
    let is_allowed = |mode: &WebSearchMode| *mode == WebSearchMode::Disabled || modes.contains(mode);
    Allowed { values: preference.into_iter().filter(is_allowed).collect(), source: path.to_owned() }
}

fn fill_from_managed(requirements: &mut Requirements, layers: &Layers) {
    let Some(layer) = layers.iter().find(|layer| layer.source == LayerSource::Managed) else { return };
    let Some(source) = &layer.file else { return };
    let word = |key| layer.table.get(key).and_then(|value| value.as_str());
    if requirements.approval_policies.is_none()
        && let Some(policy) = word("approval_policy").and_then(ApprovalPolicy::from_word)
    {
        requirements.approval_policies = Some(Allowed { values: vec![policy], source: source.clone() });
    }
    if requirements.sandbox_modes.is_none()
        && let Some(mode) = word("sandbox_mode").and_then(SandboxMode::from_word)
    {
        requirements.sandbox_modes = Some(Allowed { values: read_only_and(&[mode]), source: source.clone() });
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_requirements(text: &str, expected: &Expect) {
        let found = match parse(Path::new("req.toml"), text) {
            Ok(requirements) => format!(
                "approval {:?}\nsandbox {:?}\nsearch {:?}\nmcp {:?}\nresidency {:?}\nnetwork {:?}\n",
                requirements.approval_policies.map(|it| it.values),
                requirements.sandbox_modes.map(|it| it.values),
                requirements.web_search_modes.map(|it| it.values),
                requirements.mcp_servers.map(|it| it.servers),
                requirements.residency,
                requirements.network.map(|it| (it.enabled, it.allowed_domains, it.denied_domains)),
            ),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn all_fields() {
        check_requirements(
            r#"
allowed_approval_policies = ["on-request", "never"]
allowed_sandbox_modes = ["workspace-write", "read-only", "external-sandbox"]
allowed_web_search_modes = ["live"]
enforce_residency = "us"
unknown = 1
[mcp_servers.a.identity]
command = "x"
[mcp_servers.b.identity]
url = "y"
[experimental_network]
enabled = true
allowed_domains = ["a.test"]
denied_domains = ["b.test"]
[rules]
prefix_rules = []
"#,
            &expect![[r#"
                approval Some([OnRequest, Never])
                sandbox Some([ReadOnly, WorkspaceWrite])
                search Some([Live, Disabled])
                mcp Some({"a": Command { command: "x" }, "b": Url { url: "y" }})
                residency Some(Us)
                network Some((Some(true), Some(["a.test"]), Some(["b.test"])))
            "#]],
        );
        check_requirements(
            "allowed_web_search_modes = []\n[network]\n",
            &expect![[r#"
                approval None
                sandbox None
                search Some([Disabled])
                mcp None
                residency None
                network Some((None, None, None))
            "#]],
        );
    }

    #[test]
    fn a_malformed_file_is_an_error() {
        check_requirements(
            "allowed_approval_policies = []",
            &expect!["field `allowed_approval_policies` cannot be empty (in req.toml)"],
        );
        check_requirements(
            r#"allowed_sandbox_modes = ["workspace-write"]"#,
            &expect!["field `allowed_sandbox_modes` must include `read-only` (in req.toml)"],
        );
        check_requirements(
            r#"allowed_sandbox_modes = ["x"]"#,
            &expect![[r#"
                Error parsing requirements file req.toml: TOML parse error at line 1, column 26
                  |
                1 | allowed_sandbox_modes = ["x"]
                  |                          ^^^
                unknown variant `x`, expected one of `read-only`, `workspace-write`, `danger-full-access`, `external-sandbox`"#]],
        );
        check_requirements(
            "a = \n",
            &expect![[r#"
                Error parsing requirements file req.toml: TOML parse error at line 1, column 5
                  |
                1 | a = 
                  |     ^
                string values must be quoted, expected literal string"#]],
        );
    }
}
