//! The size of the store by kind of data.

use crate::{
    api::{ApiError, KindSize, SizeByKind, SizeQuery},
    engine::Engine,
    store::DataKind,
};

impl Engine {
    /// `GET /size`: the size of the store, by kind of data if requested, and what a compaction would remove.
    pub fn size_by_kind(&self, query: &SizeQuery) -> Result<SizeByKind, ApiError> {
        self.readers.lend().snapshot(|reader| {
            let view = |(kind, bytes)| KindSize { kind: word(kind).to_owned(), bytes };
            let sizes = if query.by_kind { reader.size_by_kind()? } else { reader.size_in_use()? };
            let mut parts: Vec<_> = sizes.into_iter().map(view).collect();
            parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
            let compact = query.before.map(|before| reader.compactable(before)).transpose()?.unwrap_or_default();
            Ok(SizeByKind { parts, compact_events: compact.events, compact_bytes: compact.bytes })
        })
    }
}

fn word(kind: DataKind) -> &'static str {
    match kind {
        DataKind::SharedLog => "shared log",
        DataKind::LocalLog => "local log",
        DataKind::Vectors => "vectors",
        DataKind::Projections => "projections",
        DataKind::Sync => "sync",
        DataKind::InUse => "in use",
        DataKind::Free => "free",
        DataKind::WriteAheadLog => "write-ahead log",
    }
}
