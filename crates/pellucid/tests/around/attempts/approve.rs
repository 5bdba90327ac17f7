//! A person is asked about a command that is to run outside of the sandbox; what it would run is changed
//! while the person looks.

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::person::Person;
use crate::trial::Backend;
use crate::trial::Trial;
use crate::turn::Call;
use crate::turn::shell;
use crate::turn::terminal;

/// What the person sees: a script that leaves another mark than the one that is put in its place.
const SEEN: &str = "echo as seen > $WORK/seen";

pub fn attempts() -> Vec<Attempt> {
    let evil = "printf '#!/bin/sh\\ntouch $OUT/pwned\\n' > b.new; chmod +x b.new; mv b.new build.sh";
    vec![
        swapped("swap-terminal", "the script, by a command in a terminal", evil, true, "./build.sh"),
        swapped("swap-background", "the script, by a command in the background", evil, false, "./build.sh")
            // With the others it ends with its command.
            .only_on(&[Backend::Namespaces]),
        swapped(
            "swap-in-place",
            "the script's text, in the same file",
            "printf '#!/bin/sh\\ntouch $OUT/pwned\\n' > build.sh",
            true,
            "./build.sh",
        ),
        swapped("swap-link", "where a link to the script leads", "ln -sf evil build", true, "./build"),
        swapped("swap-folder", "the folder of the script", "mv bin bin.old; mv bin.evil bin", true, "./bin/run.sh"),
        swapped(
            "swap-argument",
            "a file that the command reads",
            "printf 'touch $OUT/pwned\\n' > steps",
            true,
            "sh ./steps",
        ),
        swapped(
            "swap-make",
            "a file that the command's program reads by itself",
            "printf 'all:\\n\\ttouch $OUT/pwned\\n' > Makefile",
            true,
            "make",
        ),
        swapped(
            "swap-twice",
            "the script, and back again",
            "i=0; while [ $i -lt 50 ]; do i=$((i+1)); printf '#!/bin/sh\\ntouch $OUT/pwned\\n' > build.sh; done",
            true,
            "./build.sh",
        ),
        attempt("swap-while-running", "a script that the running one calls later", |trial| {
            prepare(trial);
            trial.program(
                "work/build.sh",
                "i=0; while [ ! -e $WORK/swapped ] && [ $i -lt 20 ]; do i=$((i+1)); sleep 0.05; done; ./step.sh",
            );
            trial.program("work/step.sh", SEEN);
            let swap =
                "printf '#!/bin/sh\\ntouch $OUT/pwned\\n' > s.new; chmod +x s.new; mv s.new step.sh; touch swapped";
            decide(trial, terminal(&waiting(swap)), "./build.sh");
            Tried::Look
        })
        .earlier(),
        attempt("swap-earlier-turn", "the script, by a terminal of the turn before", |trial| {
            prepare(trial);
            let swap = terminal(&waiting("printf '#!/bin/sh\\ntouch $OUT/pwned\\n' > build.sh"));
            let mut person = Person::start(trial, &[vec![swap], vec![escalated("./build.sh", true)]], &[]);
            person.turn();
            person.turn();
            Tried::Look
        })
        .earlier(),
    ]
}

/// Waits until the person looks, then swaps.
fn waiting(swap: &str) -> String {
    format!("i=0; while [ ! -e looking ] && [ $i -lt 1000 ]; do i=$((i+1)); sleep 0.01; done; {swap}")
}

fn prepare(trial: &Trial) {
    trial.program("work/build.sh", SEEN);
    trial.program("work/good", SEEN);
    trial.program("work/evil", "touch $OUT/pwned");
    trial.link("work/build", "good");
    trial.program("work/bin/run.sh", SEEN);
    trial.program("work/bin.evil/run.sh", "touch $OUT/pwned");
    trial.write("work/steps", SEEN);
    trial.write("work/Makefile", "all:\n\ttouch seen\n");
}

/// A command for which the model asks to be let out: in a terminal, or plain.
fn escalated(command: &str, is_terminal: bool) -> Call {
    let (name, key) = if is_terminal { ("exec_command", "cmd") } else { ("shell_command", "command") };
    let mut args = serde_json::json!({ "login": false, "sandbox_permissions": "require_escalated",
        "justification": "to build" });
    args[key] = command.into();
    Call::Tool(name.to_owned(), args)
}

fn decide(trial: &Trial, before: Call, command: &str) {
    let is_terminal = matches!(before, Call::Terminal(_));
    let calls = vec![before, escalated(command, is_terminal)];
    Person::start(trial, &[calls], &[]).turn();
}

fn swapped(name: &str, what: &str, swap: &'static str, is_terminal: bool, command: &'static str) -> Attempt {
    attempt(name, what, move |trial| {
        prepare(trial);
        let waiting = waiting(swap);
        let call = if is_terminal {
            terminal(&waiting)
        } else {
            shell(&format!("(setsid sh -c '{}' >/dev/null 2>&1 &); echo started", waiting.replace('\'', "'\\''")))
        };
        decide(trial, call, command);
        Tried::Look
    })
    .earlier()
}
