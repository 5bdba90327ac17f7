//! Schemas and TypeScript of a small protocol, and the names of the real one.

use std::fmt::Write as _;

use expect_test::Expect;
use expect_test::expect;
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;
use crate::methods;
use crate::types::input::UserInput;
use crate::types::notification::ServerNotification;
use crate::types::settings::AskForApproval;
use crate::types::thread::Turn;

/// Parameters of a method, as methods have them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is wanted")]
struct PlayParams {
    thread_id: String,
    input: Vec<UserInput>,
    #[serde(default)]
    approval_policy: Option<AskForApproval>,
    #[serde(default)]
    secret_wish: Option<String>,
}

#[derive(Debug, serde::Serialize, JsonSchema)]
struct PlayResponse {
    turn: Turn,
}

#[derive(Debug, serde::Serialize, Deserialize, JsonSchema)]
struct Nothing {}

const TYPED: &[Typed] = &[Typed::new::<PlayParams, PlayResponse>("turn/play"), Typed::new::<(), Nothing>("turn/rest")];
const METHODS: &[Method] =
    &[Method::new("turn/play").with_experimental(&["secretWish"]), Method::new("turn/rest").experimental()];

fn json_schemas(methods: &[Method], stage: MethodStage) -> BTreeMap<String, Value> {
    json_files(&Source::of(TYPED), methods, stage)
}

fn typescript(methods: &[Method], stage: MethodStage) -> BTreeMap<String, String> {
    typescript_files(&Source::of(TYPED), methods, stage)
}

/// A line for each type, so that a difference shows which types changed.
fn lines(source: &Source) -> String {
    let Ok(Value::Object(directions)) = serde_json::to_value(source) else {
        unreachable!("a source has two directions")
    };
    let mut text = String::new();
    for (name, direction) in &directions {
        let _ = writeln!(text, "{}{}: {{", if text.is_empty() { "{" } else { "," }, json!(name));
        for (at, (part, content)) in direction.as_object().unwrap().iter().enumerate() {
            let _ = write!(text, "{}{}: ", if at == 0 { "" } else { ",\n" }, json!(part));
            match content {
                Value::Object(types) if part != "notification" => {
                    let types: Vec<String> = types.iter().map(|(name, it)| format!("{}:{it}", json!(name))).collect();
                    let _ = write!(text, "{{\n{}\n}}", types.join(",\n"));
                }
                other => {
                    let _ = write!(text, "{other}");
                }
            }
        }
        text.push_str("\n}\n");
    }
    text + "}\n"
}

#[test]
fn the_file_of_types_is_up_to_date() {
    let source = Source::of(&methods::all_typed());
    expect_test::expect_file!["./types.json"].assert_eq(&lines(&source));
}

#[test]
fn the_program_holds_the_file_of_types() {
    assert_eq!(Source::built_in(), serde_json::from_str(include_str!("types.json")).unwrap());
}

#[test]
fn a_stage_has_the_types_of_its_methods_alone() {
    let is_stable =
        |it: &Typed| methods::staged().iter().any(|method| it.is(method) && method.is_in(MethodStage::Stable));
    let stable: Vec<Typed> = methods::all_typed().into_iter().filter(is_stable).collect();
    let stage = MethodStage::Stable;
    let (all, alone) = (Source::of(&methods::all_typed()), Source::of(&stable));
    assert_eq!(json_files(&all, &methods::staged(), stage), json_files(&alone, &methods::staged(), stage));
    assert_eq!(typescript_files(&all, &methods::staged(), stage), typescript_files(&alone, &methods::staged(), stage));
    let names = |source: &Source| source.sent.definitions.keys().cloned().collect::<Vec<_>>();
    let kept = Types::collect(&alone.sent, &methods::staged(), stage).schemas;
    assert!(names(&alone).iter().all(|name| kept.contains_key(name)), "a type that nothing refers to was made");
}

#[track_caller]
fn check_schema(file: &str, stage: MethodStage, expected: &Expect) {
    let mut schema = json_schemas(METHODS, stage).remove(file).unwrap();
    if let Some(Value::Object(definitions)) = schema.get_mut("definitions") {
        // The names say enough.
        definitions.values_mut().for_each(|schema| *schema = Value::Null);
    }
    expected.assert_eq(&serde_json::to_string_pretty(&schema).unwrap());
}

#[track_caller]
fn check_typescript(file: &str, stage: MethodStage, expected: &Expect) {
    expected.assert_eq(&typescript(METHODS, stage)[file]);
}

#[test]
fn a_message_has_a_schema_with_all_it_needs() {
    check_schema(
        "v2/PlayParams.json",
        MethodStage::Stable,
        &expect![[r##"
        {
          "$schema": "http://json-schema.org/draft-07/schema#",
          "title": "PlayParams",
          "type": "object",
          "properties": {
            "threadId": {
              "type": "string"
            },
            "input": {
              "type": "array",
              "items": {
                "$ref": "#/definitions/UserInput"
              }
            },
            "approvalPolicy": {
              "anyOf": [
                {
                  "$ref": "#/definitions/AskForApproval"
                },
                {
                  "type": "null"
                }
              ],
              "default": null
            }
          },
          "required": [
            "threadId",
            "input"
          ],
          "description": "Parameters of a method, as methods have them.",
          "definitions": {
            "AskForApproval": null,
            "ByteRange": null,
            "TextElement": null,
            "UserInput": null
          }
        }"##]],
    );
    check_schema(
        "ClientRequest.json",
        MethodStage::Experimental,
        &expect![[r##"
        {
          "$schema": "http://json-schema.org/draft-07/schema#",
          "title": "ClientRequest",
          "oneOf": [
            {
              "type": "object",
              "required": [
                "id",
                "method",
                "params"
              ],
              "properties": {
                "id": {
                  "$ref": "#/definitions/RequestId"
                },
                "method": {
                  "type": "string",
                  "enum": [
                    "turn/play"
                  ]
                },
                "params": {
                  "$ref": "#/definitions/PlayParams"
                }
              },
              "title": "Turn/playRequest"
            },
            {
              "type": "object",
              "required": [
                "id",
                "method",
                "params"
              ],
              "properties": {
                "id": {
                  "$ref": "#/definitions/RequestId"
                },
                "method": {
                  "type": "string",
                  "enum": [
                    "turn/rest"
                  ]
                },
                "params": {
                  "type": "null"
                }
              },
              "title": "Turn/restRequest"
            }
          ],
          "definitions": {
            "AskForApproval": null,
            "ByteRange": null,
            "PlayParams": null,
            "RequestId": null,
            "TextElement": null,
            "UserInput": null
          }
        }"##]],
    );
}

#[test]
fn what_is_not_settled_is_shown_on_demand() {
    let has = |stage, text: &str| json_schemas(METHODS, stage).values().any(|it| it.to_string().contains(text));
    assert!(!has(MethodStage::Stable, "secretWish") && !has(MethodStage::Stable, "turn/rest"));
    assert!(has(MethodStage::Experimental, "secretWish") && has(MethodStage::Experimental, "turn/rest"));
}

#[test]
fn types_are_written_as_clients_read_them() {
    check_typescript(
        "v2/PlayParams.ts",
        MethodStage::Experimental,
        &expect![[r#"
        // Generated from the types of the app-server; changes are lost.
        import type { AskForApproval } from "./AskForApproval";
        import type { UserInput } from "./UserInput";

        /** Parameters of a method, as methods have them. */
        export type PlayParams = { threadId: string, input: Array<UserInput>, approvalPolicy?: AskForApproval | null, secretWish?: string | null, };
    "#]],
    );
    check_typescript(
        "v2/Thread.ts",
        MethodStage::Stable,
        &expect![[r#"
            // Generated from the types of the app-server; changes are lost.
            import type { GitInfo } from "./GitInfo";
            import type { SessionSource } from "./SessionSource";
            import type { Turn } from "./Turn";

            /** A thread: one session with its turns. */
            export type Thread = { id: string, preview: string, modelProvider: string, createdAt: number, updatedAt: number, path: string | null, cwd: string, cliVersion: string, source: SessionSource, gitInfo: GitInfo | null, turns: Array<Turn>, };
        "#]],
    );
    check_typescript(
        "v2/ItemStartedNotification.ts",
        MethodStage::Stable,
        &expect![[r#"
            // Generated from the types of the app-server; changes are lost.
            import type { ThreadItem } from "./ThreadItem";

            /** An item began. `item` is its first state; deltas and [`ItemCompletedNotification`] follow. */
            export type ItemStartedNotification = { item: ThreadItem, threadId: string, turnId: string, };
        "#]],
    );
    check_typescript(
        "v2/CodexErrorInfo.ts",
        MethodStage::Stable,
        &expect![[r#"
            // Generated from the types of the app-server; changes are lost.

            /** The kind of error, for programs. */
            export type CodexErrorInfo = "contextWindowExceeded" | "usageLimitExceeded" | "serverOverloaded" | { httpConnectionFailed: { httpStatusCode: number | null, }, } | { responseStreamConnectionFailed: { httpStatusCode: number | null, }, } | "internalServerError" | "unauthorized" | "badRequest" | "threadRollbackFailed" | "sandboxError" | { responseStreamDisconnected: { httpStatusCode: number | null, }, } | { responseTooManyFailedAttempts: { httpStatusCode: number | null, }, } | "other";
        "#]],
    );
    check_typescript(
        "ClientRequest.ts",
        MethodStage::Experimental,
        &expect![[r#"
        // Generated from the types of the app-server; changes are lost.
        import type { PlayParams } from "./v2/PlayParams";
        import type { RequestId } from "./RequestId";

        export type ClientRequest = { id: RequestId, method: "turn/play", params: PlayParams, } | { id: RequestId, method: "turn/rest", params: null, };
    "#]],
    );
    check_typescript(
        "v2/PatchChangeKind.ts",
        MethodStage::Stable,
        &expect![[r#"
        // Generated from the types of the app-server; changes are lost.

        /** What is done to a file. */
        export type PatchChangeKind = { type: "add", } | { type: "delete", } | { type: "update", move_path: string | null, };
    "#]],
    );
}

#[test]
fn every_reference_leads_somewhere() {
    for (file, schema) in json_schemas(METHODS, MethodStage::Experimental) {
        let mut found = Vec::new();
        references(&schema, &mut found);
        for name in found {
            let place = format!("/definitions/{name}");
            assert!(schema.pointer(&place).is_some(), "{file} has no {name}");
        }
    }
    let files = typescript(METHODS, MethodStage::Experimental);
    for (file, text) in &files {
        let folder = if file.starts_with("v2/") { "v2/" } else { "" };
        for from in text.lines().filter_map(|line| line.split_once(" from \"")).map(|(_, from)| from) {
            let from = from.trim_end_matches("\";");
            let path = match from.strip_prefix("../") {
                Some(path) => path.to_owned(),
                None => format!("{folder}{}", from.trim_start_matches("./")),
            };
            let is_there = files.contains_key(&format!("{path}.ts")) || path == "v2";
            assert!(is_there, "{file} takes from {from}");
        }
    }
}

#[test]
fn every_notification_has_a_schema_of_its_own() {
    let files = json_schemas(&[], MethodStage::Stable);
    let n_own = files.keys().filter(|file| file.ends_with("Notification.json")).count();
    // Three are not parameters: any notification of a server, of a client, of JSON-RPC.
    assert_eq!(n_own - 3, ServerNotification::METHODS.len());
}
