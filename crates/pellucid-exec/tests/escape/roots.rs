//! Roots and names that change between commands, between a decision and its use, and when no process is left to tidy
//! up.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;

use pellucid_exec::sandbox;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::ProtectionBasis;
use pellucid_exec::sandbox::Roots;
use pellucid_exec::sandbox::WantedBackend;
use rustix::fs::inotify;

use crate::checks::Check;
use crate::checks::Checked;
use crate::checks::confined;
use crate::checks::same;
use crate::checks::wait_for;
use crate::suite;
use crate::suite::Way;
use crate::suite::ourselves;
use crate::suite::workspace_write;
use crate::world::Services;
use crate::world::World;

/// Runs them; says how many failed.
pub fn run(backends: &[Backend]) -> usize {
    let checks: [(&str, Check); 9] = [
        ("a root that was missing gets no rights from a link", missing_root),
        ("a root that was replaced is refused", replaced_root),
        ("a root that is exchanged after the decision is refused", exchanged_root),
        ("what protects missing names is gone afterwards", nothing_left),
        ("and when the agent is killed", nothing_left_by_the_dead),
        ("repositories can be made", new_repositories),
        ("a repository behind a link is protected", linked_repository),
        ("what vanished fails nothing and comes back not", vanished),
        ("the home folder is protected before it is there", missing_home),
    ];
    let mut n_failed = 0;
    for backend in backends {
        for way in Way::of(*backend) {
            for (name, check) in checks {
                let name = format!("{backend} {}: {name}", way.as_str());
                match check(*backend, *way) {
                    Ok(()) => println!("ok: {name}"),
                    Err(why) => {
                        n_failed += 1;
                        println!("FAILED: {name}: {why}");
                    }
                }
            }
        }
    }
    n_failed
}

/// Projects without anything in them.
fn bare(world: &World) -> PathBuf {
    let folder = world.base.join("bare/work");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).trim().to_owned()
}

/// Runs a script under roots of a session; what it says, or why it is not run.
fn in_session(on: (Backend, Way), world: &World, session: &Roots, names: &[PathBuf], text: &str) -> String {
    let held = match session.hold(names) {
        Ok(held) => held,
        Err(error) => return error.to_string(),
    };
    let ground =
        ProtectionBasis { cwd: names[0].clone(), project_root: names[0].clone(), ..ProtectionBasis::default() };
    let confinement =
        suite::sandbox(WantedBackend::Only(on.0)).confinement(&workspace_write(false), &held, &ground).unwrap();
    let command = confinement.wrap(["sh", "-c", text].map(Into::into).to_vec(), &world.root).unwrap();
    said(&on.1.output(world, &command))
}

fn missing_root(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let work = bare(&world);
    let names = [work.clone(), work.join("cache")];
    let session = Roots::default();
    session.pin(&names);
    let text = format!("ln -s {} {} && echo linked", world.outside.display(), names[1].display());
    same("the first command", in_session((backend, way), &world, &session, &names, &text).as_str(), "linked")?;
    let text = format!("echo x > {}/new; echo x > {}/new", world.outside.display(), names[1].display());
    in_session((backend, way), &world, &session, &names, &text);
    // A later session does not follow it either.
    in_session((backend, way), &world, &Roots::default(), &names, &text);
    same("written outside", &world.outside.join("new").exists(), &false)
}

fn replaced_root(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let work = bare(&world);
    let names = [work.clone(), world.base.join("bare")];
    let session = Roots::default();
    session.pin(&names);
    let text = format!("cd {}/.. && mv work old && ln -s {} work", work.display(), world.outside.display());
    let first = in_session((backend, way), &world, &session, &names, &text);
    let text = format!("echo x > {}/new", world.outside.display());
    let second = in_session((backend, way), &world, &session, &names, &text);
    same("written outside", &world.outside.join("new").exists(), &false)?;
    // With mounts a root cannot be moved at all; Landlock has no right on the folder above only where something is spared.
    let is_refused = second.contains("is not the folder that it was");
    if is_refused == work.is_symlink() { Ok(()) } else { Err(format!("{first:?}, then {second:?}")) }
}

fn exchanged_root(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let exchanges: [&dyn Fn(&Path); 2] =
        [&|path| symlink(&world.outside, path).unwrap(), &|path| fs::create_dir(path).unwrap()];
    for exchange in exchanges {
        let work = bare(&world);
        let text = "echo x > new; echo ran";
        let command = confined(backend, &workspace_write(false), std::slice::from_ref(&work), &["sh", "-c", text]);
        fs::rename(&work, world.base.join("old")).unwrap();
        exchange(&work);
        let output = way.output(&world, &command);
        let is_refused = !output.status.success() && said(&output).contains("is not the folder that it was");
        if !is_refused {
            return Err(format!("{:?} said {:?}", output.status, said(&output)));
        }
        same("written", &(work.join("new").exists(), world.outside.join("new").exists()), &(false, false))?;
        fs::remove_dir_all(world.base.join("old")).unwrap();
        let _ = fs::remove_file(&work).or_else(|_| fs::remove_dir(&work));
    }
    Ok(())
}

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Waits until a folder is empty, as long as something happens in it.
fn wait_until_empty(folder: &Path) -> Checked {
    let changes = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&changes, folder, inotify::WatchFlags::DELETE).unwrap();
    let mut buffer = [0; 4096];
    loop {
        if entries(folder).is_empty() {
            return Ok(());
        }
        if wait_for(&changes) == 0 {
            return Err(format!("left a minute later: {:?}", entries(folder)));
        }
        let _ = rustix::io::read(&changes, &mut buffer);
    }
}

fn let_go() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(sandbox::let_go());
}

fn nothing_left(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let work = bare(&world);
    let roots = std::slice::from_ref(&work);
    let text = "ls -A; mkdir -p .codex; echo x > .codex/config.toml; echo 1 > file; rm file";
    for _ in 0..2 {
        let command =
            confined(backend, &workspace_write(false), roots, &["sh", "-c", &format!("cd {}; {text}", work.display())]);
        way.output(&world, &command);
    }
    if backend == Backend::Landlock {
        // It cannot keep the name from being taken, and makes nothing itself.
        return same("there", &entries(&work)[..], &[".codex".to_owned()][..]);
    }
    let_go();
    wait_until_empty(&work)
}

/// Two agents share a project, and each is killed while its command runs.
fn nothing_left_by_the_dead(backend: Backend, way: Way) -> Checked {
    if backend == Backend::Landlock {
        return Ok(());
    }
    let (world, _services) = Services::start();
    let work = bare(&world);
    let text =
        "echo ready; read go; mkdir -p .codex; (echo x > .codex/config.toml) 2> /dev/null; echo tried; sleep 100000";
    let start = |name: &str| {
        let mut command = Command::new(ourselves());
        command.args(["agent", backend.as_str(), way.as_str(), "--", "sh", "-c"]);
        // Each has its own, so that one that is being ended takes nothing from the other.
        let fifo = world.base.join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        command.arg(text.replace("read go", &format!("read go < {}", fifo.display())));
        let mut agent =
            world.tell(command.stdin(Stdio::null()).stdout(Stdio::piped())).current_dir(&work).spawn().unwrap();
        let mut pipe = BufReader::new(agent.stdout.take().unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        (agent, pipe, line)
    };
    let (mut first, _pipe, line) = start("first");
    same("the first", line.trim(), "ready")?;
    let (mut second, mut pipe, line) = start("second");
    same("the second", line.trim(), "ready")?;
    first.kill().unwrap();
    first.wait().unwrap();
    // The other one's names are still kept.
    fs::write(world.base.join("second"), "go\n").unwrap();
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    same("the second, later", line.trim(), "tried")?;
    let settings = work.join(".codex/config.toml").exists();
    second.kill().unwrap();
    second.wait().unwrap();
    same("settings", &settings, &false)?;
    wait_until_empty(&work)
}

fn new_repositories(backend: Backend, way: Way) -> Checked {
    if Command::new("git").arg("--version").output().is_err() {
        return Ok(());
    }
    let (world, _services) = Services::start();
    let work = bare(&world);
    let text = "export HOME=DIR XDG_CONFIG_HOME=DIR GIT_CONFIG_SYSTEM=/dev/null; set -e; cd DIR; mkdir -p t; cd t; \
        git init -q one; cd one; git config user.email a@b; git config user.name a; echo 1 > f; git add f; \
        git commit -qm 1; cd ..; git clone -q one two; cd two; git log --format=%s; git config core.editor true; cd ..; \
        rm -rf one two; cd ..; git init -q .; echo made";
    let text = text.replace("DIR", &work.display().to_string());
    let command = confined(backend, &workspace_write(false), std::slice::from_ref(&work), &["sh", "-c", &text]);
    same("said", said(&way.output(&world, &command)).as_str(), "1\nmade")?;
    let text = format!("cd {}; git config user.name evil 2> /dev/null || echo kept", work.display());
    let command = confined(backend, &workspace_write(false), std::slice::from_ref(&work), &["sh", "-c", &text]);
    same("later", said(&way.output(&world, &command)).as_str(), "kept")
}

fn linked_repository(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let work = bare(&world);
    fs::create_dir(work.join("real")).unwrap();
    fs::write(work.join("real/config"), "before\n").unwrap();
    symlink("real", work.join(".git")).unwrap();
    let text = "cd DIR; (echo x >> .git/config) 2> /dev/null; (echo x >> real/config) 2> /dev/null; \
        mv real other 2> /dev/null; cat .git/config";
    let text = text.replace("DIR", &work.display().to_string());
    let command = confined(backend, &workspace_write(false), std::slice::from_ref(&work), &["sh", "-c", &text]);
    same("said", said(&way.output(&world, &command)).as_str(), "before")
}

fn vanished(backend: Backend, way: Way) -> Checked {
    let (world, _services) = Services::start();
    let work = bare(&world);
    for name in [".git", ".codex"] {
        fs::create_dir(work.join(name)).unwrap();
    }
    let text = format!(
        "cd {}; mkdir -p .codex 2> /dev/null; (echo x > .codex/config.toml) 2> /dev/null; test -d .git || echo ran",
        work.display()
    );
    let command = confined(backend, &workspace_write(false), std::slice::from_ref(&work), &["sh", "-c", &text]);
    for name in [".git", ".codex"] {
        fs::remove_dir(work.join(name)).unwrap();
    }
    same("said", said(&way.output(&world, &command)).as_str(), "ran")?;
    let is_made = work.join(".codex/config.toml").exists();
    same("settings", &is_made, &false)?;
    // Whatever is called `.git` in a folder that every user may write, commands run.
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, work.join(".git"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let command = confined(backend, &workspace_write(false), std::slice::from_ref(&work), &["echo", "ran"]);
    same("beside a pipe", said(&way.output(&world, &command)).as_str(), "ran")
}

fn missing_home(backend: Backend, way: Way) -> Checked {
    if backend == Backend::Landlock {
        return Ok(());
    }
    let (world, _services) = Services::start();
    let work = bare(&world);
    let home = work.join("not/yet");
    let ground = ProtectionBasis {
        homes: vec![home.clone()],
        cwd: work.clone(),
        project_root: work.clone(),
        ..ProtectionBasis::default()
    };
    let roots = suite::pinned(std::slice::from_ref(&work));
    let confinement =
        suite::sandbox(WantedBackend::Only(backend)).confinement(&workspace_write(false), &roots, &ground).unwrap();
    let text = format!("mkdir -p {0} 2> /dev/null; (echo x > {0}/config.toml) 2> /dev/null; echo ran", home.display());
    let command = confinement.wrap(["sh", "-c", &text].map(Into::into).to_vec(), &work).unwrap();
    same("said", said(&way.output(&world, &command)).as_str(), "ran")?;
    same("settings", &home.exists(), &false)?;
    let_go();
    wait_until_empty(&work)
}
