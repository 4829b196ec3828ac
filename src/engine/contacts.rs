//! The network addresses that ergo contacted.

use super::Engine;
use crate::{
    api::{ApiError, ContactView, Contacts},
    infer::{Endpoint, ModelJudge},
    store::ContactRow,
};

impl Engine {
    /// Lists the addresses that were contacted, latest first.
    pub fn contacts(&self) -> Result<Contacts, ApiError> {
        let rows = self.readers.lend().contacts()?;
        let view =
            |row: ContactRow| ContactView { address: row.address, what: row.what, first: row.first, last: row.last };
        Ok(Contacts { items: rows.into_iter().map(view).collect() })
    }

    /// Asks a judge. If it is a model at an address, the contact is recorded.
    pub(super) fn ask_judge<T>(&self, judge: &ModelJudge, ask: impl FnOnce(&ModelJudge) -> T) -> T {
        let answer = ask(judge);
        if let ModelJudge::Endpoint(endpoint) = judge {
            self.note_contact(endpoint);
        }
        answer
    }

    /// Records that the model at an address was contacted. Takes the write lock.
    pub(super) fn note_contact(&self, endpoint: &Endpoint) {
        let now = (self.config.clock)();
        let mut writer = self.writer();
        if let Err(error) = writer.note_contact(endpoint.address(), "language model", now) {
            tracing::warn!(%error, "cannot record a contacted address");
        }
    }
}
