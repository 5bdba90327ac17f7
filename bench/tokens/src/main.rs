//! Exact token counts beside other crates, in one process by turns: `cargo run --release [FILE ...]`.
//!
//! Without files it counts what lies around: the sources, the pages and the recorded requests of this repository. The
//! best of several rounds is kept, in CPU time of the thread. All have to agree on every count.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::tokens::Counter;
use pellucid_tokens::Exact;
use rustix::time::ClockId;
use rustix::time::clock_gettime;

const MODEL: &str = "gpt-5";
const ENCODING: &str = "o200k_base";
const N_ROUNDS: usize = 12;

/// Enough for the caches to matter, and soon done.
const BYTES_MAX: usize = 3_000_000;

fn main() {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let texts: Vec<(String, String)> = if files.is_empty() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        vec![
            ("Rust".to_owned(), gathered(&root.join("crates"), "rs")),
            ("Markdown".to_owned(), gathered(&root.join("docs"), "md")),
            ("JSON".to_owned(), gathered(&root.join("conformance/goldens"), "json")),
        ]
    } else {
        let read =
            |file: &PathBuf| fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        files.iter().map(|file| (file.display().to_string(), read(file))).collect()
    };

    let tiktoken = tiktoken::get_encoding(ENCODING).expect("it was compiled in");
    let bpe = bpe_openai::o200k_base();
    let ours = || Exact::for_model(MODEL).expect("the model's encoding is ours");
    for (name, text) in &texts {
        let kept = ours();
        let counters: [(&str, &dyn Fn() -> usize); 4] = [
            ("ours", &|| kept.count(text)),
            ("ours from nothing", &|| ours().count(text)),
            ("tiktoken", &|| tiktoken.count(text)),
            ("bpe-openai", &|| bpe.count(text.as_str())),
        ];
        let mut best = [f64::MAX; 4];
        let mut counts = [0; 4];
        for _ in 0..N_ROUNDS {
            for (n, (_, count)) in counters.iter().enumerate() {
                let began = cpu_seconds();
                counts[n] = count();
                best[n] = best[n].min(cpu_seconds() - began);
            }
        }
        assert!(counts.iter().all(|count| *count == counts[0]), "{name}: {counts:?}");
        let megabytes = text.len() as f64 / 1e6;
        print!("{name}, {megabytes:.1} MB, {} tokens:", counts[0]);
        for ((who, _), seconds) in counters.iter().zip(best) {
            print!(" {who} {:.0} MB/s;", megabytes / seconds);
        }
        println!();
    }
}

/// The texts of the files below a folder with this ending, one after another.
fn gathered(folder: &Path, ending: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == ending) && text.len() < BYTES_MAX {
                text += &fs::read_to_string(&path).unwrap_or_default();
            }
        }
    }
    text
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
