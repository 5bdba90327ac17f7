//! Questions of MCP servers for a person, and the answers.
//!
//! A server that runs a tool may ask for a confirmation or for a few values. The format calls this elicitation.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

use crate::settings::word_enum;

/// The id that a server gave to its question: a number or a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ElicitationId {
    /// A number, as most servers count their requests.
    Number(i64),
    /// A text, where the server does not count.
    Text(String),
}

impl fmt::Display for ElicitationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// An MCP server asks a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElicitationRequest {
    /// The server's name in the configuration.
    pub server_name: String,
    /// The id of the question; the answer repeats it.
    pub id: ElicitationId,
    /// What the server wants to know, in its words.
    pub message: String,
    /// The JSON schema of the values that the server wants. The format of the event has no such member.
    #[serde(skip)]
    pub schema: Value,
    /// The address that the server wants opened in place of a form. The format of the event has no such member.
    #[serde(skip)]
    pub url: Option<String>,
}

word_enum! {
    /// What a person does with the question of a server.
    ElicitationAction {
        /// The server gets what it asks for.
        Accept = "accept",
        /// The person says no.
        Decline = "decline",
        /// The person leaves the question without a decision.
        Cancel = "cancel",
    }
}

/// The answer to the question of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElicitationAnswer {
    /// What the person does with the question.
    pub action: ElicitationAction,
    /// The values that the server wants. Present only if the person accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}

/// Who answers the questions of servers.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ElicitationPolicy {
    /// A person at the client; without one, questions are declined.
    #[default]
    Ask,
    /// Every question is accepted, with the defaults of its form.
    Defaults,
    /// Questions of these servers are accepted, with these values and the defaults of the form. Others are declined.
    Given(BTreeMap<String, Map<String, Value>>),
}

impl ElicitationAnswer {
    /// An answer without values.
    pub fn without_content(action: ElicitationAction) -> Self {
        Self { action, content: None }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_event_has_three_members_and_both_kinds_of_ids() {
        let mut request = ElicitationRequest {
            server_name: "asker".to_owned(),
            id: ElicitationId::Text("e1".to_owned()),
            message: "May I?".to_owned(),
            schema: json!({"type": "object"}),
            url: Some("https://a.test".to_owned()),
        };
        expect![[r#"{"server_name":"asker","id":"e1","message":"May I?"}"#]]
            .assert_eq(&serde_json::to_string(&request).unwrap());
        request.id = ElicitationId::Number(7);
        expect![[r#"{"server_name":"asker","id":7,"message":"May I?"}"#]]
            .assert_eq(&serde_json::to_string(&request).unwrap());
        assert_eq!(request.id.to_string(), "7");
    }

    #[test]
    fn an_answer_has_values_only_if_there_are_some() {
        let declined = ElicitationAnswer::without_content(ElicitationAction::Decline);
        expect![[r#"{"action":"decline"}"#]].assert_eq(&serde_json::to_string(&declined).unwrap());
        let accepted = ElicitationAnswer { action: ElicitationAction::Accept, content: Some(json!({"a": 1})) };
        let text = serde_json::to_string(&accepted).unwrap();
        expect![[r#"{"action":"accept","content":{"a":1}}"#]].assert_eq(&text);
        assert_eq!(serde_json::from_str::<ElicitationAnswer>(&text).unwrap(), accepted);
    }
}
