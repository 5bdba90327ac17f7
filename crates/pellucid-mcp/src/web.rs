//! The connection to a server over HTTP: its headers, its fixed token and its limits. Tokens of logins are added by
//! `login::bearer`, again for every request.

use std::collections::HashMap;

use http::HeaderName;
use http::HeaderValue;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::login::bearer::Bearer;
use crate::spec::HttpReach;

/// The connection to a server; `max` is the largest event in bytes.
///
/// # Errors
/// If a header of the configuration is not valid.
pub(crate) fn transport(
    client: Bearer<reqwest::Client>,
    reach: &HttpReach,
    max: usize,
) -> Result<StreamableHttpClientTransport<Bearer<reqwest::Client>>, String> {
    let mut headers = HashMap::new();
    for (name, value) in &reach.headers {
        let wrong = || format!("the header `{name}` of its configuration is not valid");
        let key = HeaderName::try_from(name).map_err(|_| wrong())?;
        headers.insert(key, HeaderValue::try_from(value.reveal()).map_err(|_| wrong())?);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(reach.url.as_str()).custom_headers(headers);
    if let Some(token) = &reach.bearer {
        config = config.auth_header(token.reveal());
    }
    config.max_sse_event_size = max;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
