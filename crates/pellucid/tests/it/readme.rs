//! The READMEs show the first screen of `context`, and their image is drawn from the same lines.

use expect_test::expect;
use expect_test::expect_file;

use crate::World;

const READMES: [(&str, &str); 2] = [
    ("README.md", include_str!("../../../../README.md")),
    ("README.zh-CN.md", include_str!("../../../../README.zh-CN.md")),
];

/// The command in the sample, as a person types it.
const COMMAND: &str = "$ pellucid context \"explain this repository\"\n";

/// The lines that a README shows under the command.
fn sample(readme: &str) -> &str {
    let after = readme.split_once(COMMAND).map_or("", |(_, after)| after);
    after.split("```").next().unwrap_or_default()
}

/// The line of a group: its name, its share of the request in thousandths, and its largest source without figures.
struct Group<'a> {
    name: &'a str,
    share: usize,
    source: &'a str,
}

/// The groups of a first screen.
fn groups(screen: &str) -> Vec<Group<'_>> {
    screen.lines().filter_map(group_of).collect()
}

fn group_of(line: &str) -> Option<Group<'_>> {
    let (name, rest) = line.split_once("  ")?;
    let (bar_and_share, figures) = rest.split_once(" % ")?;
    let share = bar_and_share.rsplit(' ').next()?.replace('.', "").parse().ok()?;
    // Tokens and, where it is known, the price come before the source.
    let (_, source) = figures.rsplit_once("  ")?;
    let source = source.split([' ', ',']).next()?;
    Some(Group { name, share, source })
}

#[test]
fn the_sample_names_the_groups_that_the_program_prints() {
    let world = World::new("//- work/AGENTS.md\nRun `make test` before you commit.\n");
    let ran = world.run(&["context", "explain this repository"]);
    let names = |screen| groups(screen).iter().map(|it| format!("{}: {}", it.name, it.source)).collect::<Vec<_>>();
    let printed = names(ran.out());
    expect![[r#"
        tools: exec_command
        instructions: base/codex.md
        session: permissions
        your files: AGENTS.md
        conversation: you
        notation: braces"#]]
    .assert_eq(&printed.join("\n"));
    for (path, readme) in READMES {
        assert_eq!(names(sample(readme)), printed, "{path}");
    }
}

/// Every line of the first screen fits the terminal, and the screen has no more than 24 of them.
#[test]
fn the_first_screen_is_one_screen() {
    let world = World::new("//- work/AGENTS.md\nRun `make test` before you commit.\n");
    for n in 0..9 {
        let text = format!("caf\u{e9} \u{200b} {n}").into_bytes();
        let text: Vec<u8> = text.into_iter().chain([0xe9, b'\n']).collect();
        std::fs::create_dir_all(world.files.path(format!("work/{}", "d/".repeat(n)))).unwrap();
        std::fs::write(world.files.path(format!("work/{}AGENTS.md", "d/".repeat(n))), text).unwrap();
    }
    std::fs::create_dir_all(world.files.path("work/.git")).unwrap();
    for columns in ["40", "80", "140"] {
        let folder = "d/".repeat(8);
        let ran = world.run_in(&["context", "-C", &folder, "hi"], &[("COLUMNS", columns)]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let columns: usize = columns.parse().unwrap();
        let too_long = ran.out().lines().find(|line| line.chars().count() > columns);
        assert_eq!((too_long, ran.out().lines().count() <= 24), (None, true), "{}", ran.out());
        assert!(ran.out().contains("more warnings; -v lists them\n"), "{}", ran.out());
    }
}

#[test]
fn the_image_is_up_to_date() {
    let sample = sample(READMES[0].1);
    assert_eq!(sample, self::sample(READMES[1].1), "the two READMEs show different lines");
    expect_file!["../../../../docs/images/context-map.svg"].assert_eq(&drawing(sample));
}

/// An image with a bar for each group of a first screen.
fn drawing(screen: &str) -> String {
    let title = screen.lines().next().unwrap_or_default();
    let groups = groups(screen);
    let height = 64 + 26 * groups.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {height}\" role=\"img\" \
         font-family=\"ui-monospace, monospace\" font-size=\"14\">\n\
         <title>{title}</title>\n\
         <rect width=\"760\" height=\"{height}\" rx=\"8\" fill=\"#14191f\"/>\n\
         <text x=\"20\" y=\"32\" fill=\"#e6edf3\">{title}</text>\n"
    );
    let largest = groups.iter().map(|group| group.share).max().unwrap_or(1).max(1);
    for (at, Group { name, share, source }) in groups.into_iter().enumerate() {
        let (top, width) = (50 + 26 * at, (360 * share / largest).max(2));
        let text = top + 14;
        let (whole, tenth) = (share / 10, share % 10);
        let source = if name == "notation" { "" } else { source };
        svg += &format!(
            "<rect x=\"20\" y=\"{top}\" width=\"{width}\" height=\"18\" rx=\"3\" fill=\"#3fa796\"/>\n\
             <text x=\"450\" y=\"{text}\" fill=\"#8b949e\" text-anchor=\"end\">{whole}.{tenth} %</text>\n\
             <text x=\"470\" y=\"{text}\" fill=\"#e6edf3\">{name}</text>\n\
             <text x=\"590\" y=\"{text}\" fill=\"#8b949e\">{source}</text>\n"
        );
    }
    svg + "</svg>\n"
}
