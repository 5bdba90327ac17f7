//! Standing texts: what holds for every sequence of inputs, and how packs ask for them.

use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::reinject::ReinjectState;
use pellucid_engine::reinject::envelope;
use pellucid_engine::reinject::envelope::EnvelopeInput;
use pellucid_engine::reinject::envelope::EnvelopeOutput;
use pellucid_engine::reinject::files::FoundFile;
use pellucid_engine::reinject::files::HashedText;
use pellucid_engine::reinject::files::InjectionInput;
use pellucid_engine::reinject::parts::PartTexts;
use pellucid_engine::reinject::settings::ReinjectOverrides;
use pellucid_engine::reinject::settings::ReinjectSettings;
use proptest::prelude::*;

fn variant() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("design"), Just("current"), Just("initial")]
}

/// The settings of a variant of the pack `ads`.
fn settings(variant: &str, given: ReinjectOverrides) -> ReinjectSettings {
    let pack = Pack::builtin("ads").unwrap();
    pack.layout.reinject.as_ref().unwrap().with_variant(variant).unwrap().settings(given)
}

/// What a file is like when an input is sent.
#[derive(Debug, Clone)]
enum FileNow {
    Text(u8),
    Missing,
    Unreadable,
}

fn file_now() -> impl Strategy<Value = FileNow> {
    prop_oneof![8 => (0..3_u8).prop_map(FileNow::Text), 1 => Just(FileNow::Missing), 1 => Just(FileNow::Unreadable)]
}

fn found(name: &str, now: &FileNow) -> FoundFile {
    let path = format!("/{name}.md");
    match now {
        FileNow::Text(n) => FoundFile::Text(HashedText::on_disk(&path, &format!(" {name} {n}\n"))),
        FileNow::Missing => FoundFile::Missing { path },
        FileNow::Unreadable => FoundFile::Unreadable { path, error: "no".to_owned() },
    }
}

proptest! {
    #[test]
    fn the_same_inputs_give_the_same_bytes_and_no_text_without_an_origin(
        variant in variant(),
        turns in 0.0..8.0_f64,
        sends in prop::collection::vec((file_now(), file_now(), prop::option::of(0.0..1.0_f64)), 1..40),
    ) {
        let settings = settings(variant, ReinjectOverrides { turns: Some(turns), ..ReinjectOverrides::default() });
        let (mut state, mut again) = (ReinjectState::default(), ReinjectState::default());
        for (instructions, rules, occupancy) in sends {
            let files = InjectionInput {
                instructions: found("instructions", &instructions),
                rules: found("rules", &rules),
                ..InjectionInput::default()
            };
            let decision = state.decide(&settings, &files, &PartTexts::default(), occupancy);
            prop_assert_eq!(&decision, &again.decide(&settings, &files, &PartTexts::default(), occupancy));
            // What is kept beside a session is all that matters.
            let kept = serde_json::to_value(&again).unwrap();
            again = serde_json::from_value(kept).unwrap();
            let Ok(injection) = decision.injection else {
                prop_assert!(variant != "current", "nothing holds an input back");
                continue;
            };
            if let Some(injection) = injection {
                let fragments = injection.fragments();
                prop_assert_eq!(concat(&fragments), injection.text());
                for fragment in fragments {
                    if let Origin::File { range, size, .. } = fragment.origin {
                        prop_assert!(range.end <= size);
                        prop_assert_eq!(range.end - range.start, fragment.text.len() as u64);
                    }
                }
            }
            state.complete_turn();
            again.complete_turn();
        }
    }

    #[test]
    fn a_design_never_waits_longer_than_its_turns(turns in 1.0..10.0_f64, n_sends in 1..60_usize) {
        let settings = settings("design", ReinjectOverrides { turns: Some(turns), ..ReinjectOverrides::default() });
        let files = InjectionInput {
            instructions: found("instructions", &FileNow::Text(0)),
            rules: found("rules", &FileNow::Text(0)),
            ..InjectionInput::default()
        };
        let mut state = ReinjectState::default();
        let mut since = 0.0;
        for n in 0..n_sends {
            let injection = state.decide(&settings, &files, &PartTexts::default(), None).injection.unwrap();
            prop_assert_eq!(injection.is_some(), n == 0 || since >= turns);
            since = if injection.is_some() { 1.0 } else { since + 1.0 };
            state.complete_turn();
        }
    }
}

fn pack(layout: &str) -> Pack {
    let files = PackFiles::from([("pack.toml".to_owned(), layout.to_owned())]);
    Pack::load_user(&files, "/packs/mine").unwrap()
}

#[test]
fn any_layout_can_say_rules_again_with_a_few_lines() {
    let pack = pack("name = \"mine\"\nfrom = \"codex\"\n[reinject]\nrules = \"AGENTS.md\"\nturns = 15\n");
    let layout = pack.layout.reinject.as_ref().unwrap();
    assert_eq!(
        (layout.rules.as_deref(), layout.settings(ReinjectOverrides::default()).turns),
        (Some(&["AGENTS.md".to_owned()][..]), 15.0)
    );
    assert_eq!(pack.layout.slots.len(), Pack::builtin("codex").unwrap().layout.slots.len());
}

#[test]
fn a_pack_over_ads_may_choose_another_variant() {
    let pack = pack("name = \"mine\"\nfrom = \"ads\"\n[reinject]\nvariant = \"current\"\n");
    let layout = pack.layout.reinject.as_ref().unwrap().chosen();
    assert_eq!(
        (layout.files.soul.as_deref(), layout.instructions.as_deref()),
        (Some("soul.md"), Some("templates/instructions.md"))
    );
    let words = envelope::EnvelopeTexts::of(&pack, &layout);
    let injected = Some(vec![Fragment::layout("RULES")]);
    let said: EnvelopeInput<()> = EnvelopeInput::Text(Fragment::layout("hi"));
    let EnvelopeOutput::Text(sent) = envelope::wrap(injected, &words, None, said) else { panic!("one text") };
    let sent = concat(&sent);
    expect_test::expect![[r#"
        You are the agent that this workspace calls `pellucid`. Where instructions below speak to Codex, they mean you.

        RULES

        ---

        **What the user asks for follows; everything above is background.**

        hi"#]]
    .assert_eq(&sent);
}
