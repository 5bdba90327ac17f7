//! HTTP to one collector. A request goes to the address of the settings as it is; redirects are not followed, because
//! headers may have keys.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pellucid_files::read_given;
use pellucid_protocol::telemetry::Collector;
use pellucid_protocol::telemetry::CollectorTls;
use reqwest::Certificate;
use reqwest::Client;
use reqwest::ClientBuilder;
use reqwest::Identity;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderName;
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::crypto::ring;

use crate::otlp;

/// How many bytes of an answer are read, so that its connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// How large the file of a certificate or key may be.
const CERTIFICATE_BYTES_MAX: u64 = 1 << 20;

/// A collector that requests can be sent to.
#[derive(Debug)]
pub(crate) struct CollectorClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
}

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The reason, for people.
    pub why: String,
    /// Whether the same request may be taken later.
    pub is_passing: bool,
}

impl CollectorClient {
    /// A client for a collector.
    ///
    /// # Errors
    /// What is wrong with its address, headers or certificates.
    pub fn new(collector: &Collector) -> Result<Self, String> {
        let url = address(&collector.endpoint)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &collector.headers {
            let parsed = HeaderName::try_from(name.as_str()).ok();
            let value = HeaderValue::try_from(value.reveal()).ok();
            let (Some(name), Some(mut value)) = (parsed, value) else {
                return Err(format!("the header `{name}` cannot be sent"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(otlp::content_type(collector.encoding)));
        let client = builder(&url, &collector.tls)?.build().map_err(|error| with_causes(&error))?;
        Ok(Self { client, url, headers, timeout: collector.timeout })
    }

    /// Sends a body once.
    pub async fn post(&self, body: Vec<u8>) -> Result<(), Refused> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).timeout(self.timeout).body(body);
        let sent = request.send().await;
        let mut response = sent.map_err(|error| {
            let why = with_causes(&error.without_url());
            Refused { why, is_passing: true }
        })?;
        let status = response.status();
        let mut n_read = 0;
        while let Ok(Some(chunk)) = response.chunk().await {
            n_read += chunk.len();
            if n_read > ANSWER_BYTES_MAX {
                break;
            }
        }
        if status.is_success() {
            return Ok(());
        }
        let is_passing = matches!(status.as_u16(), 429 | 502 | 503 | 504);
        Err(Refused { why: format!("it answers {}", status.as_u16()), is_passing })
    }
}

/// Reads the address of a collector.
///
/// # Errors
/// It is no address of `http` or `https`.
pub(crate) fn address(text: &str) -> Result<Url, String> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Ok(_) => Err("it is no `http` or `https` address".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn builder(url: &Url, tls: &CollectorTls) -> Result<ClientBuilder, String> {
    let builder = Client::builder().redirect(Policy::none());
    if url.scheme() == "http" {
        // No certificate of the system is read.
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("could not set TLS up: {error}"))?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        return Ok(builder.tls_backend_preconfigured(config));
    }
    // Fails only if a provider is installed already, which is as good.
    drop(ring::default_provider().install_default());
    let CollectorTls { ca_certificate, client_certificate, client_private_key } = tls;
    let builder = match ca_certificate {
        Some(path) => {
            let certificates = Certificate::from_pem_bundle(read(path)?.as_bytes());
            let certificates = certificates.map_err(|error| format!("{}: {}", path.display(), with_causes(&error)))?;
            builder.tls_certs_only(certificates)
        }
        None => builder,
    };
    match (client_certificate, client_private_key) {
        (None, None) => Ok(builder),
        (Some(certificate), Some(key)) => {
            let pem = format!("{}\n{}", read(certificate)?, read(key)?);
            let identity = Identity::from_pem(pem.as_bytes());
            let identity = identity.map_err(|_| {
                format!("{} and {} are no certificate with its key", certificate.display(), key.display())
            })?;
            Ok(builder.identity(identity))
        }
        (Some(_), None) => Err("`client-certificate` needs `client-private-key`".to_owned()),
        (None, Some(_)) => Err("`client-private-key` needs `client-certificate`".to_owned()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    read_given(path, CERTIFICATE_BYTES_MAX).map_err(|error| format!("{}: {error}", path.display()))
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pellucid_protocol::secret::Secret;
    use pellucid_protocol::telemetry::COLLECTOR_TIMEOUT;
    use pellucid_protocol::telemetry::OtlpEncoding;

    use super::*;

    fn collector(endpoint: &str) -> Collector {
        Collector {
            endpoint: endpoint.to_owned(),
            headers: [("x-key".to_owned(), Secret::new("k"))].into(),
            encoding: OtlpEncoding::Json,
            timeout: COLLECTOR_TIMEOUT,
            tls: CollectorTls::default(),
        }
    }

    #[track_caller]
    fn check_refused(collector: &Collector, expected: &str) {
        let refused = CollectorClient::new(collector).map(|_| ()).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }

    #[test]
    fn a_collector_that_cannot_be_used_is_refused_with_the_reason() {
        check_refused(&collector("localhost:4318"), "no `http` or `https` address");
        check_refused(&collector("/v1/logs"), "relative URL without a base");
        check_refused(
            &Collector { headers: [("a b".to_owned(), Secret::new("k"))].into(), ..collector("http://a") },
            "`a b`",
        );
        let tls = CollectorTls { ca_certificate: Some(PathBuf::from("/none.pem")), ..CollectorTls::default() };
        check_refused(&Collector { tls, ..collector("https://a") }, "/none.pem");
        let tls = CollectorTls { client_certificate: Some(PathBuf::from("/none.pem")), ..CollectorTls::default() };
        check_refused(&Collector { tls, ..collector("https://a") }, "needs `client-private-key`");
        CollectorClient::new(&collector("http://localhost:4318/v1/logs")).unwrap();
    }
}
