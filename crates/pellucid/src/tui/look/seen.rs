//! What the model has been shown in the session, as a page.

use pellucid_agent::session::SessionCopy;

use super::Ground;
use crate::context::seen::Seen;
use crate::context::seen::SeenPlace;
use crate::undo::Stored;

impl Ground {
    /// What the model has been shown, as lines for a page.
    pub(super) fn seen(&self, copy: SessionCopy) -> Result<String, String> {
        Ok(self.seen_of(copy)?.to_text(&self.folder))
    }

    /// What the model has been shown.
    pub(super) fn seen_of(&self, copy: SessionCopy) -> Result<Seen, String> {
        let items = copy.items();
        let coming = copy.next(None, &[])?;
        let stored = self.stored().ok().and_then(|file| Stored::of_file(self.home.clone(), file.path).ok());
        let (home, folder, session) = (self.home.clone(), self.folder.clone(), self.session_id.clone());
        let place = SeenPlace { home, folder, session };
        Ok(place.collect(&items, &coming.next, coming.session.reading_order(), stored.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use pellucid_tui::look::report::LookAnswer;
    use pellucid_tui::look::report::LookCall;
    use serde_json::json;

    use crate::tui::look::tests::Desk;
    use crate::tui::look::tests::Talk;
    use crate::tui::look::tests::answer;
    use crate::tui::look::tests::draft;

    async fn page(talk: &mut Talk<'_>) -> Vec<String> {
        match talk.answer(LookCall::Seen).await {
            LookAnswer::Page { lines, .. } => lines.into_iter().filter(|line| line.contains("(cat a)")).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_file_that_was_shown_is_old_once_it_changed() {
        let mut desk = Desk::new("codex", "responses");
        desk.config.push("sandbox_mode=\"danger-full-access\"".to_owned());
        desk.config.push("approval_policy=\"never\"".to_owned());
        desk.files.write("work/a", "1\n2\n3\n");
        let mut talk = desk.open(None).await;
        let arguments = json!({ "cmd": "cat a", "login": false }).to_string();
        let call = json!({ "type": "function_call", "id": "fc", "call_id": "c1", "name": "exec_command", "arguments": arguments });
        talk.say(&draft("look"), vec![call, answer("Seen.")]).await;
        assert_eq!(page(&mut talk).await, ["  a:1-3  current  (cat a)"]);
        desk.files.write("work/a", "1\nzwei\n3\n");
        assert_eq!(page(&mut talk).await, ["! a  old: the file changed since  (cat a)"]);
        std::fs::remove_file(desk.files.path("work").join("a")).unwrap();
        assert_eq!(page(&mut talk).await, ["! a  old: the file is gone  (cat a)"]);
        talk.end().await;
    }

    #[tokio::test]
    async fn rows_of_files_say_whether_the_model_has_the_current_text() {
        let mut desk = Desk::new("codex", "responses");
        desk.config.push("sandbox_mode=\"danger-full-access\"".to_owned());
        desk.config.push("approval_policy=\"never\"".to_owned());
        desk.files.write("work/a", "1\n2\n3\n");
        let mut talk = desk.open(None).await;
        let arguments = json!({ "cmd": "cat a", "login": false }).to_string();
        let call = json!({ "type": "function_call", "id": "fc", "call_id": "c1", "name": "exec_command", "arguments": arguments });
        talk.say(&draft("look"), vec![call, answer("Seen.")]).await;
        let row = |answer| match answer {
            LookAnswer::SeenFiles(mut files) => files.remove("a"),
            other => panic!("{other:?}"),
        };
        assert_eq!(row(talk.answer(LookCall::SeenFiles).await).as_deref(), Some("seen: lines 1-3"));
        desk.files.write("work/a", "1\nzwei\n3\n");
        assert_eq!(
            row(talk.answer(LookCall::SeenFiles).await).as_deref(),
            Some("seen, but old: the file changed since")
        );
        talk.end().await;
    }
}
