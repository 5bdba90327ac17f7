//! A tag of another repository: its files arrive, and nothing that the repository or a setting names is run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pellucid_git::fetch;
use pellucid_git::fetch::RemoteTag;

use crate::world::World;

fn url(world: &World) -> String {
    format!("file://{}", world.work().display())
}

/// A repository with a tag, and files after it.
fn tagged(files: &[(&str, &str)]) -> World {
    let world = World::new(files);
    world.git(&["-c", "tag.gpgSign=false", "tag", "-m", "one", "v1"]);
    world.write("later.txt", "not in the tag\n");
    world.commit("second");
    world
}

pub fn files_of_a_tag_are_read() {
    let world = tagged(&[("src/a.txt", "one\n"), ("other/b.txt", "two\n")]);
    let remote = RemoteTag { url: &url(&world), tag: "v1" };
    let fetched = fetch::read(&world.own(), remote, &world.work(), &|path| path.starts_with("src")).unwrap();
    assert_eq!(fetched.commit, world.git(&["rev-parse", "v1^{commit}"]).trim());
    let files: Vec<(&Path, &[u8])> =
        fetched.files.iter().map(|file| (file.path.as_path(), file.bytes.as_slice())).collect();
    assert_eq!(files, [(Path::new("src/a.txt"), b"one\n".as_slice())]);
    let left: Vec<_> = fs::read_dir(world.top.join("agent/tmp")).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");

    let error = fetch::read(&world.own(), RemoteTag { tag: "v2", ..remote }, &world.work(), &|_| true).unwrap_err();
    assert!(error.to_string().contains("v2"), "{error}");
}

pub fn nothing_of_a_repository_or_of_settings_is_run() {
    let world = tagged(&[("a.txt", "one\n"), (".gitattributes", "* filter=evil\n")]);
    let marker = world.top.join("marker");
    let program = world.top.join("program");
    fs::write(&program, format!("#!/bin/sh\necho ran >> {}\nexec cat\n", marker.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = world.top.join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in ["reference-transaction", "post-checkout", "pre-receive", "post-index-change"] {
        fs::copy(&program, hooks.join(hook)).unwrap();
        fs::copy(&program, world.work().join(".git/hooks").join(hook)).unwrap();
    }
    let program = program.display();
    let settings = format!(
        "[core]\n\thooksPath = {}\n\tfsmonitor = {program}\n[filter \"evil\"]\n\tsmudge = {program}\n\tclean = {program}\n\
         [credential]\n\thelper = {program}\n",
        hooks.display()
    );
    fs::write(world.top.join("home/.gitconfig"), &settings).unwrap();
    let own = world.work().join(".git/config");
    fs::write(&own, fs::read_to_string(&own).unwrap() + &settings).unwrap();
    let remote = RemoteTag { url: &url(&world), tag: "v1" };
    let fetched = fetch::read(&world.own(), remote, &world.work(), &|path| path == Path::new("a.txt")).unwrap();
    assert_eq!(fetched.files[0].bytes, b"one\n");
    assert!(!marker.exists(), "{:?}", fs::read_to_string(&marker));
}

pub fn a_setting_cannot_choose_another_protocol() {
    let world = tagged(&[("a.txt", "one\n")]);
    let marker = world.top.join("marker");
    let settings =
        format!("[url \"ext::touch {} \"]\n\tinsteadOf = file:///\n[protocol]\n\tallow = always\n", marker.display());
    fs::write(world.top.join("home/.gitconfig"), settings).unwrap();
    let error =
        fetch::read(&world.own(), RemoteTag { url: &url(&world), tag: "v1" }, &world.work(), &|_| true).unwrap_err();
    assert!(error.to_string().contains("transport 'ext' not allowed"), "{error}");
    assert!(!marker.exists());
}
