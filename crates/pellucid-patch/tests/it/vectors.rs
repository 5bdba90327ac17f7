//! The result of every case, as text to be read.

use std::fmt::Write;

use expect_test::expect_file;

use crate::cases::CASES;
use crate::ours;

#[test]
fn every_rule_and_every_complaint() {
    let mut text = String::new();
    for case in CASES {
        let outcome = ours(&case.tree(), &case.text());
        writeln!(text, "== {}", case.name).unwrap();
        for (path, content) in case.files {
            writeln!(text, "{path}: {content:?}").unwrap();
        }
        case.text().lines().for_each(|line| writeln!(text, "| {line}").unwrap());
        writeln!(text, "-> {}", outcome.status).unwrap();
        text += &outcome.stdout;
        text += &outcome.stderr;
        if outcome.status == 0 {
            for (path, content) in &outcome.tree {
                writeln!(text, "{path}: {:?}", String::from_utf8_lossy(content)).unwrap();
            }
        } else {
            assert_eq!(outcome.tree, case.tree(), "{}: a patch that fails changes nothing", case.name);
        }
        text.push('\n');
    }
    expect_file!["../data/vectors.txt"].assert_eq(&text);
}
