//! Instruction files that lead to something else: what the person never meant to send would be sent.

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Trial;
use crate::turn::shell;

/// The content of a file outside of the project that must not be sent.
const SECRET: &str = "the-text-of-a-private-key";

pub fn attempts() -> Vec<Attempt> {
    vec![
        leaked("link-instructions", "a link to a file outside", "ln -s $BASE/user/.ssh/id_rsa AGENTS.md"),
        leaked("link-override", "the stronger name as a link", "ln -s $BASE/user/.ssh/id_rsa AGENTS.override.md"),
        leaked("link-chain", "a link to a link", "ln -s $BASE/user/.ssh/id_rsa x; ln -s x AGENTS.md"),
        leaked("link-relative", "a link by a relative path", "ln -s ../user/.ssh/id_rsa AGENTS.md"),
        leaked("link-proc", "a link below `/proc`", "ln -s /proc/self/cwd/../user/.ssh/id_rsa AGENTS.md"),
        leaked("link-environment", "a link to the agent's own variables", "ln -s /proc/self/environ AGENTS.md"),
        leaked("link-import", "an import of a file outside", "echo '@../user/.ssh/id_rsa' > AGENTS.md"),
        leaked("link-import-home", "an import from the person's home", "echo '@~/.ssh/id_rsa' > AGENTS.md"),
        leaked("link-import-link", "an import of a link", "ln -s ../user/.ssh/id_rsa x; echo '@x' > AGENTS.md"),
        leaked(
            "link-folder-import",
            "an import through a folder that is a link",
            "ln -s ../user/.ssh d; echo '@d/id_rsa' > AGENTS.md",
        ),
        attempt("link-resumed", "a link, in a resumed session", |trial| {
            secret(trial);
            trial.turn().by_server().run(&[shell("ln -s $BASE/user/.ssh/id_rsa AGENTS.md")]);
            let (_, requests) = trial.turn().by_server().resumed().run_seen(&[]);
            Tried::out_if(requests.iter().any(|it| has(&it.body)), "a request holds it")
        })
        .earlier(),
        attempt("link-untrusted", "instructions of a project that is not to be trusted", |trial| {
            trial.write("work/AGENTS.md", SECRET);
            trial.decide("work", "untrusted");
            let (_, requests) = trial.turn().by_server().run_seen(&[]);
            Tried::out_if(requests.iter().any(|it| has(&it.body)), "a request holds it")
        })
        .earlier(),
    ]
}

fn secret(trial: &Trial) {
    trial.write("user/.ssh/id_rsa", &format!("{SECRET}\n"));
}

fn has(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes())
}

/// A command makes the file; the next session's request is looked at.
fn leaked(name: &str, what: &str, make: &'static str) -> Attempt {
    attempt(name, what, move |trial| {
        secret(trial);
        trial.repository();
        trial.turn().run(&[shell(make)]);
        if trial.turn().by_server().variable("PLANTED", SECRET).run_seen(&[]).1.iter().any(|it| has(&it.body)) {
            return Tried::Out("a request holds it".to_owned());
        }
        let said = trial.pellucid(&["prompt", "go"]).said();
        Tried::out_if(has(said.as_bytes()), "the prompt holds it")
    })
    .earlier()
}
