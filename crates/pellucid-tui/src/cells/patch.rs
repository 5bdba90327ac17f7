//! A patch: the files with counts, and the changed lines.

use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::change::Changes;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::change::PatchApplyEnd;
use pellucid_protocol::change::PatchStatus;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use super::Folding;
use super::details;
use super::fold::FoldedOutput;
use super::heading;
use super::session::short_path;
use super::texts;
use crate::text::diff::FileDiff;

/// Lines of one file that go into the scrollback. The pager has all of them.
const LINES_MAX: usize = 300;

/// From this width on, the pager shows the old and the new lines beside each other.
const BESIDE_COLUMNS: usize = 140;

/// How changed lines are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchView {
    /// Whether the old lines are beside the new ones.
    pub is_beside: bool,
    /// Whether changes of blanks are left out.
    pub hides_blanks: bool,
    /// How many lines of one file are shown.
    pub limit: usize,
}

impl PatchView {
    /// All lines, in two columns if the terminal is wide.
    pub fn whole(columns: usize) -> Self {
        Self { is_beside: columns >= BESIDE_COLUMNS, hides_blanks: false, limit: usize::MAX }
    }

    fn draw(self, diff: &FileDiff, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let columns = canvas.columns.saturating_sub(4).max(8);
        let bare = self.hides_blanks.then(|| diff.without_blank_changes());
        let diff = bare.as_ref().unwrap_or(diff);
        match self.is_beside {
            true => diff.draw_beside(columns, &canvas.palette),
            false => diff.draw(columns, self.limit, &canvas.palette),
        }
    }
}

/// A patch that was applied, or was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchCell {
    files: Vec<PatchedFile>,
    state: PatchState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PatchedFile {
    verb: &'static str,
    name: String,
    diff: FileDiff,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatchState {
    Applied,
    Failed(FoldedOutput),
    Declined,
}

impl PatchCell {
    /// The patch with its outcome. Paths are shown relative to `folder`.
    pub fn new(end: &PatchApplyEnd, folder: Option<&Path>) -> Self {
        let state = match end.status {
            PatchStatus::Completed => PatchState::Applied,
            PatchStatus::Declined => PatchState::Declined,
            PatchStatus::Failed => {
                let why = if end.stderr.trim().is_empty() { &end.stdout } else { &end.stderr };
                PatchState::Failed(FoldedOutput::new(why))
            }
        };
        Self { files: files(&end.changes, folder), state }
    }

    /// Changes that are not applied yet, for a question about them.
    pub fn proposed(changes: &Changes, folder: Option<&Path>) -> Self {
        Self { files: files(changes, folder), state: PatchState::Applied }
    }

    /// A patch of a session file, from the text that the model wrote.
    pub fn stored(patch: &str, error: Option<&str>) -> Option<Self> {
        let files: Vec<PatchedFile> =
            sections(patch).into_iter().map(|(verb, name, diff)| PatchedFile { verb, name, diff }).collect();
        let state = error.map_or(PatchState::Applied, |error| PatchState::Failed(FoldedOutput::new(error)));
        (!files.is_empty()).then_some(Self { files, state })
    }

    /// The files and their changed lines.
    pub fn lines(&self, canvas: &CellCanvas, folding: Folding) -> Vec<Line<'static>> {
        let folded = PatchView { is_beside: false, hides_blanks: false, limit: LINES_MAX };
        let view = if folding == Folding::Folded { folded } else { PatchView::whole(canvas.columns) };
        self.viewed(view, canvas)
    }

    /// The files and their changed lines, as the view says.
    pub fn viewed(&self, view: PatchView, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let (mark, failure) = match &self.state {
            PatchState::Applied => (palette.added(), None),
            PatchState::Failed(_) => (palette.removed(), Some("Could not apply a patch:")),
            PatchState::Declined => (palette.removed(), Some("Did not apply a patch:")),
        };
        let mut out = Vec::new();
        let is_single = self.files.len() == 1 && failure.is_none();
        if let (true, [file]) = (is_single, &self.files[..]) {
            out.extend(heading(mark, file.verb, file.title(canvas), canvas));
        } else {
            let (added, removed) =
                self.files.iter().map(|it| it.diff.counts()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            let mut rest = vec![Span::raw(format!("{} files ", self.files.len()))];
            if self.files.len() == 1 {
                rest = vec![Span::raw("1 file ")];
            }
            rest.extend(counts(added, removed, canvas));
            out.extend(heading(mark, failure.unwrap_or("Edited"), rest, canvas));
        }
        for (number, file) in self.files.iter().enumerate() {
            if !is_single {
                if number > 0 {
                    out.push(Line::default());
                }
                let mut title = vec![Span::raw(format!("{} ", file.verb))];
                title.extend(file.title(canvas));
                out.push(Line::from([vec![Span::raw("  └ ")], title].concat()));
            }
            for mut line in view.draw(&file.diff, canvas) {
                line.spans.insert(0, Span::raw("    "));
                out.push(line);
            }
        }
        if let PatchState::Failed(why) = &self.state {
            out.extend(if why.is_empty() {
                texts(["the patch could not be applied"], palette.removed(), &details(), canvas)
            } else {
                why.lines(canvas, 5, if view.limit == usize::MAX { Folding::Unfolded } else { Folding::Folded })
            });
        }
        out
    }
}

impl PatchedFile {
    fn title(&self, canvas: &CellCanvas) -> Vec<Span<'static>> {
        let (added, removed) = self.diff.counts();
        let mut out = vec![Span::raw(format!("{} ", self.name))];
        out.extend(counts(added, removed, canvas));
        out
    }
}

fn counts(added: usize, removed: usize, canvas: &CellCanvas) -> Vec<Span<'static>> {
    vec![
        Span::raw("("),
        Span::styled(format!("+{added}"), canvas.palette.added()),
        Span::raw(" "),
        Span::styled(format!("-{removed}"), canvas.palette.removed()),
        Span::raw(")"),
    ]
}

fn files(changes: &Changes, folder: Option<&Path>) -> Vec<PatchedFile> {
    let name = |path: &PathBuf| short_path(path, folder, None);
    let file = |(path, change): (&PathBuf, &FileChange)| {
        let (verb, name) = match change {
            FileChange::Add { .. } => ("Added", name(path)),
            FileChange::Delete { .. } => ("Deleted", name(path)),
            FileChange::Update { move_path: Some(to), .. } => ("Edited", format!("{} → {}", name(path), name(to))),
            FileChange::Update { .. } => ("Edited", name(path)),
        };
        PatchedFile { verb, name, diff: FileDiff::of(change) }
    };
    changes.iter().map(file).collect()
}

/// The files of a patch as the model writes it, each with its lines. Their numbers are not known.
fn sections(patch: &str) -> Vec<(&'static str, String, FileDiff)> {
    const HEADS: [(&str, &str); 3] =
        [("*** Add File: ", "Added"), ("*** Update File: ", "Edited"), ("*** Delete File: ", "Deleted")];
    let mut out: Vec<(&'static str, String, String)> = Vec::new();
    for line in patch.lines() {
        let head = HEADS.iter().find_map(|(head, verb)| Some((*verb, line.strip_prefix(head)?)));
        match (head, out.last_mut()) {
            (Some((verb, name)), _) => out.push((verb, name.trim().to_owned(), String::new())),
            (None, Some((_, name, _))) if line.starts_with("*** Move to: ") => {
                *name += &format!(" → {}", line["*** Move to: ".len()..].trim());
            }
            (None, Some((_, _, body))) if !line.starts_with("***") => {
                body.push_str(line);
                body.push('\n');
            }
            _ => {}
        }
    }
    let name = |name: &str| crate::text::clean::line(name).into_owned();
    out.into_iter().map(|(verb, path, body)| (verb, name(&path), FileDiff::without_numbers(&body))).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::id::TurnId;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    fn change(path: &str, change: FileChange) -> (PathBuf, FileChange) {
        (path.into(), change)
    }

    fn end(status: PatchStatus, stderr: &str, changes: Vec<(PathBuf, FileChange)>) -> PatchApplyEnd {
        PatchApplyEnd {
            call_id: "c".to_owned(),
            turn_id: TurnId::new("t"),
            stdout: String::new(),
            stderr: stderr.to_owned(),
            success: status == PatchStatus::Completed,
            changes: changes.into_iter().collect(),
            status,
        }
    }

    #[track_caller]
    fn check_patch(end: &PatchApplyEnd, expected: &Expect) {
        expected.assert_eq(&shown(&PatchCell::new(end, Some(Path::new("/w"))).lines(&CANVAS(40), Folding::Folded)));
    }

    fn update(unified_diff: &str, move_path: Option<&str>) -> FileChange {
        FileChange::Update { unified_diff: unified_diff.to_owned(), move_path: move_path.map(PathBuf::from) }
    }

    #[test]
    fn files_counts_and_lines() {
        let edited = change("/w/a.txt", update("@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n", None));
        let added = change("/w/b.txt", FileChange::Add { content: "bee\n".to_owned() });
        check_patch(
            &end(PatchStatus::Completed, "", vec![edited.clone()]),
            &expect![[r#"
            • Edited a.txt (+1 -1)|
                1 -one|
                1 +ONE|
                2  two|
        "#]],
        );
        check_patch(
            &end(PatchStatus::Completed, "", vec![edited.clone(), added]),
            &expect![[r#"
            • Edited 2 files (+2 -1)|
              └ Edited a.txt (+1 -1)|
                1 -one|
                1 +ONE|
                2  two|
            |
              └ Added b.txt (+1 -0)|
                1 +bee|
        "#]],
        );
        let moved = change("/w/a.txt", update("@@ -1 +1 @@\n-a\n+b\n", Some("/w/sub/c.txt")));
        check_patch(
            &end(PatchStatus::Completed, "", vec![moved]),
            &expect![[r#"
            • Edited a.txt → sub/c.txt (+1 -1)|
                1 -a|
                1 +b|
        "#]],
        );
        let deleted = change("/other/d.txt", FileChange::Delete { content: "x\ny\n".to_owned() });
        check_patch(
            &end(PatchStatus::Declined, "", vec![deleted]),
            &expect![[r#"
            • Did not apply a patch: 1 file (+0 -2)|
              └ Deleted /other/d.txt (+0 -2)|
                1 -x|
                2 -y|
        "#]],
        );
        check_patch(
            &end(PatchStatus::Failed, "no such lines\n", vec![edited]),
            &expect![[r#"
            • Could not apply a patch: 1 file (+1|
              -1)|
              └ Edited a.txt (+1 -1)|
                1 -one|
                1 +ONE|
                2  two|
              └ no such lines|
        "#]],
        );
    }

    #[test]
    fn a_stored_patch_has_no_numbers() {
        let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c.txt\n@@\n-one\n+ONE\n two\n*** Add File: b.txt\n+bee\n*** End Patch";
        let cell = PatchCell::stored(patch, None).unwrap();
        expect![[r#"
            • Edited 2 files (+2 -1)|
              └ Edited a.txt → c.txt (+1 -1)|
                  -one|
                  +ONE|
                   two|
            |
              └ Added b.txt (+1 -0)|
                  +bee|
        "#]]
        .assert_eq(&shown(&cell.lines(&CANVAS(40), Folding::Folded)));
        assert_eq!(PatchCell::stored("nothing", None), None);
    }
}
