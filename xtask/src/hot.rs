//! `cargo xtask hot`: lists code files that more than one commit in ten changes.
//!
//! Such a file has several reasons to change, and each of them deserves a file. With `--check` such a file is a
//! failure; commits before [`SINCE`] do not count, because the hubs of that time were dissolved afterwards.
//!
//! Not here: size. `tidy` has a rule for that.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Result;

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// The mark that opens a commit in git's output; no path contains it.
const COMMIT: &str = "\u{1}";

/// The check counts the commits after this one.
const SINCE: &str = "8dfee52679a9bda0351d621895273b434aa0c94d";

/// With fewer commits than this, every file looks hot.
const N_COMMITS_MIN: usize = 40;

/// Runs `cargo xtask hot`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let is_check = args.flag("--check");
    args.finish()?;
    let range = if is_check { format!("{SINCE}..HEAD") } else { "HEAD".to_owned() };
    if is_check && !is_known(SINCE)? {
        println!("hot: this clone has no commit {SINCE}, so nothing is counted");
        return Ok(Outcome::Good);
    }
    let mut command = Command::new("git");
    command.current_dir(program::root()).args(["log", "--no-merges", "--name-only", "--format=%x01", &range]);
    let log = program::text_of(&mut command)?;
    let commits = code_commits(&log);
    let hot = hot_files(&commits);
    let there: Vec<_> = hot.iter().filter(|(path, _)| program::root().join(path).exists()).collect();
    for (path, n) in &there {
        println!("{:>3} %  {n:>4}  {path}", 100 * n / commits.len());
    }
    println!("{} commits with code", commits.len());
    if commits.len() < N_COMMITS_MIN {
        println!("note: fewer than {N_COMMITS_MIN} commits, so the list means little");
        return Ok(Outcome::Good);
    }
    Ok(if is_check && !there.is_empty() { Outcome::Bad } else { Outcome::Good })
}

/// Whether the clone has a commit. A shallow one may lack it, and an export has no history.
fn is_known(commit: &str) -> Result<bool> {
    let mut command = Command::new("git");
    command.current_dir(program::root()).args(["cat-file", "-e", &format!("{commit}^{{commit}}")]);
    Ok(command.output()?.status.success())
}

/// The code files of each commit that has some.
fn code_commits(log: &str) -> Vec<Vec<&str>> {
    let commits = log.split(COMMIT).map(|commit| commit.lines().filter(|path| path.ends_with(".rs")).collect());
    commits.filter(|paths: &Vec<&str>| !paths.is_empty()).collect()
}

/// Files in more than a tenth of the commits, the hottest first.
fn hot_files<'a>(commits: &[Vec<&'a str>]) -> Vec<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in commits.iter().flatten() {
        *counts.entry(path).or_default() += 1;
    }
    let mut hot: Vec<_> = counts.into_iter().filter(|(_, n)| n * 10 > commits.len()).collect();
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
            log.push_str(&format!("{COMMIT}\n\nCHANGELOG.md\n"));
        }
        let commits = code_commits(&log);
        assert_eq!((commits.len(), hot_files(&commits)), (20, vec![("hub.rs", 3)]));
    }
}
