//! The HTTP API: the requests of clients and the daemon's answers, as JSON.
//!
//! Invariant: no HTTP server, no terminal and no SQL here. The daemon and its clients share these types and nothing else.

mod agents;
pub mod batch;
mod beside;
pub mod bundle;
pub mod calibrate;
pub mod claim_limits;
mod claims;
pub mod conflicts;
pub mod doubt_queue;
pub mod doubts;
pub mod error;
pub mod events;
pub mod inbox;
mod ingest;
mod known_scope;
mod note_clusters;
mod notes;
mod notes_run;
mod promotions;
pub mod recall;
mod request;
mod snapshot;
pub mod status;
mod store_size;
mod story;
pub mod sync;
pub mod writes;

use request::request;

pub use agents::*;
pub use batch::*;
pub use beside::*;
pub use bundle::*;
pub use calibrate::*;
pub use claim_limits::limits;
pub use claims::*;
pub use conflicts::*;
pub use doubt_queue::*;
pub use doubts::*;
pub use error::*;
pub use events::*;
pub use inbox::*;
pub use ingest::*;
pub use known_scope::known_scope;
pub use note_clusters::*;
pub use notes::*;
pub use promotions::*;
pub use recall::*;
pub use snapshot::*;
pub use status::*;
pub use store_size::*;
pub use story::*;
pub use sync::*;
pub use writes::*;

/// The version of this API; client and daemon report if theirs differ.
pub const API_VERSION: u32 = 1;

/// The response header with the version of the daemon's program.
pub const VERSION_HEADER: &str = "x-ergo-version";

/// The largest request body, in bytes.
pub const MAX_BODY: usize = 256 * 1024;

/// The maximum length of a statement, reason, justification or source, in bytes.
pub const MAX_TEXT: usize = 8 * 1024;

/// The maximum length of the name of a person, agent, environment, team or tenant, and of the key of a fact, in bytes.
pub const MAX_NAME: usize = 200;

/// The maximum length of what identifies a project besides its name (the URL of a remote, or a path), in bytes.
pub const MAX_IDENTITY: usize = 4096;

/// The maximum number of ids in one list of a request.
pub const MAX_IDS: usize = 64;

/// The maximum number of items on one page of a list.
pub const MAX_PAGE: usize = 200;
