//! `pack list`: the packs there are.

use std::process::ExitCode;

use pellucid_engine::pack::Pack;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_files::PackPlace;
use serde_json::json;

use super::table::table;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::start::ProgramFailure;
use crate::start::Start;

/// One row of `pack list`.
struct Listed {
    name: String,
    kind: &'static str,
    /// How many texts of it are not those of the pack beneath.
    n_own: usize,
    folder: Option<String>,
    problem: Option<String>,
}

pub fn run(shared: &Shared, as_json: bool) -> Result<ExitCode, ProgramFailure> {
    let config = Start::new(shared, &StartArgs::default())?.config;
    let home = &config.folders.home;
    let used = pack_files::find(&config.prompt.pack, home).ok();
    let mut packs: Vec<Listed> = Pack::builtin_names().into_iter().map(built_in).collect();
    let mut folders = pack_files::users(home);
    if let Some(PackPlace::Folder(folder)) = &used
        && !folders.iter().any(|(_, known)| known == folder)
    {
        folders.push((folder.to_string_lossy().into_owned(), folder.clone()));
    }
    packs.extend(folders.into_iter().map(|(name, folder)| users(name, &folder.to_string_lossy(), home)));
    let is_used = |pack: &Listed| match &used {
        Some(PackPlace::BuiltIn(name)) => pack.folder.is_none() && pack.name == *name,
        Some(PackPlace::Folder(folder)) => pack.folder.as_deref() == folder.to_str(),
        None => false,
    };
    if as_json {
        let value = packs.iter().map(|pack| {
            json!({
                "name": pack.name,
                "kind": pack.kind,
                "used": is_used(pack),
                "own_texts": pack.n_own,
                "folder": pack.folder,
                "problem": pack.problem,
            })
        });
        super::print_json(&value.collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = packs.iter().map(|pack| row(pack, is_used(pack))).collect();
    super::print(&table(&["", "pack", "kind", "own texts", "where"], &rows))?;
    Ok(ExitCode::SUCCESS)
}

fn row(pack: &Listed, is_used: bool) -> Vec<String> {
    let place = match (&pack.folder, &pack.problem) {
        (Some(folder), Some(problem)) => format!("{folder} (broken: {problem})"),
        (Some(folder), None) => folder.clone(),
        (None, _) => "in the program".to_owned(),
    };
    let mark = if is_used { "*" } else { "" };
    vec![mark.to_owned(), pack.name.clone(), pack.kind.to_owned(), pack.n_own.to_string(), place]
}

fn built_in(name: &str) -> Listed {
    let texts = Pack::builtin(name).map(|pack| pack.slot_texts()).unwrap_or_default();
    let n_own = texts.iter().filter(|slot| slot.text.is_some()).count();
    Listed { name: name.to_owned(), kind: "built in", n_own, folder: None, problem: None }
}

fn users(name: String, folder: &str, home: &std::path::Path) -> Listed {
    let (n_own, problem) = match pack_files::load(folder, home) {
        Ok(pack) => (pack.slot_texts().iter().filter(|slot| slot.is_users).count(), None),
        Err(error) => (0, Some(error.to_string())),
    };
    Listed { name, kind: "yours", n_own, folder: Some(folder.to_owned()), problem }
}
