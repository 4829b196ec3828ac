//! The running long tasks and their progress, for clients that wait for one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    api::{LongTask, LongTasks},
    engine::{StoreProgress, StoreStep},
};

/// The running tasks.
#[derive(Debug, Default)]
pub(super) struct RunningTasks {
    /// The number of the task that was begun last, and the running tasks by number.
    running: Mutex<(u64, BTreeMap<u64, LongTask>)>,
}

/// A running task. Dropping it removes the task from the list.
pub(super) struct TaskHandle {
    tasks: Arc<RunningTasks>,
    number: u64,
}

impl RunningTasks {
    /// Adds a task named `check` or `backup`.
    pub(super) fn begin(self: &Arc<Self>, task: &str) -> TaskHandle {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.0 += 1;
        let number = running.0;
        running.1.insert(number, LongTask { task: task.to_owned(), ..LongTask::default() });
        TaskHandle { tasks: Arc::clone(self), number }
    }

    /// Returns the running tasks, the newest last.
    pub(super) fn view(&self) -> LongTasks {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        LongTasks { items: running.1.values().cloned().collect() }
    }
}

impl StoreProgress for TaskHandle {
    fn at(&mut self, step: StoreStep) {
        let StoreStep { doing, unit, done, total } = step;
        let mut running = self.tasks.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = running.1.get_mut(&self.number) {
            let same = task.doing == doing;
            (task.done, task.total) = (done, total);
            if !same {
                (task.doing, task.unit) = (doing.to_owned(), unit.to_owned());
            }
        }
    }
}

impl Drop for TaskHandle {
    fn drop(&mut self) {
        self.tasks.running.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_listed_with_its_state_until_it_ends() {
        let tasks = Arc::new(RunningTasks::default());
        let mut check = tasks.begin("check");
        let backup = tasks.begin("backup");
        check.at(StoreStep { doing: "checking signatures", unit: "events", done: 5, total: 9 });
        let items = tasks.view().items;
        assert_eq!(items.iter().map(|task| task.task.as_str()).collect::<Vec<_>>(), ["check", "backup"]);
        assert_eq!((items[0].doing.as_str(), items[0].done, items[0].total), ("checking signatures", 5, 9));
        assert_eq!(items[1].doing, "");
        drop(check);
        assert_eq!(tasks.view().items.len(), 1);
        drop(backup);
        assert_eq!(tasks.view(), LongTasks::default());
    }
}
