//! A command that continues in a terminal swaps folders and files for links while a patch is written.

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Backend;
use crate::trial::Trial;
use crate::turn::Call;
use crate::turn::add;
use crate::turn::patch;
use crate::turn::shell;
use crate::turn::terminal;

/// How many files a patch has before the one that matters, so that there is time to swap.
const N_FILES: usize = 300;

/// How many patches a session makes against a command that swaps all the time.
fn n_rounds() -> usize {
    std::env::var("PELLUCID_RACE_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(20)
}

pub fn attempts() -> Vec<Attempt> {
    vec![
        swapped("race-add", "a new file in a folder that becomes a link", "mv d d.old; ln -s $OUT d", |_| {
            "*** Add File: d/pwned\n+x".to_owned()
        }),
        swapped("race-add-over", "a new file where there is one outside", "mv d d.old; ln -s $OUT d", |trial| {
            trial.write("outside/other", "before\n");
            trial.look_outside();
            "*** Add File: d/other\n+x".to_owned()
        }),
        swapped("race-update", "a change of a file in it", "mv d d.old; ln -s $OUT d", |_| {
            "*** Update File: d/existing\n@@\n-before\n+after".to_owned()
        }),
        swapped("race-delete", "removing a file in it", "mv d d.old; ln -s $OUT d", |_| {
            "*** Delete File: d/existing".to_owned()
        }),
        swapped("race-move-to", "moving a file into it", "mv d d.old; ln -s $OUT d", |_| {
            "*** Update File: src/a.txt\n*** Move to: d/pwned\n@@\n-one\n+1".to_owned()
        }),
        swapped("race-move-from", "moving a file out of it", "mv d d.old; ln -s $OUT d", |_| {
            "*** Update File: d/existing\n*** Move to: src/moved\n@@\n-before\n+after".to_owned()
        }),
        swapped("race-folder-above", "the folder above becomes the link", "mv p p.old; ln -s $OUT p", |trial| {
            trial.write("outside/d/existing", "before\n");
            trial.look_outside();
            "*** Add File: p/d/pwned\n+x".to_owned()
        }),
        swapped(
            "race-new-folder",
            "a folder that the patch itself makes",
            "mkdir -p n; mv n n.old; ln -s $OUT n",
            |_| "*** Add File: n/pwned\n+x".to_owned(),
        ),
        swapped("race-deep-folder", "a folder below folders that the patch makes", "mv n n.old; ln -s $OUT n", |_| {
            "*** Add File: n/m/o/pwned\n+x".to_owned()
        }),
        swapped("race-file", "the file itself becomes a link", "ln -sf $OUT/existing d/existing", |_| {
            "*** Update File: d/existing\n@@\n-before\n+after".to_owned()
        }),
        swapped("race-absent-file", "a link where a new file is to come", "ln -s $OUT/pwned d/new", |_| {
            "*** Add File: d/new\n+x".to_owned()
        }),
        swapped(
            "race-hard-link",
            "the file becomes another name of one outside",
            "ln -f $OUT/existing d/existing",
            |_| "*** Update File: d/existing\n@@\n-before\n+after".to_owned(),
        ),
        swapped("race-protected", "a folder becomes a link to the repository's", "mv d d.old; ln -s .git d", |trial| {
            trial.repository();
            "*** Add File: d/config\n+[core]".to_owned()
        })
        .earlier(),
        swapped(
            "race-temporary",
            "what the patch has begun to write becomes a link",
            "for f in a/.pellucid-* d/.pellucid-*; do ln -sf $OUT/pwned $f; done",
            |_| "*** Add File: d/new\n+x".to_owned(),
        )
        .earlier(),
        attempt("race-loop", "patches against a command that swaps back and forth", |trial| {
            prepare(trial);
            let looping = &swapping("d");
            let mut calls = vec![terminal(looping)];
            for round in 0..n_rounds() {
                calls.push(add(&format!("d/f{round}"), "x"));
            }
            trial.turn().run(&calls);
            Tried::Look
        })
        .earlier(),
        attempt("race-loop-parent", "the same two folders up, with changes of files", |trial| {
            prepare(trial);
            trial.write("outside/d/existing", "before\n");
            trial.look_outside();
            let looping = &swapping("p");
            let mut calls = vec![terminal(looping)];
            for round in 0..n_rounds() {
                calls.push(patch(&format!("*** Add File: p/d/n{round}/f\n+x\n*** Delete File: p/d/existing")));
                calls.push(add("p/d/existing", "before"));
            }
            trial.turn().run(&calls);
            Tried::Look
        })
        .earlier(),
        attempt("race-background", "the same by what a command left in the background", |trial| {
            prepare(trial);
            let waiting = waiting("mv d d.old; ln -s $OUT d");
            let start = format!("(setsid sh -c '{waiting}' >/dev/null 2>&1 &); echo started");
            trial.turn().run(&[shell(&start), many("*** Add File: d/pwned\n+x")]);
            Tried::Look
        })
        // With the others it ends with its command.
        .only_on(&[Backend::Namespaces]),
        attempt("race-resumed", "the same in a resumed session", |trial| {
            prepare(trial);
            trial.turn().run(&[shell("true")]);
            let waiting = waiting("mv d d.old; ln -s $OUT d");
            trial.turn().resumed().run(&[terminal(&waiting), many("*** Add File: d/pwned\n+x")]);
            Tried::Look
        }),
        attempt("race-by-shell", "the same by a patch that a command line holds", |trial| {
            prepare(trial);
            let waiting = waiting("mv d d.old; ln -s $OUT d");
            let Call::Patch(text) = many("*** Add File: d/pwned\n+x") else { unreachable!() };
            trial.turn().run(&[terminal(&waiting), shell(&format!("apply_patch <<'EOF'\n{text}\nEOF"))]);
            Tried::Look
        }),
    ]
}

/// Waits for the first file of a patch, then swaps.
fn waiting(swap: &str) -> String {
    format!(
        "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); set -- a/* a/.[!.]*; \
         if [ -e \"$1\" ] || [ -e \"$2\" ]; then {swap}; exit; fi; done"
    )
}

/// Swaps a folder for a link and back for as long as it lives. Perl is quicker than the programs of a shell.
fn swapping(folder: &str) -> String {
    let perl =
        "while (1) { $i++; rename \"F\", \"F$i\"; symlink \"$OUT\", \"F\"; unlink \"F\"; rename \"F$i\", \"F\"; }";
    let plain = "while :; do i=$((i+1)); mv F F$i; ln -s $OUT F; rm F; mv F$i F; done";
    format!("(command -v perl >/dev/null && exec perl -e '{perl}'; {plain}) 2>/dev/null").replace('F', folder)
}

/// A patch with many files, of which the last matters.
fn many(last: &str) -> Call {
    let files: Vec<_> = (0..N_FILES).map(|at| format!("*** Add File: a/f{at}\n+x\n")).collect();
    patch(&format!("{}{last}", files.concat()))
}

fn prepare(trial: &Trial) {
    trial.write("work/a/.keep", "");
    std::fs::remove_file(trial.path("work/a/.keep")).unwrap();
    trial.write("work/d/existing", "before\n");
    trial.write("work/p/d/existing", "before\n");
}

fn swapped(name: &str, what: &str, swap: &'static str, last: fn(&Trial) -> String) -> Attempt {
    attempt(name, what, move |trial| {
        prepare(trial);
        let last = last(trial);
        let config = std::fs::read(trial.path("work/.git/config")).ok();
        trial.turn().run(&[terminal(&waiting(swap)), many(&last)]);
        Tried::out_if(std::fs::read(trial.path("work/.git/config")).ok() != config, "work/.git/config changed")
    })
}
