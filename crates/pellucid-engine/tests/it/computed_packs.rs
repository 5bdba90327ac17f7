//! Packs that compute: templates, values and conditions of a pack that is none of the built-in ones.

use std::collections::BTreeMap;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::Context;
use pellucid_engine::assemble::assemble;
use pellucid_engine::computed::usual_mode;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::Why;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::why_text;
use pellucid_protocol::settings::PromptMode;
use proptest::prelude::*;
use serde_json::json;

use crate::fixture;

/// A layout with one message, and the files beside it.
fn files(layout: &str, others: &[(&str, &str)]) -> BTreeMap<String, String> {
    let layout = format!("name = \"mine\"\nfrom = \"codex\"\n{layout}");
    let others = others.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    others.chain([("pack.toml".to_owned(), layout)]).collect()
}

const SLOT: &str = "[[slot]]\nid = \"only\"\ntarget = \"developer\"\nfile = \"only.jinja\"\n";

fn load(layout: &str, others: &[(&str, &str)]) -> Result<Pack, String> {
    Pack::load_user(&files(layout, others), "/packs/mine").map_err(|error| error.to_string())
}

fn facts() -> Facts {
    let mut facts = fixture::facts();
    facts.world.project_documents =
        vec![Document::whole("/p/AGENTS.md", "# Rules\nTest it.\n"), Document::whole("/p/a/AGENTS.md", "Mind ütf.\n")];
    facts.system.given = json!({ "team": "roofers", "size": 3 }).as_object().unwrap().clone();
    facts
}

/// What the only message of a pack says, with the origin of each piece, and what is left out.
fn shown(context: &Context) -> String {
    let piece = |fragment: &Fragment| match &fragment.origin {
        Origin::File { path, range, .. } => format!("[{} {}-{}]{}", &**path, range.start, range.end, fragment.text),
        origin => format!("[{} {}]{}", origin.kind(), origin.detail(), fragment.text),
    };
    let mut shown: String = context.messages.iter().flat_map(|message| &message.fragments).map(piece).collect();
    for omission in &context.omissions {
        shown += &format!("\nomitted: {} {}: {}", omission.slot, omission.what, why_text(&omission.why));
    }
    shown
}

#[track_caller]
fn check_message(template: &str, expected: &Expect) {
    let layout = format!("[facts]\nteam = \"none\"\n[values]\nn_rules = \"documents | length\"\n{SLOT}");
    // Every pack of these tests looks at what the layout declares, so that it is not refused for having no effect.
    let template = format!("{{% set _ = [given, n_rules] %}}{template}");
    let pack = load(&layout, &[("only.jinja", &template)]).unwrap();
    expected.assert_eq(&shown(&assemble(&pack, &facts())));
}

#[test]
fn a_message_is_made_of_facts_files_and_words_each_with_its_origin() {
    check_message(
        "Team {{ given.team }} has {{ n_rules }} files in {{ cwd }}:\n{% for file in documents %}\n- {{ file.path }}: {{ file.text | lines | last }}\n{% endfor %}\n",
        &expect![[r#"
            [pack /packs/mine/only.jinja]Team [fact given.team]roofers[pack /packs/mine/only.jinja] has [pack /packs/mine/pack.toml]2[pack /packs/mine/only.jinja] files in [fact cwd]/home/ada/proj[pack /packs/mine/only.jinja]:
            - [fact documents]/p/AGENTS.md[pack /packs/mine/only.jinja]: [/p/AGENTS.md 8-16]Test it.[pack /packs/mine/only.jinja]
            - [fact documents]/p/a/AGENTS.md[pack /packs/mine/only.jinja]: [/p/a/AGENTS.md 0-10]Mind ütf.
            omitted: only /p/AGENTS.md: left out by the pack: the template uses 8 of its 17 bytes"#]],
    );
}

#[test]
fn what_is_left_out_has_the_reason_of_the_template() {
    check_message(
        "{% for file in documents %}{% if file.text is startingwith(\"#\") %}{% do omit(file.path, \"it begins with a heading\") %}{% else %}{{ file.text }}{% endif %}{% endfor %}",
        &expect![[r#"
            [/p/a/AGENTS.md 0-10]Mind ütf.
            omitted: only /p/AGENTS.md: left out by the pack: it begins with a heading"#]],
    );
}

#[test]
fn a_template_that_fails_leaves_its_slot_out_and_the_turn_goes_on() {
    check_message(
        "{{ given.nobody }}",
        &expect![[r#"

        omitted: only only.jinja: /packs/mine/only.jinja:1:34: `nobody` is not defined; test it with `is defined`, or give a value with `default`"#]],
    );
    check_message(
        "{{ cwd + 1 }}",
        &expect![[r#"

        omitted: only only.jinja: /packs/mine/only.jinja:1:34: cannot calculate with a text and a number"#]],
    );
    check_message(
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        &expect![[r#"

            omitted: only only.jinja: /packs/mine/only.jinja:1:69: it makes more than 16777216 bytes of text"#]],
    );
}

#[test]
fn a_condition_that_fails_closes_its_slot_and_says_so() {
    let layout = format!("{SLOT}gate = ['if:given.nobody']\n");
    let pack = load(&layout, &[("only.jinja", "hello {{ given.team }}")]).unwrap();
    expect![[r#"

        omitted: only only: the condition `given.nobody` fails: `nobody` is not defined; test it with `is defined`, or give a value with `default`"#]].assert_eq(&shown(&assemble(&pack, &facts())));
    let layout = format!("{SLOT}gate = ['not:if:given.team == \"roofers\"']\n");
    let pack = load(&layout, &[("only.jinja", "hello")]).unwrap();
    expect![""].assert_eq(&shown(&assemble(&pack, &facts())));
}

#[test]
fn what_a_pack_gets_wrong_is_refused_with_its_place() {
    let check = |layout: &str, template: &str, expected: Expect| {
        expected.assert_eq(&load(&format!("{layout}{SLOT}"), &[("only.jinja", template)]).unwrap_err());
    };
    check(
        "",
        "one\n{{ cdw }}",
        expect![
            "/packs/mine/only.jinja:2:4: unknown name `cdw`; known: `base`, `cwd`, `documents`, `effort`, `features`, `files`, `given`, `home_document`, `machine`, `memory`, `mode`, `model`, `policy`, `recalled`, `repository`, `shell`, `skills`, `tools`"
        ],
    );
    check(
        "",
        "{% include \"other.jinja\" %}",
        expect!["/packs/mine/only.jinja:1:4: the pack has no template `other.jinja`"],
    );
    check(
        "",
        "{{ cwd | shout }}",
        expect![
            "/packs/mine/only.jinja:1:10: unknown filter `shout`; known: `bytes`, `default`, `first`, `head`, `indent`, `items`, `join`, `json`, `last`, `length`, `lines`, `lower`, `map`, `printable`, `reject`, `replace`, `reverse`, `select`, `sort`, `split`, `tail`, `trim`, `unique`, `upper`, `utf16`, `xml`"
        ],
    );
    check(
        "[values]\na = \"b\"\nb = \"a\"\n",
        "{{ a }}",
        expect!["/packs/mine/pack.toml:4:1: the value `a` looks at itself"],
    );
    check(
        "[values]\na = \"1 +\"\n",
        "{{ a }}",
        expect!["/packs/mine/pack.toml:4:5: `1 +`, column 3: unexpected end of input, expected expression"],
    );
    check(
        "[values]\na = \"1\"\n",
        "x",
        expect!["/packs/mine/pack.toml:4:1: no template or condition looks at the value `a`"],
    );
    check("[values]\ncwd = \"1\"\n", "x", expect!["/packs/mine/pack.toml:4:7: `cwd` is a name of a fact already"]);
    check(
        "[facts]\na = 1\n",
        "x",
        expect![
            "/packs/mine/pack.toml:3:1: [facts] has no effect without a template or condition that looks at `given`"
        ],
    );
    check(
        "[[tool]]\nfile = \"update_plan\"\ngate = [\"if:tools\"]\n",
        "x",
        expect![
            "/packs/mine/pack.toml:5:1: a tool that is offered depending on the tools that are offered; look at something else"
        ],
    );
    check(
        "[[tool]]\nfile = \"update_plan\"\ngate = [\"if:cwd ==\"]\n",
        "x",
        expect!["/packs/mine/pack.toml:5:9: `cwd ==`, column 5: unexpected end of input, expected expression"],
    );
    expect!["only.jinja: the pack has no such file"].assert_eq(&load(SLOT, &[]).unwrap_err());
}

#[test]
fn a_trial_over_sample_facts_finds_what_only_values_show() {
    let layout = format!(
        "{SLOT}gate = ['if:given.nobody', 'mode:full']\n[[slot]]\nid = \"two\"\ntarget = \"user\"\nfile = \"two.jinja\"\n"
    );
    let files = files(&layout, &[("only.jinja", "x"), ("two.jinja", "a\n{{ home_document.text }}")]);
    let (_, errors) = Pack::check_user(&files, "/packs/mine");
    expect![[r#"
        /packs/mine/two.jinja:2:4: none has no `text` (found with sample facts)
        /packs/mine/pack.toml:7:13: `given.nobody`: `nobody` is not defined; test it with `is defined`, or give a value with `default` (found with sample facts)
    "#]].assert_eq(&errors.iter().map(|error| format!("{error}\n")).collect::<String>());
}

#[test]
fn the_trial_of_every_built_in_pack_finds_nothing() {
    for name in Pack::builtin_names() {
        assert_eq!(Pack::builtin(name).unwrap().trial(), [], "{name}");
    }
}

#[test]
fn a_pack_without_templates_parses_none() {
    let pack = Pack::builtin("codex").unwrap();
    assert!(!pack.looks("given") && !pack.looks("files"));
}

/// Pieces of templates, from facts, files and words, in every construct.
fn any_template() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{ cwd }}",
        "{{ given.team | upper }}",
        "{{ documents | map(attribute=\"text\") | join(\"--\") }}",
        "{% for file in documents %}{{ file.text | lines | reverse | join(\"\\n\") }}{% endfor %}",
        "{% set x %}{{ documents[1].text | head(7) }}!{% endset %}{{ x }}{{ x | lower }}",
        "{% if n > 1 %}{{ n }}{% endif %}",
        "{{ documents[0].text | replace(\"Test\", given.team) | xml }}",
        "{{ skills | length }}{{ tools | map(attribute=\"summary\") | first }}",
        "{% filter trim %}  {{ documents | last | json }}  {% endfilter %}",
        "words\n",
    ]);
    prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn spans_cover_the_bytes_and_rows_of_files_are_bytes_of_files(template in any_template()) {
        let layout = format!("[values]\nn = \"documents | length\"\n{SLOT}");
        let template = format!("{{% set _ = n %}}{template}");
        let pack = load(&layout, &[("only.jinja", &template)]).unwrap();
        let facts = facts();
        let context = assemble(&pack, &facts);
        // What of a file a template replaces or leaves out is reported, and nothing else is lost.
        let is_cut = |omission: &Omission| matches!(omission.why, Why::ByPack { .. });
        prop_assert!(context.omissions.iter().all(is_cut), "{:?}", context.omissions);
        prop_assert_eq!(&context, &assemble(&pack, &facts));
        for fragment in context.messages.iter().flat_map(|message| &message.fragments) {
            if let Origin::File { path, range, .. } = &fragment.origin {
                let document = facts.world.project_documents.iter().find(|it| it.path == **path).unwrap();
                let bytes = &document.bytes[range.start as usize..range.end as usize];
                prop_assert_eq!(fragment.text.as_bytes(), bytes);
            }
        }
        prop_assert!(context.messages.iter().all(|message| !concat(&message.fragments).is_empty()));
    }
}

#[test]
fn a_layout_says_which_sessions_get_a_small_prompt() {
    let names = "[bootstrap]\nnames = [\"A.md\", \"B.md\"]\nminimal = [\"B.md\"]\nmax_chars = 9\nunit = \"bytes\"\nhead_ratio = 1\ntail_ratio = 0\nmarker = \"\"\nmissing = \"\"\n";
    let layout = format!(
        "[instructions]\nminimal_if = 'given.size > 2 and is_small'\n[values]\nis_small = 'model.window is defined'\n{names}{SLOT}"
    );
    let pack = load(&layout, &[("only.jinja", "{{ mode }}{{ files | length }}")]).unwrap();
    let mode_of = |size: serde_json::Value| {
        let mut facts = facts();
        facts.system.given.insert("size".to_owned(), size);
        usual_mode(&pack, &facts).map_err(|error| error.to_string())
    };
    assert_eq!((mode_of(json!(3)), mode_of(json!(2))), (Ok(PromptMode::Minimal), Ok(PromptMode::Full)));
    assert_eq!(mode_of(json!([])), Err("pack.toml:1:1: a list and a number have no order".to_owned()));
    for (condition, error) in [
        ("mode == \"none\"", "/packs/mine/pack.toml:4:1: `minimal_if` cannot look at `mode`, which is made later"),
        ("later", "/packs/mine/pack.toml:4:1: `minimal_if` cannot look at `files`, which is made later"),
        ("nothing", "/packs/mine/pack.toml:4:1: `nothing`, column 1: unknown name `nothing`"),
    ] {
        let layout = format!(
            "[instructions]\nminimal_if = '{condition}'\n[values]\nlater = 'files | length > 0'\n{names}{SLOT}"
        );
        let refused = load(&layout, &[("only.jinja", "{{ later }}")]).unwrap_err();
        assert!(refused.starts_with(error), "{refused}");
    }
}

#[test]
fn sessions_of_sub_agents_and_scheduled_jobs_get_a_small_prompt() {
    let pack = Pack::builtin("openclaw").unwrap();
    for (key, expected) in [
        ("subagent:x", PromptMode::Minimal),
        (" SubAgent:x ", PromptMode::Minimal),
        ("agent:main:subagent:1", PromptMode::Minimal),
        ("agent:main:cron:daily", PromptMode::Minimal),
        ("agent::main::CRON:daily", PromptMode::Minimal),
        ("agent:main:main", PromptMode::Full),
        ("agent:main", PromptMode::Full),
        ("agent:main:cron", PromptMode::Full),
        ("agent: :cron:x", PromptMode::Full),
        ("other:main:cron:x", PromptMode::Full),
        ("agent:cron:x", PromptMode::Full),
        ("cron:x", PromptMode::Full),
        ("subagent", PromptMode::Full),
        ("", PromptMode::Full),
    ] {
        let mut facts = facts();
        facts.system.given.insert("session_key".to_owned(), key.into());
        assert_eq!(usual_mode(&pack, &facts), Ok(expected), "{key:?}");
    }
}
