//! `doctor`: whether a turn could run here, and which tools are available.
//!
//! Only local files and programs are looked at: no request is sent, and no key is shown.
//!
//! Not here: mending anything. What can be done is in the text.

mod look;

use std::process::ExitCode;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::args::sandbox::DoctorArgs;
use crate::args::shared::Shared;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Everything is in order.
    Good,
    /// Worth knowing; turns can run.
    Note,
    /// Turns cannot run until the problem is fixed.
    Bad,
}

impl Health {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Bad => "problem",
        }
    }
}

/// The findings about one subject, for example the sandbox.
#[derive(Debug, Clone)]
pub struct DoctorSection {
    name: &'static str,
    state: Health,
    /// In a few words.
    summary: String,
    /// More for people, a line each.
    lines: Vec<String>,
    /// The same for programs.
    fields: Value,
}

pub fn run(shared: &Shared, args: &DoctorArgs) -> Result<ExitCode, ProgramFailure> {
    let sections = look::look(shared, args.cd.as_deref());
    let text = if args.json { format!("{:#}\n", json(&sections)) } else { text(&sections) };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(if is_good(&sections) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_good(sections: &[DoctorSection]) -> bool {
    sections.iter().all(|it| it.state < Health::Bad)
}

fn json(sections: &[DoctorSection]) -> Value {
    let mut all = Map::new();
    all.insert("ok".to_owned(), is_good(sections).into());
    for section in sections {
        let mut fields = json!({ "state": section.state.as_str(), "summary": section.summary });
        if let (Some(fields), Some(more)) = (fields.as_object_mut(), section.fields.as_object()) {
            fields.extend(more.clone());
        }
        all.insert(section.name.to_owned(), fields);
    }
    Value::Object(all)
}

fn text(sections: &[DoctorSection]) -> String {
    let mut text = String::new();
    for section in sections {
        let (state, name, summary) = (section.state.as_str(), section.name, &section.summary);
        text += &format!("{state:8} {name:14} {summary}\n");
        for line in &section.lines {
            text += &format!("{:24}{line}\n", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn sections(state: Health) -> Vec<DoctorSection> {
        vec![
            DoctorSection {
                name: "program",
                state: Health::Good,
                summary: "pellucid 1".to_owned(),
                lines: vec!["somewhere".to_owned()],
                fields: json!({ "version": "1" }),
            },
            DoctorSection { name: "git", state, summary: "missing".to_owned(), lines: Vec::new(), fields: Value::Null },
        ]
    }

    #[test]
    fn people_get_lines() {
        expect![[r#"
            ok       program        pellucid 1
                                    somewhere
            note     git            missing
        "#]]
        .assert_eq(&text(&sections(Health::Note)));
    }

    #[test]
    fn programs_get_the_same_in_fields() {
        expect![[r#"{"ok":false,"program":{"state":"ok","summary":"pellucid 1","version":"1"},"git":{"state":"problem","summary":"missing"}}"#]].assert_eq(&json(&sections(Health::Bad)).to_string());
    }

    #[test]
    fn only_a_problem_is_a_failure() {
        assert!(is_good(&sections(Health::Note)));
        assert!(!is_good(&sections(Health::Bad)));
    }
}
