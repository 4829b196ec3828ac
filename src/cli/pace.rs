//! Shows the progress of long tasks: on a terminal as one line that is overwritten, elsewhere as a line from time to time once a
//! task takes long.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use super::ui::Ui;
use crate::{api::LongTask, client::Client};

/// The minimum time between two updates of the line on a terminal.
const REDRAW: Duration = Duration::from_millis(100);

/// Without a terminal, the time from the start of the task to the first line.
const FIRST_LINE: Duration = Duration::from_secs(5);

/// Without a terminal, the time between two lines.
const NEXT_LINE: Duration = Duration::from_secs(10);

/// The interval at which the daemon is asked for its progress.
const POLL: Duration = Duration::from_millis(300);

/// Decides when to show a line of progress, and formats it.
#[derive(Debug)]
pub(crate) struct ProgressPace {
    terminal: bool,
    /// The earliest time of the next line, since the task began.
    next: Duration,
    /// The current step, the time at which it began, and what was already done then.
    step: Option<(String, Duration, u64)>,
}

impl ProgressPace {
    /// Creates the pace of one task.
    pub(crate) fn new(terminal: bool) -> Self {
        Self { terminal, next: if terminal { Duration::ZERO } else { FIRST_LINE }, step: None }
    }

    /// Returns the line to show if one is due; `at` is the time since the task began.
    pub(crate) fn tell(&mut self, at: Duration, task: &LongTask) -> Option<String> {
        if self.step.as_ref().is_none_or(|(doing, ..)| *doing != task.doing) {
            self.step = Some((task.doing.clone(), at, task.done));
        }
        if at < self.next || task.doing.is_empty() {
            return None;
        }
        self.next = at + if self.terminal { REDRAW } else { NEXT_LINE };
        let (_, begun, before) = self.step.as_ref()?;
        let mut line = task.doing.clone();
        if task.total > 0 {
            let _ = write!(line, ": {} of {} {}", grouped(task.done), grouped(task.total), task.unit);
            let (seconds, done) = (at.saturating_sub(*begun).as_secs_f64(), task.done.saturating_sub(*before));
            // A rate over the first moments means nothing.
            if seconds >= 0.5 && done > 0 {
                let _ = write!(line, " ({} a second)", grouped((done as f64 / seconds) as u64));
            }
        }
        Some(line)
    }
}

/// Shows the progress of a task of this process.
pub(crate) struct ShownTask<'a> {
    ui: &'a mut Ui,
    pace: ProgressPace,
    begun: Instant,
}

impl<'a> ShownTask<'a> {
    pub(crate) fn new(ui: &'a mut Ui) -> Self {
        Self { pace: ProgressPace::new(ui.progress), ui, begun: Instant::now() }
    }

    /// Shows the progress if a line is due.
    pub(crate) fn at(&mut self, task: &LongTask) {
        if let Some(line) = self.pace.tell(self.begun.elapsed(), task) {
            if self.pace.terminal {
                self.ui.progress(text!("{} …", line));
            } else {
                self.ui.note(text!("{} …", line));
            }
        }
    }
}

impl Drop for ShownTask<'_> {
    fn drop(&mut self) {
        self.ui.progress_done();
    }
}

/// Waits for a call for which the daemon runs a long task (`check`, `backup`), and shows the progress of the task.
pub(crate) async fn with_progress<T>(ui: &mut Ui, client: &Client, task: &str, call: impl Future<Output = T>) -> T {
    let mut shown = ShownTask::new(ui);
    let mut call = std::pin::pin!(call);
    loop {
        let asked = async {
            tokio::time::sleep(POLL).await;
            client.long_tasks().await
        };
        tokio::select! {
            done = &mut call => return done,
            // If the daemon does not report its progress, only the call is waited for.
            tasks = asked => if let Some(state) = tasks.ok().and_then(|all| all.items.into_iter().rev().find(|one| one.task == task)) {
                shown.at(&state);
            }
        }
    }
}

/// Formats a number with commas between thousands: `12,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(doing: &str, done: u64, total: u64) -> LongTask {
        LongTask { task: "check".into(), doing: doing.into(), unit: "events".into(), done, total }
    }

    fn millis(at: u64) -> Duration {
        Duration::from_millis(at)
    }

    #[test]
    fn a_terminal_sees_counts_and_a_rate_at_most_ten_times_a_second() {
        let mut pace = ProgressPace::new(true);
        assert_eq!(pace.tell(millis(0), &task("checking the file", 0, 0)).unwrap(), "checking the file");
        assert_eq!(pace.tell(millis(50), &task("checking the file", 0, 0)), None);
        let line = pace.tell(millis(1_000), &task("checking signatures", 0, 1_234_567)).unwrap();
        assert_eq!(line, "checking signatures: 0 of 1,234,567 events");
        let line = pace.tell(millis(3_000), &task("checking signatures", 24_000, 1_234_567)).unwrap();
        assert_eq!(line, "checking signatures: 24,000 of 1,234,567 events (12,000 a second)");
        // The rate is that of the step, not of the whole task.
        pace.tell(millis(9_000), &task("copying", 0, 100)).unwrap();
        let line = pace.tell(millis(10_000), &task("copying", 50, 100)).unwrap();
        assert_eq!(line, "copying: 50 of 100 events (50 a second)");
    }

    #[test]
    fn without_a_terminal_a_short_task_says_nothing_and_a_long_one_a_line_now_and_then() {
        let mut pace = ProgressPace::new(false);
        let shown: Vec<u64> = (0..40)
            .filter(|second| pace.tell(millis(second * 1_000), &task("checking", *second, 40)).is_some())
            .collect();
        assert_eq!(shown, [5, 15, 25, 35]);
    }

    #[test]
    fn thousands_stand_apart() {
        let shown: Vec<_> = [0, 999, 1_000, 12_345, 1_000_000].into_iter().map(grouped).collect();
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }
}
