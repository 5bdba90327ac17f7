use super::*;
use crate::app::manner::Manner;
use crate::app::manner::TitlePart;

#[test]
fn the_title_says_what_the_client_does_and_for_which_session() {
    let mut desk = Desk::new();
    let title = |desk: &Desk| desk.app.title().unwrap();
    assert_eq!(title(&desk), "pellucid · w");
    desk.event(started());
    assert_eq!(title(&desk), "working · w");
    desk.event(asked("a"));
    assert_eq!(title(&desk), "needs you · w");
    desk.press("y");
    assert_eq!(title(&desk), "working · w");
    desk.event(complete());
    desk.app.session.name = Some("a\u{1b}]0;evil\u{7}\nname\u{202e}".to_owned());
    let named = title(&desk);
    assert!(named.starts_with("pellucid · a") && !named.chars().any(char::is_control), "{named:?}");
}

#[test]
fn the_configuration_chooses_the_parts_of_the_title() {
    let mut desk = Desk::new();
    desk.app.settings.manner.title = vec![TitlePart::Model, TitlePart::Branch, TitlePart::Folder];
    assert_eq!(desk.app.title().as_deref(), Some("m · w"));
    desk.app.settings.manner = Manner { title: Vec::new(), ..Manner::default() };
    assert_eq!(desk.app.title(), None);
}
