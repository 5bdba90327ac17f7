//! Makes the schemas from the types of messages.
//!
//! The program does not: the code that does weighs a megabyte. A test writes `types.json` with it, and fails while that is old.

use schemars::JsonSchema;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::Method;
use super::REF;
use super::replace_strings;
use super::source::Direction;
use super::source::Messages;
use super::source::Source;
use crate::types::notification::ServerNotification;
use crate::types::request;

/// A method and the types of its messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typed {
    name: &'static str,
    params: fn(&mut SchemaGenerator) -> Value,
    result: fn(&mut SchemaGenerator) -> Value,
}

impl Typed {
    /// A method with parameters and a result of these types.
    pub(crate) const fn new<P: JsonSchema, R: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            params: |generator| generator.subschema_for::<P>().to_value(),
            result: |generator| generator.subschema_for::<R>().to_value(),
        }
    }

    pub(super) fn is(&self, method: &Method) -> bool {
        self.name == method.name()
    }
}

/// The requests that the server sends to clients.
const SERVER_REQUESTS: &[Typed] = &[
    Typed::new::<request::CommandExecutionRequestApprovalParams, request::CommandExecutionRequestApprovalResponse>(
        "item/commandExecution/requestApproval",
    ),
    Typed::new::<request::FileChangeRequestApprovalParams, request::FileChangeRequestApprovalResponse>(
        "item/fileChange/requestApproval",
    ),
    Typed::new::<request::ToolRequestUserInputParams, request::ToolRequestUserInputResponse>(
        "item/tool/requestUserInput",
    ),
    Typed::new::<request::DynamicToolCallParams, request::DynamicToolCallResponse>("item/tool/call"),
    Typed::new::<request::McpServerElicitationRequestParams, request::McpServerElicitationRequestResponse>(
        "mcpServer/elicitation/request",
    ),
    Typed::new::<request::ChatgptAuthTokensRefreshParams, request::ChatgptAuthTokensRefreshResponse>(
        "account/chatgptAuthTokens/refresh",
    ),
];

/// Types that clients know by other names than ours.
const RENAMED: [(&str, &str); 2] = [("ApprovalPolicy", "AskForApproval"), ("CollaborationModeKind", "ModeKind")];

impl Source {
    /// The schemas of these methods, of the server's requests and of all notifications.
    pub(super) fn of(methods: &[Typed]) -> Self {
        Self {
            asked: direction(SchemaSettings::draft07().for_deserialize(), methods),
            sent: direction(SchemaSettings::draft07().for_serialize(), methods),
        }
    }
}

fn direction(settings: SchemaSettings, methods: &[Typed]) -> Direction {
    let mut generator = settings.into_generator();
    let server = rows(&mut generator, SERVER_REQUESTS).collect();
    let client = rows(&mut generator, methods).collect();
    let notification = generator.subschema_for::<ServerNotification>().to_value();
    let definitions = generator.take_definitions(true).into_iter();
    let definitions = definitions.map(|(name, schema)| (new_name(&name).to_owned(), renamed(schema))).collect();
    Direction { definitions, client, server, notification }
}

fn rows(generator: &mut SchemaGenerator, methods: &[Typed]) -> impl Iterator<Item = (String, Messages)> {
    methods.iter().map(|method| {
        let result = renamed((method.result)(generator));
        (method.name.to_owned(), (renamed((method.params)(generator)), result))
    })
}

fn new_name(name: &str) -> &str {
    RENAMED.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, theirs)| theirs)
}

fn renamed(mut schema: Value) -> Value {
    replace_strings(&mut schema, &|text| {
        let name = text.strip_prefix(REF)?;
        Some(format!("{REF}{}", new_name(name)))
    });
    schema
}
