//! Every gate is open where its condition holds, closed where it does not, and the other way round behind `not:`.

use pellucid_engine::facts::Facts;
use pellucid_engine::gate::ABOUT;
use pellucid_engine::gate::Gate;
use pellucid_engine::gate::all_open;
use pellucid_engine::gate::shell_type;
use pellucid_engine::mcp::offered;
use pellucid_engine::pack::Pack;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::model::ApplyPatchType;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::WebSearchMode;

use crate::facts;

fn gate(name: &str) -> Gate {
    Gate::parse(name).unwrap_or_else(|| panic!("{name} is a gate"))
}

/// Whether a gate is open for facts that are changed so.
#[track_caller]
fn check_gate(name: &str, change: impl FnOnce(&mut Facts), expected: bool) {
    let mut facts = facts();
    change(&mut facts);
    let pack = Pack::builtin("codex").unwrap();
    assert_eq!(gate(name).is_open(&pack, &facts), expected, "{name}");
    assert_eq!(gate(&format!("not:{name}")).is_open(&pack, &facts), !expected, "not:{name}");
    assert_eq!(gate(&format!("not:not:{name}")).is_open(&pack, &facts), expected);
}

#[test]
fn a_feature_opens_its_gate() {
    for feature in Feature::ALL {
        let name = format!("feature:{}", feature.key());
        check_gate(&name, |facts| facts.settings.features.set(*feature, true), true);
        check_gate(&name, |facts| facts.settings.features.set(*feature, false), false);
    }
}

#[test]
fn the_shell_that_is_offered_is_the_switchs_before_the_models() {
    let trained_on = |shell: ShellType| {
        move |facts: &mut Facts| {
            facts.settings.features.set(Feature::UnifiedExec, false);
            facts.settings.model.shell_type = shell;
        }
    };
    check_gate("shell:shell_command", trained_on(ShellType::ShellCommand), true);
    check_gate("shell:default", trained_on(ShellType::Default), true);
    check_gate("shell:local", trained_on(ShellType::Local), true);
    check_gate("shell:local", trained_on(ShellType::Default), false);
    check_gate("shell:unified_exec", |facts| facts.settings.features.set(Feature::UnifiedExec, true), true);
    check_gate("shell:shell_command", |facts| facts.settings.features.set(Feature::UnifiedExec, true), false);
    let mut none = facts();
    none.settings.features.set(Feature::ShellTool, false);
    none.settings.features.set(Feature::UnifiedExec, true);
    assert_eq!(shell_type(&none), ShellType::Disabled);
    for shell in ["default", "local", "unified_exec", "shell_command"] {
        assert!(!gate(&format!("shell:{shell}")).is_open(&Pack::builtin("codex").unwrap(), &none), "{shell}");
    }
}

#[test]
fn the_patch_that_is_offered_is_the_models_before_the_switchs() {
    check_gate("patch:freeform", |_| {}, true);
    check_gate(
        "patch:function",
        |facts| facts.settings.model.apply_patch_tool_type = Some(ApplyPatchType::Function),
        true,
    );
    let none = |facts: &mut Facts| facts.settings.model.apply_patch_tool_type = None;
    check_gate("patch:freeform", none, false);
    check_gate("patch:function", none, false);
    let switched = |facts: &mut Facts| {
        facts.settings.model.apply_patch_tool_type = None;
        facts.settings.features.set(Feature::ApplyPatchFreeform, true);
    };
    check_gate("patch:freeform", switched, true);
    let both = |facts: &mut Facts| {
        facts.settings.model.apply_patch_tool_type = Some(ApplyPatchType::Function);
        facts.settings.features.set(Feature::ApplyPatchFreeform, true);
    };
    check_gate("patch:freeform", both, false);
}

#[test]
fn tools_of_models_servers_and_providers_open_theirs() {
    check_gate("model_tool:read_file", |_| {}, false);
    let trained = |facts: &mut Facts| facts.settings.model.experimental_supported_tools = vec!["read_file".to_owned()];
    check_gate("model_tool:read_file", trained, true);
    check_gate("model_tool:read", trained, false);
    check_gate("mcp:any", |_| {}, false);
    check_gate("mcp:any", |facts| facts.tools.has_mcp_servers = true, true);
    check_gate("mcp:any", |facts| facts.settings.features.set(Feature::Apps, true), true);
    check_gate("mcp:deferred", |facts| facts.tools.mcp_offers.all = Some(McpOffer::Deferred), false);
    let with_tool = |facts: &mut Facts| {
        let tool = serde_json::from_value(serde_json::json!({ "name": "t", "inputSchema": {} })).unwrap();
        facts.tools.mcp_tools = offered(&[("s".to_owned(), vec![tool])]).into();
    };
    check_gate("mcp:deferred", with_tool, false);
    let deferred = |facts: &mut Facts| {
        with_tool(facts);
        facts.tools.mcp_offers.all = Some(McpOffer::Deferred);
    };
    check_gate("mcp:deferred", deferred, true);
    for mode in WebSearchMode::ALL {
        check_gate("web_search:on", |facts| facts.settings.web_search = *mode, *mode != WebSearchMode::Disabled);
    }
}

#[test]
fn a_mode_opens_the_gates_that_name_it() {
    for mode in PromptMode::ALL {
        for named in PromptMode::ALL {
            let name = format!("mode:{named}");
            check_gate(&name, |facts| facts.system.prompt_mode = *mode, mode == named);
        }
        check_gate("mode:full|minimal", |facts| facts.system.prompt_mode = *mode, *mode != PromptMode::None);
    }
}

#[test]
fn a_condition_of_the_pack_opens_its_gate() {
    let given = |value: serde_json::Value| {
        move |facts: &mut Facts| {
            facts.system.given.insert("zone".to_owned(), value);
        }
    };
    check_gate("if:given.zone is defined and given.zone is not blank", |_| {}, false);
    check_gate("if:given.zone is not blank", given(" \u{3000}".into()), false);
    check_gate("if:given.zone is not blank", given("UTC".into()), true);
    check_gate("if:mode == \"full\" and shell in [\"bash\", \"zsh\"]", |_| {}, true);
    check_gate("if:tools | map(attribute=\"name\") | select(\"equalto\", \"update_plan\")", |_| {}, true);
}

#[test]
fn a_condition_that_cannot_be_told_keeps_its_gate_closed_either_way() {
    let pack = Pack::builtin("codex").unwrap();
    for name in ["if:given.zone", "not:if:given.zone", "if:cwd < 1"] {
        assert!(!gate(name).is_open(&pack, &facts()), "{name}");
    }
}

#[test]
fn the_program_around_the_engine_opens_its_gates() {
    check_gate("host:on_call", |_| {}, false);
    check_gate("host:on_call", |facts| facts.system.host.open = ["on_call".to_owned()].into(), true);
    check_gate("host:on", |facts| facts.system.host.open = ["on_call".to_owned()].into(), false);
}

#[test]
fn several_gates_are_open_together() {
    let open = |names: &[&str]| {
        let gates: Vec<Gate> = names.iter().map(|name| gate(name)).collect();
        all_open(&gates, &Pack::builtin("codex").unwrap(), &facts())
    };
    assert!(open(&[]));
    assert!(open(&["web_search:on", "patch:freeform", "not:mcp:any"]));
    assert!(!open(&["web_search:on", "mcp:any"]));
    assert_eq!(ABOUT.len(), Gate::known().len());
}
