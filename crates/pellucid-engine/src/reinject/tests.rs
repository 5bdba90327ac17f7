//! What goes before inputs, turn by turn, in each variant; what holds an input back; and how it is put before the input.

use expect_test::Expect;
use expect_test::expect;

use super::envelope::Beside;
use super::envelope::EnvelopeInput;
use super::envelope::EnvelopeOutput;
use super::envelope::wrap;
use super::envelope::wrap_current;
use super::files::FoundFile;
use super::files::HashedText;
use super::files::StandingSkill;
use super::settings::ReinjectOverrides;
use super::*;
use pellucid_protocol::settings::ReinjectTrigger;

fn text(name: &str, text: &str) -> FoundFile {
    FoundFile::Text(HashedText::on_disk(&format!("/w/{name}.md"), text))
}

fn missing(name: &str) -> FoundFile {
    FoundFile::Missing { path: format!("/w/{name}.md") }
}

fn unreadable(name: &str) -> FoundFile {
    FoundFile::Unreadable { path: format!("/w/{name}.md"), error: "Permission denied".to_owned() }
}

fn files(instructions: FoundFile, rules: FoundFile) -> InjectionInput {
    InjectionInput { instructions, rules, ..InjectionInput::default() }
}

/// The usual two files.
fn both() -> InjectionInput {
    files(text("instructions", " I1 \n"), text("rules", "R1"))
}

fn words() -> VariantTexts {
    VariantTexts {
        workspace_notice: vec![Fragment::layout("Not initialised.")],
        skill_system: vec![Fragment::layout(format!("There are {} skills.", layout::COUNT))],
        skill_system_none: vec![Fragment::layout("There are no skills.")],
    }
}

/// A session whose inputs are decided one after the other.
struct Session {
    settings: ReinjectSettings,
    state: ReinjectState,
    lines: String,
}

impl Session {
    fn new(variant: Variant, given: &ReinjectOverrides) -> Self {
        Self { settings: ReinjectSettings::new(variant, given), state: ReinjectState::default(), lines: String::new() }
    }

    /// Decides an input, writes down what came of it, and ends its turn.
    fn input(&mut self, files: &InjectionInput, occupancy: Option<f64>) {
        let InjectionDecision { injection, log } = self.state.decide(&self.settings, files, &words(), occupancy);
        let shown = match injection {
            Ok(None) => "-".to_owned(),
            Ok(Some(injection)) => format!("{} {:?}", injection.reason, injection.text()),
            Err(blocked) => format!("held back, {}: {}", blocked.code, blocked.message),
        };
        self.lines += &format!("{}: {shown}\n", self.state.turn_count);
        for line in log.iter().filter(|line| line.level != Level::Debug && line.level != Level::Info) {
            self.lines += &format!("   {}: {}\n", line.level.word(), line.text);
        }
        self.state.complete_turn();
    }

    #[track_caller]
    fn check(&self, expected: &Expect) {
        expected.assert_eq(&self.lines);
    }
}

fn turns(turns: f64) -> ReinjectOverrides {
    ReinjectOverrides { turns: Some(turns), ..ReinjectOverrides::default() }
}

#[test]
fn the_design_says_all_first_then_when_something_changed_or_turns_are_over() {
    let mut session = Session::new(Variant::Design, &turns(3.0));
    for _ in 0..5 {
        session.input(&both(), None);
    }
    session.input(&files(text("instructions", "I2"), text("rules", "R1")), None);
    session.input(&files(text("instructions", "I2"), text("rules", "R2")), None);
    session.input(&files(text("instructions", "I2"), missing("rules")), None);
    session.input(&files(text("instructions", "I2"), missing("rules")), None);
    session.input(&files(text("instructions", "I2"), text("rules", " ")), None);
    session.check(&expect![[r#"
        0: initial "I1\n\n\nR1"
        1: -
        2: -
        3: turn-3 "I1\n\n\nR1"
        4: -
        5: instructions-updated "I2\n\n\nR1"
        6: rules-updated "I2\n\n\nR2"
        7: -
           warn: rules missing at /w/rules.md, continuing with instructions only
        8: -
        9: rules-updated "I2"
    "#]]);
    let figures = session.state.figures;
    assert_eq!((figures.n_initial, figures.n_failures), (1, 0));
}

#[test]
fn the_design_says_all_again_when_the_window_fills() {
    let given = ReinjectOverrides { thresholds: Some(vec![0.25, 0.5]), ..turns(2.0) };
    let mut session = Session::new(Variant::Design, &given);
    for occupancy in [0.1, 0.25, 0.26, 0.3, 0.6, 0.7, 0.2, 0.9, 0.9] {
        session.input(&both(), Some(occupancy));
    }
    session.check(&expect![[r#"
        0: initial "I1\n\n\nR1"
        1: -
        2: context-25 "I1\n\n\nR1"
        3: -
        4: context-50 "I1\n\n\nR1"
        5: -
        6: -
        7: context-50 "I1\n\n\nR1"
        8: -
    "#]]);
}

#[test]
fn each_trigger_counts_turns_the_window_or_both() {
    let mut lines = String::new();
    for trigger in [ReinjectTrigger::Auto, ReinjectTrigger::Occupancy, ReinjectTrigger::Turns, ReinjectTrigger::Both] {
        for enabled in [true, false] {
            let given = ReinjectOverrides {
                trigger: Some(trigger),
                enabled: Some(enabled),
                thresholds: Some(vec![0.5]),
                ..turns(2.0)
            };
            for occupancy in [None, Some(0.9)] {
                let mut session = Session::new(Variant::Design, &given);
                session.input(&both(), None);
                session.input(&both(), occupancy);
                session.input(&both(), occupancy);
                let reasons: Vec<&str> = session.lines.lines().filter_map(|line| line.split(' ').nth(1)).collect();
                lines += &format!("{trigger:?} {enabled} {occupancy:?}: {}\n", reasons.join(" "));
            }
        }
    }
    expect![[r#"
        Auto true None: initial - turn-2
        Auto true Some(0.9): initial context-50 -
        Auto false None: initial - -
        Auto false Some(0.9): initial - -
        Occupancy true None: initial - -
        Occupancy true Some(0.9): initial context-50 -
        Occupancy false None: initial - -
        Occupancy false Some(0.9): initial - -
        Turns true None: initial - turn-2
        Turns true Some(0.9): initial - turn-2
        Turns false None: initial - -
        Turns false Some(0.9): initial - -
        Both true None: initial - turn-2
        Both true Some(0.9): initial context-50 -
        Both false None: initial - -
        Both false Some(0.9): initial - -
    "#]]
    .assert_eq(&lines);
}

#[test]
fn the_design_holds_an_input_back_while_a_file_cannot_be_read() {
    let mut session = Session::new(Variant::Design, &turns(9.0));
    session.input(&files(missing("instructions"), text("rules", "R")), None);
    session.input(&files(unreadable("instructions"), text("rules", "R")), None);
    session.input(&files(FoundFile::Corrupt { path: "/w/instructions.md".into() }, text("rules", "R")), None);
    session.input(&files(text("instructions", "I"), unreadable("rules")), None);
    session.input(&files(text("instructions", "I"), FoundFile::Corrupt { path: "/w/rules.md".into() }), None);
    session.input(&both(), None);
    session.check(&expect![[r#"
        0: held back, instructions_missing: the instructions are missing: put the product's file back at /w/instructions.md; nothing was sent
        1: held back, instructions_unreadable: the instructions cannot be read: /w/instructions.md: Permission denied; correct its permissions; nothing was sent
        2: held back, instructions_corrupt: the instructions are not valid UTF-8: save /w/instructions.md as UTF-8 and try again; nothing was sent
           error: instructions could not be read 3 times in a row; check /w/instructions.md
        3: held back, rules_unreadable: the rules cannot be read: /w/rules.md: Permission denied; correct its permissions; nothing was sent
        4: held back, rules_corrupt: the rules are not valid UTF-8: save /w/rules.md as UTF-8 and try again; nothing was sent
        5: initial "I1\n\n\nR1"
    "#]]);
    assert_eq!(session.state.figures.n_failures, 5);
    assert_eq!(session.state.failures, Failures::default(), "what can be read again is forgiven");
}

#[test]
fn the_current_variant_says_the_rules_every_turn_and_all_every_few() {
    let mut session = Session::new(Variant::Current, &turns(3.0));
    for _ in 0..5 {
        session.input(&both(), None);
    }
    session.check(&expect![[r#"
        0: initial "I1\n\n\nR1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
        1: rules-only-1 "R1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
        2: rules-only-2 "R1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
        3: turn-3 "I1\n\n\nR1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
        4: rules-only-4 "R1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
    "#]]);
    let mut seldom = Session::new(
        Variant::Current,
        &ReinjectOverrides { rules_turns: Some(2.0), enabled: Some(false), ..turns(2.0) },
    );
    for _ in 0..5 {
        seldom.input(&both(), None);
    }
    seldom.check(&expect![[r#"
        0: initial "I1\n\n\nR1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
        1: -
        2: rules-only-2 "R1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
        3: -
        4: rules-only-4 "R1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
    "#]]);
}

#[test]
fn the_current_variant_brings_skills_and_the_soul() {
    let skill = |name: &str| StandingSkill {
        name: name.to_owned(),
        description: String::new(),
        source: format!("/s/{name}"),
        text: format!(" how to {name}\n").into(),
    };
    let full = InjectionInput {
        soul: Some(HashedText::on_disk("/w/soul.md", " kind \n")),
        skills: vec![skill("Fly"), skill("swim")],
        uninitialised: Some("/w/.state".to_owned()),
        instructions_wanted: Some("/w/instructions.md".to_owned()),
        ..both()
    };
    let mut session = Session::new(Variant::Current, &turns(9.0));
    session.input(&full, None);
    session.state.request_skills(&[" FLY ".to_owned(), "dig".to_owned(), "fly".to_owned(), String::new()]);
    session.input(&full, None);
    session.state.request_skills(&[]);
    session.input(&InjectionInput { soul: None, ..full.clone() }, None);
    session.input(&InjectionInput { skills: Vec::new(), soul: None, ..full }, None);
    session.check(&expect![[r#"
        0: initial "Not initialised.\n\n\nI1\n\n\nR1\n\n\n<skill_system>\nThere are 2 skills.\n</skill_system>\n\n\n<soul>\nkind\n</soul>"
           warn: workspace not initialized at /w/.state; instructions/rules falling back to built-in templates.
           warn: workspace instructions missing at /w/instructions.md, using built-in templates/instructions.md
        1: skills-requested "Not initialised.\n\n\nI1\n\n\nR1\n\n\n<skill_system>\nThere are 2 skills.\n</skill_system>\n\n\n<requested_skills>\n  <skill name=\"fly\">\nhow to Fly\n  </skill>\n  <skill name=\"dig\" missing=\"true\" />\n</requested_skills>\n\n\n<soul>\nkind\n</soul>"
        2: soul-updated "Not initialised.\n\n\nI1\n\n\nR1\n\n\n<skill_system>\nThere are 2 skills.\n</skill_system>"
        3: skills-updated "Not initialised.\n\n\nI1\n\n\nR1\n\n\n<skill_system>\nThere are no skills.\n</skill_system>"
    "#]]);
}

#[test]
fn no_more_skills_than_a_few_can_be_asked_for() {
    let mut state = ReinjectState::default();
    let names: Vec<String> = (0..20).map(|n| format!("s{n}")).collect();
    state.request_skills(&names);
    assert_eq!(state.requested_skills, names[..6]);
    state.request_skills(&["one".to_owned()]);
    assert_eq!((state.requested_skills.len(), state.pending.as_deref()), (1, Some("skills-requested")));
}

#[test]
fn nothing_holds_an_input_back_in_the_current_variant() {
    let mut session = Session::new(Variant::Current, &turns(9.0));
    session.input(&files(missing("instructions"), missing("rules")), None);
    session.input(&files(unreadable("instructions"), unreadable("rules")), None);
    session.input(&files(FoundFile::NotWanted, FoundFile::NotWanted), None);
    session.check(&expect![[r#"
        0: initial "<skill_system>\nThere are no skills.\n</skill_system>"
           warn: instructions missing at /w/instructions.md, and no default templates/instructions.md found
           warn: workspace rules missing at /w/rules.md, continuing with instructions only
        1: rules-only-1 "<skill_system>\nThere are no skills.\n</skill_system>"
        2: rules-only-2 "<skill_system>\nThere are no skills.\n</skill_system>"
    "#]]);
}

#[test]
fn the_initial_variant_notices_a_change_late() {
    let mut session = Session::new(Variant::Initial, &turns(3.0));
    session.input(&both(), None);
    for _ in 0..4 {
        assert_eq!(session.state.needs_files(&session.settings), session.state.turn_count >= 3);
        session.input(&files(text("instructions", "I2"), missing("rules")), None);
    }
    session.input(&files(missing("instructions"), missing("rules")), None);
    session.input(&files(missing("instructions"), missing("rules")), None);
    session.check(&expect![[r#"
        0: initial "I1\n\n\nR1"
        1: -
        2: -
        3: turn-3 "I2"
           warn: workspace rules missing at /w/rules.md, continuing with instructions only
        4: instructions-updated "I2"
        5: -
        6: -
    "#]]);
}

#[test]
fn another_workspace_is_told_with_the_next_input() {
    let mut lines = String::new();
    for variant in [Variant::Design, Variant::Current, Variant::Initial] {
        for is_first in [true, false] {
            let mut session = Session::new(variant, &turns(9.0));
            if !is_first {
                session.input(&both(), None);
            }
            let told = session.state.switch_workspace(&session.settings, "/other").map(|line| line.level.word());
            session.input(&both(), None);
            session.input(&both(), None);
            let reasons: Vec<&str> = session.lines.lines().filter_map(|line| line.split(' ').nth(1)).collect();
            lines += &format!("{variant:?} first {is_first}, told {told:?}: {}\n", reasons.join(" "));
        }
    }
    expect![[r#"
        Design first true, told None: initial -
        Design first false, told None: initial workspace-changed -
        Current first true, told Some("debug"): initial workspace-changed
        Current first false, told Some("debug"): initial workspace-changed rules-only-2
        Initial first true, told Some("info"): initial workspace-changed
        Initial first false, told Some("info"): initial workspace-changed -
    "#]]
    .assert_eq(&lines);
}

#[test]
fn a_state_is_read_back_as_it_was_and_may_lack_anything() {
    let mut session = Session::new(Variant::Design, &turns(3.0));
    session.input(&both(), Some(0.9));
    session.state.request_skills(&["x".to_owned()]);
    let written = serde_json::to_string(&session.state).unwrap();
    assert_eq!(serde_json::from_str::<ReinjectState>(&written).unwrap(), session.state);
    assert_eq!(serde_json::from_str::<ReinjectState>("{}").unwrap(), ReinjectState::default());
    for wrong in ["7", "{\"turn_count\":-1}", "{\"warned\":7}", "{\"disarmed\":{}}"] {
        assert!(serde_json::from_str::<ReinjectState>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn settings_are_as_usual_where_nothing_usable_is_said() {
    let line = |variant, given: &ReinjectOverrides| {
        let ReinjectSettings { enabled, turns, rules_turns, trigger, thresholds, .. } =
            ReinjectSettings::new(variant, given);
        format!("{variant:?} {enabled} {turns} {rules_turns} {trigger:?} {thresholds:?}")
    };
    let mut lines = Vec::new();
    for variant in [Variant::Design, Variant::Current, Variant::Initial] {
        lines.push(line(variant, &ReinjectOverrides::default()));
        lines.push(line(
            variant,
            &ReinjectOverrides { turns: Some(0.5), rules_turns: Some(-1.0), ..ReinjectOverrides::default() },
        ));
        lines.push(line(
            variant,
            &ReinjectOverrides {
                turns: Some(2.5),
                rules_turns: Some(0.5),
                enabled: Some(false),
                ..ReinjectOverrides::default()
            },
        ));
    }
    expect![[r#"
        Design true 15 1 Auto [0.25, 0.5, 0.75]
        Design true 15 1 Auto [0.25, 0.5, 0.75]
        Design false 2.5 0.5 Auto [0.25, 0.5, 0.75]
        Current true 6 1 Auto [0.25, 0.5, 0.75]
        Current true 10 1 Auto [0.25, 0.5, 0.75]
        Current false 2.5 0.5 Auto [0.25, 0.5, 0.75]
        Initial true 15 1 Auto [0.25, 0.5, 0.75]
        Initial true 15 1 Auto [0.25, 0.5, 0.75]
        Initial false 2.5 0.5 Auto [0.25, 0.5, 0.75]"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn an_environment_speaks_for_its_channel_before_it_speaks_for_all() {
    let given = |channel: Option<&str>, variables: &[(&str, &str)]| {
        let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        ReinjectOverrides::from_env(channel, &env)
    };
    assert_eq!(given(None, &[]), ReinjectOverrides::default());
    let all = [
        ("ADS_REINJECTION_ENABLED", " Off "),
        ("ADS_REINJECTION_TURNS", "7.9"),
        ("TG_REINJECTION_TURNS", "3"),
        ("TG_RULES_REINJECTION_TURNS", "0x10"),
        ("ADS_REINJECTION_TRIGGER", " both "),
        ("ADS_REINJECTION_THRESHOLDS", "0.1, 0.9"),
    ];
    let expected = ReinjectOverrides {
        enabled: Some(false),
        turns: Some(3.0),
        rules_turns: Some(16.0),
        trigger: Some(ReinjectTrigger::Both),
        thresholds: Some(vec![0.1, 0.9]),
    };
    assert_eq!(given(Some("TG"), &all), expected);
    assert_eq!(given(None, &all), ReinjectOverrides { turns: Some(7.0), rules_turns: None, ..expected.clone() });
    let nothing = [
        ("ADS_REINJECTION_ENABLED", "maybe"),
        ("ADS_REINJECTION_TURNS", "0"),
        ("ADS_RULES_REINJECTION_TURNS", "many"),
        ("ADS_REINJECTION_TRIGGER", "Both"),
        ("ADS_REINJECTION_THRESHOLDS", "0.5, 1.5"),
    ];
    assert_eq!(given(None, &nothing), ReinjectOverrides::default(), "a value that means nothing counts as none");
    let first = ReinjectOverrides { turns: Some(1.0), ..ReinjectOverrides::default() };
    assert_eq!(first.or(&expected), ReinjectOverrides { turns: Some(1.0), ..expected });
}

fn shown<I: std::fmt::Debug>(sent: &EnvelopeOutput<I>) -> String {
    match sent {
        EnvelopeOutput::Text(fragments) => format!("text {:?}", concat(fragments)),
        EnvelopeOutput::Items { texts, items } => {
            format!("texts {:?} items {items:?}", texts.iter().map(|text| concat(text)).collect::<Vec<_>>())
        }
    }
}

#[test]
fn texts_go_before_one_text_or_before_items() {
    let layout = |text: &str| Some(vec![Fragment::layout(text)]);
    let said = || EnvelopeInput::<u8>::Text(Fragment::layout("hi"));
    let lines = [
        shown(&wrap(None, None, said())),
        shown(&wrap(layout("standing"), None, said())),
        shown(&wrap(layout("standing"), layout("phase"), said())),
        shown(&wrap(layout("standing"), layout("phase"), EnvelopeInput::Items(vec![1, 2]))),
        shown(&wrap::<u8>(None, None, EnvelopeInput::Items(Vec::new()))),
    ];
    expect![[r#"
        text "hi"
        text "standing\n\nhi"
        text "standing\n\nphase\n\nhi"
        texts ["standing", "phase"] items [1, 2]
        texts [] items []"#]]
    .assert_eq(&lines.join("\n"));
}

#[track_caller]
fn check_current(injected: Option<&str>, beside: Beside, expected: &Expect) {
    let words = envelope::EnvelopeTexts {
        alias: vec![Fragment::layout("I am Ada.")],
        separator: vec![Fragment::layout("\n---\n")],
    };
    let injected = || injected.map(|text| vec![Fragment::layout(text)]);
    let one = wrap_current(injected(), &words, beside, EnvelopeInput::<u8>::Text(Fragment::layout("hi")));
    let two = wrap_current(injected(), &words, beside, EnvelopeInput::Items(vec![1_u8]));
    let developer = one.developer.as_ref().map(|text| concat(text));
    assert_eq!(developer, two.developer.as_ref().map(|text| concat(text)));
    expected.assert_eq(&format!("{developer:?}\n{}\n{}", shown(&one.sent), shown(&two.sent)));
}

#[test]
fn a_soul_goes_beside_the_input_where_the_provider_takes_it() {
    check_current(
        None,
        Beside::Developer,
        &expect![[r#"
        None
        text "hi"
        texts [] items [1]"#]],
    );
    check_current(
        Some("rules"),
        Beside::Developer,
        &expect![[r#"
        None
        text "I am Ada.\n\nrules\n---\nhi"
        texts ["I am Ada.\n\nrules\n---\n"] items [1]"#]],
    );
    check_current(
        Some("rules\n\n<soul>\nkind\n</soul>"),
        Beside::Nothing,
        &expect![[r#"
        None
        text "I am Ada.\n\nrules\n\n<soul>\nkind\n</soul>\n---\nhi"
        texts ["I am Ada.\n\nrules\n\n<soul>\nkind\n</soul>\n---\n"] items [1]"#]],
    );
    check_current(
        Some("rules\n\n<soul>\nkind\n</soul>"),
        Beside::Developer,
        &expect![[r#"
        Some("I am Ada.\n\nkind")
        text "rules\n---\nhi"
        texts ["rules\n---\n"] items [1]"#]],
    );
    check_current(
        Some("rules\n\n<soul>\nkind\n</soul>\n\nmore"),
        Beside::Developer,
        &expect![[r#"
        Some("I am Ada.\n\nkind")
        text "rules\n\nmore\n---\nhi"
        texts ["rules\n\nmore\n---\n"] items [1]"#]],
    );
    check_current(
        Some("<soul>kind</soul>"),
        Beside::Developer,
        &expect![[r#"
        Some("I am Ada.\n\nkind")
        text "hi"
        texts [] items [1]"#]],
    );
    check_current(
        Some("<soul>not closed"),
        Beside::Developer,
        &expect![[r#"
        None
        text "I am Ada.\n\n<soul>not closed\n---\nhi"
        texts ["I am Ada.\n\n<soul>not closed\n---\n"] items [1]"#]],
    );
}

#[test]
fn what_cannot_be_used_of_files_is_an_omission() {
    let all = InjectionInput {
        instructions: unreadable("instructions"),
        rules: FoundFile::Text(HashedText::read("/w/rules.md", b"a\xffb")),
        soul: Some(HashedText::read("/w/soul.md", b"\xfe\xff")),
        unusable_skills: vec![("/s/x".to_owned(), "it has no name".to_owned())],
        ..InjectionInput::default()
    };
    let lines: Vec<String> =
        all.omissions("standing").iter().map(|it| format!("{} {}: {:?}", it.slot, it.what, it.why)).collect();
    expect![[r#"
        standing /w/instructions.md: Unusable { error: "Permission denied" }
        standing /w/rules.md: NotUtf8(NotUtf8 { first: 1, count: 1 })
        standing /w/soul.md: NotUtf8(NotUtf8 { first: 0, count: 2 })
        standing /s/x: Unusable { error: "it has no name" }"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(files(missing("a"), FoundFile::NotWanted).omissions("standing"), []);
    assert_eq!(all.on_disk().map(ToString::to_string).collect::<Vec<_>>(), ["/w/rules.md", "/w/soul.md"]);
}
