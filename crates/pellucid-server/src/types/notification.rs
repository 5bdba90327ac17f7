//! Notifications of the server.

mod account;
mod item;
mod notice;
mod thread;
mod turn;

pub use account::AccountLoginCompletedNotification;
pub use account::AccountRateLimitsUpdatedNotification;
pub use account::AccountUpdatedNotification;
pub use account::AppListUpdatedNotification;
pub use account::AuthMode;
pub use account::AuthStatusChangeNotification;
pub use account::LoginChatGptCompleteNotification;
pub use account::McpServerOauthLoginCompletedNotification;
pub use item::AgentMessageDeltaNotification;
pub use item::CommandExecutionOutputDeltaNotification;
pub use item::FileChangeOutputDeltaNotification;
pub use item::ItemCompletedNotification;
pub use item::ItemStartedNotification;
pub use item::McpToolCallProgressNotification;
pub use item::PlanDeltaNotification;
pub use item::ReasoningSummaryPartAddedNotification;
pub use item::ReasoningSummaryTextDeltaNotification;
pub use item::ReasoningTextDeltaNotification;
pub use item::TerminalInteractionNotification;
pub use notice::ConfigWarningNotification;
pub use notice::DeprecationNoticeNotification;
pub use notice::FuzzyFileSearchResult;
pub use notice::FuzzyFileSearchSessionCompletedNotification;
pub use notice::FuzzyFileSearchSessionUpdatedNotification;
pub use notice::TextPosition;
pub use notice::TextRange;
pub use notice::WindowsWorldWritableWarningNotification;
pub use thread::ContextCompactedNotification;
pub use thread::ThreadArchivedNotification;
pub use thread::ThreadNameUpdatedNotification;
pub use thread::ThreadStartedNotification;
pub use thread::ThreadTokenUsageUpdatedNotification;
pub use thread::ThreadUnarchivedNotification;
pub use turn::ErrorNotification;
pub use turn::ModelRerouteReason;
pub use turn::ModelReroutedNotification;
pub use turn::RawResponseItemCompletedNotification;
pub use turn::TurnCompletedNotification;
pub use turn::TurnDiffUpdatedNotification;
pub use turn::TurnPlanStep;
pub use turn::TurnPlanStepStatus;
pub use turn::TurnPlanUpdatedNotification;
pub use turn::TurnStartedNotification;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// Makes the enum of all notifications, each with its method.
macro_rules! notifications {
    ($($variant:ident($params:ident) = $method:literal,)+) => {
        /// A notification of the server.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        #[serde(tag = "method", content = "params")]
        pub enum ServerNotification {
            $(#[doc = concat!("`", $method, "`")] #[serde(rename = $method)] $variant($params),)+
        }

        impl ServerNotification {
            /// All methods, in the order of the documentation.
            pub const METHODS: &'static [&'static str] = &[$($method),+];

            /// Whether the notification concerns no thread, so that all clients receive it.
            pub fn is_for_all(&self) -> bool {
                matches!(self, Self::AccountRateLimitsUpdated(_))
            }

            /// The JSON-RPC method, such as `turn/started`.
            pub fn method(&self) -> &'static str {
                match self { $(Self::$variant(_) => $method,)+ }
            }
        }

        $(impl From<$params> for ServerNotification {
            fn from(params: $params) -> Self {
                Self::$variant(params)
            }
        })+
    };
}

notifications! {
    Error(ErrorNotification) = "error",
    ThreadStarted(ThreadStartedNotification) = "thread/started",
    ThreadArchived(ThreadArchivedNotification) = "thread/archived",
    ThreadUnarchived(ThreadUnarchivedNotification) = "thread/unarchived",
    ThreadNameUpdated(ThreadNameUpdatedNotification) = "thread/name/updated",
    ThreadTokenUsageUpdated(ThreadTokenUsageUpdatedNotification) = "thread/tokenUsage/updated",
    TurnStarted(TurnStartedNotification) = "turn/started",
    TurnCompleted(TurnCompletedNotification) = "turn/completed",
    TurnDiffUpdated(TurnDiffUpdatedNotification) = "turn/diff/updated",
    TurnPlanUpdated(TurnPlanUpdatedNotification) = "turn/plan/updated",
    ItemStarted(ItemStartedNotification) = "item/started",
    ItemCompleted(ItemCompletedNotification) = "item/completed",
    RawResponseItemCompleted(RawResponseItemCompletedNotification) = "rawResponseItem/completed",
    AgentMessageDelta(AgentMessageDeltaNotification) = "item/agentMessage/delta",
    PlanDelta(PlanDeltaNotification) = "item/plan/delta",
    CommandExecutionOutputDelta(CommandExecutionOutputDeltaNotification) = "item/commandExecution/outputDelta",
    TerminalInteraction(TerminalInteractionNotification) = "item/commandExecution/terminalInteraction",
    FileChangeOutputDelta(FileChangeOutputDeltaNotification) = "item/fileChange/outputDelta",
    McpToolCallProgress(McpToolCallProgressNotification) = "item/mcpToolCall/progress",
    McpServerOauthLoginCompleted(McpServerOauthLoginCompletedNotification) = "mcpServer/oauthLogin/completed",
    AccountUpdated(AccountUpdatedNotification) = "account/updated",
    AccountRateLimitsUpdated(AccountRateLimitsUpdatedNotification) = "account/rateLimits/updated",
    AppListUpdated(AppListUpdatedNotification) = "app/list/updated",
    ReasoningSummaryTextDelta(ReasoningSummaryTextDeltaNotification) = "item/reasoning/summaryTextDelta",
    ReasoningSummaryPartAdded(ReasoningSummaryPartAddedNotification) = "item/reasoning/summaryPartAdded",
    ReasoningTextDelta(ReasoningTextDeltaNotification) = "item/reasoning/textDelta",
    ContextCompacted(ContextCompactedNotification) = "thread/compacted",
    ModelRerouted(ModelReroutedNotification) = "model/rerouted",
    DeprecationNotice(DeprecationNoticeNotification) = "deprecationNotice",
    ConfigWarning(ConfigWarningNotification) = "configWarning",
    FuzzyFileSearchSessionUpdated(FuzzyFileSearchSessionUpdatedNotification) = "fuzzyFileSearch/sessionUpdated",
    FuzzyFileSearchSessionCompleted(FuzzyFileSearchSessionCompletedNotification) = "fuzzyFileSearch/sessionCompleted",
    WindowsWorldWritableWarning(WindowsWorldWritableWarningNotification) = "windows/worldWritableWarning",
    AccountLoginCompleted(AccountLoginCompletedNotification) = "account/login/completed",
    AuthStatusChange(AuthStatusChangeNotification) = "authStatusChange",
    LoginChatGptComplete(LoginChatGptCompleteNotification) = "loginChatGptComplete",
}
