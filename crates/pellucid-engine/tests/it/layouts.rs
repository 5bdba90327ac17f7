//! Layouts: budgets of every source, roles, and what is refused since it could have no effect.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::Context;
use pellucid_engine::assemble::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::Why;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::pack::ROLES;
use pellucid_engine::pack::SlotRole;
use pellucid_engine::source;
use pellucid_engine::source::SourceOutput;
use pellucid_engine::update::FactsChange;
use pellucid_engine::update::updates;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::settings::SandboxPolicy;

use crate::document;
use crate::pack_mutations::full;

fn load(layout: &str) -> Result<Pack, String> {
    // The files of all packs, so that every source finds its texts.
    let mut files: PackFiles =
        ["openclaw", "agentcore"].iter().flat_map(|name| Pack::builtin_files(name).unwrap()).collect();
    files.insert("pack.toml".to_owned(), format!("name = \"mine\"\nfrom = \"codex\"\n{layout}"));
    Pack::load(&files).map_err(|error| error.to_string())
}

#[track_caller]
fn check_refused(layout: &str, expected: &Expect) {
    expected.assert_eq(&load(layout).unwrap_err());
}

/// Facts that every source has something to say about.
fn talkative() -> Facts {
    let mut facts = full();
    for feature in [Feature::Personality, Feature::Apps] {
        facts.settings.features.set(feature, true);
    }
    facts.world.recorded_instructions =
        Some(pellucid_engine::facts::Provided { place: "r".to_owned(), text: "Recorded.".to_owned() });
    let given = SourceOutput::text(vec![Fragment::provided("program", "A text of the program.")]);
    facts.system.host.texts = [("only".to_owned(), given)].into();
    facts
}

/// The text of a source in a separate slot.
fn said(source: &str, budget: Option<usize>) -> (String, Context) {
    let target = if source == "injected_preamble" { "messages" } else { "developer" };
    let budget = budget.map(|bytes| format!("budget = {{ bytes = {bytes}, keep = \"head\" }}\n")).unwrap_or_default();
    let files = ["home_document", "project_docs"].contains(&source);
    let role = if files { "role = \"user_instructions\"\n" } else { "" };
    let slot = format!("[[slot]]\nid = \"only\"\n{role}target = \"{target}\"\nsource = \"{source}\"\n{budget}");
    let context = assemble(&load(&slot).unwrap(), &talkative());
    let text: String = context.messages.iter().map(|message| concat(&message.fragments)).collect();
    (text, context)
}

#[test]
fn a_budget_holds_for_every_source() {
    // These share their budget out among their entries; headings and what is between entries come on top.
    let entries = ["skills_list", "project_docs"];
    for name in source::names() {
        let (whole, _) = said(&name, None);
        assert!(whole.len() > 4, "{name} says something: {whole:?}");
        for bytes in [0, 2, 3, 4, whole.len() / 2, whole.len() - 1] {
            let (text, context) = said(&name, Some(bytes));
            assert!(entries.contains(&name.as_str()) || text.len() <= bytes, "{name}, {bytes}: {text:?}");
            assert!(text.len() < whole.len() || entries.contains(&name.as_str()), "{name}, {bytes}");
            let is_told = |why: &Why| matches!(why, Why::Cut { .. } | Why::OverBudget { .. });
            let told = context.omissions.iter().any(|omission| is_told(&omission.why));
            assert!(told || text == whole, "{name}, {bytes}: {:?}", context.omissions);
        }
        assert_eq!(said(&name, Some(100_000)).0, whole, "{name}");
    }
}

#[test]
fn the_smaller_of_two_budgets_holds_for_project_documents() {
    let kept = |configured: usize, laid_out: usize| {
        let mut facts = full();
        facts.settings.project_document_bytes_max = configured;
        facts.world.project_documents = vec![document("/p/AGENTS.md", &"x".repeat(100))];
        let slot = format!(
            "[[slot]]\nid = \"only\"\nrole = \"user_instructions\"\ntarget = \"user\"\nsource = \"project_docs\"\nbudget = {{ bytes = {laid_out}, keep = \"head\" }}\n"
        );
        let context = assemble(&load(&slot).unwrap(), &facts);
        let [Fragment { origin: Origin::File { range, .. }, .. }] = context.messages[0].fragments.as_slice() else {
            panic!("{:?}", context.messages);
        };
        assert_eq!(context.omissions[0].why, Why::Cut { kept: range.end, of: 100 });
        range.end
    };
    assert_eq!((kept(4, 50), kept(50, 4), kept(50, 60)), (4, 4, 50));
}

#[test]
fn an_update_is_cut_like_its_slot_and_says_so() {
    let layout = "[updates]\norder = [\"permissions\"]\n[[slot]]\nid = \"rules\"\nrole = \"permissions\"\ntarget = \"developer\"\nsource = \"permissions\"\nbudget = { bytes = 40, keep = \"head\" }\n";
    let (pack, before) = (load(layout).unwrap(), full());
    let mut after = before.clone();
    after.settings.sandbox_policy = SandboxPolicy::DangerFullAccess;
    let told = updates(&FactsChange { pack: &pack, before: &before, after: &after, previous_model: None });
    assert_eq!(told.messages.len(), 1);
    let text = concat(&told.messages[0].fragments);
    assert!(text.len() <= 40 && text.ends_with('…'), "{text}");
    assert!(matches!(told.omissions[0].why, Why::Cut { .. }), "{:?}", told.omissions);
}

#[test]
fn roles_have_names_and_are_read_by_them() {
    for (role, name, about) in ROLES {
        assert_eq!((SlotRole::parse(name), role.as_str()), (Some(*role), *name));
        assert!(!about.is_empty());
    }
}

#[test]
fn what_would_be_lost_is_refused_with_the_role_to_write() {
    let slot = |id: &str, more: &str| format!("[[slot]]\nid = \"{id}\"\ntarget = \"developer\"\n{more}\n");
    let permissions = slot("rules", "source = \"permissions\"");
    check_refused(
        &format!("[updates]\norder = [\"permissions\"]\n{permissions}"),
        &expect![
            "pack.toml:4:10: the update `permissions` has no slot to describe: write `role = \"permissions\"`, perhaps in slot `rules`"
        ],
    );
    check_refused(
        &slot("rules", "source = \"permissions\"\nrole = \"permissions\""),
        &expect![
            "pack.toml:7:8: slot `rules`: the role `permissions` has no effect; add `permissions` to `order` in [updates], or remove the role"
        ],
    );
    check_refused(
        &slot("files", "source = \"project_docs\""),
        &expect![
            "pack.toml:4:6: slot `files` has instruction files, so it needs `role = \"user_instructions\"`; without it they are not written into the session file"
        ],
    );
    check_refused(
        &slot("files", "source = \"project_docs\"\nrole = \"files\""),
        &expect![
            "pack.toml:7: unknown role `files`; known: `base`, `permissions`, `collaboration`, `environment`, `personality`, `user_instructions`"
        ],
    );
}

#[test]
fn what_could_have_no_effect_is_refused() {
    let slot = |more: &str| format!("[[slot]]\nid = \"a\"\n{more}\n");
    check_refused(
        &format!("{0}{0}", slot("target = \"user\"\nsource = \"environment\"")),
        &expect!["pack.toml:8:6: a slot before this one has the id `a` too"],
    );
    check_refused(
        &slot("target = \"messages\"\nsource = \"environment\""),
        &expect!["pack.toml:4:6: slot `a`: source `environment` gives text, which target `messages` has no place for"],
    );
    check_refused(
        &slot("target = \"user\"\nsource = \"injected_preamble\""),
        &expect!["pack.toml:4:6: slot `a`: source `injected_preamble` gives messages; write `target = \"messages\"`"],
    );
    check_refused(
        &slot("target = \"instructions\"\nsource = \"environment\"\nagain_turns = 3"),
        &expect!["pack.toml:7:15: slot `a`: target `instructions` is in every request, so `again_turns` has no effect"],
    );
    check_refused(
        "[instructions]\njoin = \"-\"\n",
        &expect!["pack.toml:4:8: `join` has no effect, since fewer than two slots have target `instructions`"],
    );
    check_refused(
        "[tools_only]\ngate = []\ntools = [\"shel\"]\n[[tool]]\nfile = \"shell\"\n",
        &expect!["pack.toml:5: unknown tool `shel`; known: `shell`"],
    );
    check_refused(
        "[reinject]\nassets_dir = \"/a\"\n",
        &expect!["pack.toml:3:1: `assets_dir` has no effect without `instructions`"],
    );
    check_refused(
        "[memory]\nvector_model = \"m\"\n",
        &expect!["pack.toml:3:1: `vector_model` has no effect without `vectors = \"provider\"`"],
    );
    check_refused(
        "[compaction]\nreserved_output_tokens = 3\n",
        &expect!["pack.toml:4:26: `reserved_output_tokens` has no effect unless `strategy = \"window\"`"],
    );
}
