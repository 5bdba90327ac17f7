//! The terminal client at a real terminal: a draft outlives every end of it, and only modes that are configured are switched on.

use pellucid_testkit::LiveTerminal;
use rustix::process::Signal;

use crate::World;

/// The answers of a terminal to the client's questions: the place of the cursor, and what it is.
const ANSWERS: &[u8] = b"\x1b[1;1R\x1b[?62c";

/// Three lines; Ctrl-J begins a new one.
const DRAFT: &[u8] = b"first line\x0asecond line\x0athird line";

/// How the client ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Ctrl-C clears the composer, and Ctrl-C again ends.
    CtrlC,
    /// A signal that the client catches, with the exit code after it.
    Caught(Signal, i32),
    /// `kill -9`, which a program cannot catch.
    Killed,
    /// The window is closed.
    Closed,
}

fn world(config: &str) -> World {
    let world = World::new("//- work/script.toml\n[[reply]]\nsay = \"Done.\"\n");
    let work = world.files.path("work");
    world.files.write("home/config.toml", format!("{config}\n[projects.{work:?}]\ntrust_level = \"trusted\"\n"));
    world
}

fn client(world: &World) -> LiveTerminal {
    let mut command = world.command(&["--script", "script.toml"]);
    command.env("TERM", "xterm");
    let mut terminal = LiveTerminal::start((100, 30), command);
    terminal.write(ANSWERS);
    terminal.read_until("Ask anything");
    terminal
}

/// Whether the home has a draft with this text.
fn is_kept(world: &World, text: &str) -> bool {
    let files = std::fs::read_dir(world.files.path("home/drafts")).into_iter().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok()).any(|kept| kept.contains(text))
}

fn check_ending(ending: Ending) {
    let world = world("");
    let mut terminal = client(&world);
    terminal.write(DRAFT);
    terminal.read_until("third line");
    let code = match ending {
        Ending::CtrlC => {
            terminal.write(b"\x03");
            terminal.read_until("to bring your text back");
            terminal.write(b"\x03");
            terminal.wait().1
        }
        Ending::Caught(signal, _) => {
            terminal.signal(signal);
            terminal.wait().1
        }
        Ending::Killed => {
            while !is_kept(&world, "third line") {
                std::thread::yield_now();
            }
            terminal.signal(Signal::KILL);
            terminal.wait().1
        }
        Ending::Closed => terminal.close(),
    };
    match ending {
        Ending::CtrlC => assert_eq!(code, 0),
        Ending::Caught(_, expected) => assert_eq!(code, expected),
        Ending::Killed | Ending::Closed => assert_ne!(code, 0),
    }
    assert!(is_kept(&world, "first line\\nsecond line\\nthird line"), "{ending:?}");
    let mut next = client(&world);
    // The offer is written before the composer, so a second look at the same bytes is not needed.
    next.write(b"\x1f");
    next.read_until("third line");
    next.write(b"\r");
    next.read_until("Done.");
    next.write(b"\x04");
    assert_eq!(next.wait().1, 0, "{ending:?}");
    assert!(!is_kept(&world, "line"), "a sent draft is not kept: {ending:?}");
}

#[test]
fn a_draft_is_offered_after_every_end_of_the_client() {
    for ending in [
        Ending::CtrlC,
        Ending::Caught(Signal::TERM, 143),
        Ending::Caught(Signal::HUP, 129),
        Ending::Killed,
        Ending::Closed,
    ] {
        check_ending(ending);
    }
}

#[test]
fn the_mouse_is_reported_only_if_that_is_configured() {
    for (config, is_asked) in [("", false), ("[tui]\nmouse = true\n", true)] {
        let world = world(config);
        let mut command = world.command(&["--script", "script.toml"]);
        command.env("TERM", "xterm");
        let mut terminal = LiveTerminal::start((100, 30), command);
        terminal.write(ANSWERS);
        let mut written = terminal.read_until("Ask anything");
        // Tab sends as Enter does, and is never a part of a paste.
        terminal.write(b"hello\t");
        written += &terminal.read_until("Done.");
        terminal.write(b"\x14");
        written += &terminal.read_until("q leaves");
        terminal.write(b"q\x04");
        written += &terminal.wait().0;
        let modes = ["?1000", "?1002", "?1003", "?1005", "?1006"].map(|mode| written.contains(mode));
        assert_eq!(modes, [is_asked, false, false, false, is_asked], "{written:?}");
        let is_off = written.rfind("?1000l") > written.rfind("?1000h");
        assert_eq!(is_off, is_asked, "{written:?}");
        // The title is kept at the start and restored at the end.
        let title = written.find("\u{1b}[22;0t").zip(written.rfind("\u{1b}[23;0t"));
        assert!(title.is_some_and(|(kept, restored)| kept < restored), "{written:?}");
        assert!(written.contains("\u{1b}]0;pellucid · work\u{7}"), "{written:?}");
    }
}

#[test]
fn nothing_is_kept_if_messages_are_not() {
    let world = world("[history]\npersistence = \"none\"\n");
    let mut terminal = client(&world);
    terminal.write(DRAFT);
    terminal.read_until("third line");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait().1, 143);
    assert!(!world.files.path("home/drafts").exists());
}
