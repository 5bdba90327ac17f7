//! What a report says below its parts: files, repetitions, omissions, hidden text.

use pellucid_answers::mcp_shares::mcp_shares;
use pellucid_engine::documents::listed::InstructionFile;
use pellucid_engine::facts::Fate;
use pellucid_engine::report::Report;
use pellucid_engine::report::SourceStatus;
use pellucid_engine::report::fate_text;
use pellucid_engine::report::why_text;

use crate::screen::name;
use crate::style::Paint;
use crate::style::number;
use crate::style::number_of;

/// What a report says besides its rows: files that changed, repetitions, omissions, files that were looked for, hidden text.
pub fn below_rows(report: &Report, paint: Paint) -> String {
    [
        mcp_servers(report, paint),
        changed_files(report, paint),
        phase(report, paint),
        said_again(report, paint),
        left_out(report, paint),
        hidden_text(report, paint),
    ]
    .concat()
}

/// The lines about what MCP servers take up, a line for each server and each of its tools.
fn mcp_servers(report: &Report, paint: Paint) -> String {
    let mut text = String::new();
    for share in mcp_shares(report) {
        if text.is_empty() {
            text = format!("\n{}\n", paint.bold("tools of MCP servers, in tokens"));
        }
        text += &format!("{:>8}  {}\n", number(share.tokens), name(&share.server));
        for tool in &share.tools {
            text += &format!("{:>8}    {}\n", number(tool.tokens), name(&tool.name));
        }
        if let Some(tokens) = share.list_tokens {
            text += &format!("{:>8}    names of tools, without schemas\n", number(tokens));
        }
    }
    text
}

/// The line about the phase whose prompt goes before the input, with the setting that chose it.
fn phase(report: &Report, paint: Paint) -> String {
    let Some(phase) = &report.phase else { return String::new() };
    format!("\n{}\n  {} ({})\n", paint.bold("phase"), name(&phase.name), phase.chosen_by.text())
}

/// The lines about instructions that were repeated, with their cost in bytes.
fn said_again(report: &Report, paint: Paint) -> String {
    if report.said_again.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint.bold("instructions repeated so far"));
    for (part, said) in &report.said_again {
        let (times, tokens) = (said.count, said.tokens);
        text += &format!("  {part}: {times} times, about {tokens} tokens in all; {}, {}\n", said.reason, said.sha256);
    }
    text
}

/// The files of instructions and of the pack that are not what they were for the request before.
fn changed_files(report: &Report, paint: Paint) -> String {
    if report.changed_files.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint.bold("files that changed"));
    for file in &report.changed_files {
        text += &paint.yellow(&format!("  {}", name(&file.to_string())));
        text.push('\n');
    }
    text
}

/// The lines about omissions, and about every instruction file that was looked for.
fn left_out(report: &Report, paint: Paint) -> String {
    let mut text = String::new();
    if !report.omissions.is_empty() {
        text += &format!("\n{}\n", paint.bold("not seen by the model"));
        for omission in &report.omissions {
            let (what, why) = (&omission.what, why_text(&omission.why));
            let line = format!("  {} ({}): {}", name(what), omission.slot, name(&why));
            text += &paint.yellow(&line);
            text.push('\n');
        }
    }
    let (read, others): (Vec<_>, Vec<_>) = report.candidates.iter().partition(|it| it.fate == Fate::Read);
    text += &format!("\n{}\n", paint.bold("instruction files looked for"));
    for candidate in &read {
        let file = report.files.iter().find(|file| file.path == candidate.path);
        text += &match file {
            Some(file) => format!("  {}\n", file_text(report, file)),
            None => format!("  {}: read\n", name(&candidate.path)),
        };
    }
    for file in report.files.iter().filter(|file| report.candidates.iter().all(|it| it.path != file.path)) {
        text += &format!("  {}\n", file_text(report, file));
    }
    for candidate in others {
        text += &paint.dim(&format!("  {}: {}", name(&candidate.path), name(&fate_text(&candidate.fate))));
        text.push('\n');
    }
    text
}

/// An instruction file with what was read of it, what of that the request has, and its hash.
fn file_text(report: &Report, file: &InstructionFile) -> String {
    let read =
        if file.n_read < file.size { format!(", its first {} bytes", number_of(file.n_read)) } else { String::new() };
    let sent = match report.delivery(file) {
        (SourceStatus::Full, _) if file.is_in_history && !report.has_rows_of(file) => {
            ", sent earlier in this session".to_owned()
        }
        (SourceStatus::Full, _) => String::new(),
        (_, 0) => ", nothing of it is in the request".to_owned(),
        (_, bytes) => format!(", {} of {} bytes are in the request", number_of(bytes), number_of(file.size)),
    };
    let target = file.target.as_ref().map(|target| format!(" (a link to {})", name(target))).unwrap_or_default();
    format!("{}{target}: read{read}{sent}, sha256 {}", name(&file.path), file.hash)
}

/// The lines about characters in instruction files that a terminal does not show.
fn hidden_text(report: &Report, paint: Paint) -> String {
    let mut text = String::new();
    for file in report.files.iter().filter(|file| !file.hidden.is_empty()) {
        if text.is_empty() {
            text += &format!("\n{}\n", paint.bold("seen by the model and not by you"));
        }
        for hidden in &file.hidden {
            text += &paint.yellow(&format!("  {}:{hidden}", name(&file.path)));
            text.push('\n');
        }
    }
    text
}
