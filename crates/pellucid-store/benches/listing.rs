//! Lists of a large store, through the library: `cargo bench -p pellucid-store --bench listing -- HOME [FOLDER]`.
//!
//! Measured is what a program that stays pays: the index made from nothing, a list by a new reader,
//! the same list again, the list of one folder, and all sessions page by page. `bench/listing.py`
//! makes such a home folder. Without one, a small store is made and everything is done once.

#![expect(clippy::print_stdout, reason = "figures are what this program is for")]
#![allow(clippy::unwrap_used, reason = "a benchmark that panics says where")]

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use pellucid_store::index;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;

/// The index counts as current for this long after a look at the files.
const AGE_MAX: Duration = Duration::from_secs(3600);

/// How often everything is done; the least time counts.
const N_ROUNDS: usize = 5;

fn main() {
    let paths: Vec<PathBuf> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).map(PathBuf::from).collect();
    match &paths[..] {
        [] => {
            let home = small_store();
            measure(home.path(), Path::new("/p"), 1);
        }
        [home] => measure(home, Path::new("/"), N_ROUNDS),
        [home, folder, ..] => measure(home, folder, N_ROUNDS),
    }
}

fn measure(home: &Path, folder: &Path, n_rounds: usize) {
    let query = Query { limit: 50, sort: Sort::Updated, ..Query::default() };
    let mut best: Vec<(&str, Duration, usize)> = Vec::new();
    for _ in 0..n_rounds {
        index::remove(home);
        for (n, (what, time, rows)) in round(home, folder, &query).into_iter().enumerate() {
            match best.get_mut(n) {
                Some(known) => known.1 = known.1.min(time),
                None => best.push((what, time, rows)),
            }
        }
    }
    for (what, time, rows) in best {
        println!("{what:32} {:9.2} ms  {rows} rows", time.as_secs_f64() * 1000.0);
    }
}

fn round(home: &Path, folder: &Path, query: &Query) -> Vec<(&'static str, Duration, usize)> {
    let mut figures = Vec::new();
    let mut timed = |what, sessions: &mut LocalSessions<'_>, query: &Query| {
        let start = Instant::now();
        let page = sessions.list(query);
        figures.push((what, start.elapsed(), page.sessions.len()));
    };
    timed("index made, first page", &mut LocalSessions::new(home), query);
    let mut reader = LocalSessions::new(home).with_age_max(AGE_MAX);
    timed("by update, new reader", &mut reader, query);
    timed("by update, again", &mut reader, query);
    let in_folder = Query { cwd: Some(folder.to_owned()), ..query.clone() };
    timed("one folder", &mut reader, &in_folder);
    timed("search", &mut reader, &Query { search: Some("verbose-77".to_owned()), ..query.clone() });
    timed("by update, files looked at", &mut LocalSessions::new(home), query);
    let start = Instant::now();
    let mut page_query = Query { limit: 100, ..query.clone() };
    let mut n_rows = 0;
    loop {
        let page = reader.list(&page_query);
        n_rows += page.sessions.len();
        page_query.cursor = page.next;
        if page_query.cursor.is_none() {
            break;
        }
    }
    figures.push(("all in pages of 100", start.elapsed(), n_rows));
    figures
}

/// A store of a few sessions.
fn small_store() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for n in 0..300 {
        let folder = home.path().join(format!("sessions/2026/01/{:02}", n % 28 + 1));
        std::fs::create_dir_all(&folder).unwrap();
        let id = format!("019a0000-0000-7000-8000-{n:012}");
        let text = format!(
            "{{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"cwd\":\"/p\",\"originator\":\"o\",\"cli_version\":\"1\"}}}}\n\
             {{\"timestamp\":\"t\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"user_message\",\"message\":\"hi {n}\"}}}}\n"
        );
        std::fs::write(folder.join(format!("rollout-2026-01-01T00-00-00-{id}.jsonl")), text).unwrap();
    }
    home
}
