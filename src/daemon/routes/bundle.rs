//! Bundles: files that carry a team's events between laptops that share no network.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
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
use tokio::{io::AsyncReadExt, runtime::Handle, sync::mpsc};

use super::super::{
    extractors::{JsonBody, QueryString},
    response::{ErrorResponse, JsonResult, value},
    state::SharedState,
};
use crate::{
    api::{ApiError, ErrorCode, ExportOutcome, ExportRequest, ImportOutcome, ImportQuery, SUMMARY_HEADER},
    sync::transfer,
};

/// The most bytes that are read from a file at a time.
const PIECE: usize = 64 * 1024;

/// The most pieces of an upload that wait to be read.
const WAITING: usize = 4;

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
            // The bundle is written to a file first and then sent: so an error becomes the answer, and a slow client
            // holds no snapshot of the store.
            let mut file = nameless(&store).map_err(|error| no_room(&error))?;
            let outcome = transfer::export(engine, &request, io::BufWriter::new(&mut file))?;
            file.seek(SeekFrom::Start(0)).map_err(|error| no_room(&error))?;
            Ok((outcome, file))
        })
        .await?;
    let body = try_unfold(tokio::fs::File::from_std(file), async |mut file| {
        let mut piece = vec![0; PIECE];
        let length = file.read(&mut piece).await?;
        piece.truncate(length);
        Ok::<_, io::Error>((length > 0).then(|| (Bytes::from(piece), file)))
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
    mut body: Body,
) -> JsonResult<ImportOutcome> {
    let (send, receive) = mpsc::channel(WAITING);
    let upload = Upload { pieces: receive, piece: Bytes::new() };
    let (teams, runtime) = (Arc::clone(&shared.teams), Handle::current());
    let work = shared.engine(move |engine| {
        if query.dry_run {
            return transfer::dry_run(engine, upload);
        }
        let outcome = transfer::import(engine, upload);
        // On this thread, which finishes even if the client disconnects; and after an error, too: earlier batches
        // of the file stay stored.
        runtime.block_on(teams.changed("a bundle was imported"));
        outcome
    });
    let feed = async {
        // The body is read to its end even after an error: a client that is still sending would not read the answer.
        while let Some(frame) = body.frame().await {
            let piece = match frame {
                Ok(frame) => frame.into_data().map_or(Ok(Bytes::new()), Ok),
                Err(error) => Err(io::Error::other(error)),
            };
            let broken = piece.is_err();
            let _done = send.send(piece).await;
            if broken {
                break;
            }
        }
        drop(send);
    };
    let (outcome, ()) = tokio::join!(work, feed);
    value(outcome)
}

/// An upload as a blocking reader.
struct Upload {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for Upload {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let length = self.piece.len().min(buffer.len());
        self.piece.split_to(length).copy_to_slice(buffer.get_mut(..length).unwrap_or_default());
        Ok(length)
    }
}

/// Creates a file beside the store and unlinks it: the system deletes it when it is closed, even after a crash.
fn nameless(store: &Path) -> io::Result<File> {
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

/// Returns JSON in ASCII, as a header requires: other characters are escaped.
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
    use super::*;

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
        let mut file = nameless(&dir.path().join("ergo.db")).unwrap();
        file.write_all(b"x").unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
