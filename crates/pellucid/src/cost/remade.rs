//! The requests of recorded sessions, made again under another setting.
//!
//! The recorded conversation is had again, first under the recorded setting. Only if every request comes out byte for byte as
//! it was sent, the files and the configuration of today are those that the session was made of, and what comes out under
//! another setting is what would have been sent.

use std::path::Path;
use std::sync::Arc;

use pellucid_agent::open::SCRIPTED;
use pellucid_agent::open::SessionPlan;
use pellucid_agent::replay::SaidSession;
use pellucid_agent::rerun;
use pellucid_agent::rerun::RerunError;
use pellucid_agent::rerun::RerunSettings;
use pellucid_agent::rerun::RerunTools;
use pellucid_agent::session::RerunRequest;
use pellucid_answers::cost::CostSetting;
use pellucid_answers::cost::CostedRequest;
use pellucid_answers::cost::ReadText;
use pellucid_answers::cost::ReadTexts;
use pellucid_answers::cost::RemadeRequest;
use pellucid_answers::cost::TokenScale;
use pellucid_engine::digest::Digest;
use pellucid_model::Script;
use pellucid_protocol::usage::TokenUsage;

use super::CostRefusal;
use super::CostedSession;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::screen::name;
use crate::start::ProgramFailure;
use crate::start::Start;

/// The requests of sessions as they would have been sent under a setting.
pub fn requests(
    shared: &Shared,
    sessions: &[CostedSession],
    setting: &CostSetting,
    texts: &mut ReadTexts,
) -> Result<Vec<RemadeRequest>, CostRefusal> {
    let mut remade = Vec::new();
    for session in sessions.iter().filter(|session| !session.requests.is_empty()) {
        let id = &session.file.meta.id;
        let unknown = |why: &dyn std::fmt::Display| {
            CostRefusal::unknown(format!("`{}` cannot be simulated for {id}: {why}", setting.name()))
        };
        let folder = Path::new(&session.file.meta.cwd);
        if !folder.is_dir() {
            let folder = folder.to_string_lossy();
            let why =
                format!("its folder {} is not here, and requests are made again with the files of it", name(&folder));
            return Err(unknown(&why));
        }
        let said = SaidSession::read(&session.home, &session.file).map_err(|error| unknown(&error))?;
        let remaking = Remaking { shared, session, said: &said };
        let plan = remaking
            .plan(Some(setting))
            .map_err(|failure| CostRefusal { text: format!("`{}`: {}", setting.name(), failure.text()), status: 2 })?;
        remaking.check(texts).map_err(|error| unknown(&error))?;
        remade.extend(remaking.under(setting, plan, texts).map_err(|error| unknown(&error))?);
    }
    Ok(remade)
}

/// Why requests are not made again.
#[derive(Debug, thiserror::Error)]
enum RemakeError {
    #[error("{}", .0.text())]
    Start(ProgramFailure),
    #[error(transparent)]
    Rerun(#[from] RerunError),
}

/// A session whose requests are made again.
struct Remaking<'a> {
    shared: &'a Shared,
    session: &'a CostedSession,
    said: &'a SaidSession,
}

impl Remaking<'_> {
    /// Fails unless every request comes out as it was sent.
    fn check(&self, texts: &mut ReadTexts) -> Result<(), RemakeError> {
        let n_said = self.said.turns.iter().map(|turn| turn.answers.len()).sum::<usize>() + self.said.summaries.len();
        let mut n_made = 0;
        let order = &self.session.order;
        let plan = self.plan(None).map_err(RemakeError::Start)?;
        let settings = RerunSettings { tools: RerunTools::Kept, compact_at: None };
        rerun::rerun(plan, &self.session.file.meta.id, self.said, settings, &mut |made| {
            n_made += 1;
            if Digest::of_body(made.request).to_string() == made.answer.body {
                return Ok(made.answer.usage);
            }
            let number = made.answer.number;
            let read = texts.of(order, &made.request.body(), made.report);
            let part = self.recorded(number).and_then(|recorded| first_difference(&recorded.read, &read));
            let part = part.unwrap_or_else(|| "settings".into());
            Err(RerunError::Unknown(format!(
                "request #{number} comes out differently with the files and the configuration of today, first in {part}"
            )))
        })?;
        if n_made == n_said {
            return Ok(());
        }
        let why = "a summary was made that would not be made with the configuration of today";
        Err(RerunError::Unknown(why.to_owned()).into())
    }

    /// The requests under a setting.
    fn under(
        &self,
        setting: &CostSetting,
        plan: SessionPlan,
        texts: &mut ReadTexts,
    ) -> Result<Vec<RemadeRequest>, RerunError> {
        let session: Arc<str> = self.session.file.meta.id.as_str().into();
        let scale = TokenScale::of(&self.session.requests);
        let settings = RerunSettings {
            tools: if *setting == CostSetting::WithoutMcp { RerunTools::None } else { RerunTools::Kept },
            compact_at: match setting {
                CostSetting::CompactAt(tokens) => Some(*tokens),
                _ => None,
            },
        };
        let order = match setting {
            CostSetting::Wire(wire) => wire.reading_order(),
            _ => &self.session.order,
        };
        let mut remade = Vec::new();
        rerun::rerun(plan, &session, self.said, settings, &mut |made: RerunRequest<'_>| {
            let number = made.answer.number;
            let read = texts.of(order, &made.request.body(), made.report);
            let model = made.frame.model().unwrap_or_default();
            let tokens = self.recorded(number).and_then(|recorded| scale.tokens(recorded, &read));
            remade.push(RemadeRequest { session: session.clone(), number, model, read });
            Ok(made.answer.usage.map(|usage| match tokens {
                Some(tokens) => TokenUsage {
                    input_tokens: tokens,
                    cached_input_tokens: usage.cached_input_tokens.min(tokens),
                    total_tokens: usage.total_tokens - usage.input_tokens + tokens,
                    ..usage
                },
                None => usage,
            }))
        })?;
        Ok(remade)
    }

    /// What a session is opened with that has the conversation again.
    fn plan(&self, setting: Option<&CostSetting>) -> Result<SessionPlan, ProgramFailure> {
        let meta = &self.session.file.meta;
        let mut shared = self.shared.clone();
        if shared.pack.is_none() {
            shared.pack = self.said.turns.first().and_then(|turn| Some(turn.terms.as_ref()?.pack.clone()));
        }
        match setting {
            Some(CostSetting::Pack(pack)) => shared.pack = Some(pack.clone()),
            Some(CostSetting::PromptMode(mode)) => shared.config.push(format!("prompt_mode=\"{}\"", mode.as_str())),
            Some(CostSetting::McpTools(offer)) => shared.config.push(format!("mcp_tools=\"{}\"", offer.as_str())),
            _ => {}
        }
        let is_scripted = meta.model_provider.as_deref() == Some(SCRIPTED);
        let turn = StartArgs {
            cd: Some(meta.cwd.clone().into()),
            provider: meta.model_provider.clone().filter(|_| !is_scripted),
            ..StartArgs::default()
        };
        let mut plan = Start::new(&shared, &turn)?.plan()?;
        if is_scripted {
            let none = Script::parse("a script without replies.jsonl", "");
            let none = none.map_err(|error| ProgramFailure::new(error.to_string()))?;
            plan.asked.provider = none.provider();
            plan.asked.provider_id = SCRIPTED.to_owned();
        }
        plan.asked.provider.wire_api = match setting {
            Some(CostSetting::Wire(wire)) => *wire,
            _ => self.session.wire.unwrap_or(plan.asked.provider.wire_api),
        };
        Ok(plan)
    }

    /// A recorded request.
    fn recorded(&self, number: usize) -> Option<&CostedRequest> {
        self.session.requests.iter().find(|request| request.figures.number == number)
    }
}

/// The first part of which a model would read something else.
fn first_difference(one: &[ReadText], two: &[ReadText]) -> Option<Arc<str>> {
    let pairs = one.iter().zip(two);
    let differs = pairs.filter(|(one, two)| one.bytes != two.bytes).map(|(one, _)| one.part.clone()).next();
    let more = || one.get(two.len()).or_else(|| two.get(one.len())).map(|text| text.part.clone());
    differs.or_else(more)
}
