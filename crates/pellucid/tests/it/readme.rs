//! The READMEs show what the program prints, and their image is drawn from the same lines.

use expect_test::expect_file;

use crate::World;

const READMES: [(&str, &str); 2] = [
    ("README.md", include_str!("../../../../README.md")),
    ("README.zh-CN.md", include_str!("../../../../README.zh-CN.md")),
];

/// The command in the sample, as a person types it.
const COMMAND: &str = "$ pellucid context --form map \"explain this repository\"\n";

/// The lines that a README shows under the command.
fn sample(readme: &str) -> &str {
    let after = readme.split_once(COMMAND).map_or("", |(_, after)| after);
    after.split("```").next().unwrap_or_default()
}

/// A line of the map: its share of the largest part, its share of all in words, its name.
fn parts(map: &str) -> Vec<(usize, &str, &str)> {
    map.lines()
        .filter_map(|line| {
            let n_blocks = line.chars().filter(|it| *it == '█').count();
            let (figures, name) = line.trim_start_matches('█').trim().rsplit_once("  ")?;
            (n_blocks > 0).then(|| (n_blocks, figures.split(" %").next().unwrap_or_default(), name))
        })
        .collect()
}

#[test]
fn the_sample_names_the_parts_that_the_program_prints() {
    let world = World::new("//- work/AGENTS.md\nRun `make test` before you commit.\n");
    let ran = world.run(&["context", "--form", "map", "explain this repository"]);
    let names = |map: &'static str| parts(map).into_iter().map(|(_, _, name)| name).collect::<Vec<_>>();
    for (path, readme) in READMES {
        let shown = names(sample(readme));
        let printed: Vec<&str> = parts(ran.out()).into_iter().map(|(_, _, name)| name).take(shown.len()).collect();
        assert!(shown.len() > 5, "{path} has no sample");
        assert_eq!(shown, printed, "{path}");
    }
}

#[test]
fn the_image_is_up_to_date() {
    let sample = sample(READMES[0].1);
    assert_eq!(sample, self::sample(READMES[1].1), "the two READMEs show different lines");
    expect_file!["../../../../docs/images/context-map.svg"].assert_eq(&drawing(sample));
}

/// An image with a bar for each part of a map.
fn drawing(map: &str) -> String {
    let title = map.lines().next().unwrap_or_default();
    let parts = parts(map);
    let height = 64 + 26 * parts.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {height}\" role=\"img\" \
         font-family=\"ui-monospace, monospace\" font-size=\"14\">\n\
         <title>{title}</title>\n\
         <rect width=\"760\" height=\"{height}\" rx=\"8\" fill=\"#14191f\"/>\n\
         <text x=\"20\" y=\"32\" fill=\"#e6edf3\">{title}</text>\n"
    );
    for (at, (n_blocks, share, name)) in parts.into_iter().enumerate() {
        let (top, width) = (50 + 26 * at, 9 * n_blocks);
        let text = top + 14;
        svg += &format!(
            "<rect x=\"20\" y=\"{top}\" width=\"{width}\" height=\"18\" rx=\"3\" fill=\"#3fa796\"/>\n\
             <text x=\"450\" y=\"{text}\" fill=\"#8b949e\" text-anchor=\"end\">{share} %</text>\n\
             <text x=\"470\" y=\"{text}\" fill=\"#e6edf3\">{name}</text>\n"
        );
    }
    svg + "</svg>\n"
}
