use super::*;
use crate::input::Input;
use crate::input::InputReader;
use crate::input::Mouse;
use crate::input::MouseAction;

impl Desk {
    fn click_on(&mut self, label: &str) {
        let shown = self.screen();
        let row = shown.lines().position(|line| line.contains(label)).unwrap_or_else(|| panic!("{label}: {shown}"));
        let mouse = Mouse { action: MouseAction::Click, row: u16::try_from(row).unwrap() };
        let now = self.now();
        self.effects.extend(self.app.mouse(mouse, now));
    }

    fn wheel(&mut self, action: MouseAction) {
        let now = self.now();
        self.effects.extend(self.app.mouse(Mouse { action, row: 0 }, now));
    }
}

#[test]
fn reports_of_the_mouse_are_read_and_never_become_text() {
    let mut reader = InputReader::default();
    let mut inputs = Vec::new();
    reader.feed(b"\x1b[<64;3;5M\x1b[<65;3;5M\x1b[<0;10;7M\x1b[<0;10;7m\x1b[<2;1;1M\x1b[<32;1;1M", &mut inputs);
    let mouse = |action, row| Input::Mouse(Mouse { action, row });
    let expected = [mouse(MouseAction::WheelUp, 4), mouse(MouseAction::WheelDown, 4), mouse(MouseAction::Click, 6)];
    assert_eq!(inputs, expected);
}

#[test]
fn a_click_chooses_an_option_but_not_of_a_list_that_has_just_appeared() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(asked("a"));
    let row = desk.screen().lines().position(|line| line.contains("1. Yes")).unwrap();
    let at_once = Duration::from_secs(desk.seconds - 1) + Duration::from_millis(100);
    let mouse = Mouse { action: MouseAction::Click, row: u16::try_from(row).unwrap() };
    desk.effects.extend(desk.app.mouse(mouse, at_once));
    assert_eq!(desk.submitted(), [""; 0]);
    desk.click_on("May this command run?");
    assert_eq!(desk.submitted(), [""; 0], "a title is no option");
    desk.click_on("1. Yes");
    assert_eq!(desk.submitted(), ["Approved"]);
    desk.event(complete());
    desk.write("/permissions");
    desk.press("enter");
    desk.click_on("2. Full access");
    assert!(desk.screen().contains("Full access"), "{}", desk.screen());
}

#[test]
fn the_wheel_moves_in_lists_and_pages_and_not_in_the_composer() {
    let mut desk = Desk::new();
    desk.write("/permissions");
    desk.press("enter");
    desk.wheel(MouseAction::WheelDown);
    assert!(desk.screen().contains("› 2. Full access"), "{}", desk.screen());
    desk.press("esc");
    desk.write("/keymap");
    desk.press("enter");
    let before = desk.screen();
    desk.wheel(MouseAction::WheelDown);
    assert_eq!(desk.screen().lines().nth(1), before.lines().nth(4));
    desk.press("q");
    desk.write("one");
    desk.wheel(MouseAction::WheelUp);
    assert_eq!(desk.draft(), "one");
}
