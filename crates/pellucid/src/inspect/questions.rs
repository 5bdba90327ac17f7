//! What the page asks, answered by the functions behind the commands.
//!
//! A question becomes the words of a command line, so it has the defaults and the checks of the command.

use std::path::PathBuf;

use clap::Parser;
use pellucid_inspect::questions::NoAnswer;
use pellucid_inspect::questions::Question;
use pellucid_inspect::questions::Questions;
use pellucid_inspect::questions::SearchQuestion;
use pellucid_inspect::questions::WhyAbout;
use pellucid_store::read;
use pellucid_store::reconstructed;

use crate::args::Args;
use crate::args::ProgramCommand;
use crate::args::context::ContextCommand;
use crate::args::cost::CostArgs;
use crate::args::sessions::SessionsCommand;
use crate::args::shared::Shared;
use crate::cache;
use crate::capsule::LookedAt;
use crate::context::diff;
use crate::context::packs;
use crate::context::why;
use crate::cost;
use crate::request::RequestRefusal;
use crate::resume;
use crate::sessions::capsule;
use crate::sessions::grep;
use crate::start::ProgramFailure;
use crate::stored;

/// Answers questions as commands with the same options do.
#[derive(Debug)]
pub struct CommandAnswers {
    shared: Shared,
    home: PathBuf,
    capsule: Option<ServedCapsule>,
}

/// The session of a capsule. Commands know it by the name of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedCapsule {
    /// The id of the session.
    pub session: String,
    /// `file:` and the path of the capsule.
    pub name: String,
}

impl ServedCapsule {
    /// The same name for a command: the session's id becomes the name of the file, with what follows it.
    fn named(&self, name: &str) -> String {
        match name.strip_prefix(self.session.as_str()) {
            Some(rest) if rest.is_empty() || rest.starts_with('#') => format!("{}{rest}", self.name),
            _ => name.to_owned(),
        }
    }

    /// The same question for commands.
    fn renamed(&self, question: &Question) -> Question {
        match question.clone() {
            Question::Diff { a, b } => Question::Diff { a: self.named(&a), b: self.named(&b) },
            Question::Why { about, request } => Question::Why { about, request: self.named(&request) },
            Question::Cost { sessions, by, settings } => {
                Question::Cost { sessions: sessions.iter().map(|it| self.named(it)).collect(), by, settings }
            }
            // These are asked of the folder that the capsule is unpacked in.
            question => question,
        }
    }
}

impl CommandAnswers {
    /// Answers about the sessions of a home folder.
    pub fn new(shared: Shared, home: PathBuf, capsule: Option<ServedCapsule>) -> Self {
        Self { shared, home, capsule }
    }

    /// What came of the provider's cache.
    fn cache(&self, session: &str) -> Result<String, NoAnswer> {
        let (id, path) = stored::session(&self.home, session).map_err(|failure| none(&failure))?;
        let file = read::open_damaged(&path).map_err(|error| NoAnswer::Failed(error.to_string()))?;
        let looked_at = LookedAt { home: self.home.clone(), id, path };
        match cache::answer(&self.shared, &self.home, &looked_at, &file).map_err(|failure| none(&failure))? {
            Some(answer) => Ok(format!("{}\n", answer.to_json())),
            None => Err(NoAnswer::Unknown(cache::NOTHING_KNOWN.to_owned())),
        }
    }
}

impl Questions for CommandAnswers {
    fn ask(&self, question: &Question) -> Result<Vec<u8>, NoAnswer> {
        if let Question::Cache { session } = question {
            return self.cache(session).map(String::into_bytes);
        }
        let renamed = self.capsule.as_ref().map(|capsule| capsule.renamed(question));
        let args = Args::try_parse_from(words(renamed.as_ref().unwrap_or(question))).map_err(|error| wrong(&error))?;
        let refused = |refusal: RequestRefusal| none(refusal.failure());
        let text = match args.command {
            Some(ProgramCommand::Context(context)) => match context.command {
                Some(ContextCommand::Diff(args)) => diff::answer(&self.shared, &args).map_err(refused)?.0,
                Some(ContextCommand::Why(args)) => why::answer(&self.shared, &args).map_err(refused)?.0,
                Some(ContextCommand::Packs(args)) => packs::answer(&self.shared, &args).map_err(refused)?,
                _ => return Err(unasked()),
            },
            Some(ProgramCommand::Fork(args)) => resume::copy(&self.shared, &args).map_err(|failure| none(&failure))?,
            Some(ProgramCommand::Cost(args)) => {
                let answered = if reconstructed::is_marked(&self.home) {
                    cost::answer_in(&self.home, &self.shared, &args)
                } else {
                    cost::answer(&self.shared, &args)
                };
                match answered.map_err(|failure| none(&failure))? {
                    Ok((text, _)) => text,
                    Err(refusal) if refusal.is_usage() => return Err(NoAnswer::Wrong(refusal.text().to_owned())),
                    Err(refusal) => return Err(NoAnswer::Unknown(refusal.text().to_owned())),
                }
            }
            Some(ProgramCommand::Sessions(sessions)) => match sessions.command {
                SessionsCommand::Grep(args) => grep::json(&self.home, &args).map_err(refused)?.0,
                SessionsCommand::Capsule(args) => capsule::make(&self.shared, &self.home, &args).map_err(refused)?.html,
                _ => return Err(unasked()),
            },
            _ => return Err(unasked()),
        };
        Ok(text.into_bytes())
    }
}

/// The options of `cost` that a question means.
///
/// # Errors
/// When the question is another one, or names something that there is not.
pub fn cost_args(question: &Question) -> Result<CostArgs, NoAnswer> {
    match Args::try_parse_from(words(question)).map_err(|error| wrong(&error))?.command {
        Some(ProgramCommand::Cost(args)) => Ok(args),
        _ => Err(unasked()),
    }
}

/// The first line of what the parser says.
fn wrong(error: &clap::Error) -> NoAnswer {
    let text = error.to_string();
    NoAnswer::Wrong(text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

fn unasked() -> NoAnswer {
    NoAnswer::Failed("the question leads to another command".to_owned())
}

/// A failure of a command as a refusal of the interface.
fn none(failure: &ProgramFailure) -> NoAnswer {
    let text = failure.text().to_owned();
    if failure.is_usage() { NoAnswer::Wrong(text) } else { NoAnswer::Unknown(text) }
}

/// The command line of a question. Values that a caller chose are joined to their option or follow `--`, so that none of
/// them is taken for an option.
fn words(question: &Question) -> Vec<String> {
    let mut words: Vec<String> = vec!["pellucid".to_owned()];
    let mut behind: Vec<&String> = Vec::new();
    let mut push = |texts: &[&str]| words.extend(texts.iter().map(|text| (*text).to_owned()));
    let mut options: Vec<(&str, &String)> = Vec::new();
    let byte;
    let name;
    match question {
        Question::Diff { a, b } => {
            push(&["context", "diff", "--json"]);
            behind.extend([a, b]);
        }
        Question::Why { about, request } => {
            push(&["context", "why", "--json"]);
            match about {
                WhyAbout::File(file) => behind.push(file),
                WhyAbout::Text(text) => options.push(("text", text)),
                WhyAbout::Byte(number) => {
                    byte = number.to_string();
                    options.push(("byte", &byte));
                }
                WhyAbout::Part(part) => options.push(("part", part)),
                WhyAbout::Tool(tool) => options.push(("tool", tool)),
                WhyAbout::Skill(skill) => options.push(("skill", skill)),
                WhyAbout::Call(call) => options.push(("call", call)),
            }
            behind.push(request);
        }
        Question::Packs { message, has_texts } => {
            push(&["context", "packs", "--json"]);
            push(if *has_texts { &["--texts"] } else { &[] });
            behind.extend(message);
        }
        Question::Cost { sessions, by, settings } => {
            push(&["cost", "--json"]);
            options.extend(by.iter().map(|by| ("by", by)));
            options.extend(settings.iter().map(|setting| ("as", setting)));
            behind.extend(sessions);
        }
        Question::Search(search) => {
            push(&["sessions", "grep", "--json"]);
            let SearchQuestion { pattern, sessions, is_fixed, ignores_case, role, part, source, tool, since } = search;
            push(if *is_fixed { &["--fixed"] } else { &[] });
            push(if *ignores_case { &["--ignore-case"] } else { &[] });
            options.extend(sessions.iter().map(|session| ("session", session)));
            let given = [("role", role), ("part", part), ("source", source), ("tool", tool), ("since", since)];
            options.extend(given.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))));
            behind.push(pattern);
        }
        Question::Export { session, request, redact } => {
            // The page gets the bytes, so nothing is written to the file of the command.
            push(&["sessions", "capsule", "--output=-"]);
            options.extend(redact.iter().map(|redact| ("redact", redact)));
            name = request.map_or_else(|| session.clone(), |number| format!("{session}#{number}"));
            behind.push(&name);
        }
        Question::Fork { session, request } => {
            push(&["fork"]);
            name = format!("{session}#{request}");
            behind.push(&name);
        }
        Question::Cache { session } => {
            push(&["cache", "--json"]);
            behind.push(session);
        }
    }
    words.extend(options.into_iter().map(|(option, value)| format!("--{option}={value}")));
    words.push("--".to_owned());
    words.extend(behind.into_iter().cloned());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_of_a_capsule_is_named_by_its_file() {
        let capsule = ServedCapsule { session: "abc".to_owned(), name: "file:a b.html".to_owned() };
        for (name, expected) in
            [("abc", "file:a b.html"), ("abc#2", "file:a b.html#2"), ("abcd#2", "abcd#2"), ("now", "now")]
        {
            assert_eq!(capsule.named(name), expected);
        }
    }

    #[track_caller]
    fn check_words(question: &Question, expected: &str) {
        assert_eq!(words(question).join(" "), expected);
    }

    #[test]
    fn a_question_becomes_a_command_line_in_which_no_value_is_an_option() {
        let text = |text: &str| text.to_owned();
        check_words(
            &Question::Diff { a: text("--pack=x"), b: text("now") },
            "pellucid context diff --json -- --pack=x now",
        );
        check_words(
            &Question::Why { about: WhyAbout::Text(text("--json")), request: text("s#1") },
            "pellucid context why --json --text=--json -- s#1",
        );
        check_words(
            &Question::Why { about: WhyAbout::File(text("-a.md:1")), request: text("now") },
            "pellucid context why --json -- -a.md:1 now",
        );
        check_words(
            &Question::Cost { sessions: vec![text("s")], by: Some(text("part")), settings: vec![text("ttl=1h")] },
            "pellucid cost --json --by=part --as=ttl=1h -- s",
        );
        let search = SearchQuestion {
            pattern: text("-x"),
            sessions: vec![text("a"), text("b")],
            is_fixed: true,
            role: Some(text("user")),
            ..SearchQuestion::default()
        };
        check_words(
            &Question::Search(search),
            "pellucid sessions grep --json --fixed --session=a --session=b --role=user -- -x",
        );
        check_words(&Question::Fork { session: text("s"), request: 3 }, "pellucid fork -- s#3");
        check_words(
            &Question::Export { session: text("s"), request: Some(3), redact: Some(text("content")) },
            "pellucid sessions capsule --output=- --redact=content -- s#3",
        );
    }
}
