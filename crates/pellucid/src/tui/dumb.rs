//! The question before the client draws on a terminal that says it can only show lines (`TERM=dumb`).

use pellucid_config::Env;
use rustix::io::Errno;

use crate::print;
use crate::start::ProgramFailure;

/// A longer answer is no yes.
const ANSWER_BYTES_MAX: usize = 64;

const QUESTION: &str = "TERM is `dumb`: this terminal may not be able to show a drawn screen\n\
    hint: `pellucid --screen-reader` writes plain lines\n\
    Continue all the same? [y/N] ";

/// Asks whether to draw on a dumb terminal; true on any other one.
pub fn may_draw(env: &Env) -> Result<bool, ProgramFailure> {
    if env.text("TERM").as_deref() != Some("dumb") {
        return Ok(true);
    }
    print::out(QUESTION)?;
    let answer = typed_line().map_err(|error| ProgramFailure::new(format!("the answer cannot be read: {error}")))?;
    Ok(is_yes(&answer))
}

/// A line of standard input. What was typed after it stays for the client.
fn typed_line() -> Result<Vec<u8>, Errno> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < ANSWER_BYTES_MAX {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(0) => break,
            Ok(_) if byte == *b"\n" => break,
            Ok(_) => line.push(byte[0]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(line)
}

fn is_yes(answer: &[u8]) -> bool {
    let answer = answer.trim_ascii();
    answer.eq_ignore_ascii_case(b"y") || answer.eq_ignore_ascii_case(b"yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        for (answer, expected) in [("y", true), (" YES\r", true), ("", false), ("n", false), ("yellow", false)] {
            assert_eq!(is_yes(answer.as_bytes()), expected, "{answer:?}");
        }
    }

    #[test]
    fn other_terminals_are_not_asked_about() {
        assert!(may_draw(&Env::from_pairs([("TERM", "xterm")])).unwrap());
        assert!(may_draw(&Env::from_pairs([])).unwrap());
    }
}
