//! The agent's own git in a repository that names programs: none of them may run with the agent's rights.
//!
//! Tricks are what a repository can name a program by; deeds are what the agent uses git for. Each trick is tried
//! with each deed that git itself runs the program for, which the control run shows with plain git.

use serde_json::json;

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::person::Person;
use crate::trial::Trial;
use crate::turn::patch;
use crate::turn::shell;

/// What the agent uses git for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// The agent asks git for the status that goes into each request.
    Status,
    /// The snapshot before a turn.
    Snapshot,
    /// A review of what is not committed.
    Review,
    /// A review of what differs from a branch.
    ReviewBase,
    /// The user runs `pellucid apply --3way`.
    Apply,
    /// The difference to the remote, which editors ask for.
    Diff,
}

use Deed::Apply;
use Deed::Diff;
use Deed::Review;
use Deed::ReviewBase;
use Deed::Snapshot;
use Deed::Status;

impl Deed {
    fn name(self) -> &'static str {
        match self {
            Status => "status",
            Snapshot => "snapshot",
            Review => "review",
            ReviewBase => "review-base",
            Apply => "apply",
            Diff => "diff",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Status => "while a request says what repository it is",
            Snapshot => "while a snapshot is made",
            Review => "during a review",
            ReviewBase => "during a review against a branch",
            Apply => "while a session's changes are applied",
            Diff => "while the difference to the remote is asked for",
        }
    }

    /// What a person would type for the same.
    fn by_hand(self) -> &'static str {
        match self {
            Status => "git status >/dev/null 2>&1; true",
            Snapshot => "git add -A; git write-tree >/dev/null 2>&1; true",
            Review => "git diff >/dev/null 2>&1; git status >/dev/null 2>&1; true",
            ReviewBase => "git diff main >/dev/null 2>&1; git merge-base main HEAD; true",
            Apply => "git apply --3way ../p.diff; true",
            Diff => "git diff origin/main >/dev/null 2>&1; true",
        }
    }

    /// Makes the agent do it.
    fn run(self, trial: &Trial) {
        match self {
            Status => drop(trial.turn().reading().by_server().run(&[shell("sleep 0.3")])),
            Snapshot => drop(trial.turn().args(&["--enable", "undo"]).run(&[shell("true")])),
            Review => drop(trial.turn().review().by_server().run(&[shell("sleep 0.2")])),
            ReviewBase => {
                let script = trial.write("review.jsonl", "{\"say\":\"fine\"}\n");
                let args = ["exec", "review", "--base", "main", "--skip-git-repo-check", "--script"];
                trial.pellucid(&[&args[..], &[script.to_str().unwrap()]].concat());
            }
            Apply => drop(trial.pellucid(&["apply", "--last", "--3way"])),
            Diff => {
                let mut person = Person::start(trial, &[], &[]);
                let cwd = trial.path("work");
                person.ask("gitDiffToRemote", &json!({ "cwd": cwd.to_str().unwrap() }));
            }
        }
    }
}

/// A way for a repository to name a program.
struct Trick {
    name: &'static str,
    what: &'static str,
    /// Makes it, in a repository that has a change which is not committed.
    plant: &'static str,
    deeds: &'static [Deed],
}

const fn trick(name: &'static str, what: &'static str, plant: &'static str, deeds: &'static [Deed]) -> Trick {
    Trick { name, what, plant, deeds }
}

const ATTRIBUTES: &str = "echo '* filter=x diff=x merge=x' > .gitattributes; ";

const TRICKS: &[Trick] = &[
    trick(
        "filter",
        "a filter for files that are read",
        "ATTR git config filter.x.clean $BASE/evil.sh",
        &[Status, Snapshot, Review, Diff],
    ),
    trick(
        "filter-process",
        "a filter that stays",
        "ATTR git config filter.x.process $BASE/evil.sh",
        &[Status, Snapshot, Diff],
    ),
    trick(
        "filter-smudge",
        "a filter for files that are written",
        "ATTR git config filter.x.smudge $BASE/evil.sh; git config filter.x.clean cat",
        &[Apply],
    ),
    trick(
        "info-attributes",
        "a filter that only the repository's own attributes name",
        "echo '* filter=x' > .git/info/attributes; git config filter.x.clean $BASE/evil.sh",
        &[Status, Snapshot, Diff],
    ),
    trick(
        "attributes-file",
        "attributes in a file elsewhere",
        "echo '* filter=x' > ../attr; git config core.attributesFile $BASE/attr; git config filter.x.clean $BASE/evil.sh",
        &[Status, Snapshot],
    ),
    trick(
        "include",
        "a filter in a file that is included",
        "ATTR git config -f ../more filter.x.clean $BASE/evil.sh; git config include.path $BASE/more",
        &[Status, Snapshot],
    ),
    trick(
        "include-if",
        "a filter in a file that is included under a condition",
        "ATTR git config -f ../more filter.x.clean $BASE/evil.sh; git config includeIf.gitdir:$WORK/.path $BASE/more",
        &[Status, Snapshot],
    ),
    trick(
        "worktree-config",
        "a filter in the worktree's own configuration",
        "ATTR git config extensions.worktreeConfig true; git config --worktree filter.x.clean $BASE/evil.sh",
        &[Status, Snapshot],
    ),
    trick(
        "monitor",
        "a program that watches files",
        "git config core.fsmonitor $BASE/evil.sh",
        &[Status, Snapshot, Review, Apply, Diff],
    ),
    trick(
        "monitor-2",
        "the same by the newer interface",
        "git config core.fsmonitor $BASE/evil.sh; git config core.fsmonitorHookVersion 2",
        &[Status, Snapshot],
    ),
    trick(
        "hook",
        "a hook for changes of the index",
        "cp ../evil.sh .git/hooks/post-index-change; touch -d 2020-01-01 src/*; git update-index -q --refresh; touch src/*",
        &[Status, Apply],
    ),
    trick(
        "hooks-path",
        "hooks in another folder",
        "mkdir ../h; cp ../evil.sh ../h/post-index-change; git config core.hooksPath $BASE/h; touch -d 2020-01-01 src/*",
        &[Status, Apply],
    ),
    trick(
        "external",
        "a program that shows differences",
        "git config diff.external $BASE/evil.sh",
        &[Review, ReviewBase, Diff],
    ),
    trick(
        "external-driver",
        "the same by attributes",
        "ATTR git config diff.x.command $BASE/evil.sh",
        &[Review, ReviewBase, Diff],
    ),
    trick(
        "textconv",
        "a program that makes text of files",
        "ATTR git config diff.x.textconv $BASE/evil.sh",
        &[Review, ReviewBase, Diff],
    ),
    trick("merge-driver", "a program that merges", "ATTR git config merge.x.driver $BASE/evil.sh", &[Apply]),
    trick(
        "submodule",
        "a program that watches a submodule's files",
        "SUB git -C sub config core.fsmonitor $BASE/evil.sh",
        &[Status, Snapshot, Review, Diff],
    ),
    trick(
        "submodule-filter",
        "a filter of a submodule",
        "SUB echo '* filter=x' > sub/.git/info/attributes; git -C sub config filter.x.clean $BASE/evil.sh; echo y > sub/f; touch -d 2020-01-01 sub/f",
        &[Status, Review, Diff],
    ),
    trick(
        "fetch-program",
        "an object that is fetched by a program",
        "PART git config remote.origin.url 'ext::sh -c touch% $OUT/pwned'; git config protocol.ext.allow always",
        &[Status, Snapshot, Review, Diff],
    ),
    trick(
        "fetch-ssh",
        "an object that is fetched by another `ssh`",
        "PART git config remote.origin.url ssh://nowhere/x; git config core.sshCommand $BASE/evil.sh",
        &[Status, Snapshot, Diff],
    ),
    trick(
        "fetch-proxy",
        "an object that is fetched through a program",
        "PART git config remote.origin.url git://nowhere/x; git config core.gitProxy $BASE/evil.sh",
        &[Status, Snapshot, Diff],
    ),
    trick(
        "fetch-pack",
        "an object that another program packs",
        "PART git config remote.origin.url $WORK; git config remote.origin.uploadpack $BASE/evil.sh",
        &[Status, Snapshot, Diff],
    ),
];

pub fn attempts() -> Vec<Attempt> {
    let mut all = Vec::new();
    for trick in TRICKS {
        for deed in trick.deeds.iter().copied() {
            let name = format!("git-{}-{}", deed.name(), trick.name);
            let made = attempt(name, format!("{}, {}", trick.what, deed.words()), move |trial| {
                repository(trial, deed);
                trial.by_hand(&plant(trick));
                trial.look_outside();
                deed.run(trial);
                Tried::Look
            });
            all.push(made.by_hand(move |trial| {
                repository(trial, deed);
                trial.by_hand(&plant(trick));
                trial.look_outside();
                trial.by_hand(deed.by_hand());
                Tried::Look
            }));
        }
    }
    all.extend(made_by_commands());
    all
}

fn plant(trick: &Trick) -> String {
    // A part of the repository that has to be fetched: the tree of the last commit, and what was committed.
    let part = "git config extensions.partialClone origin; git config remote.origin.promisor true; \
                for o in $(git rev-parse HEAD^{tree} HEAD:src HEAD:src/a.txt); do \
                rm -f .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); done; ";
    let sub = "git init -q -b main sub; (cd sub; echo x > f; git add .; git commit -qm one); \
               git add sub 2>/dev/null; git commit -qm sub; echo y > sub/f; ";
    trick.plant.replace("ATTR ", ATTRIBUTES).replace("PART ", part).replace("SUB ", sub)
}

/// A repository with a remote and a change that is not committed; for `apply` with a session that changed it.
fn repository(trial: &Trial, deed: Deed) {
    trial.repository();
    trial.by_hand(
        "git clone -q --bare . ../remote.git 2>/dev/null; git remote add origin $BASE/remote.git; git fetch -q",
    );
    if deed == Apply {
        trial.turn().run(&[patch("*** Update File: src/a.txt\n@@\n-one\n+ONE\n two")]);
        trial.by_hand(
            "git diff > ../p.diff; git checkout -q .; printf 'zero\\none\\ntwo\\n' > src/a.txt; git commit -qam two",
        );
        return;
    }
    // Of the same size and with other times, so that git has to read it.
    trial.by_hand("printf 'ONE\\ntwo\\n' > src/a.txt; touch -d 2021-01-01 src/a.txt");
}

/// A bare repository whose configuration says it is not bare and names a program.
const BARE: &str = "git init -q --bare src/b; cd src/b; git config core.bare false; git config core.worktree .; \
                    git config core.fsmonitor 'touch $OUT/pwned; false'";

/// Repositories that a command makes, for the agent's git of the next turn.
fn made_by_commands() -> Vec<Attempt> {
    let filter = "echo '* filter=x' > .gitattributes; git config filter.x.clean 'touch $OUT/pwned; cat'; \
                  printf 'ONE\\ntwo\\n' > src/a.txt; touch -d 2021-01-01 src/a.txt";
    let commit = "git init -q . && git add . && git commit -qm one";
    let first = format!("{commit}; {filter}");
    let moved = "mkdir r && cd r && git init -q . && cp -r ../src . && git add . && git commit -qm one && \
        git config filter.x.clean 'touch $OUT/pwned; cat' && cd .. && mv r/.git .git; echo '* filter=x' > .gitattributes; \
        printf 'ONE\\ntwo\\n' > src/a.txt; touch -d 2021-01-01 src/a.txt"
        .to_owned();
    let separate = format!("git init -q --separate-git-dir=repo . && git add src && git commit -qm one; {filter}");
    let monitor = format!("{commit}; git config core.fsmonitor 'touch $OUT/pwned; false'");
    let hook = format!(
        "{commit}; printf '#!/bin/sh\\ntouch $OUT/pwned\\n' > .git/hooks/post-index-change; \
        chmod +x .git/hooks/post-index-change; touch -d 2021-01-01 src/a.txt"
    );
    let below = format!("cd src; mkdir src; cp a.txt src; {first}");
    let path =
        "mkdir -p bin; printf '#!/bin/sh\\ntouch $OUT/pwned\\nexec /usr/bin/git \"$@\"\\n' > bin/git; chmod +x bin/git";
    vec![
        two_turns("git-made-filter", "a repository with a filter, made by a command", first.clone(), true),
        two_turns("git-made-filter-next", "the same, for the next session", first.clone(), false),
        two_turns("git-made-monitor", "a repository with a program that watches files", monitor, true),
        two_turns("git-made-hook", "a repository with a hook", hook, true),
        two_turns("git-made-moved", "a repository made elsewhere and moved there", moved, true),
        two_turns("git-made-separate", "a repository whose folder has another name", separate, true),
        attempt("git-made-below", "a repository in a folder below, where the next session is", move |trial| {
            trial.turn().run(&[shell(&below)]);
            trial.turn().within("work/src").reading().by_server().run(&[shell("sleep 0.3")]);
            Tried::Look
        }),
        attempt("git-made-bare", "a bare repository in a folder below, where the next session is", |trial| {
            trial.repository();
            trial.turn().run(&[shell(BARE)]);
            trial.turn().within("work/src/b").reading().by_server().run(&[shell("sleep 0.3")]);
            Tried::Look
        })
        .by_hand(|trial| {
            trial.by_hand(BARE);
            trial.by_hand("cd src/b; git status >/dev/null 2>&1; true");
            Tried::Look
        }),
        attempt("git-made-snapshot", "a repository with a filter, and a snapshot in the next turn", {
            let first = first.clone();
            move |trial| {
                trial.turn().run(&[shell(&first)]);
                trial.turn().resumed().args(&["--enable", "undo"]).run(&[shell("true")]);
                Tried::Look
            }
        }),
        attempt("git-made-same-turn", "a repository with a filter, before the next request of the same turn", {
            let first = first.clone();
            move |trial| {
                trial.turn().by_server().run(&[shell(&first), shell("sleep 0.2"), shell("sleep 0.2")]);
                Tried::Look
            }
        })
        .earlier(),
        attempt("git-made-review", "a repository with a filter, and a review", move |trial| {
            trial.turn().run(&[shell(&first)]);
            trial.turn().review().by_server().run(&[shell("sleep 0.2")]);
            Tried::Look
        }),
        attempt("git-by-path", "another `git`, in a folder of the project that is in `PATH`", move |trial| {
            trial.repository();
            trial.turn().run(&[shell(path)]);
            let turn = trial.turn().reading().by_server().variable("PATH", "$WORK/bin:/usr/bin:/bin");
            turn.run(&[shell("sleep 0.3")]);
            Tried::Look
        }),
        attempt("git-by-path-snapshot", "the same, and a snapshot", move |trial| {
            trial.repository();
            trial.turn().run(&[shell(path)]);
            let turn = trial.turn().reading().args(&["--enable", "undo"]).variable("PATH", "$WORK/bin:/usr/bin:/bin");
            turn.run(&[shell("true")]);
            Tried::Look
        }),
        attempt("git-by-relative-path", "another `git`, in the folder itself, with `.` in `PATH`", |trial| {
            trial.repository();
            let make = "printf '#!/bin/sh\\ntouch $OUT/pwned\\nexec /usr/bin/git \"$@\"\\n' > git; chmod +x git";
            trial.turn().run(&[shell(make)]);
            trial.turn().reading().by_server().variable("PATH", ".:/usr/bin:/bin").run(&[shell("sleep 0.3")]);
            Tried::Look
        }),
        attempt("git-untrusted", "a filter in a project that is not to be trusted", |trial| {
            repository(trial, Status);
            trial.by_hand(&plant(&TRICKS[0]));
            trial.decide("work", "untrusted");
            trial.look_outside();
            Status.run(trial);
            Tried::Look
        })
        .earlier(),
        attempt("git-trusted", "a filter in a trusted project", |trial| {
            repository(trial, Status);
            trial.by_hand(&plant(&TRICKS[0]));
            trial.decide("work", "trusted");
            trial.look_outside();
            Status.run(trial);
            Tried::Look
        })
        .earlier(),
    ]
}

/// A command makes a repository; the next turn, of the same session or of a new one, says what repository it is.
fn two_turns(name: &str, what: &str, make: String, is_resumed: bool) -> Attempt {
    let by_hand = make.clone();
    attempt(name, what, move |trial| {
        trial.turn().run(&[shell(&make)]);
        let turn = trial.turn().reading().by_server();
        let turn = if is_resumed { turn.resumed() } else { turn };
        turn.run(&[shell("sleep 0.3")]);
        Tried::Look
    })
    .by_hand(move |trial| {
        trial.by_hand(&by_hand);
        trial.by_hand("git status >/dev/null 2>&1; true");
        Tried::Look
    })
}
