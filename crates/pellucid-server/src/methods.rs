//! The methods that clients can call, one function each.
//!
//! A plain method is a function of the server and its parameters, and its result is the response. A method that also
//! notifies all clients returns the notifications beside its result ([`notices::AnswerWithNotices`]). A method that sends its response
//! later, or sends other messages first, gets the `MethodCall`.

pub mod account;
pub mod apps;
pub mod catalog;
pub mod command;
pub mod config;
pub mod files;
pub mod goals;
pub mod hooks;
pub mod initialize;
pub mod life;
pub mod mcp;
pub mod notices;
pub mod pages;
mod paging;
pub mod phase;
pub mod profiles;
pub mod skills;
pub mod terminals;
pub mod thread;
pub mod thread_list;
pub mod turn;
pub mod warnings;

#[cfg(test)]
mod fixture;

use std::path::Path;
use std::sync::Arc;

use pellucid_config::Config;
use pellucid_config::HarnessOverrides;
use pellucid_tasks::contained;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::call::Answered;
use crate::call::MethodCall;
use crate::connection::Connection;
use crate::rpc;
use crate::rpc::RequestId;
use crate::rpc::RpcError;
use crate::schema::Method;
#[cfg(test)]
use crate::schema::Typed;
use crate::server::Server;

/// Defines the table from method names to functions. Rows behind `newest` are of the protocol that clients of today speak
/// ([`crate::surface`]). Rows behind `ours` are Pellucid's: the protocol of the Codex CLI does not have them. Lists of
/// methods leave out both.
///
/// A row is `"name" (Params) => kind function;`. Kinds: `plain` for functions of the server, `notifying` for those that also
/// notify all clients, `call` for those that get the call. `beside` before the kind lets the method run concurrently
/// with the client's next requests. A gate before the arrow says what needs the experimental capability: the whole
/// method, or a field.
macro_rules! methods {
    (
        $($name:literal ($params:ty) -> ($result:ty) $(if $gate:path)? => $($beside:ident)? [$kind:ident $function:path];)+
        newest { $($new_name:literal ($new_params:ty) -> ($new_result:ty) => [$new_kind:ident $new_function:path];)+ }
        ours { $($own_name:literal ($own_params:ty) -> ($own_result:ty) => [$own_kind:ident $own_function:path];)+ }
    ) => {
        /// The names of all methods of the protocol.
        pub const METHODS: &[&str] = &[$($name),+];

        /// All methods with their types.
        #[cfg(test)]
        const TYPED: &[Typed] = &[$(Typed::new::<$params, $result>($name)),+];

        /// The names of all methods that only clients of today call.
        const NEWEST_METHODS: &[&str] = &[$($new_name),+];

        /// The same with their types.
        #[cfg(test)]
        const NEWEST_TYPED: &[Typed] = &[$(Typed::new::<$new_params, $new_result>($new_name)),+];

        /// Calls the method that a client asks for.
        pub(crate) async fn dispatch(
            server: &Arc<Server>,
            connection: &Arc<Connection>,
            id: RequestId,
            method: &str,
            params: Option<&RawValue>,
            is_answered: Answered,
        ) {
            let done = match method {
                $($name => {
                    let of = (server.clone(), connection.clone());
                    let call = MethodCall::<$result>::new(of, id.clone(), $name, is_answered);
                    let params = read::<$params>(params)
                        .and_then(|params| admitted($name, connection, params, |_params| methods!(@gate _params $($gate)?)));
                    match params {
                        Ok(params) => methods!(@run $($beside)? [$kind $function] server connection id call params),
                        Err(error) => Err(error),
                    }
                })+
                $($new_name => {
                    connection.called_newer_method();
                    let of = (server.clone(), connection.clone());
                    let call = MethodCall::<$new_result>::new(of, id.clone(), $new_name, is_answered);
                    let params = read::<$new_params>(params)
                        .and_then(|params| admitted($new_name, connection, params, |_params| None));
                    match params {
                        Ok(params) => methods!(@run [$new_kind $new_function] server connection id call params),
                        Err(error) => Err(error),
                    }
                })+
                $($own_name => {
                    let of = (server.clone(), connection.clone());
                    let call = MethodCall::<$own_result>::new(of, id.clone(), $own_name, is_answered);
                    let params = read::<$own_params>(params)
                        .and_then(|params| admitted($own_name, connection, params, |_params| Some($own_name)));
                    match params {
                        Ok(params) => methods!(@run [$own_kind $own_function] server connection id call params),
                        Err(error) => Err(error),
                    }
                })+
                unknown => Err(unknown_method(unknown)),
            };
            if let Err(error) = done {
                connection.send(rpc::refusal(Some(&id), &error)).await;
            }
        }
    };
    (@gate $params:ident) => { None };
    (@gate $params:ident $gate:path) => { $gate($params) };
    (@run [plain $function:path] $server:ident $connection:ident $id:ident $call:ident $params:ident) => {
        match $function($server, $params).await {
            Ok(result) => { $call.answer(&result).await; Ok(()) }
            Err(error) => Err(error),
        }
    };
    (@run [notifying $function:path] $server:ident $connection:ident $id:ident $call:ident $params:ident) => {
        match $function($server, $params).await {
            Ok(notices::AnswerWithNotices { result, notices }) => {
                $call.answer(&result).await;
                for notice in &notices {
                    $server.notify_all(notice).await;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    };
    (@run [call $function:path] $server:ident $connection:ident $id:ident $call:ident $params:ident) => {
        $function($call, $params).await
    };
    (@run beside [plain $function:path] $server:ident $connection:ident $id:ident $call:ident $params:ident) => {{
        let server = $server.clone();
        $server.tasks.spawn("request", async move {
            let done = contained("request", $function(&server, $params)).await;
            match done.unwrap_or_else(|failed| Err(broken(failed))) {
                Ok(result) => $call.answer(&result).await,
                Err(error) => $call.refuse(&error).await,
            }
        });
        Ok(())
    }};
}

methods! {
    "initialize" (initialize::InitializeParams) -> (initialize::InitializeResponse) => [call initialize::initialize];
    "thread/start" (thread::ThreadStartParams) -> (thread::ThreadStartResponse) if thread::ThreadStartParams::experimental => [call thread::start];
    "thread/resume" (thread::ThreadResumeParams) -> (thread::ThreadResumeResponse) if thread::ThreadResumeParams::experimental => [call thread::resume];
    "thread/fork" (thread::ThreadForkParams) -> (thread::ThreadForkResponse) if thread::ThreadForkParams::experimental => [call thread::fork];
    "thread/list" (thread_list::ThreadListParams) -> (thread_list::ThreadListResponse) => [plain thread_list::list];
    "thread/loaded/list" (thread::ThreadLoadedListParams) -> (thread::ThreadLoadedListResponse) => [plain thread::loaded_list];
    "thread/read" (thread::ThreadReadParams) -> (thread::ThreadReadResponse) => [plain thread::read];
    "thread/archive" (thread::ThreadArchiveParams) -> (thread::ThreadArchiveResponse) => [call thread::archive];
    "thread/unarchive" (thread::ThreadUnarchiveParams) -> (thread::ThreadUnarchiveResponse) => [call thread::unarchive];
    "thread/name/set" (thread::ThreadSetNameParams) -> (thread::ThreadSetNameResponse) => [call thread::set_name];
    "thread/compact/start" (thread::ThreadCompactStartParams) -> (thread::ThreadCompactStartResponse) => [call thread::compact];
    "thread/rollback" (thread::ThreadRollbackParams) -> (thread::ThreadRollbackResponse) => [call thread::rollback];
    "thread/backgroundTerminals/clean" (thread::ThreadBackgroundTerminalsCleanParams) -> (thread::ThreadBackgroundTerminalsCleanResponse) if clean_terminals_gate => [call thread::clean_terminals];
    "turn/start" (turn::TurnStartParams) -> (turn::TurnStartResponse) if turn::TurnStartParams::experimental => [call turn::start];
    "turn/steer" (turn::TurnSteerParams) -> (turn::TurnSteerResponse) => [call turn::steer];
    "turn/interrupt" (turn::TurnInterruptParams) -> (turn::TurnInterruptResponse) => [call turn::interrupt];
    "review/start" (turn::ReviewStartParams) -> (turn::ReviewStartResponse) => [call turn::review];
    "model/list" (catalog::ModelListParams) -> (catalog::ModelListResponse) => [plain catalog::model_list];
    "experimentalFeature/list" (catalog::ExperimentalFeatureListParams) -> (catalog::ExperimentalFeatureListResponse) => [plain catalog::experimental_feature_list];
    "collaborationMode/list" (catalog::CollaborationModeListParams) -> (catalog::CollaborationModeListResponse) if catalog::CollaborationModeListParams::experimental
        => [plain catalog::collaboration_mode_list];
    "mock/experimentalMethod" (catalog::MockExperimentalMethodParams) -> (catalog::MockExperimentalMethodResponse)
        if catalog::MockExperimentalMethodParams::experimental => [plain catalog::mock];
    "skills/list" (skills::SkillsListParams) -> (skills::SkillsListResponse) => [plain skills::list];
    "skills/config/write" (skills::SkillsConfigWriteParams) -> (skills::SkillsConfigWriteResponse) => [plain skills::config_write];
    "skills/remote/list" (skills::SkillsRemoteReadParams) -> (skills::SkillsRemoteReadResponse) => [plain skills::remote_list];
    "skills/remote/export" (skills::SkillsRemoteWriteParams) -> (skills::SkillsRemoteWriteResponse) => [plain skills::remote_export];
    "app/list" (apps::AppsListParams) -> (apps::AppsListResponse) => beside [plain apps::list];
    "mcpServerStatus/list" (mcp::ListMcpServerStatusParams) -> (mcp::ListMcpServerStatusResponse) => beside [plain mcp::status_list];
    "mcpServer/oauth/login" (mcp::McpServerOauthLoginParams) -> (mcp::McpServerOauthLoginResponse) => beside [plain mcp::oauth_login];
    "config/mcpServer/reload" (NoParams) -> (mcp::McpServerRefreshResponse) => [plain mcp::reload];
    "account/read" (account::GetAccountParams) -> (account::GetAccountResponse) => [plain account::read];
    "account/login/start" (account::LoginAccountParams) -> (account::LoginAccountResponse) if account::LoginAccountParams::experimental
        => [notifying account::login_start];
    "account/login/cancel" (account::CancelLoginAccountParams) -> (account::CancelLoginAccountResponse) => [plain account::login_cancel];
    "account/logout" (NoParams) -> (account::LogoutAccountResponse) => [notifying account::logout];
    "account/rateLimits/read" (NoParams) -> (account::GetAccountRateLimitsResponse) => [plain account::rate_limits_read];
    "getAuthStatus" (account::GetAuthStatusParams) -> (account::GetAuthStatusResponse) => [plain account::auth_status];
    "feedback/upload" (mcp::FeedbackUploadParams) -> (mcp::FeedbackUploadResponse) => [plain mcp::feedback_upload];
    "command/exec" (command::CommandExecParams) -> (command::CommandExecResponse) => beside [plain command::exec];
    "config/read" (config::ConfigReadParams) -> (config::ConfigReadResponse) => [plain config::config_read];
    "config/value/write" (config::ConfigValueWriteParams) -> (config::ConfigWriteResponse) => [plain config::config_value_write];
    "config/batchWrite" (config::ConfigBatchWriteParams) -> (config::ConfigWriteResponse) => [plain config::config_batch_write];
    "configRequirements/read" (NoParams) -> (config::ConfigRequirementsReadResponse) => [plain config::config_requirements_read];
    "fuzzyFileSearch" (files::FuzzyFileSearchParams) -> (files::FuzzyFileSearchResponse) => beside [plain files::fuzzy_file_search];
    "fuzzyFileSearch/sessionStart" (files::FuzzyFileSearchSessionStartParams) -> (files::FuzzyFileSearchSessionStartResponse)
        if files::FuzzyFileSearchSessionStartParams::experimental => [plain files::session_start];
    "fuzzyFileSearch/sessionUpdate" (files::FuzzyFileSearchSessionUpdateParams) -> (files::FuzzyFileSearchSessionUpdateResponse)
        if files::FuzzyFileSearchSessionUpdateParams::experimental => [plain files::session_update];
    "fuzzyFileSearch/sessionStop" (files::FuzzyFileSearchSessionStopParams) -> (files::FuzzyFileSearchSessionStopResponse)
        if files::FuzzyFileSearchSessionStopParams::experimental => [plain files::session_stop];
    "gitDiffToRemote" (files::GitDiffToRemoteParams) -> (files::GitDiffToRemoteResponse) => beside [plain files::git_diff_to_remote];
    newest {
        "thread/unsubscribe" (life::ThreadUnsubscribeParams) -> (life::ThreadUnsubscribeResponse) => [call life::unsubscribe];
        "thread/delete" (life::ThreadDeleteParams) -> (life::ThreadDeleteResponse) => [call life::delete];
        "thread/settings/update" (life::ThreadSettingsUpdateParams) -> (life::ThreadSettingsUpdateResponse) => [call life::update_settings];
        "thread/inject_items" (life::ThreadInjectItemsParams) -> (life::ThreadInjectItemsResponse) => [call life::inject_items];
        "thread/shellCommand" (life::ThreadShellCommandParams) -> (life::ThreadShellCommandResponse) => [call life::shell_command];
        "thread/turns/list" (pages::ThreadTurnsListParams) -> (pages::ThreadTurnsListResponse) => [plain pages::turns];
        "thread/items/list" (pages::ThreadItemsListParams) -> (pages::ThreadItemsListResponse) => [plain pages::items];
        "thread/backgroundTerminals/list" (terminals::ThreadBackgroundTerminalsListParams) -> (terminals::ThreadBackgroundTerminalsListResponse)
            => [plain terminals::list];
        "thread/backgroundTerminals/terminate" (terminals::ThreadBackgroundTerminalsTerminateParams)
            -> (terminals::ThreadBackgroundTerminalsTerminateResponse) => [call terminals::terminate];
        "thread/goal/get" (goals::ThreadGoalGetParams) -> (goals::ThreadGoalGetResponse) => [plain goals::get];
        "thread/goal/set" (goals::ThreadGoalSetParams) -> (goals::ThreadGoalSetResponse) => [plain goals::set];
        "thread/goal/clear" (goals::ThreadGoalClearParams) -> (goals::ThreadGoalClearResponse) => [plain goals::clear];
        "permissionProfile/list" (profiles::PermissionProfileListParams) -> (profiles::PermissionProfileListResponse) => [plain profiles::list];
        "hooks/list" (hooks::HooksListParams) -> (hooks::HooksListResponse) => [plain hooks::list];
    }
    ours {
        "thread/phase/read" (phase::ThreadPhaseReadParams) -> (phase::ThreadPhaseResponse) => [plain phase::read];
        "thread/phase/set" (phase::ThreadPhaseSetParams) -> (phase::ThreadPhaseResponse) => [plain phase::set];
        "thread/phase/next" (phase::ThreadPhaseNextParams) -> (phase::ThreadPhaseResponse) => [plain phase::next];
    }
}

/// All methods, for schemas; experimental ones are marked.
pub fn staged() -> Vec<Method> {
    let marked = |method: Method| match method.name() {
        "thread/backgroundTerminals/clean"
        | "collaborationMode/list"
        | "mock/experimentalMethod"
        | "fuzzyFileSearch/sessionStart"
        | "fuzzyFileSearch/sessionUpdate"
        | "fuzzyFileSearch/sessionStop" => method.experimental(),
        "thread/start" => method.with_experimental(&[
            "dynamicTools",
            "mockExperimentalField",
            "experimentalRawEvents",
            "persistExtendedHistory",
        ]),
        "thread/resume" => method.with_experimental(&["history", "path", "persistExtendedHistory"]),
        "thread/fork" => method.with_experimental(&["path", "persistExtendedHistory"]),
        "turn/start" => method.with_experimental(&["collaborationMode"]),
        _ => method,
    };
    METHODS.iter().map(|name| marked(Method::new(name))).collect()
}

/// The same with the methods that only clients of today call.
pub fn staged_newest() -> Vec<Method> {
    staged().into_iter().chain(NEWEST_METHODS.iter().map(|name| Method::new(name))).collect()
}

/// All methods with their types, those of today included.
#[cfg(test)]
pub(crate) fn all_typed() -> Vec<Typed> {
    [TYPED, NEWEST_TYPED].concat()
}

/// The parameters of a method that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NoParams {}

/// The configuration for a folder, by default the server's.
fn current(server: &Server, cwd: Option<&Path>) -> Result<Config, RpcError> {
    server
        .ground
        .config(cwd, Vec::new(), HarnessOverrides::default())
        .map(|(config, _options)| config)
        .map_err(|error| RpcError::invalid(format!("error deriving config: {}", error.brief())))
}

fn clean_terminals_gate(_params: &thread::ThreadBackgroundTerminalsCleanParams) -> Option<&'static str> {
    Some("thread/backgroundTerminals/clean")
}

/// Reads parameters; absent ones are an empty object.
fn read<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    let text = if text == "null" { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| RpcError::invalid(format!("Invalid request: {error}")))
}

/// Checks that a request comes after the handshake and that its client has the capability that it needs.
fn admitted<P>(
    method: &str,
    connection: &Connection,
    params: P,
    gate: impl FnOnce(&P) -> Option<&'static str>,
) -> Result<P, RpcError> {
    if method == "initialize" {
        return Ok(params);
    }
    let Some(hello) = connection.hello() else {
        return Err(RpcError::invalid("Not initialized"));
    };
    match gate(&params) {
        Some(what) if !hello.is_experimental => {
            Err(RpcError::invalid(format!("{what} requires experimentalApi capability")))
        }
        _ => Ok(params),
    }
}

/// The answer to a request whose work panicked.
pub(crate) fn broken(failed: pellucid_tasks::Failed) -> RpcError {
    RpcError::internal(failed.to_string())
}

fn unknown_method(method: &str) -> RpcError {
    let known = METHODS.join("`, `");
    RpcError::invalid(format!("Invalid request: unknown variant `{method}`, expected one of `{known}`"))
}
