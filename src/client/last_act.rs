//! The change that an undo without an id undoes.

use super::{Client, ClientError, typed::ClientResult};
use crate::api::{Caller, ErrorCode, EventView, LogQuery, UndoOutcome, UndoRequest};

impl Client {
    /// Returns the last change of the caller, as the daemon would undo it, and the dry run of that undo. `None` if there
    /// is none.
    pub async fn last_act(&self, caller: Caller) -> ClientResult<Option<(UndoOutcome, EventView)>> {
        let request = UndoRequest { caller, dry_run: true, ..UndoRequest::default() };
        let would = match self.undo(&request).await {
            Err(ClientError::Api(error)) if error.code == ErrorCode::NotFound => return Ok(None),
            would => would?,
        };
        let id = Some(would.undone.to_hex());
        let page = self.log(&LogQuery { id, acts: true, limit: Some(1), ..LogQuery::default() }).await?;
        Ok(page.items.into_iter().next().map(|event| (would, event)))
    }
}
