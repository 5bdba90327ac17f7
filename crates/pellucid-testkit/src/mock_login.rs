//! An MCP server with a login: the server, its authorization server and a browser, on the loopback interface.
//!
//! The authorization server checks what clients send (the verifier of PKCE, the address of the page, the client's
//! secret), rotates refresh tokens, and takes each of them once. A [`LoginPlan`] says what it gets wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::Shutdown;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread;
use std::thread::JoinHandle;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use crate::mock_server::RecordedRequest;
use crate::mock_server::read_request;

/// What the server and its authorization server do. The default is a server of the newest revision without mistakes.
#[derive(Debug, Clone)]
pub struct LoginPlan {
    /// How long the first access token is valid, in seconds. Renewed tokens are valid for an hour.
    pub first_expires_in: u64,
    /// The scopes that a refused request names.
    pub challenge_scopes: Option<&'static str>,
    /// The scopes of the server's description.
    pub scopes_supported: &'static [&'static str],
    /// Whether the authorization server has the scope `offline_access`.
    pub offers_offline: bool,
    /// The `iss` of the browser's return.
    pub iss: Iss,
    /// The resource of the server's description, if it is not the server.
    pub resource: Option<&'static str>,
    /// The issuer of the authorization server's description, if it is not the right one.
    pub issuer: Option<&'static str>,
    /// How the token endpoint takes secrets.
    pub methods: &'static [&'static str],
    /// The secret that a client gets when it registers, or that a known client has.
    pub secret: Option<&'static str>,
    /// Whether clients can register.
    pub registers: bool,
    /// Whether a client id may be the address of a document.
    pub fetches_documents: bool,
    /// Whether there are descriptions. The revision 2025-03-26 has fixed addresses for servers without.
    pub describes: bool,
    /// The scope that calls of tools need.
    pub tool_scope: Option<&'static str>,
    /// The beginning of every secret that the authorization server gives.
    pub marker: &'static str,
    /// Whether errors repeat what was sent.
    pub repeats_secrets: bool,
}

/// The `iss` of the browser's return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iss {
    /// The right one, as promised.
    Right,
    /// Another issuer than the authorization server's.
    Wrong,
    /// None, although it is promised.
    Missing,
    /// None, and none is promised.
    NotPromised,
}

impl Default for LoginPlan {
    fn default() -> Self {
        Self {
            first_expires_in: 3600,
            challenge_scopes: None,
            scopes_supported: &[],
            offers_offline: false,
            iss: Iss::Right,
            resource: None,
            issuer: None,
            methods: &["none", "client_secret_basic", "client_secret_post"],
            secret: None,
            registers: true,
            fetches_documents: false,
            describes: true,
            tool_scope: None,
            marker: "mock",
            repeats_secrets: false,
        }
    }
}

/// A running server with a login; it stops when dropped.
#[derive(Debug)]
pub struct MockLogin {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    plan: LoginPlan,
    address: SocketAddr,
    requests: Vec<RecordedRequest>,
    /// Codes with what the token request must fit.
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// Access tokens with their scopes.
    access: BTreeMap<String, String>,
    /// Refresh tokens with their scopes, each until it is spent.
    refresh: BTreeMap<String, String>,
    n_given: usize,
    n_refreshes: usize,
    connections: Vec<TcpStream>,
    is_stopping: bool,
}

/// The status, further headers and the body of an answer.
type Answer = (u16, Vec<(&'static str, String)>, Value);

impl MockLogin {
    /// Starts a server on a free port.
    ///
    /// # Panics
    ///
    /// When the loopback interface has no free port.
    pub fn start(plan: LoginPlan) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(Mutex::new(State {
            plan,
            address,
            requests: Vec::new(),
            codes: BTreeMap::new(),
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            n_given: 0,
            n_refreshes: 0,
            connections: Vec::new(),
            is_stopping: false,
        }));
        let acceptor = thread::spawn({
            let state = Arc::clone(&state);
            move || accept(&listener, &state)
        });
        Self { address, state, acceptor: Some(acceptor) }
    }

    /// The address of the MCP server.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The authorization server's name.
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.state).requests.clone()
    }

    /// The members of the requests to the token endpoint.
    pub fn token_requests(&self) -> Vec<BTreeMap<String, String>> {
        self.requests().iter().filter(|it| it.path == "/token").map(|it| members(&text(&it.body))).collect()
    }

    /// How often a token was renewed.
    pub fn n_refreshes(&self) -> usize {
        lock(&self.state).n_refreshes
    }

    /// Refuses all access tokens that were given.
    pub fn revoke_access(&self) {
        lock(&self.state).access.clear();
    }

    /// Refuses all tokens that were given.
    pub fn revoke_all(&self) {
        let mut state = lock(&self.state);
        state.access.clear();
        state.refresh.clear();
    }

    /// Changes what the server does.
    pub fn change(&self, change: impl FnOnce(&mut LoginPlan)) {
        change(&mut lock(&self.state).plan);
    }

    /// Goes to the address of a login, as a browser of a person who agrees, and returns the address to which the
    /// authorization server sends the browser.
    ///
    /// # Panics
    ///
    /// When the authorization server sends the browser nowhere.
    pub fn agree(&self, address: &str) -> String {
        let reply = get(address).expect("the authorization server answers");
        let location = reply.lines().find_map(|line| line.strip_prefix("location: "));
        location.unwrap_or_else(|| panic!("the browser is sent nowhere: {reply}")).to_owned()
    }

    /// The same, and then goes to that address. Returns the page of the client.
    ///
    /// # Panics
    ///
    /// When the client has no page.
    pub fn log_in(&self, address: &str) -> String {
        get(&self.agree(address)).expect("the client answers")
    }

    /// Writes a browser into a folder: a program that goes to an address and to the one it is sent to.
    ///
    /// # Panics
    ///
    /// When the folder cannot be written.
    pub fn browser(folder: &Path) -> PathBuf {
        let path = folder.join("browser");
        let script = r#"#!/bin/bash
get() {
  local rest=${1#http://}; local host=${rest%%/*}
  exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
  printf 'GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${rest#*/}" "$host" >&3
  cat <&3; exec 3<&-
}
location=$(get "$1" | tr -d '\r' | sed -n 's/^location: //p')
get "$location" >/dev/null
"#;
        std::fs::write(&path, script).expect("the folder can be written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("the file is ours");
        }
        path
    }
}

impl Drop for MockLogin {
    fn drop(&mut self) {
        {
            let mut state = lock(&self.state);
            state.is_stopping = true;
            for connection in &state.connections {
                let _ = connection.shutdown(Shutdown::Both);
            }
        }
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, state: &Arc<Mutex<State>>) {
    for connection in listener.incoming() {
        let Ok(connection) = connection else { continue };
        let mut held = lock(state);
        if held.is_stopping {
            return;
        }
        if let Ok(connection) = connection.try_clone() {
            held.connections.push(connection);
        }
        drop(held);
        let state = Arc::clone(state);
        thread::spawn(move || converse(&connection, &state));
    }
}

fn converse(connection: &TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some(request) = read_request(&mut reader, 0)? {
        let (status, headers, body) = {
            let mut state = lock(state);
            state.requests.push(request.clone());
            state.answer(&request)
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut head =
            format!("HTTP/1.1 {status} \r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        (&mut &*connection).write_all(format!("{head}\r\n{body}").as_bytes())?;
        if request.header("connection").is_some_and(|it| it.eq_ignore_ascii_case("close")) {
            connection.shutdown(Shutdown::Both)?;
            break;
        }
    }
    Ok(())
}

impl State {
    fn here(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn answer(&mut self, request: &RecordedRequest) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let plan = self.plan.clone();
        match (request.method.as_str(), path) {
            (_, "/mcp") => self.serve(request),
            ("GET", "/.well-known/oauth-protected-resource/mcp") if plan.describes => {
                let resource = plan.resource.map_or_else(|| self.here("/mcp"), str::to_owned);
                let mut document = json!({ "resource": resource, "authorization_servers": [self.here("")] });
                if !plan.scopes_supported.is_empty() {
                    document["scopes_supported"] = json!(plan.scopes_supported);
                }
                (200, Vec::new(), document)
            }
            ("GET", "/.well-known/oauth-authorization-server") if plan.describes => {
                (200, Vec::new(), self.description())
            }
            ("POST", "/register") if plan.registers => {
                let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                self.n_given += 1;
                let mut given =
                    json!({ "client_id": format!("client-{}", self.n_given), "redirect_uris": asked["redirect_uris"] });
                if let Some(secret) = plan.secret {
                    given["client_secret"] = secret.into();
                }
                (201, Vec::new(), given)
            }
            ("GET", "/authorize") => self.authorize(members(query)),
            ("POST", "/token") => self.token(request),
            _ => (404, Vec::new(), json!({})),
        }
    }

    fn description(&self) -> Value {
        let plan = &self.plan;
        let mut document = json!({
            "issuer": plan.issuer.map_or_else(|| self.here(""), str::to_owned),
            "authorization_endpoint": self.here("/authorize"),
            "token_endpoint": self.here("/token"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": plan.methods,
            "client_id_metadata_document_supported": plan.fetches_documents,
            "authorization_response_iss_parameter_supported": plan.iss != Iss::NotPromised,
        });
        if plan.registers {
            document["registration_endpoint"] = self.here("/register").into();
        }
        if plan.offers_offline {
            document["scopes_supported"] = json!(["offline_access"]);
        }
        document
    }

    fn authorize(&mut self, asked: BTreeMap<String, String>) -> Answer {
        self.n_given += 1;
        let code = format!("{}-code-{}", self.plan.marker, self.n_given);
        let member = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let iss = match self.plan.iss {
            Iss::Right => format!("&iss={}", self.here("")),
            Iss::Wrong => "&iss=http://evil".to_owned(),
            Iss::Missing | Iss::NotPromised => String::new(),
        };
        let location = format!("{}?code={code}&state={}{iss}", member("redirect_uri"), member("state"));
        self.codes.insert(code, asked);
        (302, vec![("location", location)], Value::Null)
    }

    fn token(&mut self, request: &RecordedRequest) -> Answer {
        let sent = members(&text(&request.body));
        let member = |name: &str| sent.get(name).map(String::as_str).unwrap_or_default();
        let refused = |error: &str, repeats: bool| {
            let description = if repeats { text(&request.body) } else { "refused".to_owned() };
            (400, Vec::new(), json!({ "error": error, "error_description": description }))
        };
        let repeats = self.plan.repeats_secrets;
        if !self.knows(request, &sent) {
            return refused("invalid_client", repeats);
        }
        let scope = match member("grant_type") {
            "authorization_code" => {
                let Some(asked) = self.codes.remove(member("code")) else { return refused("invalid_grant", repeats) };
                let asked = |name: &str| asked.get(name).cloned().unwrap_or_default();
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(member("code_verifier")));
                let fits = challenge == asked("code_challenge")
                    && ["redirect_uri", "resource"].iter().all(|name| member(name) == asked(name));
                if !fits {
                    return refused("invalid_grant", repeats);
                }
                asked("scope")
            }
            "refresh_token" => {
                self.n_refreshes += 1;
                let Some(scope) = self.refresh.remove(member("refresh_token")) else {
                    return refused("invalid_grant", repeats);
                };
                scope
            }
            "client_credentials" if self.plan.secret.is_some() => member("scope").to_owned(),
            _ => return refused("unsupported_grant_type", repeats),
        };
        self.n_given += 1;
        let (marker, n) = (self.plan.marker, self.n_given);
        let (access, refresh) = (format!("{marker}-access-{n}"), format!("{marker}-refresh-{n}"));
        self.access.insert(access.clone(), scope.clone());
        let expires_in = if self.n_refreshes == 0 { self.plan.first_expires_in } else { 3600 };
        let mut given = json!({ "access_token": access, "token_type": "Bearer", "expires_in": expires_in, "id_token": format!("{marker}-id-{n}") });
        if member("grant_type") != "client_credentials" {
            self.refresh.insert(refresh.clone(), scope.clone());
            given["refresh_token"] = refresh.into();
        }
        if !scope.is_empty() {
            given["scope"] = scope.into();
        }
        (200, Vec::new(), given)
    }

    /// Whether a client has shown the secret that it needs, in a way that the authorization server takes.
    fn knows(&self, request: &RecordedRequest, sent: &BTreeMap<String, String>) -> bool {
        let Some(secret) = self.plan.secret.filter(|_| !self.plan.methods.contains(&"none")) else { return true };
        let basic = request.header("authorization").and_then(|it| it.strip_prefix("Basic "));
        let basic = basic.and_then(|it| STANDARD.decode(it).ok()).map(|it| text(&it));
        let is_basic = basic.is_some_and(|it| it.split_once(':').is_some_and(|(_, given)| decoded(given) == secret));
        let is_post = sent.get("client_secret").is_some_and(|given| given == secret);
        is_basic && self.plan.methods.contains(&"client_secret_basic")
            || is_post && self.plan.methods.contains(&"client_secret_post")
    }

    fn serve(&self, request: &RecordedRequest) -> Answer {
        let token = request.header("authorization").and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default();
        let metadata = if self.plan.describes {
            format!(", resource_metadata=\"{}\"", self.here("/.well-known/oauth-protected-resource/mcp"))
        } else {
            String::new()
        };
        let Some(scope) = self.access.get(token) else {
            let scope = self.plan.challenge_scopes.map(|scope| format!(", scope=\"{scope}\"")).unwrap_or_default();
            let challenge = format!("Bearer realm=\"mock\"{metadata}{scope}");
            return (
                401,
                vec![("www-authenticate", challenge)],
                json!({ "sent": if self.plan.repeats_secrets { token } else { "" } }),
            );
        };
        if request.method != "POST" {
            return (405, Vec::new(), json!({}));
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "mock", "version": "1" },
            }),
            "tools/list" => json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }),
            "tools/call" => match self.plan.tool_scope {
                Some(wanted) if !scope.split(' ').any(|scope| scope == wanted) => {
                    let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{wanted}\"{metadata}");
                    return (403, vec![("www-authenticate", challenge)], json!({}));
                }
                _ => json!({ "content": [{ "type": "text", "text": "pong" }] }),
            },
            _ if message["id"].is_null() => return (202, Vec::new(), Value::Null),
            _ => {
                let error = json!({ "code": -32601, "message": "there is no such method" });
                return (200, Vec::new(), json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
            }
        };
        (200, Vec::new(), json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The members of a query or a form.
fn members(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|it| std::str::from_utf8(it).ok());
        match (bytes[at], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Asks for a page.
fn get(address: &str) -> io::Result<String> {
    let rest = address.strip_prefix("http://").unwrap_or(address);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_forms_are_decoded() {
        let members = members("a=1+2&b=%2Fx%3D&c");
        assert_eq!(members, BTreeMap::from([("a", "1 2"), ("b", "/x=")].map(|(a, b)| (a.to_owned(), b.to_owned()))));
    }

    #[test]
    fn the_server_wants_a_login_and_says_where() {
        let server = MockLogin::start(LoginPlan { challenge_scopes: Some("a b"), ..LoginPlan::default() });
        let reply = get(&server.url()).unwrap();
        assert!(reply.starts_with("HTTP/1.1 401 ") && reply.contains("scope=\"a b\""), "{reply}");
        assert!(get(&format!("{}/.well-known/oauth-authorization-server", server.issuer())).unwrap().contains("S256"));
        assert_eq!(server.requests().len(), 2);
    }
}
