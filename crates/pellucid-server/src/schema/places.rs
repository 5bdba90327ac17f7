//! Where the schema and the TypeScript of a type are found.
//!
//! Types that both versions of the protocol share are at the top, those of the first version alone have a folder
//! for their schemas, all others belong to the second.

/// Messages that are not of the second version, and where their schemas are.
const FIRST: [&str; 8] = [
    "AuthStatusChangeNotification",
    "GetAuthStatusParams",
    "GetAuthStatusResponse",
    "GitDiffToRemoteParams",
    "GitDiffToRemoteResponse",
    "InitializeParams",
    "InitializeResponse",
    "LoginChatGptCompleteNotification",
];

/// Messages whose schemas are at the top.
const TOP: [&str; 26] = [
    "ChatgptAuthTokensRefreshParams",
    "ChatgptAuthTokensRefreshResponse",
    "ClientNotification",
    "ClientRequest",
    "CommandExecutionRequestApprovalParams",
    "CommandExecutionRequestApprovalResponse",
    "DynamicToolCallParams",
    "DynamicToolCallResponse",
    "FileChangeRequestApprovalParams",
    "FileChangeRequestApprovalResponse",
    "FuzzyFileSearchParams",
    "FuzzyFileSearchResponse",
    "FuzzyFileSearchResult",
    "FuzzyFileSearchSessionCompletedNotification",
    "FuzzyFileSearchSessionUpdatedNotification",
    "JSONRPCError",
    "JSONRPCErrorError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "RequestId",
    "ServerNotification",
    "ServerRequest",
    "ToolRequestUserInputParams",
    "ToolRequestUserInputResponse",
];

/// Types whose TypeScript is at the top, beside frames, messages of the first version and searches for files.
const SHARED: [&str; 28] = [
    "AuthMode",
    "ClientInfo",
    "CollaborationMode",
    "CollaborationModeMask",
    "ContentItem",
    "ForcedLoginMethod",
    "FunctionCallOutputBody",
    "GhostCommit",
    "InitializeCapabilities",
    "InputModality",
    "LocalShellAction",
    "LocalShellStatus",
    "MessagePhase",
    "ModeKind",
    "Personality",
    "PlanType",
    "ReasoningEffort",
    "ReasoningItemContent",
    "ReasoningItemReasoningSummary",
    "ReasoningSummary",
    "Resource",
    "ResourceTemplate",
    "ResponseItem",
    "Settings",
    "SubAgentSource",
    "Tool",
    "Verbosity",
    "WebSearchMode",
];

/// Whether a type is a message, not only part of one.
pub(super) fn is_message(name: &str) -> bool {
    let is_part = name == "FuzzyFileSearchResult";
    let is_known = FIRST.contains(&name) || TOP.contains(&name);
    !is_part && (is_known || ["Params", "Response", "Notification"].iter().any(|end| name.ends_with(end)))
}

/// Whether a type belongs to the second version.
pub(super) fn is_second(name: &str) -> bool {
    !FIRST.contains(&name) && !TOP.contains(&name)
}

/// The file of a schema, without its ending.
pub(super) fn of_schema(name: &str) -> String {
    if FIRST.contains(&name) {
        format!("v1/{name}")
    } else if TOP.contains(&name) {
        name.to_owned()
    } else {
        format!("v2/{name}")
    }
}

/// Whether the TypeScript of a type is at the top.
pub(super) fn is_at_top(name: &str) -> bool {
    let is_of_request = name.ends_with("Params") || name.ends_with("Response");
    let is_frame = TOP.contains(&name) && (!is_of_request || name.starts_with("Fuzzy"));
    is_frame || FIRST.contains(&name) || SHARED.contains(&name)
}
