//! In which revision of the protocol a server is greeted.

use std::time::Duration;

use pellucid_protocol::settings::McpProtocol;
use rmcp::model::ProtocolVersion;
use rmcp::service::ClientLifecycleMode;

/// The revision of the reference's greeting.
const USUAL: ProtocolVersion = ProtocolVersion::V_2025_06_18;

/// The newest revision that has a greeting.
pub(crate) const GREETED: ProtocolVersion = ProtocolVersion::LATEST_WITH_INITIALIZE;

/// How long the SDK waits for an answer to `server/discover` before it greets.
const DISCOVERY: Duration = Duration::from_secs(10);

/// How a server is greeted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub mode: ClientLifecycleMode,
    /// The revision of an `initialize`.
    pub revision: ProtocolVersion,
    /// The time that a greeting may need beyond that of the configuration, because it has two parts.
    pub more: Duration,
}

impl Greeting {
    /// By the configuration, and by the revision that the server spoke lately.
    pub(crate) fn of(protocol: McpProtocol, known: Option<&str>) -> Self {
        let greeted = |revision| Self { mode: ClientLifecycleMode::Initialize, revision, more: Duration::ZERO };
        match protocol {
            McpProtocol::Initialize => greeted(USUAL),
            McpProtocol::V20241105 => greeted(ProtocolVersion::V_2024_11_05),
            McpProtocol::V20250326 => greeted(ProtocolVersion::V_2025_03_26),
            McpProtocol::V20250618 => greeted(ProtocolVersion::V_2025_06_18),
            McpProtocol::V20251125 => greeted(ProtocolVersion::V_2025_11_25),
            McpProtocol::V20260728 => Self::discovered(),
            McpProtocol::Auto => match known {
                Some(revision) if revision == ProtocolVersion::V_2026_07_28.as_str() => Self::discovered(),
                Some(_) => greeted(GREETED),
                None => Self {
                    mode: ClientLifecycleMode::Auto {
                        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                        legacy_version: Some(GREETED),
                    },
                    revision: GREETED,
                    more: DISCOVERY,
                },
            },
        }
    }

    /// Without a greeting.
    fn discovered() -> Self {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let mode = ClientLifecycleMode::Discover { preferred_versions };
        Self { mode, revision: GREETED, more: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_known_is_asked_once() {
        let mode = |protocol, known| Greeting::of(protocol, known).mode;
        let is_auto = |mode: &ClientLifecycleMode| matches!(mode, ClientLifecycleMode::Auto { .. });
        let is_discover = |mode: &ClientLifecycleMode| matches!(mode, ClientLifecycleMode::Discover { .. });
        assert!(is_auto(&mode(McpProtocol::Auto, None)));
        assert!(is_discover(&mode(McpProtocol::Auto, Some("2026-07-28"))));
        assert_eq!(mode(McpProtocol::Auto, Some("2025-06-18")), ClientLifecycleMode::Initialize);
        assert!(is_discover(&mode(McpProtocol::V20260728, None)));
        for word in &McpProtocol::WORDS[2..6] {
            let greeting = Greeting::of(McpProtocol::named(word), None);
            assert_eq!((greeting.revision.as_str(), greeting.mode), (*word, ClientLifecycleMode::Initialize));
        }
        assert_eq!(Greeting::of(McpProtocol::Initialize, Some("2026-07-28")).revision.as_str(), "2025-06-18");
    }
}
