//! Commands that only look: reading, listing and searching, in one group, by what they are about.

use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::parsed_command::ParsedCommand;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use super::details;
use super::heading;
use crate::text::clean;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// A group of commands that only look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExploredCell {
    looks: Vec<(String, Vec<ParsedCommand>)>,
    /// The calls that have not ended.
    running: Vec<String>,
}

impl ExploredCell {
    /// Whether a command belongs into such a group.
    pub fn accepts(begin: &ExecCommandBegin) -> bool {
        begin.source != ExecSource::UserShell
            && !begin.parsed_cmd.is_empty()
            && !begin.parsed_cmd.iter().any(|it| matches!(it, ParsedCommand::Unknown { .. }))
    }

    /// Adds a command that begins.
    pub fn begin(&mut self, begin: &ExecCommandBegin) {
        self.looks.push((begin.call_id.clone(), begin.parsed_cmd.clone()));
        self.running.push(begin.call_id.clone());
    }

    /// Notes that a command has ended; false if it is not of this group.
    pub fn end(&mut self, call_id: &str) -> bool {
        self.running.retain(|it| it != call_id);
        self.looks.iter().any(|(it, _)| it == call_id)
    }

    /// Notes that no command of the group is running any more.
    pub fn stop(&mut self) {
        self.running.clear();
    }

    /// Whether commands of the group are running.
    pub fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// The group, as what it looked at.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let word = if self.is_running() { "Exploring" } else { "Explored" };
        let mut out = heading(palette.dim(), word, Vec::new(), canvas);
        let mut indent = details();
        for (verb, about) in self.rows() {
            let width = verb.len() + 1;
            indent.rest = vec![Span::raw(" ".repeat(4 + width))];
            let spans =
                [Span::styled(verb, palette.accent()), Span::raw(" "), Span::raw(clean::line(&about).into_owned())];
            out.extend(wrap(&spans, canvas.columns, &indent, Breaking::Words));
            indent = Indent::blanks(4);
        }
        out
    }

    /// What was looked at; neighbouring reads are one row.
    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut out: Vec<(&'static str, String)> = Vec::new();
        for look in self.looks.iter().flat_map(|(_, looks)| looks) {
            let (verb, about) = match look {
                ParsedCommand::Read { name, .. } => ("Read", name.clone()),
                ParsedCommand::ListFiles { cmd, path } => ("List", path.as_ref().unwrap_or(cmd).clone()),
                ParsedCommand::Search { cmd, query, path } => match (query, path) {
                    (Some(query), Some(path)) => ("Search", format!("{query} in {path}")),
                    (Some(query), None) => ("Search", query.clone()),
                    _ => ("Search", cmd.clone()),
                },
                ParsedCommand::Unknown { cmd } => ("Run", cmd.clone()),
            };
            match out.last_mut() {
                Some(("Read", names)) if verb == "Read" => {
                    if !names.split(", ").any(|name| name == about) {
                        *names += &format!(", {about}");
                    }
                }
                _ => out.push((verb, about)),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::id::TurnId;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    fn begin(call_id: &str, parsed_cmd: Vec<ParsedCommand>) -> ExecCommandBegin {
        ExecCommandBegin {
            call_id: call_id.to_owned(),
            process_id: None,
            turn_id: TurnId::new("t"),
            command: Vec::new(),
            cwd: "/w".into(),
            parsed_cmd,
            source: ExecSource::Agent,
            interaction_input: None,
        }
    }

    fn read(name: &str) -> ParsedCommand {
        ParsedCommand::Read { cmd: format!("cat {name}"), name: name.to_owned(), path: name.to_owned() }
    }

    #[test]
    fn commands_that_look_are_one_group() {
        let mut cell = ExploredCell::default();
        cell.begin(&begin("1", vec![read("a.txt"), read("b.txt")]));
        cell.begin(&begin("2", vec![read("a.txt")]));
        cell.begin(&begin("3", vec![ParsedCommand::ListFiles { cmd: "ls src".into(), path: Some("src".into()) }]));
        let search = |query: Option<&str>, path: Option<&str>| ParsedCommand::Search {
            cmd: "rg".into(),
            query: query.map(str::to_owned),
            path: path.map(str::to_owned),
        };
        cell.begin(&begin(
            "4",
            vec![search(Some("two"), Some("a.txt")), search(Some("long words to wrap"), None), search(None, None)],
        ));
        expect![[r#"
            • Exploring|
              └ Read a.txt, b.txt|
                List src|
                Search two in a.txt|
                Search long words to|
                       wrap|
                Search rg|
        "#]]
        .assert_eq(&shown(&cell.lines(&CANVAS(24))));
        assert!(["1", "2", "3", "4"].iter().all(|id| cell.end(id)));
        assert!(!cell.end("5"));
        expect![[r#"
            • Explored|
              └ Read a.txt, b.txt|
                List src|
                Search two in a.txt|
                Search long words to wrap|
                Search rg|
        "#]]
        .assert_eq(&shown(&cell.lines(&CANVAS(60))));
    }

    #[test]
    fn only_known_looks_of_the_model_are_accepted() {
        assert!(ExploredCell::accepts(&begin("1", vec![read("a")])));
        assert!(!ExploredCell::accepts(&begin("1", Vec::new())));
        assert!(!ExploredCell::accepts(&begin("1", vec![read("a"), ParsedCommand::Unknown { cmd: "x".into() }])));
        assert!(!ExploredCell::accepts(&ExecCommandBegin {
            source: ExecSource::UserShell,
            ..begin("1", vec![read("a")])
        }));
    }
}
