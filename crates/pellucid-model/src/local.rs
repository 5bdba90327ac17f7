//! Model servers on this machine: whether they run, are recent enough, and have the model.
//!
//! They are asked before a turn, so that the user learns what to start or to download instead of seeing a refused
//! connection. Ollama downloads a missing model itself; for LM Studio its command-line program does.
//!
//! Not here: the requests of a turn ([`crate::model`]) and which server is meant (the caller).

use std::time::Duration;

use pellucid_protocol::provider::Provider;
use reqwest::Method;
use reqwest::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

use crate::transport::Transport;

/// How long a server on this machine may take to answer a question about itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How many bytes of an answer are read.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// The first version of Ollama with the Responses API.
const OLLAMA_VERSION_MIN: Version = Version { numbers: [0, 13, 4], is_release: true };

/// A kind of local model server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalServer {
    /// An Ollama server.
    Ollama,
    /// An LM Studio server.
    LmStudio,
}

impl LocalServer {
    /// Both kinds, in the order of the documentation.
    pub const ALL: [Self; 2] = [Self::LmStudio, Self::Ollama];

    /// The id of the provider.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LmStudio => "lmstudio",
        }
    }

    /// Finds a server by its provider's id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|server| server.id() == id)
    }

    /// The model that is used if none is configured.
    pub const fn default_model(self) -> &'static str {
        match self {
            Self::Ollama => "gpt-oss:20b",
            Self::LmStudio => "openai/gpt-oss-20b",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
        }
    }

    const fn start_command(self) -> &'static str {
        match self {
            Self::Ollama => "ollama serve",
            Self::LmStudio => "lms server start",
        }
    }

    const fn download_page(self) -> &'static str {
        match self {
            Self::Ollama => "https://ollama.com/download",
            Self::LmStudio => "https://lmstudio.ai/download",
        }
    }
}

/// Why a local server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// No server answers at the address.
    #[error(
        "no {} server answers at {address} ({cause})\nhint: start it with `{}` (to be had at {}), \
         or set CODEX_OSS_BASE_URL to where it is", server.name(), server.start_command(), server.download_page()
    )]
    NotThere {
        /// The kind of server.
        server: LocalServer,
        /// The address of the provider.
        address: String,
        /// The error of the request.
        cause: String,
    },
    /// The server is too old.
    #[error("Ollama {found} is too old: {needed} or newer is needed\nhint: update it from https://ollama.com/download")]
    TooOld {
        /// The version that runs.
        found: String,
        /// The first version that is recent enough.
        needed: String,
    },
    /// The server does not have the model.
    #[error("LM Studio does not have the model {model}\nhint: fetch it with `lms get {model}`")]
    NoModel {
        /// The name of the model.
        model: String,
    },
    /// The server could not download the model.
    #[error("Ollama could not fetch the model {model}: {cause}\nhint: try `ollama pull {model}`")]
    NotFetched {
        /// The name of the model.
        model: String,
        /// The server's error, or the connection's.
        cause: String,
    },
}

/// The progress of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetching {
    /// The current step, in the server's words.
    pub status: String,
    /// The received and the total bytes of the current part.
    pub bytes: Option<(u64, u64)>,
}

/// Checks that a server runs and has a model, and downloads the model if it is missing.
///
/// # Errors
///
/// When the server does not run or does not have the model; the message says what to do.
pub async fn make_ready(
    server: LocalServer,
    provider: &Provider,
    model: &str,
    progress: &mut dyn FnMut(&Fetching),
) -> Result<(), LocalError> {
    let base = provider.base_url.clone().unwrap_or_default();
    let base = base.trim_end_matches('/');
    let local = Local { transport: Transport::default(), root: base.strip_suffix("/v1").unwrap_or(base).to_owned() };
    let not_there = |cause| LocalError::NotThere { server, address: base.to_owned(), cause };
    let listed: Models = local.get(&format!("{base}/models")).await.map_err(not_there)?;
    match server {
        LocalServer::LmStudio => listed.has(model).then_some(()).ok_or(LocalError::NoModel { model: model.to_owned() }),
        LocalServer::Ollama => {
            local.check_version().await?;
            local.fetch_missing(model, progress).await
        }
    }
}

/// A server's list of models.
#[derive(Deserialize)]
struct Models {
    #[serde(default)]
    data: Option<Vec<ModelEntry>>,
}

#[derive(Deserialize)]
struct ModelEntry {
    #[serde(default)]
    id: String,
}

impl Models {
    fn has(&self, model: &str) -> bool {
        self.data.iter().flatten().any(|entry| entry.id == model)
    }
}

struct Local {
    transport: Transport,
    /// The address without the path of the API.
    root: String,
}

impl Local {
    async fn check_version(&self) -> Result<(), LocalError> {
        #[derive(Deserialize)]
        struct Answer {
            version: String,
        }
        // A server that does not report its version may still be recent enough.
        let Ok(Answer { version }) = self.get(&format!("{}/api/version", self.root)).await else {
            return Ok(());
        };
        let is_old =
            Version::parse(&version).is_some_and(|found| found.numbers != [0; 3] && found < OLLAMA_VERSION_MIN);
        if is_old {
            let [a, b, c] = OLLAMA_VERSION_MIN.numbers;
            return Err(LocalError::TooOld { found: version, needed: format!("{a}.{b}.{c}") });
        }
        Ok(())
    }

    async fn fetch_missing(&self, model: &str, progress: &mut dyn FnMut(&Fetching)) -> Result<(), LocalError> {
        #[derive(Deserialize)]
        struct Tags {
            models: Vec<Tag>,
        }
        #[derive(Deserialize)]
        struct Tag {
            name: String,
        }
        match self.get::<Tags>(&format!("{}/api/tags", self.root)).await {
            Ok(tags) if !tags.models.iter().any(|tag| is_same(&tag.name, model)) => self.fetch(model, progress).await,
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::warn!(error, "the models of the local server cannot be listed");
                Ok(())
            }
        }
    }

    async fn fetch(&self, model: &str, progress: &mut dyn FnMut(&Fetching)) -> Result<(), LocalError> {
        let failed = |cause: String| LocalError::NotFetched { model: model.to_owned(), cause };
        let body = json!({ "model": model, "stream": true }).to_string();
        let address = format!("{}/api/pull", self.root);
        let mut response = self.send(Method::POST, &address, Some(body)).await.map_err(failed)?;
        let mut rest = Vec::new();
        loop {
            // A download may pause for a while; the user can interrupt it.
            let chunk = response.chunk().await.map_err(|error| failed(error.to_string()))?;
            let is_over = chunk.is_none();
            rest.extend_from_slice(&chunk.unwrap_or_default());
            if is_over {
                rest.push(b'\n');
            }
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                match Pulled::read(&line) {
                    Some(Pulled::Done) => return Ok(()),
                    Some(Pulled::Failed(cause)) => return Err(failed(cause)),
                    Some(Pulled::Going(fetching)) => progress(&fetching),
                    None => {}
                }
            }
            if is_over || rest.len() > ANSWER_BYTES_MAX {
                return Err(failed("the server stopped before it was done".to_owned()));
            }
        }
    }

    async fn get<T: DeserializeOwned>(&self, address: &str) -> Result<T, String> {
        let answer = async {
            let mut response = self.send(Method::GET, address, None).await?;
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
                body.extend_from_slice(&chunk);
                if body.len() > ANSWER_BYTES_MAX {
                    return Err("the answer is too long".to_owned());
                }
            }
            serde_json::from_slice(&body).map_err(|error| format!("the answer cannot be read: {error}"))
        };
        timeout(ANSWER_TIMEOUT, answer).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    async fn send(&self, method: Method, address: &str, body: Option<String>) -> Result<Response, String> {
        let response = self.transport.request(method, address, body).await?;
        let status = response.status();
        if status.is_success() { Ok(response) } else { Err(format!("status {status}")) }
    }
}

/// Whether two names of Ollama models mean the same: no tag means `latest`.
fn is_same(listed: &str, wanted: &str) -> bool {
    listed == wanted || (!wanted.contains(':') && listed.strip_suffix(":latest") == Some(wanted))
}

/// A line of the response that reports the progress of a download.
#[derive(Debug, PartialEq, Eq)]
enum Pulled {
    Going(Fetching),
    Done,
    Failed(String),
}

impl Pulled {
    fn read(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Line {
            #[serde(default)]
            error: Option<String>,
            #[serde(default)]
            status: Option<String>,
            #[serde(default)]
            total: Option<u64>,
            #[serde(default)]
            completed: Option<u64>,
        }
        let line: Line = serde_json::from_slice(line).ok()?;
        if let Some(error) = line.error {
            return Some(Self::Failed(error));
        }
        let status = line.status?;
        if status == "success" {
            return Some(Self::Done);
        }
        let bytes = line.total.map(|total| (line.completed.unwrap_or(0), total));
        Some(Self::Going(Fetching { status, bytes }))
    }
}

/// A version; a pre-release comes before its release.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    numbers: [u64; 3],
    is_release: bool,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('v');
        let (numbers, pre) = text.split_once('-').map_or((text, None), |(numbers, pre)| (numbers, Some(pre)));
        let numbers = numbers.split('+').next()?;
        let mut numbers = numbers.split('.').map(|number| number.parse().ok());
        let numbers = [numbers.next()??, numbers.next()??, numbers.next()??];
        Some(Self { numbers, is_release: pre.is_none() })
    }
}

#[cfg(test)]
mod tests;
