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

/// Measures. Fails only where a file that is there cannot be read.
pub fn run(options: &Options) -> Result<Report, DataError> {
    let data = data::Data::load(&options.data)?;
    let mut report = Report { skipped: data.skipped.clone(), ..Report::default() };
    for way in Ways::ALL {
        let mut path = way.open();
        report.rows.push(score::row(way.name(), path.as_mut(), &data, options.explain));
    }
    let mut path: Box<dyn GuardPath> = Ways::Default.open();
    for set in &data.facts {
        report.fact_consolidation.push(facts::measure(path.as_mut(), set));
    }
    Ok(report)
}
