//! TLS to a daemon on another machine, usually to the proxy in front of it.

use std::{env, sync::Arc};

use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The variables that name the certificate authorities to trust instead of the system's: a PEM file, or folders.
const AUTHORITIES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Creates the connector of TLS connections.
///
/// It trusts the authorities in `SSL_CERT_FILE` and `SSL_CERT_DIR` if one of them is set, else the system's, else, on a
/// system that has none, Mozilla's, which are built in.
///
/// # Errors
/// If the authorities that the environment names cannot be read.
pub(super) fn connector() -> Result<TlsConnector, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let named: Vec<_> = AUTHORITIES.into_iter().filter(|name| env::var_os(name).is_some()).collect();
        if !named.is_empty() {
            let causes: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
            return Err(format!(
                "{} does not point to a readable PEM certificate{}{}",
                named.join(" and "),
                if causes.is_empty() { "" } else { ": " },
                causes.join("; ")
            ));
        }
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    // Named here because the program has several users of rustls, and none may depend on a process-wide default.
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Connects to a host and verifies its certificate.
pub(super) async fn connect(connector: &TlsConnector, host: String, port: u16) -> Result<TlsStream<TcpStream>, String> {
    let stream = TcpStream::connect((host.as_str(), port)).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
    connector.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))
}
