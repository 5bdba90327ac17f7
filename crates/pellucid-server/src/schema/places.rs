//! Where the schema and the TypeScript of a type are found.
//!
//! Types that both versions of the protocol share are in the top folder, those of version 1 alone have a folder for
//! their schemas, all others belong to version 2.

/// Messages that are not in version 2, and where their schemas are.
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

/// Messages whose schemas are in the top folder.
const TOP: [&str; 28] = [
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
    "McpServerElicitationRequestParams",
    "McpServerElicitationRequestResponse",
    "RequestId",
    "ServerNotification",
    "ServerRequest",
    "ToolRequestUserInputParams",
    "ToolRequestUserInputResponse",
];

/// Types whose TypeScript is in the top folder, beside frames, messages of version 1 and file searches.
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

/// Whether a type is a message, not only a part of messages.
pub(super) fn is_message(name: &str) -> bool {
    let is_part = name == "FuzzyFileSearchResult";
    let is_known = FIRST.contains(&name) || TOP.contains(&name);
    !is_part && (is_known || ["Params", "Response", "Notification"].iter().any(|end| name.ends_with(end)))
}

/// Whether a type belongs to version 2.
pub(super) fn is_second(name: &str) -> bool {
    !FIRST.contains(&name) && !TOP.contains(&name)
}

/// The path of a schema file, without its extension.
pub(super) fn of_schema(name: &str) -> String {
    if FIRST.contains(&name) {
        format!("v1/{name}")
    } else if TOP.contains(&name) {
        name.to_owned()
    } else {
        format!("v2/{name}")
    }
}

/// Whether the TypeScript of a type is in the top folder.
pub(super) fn is_at_top(name: &str) -> bool {
    let is_of_request = name.ends_with("Params") || name.ends_with("Response");
    let is_frame = TOP.contains(&name) && (!is_of_request || name.starts_with("Fuzzy"));
    is_frame || FIRST.contains(&name) || SHARED.contains(&name)
}
