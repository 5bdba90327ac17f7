//! Logins against a server with a login of the test kit.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::mcp::ToolFilter;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::settings::McpProtocol;
use pellucid_testkit::Iss;
use pellucid_testkit::LoginPlan;
use pellucid_testkit::MockLogin;
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::attempt::LoginAttempt;
use super::attempt::log_in_alone;
use super::store::LoginStore;
use super::store::StoredLogin;
use super::tokens::Tokens;
use super::*;
use crate::auth::tests::http_clients;
use crate::elicitation::Answering;
use crate::elicitation::Nobody;
use crate::elicitation::Person;
use crate::servers::Servers;
use crate::spec::ClientName;
use crate::spec::HttpReach;
use crate::spec::Reach;
use crate::spec::ServerSpec;

/// Nothing in a test waits longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn spec(server: &MockLogin, home: &Path) -> LoginSpec {
    LoginSpec {
        name: "wiki".to_owned(),
        url: server.url(),
        headers: BTreeMap::new(),
        home: home.to_owned(),
        client_id: None,
        client_secret: None,
        scopes: Vec::new(),
        callback_port: None,
        grant: Grant::Code,
    }
}

/// A person agrees, and pastes the address to which the browser was sent.
async fn logged_in(server: &MockLogin, spec: LoginSpec) -> Result<(), LoginError> {
    let attempt = LoginAttempt::begin(spec, &http_clients()).await?;
    let (send, pasted) = mpsc::channel(1);
    send.send(server.agree(attempt.url())).await.unwrap();
    attempt.finish_within(PATIENCE, Some(pasted), |_| {}).await
}

fn stored(spec: &LoginSpec) -> Option<StoredLogin> {
    LoginStore::in_home(&spec.home).get(&spec.name, &spec.url).unwrap()
}

/// The requests to a server: the path, and what is interesting in the query or the body.
fn requests(server: &MockLogin) -> String {
    const SHOWN: [&str; 6] =
        ["application_type", "token_endpoint_auth_method", "grant_type", "scope", "resource", "client_id"];
    let mut lines = String::new();
    for request in server.requests() {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let json: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let form = reqwest::Url::parse(&format!("x:?{query}{}", if json.is_null() { &body } else { "" })).unwrap();
        let mut shown: Vec<String> = form
            .query_pairs()
            .filter(|(name, _)| SHOWN.contains(&name.as_ref()))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let of_json = SHOWN.iter().filter_map(|name| Some(format!("{name}={}", json.get(*name)?.as_str()?)));
        shown.extend(of_json);
        let basic = request.header("authorization").filter(|it| it.starts_with("Basic ")).map(|_| " with a secret");
        let line = format!("{} {path} {}{}", request.method, shown.join(" "), basic.unwrap_or_default());
        lines.push_str(&format!("{}\n", line.trim_end()));
    }
    lines.replace(&server.issuer(), "AS")
}

/// Logs in as a plan wants, and shows the requests and what came of it.
async fn check(plan: LoginPlan, change: impl FnOnce(&mut LoginSpec), expected: &Expect) {
    let (server, home) = (MockLogin::start(plan), tempfile::tempdir().unwrap());
    let mut spec = spec(&server, home.path());
    change(&mut spec);
    let outcome = match logged_in(&server, spec.clone()).await {
        Ok(()) => {
            let login = stored(&spec).unwrap();
            let StoredLogin { client_id, scopes, issuer, refresh_token, expires_at, .. } = login;
            assert!(expires_at.is_some_and(|end| end > attempt::now() + 3_000_000));
            format!("{client_id} {scopes:?} {issuer:?} refresh: {}", refresh_token.is_some())
        }
        Err(error) => {
            assert_eq!(stored(&spec), None);
            error.to_string()
        }
    };
    let requests = requests(&server);
    expected.assert_eq(&format!("{requests}{}\n", outcome.replace(&server.issuer(), "AS")));
}

#[tokio::test]
async fn a_login_asks_for_a_token_of_the_server_alone() {
    let plan = LoginPlan { scopes_supported: &["read", "write"], offers_offline: true, ..LoginPlan::default() };
    check(
        plan,
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none scope=read write offline_access
            GET /authorize client_id=client-1 scope=read write offline_access resource=AS/mcp
            POST /token grant_type=authorization_code client_id=client-1 resource=AS/mcp
            client-1 ["read", "write", "offline_access"] Some("AS") refresh: true
        "#]],
    )
    .await;
}

#[tokio::test]
async fn scopes_of_the_refusal_are_stronger_than_those_of_the_description() {
    let plan =
        LoginPlan { challenge_scopes: Some("read"), scopes_supported: &["read", "write"], ..LoginPlan::default() };
    check(
        plan.clone(),
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none scope=read
            GET /authorize client_id=client-1 scope=read resource=AS/mcp
            POST /token grant_type=authorization_code client_id=client-1 resource=AS/mcp
            client-1 ["read"] Some("AS") refresh: true
        "#]],
    )
    .await;
    check(
        plan,
        |spec| spec.scopes = vec!["mine".to_owned()],
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none scope=mine
            GET /authorize client_id=client-1 scope=mine resource=AS/mcp
            POST /token grant_type=authorization_code client_id=client-1 resource=AS/mcp
            client-1 ["mine"] Some("AS") refresh: true
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_of_the_revision_2025_03_26_has_fixed_addresses() {
    let plan = LoginPlan { describes: false, iss: Iss::NotPromised, ..LoginPlan::default() };
    check(
        plan,
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /mcp/.well-known/oauth-protected-resource
            GET /.well-known/oauth-protected-resource
            GET /.well-known/oauth-authorization-server/mcp
            GET /.well-known/openid-configuration/mcp
            GET /mcp/.well-known/openid-configuration
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none
            GET /authorize client_id=client-1 resource=AS/mcp
            POST /token grant_type=authorization_code client_id=client-1 resource=AS/mcp
            client-1 [] None refresh: true
        "#]],
    )
    .await;
}

#[tokio::test]
async fn secrets_are_sent_as_the_token_endpoint_takes_them() {
    let plan = |methods| LoginPlan { methods, secret: Some("a secret"), ..LoginPlan::default() };
    check(
        plan(&["client_secret_basic"]),
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none
            GET /authorize client_id=client-1 resource=AS/mcp
            POST /token grant_type=authorization_code resource=AS/mcp with a secret
            client-1 [] Some("AS") refresh: true
        "#]],
    )
    .await;
    check(
        plan(&["client_secret_post"]),
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none
            GET /authorize client_id=client-1 resource=AS/mcp
            POST /token grant_type=authorization_code client_id=client-1 resource=AS/mcp
            client-1 [] Some("AS") refresh: true
        "#]],
    )
    .await;
    check(
        plan(&["none"]),
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none
            GET /authorize client_id=client-1 resource=AS/mcp
            POST /token grant_type=authorization_code client_id=client-1 resource=AS/mcp
            client-1 [] Some("AS") refresh: true
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_known_client_does_not_register() {
    let plan = LoginPlan {
        registers: false,
        methods: &["client_secret_post"],
        secret: Some("a secret"),
        ..LoginPlan::default()
    };
    let known = |spec: &mut LoginSpec| {
        spec.client_id = Some("me".to_owned());
        spec.client_secret = Some(Ok(Secret::new("a secret")));
    };
    check(
        plan.clone(),
        known,
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            GET /authorize client_id=me resource=AS/mcp
            POST /token grant_type=authorization_code client_id=me resource=AS/mcp
            me [] Some("AS") refresh: true
        "#]],
    )
    .await;
    check(plan.clone(), |_| {}, &expect![[r#"
        POST /mcp
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-authorization-server
        the authorization server registers no clients; give it a client that it knows by `client_id` in [mcp_servers.wiki.oauth]
    "#]]).await;
    let unset = |spec: &mut LoginSpec| spec.client_secret = Some(Err("MY_SECRET".to_owned()));
    check(plan, unset, &expect![[r#"
        the variable `MY_SECRET` is empty or not set; `client_secret_env_var` of [mcp_servers.wiki.oauth] says that it holds the client's secret
    "#]]).await;
}

#[tokio::test]
async fn a_document_is_the_client_id_where_it_is_fetched() {
    let document = |spec: &mut LoginSpec| spec.client_id = Some("https://me.example/client.json".to_owned());
    let plan = LoginPlan { fetches_documents: true, ..LoginPlan::default() };
    check(
        plan,
        document,
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            GET /authorize client_id=https://me.example/client.json resource=AS/mcp
            POST /token grant_type=authorization_code client_id=https://me.example/client.json resource=AS/mcp
            https://me.example/client.json [] Some("AS") refresh: true
        "#]],
    )
    .await;
    check(
        LoginPlan::default(),
        document,
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none
            GET /authorize client_id=client-1 resource=AS/mcp
            POST /token grant_type=authorization_code client_id=client-1 resource=AS/mcp
            client-1 [] Some("AS") refresh: true
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_authorization_server_that_is_another_ends_the_login() {
    check(
        LoginPlan { iss: Iss::Wrong, ..LoginPlan::default() },
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none
            GET /authorize client_id=client-1 resource=AS/mcp
            the authorization server should be AS, but names itself http://evil
        "#]],
    )
    .await;
    check(
        LoginPlan { iss: Iss::Missing, ..LoginPlan::default() },
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            POST /register application_type=native token_endpoint_auth_method=none
            GET /authorize client_id=client-1 resource=AS/mcp
            the authorization server should be AS, but does not name itself
        "#]],
    )
    .await;
    check(
        LoginPlan { issuer: Some("http://evil"), ..LoginPlan::default() },
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            GET /.well-known/oauth-authorization-server
            the authorization server should be AS/, but names itself http://evil
        "#]],
    )
    .await;
    check(
        LoginPlan { resource: Some("http://evil/mcp"), ..LoginPlan::default() },
        |_| {},
        &expect![[r#"
            POST /mcp
            GET /.well-known/oauth-protected-resource/mcp
            the server describes another resource, http://evil/mcp; a token for it is not requested
        "#]],
    )
    .await;
}

#[tokio::test]
async fn the_browser_can_return_to_the_page() {
    let (server, home) = (Arc::new(MockLogin::start(LoginPlan::default())), tempfile::tempdir().unwrap());
    let spec = spec(&server, home.path());
    let attempt = LoginAttempt::begin(spec.clone(), &http_clients()).await.unwrap();
    let address = attempt.url().to_owned();
    let finishing = attempt.finish_within(PATIENCE, None, |_| {});
    let seen = server.clone();
    let page = pellucid_tasks::Task::blocking("a browser", move || seen.log_in(&address));
    let (finished, page) = tokio::join!(finishing, page);
    finished.unwrap();
    assert!(page.unwrap().starts_with("HTTP/1.1 200 OK"));
    assert!(stored(&spec).is_some());
}

#[tokio::test]
async fn a_client_with_a_secret_needs_no_person() {
    let plan = LoginPlan {
        secret: Some("a secret"),
        methods: &["client_secret_basic"],
        scopes_supported: &["ci"],
        ..LoginPlan::default()
    };
    let (server, home) = (MockLogin::start(plan), tempfile::tempdir().unwrap());
    let mut spec = spec(&server, home.path());
    spec.grant = Grant::ClientCredentials;
    let error = log_in_alone(&spec, &http_clients()).await.unwrap_err();
    expect![
        "`grant = \"client_credentials\"` needs `client_id` and `client_secret_env_var` in [mcp_servers.wiki.oauth]"
    ]
    .assert_eq(&error.to_string());
    spec.client_id = Some("ci".to_owned());
    spec.client_secret = Some(Ok(Secret::new("a secret")));
    let tokens = Tokens::of(spec.clone(), http_clients());
    let token = tokens.current().await.unwrap().unwrap();
    assert_eq!(tokens.current().await.unwrap(), Some(token));
    assert_eq!(server.token_requests().len(), 1);
    let login = stored(&spec).unwrap();
    assert_eq!((login.client_id.as_str(), login.client_secret, login.scopes), ("ci", None, vec!["ci".to_owned()]));
    expect![[r#"
        POST /mcp
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-authorization-server
        POST /mcp
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-authorization-server
        POST /token grant_type=client_credentials scope=ci resource=AS/mcp with a secret
    "#]]
    .assert_eq(&requests(&server));
}

/// A login whose token ends soon.
async fn ending_login(plan: LoginPlan) -> (MockLogin, TempDir, LoginSpec) {
    let (server, home) = (MockLogin::start(LoginPlan { first_expires_in: 10, ..plan }), tempfile::tempdir().unwrap());
    let spec = spec(&server, home.path());
    logged_in(&server, spec.clone()).await.unwrap();
    (server, home, spec)
}

#[tokio::test]
async fn a_token_is_renewed_before_its_end_and_stored_first() {
    let (server, _home, spec) = ending_login(LoginPlan { scopes_supported: &["read"], ..LoginPlan::default() }).await;
    let old = stored(&spec).unwrap();
    let token = Tokens::of(spec.clone(), http_clients()).current().await.unwrap().unwrap();
    let new = stored(&spec).unwrap();
    assert_eq!(new.access_token, token);
    assert_ne!(new.access_token, old.access_token);
    assert_ne!(new.refresh_token, old.refresh_token);
    assert_eq!((new.client_id, new.issuer, new.scopes), (old.client_id, old.issuer, old.scopes));
    let request = server.token_requests().pop().unwrap();
    assert_eq!(request["resource"], server.url());
    assert_eq!(request["scope"], "read");
}

#[tokio::test]
async fn tokens_that_share_a_login_renew_it_once() {
    let (server, _home, spec) = ending_login(LoginPlan::default()).await;
    let asked = async || Tokens::of(spec.clone(), http_clients()).current().await.unwrap().unwrap();
    let (a, b, c) = tokio::join!(asked(), asked(), asked());
    assert!(a == b && b == c);
    assert_eq!(server.n_refreshes(), 1);
}

#[tokio::test]
async fn a_login_of_another_authorization_server_is_not_sent() {
    let (server, _home, spec) = ending_login(LoginPlan::default()).await;
    let mut login = stored(&spec).unwrap();
    login.issuer = Some("http://before".to_owned());
    login.expires_at = Some(1);
    LoginStore::in_home(&spec.home).put(&login).await.unwrap();
    assert_eq!(Tokens::of(spec, http_clients()).current().await, Ok(None));
    assert_eq!(server.n_refreshes(), 0);
}

#[derive(Debug)]
struct Browsing {
    server: Arc<MockLogin>,
    action: ElicitationAction,
    asked: Mutex<Vec<String>>,
}

impl Person for Browsing {
    fn ask(&self, request: ElicitationRequest) -> Answering {
        let address = request.message.rsplit(' ').next().unwrap().to_owned();
        self.asked.lock().unwrap().push(request.message.replace(&address, "ADDRESS"));
        let (server, action) = (self.server.clone(), self.action);
        Box::pin(async move {
            if action == ElicitationAction::Accept {
                pellucid_tasks::Task::blocking("a browser", move || server.log_in(&address)).await.unwrap();
            }
            ElicitationAnswer { action, content: Some(serde_json::json!({ "logged_in": true })) }
        })
    }
}

/// Calls the tool of a server `n` times, and shows the answers or errors.
async fn called(spec: &LoginSpec, person: Arc<dyn Person>, n: usize) -> Vec<String> {
    let login = Some(Tokens::of(spec.clone(), http_clients()));
    let reach = HttpReach { url: spec.url.clone(), bearer: None, headers: BTreeMap::new(), login };
    let server = ServerSpec {
        name: spec.name.clone(),
        reach: Ok(Reach::Http(reach)),
        is_required: false,
        startup_timeout: PATIENCE,
        tool_timeout: PATIENCE,
        tool_timeout_max: PATIENCE,
        max_message_bytes: 1 << 20,
        protocol: McpProtocol::Initialize,
        known_revision: None,
        last_listed: None,
        follow: None,
        tools: ToolFilter::default(),
    };
    let us = ClientName { name: "p".to_owned(), title: "P".to_owned(), version: "1".to_owned() };
    let (servers, _events) = Servers::start(vec![server], http_clients(), &us, &person);
    let mut answers = Vec::new();
    for _ in 0..n {
        answers.push(match servers.call("wiki", "echo", None, None).await {
            Ok(answer) => answer.content[0]["text"].as_str().unwrap().to_owned(),
            Err(failure) => failure.to_string(),
        });
    }
    servers.shut_down().await;
    answers
}

#[tokio::test]
async fn a_server_without_a_login_names_the_command() {
    let (server, home) = (MockLogin::start(LoginPlan::default()), tempfile::tempdir().unwrap());
    let answers = called(&spec(&server, home.path()), Arc::new(Nobody), 1).await;
    expect!["failed to get client: MCP client for `wiki` is not logged in: run `pellucid mcp login wiki`, or set `bearer_token_env_var` in [mcp_servers.wiki]"].assert_eq(&answers.join("\n"));
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_renewed_once() {
    let (server, home) = (MockLogin::start(LoginPlan::default()), tempfile::tempdir().unwrap());
    let spec = spec(&server, home.path());
    logged_in(&server, spec.clone()).await.unwrap();
    server.revoke_access();
    assert_eq!(called(&spec, Arc::new(Nobody), 2).await, ["pong", "pong"]);
    assert_eq!(server.n_refreshes(), 1);
    server.revoke_all();
    let answers = called(&spec, Arc::new(Nobody), 1).await;
    assert!(answers[0].contains("run `pellucid mcp login wiki`"), "{answers:?}");
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_asks_a_person_or_names_the_command() {
    let plan = LoginPlan { scopes_supported: &["read"], tool_scope: Some("write"), ..LoginPlan::default() };
    let (server, home) = (Arc::new(MockLogin::start(plan)), tempfile::tempdir().unwrap());
    let spec = spec(&server, home.path());
    logged_in(&server, spec.clone()).await.unwrap();
    let person = |action| Arc::new(Browsing { server: server.clone(), action, asked: Mutex::default() });
    let answers = called(&spec, Arc::new(Nobody), 1).await;
    expect!["tools/call failed: the login at the MCP server `wiki` does not cover this; run `pellucid mcp login wiki --scopes read,write`"].assert_eq(&answers.join("\n"));
    let refusing = person(ElicitationAction::Decline);
    assert_eq!(called(&spec, refusing.clone(), 3).await, [&*answers[0], &*answers[0], &*answers[0]]);
    assert_eq!(refusing.asked.lock().unwrap().len(), 1, "a person who declines is not asked again");
    server.change(|plan| plan.iss = Iss::Wrong);
    let failing = person(ElicitationAction::Accept);
    assert_eq!(called(&spec, failing.clone(), 3).await, [&*answers[0], &*answers[0], &*answers[0]]);
    assert_eq!(failing.asked.lock().unwrap().len(), 2, "a person is asked twice at most");
    server.change(|plan| plan.iss = Iss::Right);
    let agreeing = person(ElicitationAction::Accept);
    assert_eq!(called(&spec, agreeing.clone(), 2).await, ["pong", "pong"]);
    expect![[r#"["The MCP server `wiki` needs a login. Open this address in a browser: ADDRESS"]"#]]
        .assert_eq(&format!("{:?}", agreeing.asked.lock().unwrap()));
    assert_eq!(stored(&spec).unwrap().scopes, ["read", "write"]);
}

#[tokio::test]
async fn errors_repeat_no_secret_of_a_login() {
    let plan = LoginPlan {
        marker: "planted",
        secret: Some("planted-secret"),
        methods: &["client_secret_post"],
        repeats_secrets: true,
        ..LoginPlan::default()
    };
    let (server, _home, mut spec) = ending_login(plan).await;
    let mut said = vec![format!("{:?}", stored(&spec)), format!("{:?}", Tokens::of(spec.clone(), http_clients()))];
    server.revoke_all();
    said.extend(called(&spec, Arc::new(Nobody), 1).await);
    let tokens = Tokens::of(spec.clone(), http_clients());
    let token = stored(&spec).unwrap().access_token;
    said.push(tokens.renewed(Some(&token)).await.unwrap_err().to_string());
    server.change(|plan| plan.secret = Some("another"));
    spec.client_id = Some("me".to_owned());
    spec.client_secret = Some(Ok(Secret::new("planted-other")));
    said.push(logged_in(&server, spec.clone()).await.unwrap_err().to_string());
    spec.grant = Grant::ClientCredentials;
    said.push(log_in_alone(&spec, &http_clients()).await.unwrap_err().to_string());
    let said = said.join("\n");
    assert!(!said.contains("planted"), "{said}");
    assert!(said.contains("[secret]"), "{said}");
}
