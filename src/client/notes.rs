//! Methods for the endpoints about notes.

use std::time::Duration;

use super::{
    Client, LONG_DEADLINE, Request,
    typed::{ClientResult, encode, post_request},
};
use crate::api::{
    InsightFigures, InsightFiguresQuery, Insights, InsightsQuery, NoteClusters, NoteClustersQuery, NoteLinks,
    NoteLinksQuery, NotesAddRequest, NotesAdded, NotesCalibrateRequest, NotesCalibrated, NotesCheck, NotesCheckRequest,
    NotesRun, NotesScanRequest, NotesStatus, NotesWriteRequest, NotesWritten,
};

/// The deadline of a scan: the first one of many projects computes thousands of vectors.
const SCAN_DEADLINE: Duration = Duration::from_mins(10);

impl Client {
    /// `GET /notes/status`.
    pub async fn notes_status(&self) -> ClientResult<NotesStatus> {
        self.get("/notes/status", "").await
    }

    /// `POST /notes/add`.
    pub async fn notes_add(&self, request: &NotesAddRequest) -> ClientResult<NotesAdded> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/notes/add", request)? }).await
    }

    /// `POST /notes/scan`.
    pub async fn notes_scan(&self, request: &NotesScanRequest) -> ClientResult<NotesRun> {
        self.value(Request { deadline: SCAN_DEADLINE, ..post_request("/notes/scan", request)? }).await
    }

    /// `POST /notes/write`.
    pub async fn notes_write(&self, request: &NotesWriteRequest) -> ClientResult<NotesWritten> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/notes/write", request)? }).await
    }

    /// `POST /notes/check`.
    pub async fn notes_check(&self, request: &NotesCheckRequest) -> ClientResult<NotesCheck> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/notes/check", request)? }).await
    }

    /// `GET /notes/insights`.
    pub async fn notes_insights(&self, query: &InsightsQuery) -> ClientResult<Insights> {
        self.get_within(LONG_DEADLINE, "/notes/insights", query).await
    }

    /// `GET /notes/clusters`.
    pub async fn notes_clusters(&self, query: &NoteClustersQuery) -> ClientResult<NoteClusters> {
        self.get_within(LONG_DEADLINE, "/notes/clusters", query).await
    }

    /// `GET /notes/links`.
    pub async fn notes_links(&self, query: &NoteLinksQuery) -> ClientResult<NoteLinks> {
        self.get("/notes/links", &encode(query)?).await
    }

    /// `POST /notes/calibrate`.
    pub async fn notes_calibrate(&self, request: &NotesCalibrateRequest) -> ClientResult<NotesCalibrated> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/notes/calibrate", request)? }).await
    }

    /// `GET /insights`.
    pub async fn insight_figures(&self, query: &InsightFiguresQuery) -> ClientResult<InsightFigures> {
        self.get_within(LONG_DEADLINE, "/insights", query).await
    }
}
