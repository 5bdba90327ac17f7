use proptest::prelude::*;

use super::*;

fn read(pieces: &[&[u8]]) -> Vec<Input> {
    let mut reader = InputReader::default();
    let mut out = Vec::new();
    for piece in pieces {
        reader.feed(piece, &mut out);
    }
    out
}

fn key(code: KeyCode, ctrl: bool, alt: bool, shift: bool) -> Input {
    Input::Key(Key { code, mods: KeyMods { ctrl, alt, shift } })
}

fn plain(code: KeyCode) -> Input {
    Input::Key(Key::plain(code))
}

#[track_caller]
fn check(bytes: &[u8], expected: &[Input]) {
    assert_eq!(read(&[bytes]), expected, "{bytes:?}");
    for at in 1..bytes.len() {
        assert_eq!(read(&[&bytes[..at], &bytes[at..]]), expected, "{bytes:?} split at {at}");
    }
    let bytewise: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(&bytewise), expected, "{bytes:?} in single bytes");
}

#[test]
fn keys_of_terminals_without_the_protocol() {
    check(b"a", &[Input::Key(Key::char('a'))]);
    check("é漢😀".as_bytes(), &['é', '漢', '😀'].map(|it| Input::Key(Key::char(it))));
    check(b"\r\t\x7f", &[KeyCode::Enter, KeyCode::Tab, KeyCode::Backspace].map(plain));
    check(b"\n\x03\x1a\x00", &['j', 'c', 'z', ' '].map(|it| Input::Key(Key::ctrl(it))));
    check(b"\x1b[A\x1bOB\x1b[C\x1b[D", &[KeyCode::Up, KeyCode::Down, KeyCode::Right, KeyCode::Left].map(plain));
    check(
        b"\x1b[H\x1b[4~\x1b[3~\x1b[5~\x1b[6~\x1b[2~",
        &[
            plain(KeyCode::Home),
            plain(KeyCode::End),
            plain(KeyCode::Delete),
            plain(KeyCode::PageUp),
            plain(KeyCode::PageDown),
            plain(KeyCode::Insert),
        ],
    );
    check(b"\x1b[1;3A", &[key(KeyCode::Up, false, true, false)]);
    check(b"\x1b[1;5D", &[key(KeyCode::Left, true, false, false)]);
    check(b"\x1b[Z", &[key(KeyCode::Tab, false, false, true)]);
    check(b"\x1bb", &[key(KeyCode::Char('b'), false, true, false)]);
    check(b"\x1b\r", &[key(KeyCode::Enter, false, true, false)]);
    check(b"\x1b\x7f", &[key(KeyCode::Backspace, false, true, false)]);
    check(b"\x1bOP\x1b[15~\x1b[24~", &[KeyCode::F(1), KeyCode::F(5), KeyCode::F(12)].map(plain));
}

#[test]
fn keys_of_the_keyboard_protocol() {
    check(b"\x1b[27u", &[plain(KeyCode::Esc)]);
    check(b"\x1b[99;5u", &[Input::Key(Key::ctrl('c'))]);
    check(b"\x1b[13;2u", &[key(KeyCode::Enter, false, false, true)]);
    check(b"\x1b[13;3u", &[key(KeyCode::Enter, false, true, false)]);
    check(b"\x1b[109;5u", &[Input::Key(Key::ctrl('m'))]);
    check(b"\x1b[97:65;2u", &[Input::Key(Key::char('A'))]);
    check(b"\x1b[49:33;2:1u", &[Input::Key(Key::char('!'))]);
    check(b"\x1b[97;65u", &[Input::Key(Key::char('A'))]);
    check(b"\x1b[97;1:2u", &[Input::Key(Key::char('a'))]);
    check(b"\x1b[97;1:3u\x1b[1;1:3A", &[]);
    check(b"\x1b[57441;2u", &[]);
    check(b"\x1b[57414u\x1b[57400u", &[plain(KeyCode::Enter), Input::Key(Key::char('1'))]);
    check(b"\x1b[9;2u", &[key(KeyCode::Tab, false, false, true)]);
    check(b"\x1b[127;3u", &[key(KeyCode::Backspace, false, true, false)]);
    check(b"\x1b[104;7u", &[key(KeyCode::Char('h'), true, true, false)]);
}

#[test]
fn modified_keys_of_xterm() {
    check(b"\x1b[27;2;13~", &[key(KeyCode::Enter, false, false, true)]);
    check(b"\x1b[27;5;106~", &[Input::Key(Key::ctrl('j'))]);
}

#[test]
fn answers_of_the_terminal() {
    check(b"\x1b[12;5R", &[Input::Answer(TerminalAnswer::Cursor { row: 11, column: 4 })]);
    check(
        b"\x1b[?7u\x1b[?62;22c",
        &[Input::Answer(TerminalAnswer::KeyboardProtocol), Input::Answer(TerminalAnswer::Attributes)],
    );
    check(b"\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\", &[Input::Answer(TerminalAnswer::Foreground(0xd0, 0xd0, 0xd0))]);
    check(b"\x1b]11;rgb:10/10/ff\x07", &[Input::Answer(TerminalAnswer::Background(0x10, 0x10, 0xff))]);
    check(b"\x1b]11;rgb:zz/10/ff\x07x", &[Input::Key(Key::char('x'))]);
    check(b"\x1b[?2026;2$y", &[]);
}

#[test]
fn pastes_keep_their_bytes() {
    check(b"\x1b[200~a\r\nb\x1b[A\x1b[201~c", &[Input::Paste("a\r\nb\x1b[A".to_owned()), Input::Key(Key::char('c'))]);
    let long = "x".repeat(10_000_000);
    let mut reader = InputReader::default();
    let mut out = Vec::new();
    reader.feed(b"\x1b[200~", &mut out);
    for chunk in long.as_bytes().chunks(65_536) {
        reader.feed(chunk, &mut out);
    }
    reader.feed(b"\x1b[201~", &mut out);
    assert!(matches!(out.as_slice(), [Input::Paste(text)] if text.len() == long.len()));
}

#[test]
fn a_lone_escape_waits_25_milliseconds_and_a_paste_longer() {
    let mut reader = InputReader::default();
    let mut out = Vec::new();
    reader.feed(b"\x1b", &mut out);
    assert_eq!((out.len(), reader.wait()), (0, Some(Duration::from_millis(25))));
    reader.time_out(&mut out);
    assert_eq!((out.pop(), reader.wait()), (Some(plain(KeyCode::Esc)), None));
    reader.feed(b"\x1b[200~half", &mut out);
    assert_eq!(reader.wait(), Some(PASTE_WAIT));
    reader.time_out(&mut out);
    assert_eq!(out, [Input::Paste("half".to_owned())]);
}

#[test]
fn a_focus_report_that_comes_in_two_parts_is_no_text() {
    for (first, second) in [(&b"\x1b"[..], &b"[I"[..]), (b"\x1b[", b"I"), (b"\x1b", b"[O"), (b"\x1b[", b"O")] {
        let mut reader = InputReader::default();
        let mut out = Vec::new();
        reader.feed(first, &mut out);
        reader.time_out(&mut out);
        reader.feed(second, &mut out);
        let typed = out.iter().filter(|it| matches!(it, Input::Key(key) if key.typed().is_some())).count();
        assert_eq!(typed, 0, "{out:?}");
        assert!(matches!(out.last(), Some(Input::Focus(_))), "{out:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_are_read(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12)) {
        let mut reader = InputReader::default();
        let mut out = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            reader.feed(piece, &mut out);
            if at % 3 == 2 {
                reader.time_out(&mut out);
                prop_assert_eq!(reader.wait(), None);
            }
        }
    }

    #[test]
    fn sequences_are_the_same_however_they_are_split(
        picks in prop::collection::vec(0..9_usize, 1..20),
        cuts in prop::collection::vec(1..9_usize, 1..40),
    ) {
        let all: [&[u8]; 9] = [
            b"\x1b[I", b"\x1b[O", "é".as_bytes(), b"\x1b[1;5C", b"\x1b[97;5u", b"\x1b]11;rgb:0/0/0\x1b\\", b"x",
            b"\x1b[200~in\x1b[201~", b"\x1b[3;4R",
        ];
        let bytes: Vec<u8> = picks.iter().flat_map(|at| all[*at].iter().copied()).collect();
        let whole = read(&[&bytes]);
        prop_assert_eq!(whole.len(), picks.len());
        let mut pieces = Vec::new();
        let mut rest = bytes.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(read(&pieces), whole);
    }

    /// What a terminal sent is the same whether it came at once or byte by byte.
    #[test]
    fn any_bytes_are_the_same_byte_by_byte(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..6),
                "\u{1b}\\[[<?>=]?[0-9;:]{0,6}[a-zA-Z~]".prop_map(String::into_bytes),
                "\u{1b}[\\]P_^XO][0-9a-z;:/?]{0,9}(\u{7}|\u{1b}\\\\)?".prop_map(String::into_bytes),
                "(é|漢|👩)".prop_map(String::into_bytes),
            ],
            0..12,
        ),
    ) {
        let bytes = pieces.concat();
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read(&single), read(&[&bytes]));
    }
}

/// Every sequence in two parts at every place, and in three parts at every two places.
#[test]
fn every_sequence_is_whole_in_any_two_or_three_parts() {
    let all: [&[u8]; 12] = [
        b"\x1b[I",
        b"\x1b[O",
        "漢".as_bytes(),
        "👩".as_bytes(),
        b"\x1b[1;5C",
        b"\x1b[97;5u",
        b"\x1b[97:65;2;97u",
        b"\x1b]11;rgb:1010/1010/1010\x1b\\",
        b"\x1bOP",
        b"\x1b[200~a\x1b[Ab\x1b[201~",
        b"\x1b[3;4R",
        b"\x1b[?62;22c",
    ];
    for bytes in all {
        let whole = read(&[bytes]);
        assert_eq!(whole.len(), 1, "{bytes:?}");
        for one in 0..=bytes.len() {
            for other in one..=bytes.len() {
                let parts = [&bytes[..one], &bytes[one..other], &bytes[other..]];
                assert_eq!(read(&parts), whole, "{parts:?}");
            }
        }
    }
}
