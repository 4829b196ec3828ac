//! Bundles: files that carry a team's events between devices without a common network.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
    time::Duration,
};

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::{Buf, Bytes};
use futures_util::stream::try_unfold;
use http::header;
use http_body_util::BodyExt;
use tokio::{io::AsyncReadExt, runtime::Handle, sync::mpsc, time::timeout};

use super::super::{
    extractors::{JsonBody, QueryString},
    request_checks::TIMEOUT,
    response::{ErrorResponse, JsonResult, value},
    state::SharedState,
};
use crate::{
    api::{ApiError, ErrorCode, ExportOutcome, ExportRequest, ImportOutcome, ImportQuery, SUMMARY_HEADER},
    sync::transfer,
};

/// The maximum number of bytes that are read from a bundle at a time.
const CHUNK: usize = 64 * 1024;

/// The maximum number of chunks of an upload that are buffered.
const MAX_BUFFERED_CHUNKS: usize = 4;

/// Exports the events of a team as a bundle.
#[utoipa::path(post, path = "/sync/export", tag = "sync", request_body = ExportRequest, responses(
    (status = 200, description = "The bundle; `x-ergo-summary` says what it is (ExportOutcome)", content_type = "application/octet-stream"),
    (status = 400, description = "A field is invalid; it is named", body = ApiError)))]
pub(in crate::daemon) async fn export(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<ExportRequest>,
) -> Result<Response, ErrorResponse> {
    let store = shared.store.clone();
    let (outcome, file) = shared
        .engine(move |engine| {
            // The bundle is first written to a file and then sent, so that an error can be answered with its status, and a slow
            // client does not keep a snapshot of the store open.
            let mut file = unnamed_file(&store).map_err(|error| no_room(&error))?;
            let outcome = transfer::export(engine, &request, io::BufWriter::new(&mut file))?;
            file.seek(SeekFrom::Start(0)).map_err(|error| no_room(&error))?;
            Ok((outcome, file))
        })
        .await?;
    let body = try_unfold(tokio::fs::File::from_std(file), async |mut file| {
        let mut chunk = vec![0; CHUNK];
        let length = file.read(&mut chunk).await?;
        chunk.truncate(length);
        Ok::<_, io::Error>((length > 0).then(|| (Bytes::from(chunk), file)))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH.as_str(), outcome.bytes.to_string()),
        (SUMMARY_HEADER, ascii(&outcome)),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// Imports a bundle: the file is the body.
#[utoipa::path(post, path = "/sync/import", tag = "sync", params(ImportQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses(
    (status = 200, body = ImportOutcome),
    (status = 400, description = "Not a bundle, not encrypted for this device, or from another team", body = ApiError)))]
pub(in crate::daemon) async fn import(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<ImportQuery>,
    body: Body,
) -> JsonResult<ImportOutcome> {
    let (send, receive) = mpsc::channel(MAX_BUFFERED_CHUNKS);
    let upload = Upload { chunks: receive, chunk: Bytes::new() };
    let (teams, runtime) = (Arc::clone(&shared.teams), Handle::current());
    let work = shared.engine(move |engine| {
        if query.dry_run {
            return transfer::dry_run(engine, upload);
        }
        engine.check_writable()?;
        let outcome = transfer::import(engine, upload);
        // On this thread, since it runs to its end even if the client disconnects. Also after an error, since earlier batches of
        // the bundle stay stored.
        runtime.block_on(teams.changed("a bundle was imported"));
        outcome
    });
    let (outcome, fed) = tokio::join!(work, feed(body, send, TIMEOUT));
    fed?;
    value(outcome)
}

/// Sends a body in chunks to the importer. Fails if no bytes arrive for `idle`; the importer's own time does not count.
async fn feed(mut body: Body, to: mpsc::Sender<io::Result<Bytes>>, idle: Duration) -> Result<(), ApiError> {
    // The body is read to its end even after an error, since a client that is still sending does not read the response.
    loop {
        let chunk = match timeout(idle, body.frame()).await {
            Ok(None) => return Ok(()),
            Ok(Some(Ok(frame))) => frame.into_data().map_or(Ok(Bytes::new()), Ok),
            Ok(Some(Err(error))) => Err(io::Error::other(error)),
            Err(_) => {
                let message = format!("no bytes of the bundle arrived for {} s", idle.as_secs());
                // Otherwise the importer would take the part that has arrived for the whole file.
                let _done = to.send(Err(io::Error::new(io::ErrorKind::TimedOut, message.clone()))).await;
                return Err(ApiError::new(ErrorCode::Timeout, message)
                    .hint("import the file again: what has arrived may be stored, and is not stored twice"));
            }
        };
        let broken = chunk.is_err();
        let _done = to.send(chunk).await;
        if broken {
            return Ok(());
        }
    }
}

/// An upload as a blocking reader.
struct Upload {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

impl Read for Upload {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.chunk = chunk?,
                None => return Ok(0),
            }
        }
        let length = self.chunk.len().min(buffer.len());
        self.chunk.split_to(length).copy_to_slice(buffer.get_mut(..length).unwrap_or_default());
        Ok(length)
    }
}

/// Creates a file beside the store and unlinks it: the system deletes it when it is closed, even after a crash.
fn unnamed_file(store: &Path) -> io::Result<File> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let path = store.with_extension(format!("export-{}", hex::encode(random)));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn no_room(error: &io::Error) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, format!("the bundle cannot be written beside the store: {error}"))
        .hint("free disk space, then export again")
}

/// Returns the outcome as JSON in ASCII, which headers require; other characters are escaped.
fn ascii(outcome: &ExportOutcome) -> String {
    let text = serde_json::to_string(outcome).unwrap_or_default();
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c as u8);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a vector cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{self, StreamExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_import_ends_when_its_sender_pauses_and_not_when_it_is_slow() {
        let second = |number: u8| async move {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok::<_, io::Error>(Bytes::from(vec![number]))
        };
        let slow = || stream::iter(1..=5).then(second);
        let (send, mut receive) = mpsc::channel(8);
        feed(Body::from_stream(slow()), send, TIMEOUT).await.unwrap();
        for number in 1..=5 {
            assert_eq!(receive.recv().await.unwrap().unwrap(), vec![number]);
        }
        assert!(receive.recv().await.is_none());
        let (send, mut receive) = mpsc::channel(8);
        let error = feed(Body::from_stream(slow().chain(stream::pending())), send, TIMEOUT).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Timeout);
        assert!(error.message.contains("30 s") && error.hint.is_some(), "{error}");
        for _ in 1..=5 {
            receive.recv().await.unwrap().unwrap();
        }
        assert!(receive.recv().await.unwrap().is_err(), "the importer does not take a part for the whole");
    }

    #[test]
    fn a_summary_is_ascii_and_the_same_json() {
        let outcome = ExportOutcome {
            bundle: "b".into(),
            team: crate::domain::EventId([0; 32]),
            team_name: "Zoë 🦀 \u{7}".into(),
            sealed_to: None,
            since: "all".into(),
            roster_events: 0,
            scopes: vec![],
            left_out: vec![],
            bytes: 1,
        };
        let text = ascii(&outcome);
        assert!(http::HeaderValue::from_str(&text).is_ok(), "{text}");
        assert_eq!(serde_json::from_str::<ExportOutcome>(&text).unwrap(), outcome);
    }

    #[test]
    fn a_nameless_file_is_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = unnamed_file(&dir.path().join("ergo.db")).unwrap();
        file.write_all(b"x").unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
