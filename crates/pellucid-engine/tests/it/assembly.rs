//! The first context: its slots, their order and origins.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Memory;
use pellucid_engine::facts::NetworkRules;
use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::Why;
use pellucid_engine::fragment::concat;
use pellucid_engine::report::why_text;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::SandboxPolicy;

use crate::document;
use crate::facts;
use crate::model;
use crate::pack;

/// Checks the outline: slot, role and the origins of its text. Texts of the pack are shown by
/// their file, all others by what they say.
#[track_caller]
fn check_outline(facts: &Facts, expected: &Expect) {
    let pack = pack();
    let context = assemble(pack, facts);
    let mut outline = format!("instructions {}\n", origins(&context.instructions));
    for message in &context.messages {
        outline += &format!("{} {} {}\n", message.role, message.slot, origins(&message.fragments));
    }
    for omission in &context.omissions {
        outline += &format!("omitted {}: {}\n", omission.what, why_text(&omission.why));
    }
    expected.assert_eq(&outline);
}

fn origins(fragments: &[Fragment]) -> String {
    let show = |fragment: &Fragment| match &fragment.origin {
        Origin::Pack { file } => format!("<{file}>"),
        _ => fragment.text.replace('\n', "⏎"),
    };
    fragments.iter().map(show).collect::<Vec<_>>().join(" · ")
}

#[track_caller]
fn check_text(facts: &Facts, slot: &str, expected: &Expect) {
    let context = assemble(pack(), facts);
    let message = context.messages.iter().find(|message| &*message.slot == slot);
    expected.assert_eq(&message.map_or_else(|| "(not there)".to_owned(), |message| concat(&message.fragments)));
}

fn with(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = facts();
    change(&mut facts);
    facts
}

#[test]
fn a_plain_first_turn_has_permissions_and_environment() {
    check_outline(
        &facts(),
        &expect![[r#"
            instructions <base/codex.md> · <personality/pragmatic.md> · <base/codex.md>
            developer permissions <permissions instructions> · ⏎ · <permissions/sandbox_read_only.md> · restricted · <permissions/sandbox_read_only.md> · ⏎ · <permissions/approval_never.md> · </permissions instructions>
            user environment <environment_context> · ⏎  <cwd> · /home/ada/proj · </cwd> · ⏎  <shell> · bash · </shell> · ⏎</environment_context>
        "#]],
    );
}

#[test]
fn every_slot_at_once_keeps_the_order() {
    let facts = with(|facts| {
        for feature in
            [Feature::MemoryTool, Feature::Apps, Feature::CodexGitCommit, Feature::ChildAgentsMd, Feature::JsRepl]
        {
            facts.settings.features.set(feature, true);
        }
        facts.settings.developer_instructions =
            Some(Provided { place: "config".to_owned(), text: "Be kind.".to_owned() });
        facts.settings.collaboration_mode.settings.developer_instructions = Some("Plan first.".to_owned());
        facts.world.memory = Some(Memory {
            folder: "/home/ada/.pellucid/memories".to_owned(),
            summary: document("/home/ada/.pellucid/memories/memory_summary.md", "\nLikes tests.\n"),
        });
        facts.world.home_document = Some(document("/home/ada/.pellucid/AGENTS.md", " Be terse.\n"));
        facts.world.project_documents = vec![document("/home/ada/proj/AGENTS.md", "Use tabs.\n")];
    });
    check_outline(
        &facts,
        &expect![[r#"
            instructions <base/codex.md> · <personality/pragmatic.md> · <base/codex.md>
            developer permissions <permissions instructions> · ⏎ · <permissions/sandbox_read_only.md> · restricted · <permissions/sandbox_read_only.md> · ⏎ · <permissions/approval_never.md> · </permissions instructions>
            developer developer_instructions Be kind.
            developer memory <memory/read_path.md> · /home/ada/.pellucid/memories · <memory/read_path.md> · Likes tests. · <memory/read_path.md>
            developer collaboration <collaboration.md> · Plan first. · <collaboration.md>
            developer apps <apps/section.md> · codex_apps · <apps/section.md>
            developer commit_trailer <git/commit_trailer.md> · Co-authored-by: Pellucid <noreply@pellucid.dev> · <git/commit_trailer.md>
            user user_instructions <user_instructions.md> · /home/ada/proj · <user_instructions.md> · Be terse. · ⏎⏎--- project-doc ---⏎⏎ · Use tabs.⏎ · ⏎⏎ · <js_repl/section.md> · ⏎⏎ · <agents/hierarchical.md> · <user_instructions.md>
            user environment <environment_context> · ⏎  <cwd> · /home/ada/proj · </cwd> · ⏎  <shell> · bash · </shell> · ⏎</environment_context>
        "#]],
    );
}

#[test]
fn every_cut_of_the_memory_is_an_omission_also_one_that_its_note_outweighs() {
    for n_over in [0_usize, 1, 2, 30, 500] {
        let text = "0123456789".repeat(2_100)[..20_000 + n_over].to_owned();
        let facts = with(|facts| {
            facts.settings.features.set(Feature::MemoryTool, true);
            facts.world.memory =
                Some(Memory { folder: "/m".to_owned(), summary: document("/m/memory_summary.md", &text) });
        });
        let omissions = assemble(pack(), &facts).omissions;
        let cuts: Vec<&Why> =
            omissions.iter().filter(|it| it.what == "/m/memory_summary.md").map(|it| &it.why).collect();
        let of = text.len() as u64;
        match n_over {
            0 => assert_eq!(cuts, [&Why::Missing; 0]),
            _ => assert_eq!(cuts, [&Why::Cut { kept: 20_000, of }], "{n_over} bytes over"),
        }
    }
}

#[test]
fn documents_are_joined_in_order_without_a_marker() {
    let facts = with(|facts| {
        facts.world.project_documents =
            vec![document("/p/AGENTS.md", "Use tabs.\n"), document("/p/a/AGENTS.md", "No deps.")];
    });
    check_text(
        &facts,
        "user_instructions",
        &expect![[r#"
            # AGENTS.md instructions for /home/ada/proj

            <INSTRUCTIONS>
            Use tabs.


            No deps.
            </INSTRUCTIONS>"#]],
    );
}

#[test]
fn the_budget_is_spent_from_the_root_and_says_what_it_cost() {
    let facts = with(|facts| {
        facts.settings.project_document_bytes_max = 40;
        facts.world.project_documents =
            ["A", "B", "C"].map(|it| document(&format!("/p/{it}"), &it.repeat(30))).to_vec();
        facts.world.project_documents.insert(1, document("/p/blank", " \n \n"));
    });
    check_outline(
        &facts,
        &expect![[r#"
            instructions <base/codex.md> · <personality/pragmatic.md> · <base/codex.md>
            developer permissions <permissions instructions> · ⏎ · <permissions/sandbox_read_only.md> · restricted · <permissions/sandbox_read_only.md> · ⏎ · <permissions/approval_never.md> · </permissions instructions>
            user user_instructions <user_instructions.md> · /home/ada/proj · <user_instructions.md> · AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA · ⏎⏎ · BBBBBBBBBB · <user_instructions.md>
            user environment <environment_context> · ⏎  <cwd> · /home/ada/proj · </cwd> · ⏎  <shell> · bash · </shell> · ⏎</environment_context>
            omitted /p/blank: blank
            omitted /p/B: cut after 10 of 30 bytes, the budget is spent
            omitted /p/C: all 30 bytes left out, the budget is spent
        "#]],
    );
}

#[test]
fn a_cut_inside_a_character_is_shown_as_the_reference_shows_it() {
    let facts = with(|facts| {
        facts.settings.project_document_bytes_max = 4;
        facts.world.project_documents = vec![document("/p/AGENTS.md", "日本")];
    });
    check_text(
        &facts,
        "user_instructions",
        &expect![[r#"
            # AGENTS.md instructions for /home/ada/proj

            <INSTRUCTIONS>
            日�
            </INSTRUCTIONS>"#]],
    );
}

#[test]
fn an_empty_developer_instruction_is_still_said() {
    let facts = with(|facts| {
        facts.settings.developer_instructions = Some(Provided { place: "config".to_owned(), text: String::new() });
    });
    check_text(&facts, "developer_instructions", &expect![""]);
}

#[test]
fn the_environment_names_managed_domains() {
    let facts = with(|facts| {
        facts.settings.network = Some(NetworkRules {
            allowed_domains: vec!["api.example.com".to_owned()],
            denied_domains: vec!["bad.example.com".to_owned()],
        });
    });
    check_text(
        &facts,
        "environment",
        &expect![[r#"
            <environment_context>
              <cwd>/home/ada/proj</cwd>
              <shell>bash</shell>
              <network enabled="true">
                <allowed>api.example.com</allowed>
                <denied>bad.example.com</denied>
              </network>
            </environment_context>"#]],
    );
}

#[test]
fn on_request_lists_prefixes_even_when_there_are_none() {
    let facts = with(|facts| {
        facts.settings.approval_policy = ApprovalPolicy::OnRequest;
        facts.settings.sandbox_policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: true,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        };
        facts.settings.writable_roots = vec!["/opt".to_owned(), "/home/ada/proj".to_owned(), "/tmp".to_owned()];
    });
    check_outline(
        &facts,
        &expect![[r#"
            instructions <base/codex.md> · <personality/pragmatic.md> · <base/codex.md>
            developer permissions <permissions instructions> · ⏎ · <permissions/sandbox_workspace_write.md> · enabled · <permissions/sandbox_workspace_write.md> · ⏎ · <permissions/approval_on_request.md> · ⏎## Approved command prefixes⏎ · <permissions/approved_prefixes_intro.md> ·   ·  · ⏎ · <permissions/writable_root_many.md> · `/opt`, `/home/ada/proj`, `/tmp` · <permissions/writable_root_many.md> · ⏎ · </permissions instructions>
            user environment <environment_context> · ⏎  <cwd> · /home/ada/proj · </cwd> · ⏎  <shell> · bash · </shell> · ⏎</environment_context>
        "#]],
    );
}

#[test]
fn a_tone_is_part_of_the_instructions_or_a_message_of_its_own() {
    let incomplete = |facts: &mut Facts, tone| {
        facts.settings.personality = Some(tone);
        facts.settings.model = serde_json::from_value(serde_json::json!({
            "slug": "own", "display_name": "own", "shell_type": "default", "visibility": "list",
            "truncation_policy": { "mode": "bytes", "limit": 10 },
            "base_instructions": "unused",
            "model_messages": {
                "instructions_template": "You are X.\n{{ personality }}\nRules, {{personality}}",
                "instructions_variables": { "personality_default": "", "personality_friendly": "Be warm." },
            },
        }))
        .unwrap();
    };
    check_outline(
        &with(|facts| incomplete(facts, Personality::Friendly)),
        &expect![[r#"
            instructions You are X.⏎ · Be warm. · ⏎Rules, {{personality}}
            developer permissions <permissions instructions> · ⏎ · <permissions/sandbox_read_only.md> · restricted · <permissions/sandbox_read_only.md> · ⏎ · <permissions/approval_never.md> · </permissions instructions>
            developer personality <personality.md> · <personality/intro.md> · <personality.md> · Be warm. · <personality.md>
            user environment <environment_context> · ⏎  <cwd> · /home/ada/proj · </cwd> · ⏎  <shell> · bash · </shell> · ⏎</environment_context>
        "#]],
    );
    check_text(&with(|facts| incomplete(facts, Personality::Pragmatic)), "personality", &expect!["(not there)"]);
}

#[test]
fn instructions_come_from_override_then_model_then_pack() {
    #[track_caller]
    fn check(change: impl FnOnce(&mut Facts), expected: &Expect) {
        let context = assemble(pack(), &with(change));
        expected.assert_eq(&origins(&context.instructions));
    }
    check(
        |facts| {
            facts.settings.base_instructions = Some(Provided { place: "file".to_owned(), text: "Mine.".to_owned() });
        },
        &expect!["Mine."],
    );
    check(|facts| facts.settings.model.base_instructions = Some("Cached.".to_owned()), &expect!["Cached."]);
    check(|facts| facts.settings.model = model("gpt-5.1"), &expect!["<base/default.md>"]);
    check(|facts| facts.settings.features.set(Feature::Personality, false), &expect!["<base/default.md>"]);
    check(|facts| facts.settings.personality = Some(Personality::None), &expect!["<base/codex.md> · <base/codex.md>"]);
    check(
        |facts| facts.settings.model = model("exp-codex-personality"),
        &expect![
            "<personality/fallback_header.md> · ⏎⏎ · <personality/fallback_pragmatic.md> · ⏎⏎ · <base/default.md>"
        ],
    );
}
