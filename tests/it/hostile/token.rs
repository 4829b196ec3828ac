//! The token of a home goes to its own daemon alone.

use std::{
    fs,
    io::Write,
    net::TcpListener,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    thread,
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::stranger::Stranger;
use crate::{
    mcp::client::{BEFORE, McpClient},
    support::{Daemon, Output, TestHome, block_on},
    term::App,
};

/// A home whose daemon runs, with the token in its file.
fn home_with_token() -> (TestHome, Daemon, String) {
    let home = TestHome::with_tcp();
    let daemon = home.daemon();
    let token = fs::read_to_string(home.paths().token()).unwrap().trim().to_owned();
    assert_eq!(token.len(), 64);
    (home, daemon, token)
}

/// Runs a verb with `ERGO_API_URL`, and more of the environment.
fn run(home: &TestHome, args: &[&str], url: &str, env: &[(&str, &str)]) -> Output {
    finish(home.command(args).env("ERGO_API_URL", url).envs(env.iter().copied()), "")
}

fn finish(command: &mut Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program may end before it has read its input.
    let _gone = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap().into()
}

#[test]
fn no_client_tells_a_stranger_the_homes_token() {
    let (home, _daemon, token) = home_with_token();
    let stranger = Stranger::anywhere();
    let url = stranger.url();
    for args in [
        &["claims"][..],
        &["recall", "x"],
        &["remember", "A fact.", "--kind", "fact", "--key", "k"],
        &["status"],
        &["inbox", "--no-spawn"],
        &["tui", "--no-spawn", "--capture", "screen.txt"],
    ] {
        let output = run(&home, args, &url, &[]);
        assert_ne!(output.code, Some(0), "{args:?}: {output:?}");
        assert!(output.stderr.contains("ERGO_API_TOKEN"), "{args:?}: {output:?}");
    }
    // The app ends before it takes the terminal, and says the same.
    let (well, screen) = App::open(&home, &["--no-spawn"], (100, 30), &[("ERGO_API_URL", &url)]).ends();
    assert!(!well && screen.logical_text().contains("ERGO_API_TOKEN"), "{}", screen.logical_text());
    let session = json!({"session_id": "s-1", "source": "startup", "hook_event_name": "SessionStart"}).to_string();
    let hook = finish(home.command(["hook", "session-start"]).env("ERGO_API_URL", &url), &session);
    assert_eq!(hook.code, Some(0), "a hook that fails says nothing: {hook:?}");
    let mut command = home.command(["mcp"]);
    command.env("ERGO_API_URL", &url);
    let mut bridge = McpClient::by(command);
    bridge.greet(BEFORE[0], json!({}));
    let refusal = bridge.refusal("ergo_recall", json!({"query": "x"}));
    assert!(refusal.contains("ERGO_API_TOKEN"), "{refusal}");
    assert_eq!(stranger.heard(), "", "nothing is sent to one for whom there is no token");

    // The stranger does receive other requests, so the missing ones above are meaningful.
    run(&home, &["claims"], &url, &[("ERGO_API_TOKEN", "meant-for-it")]);
    let heard = stranger.heard();
    assert!(heard.to_lowercase().contains("authorization: bearer meant-for-it") && !heard.contains(&token), "{heard}");
}

#[test]
fn a_stranger_on_a_dead_daemons_port_hears_nothing() {
    let (home, daemon, token) = home_with_token();
    let address = home.record().tcp.unwrap();
    let url = format!("http://{address}");
    let mut command = home.command(["mcp", "--no-spawn"]);
    command.env("ERGO_API_URL", &url);
    let mut bridge = McpClient::by(command);
    bridge.greet(BEFORE[0], json!({}));
    bridge.tool("ergo_diagnose", json!({}));
    daemon.kill();
    assert_eq!(home.record().tcp.as_ref(), Some(&address), "a crash leaves the record behind");
    let stranger = Stranger::at(&address);
    bridge.refusal("ergo_diagnose", json!({}));
    let output = run(&home, &["claims"], &url, &[]);
    assert!(output.code != Some(0) && output.stderr.contains("ERGO_API_TOKEN"), "{output:?}");
    let heard = stranger.heard();
    assert!(!heard.contains(&token) && !heard.to_lowercase().contains("authorization"), "{heard}");
}

#[test]
fn the_homes_own_daemon_gets_the_token_by_each_of_its_names() {
    let (home, _daemon, _) = home_with_token();
    let address = home.record().tcp.unwrap();
    let port = address.rsplit(':').next().unwrap();
    for url in [format!("http://{address}"), format!("http://localhost:{port}/")] {
        run(&home, &["claims"], &url, &[]).ok();
        let stdout = run(&home, &["doctor"], &url, &[]).ok().stdout;
        assert!(stdout.contains("ERGO_API_URL names this home's daemon"), "{stdout}");
    }
    let socket = format!("unix:{}", home.record().socket.display());
    run(&home, &["claims"], &socket, &[]).ok();
}

#[test]
fn plain_http_beyond_this_machine_is_refused_with_what_to_do() {
    let (home, _daemon, _) = home_with_token();
    // An address for documentation: nobody is there, and nobody is asked.
    let output = run(&home, &["claims"], "http://192.0.2.1:8788", &[("ERGO_API_TOKEN", "t")]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("https://") && output.stderr.contains("ssh -L"), "{output:?}");
    let output = run(&home, &["doctor"], "http://192.0.2.1:8788", &[("ERGO_API_TOKEN", "t")]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.stdout.contains("PROBLEM") && output.stdout.contains("another machine"), "{output:?}");
}

fn pem(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/hostile/tls").join(name)
}

/// A proxy with a certificate for `localhost`, in front of a daemon. Returns its port.
fn proxy(daemon: String) -> u16 {
    let chain = vec![CertificateDer::from_pem_file(pem("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, daemon) = (acceptor.clone(), daemon.clone());
                tokio::spawn(async move {
                    let mut near = acceptor.accept(stream).await.ok()?;
                    let mut far = TcpStream::connect(daemon).await.ok()?;
                    tokio::io::copy_bidirectional(&mut near, &mut far).await.ok()
                });
            }
        });
    });
    port
}

#[test]
fn https_reaches_a_daemon_whose_authority_is_trusted() {
    let (home, _daemon, token) = home_with_token();
    let port = proxy(home.record().tcp.unwrap());
    let authority = pem("authority.pem").display().to_string();
    let trusted = [("SSL_CERT_FILE", authority.as_str()), ("ERGO_API_TOKEN", token.as_str())];
    let url = format!("https://localhost:{port}");
    run(&home, &["remember", "A fact.", "--kind", "fact", "--key", "k"], &url, &trusted).ok();
    let claims = run(&home, &["claims", "--json"], &url, &trusted).ok().json();
    assert_eq!(claims["total"], 1);

    let unknown = run(&home, &["claims"], &url, &[("ERGO_API_TOKEN", &token)]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(unknown.stderr.contains("TLS") && unknown.stderr.contains("SSL_CERT_FILE"), "{unknown:?}");
    let unreadable = [("SSL_CERT_FILE", "/no/such/file.pem"), ("ERGO_API_TOKEN", token.as_str())];
    let unreadable = run(&home, &["claims"], &url, &unreadable);
    assert!(unreadable.code == Some(3) && unreadable.stderr.contains("SSL_CERT_FILE"), "{unreadable:?}");
    let without = run(&home, &["claims"], &url, &[("SSL_CERT_FILE", &authority)]);
    assert!(without.code == Some(2) && without.stderr.contains("ERGO_API_TOKEN"), "{without:?}");
}
