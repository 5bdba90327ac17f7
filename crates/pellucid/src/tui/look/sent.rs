//! Requests that the session sent: what each was made of, and what it cost.

use std::ops::ControlFlow;
use std::path::Path;

use pellucid_agent::replay;
use pellucid_agent::replay::RebuildError;
use pellucid_agent::replay::RebuiltRequest;
use pellucid_agent::replay::WantedRequest;
use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::panel::ContextPanel;
use pellucid_engine::request::Request;
use pellucid_store::read::SessionFile;
use pellucid_tui::look::report::CacheOutlook;
use pellucid_tui::look::report::LookReport;
use pellucid_tui::look::report::LookSize;
use pellucid_tui::look::report::RequestPreview;
use pellucid_tui::look::report::SentView;

use super::Ground;
use super::Looked;
use crate::context::report::known_window;
use crate::prices;
use crate::request;
use crate::style;
use crate::style::counted;
use crate::style::number;
use crate::undo::Stored;
use crate::undo::TurnFacts;

impl Ground {
    /// A request that was sent: the one of this number, or the last.
    pub(super) fn sent(&self, wanted: Option<usize>) -> Result<SentView, String> {
        let file = self.stored()?;
        let wanted = wanted.map_or(WantedRequest::Last, WantedRequest::Number);
        match replay::rebuild(&self.home, &file, wanted) {
            Ok(rebuilt) => self.sent_view(rebuilt, &file),
            // The person can step over a request whose bytes are not known.
            Err(error @ (RebuildError::NotProvable { number, .. } | RebuildError::Differs { number, .. })) => {
                let report =
                    LookReport { facts: vec![error.to_string()], outlook: CacheOutlook::Sent, ..LookReport::default() };
                let of = number_of_requests(&self.home, &file)?;
                Ok(SentView { number, of, report })
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn sent_view(&self, rebuilt: RebuiltRequest, file: &SessionFile) -> Result<SentView, String> {
        let RebuiltRequest { number, of, entry, reply, body, report, wire, .. } = rebuilt;
        let model = request::model_of(&body).map_err(|failure| failure.text().to_owned())?;
        let figures = RequestFigures::of(number, &model, &entry, reply.as_ref());
        let turn =
            Stored::of_file(self.home.clone(), file.path.clone()).ok().and_then(|stored| stored.turn(&entry.turn));
        let facts = self.sent_facts(&figures, turn.as_ref())?;
        let request = Request { segments: vec![body.into()] };
        let panel = ContextPanel::of(&report, &request, wire.reading_order());
        let view = LookReport {
            model: model.clone(),
            facts,
            size: sized(panel.bytes(), panel.tokens()),
            counted_by: report.is_counted().then(|| report.counted_by.to_string()),
            window: known_window(&model),
            groups: self.groups(&panel, None),
            outlook: CacheOutlook::Sent,
            ..LookReport::default()
        };
        self.keep_looked(Looked { model, wire, request, report, left_out: Vec::new() });
        Ok(SentView { number, of, report: view })
    }

    /// What is known of a request beside its bytes, a line for each fact.
    fn sent_facts(&self, figures: &RequestFigures, turn: Option<&TurnFacts>) -> Result<Vec<String>, String> {
        let table = prices::table(&self.home).map_err(|failure| failure.text().to_owned())?;
        let answer = CacheAnswer::of(std::slice::from_ref(figures), &table);
        let sent_at = figures.sent_at.as_deref().map_or_else(String::new, |at| format!(", sent {at}"));
        let of_turn = turn.map_or_else(String::new, |turn| format!(" in turn {}", turn.number));
        let mut facts = vec![format!("{}{of_turn}{sent_at}", figures.purpose.replace('_', " "))];
        if let Some(message) = turn.and_then(|turn| turn.message.as_deref()) {
            facts.push(format!("› {}", message.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        facts.push(match &figures.usage {
            Some(usage) => {
                let cost = answer.cost.as_ref().map_or_else(|| "price unknown".to_owned(), ToString::to_string);
                let new = usage.uncached + usage.cache_write.unwrap_or(0);
                format!(
                    "paid: {cost} for {} cached, {} new and {} answered tokens; cache {}",
                    style::thousands(usage.cached_read),
                    style::thousands(new),
                    style::thousands(usage.output),
                    figures.verdict.verdict.as_str(),
                )
            }
            None => match &figures.failure {
                Some(failure) => format!("no answer: {failure}"),
                None => "the provider did not say what it counted".to_owned(),
            },
        });
        let files = turn.map_or(&[][..], |turn| &turn.files);
        if !files.is_empty() {
            let paths: Vec<String> = files.iter().map(|path| self.path(&path.to_string_lossy())).collect();
            facts.push(format!("{} changed in this turn: {}", counted(files.len(), "file"), paths.join(", ")));
        }
        Ok(facts)
    }

    /// The bytes of a request that was sent, beside those of the one before.
    pub(super) fn sent_bytes(&self, wanted: usize) -> Result<RequestPreview, String> {
        let file = self.stored()?;
        let body = |number: usize| replay::rebuild(&self.home, &file, WantedRequest::Number(number));
        let rebuilt = body(wanted).map_err(|error| error.to_string())?;
        let before = (wanted > 1).then(|| body(wanted - 1).ok().map(|rebuilt| rebuilt.body)).flatten();
        let heading = format!(
            "{:?} request {wanted} of {}, {} bytes as they were sent ── r raw or tree, w why",
            rebuilt.wire,
            rebuilt.of,
            number(rebuilt.body.len()),
        );
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(RequestPreview { heading, body: text(rebuilt.body), last: before.map(text) })
    }
}

/// Sizes of which it is not known what they cost.
fn sized(bytes: usize, tokens: usize) -> LookSize {
    LookSize { bytes, tokens, tokens_kept: 0, cost: None }
}

fn number_of_requests(home: &Path, file: &SessionFile) -> Result<usize, String> {
    replay::walk(home, file, &mut |_| ControlFlow::Continue(())).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
