use std::{cell::RefCell, collections::VecDeque};

use super::*;

const FILE: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The behaviour of a scripted server for one request.
enum Does {
    /// Sends this many bytes from the requested one on, and then resets the connection.
    Cut(usize),
    /// Sends everything from the requested byte on.
    Rest,
    /// Sends the file from its beginning, whichever byte was requested.
    Whole,
    /// Cannot resume.
    NotFromThere,
    /// Reports another size of the file.
    Size(u64),
    /// Fails with a transient error.
    Fails,
}

/// A scripted server, and the requests that it received.
struct Script {
    file: &'static [u8],
    tag: Option<&'static str>,
    does: VecDeque<Does>,
    asked: Vec<Option<ResumeFrom>>,
}

impl Script {
    fn new(does: impl IntoIterator<Item = Does>) -> Self {
        Self { file: FILE, tag: Some("\"v1\""), does: does.into_iter().collect(), asked: Vec::new() }
    }
}

/// A body of some bytes, after which the connection is reset.
struct Reset(&'static [u8]);

impl Read for Reset {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::ErrorKind::ConnectionReset.into()) } else { self.0.read(buffer) }
    }
}

impl FileSource for Script {
    fn open(&mut self, from: Option<&ResumeFrom>) -> Result<SourceResponse, SourceError> {
        self.asked.push(from.cloned());
        let offset = from.map_or(0, |from| from.offset);
        let at = |offset: u64| &self.file[offset as usize..];
        let opened = |offset: u64, total: u64, body: Box<dyn Read>| SourceResponse {
            offset,
            total: Some(total),
            tag: self.tag.map(str::to_owned),
            body,
        };
        let total = self.file.len() as u64;
        match self.does.pop_front().expect("nothing more was to be asked") {
            Does::Cut(bytes) => Ok(opened(offset, total, Box::new(Reset(&at(offset)[..bytes])))),
            Does::Rest => Ok(opened(offset, total, Box::new(at(offset)))),
            Does::Whole => Ok(opened(0, total, Box::new(self.file))),
            Does::NotFromThere => Err(SourceError::CannotResume),
            Does::Size(total) => Ok(opened(offset, total, Box::new(at(offset)))),
            Does::Fails => Err(SourceError::Transient("HTTP 503".into(), Some(Duration::from_secs(7)))),
        }
    }

    fn address(&self) -> &'static str {
        "https://example.org/m.gguf"
    }
}

struct Place {
    _dir: tempfile::TempDir,
    wanted: FetchTarget,
    pauses: RefCell<Vec<Duration>>,
    steps: Vec<FetchProgress>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let wanted =
            FetchTarget { bytes: FILE.len() as u64, sha256: digest::of_bytes(FILE), target: dir.path().join("m.gguf") };
        Self { _dir: dir, wanted, pauses: RefCell::default(), steps: Vec::new() }
    }

    fn fetch(&mut self, source: &mut Script) -> Result<(), FetchError> {
        let pause = |time| self.pauses.borrow_mut().push(time);
        fetch(&self.wanted, source, RetryPolicy::default(), &pause, &mut |step| self.steps.push(step))
    }

    fn part(&self) -> Option<Vec<u8>> {
        fs::read(self.wanted.part()).ok()
    }

    #[track_caller]
    fn whole(&self) {
        assert_eq!(fs::read(&self.wanted.target).unwrap(), FILE);
        assert_eq!((self.part(), self.wanted.tag().exists()), (None, false), "nothing is left over");
    }
}

fn offsets(script: &Script) -> Vec<u64> {
    script.asked.iter().map(|from| from.as_ref().map_or(0, |from| from.offset)).collect()
}

#[test]
fn a_cut_transfer_goes_on_from_where_it_was_cut() {
    let mut place = Place::new();
    let mut script = Script::new([Does::Cut(10), Does::Cut(5), Does::Fails, Does::Rest]);
    place.fetch(&mut script).unwrap();
    place.whole();
    assert_eq!(offsets(&script), [0, 10, 15, 15]);
    assert_eq!(script.asked[1].as_ref().unwrap().tag.as_deref(), Some("\"v1\""), "and only if it is the same file");
    let seconds: Vec<_> = place.pauses.borrow().iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [1, 1, 7], "progress resets the pause; the server's wish counts");
    assert!(place.steps.contains(&FetchProgress::Resumed { from: 15 }), "{:?}", place.steps);
}

#[test]
fn a_part_from_an_earlier_run_is_continued() {
    let mut place = Place::new();
    let cuts = std::iter::once(Does::Cut(20)).chain((0..8).map(|_| Does::Fails));
    let error = place.fetch(&mut Script::new(cuts)).unwrap_err();
    assert_eq!(error, FetchError::GaveUp { why: "HTTP 503".into(), attempts: 6, kept: 20 });
    assert_eq!(place.part().as_deref(), Some(&FILE[..20]));
    let mut script = Script::new([Does::Rest]);
    place.fetch(&mut script).unwrap();
    assert_eq!(offsets(&script), [20]);
    place.whole();
}

#[test]
fn a_server_that_does_not_continue_sends_it_whole() {
    for does in [[Does::Cut(20), Does::Whole], [Does::NotFromThere, Does::Rest]] {
        let mut place = Place::new();
        fs::write(place.wanted.part(), &FILE[..12]).unwrap();
        let mut script = Script::new(does);
        place.fetch(&mut script).unwrap();
        place.whole();
        assert_eq!(script.asked.len(), 2);
        assert!(place.steps.iter().any(|step| matches!(step, FetchProgress::Restarted { .. })), "{:?}", place.steps);
    }
}

#[test]
fn a_part_of_another_file_is_found_by_its_hash_and_fetched_anew_once() {
    let mut place = Place::new();
    fs::write(place.wanted.part(), b"something else").unwrap();
    let mut script = Script { tag: None, ..Script::new([Does::Rest, Does::Rest]) };
    place.fetch(&mut script).unwrap();
    assert_eq!(offsets(&script), [14, 0]);
    place.whole();
    let mut place = Place::new();
    fs::write(place.wanted.part(), [FILE, FILE].concat()).unwrap();
    place.fetch(&mut Script::new([Does::Rest])).unwrap();
    place.whole();
}

#[test]
fn another_file_is_refused_and_removed() {
    let mut place = Place::new();
    place.wanted.sha256 = digest::of_bytes(b"another");
    let error = place.fetch(&mut Script::new([Does::Rest])).unwrap_err();
    assert!(matches!(error, FetchError::OtherHash { .. }), "{error}");
    assert!(error.to_string().contains("deleted"));
    assert_eq!((place.part(), place.wanted.target.exists()), (None, false));
    let mut place = Place::new();
    let error = place.fetch(&mut Script::new([Does::Size(35)])).unwrap_err();
    assert_eq!(error, FetchError::OtherSize { there: 35, wanted: 36 }, "told before it is fetched");
    assert_eq!(place.part(), None, "nothing came, so nothing is kept");
}

#[test]
fn only_one_fetches_at_a_time() {
    let mut place = Place::new();
    let held = open_private(&place.wanted.part()).unwrap();
    held.lock().unwrap();
    assert_eq!(place.fetch(&mut Script::new([])).unwrap_err(), FetchError::Busy);
    drop(held);
    place.fetch(&mut Script::new([Does::Rest])).unwrap();
}

#[test]
fn a_full_disk_is_distinguished_from_other_failures_to_write() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut done = 0;
    let error = copy(&mut &*FILE, &mut Full(10), 36, &mut |more| done += more).unwrap_err();
    let CopyError::Write(error) = error else { panic!("{error:?}") };
    assert_eq!(done, 0, "what was not taken whole does not count");
    let SourceError::Final(reason) = write_error(Path::new("/m.part"), error, 10, 36) else { panic!("no end") };
    assert_eq!(reason, FetchError::DiskFull { done: 10, total: 36 });
    let denied = write_error(Path::new("/m.part"), io::ErrorKind::PermissionDenied.into(), 10, 36);
    assert!(matches!(denied, SourceError::Final(FetchError::File { .. })));
}

#[test]
fn pauses_double_up_to_the_longest() {
    let retry = RetryPolicy::default();
    let seconds: Vec<_> = (1..=8).map(|attempt| retry.pause(attempt).as_secs()).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30, 30]);
}
