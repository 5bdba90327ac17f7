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
    /// The lines that a question about changes has room for.
    pub fn asked(columns: usize) -> Self {
        Self { limit: LINES_MAX, ..Self::whole(columns) }
    }

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

    /// What is said of changes that are left out, so that nothing is missed that is not named.
    fn hidden(self, diff: &FileDiff, canvas: &CellCanvas) -> Option<Line<'static>> {
        let n_hidden = if self.hides_blanks { diff.blank_changes() } else { 0 };
        let text = format!("… {n_hidden} changed lines differ only in blanks");
        (n_hidden > 0).then(|| Line::from(Span::styled(text, canvas.palette.dim())))
    }
}

/// A patch that was applied, or was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchCell {
    files: Vec<PatchedFile>,
    state: PatchState,
}

/// What a patch does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileVerb {
    Add,
    Delete,
    Edit,
}

impl FileVerb {
    /// The word before the name of the file. What was not done, or is only asked for, must not be said to be done.
    fn word(self, is_proposed: bool) -> &'static str {
        match (self, is_proposed) {
            (Self::Add, true) => "Add",
            (Self::Add, false) => "Added",
            (Self::Delete, true) => "Delete",
            (Self::Delete, false) => "Deleted",
            (Self::Edit, true) => "Edit",
            (Self::Edit, false) => "Edited",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PatchedFile {
    verb: FileVerb,
    name: String,
    diff: FileDiff,
    /// What changed beside the lines, such as the mode of the file.
    notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatchState {
    Proposed,
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
        Self { files: files(changes, folder), state: PatchState::Proposed }
    }

    /// A patch of a session file, from the text that the model wrote.
    pub fn stored(patch: &str, error: Option<&str>) -> Option<Self> {
        let files: Vec<PatchedFile> = sections(patch)
            .into_iter()
            .map(|(verb, name, diff)| PatchedFile { verb, name, diff, notes: Vec::new() })
            .collect();
        let state = error.map_or(PatchState::Applied, |error| PatchState::Failed(FoldedOutput::new(error)));
        (!files.is_empty()).then_some(Self { files, state })
    }

    /// The changes of a work tree, from what `git diff` printed.
    pub fn of_git(diff: &str) -> Self {
        Self { files: git_files(diff), state: PatchState::Applied }
    }

    /// How many changed lines differ only in blanks.
    pub fn blank_changes(&self) -> usize {
        self.files.iter().map(|file| file.diff.blank_changes()).sum()
    }

    /// The files and their changed lines.
    pub fn lines(&self, canvas: &CellCanvas, folding: Folding) -> Vec<Line<'static>> {
        let folded = PatchView { is_beside: false, hides_blanks: false, limit: LINES_MAX };
        let view = if folding == Folding::Unfolded { PatchView::whole(canvas.columns) } else { folded };
        self.viewed(view, canvas)
    }

    /// The files and their changed lines, as the view says.
    pub fn viewed(&self, view: PatchView, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let (mark, failure) = match &self.state {
            PatchState::Proposed | PatchState::Applied => (palette.added(), None),
            PatchState::Failed(_) => (palette.removed(), Some("Could not apply a patch:")),
            PatchState::Declined => (palette.removed(), Some("Did not apply a patch:")),
        };
        let is_proposed = self.state != PatchState::Applied;
        let mut out = Vec::new();
        let is_single = self.files.len() == 1 && failure.is_none();
        if let (true, [file]) = (is_single, &self.files[..]) {
            out.extend(heading(mark, file.verb.word(is_proposed), file.title(canvas), canvas));
        } else {
            let (added, removed) =
                self.files.iter().map(|it| it.diff.counts()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            let mut rest = vec![Span::raw(format!("{} files ", self.files.len()))];
            if self.files.len() == 1 {
                rest = vec![Span::raw("1 file ")];
            }
            rest.extend(counts(added, removed, canvas));
            out.extend(heading(mark, failure.unwrap_or(FileVerb::Edit.word(is_proposed)), rest, canvas));
        }
        for (number, file) in self.files.iter().enumerate() {
            if !is_single {
                if number > 0 {
                    out.push(Line::default());
                }
                let mut title = vec![Span::raw(format!("{} ", file.verb.word(is_proposed)))];
                title.extend(file.title(canvas));
                out.push(Line::from([vec![Span::raw("  └ ")], title].concat()));
            }
            let notes = file.notes.iter().map(|note| Line::from(Span::styled(note.clone(), palette.dim())));
            let lines = notes.chain(view.draw(&file.diff, canvas)).chain(view.hidden(&file.diff, canvas));
            for mut line in lines {
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
            FileChange::Add { .. } => (FileVerb::Add, name(path)),
            FileChange::Delete { .. } => (FileVerb::Delete, name(path)),
            FileChange::Update { move_path: Some(to), .. } => {
                (FileVerb::Edit, format!("{} → {}", name(path), name(to)))
            }
            FileChange::Update { .. } => (FileVerb::Edit, name(path)),
        };
        PatchedFile { verb, name, diff: FileDiff::of(change), notes: Vec::new() }
    };
    changes.iter().map(file).collect()
}

/// The files of what `git diff` printed.
fn git_files(diff: &str) -> Vec<PatchedFile> {
    let mut out: Vec<(PatchedFile, String)> = Vec::new();
    for line in diff.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        if let Some(names) = bare.strip_prefix("diff --git ") {
            // Names with blanks cannot be separated here; the lines that follow name the file again.
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
            let file = PatchedFile {
                verb: FileVerb::Edit,
                name: shown_name(name),
                diff: FileDiff::default(),
                notes: Vec::new(),
            };
            out.push((file, String::new()));
            continue;
        }
        let Some((file, body)) = out.last_mut() else { continue };
        if !body.is_empty() || bare.starts_with("@@") {
            body.push_str(line);
        } else if bare.starts_with("new file") {
            file.verb = FileVerb::Add;
        } else if bare.starts_with("deleted file") {
            file.verb = FileVerb::Delete;
        } else if let Some(name) = bare.strip_prefix("+++ b/").or_else(|| bare.strip_prefix("--- a/")) {
            file.name = shown_name(name.trim_end_matches('\t'));
        } else if !["index ", "--- ", "+++ "].iter().any(|known| bare.starts_with(known)) {
            file.notes.push(shown_name(bare));
        }
    }
    let read = |(file, body): (PatchedFile, String)| PatchedFile { diff: FileDiff::read(&body), ..file };
    out.into_iter().map(read).collect()
}

fn shown_name(name: &str) -> String {
    crate::text::clean::line(name).into_owned()
}

/// The files of a patch as the model writes it, each with its lines. Their numbers are not known.
fn sections(patch: &str) -> Vec<(FileVerb, String, FileDiff)> {
    const HEADS: [(&str, FileVerb); 3] = [
        ("*** Add File: ", FileVerb::Add),
        ("*** Update File: ", FileVerb::Edit),
        ("*** Delete File: ", FileVerb::Delete),
    ];
    let mut out: Vec<(FileVerb, String, String)> = Vec::new();
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
    out.into_iter().map(|(verb, path, body)| (verb, shown_name(&path), FileDiff::without_numbers(&body))).collect()
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
    fn a_question_does_not_say_that_something_was_done() {
        let changes = vec![
            change("/w/a.txt", update("@@ -1 +1 @@\n-one\n+ONE\n", None)),
            change("/w/b.txt", FileChange::Add { content: "bee\n".to_owned() }),
            change("/w/c.txt", FileChange::Delete { content: "see\n".to_owned() }),
        ];
        let cell = PatchCell::proposed(&changes.into_iter().collect(), Some(Path::new("/w")));
        expect![[r#"
            • Edit 3 files (+2 -2)|
              └ Edit a.txt (+1 -1)|
                1 -one|
                1 +ONE|
            |
              └ Add b.txt (+1 -0)|
                1 +bee|
            |
              └ Delete c.txt (+0 -1)|
                1 -see|
        "#]]
        .assert_eq(&shown(&cell.lines(&CANVAS(40), Folding::Folded)));
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
                  └ Delete /other/d.txt (+0 -2)|
                    1 -x|
                    2 -y|
            "#]],
        );
        check_patch(
            &end(PatchStatus::Failed, "no such lines\n", vec![edited]),
            &expect![[r#"
                • Could not apply a patch: 1 file (+1|
                  -1)|
                  └ Edit a.txt (+1 -1)|
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

    #[test]
    fn what_git_prints_is_shown_by_file() {
        let diff = "diff --git a/a b.txt b/a b.txt\nindex 1..2 100644\n--- a/a b.txt\t\n+++ b/a b.txt\t\n@@ -1,2 +1,2 @@\n-one\n+ONE\n  two\n\\ No newline at end of file\ndiff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\ndiff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+diff --git a/x b/x\ndiff --git a/p.png b/p.png\nindex 1..2\nBinary files a/p.png and b/p.png differ\n";
        let cell = PatchCell::of_git(diff);
        expect![[r#"
            • Edited 4 files (+2 -1)|
              └ Edited a b.txt (+1 -1)|
                1 -one|
                1 +ONE|
                2   two (no line end)|
            |
              └ Edited run.sh (+0 -0)|
                old mode 100644|
                new mode 100755|
            |
              └ Added n (+1 -0)|
                1 +diff --git a/x b/x|
            |
              └ Edited p.png (+0 -0)|
                Binary files a/p.png and b/p.png differ|
        "#]]
        .assert_eq(&shown(&cell.viewed(PatchView::whole(40), &CANVAS(40))));
    }

    #[test]
    fn hidden_changes_of_blanks_are_counted() {
        let edited = update("@@ -1,3 +1,3 @@\n-  a b\n+a  b\n same\n-c\n+d\n", None);
        let cell = PatchCell::proposed(&Changes::from([change("/w/a.txt", edited)]), None);
        assert_eq!(cell.blank_changes(), 2);
        let view = PatchView { hides_blanks: true, ..PatchView::whole(40) };
        expect![[r#"
            • Edit /w/a.txt (+2 -2)|
                1  a  b|
                2  same|
                3 -c|
                3 +d|
                … 2 changed lines differ only in blanks|
        "#]]
        .assert_eq(&shown(&cell.viewed(view, &CANVAS(40))));
        let beside = PatchView { is_beside: true, ..view };
        expect![[r#"
            • Edit /w/a.txt (+2 -2)|
                1  a  b               │ 1  a  b|
                2  same               │ 2  same|
                3 -c                  │ 3 +d|
                … 2 changed lines differ only in blanks|
        "#]]
        .assert_eq(&shown(&cell.viewed(beside, &CANVAS(50))));
    }

    /// What is approved is what is read: files that differ in any byte are shown differently.
    #[test]
    fn every_byte_of_an_approved_change_is_seen() {
        let contents = [
            "a\n",
            "a",
            "a \n",
            " a\n",
            "a\u{200b}\n",
            "a\u{202e}\n",
            "a\r\nb\n",
            "a\nb\n",
            "\u{1b}[8ma\n",
            "a\n\n",
            "\u{ad}a\n",
            "",
        ];
        let mut seen = std::collections::BTreeMap::new();
        for content in contents {
            let added = FileChange::Add { content: content.to_owned() };
            let body: String = content.split_inclusive('\n').map(|line| format!("+{line}")).collect();
            let end = if content.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let edited = update(&format!("@@ -1 +1,2 @@\n-x\n{body}{end}"), None);
            for change in [added, edited] {
                let kind = matches!(change, FileChange::Add { .. });
                let cell = PatchCell::proposed(&Changes::from([("/w/f".into(), change)]), None);
                let lines = shown(&cell.viewed(PatchView::whole(80), &CANVAS(80)));
                assert_eq!(seen.insert((kind, lines.clone()), content), None, "{content:?}: {lines}");
            }
        }
    }
}
