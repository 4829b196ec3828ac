//! The worker's side of a worker process: reads requests from standard input, writes answers to standard output,
//! and sets resource limits.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    os::fd::AsFd,
    sync::mpsc::{self, Receiver},
    thread,
};

use minicbor::Decode;
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};

use super::frame;

/// Turns this process into a worker and returns the file that answers are written to.
///
/// # Errors
/// If the system refuses to duplicate standard output.
pub(crate) fn enter() -> io::Result<File> {
    // Answers go to the real standard output; output of libraries goes to standard error, and so to the log.
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    log_panics();
    // No core dumps: they would contain claims and peers' bytes. The worker runs even if the system refuses the limit.
    let _refused = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    Ok(output)
}

/// Writes each panic to standard error as one line, which the daemon logs.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let what =
            text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text)).unwrap_or("for an unknown reason");
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        let _gone = writeln!(io::stderr(), "ERROR it panicked: {}{place}", what.replace('\n', " "));
    }));
}

/// Lowers the hard and the soft limit of a resource for the rest of this process.
pub(crate) fn set_limit(resource: Resource, most: u64) {
    let _refused = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
}

/// Sets the soft limit of a resource. A later call can raise it again, up to the hard limit.
pub(crate) fn set_soft_limit(resource: Resource, most: u64) {
    let maximum = getrlimit(resource).maximum;
    let _refused = setrlimit(resource, Rlimit { current: Some(maximum.map_or(most, |end| end.min(most))), maximum });
}

/// Reads requests on a separate thread, so that this process ends as soon as the daemon does. `each` is called
/// with every request first, and returns those that must be processed.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn listen<Q>(
    max_frame: usize,
    mut each: impl FnMut(Q) -> Option<Q> + Send + 'static,
) -> io::Result<Receiver<Q>>
where
    Q: for<'b> Decode<'b, ()> + Send + 'static,
{
    let (send, requests) = mpsc::channel();
    let listen = move || {
        let mut input = BufReader::new(io::stdin());
        while let Some(request) = next_request(&mut input, max_frame, &mut io::stderr()) {
            if each(request).is_some_and(|request| send.send(request).is_err()) {
                return;
            }
        }
        kill_self();
    };
    thread::Builder::new().name("listen".to_owned()).stack_size(256 * 1024).spawn(listen)?;
    Ok(requests)
}

/// Reads a request. Returns `None` at the end of the input, or if the request is invalid, which is written to `log`.
fn next_request<Q: for<'b> Decode<'b, ()>>(input: &mut impl Read, max_frame: usize, log: &mut impl Write) -> Option<Q> {
    frame::read(input, max_frame).unwrap_or_else(|error| {
        let _gone = writeln!(log, "ERROR it received an invalid request: {error}");
        None
    })
}

/// Returns the error for a worker that a person started.
pub(crate) fn not_started_by_daemon() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "`ergo worker` is started by the daemon, not by hand")
}

/// Kills this process in the middle of its work: a regular exit would run the destructors of libraries whose
/// threads still run.
fn kill_self() {
    let _unreachable = kill_process(getpid(), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_request_is_reported_and_the_end_of_the_input_is_not() {
        let read = |input: &[u8]| {
            let mut log = Vec::new();
            let request = next_request::<u32>(&mut &*input, 8, &mut log);
            (request, String::from_utf8(log).unwrap())
        };
        assert_eq!(read(&frame::encode(8, &7_u32).unwrap()), (Some(7), String::new()));
        assert_eq!(read(&[]), (None, String::new()));
        let (request, log) = read(&[9, 0, 0, 0, 1]);
        assert_eq!(request, None);
        assert_eq!(log, "ERROR it received an invalid request: a frame of 9 bytes; at most 8 are allowed\n");
        assert!(read(&[1, 0, 0, 0, 0xff]).1.starts_with("ERROR it received an invalid request: "));
    }
}
