//! Confined processes are stopped while something unconfined is decided or runs, and continue afterwards.
//!
//! Each check leaves confined processes running that change files as fast as they can, pauses them, and has an
//! unconfined process look at the files again and again: what it sees must not change. Then they continue.

use std::ffi::OsString;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use pellucid_exec::pause::SandboxPause;
use pellucid_exec::process;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::WantedBackend;
use pellucid_exec::terminal::ProcessStreams;
use pellucid_exec::terminal::Terminal;
use pellucid_exec::terminal::Terminals;
use tokio::runtime::Runtime;

use crate::checks::Checked;
use crate::checks::Line;
use crate::checks::same;
use crate::suite::ourselves;
use crate::suite::pinned;
use crate::suite::sandbox;
use crate::suite::workspace_write;
use crate::world::Services;
use crate::world::World;

/// How often is looked whether something changes.
const LOOKS: usize = 20;

/// How long is waited for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

type Check = fn(Backend) -> Checked;

/// Runs them on a backend; each with its name.
pub fn run(backend: Backend, tell: &mut impl FnMut(&str, Checked)) {
    let checks: [(&str, Check); 13] = [
        ("what was looked at is what runs", swap),
        ("of two pauses the last one counts", two_pauses),
        ("fifty processes stand still and go on", fifty),
        ("who starts others without end is paused or ended", without_end),
        ("who starts others apart without end is paused or ended", without_end_apart),
        ("a pause that is not waited for is none", not_waited_for),
        ("no command is started in a pause", started_later),
        ("a command elsewhere continues", elsewhere),
        ("what is paused ends with the agent", killed_agent),
        ("what a command leaves running is paused too", left_running),
        ("what a person stopped stays so", stopped_before),
        ("a command that is ended leaves no process", ended),
        ("what is typed waits, and who looks is answered", typed),
    ];
    for (name, check) in checks {
        tell(&format!("{backend}: {name}"), check(backend));
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A command that may write in a world.
fn command(backend: Backend, world: &World, text: &str) -> process::Command {
    let roots = pinned(std::slice::from_ref(&world.root));
    let confinement =
        sandbox(WantedBackend::Only(backend)).confinement(&workspace_write(false), &roots, &world.ground()).unwrap();
    let argv = ["sh", "-c", text].map(OsString::from).to_vec();
    let argv = confinement.wrap(argv, &world.root).unwrap();
    let argv = argv.into_iter().map(|word| word.into_string().unwrap()).collect();
    process::Command { argv, arg0: None, cwd: world.root.clone(), env: std::env::vars_os().collect() }
}

async fn start(backend: Backend, world: &World, text: &str) -> Terminal {
    Terminal::start(&command(backend, world, text), ProcessStreams::Pipes).await.unwrap()
}

/// All that is written in a folder of a world, as an unconfined process sees it.
fn seen(world: &World) -> String {
    let looking = Command::new("sh").args(["-c", "cat src/n*"]).current_dir(&world.root).output().unwrap();
    String::from_utf8_lossy(&looking.stdout).into_owned()
}

/// Waits until something is so that others bring about.
async fn until(what: &str, is_so: impl Fn() -> bool) -> Checked {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if is_so() {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    Err(format!("it does not come about: {what}"))
}

/// Whether nothing changes over several looks.
fn stands_still(world: &World) -> Checked {
    let before = seen(world);
    for _ in 0..LOOKS {
        same("seen in a pause", &seen(world), &before)?;
    }
    Ok(())
}

async fn goes_on(world: &World) -> Checked {
    let before = seen(world);
    until("it continues", || seen(world) != before).await
}

/// Rewrites a file for ever, with a number that grows.
fn counting(file: &str) -> String {
    format!("i=0; while :; do i=$((i+1)); echo $i > src/tmp-{file}; mv src/tmp-{file} src/{file}; done")
}

fn paused(world: &World) -> impl Future<Output = SandboxPause> + use<> {
    let places = vec![world.root.clone()];
    async { SandboxPause::begin(places).await.unwrap() }
}

fn swap(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let text = "while :; do i=$((i+1)); echo \"echo $i\" > src/new; mv src/new src/n-build.sh; done";
        let _terminal = start(backend, &world, text).await;
        until("it begins", || world.root.join("src/n-build.sh").exists()).await?;
        for _ in 0..3 {
            let pause = paused(&world).await;
            same("ended", &pause.n_ended(), &0)?;
            // What a person looks at, and what runs after that.
            let shown = fs::read_to_string(world.root.join("src/n-build.sh")).unwrap();
            stands_still(&world)?;
            let ran = Command::new("sh").arg("src/n-build.sh").current_dir(&world.root).output().unwrap();
            let said = String::from_utf8_lossy(&ran.stdout).into_owned();
            same("what runs", &format!("echo {said}"), &shown)?;
            drop(pause);
            goes_on(&world).await?;
        }
        Ok(())
    })
}

fn two_pauses(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let _terminal = start(backend, &world, &counting("n")).await;
        until("it begins", || world.root.join("src/n").exists()).await?;
        let (first, second) = (paused(&world).await, paused(&world).await);
        drop(first);
        stands_still(&world)?;
        drop(second);
        goes_on(&world).await
    })
}

fn fifty(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let mut terminals = Vec::new();
        for terminal in 0..5 {
            let each = "i=0; while :; do i=$((i+1)); echo $i > src/t-$1; mv src/t-$1 src/n-$1; sleep 0.02; done";
            let all = format!("for n in 0 1 2 3 4 5 6 7 8 9; do setsid sh -c '{each}' sh {terminal}$n & done; wait");
            terminals.push(start(backend, &world, &all).await);
        }
        let n_begun = || seen(&world).lines().count();
        until("all begin", || n_begun() == 50).await?;
        let pause = paused(&world).await;
        same("ended", &pause.n_ended(), &0)?;
        stands_still(&world)?;
        drop(pause);
        let values = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let before = values(&seen(&world));
        until("each continues", || {
            let now = values(&seen(&world));
            now.len() == 50 && now.iter().zip(&before).all(|(now, before)| now != before)
        })
        .await
    })
}

/// A process that is gone as soon as it has started the next, which is never there when it is looked for.
fn without_end(backend: Backend) -> Checked {
    starts_others(backend, "hop() { echo $1 > src/n; hop $(($1+1)) & }; hop 1; hop 1000000; sleep 100000")
}

/// The same, with each process in a separate group and session.
fn without_end_apart(backend: Backend) -> Checked {
    let hop = "echo $2 > src/n; setsid sh -c \"$1\" sh \"$1\" $(($2+1)) & ";
    starts_others(backend, &format!("hop='{hop}'; setsid sh -c \"$hop\" sh \"$hop\" 1; sleep 100000"))
}

fn starts_others(backend: Backend, text: &str) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let _terminal = start(backend, &world, text).await;
        until("it begins", || world.root.join("src/n").exists()).await?;
        // Both are correct: all processes are stopped, or ended.
        let _pause = paused(&world).await;
        stands_still(&world)
    })
}

fn not_waited_for(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let _terminal = start(backend, &world, &counting("n")).await;
        until("it begins", || world.root.join("src/n").exists()).await?;
        for n_polls in 0..20 {
            let mut beginning = Box::pin(SandboxPause::begin(vec![world.root.clone()]));
            for _ in 0..n_polls {
                let polled = std::future::poll_fn(|context| {
                    std::task::Poll::Ready(Future::poll(beginning.as_mut(), context).is_ready())
                });
                if polled.await {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(beginning);
            goes_on(&world).await?;
        }
        Ok(())
    })
}

fn started_later(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let pause = paused(&world).await;
        let command = command(backend, &world, "echo begun > src/n");
        let running = tokio::spawn(async move { process::run(&command, None, None).await });
        for _ in 0..LOOKS {
            tokio::task::yield_now().await;
            same("seen in a pause", seen(&world).as_str(), "")?;
        }
        drop(pause);
        running.await.unwrap().unwrap();
        same("seen afterwards", seen(&world).as_str(), "begun\n")
    })
}

fn elsewhere(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let _terminal = start(backend, &world, &counting("n")).await;
        until("it begins", || world.root.join("src/n").exists()).await?;
        let _pause = SandboxPause::begin(vec![world.outside.clone()]).await.map_err(|error| error.to_string())?;
        goes_on(&world).await
    })
}

/// Plays an agent that is ended while a person decides.
pub fn be_paused_agent(backend: &str) -> ExitCode {
    let (backend, world) = (Backend::from_word(backend).unwrap(), World::told());
    runtime().block_on(async {
        let text = Line::held_by("setsid sleep 100000 & echo 1 > src/n; sleep 100000");
        let _terminal = start(backend, &world, &text).await;
        until("it begins", || world.root.join("src/n").exists()).await.unwrap();
        let _pause = paused(&world).await;
        println!("paused");
        // Runs until the parent ends it.
        loop {
            std::thread::park();
        }
    })
}

fn killed_agent(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    let line = Line::new(&world);
    let mut command = Command::new(ourselves());
    command.args(["paused-agent", backend.as_str()]);
    let mut agent = world.tell(command.stdin(Stdio::null()).stdout(Stdio::piped())).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(agent.stdout.take().unwrap()).read_line(&mut first).unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    same("the first line", first.trim(), "paused")?;
    line.is_let_go()?;
    let bare = world.root.join("mid/bare");
    runtime().block_on(until("nothing is left behind", || fs::read_dir(&bare).unwrap().count() == 0))
}

/// Checks a backend that lets processes continue after their command.
fn left_running(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let text = format!("({}) > /dev/null 2>&1 &", counting("n"));
        process::run(&command(backend, &world, &text), None, None).await.map_err(|error| error.to_string())?;
        if backend != Backend::Namespaces {
            return stands_still(&world);
        }
        until("it begins", || world.root.join("src/n").exists()).await?;
        let pause = paused(&world).await;
        stands_still(&world)?;
        drop(pause);
        goes_on(&world).await
    })
}

fn stopped_before(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        // The second of the two continues for ever, the first not at all.
        let text = format!(
            "sh -c 'echo 1 > src/n-1; kill -STOP $$; echo 2 > src/n-1' & while ! grep -q 'T (stopped)' \
             /proc/$!/status; do :; done; {}",
            counting("n-2")
        );
        let _terminal = start(backend, &world, &text).await;
        until("both begin", || world.root.join("src/n-2").exists()).await?;
        drop(paused(&world).await);
        goes_on(&world).await?;
        same("the first", fs::read_to_string(world.root.join("src/n-1")).unwrap().as_str(), "1\n")
    })
}

fn ended(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    let line = Line::new(&world);
    runtime().block_on(async {
        let text = Line::held_by("setsid setsid sleep 100000 & echo 1 > src/n; sleep 100000");
        let terminal = start(backend, &world, &text).await;
        until("it begins", || world.root.join("src/n").exists()).await?;
        drop(terminal);
        // The task that watches the process notices this.
        until("its end", || line.is_over()).await
    })
}

fn typed(backend: Backend) -> Checked {
    let (world, _services) = Services::start();
    runtime().block_on(async {
        let command = command(backend, &world, "echo 1 > src/n; read word; echo got-$word");
        let terminal = Terminal::start(&command, ProcessStreams::Terminal).await.map_err(|error| error.to_string())?;
        until("it begins", || world.root.join("src/n").exists()).await?;
        let terminals = Arc::new(Terminals::default());
        let reservation = terminals.reserve();
        let number = reservation.number();
        terminals.keep(reservation, terminal, String::new());
        let pause = paused(&world).await;
        let write = |text: &'static str, limit| terminals.write(number, text, limit);
        let written = write("hi\n", Duration::ZERO).await.map_err(|error| error.to_string())?;
        same("the end in a pause", &written.chunk.exit_code, &None)?;
        same("the answer in a pause", &written.chunk.text().contains("got-"), &false)?;
        drop(pause);
        let written = write("", PATIENCE).await.map_err(|error| error.to_string())?;
        same("the end", &written.chunk.exit_code, &Some(0))?;
        same("the answer", &written.chunk.text().contains("got-hi"), &true)
    })
}
