use super::*;
use crate::screen::Screen;

#[test]
fn a_turn_that_only_waits_costs_at_most_a_hundred_bytes_a_second() {
    let mut desk = Desk::new();
    let size = ScreenSize { columns: 100, rows: 30 };
    desk.app.resize(size);
    desk.event(started());
    let mut screen = Screen::new(size, 0, Insertion::Region);
    let mut now = Duration::from_secs(desk.seconds);
    let (history, view) = (desk.app.take_history(), desk.app.view(now));
    screen.frame(history, &view);
    let (mut n_bytes, mut n_frames) = (0, 0);
    let until = now + Duration::from_secs(100);
    while let Some(next) = desk.app.next_tick(now).filter(|next| *next <= until) {
        now = next;
        desk.app.tick(now);
        n_bytes += screen.frame(Vec::new(), &desk.app.view(now)).len();
        n_frames += 1;
    }
    assert_eq!(n_frames, 200, "the clock of the turn and its mark are the only things that move");
    assert!((1_000..10_000).contains(&n_bytes), "{n_bytes} bytes in 100 s");
}

#[test]
fn the_frame_rate_bounds_frames_of_events() {
    let mut desk = Desk::new();
    assert_eq!(desk.app.frame_time(), Duration::from_secs(1) / 60);
    desk.app.settings.manner.frame_rate = 5;
    assert_eq!(desk.app.frame_time(), Duration::from_millis(200));
    desk.app.settings.manner.frame_rate = 0;
    assert_eq!(desk.app.frame_time(), Duration::from_secs(1));
}
