//! Packs of users: files that replace those of a built-in pack, and the origins of texts then.

use std::collections::BTreeMap;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::encode::Encoder;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::tool_list;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::Personality;

use crate::facts;
use crate::model;

const FOLDER: &str = "/packs/mine";

/// The files of a pack over the built-in one.
fn files(files: &[(&str, &str)]) -> PackFiles {
    let mut all = PackFiles::from([("pack.toml".to_owned(), "name = 'mine'\nfrom = 'codex'\n".to_owned())]);
    all.extend(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    all
}

fn pack(of: &[(&str, &str)]) -> Pack {
    Pack::load_user(&files(of), FOLDER).unwrap()
}

/// Checks what the user's files make of the first context: texts of theirs with their origins.
#[track_caller]
fn check_own(of: &[(&str, &str)], change: impl FnOnce(&mut Facts), expected: &Expect) {
    let mut facts = facts();
    change(&mut facts);
    let context = assemble(&pack(of), &facts);
    let mut own = String::new();
    let mut show = |slot: &str, fragments: &[Fragment]| {
        for Fragment { origin, text } in fragments {
            if let Origin::Pack { file } = origin
                && file.starts_with(FOLDER)
            {
                own += &format!("{slot}: {text:?} from {file}\n");
            }
        }
    };
    show("instructions", &context.instructions);
    for message in &context.messages {
        show(&message.slot, &message.fragments);
    }
    expected.assert_eq(&own);
}

#[track_caller]
fn check_instructions(models: &str, change: impl FnOnce(&mut Facts), expected: &Expect) {
    let mut facts = facts();
    change(&mut facts);
    let context = assemble(&pack(&[("models.json", models), ("base/default.md", "Default.")]), &facts);
    let origins: Vec<&str> = context.instructions.iter().map(|fragment| fragment.origin.detail()).collect();
    let items: Vec<&str> = context.messages.iter().map(|message| &*message.slot).collect();
    expected.assert_eq(&format!("{}\nfrom {}\n{}", concat(&context.instructions), origins.join(", "), items.join(" ")));
}

#[track_caller]
fn check_refused(of: &[(&str, &str)], expected: &Expect) {
    let error = Pack::load_user(&files(of), FOLDER).unwrap_err().to_string();
    // Which names are known is the subject of other tests.
    expected.assert_eq(error.split("; known: ").next().unwrap());
}

#[test]
fn a_file_takes_the_place_of_the_one_beneath() {
    check_own(
        &[
            ("permissions/approval_never.md", "Ask nobody.\n"),
            ("permissions/sandbox_read_only.md", "Read, {network_access}.\n\n"),
        ],
        |_| {},
        &expect![[r#"
            permissions: "Read, " from /packs/mine/permissions/sandbox_read_only.md
            permissions: "." from /packs/mine/permissions/sandbox_read_only.md
            permissions: "Ask nobody.\n" from /packs/mine/permissions/approval_never.md
        "#]],
    );
}

#[test]
fn without_files_of_its_own_it_is_the_pack_beneath() {
    let (mine, codex) = (pack(&[]), Pack::builtin("codex").unwrap());
    assert_eq!(mine.name, "mine");
    assert_eq!((&mine.layout.slots, &mine.layout.tools), (&codex.layout.slots, &codex.layout.tools));
    assert_eq!(assemble(&mine, &facts()), assemble(&codex, &facts()));
}

#[test]
fn a_layout_of_its_own_replaces_only_what_it_lays_out() {
    let layout = "name = 'mine'\nfrom = 'codex'\n[[slot]]\nid = 'where'\ntarget = 'user'\nsource = 'environment'\n";
    let pack = pack(&[("pack.toml", layout)]);
    let context = assemble(&pack, &facts());
    assert_eq!(context.messages.iter().map(|message| &*message.slot).collect::<Vec<_>>(), ["where"]);
    assert_eq!(pack.layout.tools, Pack::builtin("codex").unwrap().layout.tools);
}

#[test]
fn a_whole_pack_needs_nothing_beneath() {
    let mut whole = Pack::builtin_files("codex").unwrap();
    whole.insert("pack.toml".to_owned(), whole["pack.toml"].replace("name = \"codex\"", "name = \"whole\""));
    assert_eq!(Pack::load_user(&whole, FOLDER).unwrap().name, "whole");
    whole.remove("turn/aborted.md");
    expect!["turn/aborted.md: the pack has no such file"]
        .assert_eq(&Pack::load_user(&whole, FOLDER).unwrap_err().to_string());
}

/// Checks the descriptions and the grammar of tools that come from the user's files.
#[track_caller]
fn check_tools(of: &[(&str, &str)], expected: &Expect) {
    let (pack, facts) = (pack(of), facts());
    let mut encoder = Encoder::new(&tool_list::part());
    let tools = tool_list::offered(&pack, &facts);
    tool_list::ToolList { tools: &tools, given: &[], pack: &pack, facts: &facts }
        .encode(&mut encoder, WireApi::Responses);
    let encoded = encoder.finish();
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    let mut start = 0;
    for span in &encoded.spans {
        let text = String::from_utf8_lossy(&encoded.bytes[start..start + span.len]);
        start += span.len;
        if let Origin::Pack { file } = &span.origin
            && file.starts_with(FOLDER)
        {
            own.entry(format!("{} from {file}", span.part)).or_default().push_str(&text);
        }
    }
    expected.assert_eq(&own.iter().map(|(place, text)| format!("{place}: {text}\n")).collect::<String>());
}

#[test]
fn single_descriptions_and_the_grammar_have_files_of_their_own() {
    check_tools(
        &[
            ("tools/update_plan.md", "Plan.\n"),
            ("tools/update_plan.plan.status.md", "How far."),
            ("tools/update_plan.explanation.md", "Why."),
            ("tools/request_user_input.md", "Ask in {modes}."),
            ("tools/apply_patch_grammar.lark", "start: \"x\"\n"),
        ],
        &expect![[r#"
            tools/apply_patch from /packs/mine/tools/apply_patch_grammar.lark: "start: \"x\"\n"
            tools/request_user_input from /packs/mine/tools/request_user_input.md: Ask in .
            tools/update_plan from /packs/mine/tools/update_plan.explanation.md: Why.
            tools/update_plan from /packs/mine/tools/update_plan.md: Plan.\n
            tools/update_plan from /packs/mine/tools/update_plan.plan.status.md: How far.
        "#]],
    );
}

#[test]
fn a_whole_tool_can_be_described_anew() {
    check_tools(
        &[
            (
                "tools/view_image.toml",
                "kind = 'function'\ndescription = 'Look.'\n[[parameter]]\nname = 'path'\ntype = 'string'\nrequired = true\n",
            ),
            ("tools/view_image.path.md", "Where."),
        ],
        &expect![[r#"
            tools/view_image from /packs/mine/tools/view_image.path.md: Where.
            tools/view_image from /packs/mine/tools/view_image.toml: {"type":"function","name":"view_image","description":"Look.","strict":false,"parameters":{"type":"object","properties":{"path":{"type":"string","description":""}},"required":["path"],"additionalProperties":false}}
        "#]],
    );
}

const MODELS: &str = r#"{"models":[
    {"slug":"gpt-5","base_instructions":"Five.","priority":3},
    {"slug":"gpt-5.2-codex","base_instructions":"Plain.","model_messages":{"instructions_template":"Hi. {{ personality }} Bye.",
        "instructions_variables":{"personality_default":"","personality_friendly":"Warm.","personality_pragmatic":"Terse."}}},
    {"slug":"half","base_instructions":"Half.","model_messages":{"instructions_variables":{"personality_pragmatic":"Terse."}}}
]}"#;

#[test]
fn models_json_gives_texts_by_the_longest_name() {
    check_instructions(
        MODELS,
        |_| {},
        &expect![[r#"
        Hi. Terse. Bye.
        from /packs/mine/models.json, /packs/mine/models.json, /packs/mine/models.json
        permissions environment"#]],
    );
    check_instructions(
        MODELS,
        |facts| facts.settings.model = model("gpt-5.2-codex-mini"),
        &expect![[r#"
        Hi. Terse. Bye.
        from /packs/mine/models.json, /packs/mine/models.json, /packs/mine/models.json
        permissions environment"#]],
    );
    check_instructions(
        MODELS,
        |facts| facts.settings.model = model("gpt-5.1"),
        &expect![[r#"
        Five.
        from /packs/mine/models.json
        permissions environment"#]],
    );
    check_instructions(
        MODELS,
        |facts| facts.settings.model = model("other"),
        &expect![[r#"
        Default.
        from /packs/mine/base/default.md
        permissions environment"#]],
    );
}

#[test]
fn models_json_follows_tone_and_feature() {
    check_instructions(
        MODELS,
        |facts| facts.settings.personality = Some(Personality::Friendly),
        &expect![[r#"
        Hi. Warm. Bye.
        from /packs/mine/models.json, /packs/mine/models.json, /packs/mine/models.json
        permissions environment"#]],
    );
    check_instructions(
        MODELS,
        |facts| facts.settings.features.set(Feature::Personality, false),
        &expect![[r#"
        Plain.
        from /packs/mine/models.json
        permissions environment"#]],
    );
    // Without a template the tone becomes a separate message.
    check_instructions(
        MODELS,
        |facts| facts.settings.model = model("half"),
        &expect![[r#"
        Half.
        from /packs/mine/models.json
        permissions personality environment"#]],
    );
}

#[test]
fn the_layouts_texts_win_over_a_shorter_name() {
    let models = r#"{"models":[{"slug":"gpt-5","base_instructions":"Five."}]}"#;
    let context = assemble(&pack(&[("models.json", models)]), &facts());
    assert_eq!(context.instructions[0].origin.detail(), "base/codex.md");
}

#[test]
fn what_is_wrong_is_refused_with_the_users_path() {
    check_refused(
        &[("models.json", "{\"models\": 5}")],
        &expect!["/packs/mine/models.json:1:12: invalid type: integer `5`, expected a sequence"],
    );
    check_refused(&[("models.json", "")], &expect!["/packs/mine/models.json:1:0: EOF while parsing a value"]);
    check_refused(&[("pack.toml", "from = 'codex'\n")], &expect!["/packs/mine/pack.toml:1:1: missing field `name`"]);
    check_refused(
        &[(
            "pack.toml",
            "name = 'x'\nfrom = 'codex'\n[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'nothing'\ngate = ['nobody']\n",
        )],
        &expect!["/packs/mine/pack.toml:6: unknown source `nothing`"],
    );
    check_refused(
        &[(
            "pack.toml",
            "name = 'x'\nfrom = 'codex'\n[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\ntemplate = 'around.md'\n",
        )],
        &expect!["around.md: the pack has no such file"],
    );
    check_refused(
        &[("pack.toml", "name = 'x'\nfrom = 'codex'\n[[tool]]\nfile = 'mine'\n")],
        &expect!["tools/mine.toml: the pack has no such file"],
    );
    check_refused(
        &[("tools/wait.toml", "kind = 5\n")],
        &expect!["/packs/mine/tools/wait.toml:1:8: wanted string or table"],
    );
    check_refused(
        &[("user_instructions.md", "{{ text }}\n{{ date }}")],
        &expect![
            "/packs/mine/user_instructions.md:2: unknown variable `{{ date }}`; known here: `{{ text }}`, `{{ directory }}`"
        ],
    );
    check_refused(
        &[("review/exit_success.xml", "{{ result }}")],
        &expect!["/packs/mine/review/exit_success.xml:1: unknown variable `{{ result }}`; known here: `{results}`"],
    );
}
