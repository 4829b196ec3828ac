//! Runs many seeds in parallel, and prints for each failed seed how to run it alone.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use super::tally::Tally;

/// The number of seeds after which a long run reports its progress.
const TOLD_EVERY: u64 = 100;

/// The seeds to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    pub(super) first: u64,
    /// The seed after the last one.
    pub(super) end: u64,
    /// In one of this many worlds, devices sync by their documents; 0 for none.
    pub(super) documents: u64,
}

impl Seeds {
    fn by_documents(self, seed: u64) -> bool {
        self.documents > 0 && seed.is_multiple_of(self.documents)
    }

    /// How to run one of them alone, in the same world.
    fn alone(self, seed: u64) -> String {
        let documents = u8::from(self.by_documents(seed));
        format!(
            "ERGO_SIM_SEED={seed} ERGO_SIM_DOCUMENTS={documents} cargo test --locked --test it simulation::whatever"
        )
    }

    /// Runs them all, whichever fail.
    ///
    /// # Errors
    /// One line for each seed that failed: how to run it alone, and why it failed.
    pub(super) fn run(self, run: impl Fn(u64, bool) -> Tally + Sync) -> Result<Tally, String> {
        let next = AtomicU64::new(self.first);
        let (tally, failed) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
        // Worlds that meet by their documents listen more than they compute.
        let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= self.end {
                            return;
                        }
                        match catch_unwind(AssertUnwindSafe(|| run(seed, self.by_documents(seed)))) {
                            Ok(done) => tally.lock().unwrap().add(&done),
                            Err(why) => failed.lock().unwrap().push((seed, why_of(&*why))),
                        }
                        let done = seed - self.first + 1;
                        if done.is_multiple_of(TOLD_EVERY) {
                            println!(
                                "{done} of {} seeds, {} failed",
                                self.end - self.first,
                                failed.lock().unwrap().len()
                            );
                        }
                    }
                });
            }
        });
        let mut failed = failed.into_inner().unwrap();
        if failed.is_empty() {
            return Ok(tally.into_inner().unwrap());
        }
        failed.sort();
        let lines: Vec<_> = failed.iter().map(|(seed, why)| format!("{}\n  {why}", self.alone(*seed))).collect();
        Err(format!("{} of {} seeds failed; each alone:\n{}", failed.len(), self.end - self.first, lines.join("\n")))
    }
}

fn why_of(why: &(dyn std::any::Any + Send)) -> String {
    let text = why.downcast_ref::<String>().map(String::as_str).or_else(|| why.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next()).unwrap_or("it panicked").to_owned()
}

#[test]
fn every_seed_that_fails_is_named_with_the_command_that_repeats_it() {
    let seeds = Seeds { first: 5, end: 45, documents: 10 };
    let ran = AtomicU64::new(0);
    let world = |seed: u64, documents: bool| {
        ran.fetch_add(1, Ordering::Relaxed);
        assert!(seed != 20 || !documents, "two devices differ");
        assert!(seed != 17, "an event is lost");
        Tally { writes: 1, ..Tally::default() }
    };
    let failures = seeds.run(world).unwrap_err();
    assert_eq!(ran.load(Ordering::Relaxed), 40, "the others run all the same");
    assert_eq!(
        failures,
        "2 of 40 seeds failed; each alone:\n\
         ERGO_SIM_SEED=17 ERGO_SIM_DOCUMENTS=0 cargo test --locked --test it simulation::whatever\n  an event is lost\n\
         ERGO_SIM_SEED=20 ERGO_SIM_DOCUMENTS=1 cargo test --locked --test it simulation::whatever\n  two devices differ"
    );
    // As that command has it: the same seed in the same world.
    for (seed, documents) in [(17, 0), (20, 1)] {
        let alone = Seeds { first: seed, end: seed + 1, documents };
        assert!(alone.run(world).unwrap_err().starts_with("1 of 1 seeds failed"), "{seed}");
    }
    assert_eq!(Seeds { end: 17, ..seeds }.run(world).unwrap().writes, 12);
}
