//! How long it takes to find out, before an input is sent, that nothing changed; and what a change costs.
//!
//! `cargo bench -p pellucid-workspace` times it; `cargo test` runs each once.

#![allow(clippy::unwrap_used, reason = "a benchmark that panics says where")]

use std::fs;
use std::hint::black_box;
use std::time::Duration;
use std::time::SystemTime;

use divan::Bencher;
use pellucid_engine::reinject::ReinjectState;
use pellucid_engine::reinject::layout::ReinjectLayout;
use pellucid_engine::reinject::parts::PartTexts;
use pellucid_engine::reinject::settings::ReinjectOverrides;
use pellucid_workspace::standing_files::Instructions;
use pellucid_workspace::standing_files::StandingFiles;
use pellucid_workspace::standing_files::StandingSources;
use tempfile::TempDir;

fn main() {
    divan::main();
}

fn layout() -> ReinjectLayout {
    ReinjectLayout { rules: Some(vec!["rules.md".to_owned()]), ..ReinjectLayout::default() }
}

/// A workspace with instructions and rules of ten thousand bytes each, written long ago.
fn workspace() -> (TempDir, StandingFiles) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    for name in ["instructions.md", "rules.md"] {
        let path = folder.path().join(name);
        fs::write(&path, "Use tabs.\n".repeat(1000)).unwrap();
        let then = SystemTime::now() - Duration::from_secs(100);
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    }
    let sources = StandingSources {
        layout: layout(),
        instructions: Instructions::File(folder.path().join("instructions.md")),
        states: None,
        now: String::new,
    };
    let files = StandingFiles::new(sources, folder.path());
    (folder, files)
}

/// Everything that happens before an input when nothing is due.
#[divan::bench]
fn nothing_changed(bencher: Bencher<'_, '_>) {
    let (_folder, mut files) = workspace();
    let settings = layout().settings(ReinjectOverrides { turns: Some(1e12), ..ReinjectOverrides::default() });
    let mut state = ReinjectState::default();
    state.decide(&settings, &files.read(), &PartTexts::default(), None).injection.unwrap();
    bencher.bench_local(|| {
        let decision = state.decide(&settings, &files.read(), &PartTexts::default(), None);
        state.complete_turn();
        black_box(decision)
    });
    assert_eq!(files.n_reads(), 2, "files that did not change are not opened again");
}

/// The first input: both files are read and hashed, and the text is put together.
#[divan::bench]
fn first_injection(bencher: Bencher<'_, '_>) {
    let settings = layout().settings(ReinjectOverrides::default());
    bencher.with_inputs(workspace).bench_local_values(|(folder, mut files)| {
        let decision = ReinjectState::default().decide(&settings, &files.read(), &PartTexts::default(), None);
        black_box(decision.injection.unwrap().map(|injection| injection.text()));
        folder
    });
}
