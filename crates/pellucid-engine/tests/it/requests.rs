//! Requests: their bytes, and the account of them.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::server_input::GivenParts;
use pellucid_engine::tokens::Counter;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::user_message::Images;
use pellucid_engine::user_message::user_message;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::document;
use crate::facts;
use crate::pack;
use crate::session_id;

pub struct Session {
    pub frame: Frame,
    pub transcript: Transcript,
}

pub fn session(facts: &Facts, wire: &WireSettings, prompt: &str) -> Session {
    session_with(pack(), facts, wire, prompt)
}

pub fn session_with(pack: &Pack, facts: &Facts, wire: &WireSettings, prompt: &str) -> Session {
    let context = assemble(pack, facts);
    let mut transcript = Transcript::new(wire.ids, facts.settings.model.truncation_policy);
    for message in context.messages {
        transcript.record_draft(&Draft::from(message));
    }
    transcript.record_draft(&user_message(pack, &[UserInput::text(prompt)], &Images::new(), &GivenParts::default()));
    Session { frame: Frame::new(pack, facts, &context.instructions, wire), transcript }
}

pub fn wire() -> WireSettings {
    WireSettings::new(session_id())
}

/// Calls every byte a token.
struct InBytes;

impl Counter for InBytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

pub fn body(session: &mut Session) -> Vec<u8> {
    session.frame.request(&mut session.transcript).body()
}

/// Checks the settings of a request: everything but its long parts.
#[track_caller]
fn check_settings(change: impl FnOnce(&mut Facts, &mut WireSettings), expected: &Expect) {
    let (mut facts, mut wire) = (facts(), wire());
    change(&mut facts, &mut wire);
    let body = body(&mut session(&facts, &wire, "hello"));
    let mut value: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(serde_json::to_vec(&value).unwrap(), body, "the body is compact JSON");
    let tools = value["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default().to_owned();
    value["tools"] = tools.iter().map(name).collect::<Vec<_>>().join(" ").into();
    value["instructions"] = json!("…");
    value["input"] = value["input"].as_array().unwrap().len().into();
    expected.assert_eq(&value.to_string());
}

#[test]
fn a_plain_request_has_these_settings() {
    check_settings(
        |_, _| {},
        &expect![[
            r#"{"model":"gpt-5.2-codex","instructions":"…","input":3,"tools":"exec_command write_stdin update_plan request_user_input apply_patch web_search view_image","tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"019a0000-0000-7000-8000-000000000001"}"#
        ]],
    );
}

#[test]
fn effort_summary_verbosity_and_schema_follow_the_settings() {
    check_settings(
        |facts, wire| {
            facts.settings.effort = Some(ReasoningEffort::XHigh);
            facts.settings.summary = ReasoningSummary::None;
            facts.settings.verbosity = Some(Verbosity::High);
            facts.settings.model.support_verbosity = true;
            wire.output_schema = Some(json!({ "type": "object", "b": 1, "a": 2 }));
        },
        &expect![[
            r#"{"model":"gpt-5.2-codex","instructions":"…","input":3,"tools":"exec_command write_stdin update_plan request_user_input apply_patch web_search view_image","tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"xhigh"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"019a0000-0000-7000-8000-000000000001","text":{"verbosity":"high","format":{"type":"json_schema","strict":true,"schema":{"type":"object","b":1,"a":2},"name":"codex_output_schema"}}}"#
        ]],
    );
}

#[test]
fn an_unknown_model_gets_the_least() {
    check_settings(
        |facts, wire| {
            facts.settings.model.slug = "mystery".to_owned();
            facts.settings.model.supports_reasoning_summaries = false;
            facts.settings.model.supports_parallel_tool_calls = false;
            facts.settings.model.apply_patch_tool_type = None;
            facts.settings.verbosity = Some(Verbosity::Low);
            wire.ids = ItemIds::Sent;
        },
        &expect![[
            r#"{"model":"mystery","instructions":"…","input":3,"tools":"exec_command write_stdin update_plan request_user_input web_search view_image","tool_choice":"auto","parallel_tool_calls":false,"reasoning":null,"store":true,"stream":true,"include":[],"prompt_cache_key":"019a0000-0000-7000-8000-000000000001"}"#
        ]],
    );
}

#[track_caller]
fn check_tools(change: impl FnOnce(&mut Facts), expected: &Expect) {
    let mut facts = facts();
    change(&mut facts);
    let pack = pack();
    let offered = pellucid_engine::tool_list::offered(pack, &facts);
    let name = |tool: &pellucid_engine::tool_list::OfferedTool<'_>| {
        format!("{}{}", tool.file.name, if tool.slot.parallel { "+" } else { "" })
    };
    expected.assert_eq(&offered.iter().map(name).collect::<Vec<_>>().join(" "));
}

#[test]
fn tools_follow_features_and_model() {
    check_tools(
        |facts| facts.settings.features.set(Feature::UnifiedExec, false),
        &expect!["shell_command+ update_plan request_user_input apply_patch web_search view_image+"],
    );
    check_tools(
        |facts| facts.settings.features.set(Feature::Apps, true),
        &expect![
            "exec_command+ write_stdin list_mcp_resources+ list_mcp_resource_templates+ read_mcp_resource+ update_plan request_user_input search_tool_bm25+ apply_patch web_search view_image+"
        ],
    );
    check_tools(
        |facts| facts.settings.features.set(Feature::ShellTool, false),
        &expect!["update_plan request_user_input apply_patch web_search view_image+"],
    );
    check_tools(
        |facts| {
            facts.settings.features.set(Feature::JsRepl, true);
            facts.settings.features.set(Feature::JsReplToolsOnly, true);
        },
        &expect!["js_repl js_repl_reset"],
    );
    check_tools(
        |facts| {
            facts.settings.features.set(Feature::MultiAgent, true);
            facts.settings.features.set(Feature::CollaborationModes, false);
            facts.tools.has_mcp_servers = true;
            facts.settings.web_search = WebSearchMode::Disabled;
            facts.settings.model.experimental_supported_tools = vec!["list_dir".to_owned(), "grep_files".to_owned()];
            facts.settings.model.apply_patch_tool_type = Some(pellucid_protocol::model::ApplyPatchType::Function);
        },
        &expect![
            "exec_command+ write_stdin list_mcp_resources+ list_mcp_resource_templates+ read_mcp_resource+ update_plan apply_patch grep_files+ list_dir+ view_image+ spawn_agent send_input resume_agent wait close_agent"
        ],
    );
}

#[test]
fn a_tool_is_written_in_canonical_order() {
    let body = body(&mut session(&facts(), &wire(), "hello"));
    let value: Value = serde_json::from_slice(&body).unwrap();
    let mut plan = value["tools"][2].clone();
    blank_descriptions(&mut plan);
    expect![[r#"{"type":"function","name":"update_plan","description":"…","strict":false,"parameters":{"type":"object","properties":{"explanation":{"type":"string"},"plan":{"type":"array","items":{"type":"object","properties":{"status":{"type":"string","description":"…"},"step":{"type":"string"}},"required":["step","status"],"additionalProperties":false},"description":"…"}},"required":["plan"],"additionalProperties":false}}"#]]
    .assert_eq(&plan.to_string());
}

fn blank_descriptions(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if key == "description" && value.is_string() {
                    *value = "…".into();
                } else {
                    blank_descriptions(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(blank_descriptions),
        _ => {}
    }
}

#[test]
fn stored_items_carry_their_ids_last() {
    let facts = facts();
    let wire = WireSettings { ids: ItemIds::Sent, ..wire() };
    let mut session = session(&facts, &wire, "hello");
    let call = json!({ "type": "function_call", "id": "fc_1", "name": "x", "arguments": "{}", "call_id": "c1" });
    session.transcript.record(&serde_json::from_value(call).unwrap(), &Origin::Model);
    let body = String::from_utf8(body(&mut session)).unwrap();
    assert!(body.contains(r#",{"type":"function_call","name":"x","arguments":"{}","call_id":"c1","id":"fc_1"},"#));
}

fn check_account(session: &mut Session) {
    let body = body(session);
    let report = Report::new(&session.frame, session.transcript.rendered(), Vec::new(), Vec::new());
    let mut end = 0;
    for row in &report.rows {
        assert_eq!(row.start, end, "no gap, no overlap");
        assert!(row.bytes > 0);
        end += row.bytes;
    }
    assert_eq!(end, body.len());
    assert_eq!(report.bytes(), body.len());
    assert_eq!(report.tokens(), report.bytes().div_ceil(4), "the rows add up to the estimate of the whole");
    serde_json::from_slice::<Value>(&body).expect("the body is JSON");
}

pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[ -~\n\t\"\\\\é日]{0,80}"]
}

/// Any of the API formats.
pub fn any_api() -> impl Strategy<Value = WireApi> {
    (0..WireApi::ALL.len()).prop_map(|n| WireApi::ALL[n])
}

prop_compose! {
    pub fn any_facts()(
        cwd in "/[a-z \"é]{0,20}",
        home in proptest::option::of(any_text()),
        documents in prop::collection::vec(any_text(), 0..5),
        budget in 0_usize..200,
        instructions in proptest::option::of(any_text()),
        workspace in any::<bool>(),
        roots in prop::collection::vec("/[a-z]{1,8}", 0..3),
        on in prop::collection::vec(0..Feature::ALL.len(), 0..6),
    ) -> Facts {
        let mut facts = facts();
        facts.settings.cwd = cwd;
        facts.world.home_document = home.map(|text| document("/home/AGENTS.md", &text));
        facts.world.project_documents =
            documents.iter().enumerate().map(|(n, text)| document(&format!("/p/{n}/AGENTS.md"), text)).collect();
        facts.settings.project_document_bytes_max = budget;
        facts.settings.developer_instructions =
            instructions.map(|text| pellucid_engine::facts::Provided { place: "config".to_owned(), text });
        if workspace {
            facts.settings.sandbox_policy = SandboxPolicy::WorkspaceWrite {
                writable_roots: Vec::new(), network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false,
            };
            facts.settings.writable_roots = roots;
        }
        for feature in on {
            facts.settings.features.set(Feature::ALL[feature], true);
        }
        facts
    }
}

fn any_item() -> impl Strategy<Value = (Item, Origin)> {
    prop_oneof![
        any_text().prop_map(|text| (Item::text("assistant", text), Origin::Model)),
        any_text().prop_map(|text| (Item::text("system", text), Origin::Model)),
        any_text().prop_map(|arguments| {
            let call =
                Item::FunctionCall { id: None, name: "update_plan".to_owned(), arguments, call_id: "c".to_owned() };
            (call, Origin::Model)
        }),
        any_text().prop_map(|text| {
            let output = Item::FunctionCallOutput { call_id: "c".to_owned(), output: ToolOutput::Text(text) };
            (output, Origin::Tool { name: "update_plan".into() })
        }),
        Just((Item::Other, Origin::Model)),
    ]
}

/// What a turn records between two requests: messages, and calls with their outputs.
fn any_step() -> impl Strategy<Value = Vec<(Item, Origin)>> {
    prop_oneof![
        any_text().prop_map(|text| vec![(Item::text("assistant", text), Origin::Model)]),
        (any_text(), any_text(), 0..1000_u32).prop_map(|(arguments, text, id)| {
            let (name, call_id) = ("shell".to_owned(), id.to_string());
            let call = Item::FunctionCall { id: None, name, arguments, call_id: call_id.clone() };
            let output = Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text) };
            vec![(call, Origin::Model), (output, Origin::Tool { name: "shell".into() })]
        }),
    ]
}

proptest! {
    #[test]
    fn the_report_covers_every_byte_once(
        facts in any_facts(),
        prompt in any_text(),
        items in prop::collection::vec(any_item(), 0..12),
        api in any_api(),
    ) {
        let mut session = session(&facts, &WireSettings { wire: api, ..wire() }, &prompt);
        check_account(&mut session);
        for (item, origin) in &items {
            session.transcript.record(item, origin);
        }
        check_account(&mut session);
    }

    #[test]
    fn a_count_is_of_the_text_before_it_was_escaped(facts in any_facts(), prompt in any_text()) {
        let mut session = session(&facts, &wire(), &prompt);
        let body = body(&mut session);
        let mut report = Report::new(&session.frame, session.transcript.rendered(), Vec::new(), Vec::new());
        let estimate = report.clone();
        report.count(&body, &InBytes);
        prop_assert_eq!(&*report.counted_by, "bytes");
        for (row, estimated) in report.rows.iter().zip(&estimate.rows) {
            // A whole value is escaped within, and only the count undoes that.
            let is_value = row.raw_bytes == row.bytes;
            prop_assert!(if is_value { row.tokens <= row.bytes } else { row.tokens == row.raw_bytes }, "{:?}", row);
            prop_assert_eq!((row.start, row.bytes), (estimated.start, estimated.bytes));
        }
    }

    #[test]
    fn a_request_extends_the_one_before(
        facts in any_facts(),
        rounds in prop::collection::vec(prop::collection::vec(any_step(), 0..4), 1..5),
        api in any_api(),
    ) {
        let mut session = session(&facts, &WireSettings { wire: api, ..wire() }, "go");
        let mut before = body(&mut session);
        let tail: usize = session.frame.tail_spans().iter().map(|span| span.len).sum();
        for items in rounds {
            let end = before.len() - tail - session.transcript.closing().len();
            for (item, origin) in items.iter().flatten() {
                session.transcript.record(item, origin);
            }
            let next = body(&mut session);
            prop_assert!(next.starts_with(&before[..end]));
            before = next;
        }
    }

    #[test]
    fn same_facts_give_same_bytes(facts in any_facts(), api in any_api()) {
        let wire = WireSettings { wire: api, ..wire() };
        prop_assert_eq!(body(&mut session(&facts, &wire, "x")), body(&mut session(&facts.clone(), &wire, "x")));
    }
}
