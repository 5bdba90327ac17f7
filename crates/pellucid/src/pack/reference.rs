//! `docs/packs.md`: the guide, and lists made from what the engine knows.

use std::fmt::Write as _;
use std::path::Path;

use pellucid_engine::computed;
use pellucid_engine::gate;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::ROLES;
use pellucid_engine::pack::SlotText;
use pellucid_engine::source;
use pellucid_engine::template::Trim;

const GUIDE: &str = include_str!("guide.md");

fn page() -> String {
    let mut page = GUIDE.to_owned();
    page += "\n## Sources\n\n| source | gives | slots it uses |\n|---|---|---|\n";
    for name in source::names() {
        let slots = source::find(&name).map_or(&[][..], |source| source.templates);
        let slots: Vec<String> = slots.iter().map(|(file, _)| format!("`{}`", bare(file))).collect();
        let _ = writeln!(page, "| `{name}` | {} | {} |", source::about(&name), slots.join(", "));
    }
    page += "\n## Roles\n\n| role of a slot | what the program does with it |\n|---|---|\n";
    for (_, role, about) in ROLES {
        let _ = writeln!(page, "| `{role}` | {about} |");
    }
    page += "\n## Gates\n\n| gate | open when |\n|---|---|\n";
    for (gate, about) in gate::ABOUT {
        let _ = writeln!(page, "| `{}` | {about} |", gate.replace('|', "\\|"));
    }
    page += "\n## Values for templates and conditions\n\n| value | what it is |\n|---|---|\n";
    rows(&mut page, computed::ROOTS);
    page += "\n| filter | gives |\n|---|---|\n";
    rows(&mut page, computed::FILTERS);
    page += "\n| test, after `is` | holds if the value |\n|---|---|\n";
    rows(&mut page, computed::TESTS);
    page += "\n## Slots\n\nSlots that `pellucid pack show` lists without text are reserved and currently unused.\n";
    page += "\n| slot | what for | placeholders | in the Codex CLI |\n|---|---|---|---|\n";
    let pack = Pack::builtin("codex").expect("it is built in");
    let slots = pack.slot_texts();
    for slot in slots.iter().filter(|slot| !is_description(slot)) {
        let end = match slot.trim {
            Trim::Keep => "",
            Trim::End => "; white space at its end is removed",
            Trim::Newline => "; one newline at its end is removed",
        };
        let _ = writeln!(page, "| `{}` | {}{end} | {} | {} |", slot.file, slot.about, places(slot), upstream(slot));
    }
    page += "\n## Descriptions of tools\n\nEach description is a slot: `tools/NAME.md` or `tools/NAME.PARAMETER.md`.\n";
    page += "\n| tool | parameters | placeholders |\n|---|---|---|\n";
    for slot in slots.iter().filter(|slot| is_description(slot) && !slot.name.contains('.')) {
        let inner: Vec<&SlotText> = slots.iter().filter(|it| it.name.starts_with(&format!("{}.", slot.name))).collect();
        let parameters: Vec<String> =
            inner.iter().filter_map(|it| it.name.split_once('.')).map(|(_, path)| format!("`{path}`")).collect();
        let placeholders: Vec<String> =
            inner.iter().copied().chain([slot]).map(places).filter(|it| !it.is_empty()).collect();
        let name = slot.name.trim_start_matches("tools/");
        let _ = writeln!(page, "| `{name}` | {} | {} |", parameters.join(", "), placeholders.join(" "));
    }
    page
}

fn rows(page: &mut String, all: &[(&str, &str)]) {
    for (name, about) in all {
        let _ = writeln!(page, "| `{name}` | {about} |");
    }
}

fn bare(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(bare, _)| bare)
}

fn is_description(slot: &SlotText) -> bool {
    slot.name.starts_with("tools/") && slot.file.ends_with(".md")
}

fn places(slot: &SlotText) -> String {
    slot.places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(" ")
}

fn upstream(slot: &SlotText) -> String {
    slot.upstream.split(", ").filter(|it| !it.is_empty()).map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_page_about_packs_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/packs.md");
    let generated = page();
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(&path, &generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == generated, "docs/packs.md is not what the engine says; run the tests with UPDATE_EXPECT=1");
}
