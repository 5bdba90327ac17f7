//! The files that a layout begins with, read from the workspace and brought within their budgets.

use std::path::Path;
use std::sync::Arc;

use pellucid_engine::bootstrap;
use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::FileChangeKeys;
use pellucid_engine::bootstrap::FileSetLayout;
use pellucid_engine::bootstrap::LoadedFiles;
use pellucid_engine::facts::Candidate;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_workspace::bootstrap_files;
use pellucid_workspace::bootstrap_files::ExtraFiles;
use pellucid_workspace::bootstrap_files::May;

use super::shown;
use crate::gather;
use crate::gather::FactSources;

/// The files that a layout's `[bootstrap]` asks for, and what is left out of them in the slot of instructions.
pub(super) fn files(
    sources: &FactSources,
    set: &FileSetLayout,
    is_minimal: bool,
    slot: &Arc<str>,
) -> (LoadedFiles, Vec<Omission>) {
    let config = &sources.config;
    let settings = &config.prompt.bootstrap;
    let workspace = &config.folders.cwd;
    let limit = |given: Option<f64>, standard: Option<usize>| {
        let standard = standard.unwrap_or(usize::MAX);
        given.map_or(standard, |given| bootstrap::limit(&given.into(), standard))
    };
    let max = limit(settings.max_chars, set.rules.per_file);
    let total = limit(settings.total_max_chars, set.rules.total);
    let is_untrusted = config.layers().is_untrusted();
    let bounds = sources.bounds(workspace);
    let may = if is_untrusted { May::None } else { May::Within(&bounds) };

    let (standard, mut left_out) = bootstrap(sources, set, workspace, is_untrusted);
    let files = set.for_session(standard, is_minimal);
    let extra = ExtraFiles::new(set.extra.iter().chain(&settings.extra));
    let (extra, refused) = extra.load(set, workspace, &may);
    left_out.extend(refused);
    let files = set.with_extra(files, extra, is_minimal);
    let own = FileChangeKeys {
        swap: settings.swap.clone(),
        leave_out: settings.leave_out.clone(),
        add: settings.add.clone(),
    };
    let (changes, refused) = bootstrap_files::changes(&set.changes.clone().then(&own), workspace, &may);
    left_out.extend(refused);
    let (files, notes) = bootstrap::changed(files, &changes);

    let mut omissions = gather::left_out(&left_out, slot);
    omissions.extend(notes.into_iter().map(|note| Omission {
        slot: slot.clone(),
        what: note.what,
        why: note.reason.map_or(Why::SwitchedOff, |error| Why::Unusable { error }),
    }));
    let fitted = set.fit(&files, Some(max), Some(total));
    for warning in &fitted.warnings {
        tracing::warn!("{warning}");
    }
    (LoadedFiles { read: files, placed: fitted.files, limits: Some((max, total)) }, omissions)
}

/// The bootstrap files of a workspace, and those that must not be read.
fn bootstrap(
    sources: &FactSources,
    set: &FileSetLayout,
    workspace: &Path,
    is_untrusted: bool,
) -> (Vec<BootstrapFile>, Vec<Candidate>) {
    let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let place = sources.project_at.as_ref().map(|at| at.place(&real));
    let bounds = sources.bounds(workspace);
    let bounds = place.iter().fold(bounds, |bounds, place| bounds.with(place));
    let may = if is_untrusted { May::None } else { May::Within(&bounds) };
    let (mut files, mut left_out) = bootstrap_files::load(set, place.as_deref().unwrap_or(workspace), &may);
    if let Some(at) = &sources.project_at {
        for file in &mut files {
            // As it is named where the workspace is.
            let name = at.name(&file.path);
            file.path = match Path::new(&name).strip_prefix(&real) {
                Ok(below) => shown(&workspace.join(below)),
                Err(_) => name,
            };
        }
        left_out = left_out.into_iter().map(|it| at.candidate(it)).collect();
    }
    (files, left_out)
}
