//! Why no connection could be made, as text for people.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use crate::endpoint::Endpoint;
use crate::transport::causes;

/// Why a request could not be sent: nothing of it reached a server. `None` if that is not certain.
pub(crate) fn unsent(endpoint: &Endpoint, error: &dyn Error) -> Option<String> {
    let host = endpoint.host();
    for cause in causes(error) {
        if let Some(words) = cause.downcast_ref::<io::Error>().and_then(|error| connection(endpoint, error)) {
            return Some(words);
        }
        if let Some(words) = cause.downcast_ref::<rustls::Error>().map(|error| tls(&host, error)) {
            return Some(words);
        }
        if cause.to_string() == "dns error" {
            return Some(format!(
                "the name {host} cannot be resolved; check the provider's base_url and the network connection"
            ));
        }
    }
    None
}

fn no_tls(host: &str) -> String {
    format!("{host} does not speak TLS; if the server has none, write http:// in the provider's base_url")
}

fn connection(endpoint: &Endpoint, error: &io::Error) -> Option<String> {
    let host = endpoint.host();
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(endpoint.refused_hint().unwrap_or_else(|| {
            format!("{host} refuses connections; check the provider's base_url, and whether the server runs")
        })),
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            Some(format!("{host} is unreachable; check the network connection"))
        }
        _ => None,
    }
}

fn tls(host: &str, error: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return match error {
            rustls::Error::InvalidMessage(_) => no_tls(host),
            other => format!("no secure connection to {host} can be made: {other}"),
        };
    };
    let why = match certificate {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet; check the clock of this machine".to_owned()
        }
        CertificateError::Revoked => "was revoked".to_owned(),
        CertificateError::UnknownIssuer => "is signed by an authority that this system does not trust".to_owned(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another name".to_owned()
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "is one of an authority, not of a server, as in a self-signed certificate".to_owned()
        }
        other => format!("cannot be verified ({other})"),
    };
    format!(
        "the certificate of {host} is not accepted: it {why}; install the certificate of its authority on this \
         system, or correct the provider's base_url"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pellucid_protocol::provider::Provider;
    use rustls::OtherError;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("CaUsedAsEndEntity")]
    struct CaUsedAsEndEntity;

    #[test]
    fn certificates_are_explained_in_plain_words() {
        for (error, words) in [
            (CertificateError::Expired, "has expired"),
            (CertificateError::UnknownIssuer, "is signed by an authority that this system does not trust"),
            (CertificateError::NotValidForName, "is for another name"),
            (CertificateError::Other(OtherError(Arc::new(CaUsedAsEndEntity))), "is one of an authority"),
            (CertificateError::BadSignature, "cannot be verified"),
        ] {
            // The form in which it arrives from the layers below: an IO error that wraps another error.
            let error = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(error));
            let error = io::Error::other(error);
            let provider = Provider { base_url: Some("https://box:8443/v1".to_owned()), ..Provider::default() };
            let endpoint = Endpoint::resolve(&provider, None, &|_| None).unwrap();
            let text = unsent(&endpoint, &Outer(error)).unwrap();
            assert!(text.starts_with(&format!("the certificate of box:8443 is not accepted: it {words}")), "{text}");
            assert!(text.ends_with("or correct the provider's base_url"), "{text}");
        }
    }
}
