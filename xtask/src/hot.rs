//! `cargo xtask hot`: files that more than one commit in ten goes through.
//!
//! Such a file has several reasons to change, and each of them deserves a file.
//!
//! Not here: size. `tidy` has a rule for that.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// What opens a commit in git's answer; no path holds it.
const COMMIT: &str = "\u{1}";

/// With fewer commits than this, every file looks hot.
const N_COMMITS_MIN: usize = 20;

/// `cargo xtask hot`
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    let mut command = Command::new("git");
    command.current_dir(program::root()).args(["log", "--no-merges", "--name-only", "--format=%x01"]);
    let log = program::text_of(&mut command)?;
    let n_commits = log.lines().filter(|it| *it == COMMIT).count();
    let hot = hot_files(&log, n_commits);
    for (path, n) in hot.iter().filter(|(path, _)| program::root().join(path).exists()) {
        println!("{:>3} %  {n:>4}  {path}", 100 * n / n_commits);
    }
    println!("{n_commits} commits");
    if n_commits < N_COMMITS_MIN {
        println!("note: too few commits for the list to mean much");
    }
    Ok(Outcome::Good)
}

/// Files in more than a tenth of the commits, the hottest first.
fn hot_files(log: &str, n_commits: usize) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in log.lines().filter(|it| !it.is_empty() && *it != COMMIT) {
        *counts.entry(path).or_default() += 1;
    }
    let mut hot: Vec<_> = counts.into_iter().filter(|(_, n)| n * 10 > n_commits).collect();
    hot.sort_by_key(|(path, n)| (std::cmp::Reverse(*n), *path));
    hot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_in_ten_is_hot() {
        let mut log = String::new();
        for at in 0..20 {
            log.push_str(&format!("{COMMIT}\n\nfile{at}.rs\n"));
            if at < 3 {
                log.push_str("hub.rs\n");
            }
            if at < 2 {
                log.push_str("just.rs\n");
            }
        }
        assert_eq!(hot_files(&log, 20), [("hub.rs", 3)]);
    }
}
