//! The modes of every pack, and modes that bring their own words.

use pellucid_protocol::settings::CollaborationSettings;

use super::*;

fn mode(kind: CollaborationModeKind, own: Option<&str>) -> CollaborationMode {
    let settings = CollaborationSettings {
        model: "m".to_owned(),
        reasoning_effort: Some(ReasoningEffort::High),
        developer_instructions: own.map(str::to_owned),
    };
    CollaborationMode { mode: kind, settings }
}

#[test]
fn every_pack_has_both_modes_with_words_and_without_open_places() {
    for name in Pack::builtin_names() {
        let pack = Pack::builtin(name).unwrap();
        let all = presets(&pack);
        let listed: Vec<_> = all.iter().map(|it| (it.name, it.mode, it.reasoning_effort)).collect();
        assert_eq!(
            listed,
            [
                ("Plan", CollaborationModeKind::Plan, Some(ReasoningEffort::Medium)),
                ("Default", CollaborationModeKind::Default, None),
            ],
            "{name}"
        );
        for preset in all {
            let text = concat(&preset.instructions);
            let open = [MODE_NAMES, ASKING, MODE].into_iter().find(|mark| text.contains(mark));
            assert_eq!((text.trim().is_empty(), open), (false, None), "{name} {}", preset.name);
        }
    }
}

#[test]
fn a_mode_without_words_gets_those_of_its_preset_and_keeps_the_rest() {
    let pack = Pack::builtin("codex").unwrap();
    for preset in presets(&pack) {
        let full = completed(&pack, mode(preset.mode, None));
        assert_eq!(full, mode(preset.mode, Some(&concat(&preset.instructions))));
        assert_eq!(completed(&pack, full.clone()), full);
        for own in ["", "mine"] {
            assert_eq!(completed(&pack, mode(preset.mode, Some(own))), mode(preset.mode, Some(own)));
        }
    }
}
