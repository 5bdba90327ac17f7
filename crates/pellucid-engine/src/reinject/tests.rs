//! What goes before inputs, turn by turn, in each variant of the pack `ads` and in a layout that is none of them; what holds an
//! input back; and how it is put before the input.

use expect_test::Expect;
use expect_test::expect;

use super::envelope::EnvelopeInput;
use super::envelope::EnvelopeOutput;
use super::envelope::EnvelopeTexts;
use super::envelope::wrap;
use super::files::FoundFile;
use super::files::HashedText;
use super::files::StandingSkill;
use super::layout::ReinjectLayout;
use super::settings::ReinjectOverrides;
use super::*;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::pack::PackFiles;
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

/// A pack over `ads`, with short words in place of the pack's.
fn pack(reinject: &str) -> Pack {
    let texts = [
        ("pack.toml", format!("name = \"x\"\nfrom = \"ads\"\n[reinject]\n{reinject}\n")),
        ("reinject/workspace_notice.md", "Not initialised.\n".to_owned()),
        ("reinject/skill_system.md", "There are {{ count }} skills.\n".to_owned()),
        ("reinject/skill_system_none.md", "There are no skills.\n".to_owned()),
        ("reinject/alias.md", "I am Ada.\n".to_owned()),
        ("reinject/separator.md", "---\n".to_owned()),
    ];
    let files: PackFiles = texts.into_iter().map(|(file, text)| (file.to_owned(), text)).collect();
    Pack::load_user(&files, "/packs/x").unwrap()
}

fn variant(name: &str) -> Pack {
    pack(&format!("variant = \"{name}\""))
}

fn layout(pack: &Pack) -> ReinjectLayout {
    pack.layout.reinject.as_ref().unwrap().chosen()
}

/// A session whose inputs are decided one after the other.
struct Session {
    settings: ReinjectSettings,
    words: PartTexts,
    state: ReinjectState,
    lines: String,
}

impl Session {
    fn new(name: &str, given: &ReinjectOverrides) -> Self {
        Self::of(&variant(name), given)
    }

    fn of(pack: &Pack, given: &ReinjectOverrides) -> Self {
        let settings = layout(pack).settings(given.clone());
        let words = PartTexts::of(pack, &settings);
        Self { settings, words, state: ReinjectState::default(), lines: String::new() }
    }

    /// Decides an input, writes down what came of it, and ends its turn.
    fn input(&mut self, files: &InjectionInput, occupancy: Option<f64>) {
        let InjectionDecision { injection, notices } = self.state.decide(&self.settings, files, &self.words, occupancy);
        let shown = match injection {
            Ok(None) => "-".to_owned(),
            Ok(Some(injection)) => format!("{} {:?}", injection.reason, injection.text()),
            Err(blocked) => format!("held back, {}: {}", blocked.code, blocked.message),
        };
        self.lines += &format!("{}: {shown}\n", self.state.turn_count);
        for notice in notices.iter().filter(|notice| notice.level() != Level::Info) {
            self.lines += &format!("   {}: {}\n", notice.level().word(), notice.text());
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
    let mut session = Session::new("design", &turns(3.0));
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
    let mut session = Session::new("design", &given);
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
                let mut session = Session::new("design", &given);
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
    let mut session = Session::new("design", &turns(9.0));
    session.input(&files(missing("instructions"), text("rules", "R")), None);
    session.input(&files(unreadable("instructions"), text("rules", "R")), None);
    session.input(&files(FoundFile::Corrupt { path: "/w/instructions.md".into() }, text("rules", "R")), None);
    session.input(&files(text("instructions", "I"), unreadable("rules")), None);
    session.input(&files(text("instructions", "I"), FoundFile::Corrupt { path: "/w/rules.md".into() }), None);
    session.input(&both(), None);
    session.check(&expect![[r#"
        0: held back, instructions_missing: the instructions are missing: put the file back at /w/instructions.md; nothing was sent
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
    let mut session = Session::new("current", &turns(3.0));
    for _ in 0..5 {
        session.input(&both(), None);
    }
    session.check(&expect![[r#"
        0: initial "I1\n\n\nR1\n\n\nThere are no skills."
        1: rules-only-1 "R1\n\n\nThere are no skills."
        2: rules-only-2 "R1\n\n\nThere are no skills."
        3: turn-3 "I1\n\n\nR1\n\n\nThere are no skills."
        4: rules-only-4 "R1\n\n\nThere are no skills."
    "#]]);
    let mut seldom =
        Session::new("current", &ReinjectOverrides { rules_turns: Some(2.0), enabled: Some(false), ..turns(2.0) });
    for _ in 0..5 {
        seldom.input(&both(), None);
    }
    seldom.check(&expect![[r#"
        0: initial "I1\n\n\nR1\n\n\nThere are no skills."
        1: -
        2: rules-only-2 "R1\n\n\nThere are no skills."
        3: -
        4: rules-only-4 "R1\n\n\nThere are no skills."
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
    let mut session = Session::new("current", &turns(9.0));
    session.input(&full, None);
    session.state.request_skills(&[" FLY ".to_owned(), "dig".to_owned(), "fly".to_owned(), String::new()]);
    session.input(&full, None);
    session.state.request_skills(&[]);
    session.input(&InjectionInput { soul: None, ..full.clone() }, None);
    session.input(&InjectionInput { skills: Vec::new(), soul: None, ..full }, None);
    session.check(&expect![[r#"
        0: initial "Not initialised.\n\n\nI1\n\n\nR1\n\n\nThere are 2 skills.\n\n\n<soul>\nkind\n</soul>"
           warn: the workspace /w/.state is not set up; instructions and rules come from the pack
           warn: instructions missing at /w/instructions.md, using those of the pack
        1: skills-requested "Not initialised.\n\n\nI1\n\n\nR1\n\n\nThere are 2 skills.\n\n\n<requested_skills>\n  <skill name=\"fly\">\nhow to Fly\n  </skill>\n  <skill name=\"dig\" missing=\"true\" />\n</requested_skills>\n\n\n<soul>\nkind\n</soul>"
        2: soul-updated "Not initialised.\n\n\nI1\n\n\nR1\n\n\nThere are 2 skills."
        3: skills-updated "Not initialised.\n\n\nI1\n\n\nR1\n\n\nThere are no skills."
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
    let mut session = Session::new("current", &turns(9.0));
    session.input(&files(missing("instructions"), missing("rules")), None);
    session.input(&files(unreadable("instructions"), unreadable("rules")), None);
    session.input(&files(FoundFile::NotWanted, FoundFile::NotWanted), None);
    session.check(&expect![[r#"
        0: initial "There are no skills."
           warn: instructions missing at /w/instructions.md, and the pack has none; continuing without instructions
           warn: rules missing at /w/rules.md, continuing with instructions only
        1: rules-only-1 "There are no skills."
        2: rules-only-2 "There are no skills."
    "#]]);
}

#[test]
fn the_initial_variant_notices_a_change_late() {
    let mut session = Session::new("initial", &turns(3.0));
    session.input(&both(), None);
    for _ in 0..4 {
        assert_eq!(session.state.needs_files(&session.settings, None), session.state.turn_count >= 3);
        session.input(&files(text("instructions", "I2"), missing("rules")), None);
    }
    session.input(&files(missing("instructions"), missing("rules")), None);
    session.input(&files(missing("instructions"), missing("rules")), None);
    session.check(&expect![[r#"
        0: initial "I1\n\n\nR1"
        1: -
        2: -
        3: turn-3 "I2"
           warn: rules missing at /w/rules.md, continuing with instructions only
        4: instructions-updated "I2"
        5: -
        6: -
    "#]]);
}

#[test]
fn another_workspace_is_told_with_the_next_input() {
    let mut lines = String::new();
    for variant in ["design", "current", "initial"] {
        for is_first in [true, false] {
            let mut session = Session::new(variant, &turns(9.0));
            if !is_first {
                session.input(&both(), None);
            }
            assert_eq!(session.state.switch_workspace("/other").text(), "workspace switched to /other");
            session.input(&both(), None);
            session.input(&both(), None);
            let reasons: Vec<&str> = session.lines.lines().filter_map(|line| line.split(' ').nth(1)).collect();
            lines += &format!("{variant} first {is_first}: {}\n", reasons.join(" "));
        }
    }
    expect![[r#"
        design first true: initial -
        design first false: initial workspace-changed -
        current first true: initial workspace-changed
        current first false: initial workspace-changed rules-only-2
        initial first true: initial workspace-changed
        initial first false: initial workspace-changed -
    "#]]
    .assert_eq(&lines);
}

#[test]
fn a_state_is_read_back_as_it_was_and_may_lack_anything() {
    let mut session = Session::new("design", &turns(3.0));
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
    let line = |name: &str, given: ReinjectOverrides| {
        let settings = layout(&variant(name)).settings(given);
        let ReinjectSettings { enabled, turns, rules_turns, trigger, thresholds, .. } = settings;
        format!("{name} {enabled} {turns} {rules_turns:?} {trigger:?} {thresholds:?}")
    };
    let mut lines = Vec::new();
    for variant in ["design", "current", "initial"] {
        lines.push(line(variant, ReinjectOverrides::default()));
        lines.push(line(
            variant,
            ReinjectOverrides { turns: Some(0.5), rules_turns: Some(-1.0), ..ReinjectOverrides::default() },
        ));
        lines.push(line(
            variant,
            ReinjectOverrides {
                turns: Some(2.5),
                rules_turns: Some(0.5),
                enabled: Some(false),
                ..ReinjectOverrides::default()
            },
        ));
    }
    expect![[r#"
        design true 15 None Auto [0.25, 0.5, 0.75]
        design true 15 Some(1.0) Auto [0.25, 0.5, 0.75]
        design false 2.5 Some(0.5) Auto [0.25, 0.5, 0.75]
        current true 6 Some(1.0) Turns [0.25, 0.5, 0.75]
        current true 15 Some(1.0) Turns [0.25, 0.5, 0.75]
        current false 2.5 Some(0.5) Turns [0.25, 0.5, 0.75]
        initial true 15 None Turns [0.25, 0.5, 0.75]
        initial true 15 Some(1.0) Turns [0.25, 0.5, 0.75]
        initial false 2.5 Some(0.5) Turns [0.25, 0.5, 0.75]"#]]
    .assert_eq(&lines.join("\n"));
}

/// A layout that is none of the variants: other parts in another order, files in other places, every key different.
#[test]
fn the_machine_serves_a_layout_of_ones_own() {
    let own = "variant = \"mine\"\nenabled = true\n[reinject.variants.mine]\nturns = 2\ntrigger = \"turns\"\nrules_turns = 1\nparts = [\"soul\", \"rules\", \"instructions\"]\nbefore = \"reinject/alias.md\"\n[reinject.variants.mine.files]\nsoul = \"me.md\"\nrefuse = [\"rules\"]\nblank = [\"rules\"]\n";
    let pack = pack(own);
    let mut session = Session::of(&pack, &ReinjectOverrides::default());
    let with = |rules: FoundFile, soul: &str| InjectionInput {
        soul: Some(HashedText::on_disk("/w/me.md", soul)),
        ..files(text("instructions", "I1"), rules)
    };
    session.input(&with(text("rules", "R1"), "kind"), None);
    session.input(&with(text("rules", " "), "kind"), None);
    session.input(&with(text("rules", " "), "firm"), None);
    session.input(&with(text("rules", " "), "firm"), None);
    session.input(&with(unreadable("rules"), "firm"), None);
    session.input(&files(missing("instructions"), text("rules", "R2")), None);
    session.check(&expect![[r#"
        0: initial "<soul>\nkind\n</soul>\n\n\nR1\n\n\nI1"
        1: rules-updated "<soul>\nkind\n</soul>\n\n\n\n\n\nI1"
        2: soul-updated "<soul>\nfirm\n</soul>\n\n\n\n\n\nI1"
        3: rules-only-3 "<soul>\nfirm\n</soul>\n\n\n"
        4: held back, rules_unreadable: the rules cannot be read: /w/rules.md: Permission denied; correct its permissions; nothing was sent
        5: rules-updated "R2"
           warn: instructions missing at /w/instructions.md, and the pack has none; continuing without instructions
    "#]]);
    let words = EnvelopeTexts::of(&pack, &layout(&pack));
    assert_eq!((concat(&words.before).as_str(), words.after.len()), ("I am Ada.", 0));
}

#[test]
fn what_a_pack_says_precedes_the_variants_beneath_it() {
    let turns = |own: &str| layout(&pack(own)).settings(ReinjectOverrides::default()).turns;
    assert_eq!(turns("variant = \"current\""), 6.0);
    assert_eq!(turns("variant = \"current\"\nturns = 3"), 3.0);
    assert_eq!(turns("variant = \"current\"\nturns = 3\n[reinject.variants.current]\nturns = 4"), 4.0);
    assert_eq!(turns("variant = \"current\"\n[reinject.variants.current]\nrules_turns = 2"), 6.0);
    let strict = layout(&pack("variant = \"current\"\nfiles = { strict = true }")).files;
    assert!(strict.is_strict() && strict.soul.as_deref() == Some("soul.md"));
}

#[test]
fn what_could_have_no_effect_is_refused() {
    let refused = |own: &str| {
        let texts = [("pack.toml".to_owned(), format!("name = \"x\"\nfrom = \"ads\"\n[reinject]\n{own}\n"))];
        Pack::load_user(&PackFiles::from(texts), "/packs/x").unwrap_err().to_string()
    };
    let lines = [
        refused("variant = \"later\""),
        refused("turns = 0"),
        refused("files = { soul = \"me.md\" }"),
        refused("skills = { folder = \"s\" }"),
        refused("trigger = \"turns\"\nthresholds = [0.5]"),
        refused("[reinject.variants.x]\nvariant = \"design\""),
        refused("[reinject.variants.x]\nrules_turns = 0.5"),
        refused("rules = 7"),
        refused("[reinject.files.state]\nfolder = \".x\"\nmarker = \"m\"\ntake_over = [[\"a\", \"../b\"]]"),
    ];
    expect![[r#"
        /packs/x/pack.toml:3:1: `variant`: there is no [reinject.variants.later]; known: current, design, initial
        /packs/x/pack.toml:3:1: `turns` must be at least 1
        /packs/x/pack.toml:3:1: `files.soul` has no effect without the part `soul`
        /packs/x/pack.toml:3:1: `skills` has no effect without the part `skills` or `requested_skills`
        /packs/x/pack.toml:3:1: `thresholds` has no effect without a `trigger` by window
        /packs/x/pack.toml:3:1: a variant has neither phases nor variants
        /packs/x/pack.toml:3:1: [reinject.variants.x]: `rules_turns` must be at least 1
        /packs/x/pack.toml:4:9: expected a file or a list of files
        /packs/x/pack.toml:3:1: `files.state`: "../b" is not a path within a folder"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn an_environment_speaks_for_its_channel_before_it_speaks_for_all() {
    let given = |prefixes: &[&str], variables: &[(&str, &str)]| {
        let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        ReinjectOverrides::from_env(prefixes, &env)
    };
    assert_eq!(given(&["ADS"], &[]), ReinjectOverrides::default());
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
    assert_eq!(given(&["TG", "ADS"], &all), expected);
    assert_eq!(given(&["ADS"], &all), ReinjectOverrides { turns: Some(7.0), rules_turns: None, ..expected.clone() });
    let nothing = [
        ("ADS_REINJECTION_ENABLED", "maybe"),
        ("ADS_REINJECTION_TURNS", "0"),
        ("ADS_RULES_REINJECTION_TURNS", "many"),
        ("ADS_REINJECTION_TRIGGER", "Both"),
        ("ADS_REINJECTION_THRESHOLDS", "0.5, 1.5"),
    ];
    assert_eq!(given(&["ADS"], &nothing), ReinjectOverrides::default(), "a value that means nothing counts as none");
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
    let layout = |text: &str| vec![Fragment::layout(text)];
    let nothing = EnvelopeTexts::default();
    let around = EnvelopeTexts { before: layout("I am Ada."), after: layout("---") };
    let mut lines = Vec::new();
    for (name, words) in [("plain", &nothing), ("around", &around)] {
        for injected in [false, true] {
            for phase in [false, true] {
                let texts = || (injected.then(|| layout("standing")), phase.then(|| layout("phase")));
                let (standing, prompt) = texts();
                let one = shown(&wrap(standing, words, prompt, EnvelopeInput::<u8>::Text(Fragment::layout("hi"))));
                let (standing, prompt) = texts();
                let items = shown(&wrap(standing, words, prompt, EnvelopeInput::Items(vec![1_u8, 2])));
                lines.push(format!("{name}: {one}; {items}"));
            }
        }
    }
    expect![[r#"
        plain: text "hi"; texts [] items [1, 2]
        plain: text "phase\n\nhi"; texts ["phase"] items [1, 2]
        plain: text "standing\n\nhi"; texts ["standing"] items [1, 2]
        plain: text "standing\n\nphase\n\nhi"; texts ["standing", "phase"] items [1, 2]
        around: text "hi"; texts [] items [1, 2]
        around: text "phase\n\nhi"; texts ["phase"] items [1, 2]
        around: text "I am Ada.\n\nstanding\n\n---\n\nhi"; texts ["I am Ada.\n\nstanding\n\n---\n\n"] items [1, 2]
        around: text "I am Ada.\n\nstanding\n\nphase\n\n---\n\nhi"; texts ["I am Ada.\n\nstanding", "phase\n\n---\n\n"] items [1, 2]"#]]
    .assert_eq(&lines.join("\n"));
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
