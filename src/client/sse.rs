//! A parser of server-sent events that accepts bytes in pieces of any size.

/// The maximum length of an event in bytes, far above what the daemon sends.
const MAX_EVENT: usize = 1024 * 1024;

/// The parser of one stream.
#[derive(Debug, Default)]
pub(super) struct SseReader {
    line: Vec<u8>,
    data: String,
}

/// The error for an event above the maximum length.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl SseReader {
    /// Parses the next bytes and returns the `data` of each event that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut out = Vec::new();
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.end_of_line(&line, &mut out);
            } else {
                self.line.push(byte);
            }
            if self.line.len() + self.data.len() > MAX_EVENT {
                return Err(TooLong);
            }
        }
        Ok(out)
    }

    fn end_of_line(&mut self, line: &[u8], out: &mut Vec<String>) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            if !self.data.is_empty() {
                out.push(std::mem::take(&mut self.data));
            }
            return;
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(&String::from_utf8_lossy(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b": hi\n\nevent: hello\ndata: {\"a\":1}\n\ndata: x\r\ndata: y\r\n\r\nid: 3\n\n";

    #[test]
    fn any_cut_of_the_bytes_gives_the_same_events() {
        for size in 1..STREAM.len() {
            let mut reader = SseReader::default();
            let events: Vec<_> = STREAM.chunks(size).flat_map(|piece| reader.feed(piece).unwrap()).collect();
            assert_eq!(events, ["{\"a\":1}", "x\ny"], "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = SseReader::default();
        assert_eq!(reader.feed(&vec![b'a'; MAX_EVENT + 1]), Err(TooLong));
    }
}
