//! `ergo models pull`: downloads a model.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use super::{ModelSetup, accept, check_space, choose, unknown};
use crate::{
    cli::{CliError, Context, Exit, status::bytes, ui::SafeText},
    infer::catalogue::{
        CatalogueEntry,
        fetch::{self, FetchError, FetchProgress, FetchTarget, RetryPolicy},
        http_download::HttpSource,
        model_store::FileCondition,
    },
};

/// The minimum time between two updates of the progress line.
const REDRAW: Duration = Duration::from_millis(100);

/// The model and the transfer's options.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Only a file with the catalogue's hash is accepted. HTTPS_PROXY, ALL_PROXY and NO_PROXY are supported.
Without a network, download the file on another machine and run `ergo models import FILE`.")]
pub(super) struct Args {
    /// The model.
    #[arg(value_name = "NAME")]
    name: String,
    /// Download from this URL, such as a mirror.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Use it for its role.
    #[arg(long = "use")]
    choose: bool,
    /// Seconds without data after which the transfer counts as interrupted.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

/// Runs the subcommand.
pub(super) fn run(args: &Args, setup: &ModelSetup, cx: &mut Context) -> Result<Exit, CliError> {
    let entry = setup.catalogue.named(&args.name).ok_or_else(|| unknown(&args.name, setup))?;
    if args.choose {
        setup.refuse_if_set(entry.role)?;
    }
    if entry.embedded {
        return finish(entry, "embedded", args.choose, setup, cx);
    }
    let records = setup.model_store.load()?;
    let installed = records.named(&entry.name).filter(|model| model.sha256 == entry.sha256);
    if installed.is_some_and(|model| setup.model_store.condition(model) == FileCondition::Good) {
        return finish(entry, "already_installed", args.choose, setup, cx);
    }
    // An existing file without a record is used if its hash matches.
    let file = PathBuf::from(&entry.file);
    let target = setup.model_store.path_of(&file);
    if std::fs::metadata(&target).is_ok_and(|meta| meta.len() == entry.bytes)
        && accept::hash(&target, entry.bytes, cx)? == entry.sha256
    {
        accept::record(setup, accept::record_of_entry(entry, file), &target)?;
        return finish(entry, "already_installed", args.choose, setup, cx);
    }
    let address = address(args, entry, setup)?;
    let wanted = FetchTarget { bytes: entry.bytes, sha256: entry.sha256, target: target.clone() };
    let part = std::fs::metadata(wanted.part()).map_or(0, |meta| meta.len());
    check_space(setup, entry.bytes.saturating_sub(part))?;
    cx.ui.note(text!("Downloading {} ({}, {}) from {}", entry.name, bytes(entry.bytes), entry.licence, address));
    let mut source = HttpSource::new(&address, Duration::from_secs(args.timeout));
    let mut shown = ProgressDisplay::new(entry, part);
    let fetched = fetch::fetch(&wanted, &mut source, RetryPolicy::default(), &thread::sleep, &mut |step| {
        shown.step(&step, cx);
    });
    cx.ui.progress_done();
    fetched.map_err(|error| explain(error, entry, setup))?;
    accept::record(setup, accept::record_of_entry(entry, file), &target)?;
    finish(entry, "installed", args.choose, setup, cx)
}

/// Returns the URL of the file.
fn address(args: &Args, entry: &CatalogueEntry, setup: &ModelSetup) -> Result<String, CliError> {
    let import = "`ergo models import FILE` installs it from a file";
    if setup.config.models.offline {
        let place = setup.paths.config.display();
        return Err(CliError::usage(format_args!(
            "{} cannot be downloaded: {place} sets `offline = true`",
            entry.name
        ))
        .hint(format_args!("{import}; it is recognised by its hash")));
    }
    match (&args.url, &entry.url) {
        (Some(url), _) if url.starts_with("https://") || url.starts_with("http://") => Ok(url.clone()),
        (Some(url), _) => Err(CliError::usage(format_args!("invalid URL “{url}”"))
            .hint(format_args!("it must begin with https:// or http://; {import}"))),
        (None, Some(url)) => Ok(url.clone()),
        (None, None) => Err(CliError::usage(format_args!("no download URL is known for {}", entry.name))
            .hint(format_args!("see its publisher's page, {}; `--url` sets a URL, and {import}", entry.page))),
    }
}

fn finish(
    entry: &CatalogueEntry,
    result: &'static str,
    choose: bool,
    setup: &ModelSetup,
    cx: &mut Context,
) -> Result<Exit, CliError> {
    if !cx.ui.json && !cx.ui.quiet {
        match result {
            "embedded" => cx.ui.line(text!("{} is built in and need not be downloaded.", entry.name)),
            "already_installed" => cx.ui.line(text!("{} is already installed.", entry.name)),
            _ => cx.ui.line(text!("Installed {} ({}).", entry.name, bytes(entry.bytes))),
        }
    }
    choose::finish(setup, entry.role, &entry.name, result, choose, cx)
}

fn explain(error: FetchError, entry: &CatalogueEntry, setup: &ModelSetup) -> CliError {
    let again = format!("`ergo models pull {}` resumes the download", entry.name);
    let import = "or download the file on another machine and run `ergo models import FILE` here";
    let folder = setup.model_store.folder().display();
    match error {
        FetchError::Refused(message) => {
            CliError::usage(message).hint(format_args!("see {}, or set another URL with `--url`", entry.page))
        }
        FetchError::Unreachable(message) => CliError::new(Exit::Unreachable, message)
            .hint("check the network, and HTTPS_PROXY if there is a proxy")
            .hint(import),
        FetchError::GaveUp { why, attempts, kept: 0 } => {
            CliError::new(Exit::Unreachable, format_args!("{why} ({attempts} attempts)")).hint(import)
        }
        FetchError::GaveUp { why, attempts, kept } => CliError::new(
            Exit::Unreachable,
            format_args!("{why} ({attempts} attempts); {} of {} are kept", bytes(kept), bytes(entry.bytes)),
        )
        .hint(again),
        FetchError::OtherSize { .. } | FetchError::OtherHash { .. } => CliError::internal(&error).hint(format_args!(
            "{} must be the file that {} publishes; set its URL with `--url`",
            entry.file, entry.publisher
        )),
        FetchError::DiskFull { done, total } => CliError::internal(format_args!(
            "the disk of {folder} is full after {} of {}; the partial download was deleted to keep space for the store",
            bytes(done),
            bytes(total)
        ))
        .hint("free some space and pull again"),
        FetchError::Busy => CliError::usage(format_args!("another command is downloading {}", entry.name)),
        FetchError::File { .. } => {
            CliError::internal(&error).hint(format_args!("check the owner and the permissions of {folder}"))
        }
    }
}

/// Progress: one line that is overwritten on a terminal, otherwise a line per 10 %.
struct ProgressDisplay<'a> {
    entry: &'a CatalogueEntry,
    begin: Instant,
    /// Bytes that existed when the transfer started or resumed.
    from: u64,
    drawn: Option<Instant>,
    /// The last tenth of the download that was reported without a terminal.
    tenth: u64,
}

impl<'a> ProgressDisplay<'a> {
    fn new(entry: &'a CatalogueEntry, from: u64) -> Self {
        Self { entry, begin: Instant::now(), from, drawn: None, tenth: from * 10 / entry.bytes.max(1) }
    }

    fn step(&mut self, step: &FetchProgress, cx: &mut Context) {
        let name = &self.entry.name;
        match step {
            FetchProgress::Downloaded { bytes, total_bytes } => self.show(*bytes, *total_bytes, cx),
            FetchProgress::Resumed { from } => {
                (self.begin, self.from) = (Instant::now(), *from);
                note(cx, format_args!("resuming {name} after {}", bytes(*from)));
            }
            FetchProgress::Restarted { why } => {
                (self.begin, self.from, self.tenth) = (Instant::now(), 0, 0);
                note(cx, format_args!("Restarting: {why}"));
            }
            FetchProgress::Retrying { why, after } => {
                let wait =
                    if after.is_zero() { String::new() } else { format!(" in {} s", after.as_secs_f32().ceil()) };
                note(cx, format_args!("{why}; retrying{wait}"));
            }
            FetchProgress::Checking => cx.ui.progress(text!("{}  verifying the hash …", name)),
        }
    }

    fn show(&mut self, done: u64, total: u64, cx: &mut Context) {
        if cx.ui.progress {
            if self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
                self.drawn = Some(Instant::now());
                cx.ui.progress(progress(&self.entry.name, done, total, self.from, self.begin.elapsed()));
            }
        } else if done * 10 / total.max(1) > self.tenth {
            self.tenth = done * 10 / total.max(1);
            cx.ui.note(text!("{}  {} %", self.entry.name, self.tenth * 10));
        }
    }
}

/// Writes a line that stays above the progress line.
fn note(cx: &mut Context, text: std::fmt::Arguments<'_>) {
    cx.ui.progress_done();
    cx.ui.note(text!("{}", text));
}

/// Formats a line of progress, with speed and remaining time if they are known.
fn progress(name: &str, done: u64, total: u64, from: u64, took: Duration) -> SafeText {
    let share = done * 100 / total.max(1);
    let line = text!("{}  {} of {}  {} %", name, bytes(done), bytes(total), share);
    let speed = done.saturating_sub(from) as f64 / took.as_secs_f64().max(f64::EPSILON);
    if took >= Duration::from_secs(1) && speed >= 1.0 {
        let left = total.saturating_sub(done) as f64 / speed;
        return text!("{}  {}/s  {}", line, bytes(speed as u64), remaining(left as u64));
    }
    line
}

fn remaining(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s left"),
        60..3_600 => format!("{} min left", seconds.div_ceil(60)),
        _ => format!("{} h {} min left", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_speed_and_what_remains_of_what_came_in_this_run() {
        let line = |done, from, seconds| progress("m", done, 1_000_000, from, Duration::from_secs(seconds));
        assert_eq!(line(500_000, 0, 5), "m  500.0 kB of 1.0 MB  50 %  100.0 kB/s  5 s left");
        assert_eq!(line(500_000, 400_000, 1), "m  500.0 kB of 1.0 MB  50 %  100.0 kB/s  5 s left");
        assert_eq!(line(500_000, 0, 0), "m  500.0 kB of 1.0 MB  50 %", "nothing is known yet");
        let shown: Vec<_> = [59, 61, 3_600, 7_265].into_iter().map(remaining).collect();
        assert_eq!(shown, ["59 s left", "2 min left", "1 h 0 min left", "2 h 1 min left"]);
    }
}
