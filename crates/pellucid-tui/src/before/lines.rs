//! Questions before a session for a screen reader: lines out, a typed line in.

use std::io;

use ratatui_core::text::Line;
use rustix::termios;
use rustix::termios::LocalModes;
use rustix::termios::OptionalActions;
use rustix::termios::Termios;

use super::BeforeAnswer;
use crate::lists::options::ListOption;
use crate::picker::PickerRow;
use crate::terminal::ClientTerminal;
use crate::text::clean;

/// Asks a question with numbered options.
pub(super) async fn choose(
    terminal: &ClientTerminal,
    title: &[Line<'static>],
    options: &[ListOption],
) -> io::Result<BeforeAnswer> {
    let mut text = String::new();
    for line in title.iter().map(ToString::to_string).filter(|line| !line.is_empty()) {
        text += &format!("{}\n", clean::line(&line));
    }
    for (option, number) in options.iter().zip(1..) {
        text += &format!("{number}. {}\n", clean::line(&option.label));
    }
    loop {
        terminal.write(format!("{text}Type a number, or esc.\n> ").as_bytes())?;
        let Some(line) = read_line(terminal).await? else { return Ok(BeforeAnswer::Ended) };
        if line == "esc" {
            return Ok(BeforeAnswer::Dismissed);
        }
        let mut chars = line.chars();
        let letter = chars.next().filter(|_| chars.as_str().is_empty());
        let by_key = options.iter().position(|option| letter.is_some_and(|it| option.keys.contains(&it)));
        let by_number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(chosen) = by_key.or(by_number.filter(|at| *at < options.len())) {
            return Ok(BeforeAnswer::Chosen(chosen));
        }
    }
}

/// Asks for a text that the terminal does not show meanwhile.
pub(super) async fn secret(terminal: &ClientTerminal, title: &str) -> io::Result<Option<String>> {
    terminal.write(format!("{title}\n> ").as_bytes())?;
    let before = termios::tcgetattr(rustix::stdio::stdin())?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &quiet)?;
    let restored = Restored(before);
    let line = read_line(terminal).await;
    drop(restored);
    terminal.write(b"\n")?;
    line
}

/// Line settings that come back when the value is dropped, so also when a signal ends the question.
struct Restored(Termios);

impl Drop for Restored {
    fn drop(&mut self) {
        // The terminal may be gone, and then there is nothing to restore.
        let _ = termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Lets the person choose a session by its number. An empty id means a new session.
pub(super) async fn pick(terminal: &ClientTerminal, title: &str, rows: &[PickerRow]) -> io::Result<Option<String>> {
    let option = |row: &PickerRow| ListOption::new(format!("{} in {}", row.title, row.folder));
    let options: Vec<ListOption> = rows.iter().map(option).chain([ListOption::new("A new session")]).collect();
    Ok(match choose(terminal, &[Line::raw(title.to_owned())], &options).await? {
        BeforeAnswer::Chosen(at) => Some(rows.get(at).map_or_else(String::new, |row| row.id.clone())),
        BeforeAnswer::Dismissed => Some(String::new()),
        BeforeAnswer::Ended => None,
    })
}

/// The next line without blanks around it; absent at the end of the input.
async fn read_line(terminal: &ClientTerminal) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    loop {
        let bytes = terminal.read().await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        line.extend(bytes);
        if line.ends_with(b"\n") {
            return Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()));
        }
    }
}
