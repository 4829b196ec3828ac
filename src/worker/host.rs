//! A worker as it sees itself: the daemon at the other end of standard input and output, and limits on what it may take.

use std::{
    fs::File,
    io::{self, BufReader, Write},
    os::fd::AsFd,
    sync::mpsc::{self, Receiver},
    thread,
};

use minicbor::Decode;
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};

use super::frame;

/// Makes this process a worker, and gives what it writes its answers to.
///
/// # Errors
/// Where the system refuses.
pub(crate) fn begin() -> io::Result<File> {
    // Frames go to the real standard output; whatever a library prints goes to the log.
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    tell_panics();
    // What the system refuses is no reason not to serve. No core dumps: they would hold what the worker holds.
    let _refused = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    Ok(output)
}

/// Writes the words of a panic to standard error, as one line.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let what =
            text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text)).unwrap_or("for an unknown reason");
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        let _gone = writeln!(io::stderr(), "ERROR it panicked: {}{place}", what.replace('\n', " "));
    }));
}

/// Limits what this process may take of a resource.
pub(crate) fn limit(resource: Resource, most: u64) {
    let _refused = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
}

/// Limits what this process may take of a resource, for now.
pub(crate) fn renew(resource: Resource, most: u64) {
    let maximum = getrlimit(resource).maximum;
    let _refused = setrlimit(resource, Rlimit { current: Some(maximum.map_or(most, |end| end.min(most))), maximum });
}

/// Reads messages beside the work, so that the end of the daemon is seen at once, and ends this process with it. `each` sees
/// every message first, and hands on what is to be worked on.
///
/// # Errors
/// Where no thread can be started.
pub(crate) fn listen<Q>(
    longest: usize,
    mut each: impl FnMut(Q) -> Option<Q> + Send + 'static,
) -> io::Result<Receiver<Q>>
where
    Q: for<'b> Decode<'b, ()> + Send + 'static,
{
    let (send, asks) = mpsc::channel();
    let listen = move || {
        let mut input = BufReader::new(io::stdin());
        loop {
            match frame::read::<Q>(&mut input, longest) {
                Ok(Some(ask)) => {
                    if each(ask).is_some_and(|ask| send.send(ask).is_err()) {
                        return;
                    }
                }
                Ok(None) | Err(_) => die(),
            }
        }
    };
    thread::Builder::new().name("listen".to_owned()).stack_size(256 * 1024).spawn(listen)?;
    Ok(asks)
}

/// The error of a worker that was not started by the daemon.
pub(crate) fn not_by_hand() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "`ergo worker` is started by the daemon, not by hand")
}

/// Ends this process in the middle of whatever it computes, without the cleaning up that the threads of a library would trip
/// over.
fn die() {
    let _unreachable = kill_process(getpid(), Signal::KILL);
}
