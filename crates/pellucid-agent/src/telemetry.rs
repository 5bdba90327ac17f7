//! Telemetry of sessions: hands what happens to the observer of `pellucid-telemetry`, and its records to the exporter.
//!
//! This is the one place for all clients: events are observed where session files keep them (`log`), requests, replies
//! and calls where the record keeps them (`sent`). A session whose configuration exports nothing has no observer.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_engine::digest::RequestDigest;
use pellucid_engine::prices::PriceTable;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::telemetry::TelemetrySettings;
use pellucid_store::redact::Redactor;
use pellucid_store::requests::entry::ReplyEntry;
use pellucid_telemetry::exporter;
use pellucid_telemetry::exporter::CLOSING_TIME;
use pellucid_telemetry::exporter::Exporter;
use pellucid_telemetry::facts::ObservedCall;
use pellucid_telemetry::facts::ObservedReply;
use pellucid_telemetry::facts::RequestDetails;
use pellucid_telemetry::facts::RequestFacts;
use pellucid_telemetry::facts::RunFacts;
use pellucid_telemetry::facts::SessionFacts;
use pellucid_telemetry::facts::SettingsFacts;
use pellucid_telemetry::observer::Blanks;
use pellucid_telemetry::observer::Observer;
use pellucid_telemetry::otlp::RecordSource;
use pellucid_telemetry::record::Nanoseconds;
use pellucid_telemetry::resource;
use pellucid_telemetry::resource::HostSystem;
use pellucid_telemetry::trace::SpanContext;
use pellucid_tools::notes::NotedCall;
use pellucid_workspace::os::Host;
use pellucid_workspace::terminal::terminal;

use crate::child::StartedBy;
use crate::identity::VERSION;
use crate::login;
use crate::prices;
use crate::session::Setup;

/// The telemetry of a session and of those that it starts. By default there is none.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    shared: Option<Arc<Shared>>,
    /// The span that the session works in now, for sessions that it starts.
    now: Arc<Mutex<Option<SpanContext>>>,
}

/// What a session and those that it starts have in common.
#[derive(Debug)]
struct Shared {
    settings: TelemetrySettings,
    exporter: Arc<Exporter>,
    prices: OnceLock<Option<PriceTable>>,
}

/// Observes one session.
#[derive(Debug)]
pub(crate) struct SessionTelemetry {
    observer: Observer,
    shared: Arc<Shared>,
    resource: Arc<RecordSource>,
    now: Arc<Mutex<Option<SpanContext>>>,
    home: PathBuf,
    model: String,
    /// How many bytes the requests so far leave out.
    omitted_bytes: u64,
    /// How many requests the session has recorded, if they can be counted.
    n_requests: Option<u64>,
    /// What the report of the next request says.
    details: Option<RequestDetails>,
}

impl Telemetry {
    /// The telemetry that a configuration asks for, and what of it cannot be used, for people.
    pub fn configured(config: &Config, env: &Env) -> (Self, Vec<String>) {
        let resolved = config.telemetry(env);
        let shared = resolved.settings.map(|settings| {
            let exporter = Exporter::shared(&settings);
            Arc::new(Shared { settings, exporter, prices: OnceLock::new() })
        });
        (Self { shared, now: Arc::default() }, resolved.warnings)
    }

    /// The value of `traceparent` for requests to MCP servers, if they have it: the turn that runs now.
    pub(crate) fn traceparent(&self) -> Option<String> {
        self.shared.as_ref().filter(|shared| shared.settings.propagates)?;
        Some(self.now.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.to_string())
    }

    /// Whether anything is exported.
    pub(crate) fn is_on(&self) -> bool {
        self.shared.is_some()
    }

    /// Observes a session that is made of this. `self` was the telemetry of the session that starts it, if one does.
    pub(crate) fn begin(setup: &mut Setup) -> Option<Box<SessionTelemetry>> {
        let shared = setup.telemetry.shared.clone()?;
        let parent = match setup.origin {
            StartedBy::Client(_) => None,
            StartedBy::Review | StartedBy::Memories | StartedBy::Spawned { .. } => setup.telemetry.current(),
        };
        setup.telemetry.now = Arc::default();
        let facts = facts(setup, parent);
        let Host { name, version, .. } = Host::read();
        let resource = resource::of(&facts, &shared.settings, HostSystem { name: &name, version: &version });
        let resource = shared.exporter.resource(resource);
        let model = facts.model.clone();
        let blanks = Arc::new(KnownSecrets(Redactor::new(secrets(setup))));
        let observer = Observer::new(facts, &shared.settings, now(), blanks);
        Some(Box::new(SessionTelemetry {
            observer,
            resource,
            now: setup.telemetry.now.clone(),
            home: setup.sources.config.folders.home.clone(),
            model,
            omitted_bytes: 0,
            n_requests: None,
            details: None,
            shared,
        }))
    }

    fn current(&self) -> Option<SpanContext> {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what waits to be exported, for a bounded time, and ends all exporters of the process. Gives what a person has to
/// learn.
pub fn close_all() -> Vec<String> {
    exporter::close_all(CLOSING_TIME)
}

impl SessionTelemetry {
    /// Notes an event that clients are sent.
    pub fn event(&mut self, event: &EventMessage) {
        self.observer.event(now(), event);
        self.flush();
    }

    /// A review begins, whose reviewer is opened next.
    pub fn review_begins(&mut self) {
        self.observer.review_begins(now());
        self.flush();
    }

    /// Notes how many requests the session has recorded before.
    pub fn requests_before(&mut self, n: u64) {
        self.n_requests = Some(n);
    }

    /// Whether the report of a request is wanted.
    pub fn wants_details(&self) -> bool {
        self.observer.wants_details()
    }

    /// Whether the conversation of a request is wanted.
    pub fn wants_content(&self) -> bool {
        self.observer.wants_content()
    }

    /// Notes what the report of the next request says; `omitted_bytes` are those of all that it leaves out.
    pub fn describe(&mut self, details: RequestDetails) {
        let omitted = details.omitted_bytes;
        let new = omitted.saturating_sub(self.omitted_bytes);
        self.omitted_bytes = omitted;
        self.model.clone_from(&details.model);
        self.details = Some(RequestDetails { omitted_bytes: new, ..details });
    }

    /// Notes that a request is sent, with its line in the record and the hash of that line.
    pub fn request(
        &mut self,
        purpose: &'static str,
        account: &RequestDigest,
        cache_break: Option<CacheBreak>,
        record: Option<(u64, String)>,
        sent_at: Nanoseconds,
    ) {
        if record.is_some() {
            self.n_requests = self.n_requests.map(|n| n + 1);
        }
        let facts = RequestFacts {
            purpose,
            n: self.n_requests.filter(|_| record.is_some()),
            sha256: Some(account.body.to_string()),
            bytes: Some(account.bytes as u64),
            items: Some(account.n_items as u64),
            record,
            cache_break,
            details: self.details.take(),
        };
        self.observer.request(sent_at, facts);
        self.flush();
    }

    /// Notes an event of the reply.
    pub fn reply_event(&mut self, event: &ReplyEvent, attempts: impl FnOnce() -> Vec<Option<u16>>) {
        self.observer.reply_event(now(), event, attempts);
        self.flush();
    }

    /// Notes that a reply is over; that of the request with this line in the record, or of the one under way.
    pub fn reply(&mut self, line: Option<u64>, reply: &ReplyEntry) {
        let cost = reply.split().filter(|_| self.observer.wants_cost()).and_then(|usage| {
            let table = self.shared.prices.get_or_init(|| prices::price_table(&self.home).ok()).as_ref()?;
            let price = table.of(&self.model, &Timestamp::now().to_string())?;
            let money = price.rates.cost(&usage);
            Some((money.decimal().parse().ok()?, money.currency.to_string()))
        });
        let facts = ObservedReply {
            line,
            response_id: reply.response_id.clone(),
            usage: reply.usage,
            cache_write: reply.cache_write,
            attempts: reply.attempts.clone(),
            failure: reply.failure.clone(),
            cost,
        };
        let at = reply.done_at.as_deref().and_then(nanoseconds).unwrap_or_else(now);
        self.observer.reply(at, facts);
        self.flush();
    }

    /// Notes the output of a call, before the call itself.
    pub fn output(&mut self, item: &Item) {
        self.observer.output(item);
    }

    /// Notes a tool call that is over.
    pub fn call(&mut self, noted: &NotedCall, within: Option<&str>) {
        let end = nanoseconds(&noted.ended_at).unwrap_or_else(now);
        let call = ObservedCall {
            call_id: noted.call_id.clone(),
            tool: noted.tool.clone(),
            began: nanoseconds(&noted.began_at).unwrap_or(end),
            ended: end,
            outcome: noted.outcome,
            answers: noted.answers.iter().map(|it| (it.to, it.by, it.answer)).collect(),
            runs: noted
                .runs
                .iter()
                .map(|run| RunFacts {
                    mode: run.sandbox.mode.clone(),
                    backend: run.sandbox.backend.clone(),
                    exit_code: run.exit_code,
                    is_denied: run.is_denied,
                })
                .collect(),
            within: within.map(str::to_owned),
        };
        self.observer.call(&call);
        self.flush();
    }

    /// The value of `traceparent` for requests to the model, if they have it.
    pub fn traceparent(&self) -> Option<String> {
        let context = self.observer.current().filter(|_| self.shared.settings.propagates)?;
        Some(context.to_string())
    }

    /// Takes what a person has to learn of the exporter.
    pub fn take_notices(&self) -> Vec<String> {
        self.shared.exporter.take_notices()
    }

    fn flush(&mut self) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = self.observer.turn_span();
        let records = self.observer.take();
        self.shared.exporter.export(&self.resource, records);
    }
}

/// Blanks what looks like a secret, and the keys of this session.
#[derive(Debug)]
struct KnownSecrets(Redactor);

impl Blanks for KnownSecrets {
    fn blanked(&self, text: &str) -> String {
        self.0.text(text).0
    }
}

fn secrets(setup: &Setup) -> Vec<String> {
    let (config, env) = (&setup.sources.config, &setup.sources.env);
    let named = setup.key_variables().into_iter().filter_map(|name| env.text(&name));
    let key = login::session_key(config, env).map(|key| key.reveal().to_owned());
    named.chain(key).map(|secret| secret.trim().to_owned()).collect()
}

fn facts(setup: &Setup, parent: Option<SpanContext>) -> SessionFacts {
    let (config, settings) = (&setup.sources.config, &setup.gathered.facts.settings);
    let (server_address, server_port) = server(&setup.provider);
    SessionFacts {
        session: setup.session_id.to_string(),
        originator: setup.identity.originator.clone(),
        terminal: terminal(&|name| setup.sources.env.var_os(name)),
        version: VERSION.to_owned(),
        source: source(&setup.origin).to_owned(),
        kind: kind(&setup.origin),
        parent,
        provider_name: setup.provider.name.clone(),
        provider: provider(&setup.provider_id, &setup.provider, server_address.as_deref()),
        server_address,
        server_port,
        may_use_socket: setup.provider.supports_websockets,
        model: settings.model.slug.clone(),
        settings: SettingsFacts {
            reasoning_effort: config.model.reasoning_effort.map(|effort| effort.as_str().to_owned()),
            reasoning_summary: settings.summary.as_str().to_owned(),
            context_window: config.model.context_window,
            compact_limit: config.model.auto_compact_token_limit,
            approval_policy: settings.approval_policy.as_str().to_owned(),
            sandbox_policy: settings.sandbox_policy.as_str().to_owned(),
            mcp_servers: config.tools.mcp_servers.keys().cloned().collect(),
            profile: config.profile.clone(),
        },
        pack: setup.pack.name.clone(),
        pack_sha256: setup.pack.digest().to_string(),
        is_git: config.folders.work_tree.is_some(),
    }
}

/// The client that started a session, or why a session did.
fn source(origin: &StartedBy) -> &'static str {
    match origin {
        StartedBy::Client(name) => name,
        StartedBy::Review => "subagent_review",
        StartedBy::Memories => "subagent_memory_consolidation",
        StartedBy::Spawned { .. } => "subagent_thread_spawn",
    }
}

fn kind(origin: &StartedBy) -> Option<&'static str> {
    match origin {
        StartedBy::Client(_) => None,
        StartedBy::Review => Some("review"),
        StartedBy::Memories => Some("memories"),
        StartedBy::Spawned { .. } => Some("agent"),
    }
}

/// Hosts of services, and how the conventions name these.
const PROVIDERS: [(&str, &str); 9] = [
    ("openai.com", "openai"),
    ("anthropic.com", "anthropic"),
    ("mistral.ai", "mistral_ai"),
    ("x.ai", "x_ai"),
    ("groq.com", "groq"),
    ("deepseek.com", "deepseek"),
    ("perplexity.ai", "perplexity"),
    ("googleapis.com", "gcp.gemini"),
    ("amazonaws.com", "aws.bedrock"),
];

/// The provider, as the conventions name it; those that they do not know have their id.
fn provider(id: &str, provider: &Provider, host: Option<&str>) -> String {
    if provider.is_azure() {
        return "azure.ai.openai".to_owned();
    }
    let is_of = |service: &str| {
        host.and_then(|host| host.strip_suffix(service))
            .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let known = PROVIDERS.iter().find(|(service, _)| is_of(service)).map(|(_, name)| *name);
    known.unwrap_or(if host.is_none() && provider.requires_openai_auth { "openai" } else { id }).to_owned()
}

/// The host and port of a provider's address.
fn server(provider: &Provider) -> (Option<String>, Option<u16>) {
    let Some((scheme, rest)) = provider.base_url.as_deref().and_then(|url| url.split_once("://")) else {
        return (None, None);
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port.parse().ok()),
        _ => (place, None),
    };
    let usual = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    (Some(host.to_owned()).filter(|host| !host.is_empty()), Some(port.unwrap_or(usual)))
}

/// A time of the record.
pub(crate) fn nanoseconds(text: &str) -> Option<Nanoseconds> {
    let timestamp: Timestamp = text.parse().ok()?;
    u64::try_from(timestamp.as_nanosecond()).ok()
}

fn now() -> Nanoseconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(base_url: &str) -> Provider {
        Provider { base_url: Some(base_url.to_owned()), ..Provider::default() }
    }

    #[track_caller]
    fn check_server(base_url: &str, host: Option<&str>, port: Option<u16>) {
        assert_eq!(server(&at(base_url)), (host.map(str::to_owned), port), "{base_url}");
    }

    #[test]
    fn host_and_port_come_from_the_address_without_its_password() {
        check_server("https://api.openai.com/v1", Some("api.openai.com"), Some(443));
        check_server("http://user:pass@localhost:4711/v1?x=1", Some("localhost"), Some(4711));
        check_server("http://[::1]:80", Some("[::1]"), Some(80));
        check_server("localhost", None, None);
    }

    #[test]
    fn known_services_have_the_name_of_the_conventions() {
        let name = |url: &str| provider("mine", &at(url), server(&at(url)).0.as_deref());
        assert_eq!(name("https://api.openai.com/v1"), "openai");
        assert_eq!(name("https://notopenai.com/v1"), "mine");
        assert_eq!(name("https://api.anthropic.com"), "anthropic");
        assert_eq!(provider("openai", &Provider { requires_openai_auth: true, ..Provider::default() }, None), "openai");
    }
}
