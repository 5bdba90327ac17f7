//! One change at a time between two requests, on every wire: whether the second one extends the first as the model
//! reads them, where it differs and why. Each change is judged twice, with the first request in memory and with its
//! record.

use pellucid_engine::assemble::assemble;
use pellucid_engine::continuity::Cause;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::NextRequest;
use pellucid_engine::continuity::Recorded;
use pellucid_engine::continuity::SentRequest;
use pellucid_engine::digest::Items;
use pellucid_engine::digest::Ledger;
use pellucid_engine::encode::Encoded;
use pellucid_engine::encode::Span;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::OutsideTools;
use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::mcp::offered;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::server_input::GivenParts;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::update::FactsChange;
use pellucid_engine::update::updates;
use pellucid_engine::user_message::Images;
use pellucid_engine::user_message::user_message;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::Verbosity;
use serde_json::json;

use crate::facts;
use crate::pack;
use crate::requests::wire;

const WIRES: [WireApi; 3] = [WireApi::Responses, WireApi::Chat, WireApi::Messages];

/// A session between two requests.
struct World {
    pack: Pack,
    facts: Facts,
    wire: WireSettings,
    order: Vec<ReadSection>,
    instructions: Vec<Fragment>,
    transcript: Transcript,
    cause: Option<Cause>,
}

/// The tools of a server, each a name with what it is for.
fn server_tools(tools: &[(&str, &str)]) -> Facts {
    let tool = |(name, description): &(&str, &str)| -> McpTool {
        let schema = json!({ "type": "object", "properties": {} });
        serde_json::from_value(json!({ "name": name, "description": description, "inputSchema": schema })).unwrap()
    };
    let servers = [("depot".to_owned(), tools.iter().map(tool).collect())];
    let tools = OutsideTools { mcp_tools: offered(&servers).into(), ..OutsideTools::default() };
    Facts { tools, ..facts() }
}

/// A tool that a client runs.
fn client_tool(name: &str) -> DynamicTool {
    let input_schema = json!({ "type": "object", "properties": {} });
    DynamicTool { name: name.to_owned(), description: "A tool.".to_owned(), input_schema }
}

const TOOLS: [(&str, &str); 3] = [("load", "Loads."), ("store", "Stores."), ("weigh", "Weighs.")];

impl World {
    fn new(api: WireApi) -> Self {
        let mut facts = server_tools(&TOOLS);
        facts.settings.model.support_verbosity = true;
        facts.settings.effort = Some(ReasoningEffort::Medium);
        facts.tools.dynamic_tools = ["one", "two", "three"].map(client_tool).to_vec();
        let wire = WireSettings { wire: api, ..wire() };
        let context = assemble(pack(), &facts);
        let mut transcript = Transcript::new(wire.ids, facts.settings.model.truncation_policy);
        for message in context.messages {
            transcript.record_draft(&Draft::from(message));
        }
        let mut world = Self {
            pack: pack().clone(),
            order: api.reading_order().to_vec(),
            instructions: context.instructions,
            facts,
            wire,
            transcript,
            cause: None,
        };
        world.say("Sort the depot.");
        let (name, call_id) = ("exec_command".to_owned(), "c1".to_owned());
        world.record(&Item::FunctionCall { id: None, name, arguments: "{}".to_owned(), call_id: call_id.clone() });
        world.record(&Item::FunctionCallOutput { call_id, output: ToolOutput::Text("sorted".to_owned()) });
        world.record(&Item::text("assistant", "Done."));
        world.say("Now the yard.");
        world
    }

    fn say(&mut self, text: &str) {
        self.transcript.record_draft(&user_message(
            &self.pack,
            &[UserInput::text(text)],
            &Images::new(),
            &GivenParts::default(),
        ));
    }

    fn record(&mut self, item: &Item) {
        self.transcript.record(item, &Origin::Model);
    }

    /// Changes facts as a session does: a message behind the conversation says what is different.
    fn update(&mut self, change: impl FnOnce(&mut Facts)) {
        let before = self.facts.clone();
        change(&mut self.facts);
        let change = FactsChange { pack: &self.pack, before: &before, after: &self.facts, previous_model: None };
        for message in updates(&change).messages {
            self.transcript.record_draft(&Draft::from(message));
        }
    }

    /// Makes the history again, with some items in place of others.
    fn make_again(&mut self, change: impl Fn(Vec<Item>) -> Vec<Item>) {
        let items = change(self.transcript.items().collect());
        self.transcript.clear();
        for item in items {
            self.record(&item);
        }
    }

    fn frame(&self) -> Frame {
        Frame::new(&self.pack, &self.facts, &self.instructions, &self.wire)
    }
}

/// A frame as a record keeps it: its bytes, and where they came from.
fn written_down(frame: &Frame) -> Frame {
    let encoded = |bytes: &[u8], spans: &[Span]| Encoded { bytes: bytes.to_vec(), spans: spans.to_vec() };
    Frame::recorded(
        frame.view(),
        encoded(frame.head_bytes(), frame.head_spans()),
        encoded(&frame.tail_bytes(), frame.tail_spans()),
    )
}

/// Sends two requests with a change between them: how the second continues the first, and what both are.
fn judge(api: WireApi, change: &dyn Fn(&mut World)) -> (Continuity, Vec<u8>, Vec<u8>) {
    let mut world = World::new(api);
    let frame = world.frame();
    let first = frame.request(&mut world.transcript);
    let account = Ledger::default().account(&frame, &first, world.transcript.rendered(), Items::Extended);
    let sent = SentRequest::new(&frame, world.transcript.shown_len(), world.transcript.rendered().len());
    let marks = account.marks.iter().map(|mark| (mark.n_items, mark.end, mark.beginning.short())).collect();
    let recorded = Recorded { frame: written_down(&frame), marks };
    let first = first.body();
    change(&mut world);
    let frame = world.frame();
    let request = frame.request(&mut world.transcript);
    let divergence = world.transcript.take_divergence();
    let left = world.transcript.take_left();
    let (items, order) = (world.transcript.rendered(), &world.order);
    let next = NextRequest { frame: &frame, request: &request, items, order, left, cause: world.cause, moved: None };
    let here = sent.continued_by(&next, divergence).unwrap();
    let mut later = recorded.continued_by(&next).unwrap();
    // The bytes of an item that differs may begin alike, which only shows while they are in memory.
    assert!(later.extends_bytes <= here.extends_bytes);
    later.extends_bytes = here.extends_bytes;
    assert_eq!(here, later, "a record tells the same");
    (here, first, request.body())
}

fn show(continuity: &Continuity) -> String {
    let mut text = match &continuity.broken {
        None if continuity.is_shortened => "shortened".to_owned(),
        None => "extended".to_owned(),
        Some(broken) => format!("broken: {}, {} {}", broken.cause.as_str(), broken.part, broken.source),
    };
    if continuity.kept_bytes == 0 {
        text += "; nothing kept";
    }
    for change in &continuity.changes {
        let unread = if change.is_read { "" } else { " unread" };
        text += &format!("; {} {}{unread}", change.how, change.part);
    }
    text
}

/// Checks what a change does on the Responses, Chat and Messages wires.
#[track_caller]
fn check_change(what: &str, change: impl Fn(&mut World), expected: [&str; 3]) {
    for (api, expected) in WIRES.into_iter().zip(expected) {
        let (continuity, first, second) = judge(api, &change);
        assert_eq!(show(&continuity), expected, "{what} on {api}");
        let extends = continuity.extends_bytes;
        assert_eq!(first[..extends], second[..extends], "{what} on {api}: what agrees byte for byte");
        assert!(continuity.kept_bytes <= continuity.previous_bytes);
        let Some(broken) = &continuity.broken else {
            assert!(continuity.is_shortened || continuity.kept_bytes == continuity.previous_bytes, "{what} on {api}");
            continue;
        };
        let lost = continuity.previous_bytes - continuity.kept_bytes;
        assert_eq!(broken.tokens_rebilled, tokens_of_bytes(lost), "{what} on {api}: one figure");
        let named = continuity.changes.iter().any(|it| it.is_read && it.part == *broken.part);
        assert!(named || broken.cause.as_str() != "tools", "{what} on {api}: the part is among the changes");
    }
}

#[test]
fn what_is_added_behind_the_conversation_extends_it() {
    let all = ["extended"; 3];
    check_change("nothing", |_| {}, all);
    check_change("an answer and another message", |world| world.say("And the dock."), all);
    check_change(
        "sandbox",
        |world| world.update(|facts| facts.settings.sandbox_policy = SandboxPolicy::DangerFullAccess),
        all,
    );
    check_change("environment", |world| world.update(|facts| facts.settings.cwd = "/elsewhere".to_owned()), all);
    check_change(
        "personality",
        |world| world.update(|facts| facts.settings.personality = Some(Personality::Friendly)),
        all,
    );
    let text = "# AGENTS.md instructions\n\nUse spaces.";
    check_change("an instruction file", |world| world.record(&Item::text("user", text)), all);
    check_change("a developer's message", |world| world.record(&Item::text("developer", "Be brief.")), all);
}

#[test]
fn another_model_has_another_cache() {
    check_change(
        "model",
        |world| world.facts.settings.model.slug = "gpt-5.3-codex".to_owned(),
        ["broken: model, model fact model; nothing kept; changed model"; 3],
    );
}

#[test]
fn other_instructions_are_read_again_from_their_start() {
    let expected = ["broken: instructions, base provided a file; changed base"; 3];
    check_change(
        "base instructions",
        |world| {
            let text = "Sort by weight.".to_owned();
            world.facts.settings.base_instructions = Some(Provided { place: "a file".to_owned(), text });
            world.instructions = assemble(&world.pack, &world.facts).instructions;
        },
        expected,
    );
    let layout = "name = \"mine\"\nfrom = \"codex\"\n";
    let files = [("pack.toml", layout), ("base/codex.md", "Mine.\n"), ("base/default.md", "Mine.\n")];
    let files: PackFiles = files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    for api in WIRES {
        let (continuity, ..) = judge(api, &|world| {
            world.pack = Pack::load_user(&files, "/packs/mine").unwrap();
            world.instructions = assemble(&world.pack, &world.facts).instructions;
        });
        let broken = continuity.broken.unwrap();
        assert_eq!((broken.cause, &*broken.part), (Cause::Instructions, "base"), "a pack on {api}");
        assert!(broken.source.starts_with("pack /packs/mine/base/"), "{}", broken.source);
    }
}

#[test]
fn tools_are_read_before_instructions_and_conversation() {
    let server = |tools: &'static [(&str, &str)]| {
        move |world: &mut World| world.facts.tools.mcp_tools = server_tools(tools).tools.mcp_tools
    };
    let store = "tools/mcp__depot__store";
    check_change(
        "a tool's description",
        server(&[TOOLS[0], ("store", "Stores more."), TOOLS[2]]),
        [&format!("broken: tools, {store} provided mcp_servers.depot; changed {store}"); 3].map(String::as_str),
    );
    check_change(
        "one tool more at the end",
        |world| world.facts.tools.dynamic_tools.push(client_tool("four")),
        ["broken: tools, tools/four provided dynamic_tools; added tools/four"; 3],
    );
    check_change(
        "one tool more within",
        server(&[TOOLS[0], ("move", "Moves."), TOOLS[1], TOOLS[2]]),
        ["broken: tools, tools/mcp__depot__move provided mcp_servers.depot; added tools/mcp__depot__move"; 3],
    );
    check_change(
        "one tool less",
        server(&[TOOLS[0], TOOLS[2]]),
        [&format!("broken: tools, {store} provided mcp_servers.depot; removed {store}"); 3].map(String::as_str),
    );
    check_change(
        "the last tool less",
        |world| drop(world.facts.tools.dynamic_tools.pop()),
        ["broken: tools, tools/three provided dynamic_tools; removed tools/three"; 3],
    );
    check_change(
        "tools in another order",
        |world| world.facts.tools.dynamic_tools.rotate_right(1),
        ["broken: tools, tools/three provided dynamic_tools; moved tools/three"; 3],
    );
    let gone = "removed tools/mcp__depot__load; removed tools/mcp__depot__store; removed tools/mcp__depot__weigh";
    check_change(
        "a server less",
        server(&[]),
        [&format!("broken: tools, tools/mcp__depot__load provided mcp_servers.depot; {gone}"); 3].map(String::as_str),
    );
}

#[test]
fn an_output_schema_is_read_first_where_it_is_read() {
    let set = |world: &mut World| world.wire.output_schema = Some(json!({ "type": "object" }));
    let unread = "extended; added schema unread";
    check_change(
        "a schema",
        set,
        ["broken: schema, schema provided output schema; nothing kept; added schema", unread, unread],
    );
    let first = |world: &mut World| {
        world.order.insert(0, ReadSection::Schema);
        world.order.dedup();
        set(world);
    };
    check_change(
        "a schema, with `cache_order`",
        first,
        ["broken: schema, schema provided output schema; nothing kept; added schema"; 3],
    );
}

#[test]
fn settings_are_not_read_as_text() {
    let effort = |world: &mut World| world.facts.settings.effort = Some(ReasoningEffort::High);
    check_change(
        "effort",
        effort,
        [
            "extended; changed settings/reasoning.effort unread",
            "extended; changed settings/reasoning_effort unread",
            "extended; changed settings/output_config.effort unread",
        ],
    );
    check_change(
        "summary",
        |world| world.facts.settings.summary = ReasoningSummary::None,
        [
            "extended; removed settings/reasoning.summary unread",
            "extended",
            "extended; changed settings/thinking.display unread",
        ],
    );
    check_change(
        "verbosity",
        |world| world.facts.settings.verbosity = Some(Verbosity::High),
        ["extended; added settings/text.verbosity unread", "extended; added settings/verbosity unread", "extended"],
    );
    check_change(
        "effort, with `cache_order`",
        |world| {
            world.order.insert(0, ReadSection::Settings);
            effort(world);
        },
        [
            "broken: settings, settings/reasoning.effort fact reasoning effort; changed settings/reasoning.effort",
            "broken: settings, settings/reasoning_effort fact reasoning effort; changed settings/reasoning_effort",
            "broken: settings, settings/output_config.effort fact reasoning effort; changed settings/output_config.effort",
        ],
    );
}

#[test]
fn a_history_that_changes_is_read_again_from_the_item_that_did() {
    let other = |items: Vec<Item>| -> Vec<Item> {
        let change = |item: Item| match item {
            Item::FunctionCallOutput { call_id, .. } => {
                Item::FunctionCallOutput { call_id, output: ToolOutput::Text("not sorted".to_owned()) }
            }
            item => item,
        };
        items.into_iter().map(change).collect()
    };
    for api in WIRES {
        let (continuity, ..) = judge(api, &|world: &mut World| world.make_again(other));
        let broken = continuity.broken.as_ref().unwrap();
        assert_eq!(broken.cause, Cause::Items, "an older item on {api}");
        assert!(continuity.kept_bytes > 0 && broken.tokens_rebilled > 0, "{continuity:?}");
    }
    let summary = |_: Vec<Item>| vec![Item::text("user", "Summary: sorted.")];
    for (cause, word) in [(Cause::Compaction, "compaction"), (Cause::Memory, "memory")] {
        for api in WIRES {
            let (continuity, ..) = judge(api, &|world: &mut World| {
                world.make_again(summary);
                world.cause = Some(cause);
            });
            assert_eq!(continuity.broken.unwrap().cause.as_str(), word, "{api}");
        }
    }
}

#[test]
fn a_roll_back_shortens_unless_what_it_leaves_is_not_as_it_was() {
    for api in WIRES {
        let (continuity, ..) = judge(api, &|world: &mut World| {
            world.transcript.roll_back(1);
            world.cause = Some(Cause::RollBack);
            world.say("The yard, but slowly.");
        });
        assert!(continuity.is_shortened && continuity.broken.is_none(), "{api}: {continuity:?}");
        assert!(0 < continuity.kept_bytes && continuity.kept_bytes < continuity.previous_bytes, "{continuity:?}");
        let (continuity, ..) = judge(api, &|world: &mut World| {
            world.transcript.roll_back(1);
            world.cause = Some(Cause::RollBack);
            world.make_again(|mut items| {
                items[0] = Item::text("developer", "Other rules.");
                items
            });
        });
        let broken = continuity.broken.unwrap();
        assert_eq!(broken.cause.as_str(), "roll_back", "{api}");
    }
}
