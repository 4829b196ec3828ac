//! `ergo bench guard`: how well the guard tells contradictions from everything else, on a folder of labelled data.
//!
//! A row of the report is one way to compare: `lexical` (token overlap with cues of negation, antonyms and numbers), `structural` (norm
//! against norm only), `default` (what ships). Precision and recall count tier `block` on the label `contradiction`, at the shipped
//! thresholds. Replays store a blocked row all the same and go on.

mod data;
mod facts;
mod lexical;
mod memory;
mod path;
mod replay;
mod report;
mod score;
mod shipped;

use std::path::PathBuf;

pub use data::DataError;
pub use report::{Facts, FalseRate, Found, Millis, Pairs, Phenomenon, RecallAt, Report, Row, Supersede};
pub use score::Wrong;

use path::{GuardPath, Ways};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder with the data files; an absent file is skipped, and named in the report.
    pub data: PathBuf,
    /// Keep a line for each wrong answer, with the reason that the guard gave.
    pub explain: bool,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The data could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The private store of the measurement could not be opened.
    #[error("the store for the measurement could not be opened: {0}")]
    Store(#[from] crate::api::ApiError),
}

/// Measures. A write that fails is counted as clean, and named in the report.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let data = data::Data::load(&options.data)?;
    let mut report = Report { skipped: data.skipped.clone(), ..Report::default() };
    let note = |name: &str, path: &dyn GuardPath, failed: &mut Vec<String>| {
        if let Some(first) = path.failures().first() {
            failed.push(format!("{name}: {} acts failed, the first: {first}", path.failures().len()));
        }
    };
    for way in Ways::ALL {
        let mut path = way.open()?;
        report.rows.push(score::row(way.name(), path.as_mut(), &data, options.explain));
        note(way.name(), path.as_ref(), &mut report.failed);
    }
    for set in &data.facts {
        let mut path = Ways::Default.open()?;
        report.fact_consolidation.push(facts::measure(path.as_mut(), set));
        note(&set.size, path.as_ref(), &mut report.failed);
    }
    Ok(report)
}
