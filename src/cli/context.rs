//! What a verb needs: the flags, the output, and later the daemon and the scope.

use super::{args::Globals, error::CliError, ui::Ui};

/// The surroundings of a verb.
pub(crate) struct Context {
    /// The flags that every verb understands.
    pub(crate) globals: Globals,
    /// Where output goes.
    pub(crate) ui: Ui,
}

impl Context {
    /// Surroundings with these flags.
    pub(crate) fn new(globals: Globals) -> Self {
        let ui = Ui::new(&globals);
        Self { globals, ui }
    }

    /// Runs the future of a verb that speaks to the daemon, on a runtime of this thread alone: nothing else is started.
    pub(crate) fn block_on<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::internal(format_args!("cannot start the runtime: {error}")))?;
        runtime.block_on(work(self))
    }
}
