//! What a panic writes to the log. A program of its own, because the hook is the whole program's.

use std::panic::catch_unwind;

use pellucid_tasks::hook;
use pellucid_testkit::logged;

#[test]
fn the_log_has_the_place_and_not_the_words() {
    hook::log_panics();
    assert_eq!(hook::last_place(), None);
    let (ended, log) = logged(|| catch_unwind(|| panic!("classified words")));
    assert!(ended.is_err());
    let place = hook::last_place().expect("this thread panicked");
    assert!(place.starts_with(file!()), "{place}");
    assert_eq!(log, [format!("ERROR panicked place={place:?}")]);
}
