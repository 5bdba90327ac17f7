//! `cargo xtask bench`: measures the release build beside other agents, and writes down what came out.
//!
//! Without a name, everything: the agents are fetched, every benchmark is run with all of them in turns, and the results, their
//! drawings and the table of `docs/performance.md` are written. With a name, one benchmark of `bench/`, with its own words.
//!
//! - `peers`: the other agents, and fetching them
//! - `plan`: what is run, whole and in short
//! - `results`: what is written down
//! - `rows`, `table`, `amount`: the table, its targets and bounds
//! - `charts`, `plot`: the drawings
//! - `page`: the page, and whether it is up to date
//!
//! Not here: measuring. `bench/README.md` says what each benchmark does and what was found.

mod amount;
mod charts;
mod page;
mod peers;
mod plan;
mod plot;
mod results;
mod rows;
mod table;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::scratch::Scratch;
use peers::{Fetched, OURS, PEERS};
use plan::{RUNS, Run};
use results::{Failure, Results, Written};

/// The text in a benchmark's source that shows that it drives a binary.
const TAKES_BINARY: &str = "\"--bin\"";

/// What is run, with which programs, and where the results go.
#[derive(Debug, Default)]
struct Options {
    is_quick: bool,
    binary: Option<PathBuf>,
    peers: Option<Vec<String>>,
    only: Option<Vec<String>>,
    cache: Option<PathBuf>,
    out: Option<PathBuf>,
}

/// Runs `cargo xtask bench`.
pub fn run(mut args: Args) -> Result<Outcome> {
    if args.is_next_a_name() {
        return one(args);
    }
    if args.flag("--list") {
        args.finish()?;
        println!("benchmarks: {}", names(&program::root().join("bench"))?.join(" "));
        return Ok(Outcome::Good);
    }
    if args.flag("--draw") {
        args.finish()?;
        let path = Results::path();
        page::write(&Results::read(&path)?, path.parent().context("a file has a folder")?)?;
        return Ok(Outcome::Good);
    }
    let list = |text: String| text.split(',').map(str::to_owned).collect();
    let options = Options {
        is_quick: args.flag("--quick"),
        binary: args.value("--bin")?.map(std::path::absolute).transpose()?,
        peers: args.value("--peers")?.map(list),
        only: args.value("--only")?.map(list),
        cache: args.value("--cache")?.map(std::path::absolute).transpose()?,
        out: args.value("--out")?.map(std::path::absolute).transpose()?,
    };
    args.finish()?;
    all(&options)
}

/// One benchmark, with its own words.
fn one(mut args: Args) -> Result<Outcome> {
    let names = names(&program::root().join("bench"))?;
    let name = args.next().unwrap_or_default();
    if !names.contains(&name) {
        bail!("no benchmark {name}; there are: {}", names.join(" "));
    }
    let Some(python) = python() else { return Ok(Outcome::Good) };
    let mut command = script(&python, &name);
    // Our binary is the first, because the last ratios compare the first binary with the others.
    let rest = args.rest();
    if !rest.iter().any(|word| word.starts_with(&format!("{OURS}="))) {
        command.arg("--bin").arg(named(OURS, &program::release_binary()?));
    }
    program::outcome_of(command.args(rest))
}

/// Every benchmark, beside every agent that can be had.
fn all(options: &Options) -> Result<Outcome> {
    let Some(python) = python() else { return Ok(Outcome::Good) };
    for name in options.only.iter().flatten() {
        if !RUNS.iter().any(|run| run.benchmark == name) {
            bail!("{name} is not among the benchmarks that are run together");
        }
    }
    for name in options.peers.iter().flatten() {
        if !PEERS.iter().any(|it| it.name == name) {
            bail!("no agent {name}; there are: {}", PEERS.map(|it| it.name).join(" "));
        }
    }
    let is_whole = options.only.is_none() && options.peers.is_none();
    let out = match &options.out {
        Some(out) => out.clone(),
        // What is only a part takes no place in the project.
        None if !is_whole => program::target_folder().join("bench"),
        None => Results::path().parent().context("a file has a folder")?.to_path_buf(),
    };
    let ours = match &options.binary {
        Some(binary) => binary.clone(),
        None => program::release_binary()?,
    };
    let cache = options.cache.clone().map_or_else(peers::cache_folder, Ok)?;
    let began = Instant::now();
    let mut results = Results {
        made: results::made(options.is_quick, &ours),
        programs: Vec::new(),
        figures: Vec::new(),
        failures: Vec::new(),
    };
    let (fetched, node) = fetch(options, &cache, &mut results);
    let measured = Instant::now();
    for run in
        RUNS.iter().filter(|it| options.only.as_ref().is_none_or(|only| only.iter().any(|name| name == it.benchmark)))
    {
        let Some(words) = (if options.is_quick { run.quick } else { Some(run.whole) }) else { continue };
        println!("bench: {} {words} ({} s so far)", run.benchmark, measured.elapsed().as_secs());
        match measure(&python, run, words, &ours, &fetched, node.as_deref()) {
            Ok(written) => results.add(written),
            // The other rows are still run, and the table says what is missing.
            Err(error) => {
                println!("bench: {}: {error:#}", run.benchmark);
                let why = format!("{error:#}");
                results.failures.push(Failure {
                    benchmark: run.benchmark.into(),
                    case: Default::default(),
                    program: OURS.into(),
                    why,
                });
            }
        }
    }
    if results.made.program.ends_with("opt-level 0") {
        // They would say nothing about what people use.
        results.figures.retain(|it| it.program != OURS);
        results.programs[0].missing = Some("its program was not optimised".to_owned());
    }
    results.made.seconds = measured.elapsed().as_secs();
    results.made.load[1] = results::load();
    fs::create_dir_all(&out).with_context(|| format!("could not make {}", out.display()))?;
    fs::write(out.join("results.json"), results.text()?)?;
    if out.join("results.json") == Results::path() {
        page::write(&results, &out)?;
    } else {
        for (name, text) in charts::drawings(&results) {
            fs::write(out.join(name), text)?;
        }
    }
    print!("{}", table::text(&results));
    println!("bench: {} figures in {} after {} s", results.figures.len(), out.display(), began.elapsed().as_secs());
    Ok(if results.failures.iter().any(|it| it.program == OURS) { Outcome::Bad } else { Outcome::Good })
}

/// The agents that are wanted and can be had, and the folder of the Node that some of them need.
fn fetch(options: &Options, cache: &Path, results: &mut Results) -> (Vec<Fetched>, Option<PathBuf>) {
    let program = |name: &str, package, missing| results::Program {
        name: name.to_owned(),
        title: peers::title_of(name).to_owned(),
        package,
        missing,
    };
    results.programs.push(program(OURS, None, None));
    let mut fetched = Vec::new();
    for peer in
        PEERS.iter().filter(|it| options.peers.as_ref().is_none_or(|only| only.iter().any(|name| name == it.name)))
    {
        match peers::fetch(*peer, cache) {
            Ok(it) => {
                results.programs.push(program(peer.name, Some(peer.spec()), None));
                fetched.push(it);
            }
            Err(error) => {
                println!("bench: {} is left out: {error:#}", peer.title);
                let why = "its package could not be fetched".to_owned();
                results.programs.push(program(peer.name, Some(peer.spec()), Some(why)));
            }
        }
    }
    let node = peers::node(cache).map_err(|error| println!("bench: without a newer Node: {error:#}")).ok();
    (fetched, node)
}

/// Runs a benchmark and reads what it wrote.
fn measure(
    python: &str,
    run: &Run,
    words: &str,
    ours: &Path,
    fetched: &[Fetched],
    node: Option<&Path>,
) -> Result<Written> {
    let scratch = Scratch::new()?;
    let json = scratch.path().join("figures.json");
    let mut command = script(python, run.benchmark);
    let text = fs::read_to_string(program::root().join("bench").join(format!("{}.py", run.benchmark)))?;
    let mut add = |name: &str, path: &Path, root: &Path| {
        if text.contains(TAKES_BINARY) {
            command.arg("--bin").arg(named(name, path));
        }
        if text.contains("\"--root\"") && words.starts_with("--n 0 ") {
            command.arg("--root").arg(named(name, root));
        }
    };
    add(OURS, ours, ours);
    for Fetched { peer, program, root } in fetched.iter().filter(|it| run.beside.has(it.peer.name)) {
        add(peer.name, program, root);
    }
    if let Some(node) = node {
        command.env("NODE", node);
    }
    command.args(words.split(' ')).arg("--json").arg(&json).stdin(Stdio::null());
    let status = command.status().context("could not start the benchmark")?;
    if !json.is_file() {
        bail!("the benchmark wrote nothing: {status}");
    }
    serde_json::from_str(&fs::read_to_string(&json)?).context("the benchmark wrote something else than figures")
}

fn python() -> Option<String> {
    program::python().map_err(|why| println!("bench: skipped, {why}")).ok()
}

fn script(python: &str, name: &str) -> Command {
    let mut command = Command::new(python);
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg(program::root().join("bench").join(format!("{name}.py")));
    command
}

fn named(name: &str, path: &Path) -> OsString {
    let mut word = OsString::from(format!("{name}="));
    word.push(path);
    word
}

/// The scripts that drive a binary, by name; the others in the folder are parts of them.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "py")
            && fs::read_to_string(&path)?.contains(TAKES_BINARY)
            && let Some(name) = path.file_stem()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_are_found_and_their_parts_are_not() {
        let names = names(&program::root().join("bench")).unwrap();
        for name in ["longturn", "peers"] {
            assert!(names.iter().any(|it| it == name), "{names:?}");
        }
        assert!(!names.iter().any(|it| it == "common"), "{names:?}");
    }

    #[test]
    fn unknown_names_are_refused_before_anything_runs() {
        let refusal = |words: &[&str]| {
            run(Args::new(words.iter().map(|it| (*it).to_string()).collect())).unwrap_err().to_string()
        };
        assert!(refusal(&["--only", "fast"]).starts_with("fast is not among the benchmarks"));
        assert!(refusal(&["--peers", "pi,nobody"]).starts_with("no agent nobody; there are: codex104"));
        assert!(refusal(&["nothing"]).starts_with("no benchmark nothing"));
    }
}
