//! Reads a bundle frame by frame, in bounded memory, and as far as it is readable.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use ed25519_dalek::{Signature, SigningKey, VerifyingKey};

use super::{
    error::{BundleDamage, BundleError},
    event_chunk::{self, MAX_CHUNK_BYTES, MAX_STORED},
    format::{
        BundleHeader, BundleId, BundleManifest, BundleTrailer, FRAME_HEADER, FileKind, FrameHead, FrameKind,
        MAX_HEADER, MAX_RECIPIENTS, MAX_SECTIONS, PREFIX, SectionHead, Transcript, VERSION,
    },
    note,
    seal::{self, SectionKey},
};
use crate::domain::{DeviceId, SignedEvent};

/// The most damaged parts that are listed.
const MAX_LISTED_DAMAGES: usize = 20;

/// The most ends of chains in the heads of all sections, at about 100 bytes each: those of 300 scopes in which each of
/// 64 devices has ten.
pub(super) const MAX_ENDS: usize = 200_000;

/// A part of a bundle, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum BundleItem {
    /// The description of the bundle.
    Manifest(BundleManifest),
    /// The head of a section.
    Head(u32, SectionHead),
    /// Events of a section. Their form is checked, their signatures are not.
    Events(u32, Vec<SignedEvent>),
}

/// The result of reading a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleReport {
    /// Whether the bundle was whole and unchanged, and its maker's signature is valid.
    pub complete: bool,
    /// The damaged parts, at most twenty.
    pub damages: Vec<BundleDamage>,
    /// The number of damaged parts that are not listed.
    pub more_damages: u64,
    /// Sections that are not sealed to this device.
    pub sealed_sections: u64,
}

pub struct BundleReader<R> {
    input: R,
    id: BundleId,
    header: BundleHeader,
    /// Keys by section; `None` if the bundle is not encrypted.
    keys: Option<BTreeMap<u32, SectionKey>>,
    transcript: Transcript,
    offset: u64,
    frames: u64,
    /// The kind and section of the last frame; the next must not come before them.
    last: Option<(FrameKind, u32)>,
    /// The number of events so far, without those of sealed sections.
    events: u64,
    /// The number of ends of chains in the heads so far.
    ends: usize,
    ended: bool,
    report: BundleReport,
}

impl<R: Read> BundleReader<R> {
    /// Reads the header, and opens the keys that are sealed to the device with this key.
    ///
    /// # Errors
    /// If the header is invalid, or the bundle is not sealed to this device.
    pub fn new(mut input: R, key: &SigningKey) -> Result<Self, BundleError> {
        let device = DeviceId(key.verifying_key().to_bytes());
        let bytes = note::read_prefixed(&mut input, FileKind::Bundle, VERSION, MAX_HEADER)?;
        let offset = (PREFIX + bytes.len()) as u64;
        let damaged = |what: String| BundleError::Header { offset, what };
        let header: BundleHeader = minicbor::decode(&bytes).map_err(|error| damaged(error.to_string()))?;
        if header.sections == 0 || header.sections as usize > MAX_SECTIONS {
            return Err(damaged(format!("{} sections; 1 to {MAX_SECTIONS} are possible", header.sections)));
        }
        let keys = match &header.envelopes {
            None => None,
            Some(envelopes) if envelopes.len() > MAX_RECIPIENTS => {
                return Err(damaged(format!("{} recipients; at most {MAX_RECIPIENTS} are possible", envelopes.len())));
            }
            Some(envelopes) => {
                let Some(envelope) = envelopes.iter().find(|envelope| envelope.device == device) else {
                    let sealed_to = envelopes.iter().map(|envelope| envelope.device).collect();
                    return Err(BundleError::NotARecipient { sealed_to, device, team: header.team });
                };
                Some(seal::open_keys(envelope, (&header.nonce, header.team, header.from), key)?.into_iter().collect())
            }
        };
        let id = BundleId::of(&bytes);
        let report = BundleReport {
            sealed_sections: keys.as_ref().map_or(0, |keys: &BTreeMap<u32, SectionKey>| {
                (0..header.sections).filter(|section| !keys.contains_key(section)).count() as u64
            }),
            ..BundleReport::default()
        };
        Ok(Self {
            input,
            id,
            header,
            keys,
            transcript: Transcript::new(id),
            offset,
            frames: 0,
            last: None,
            events: 0,
            ends: 0,
            ended: false,
            report,
        })
    }

    pub fn id(&self) -> BundleId {
        self.id
    }

    /// Returns the open header.
    pub fn header(&self) -> &BundleHeader {
        &self.header
    }

    /// Returns the bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the result, once [`Iterator::next`] has returned `None`.
    pub fn report(self) -> BundleReport {
        self.report
    }

    fn damage(&mut self, offset: u64, what: impl Into<String>) {
        if self.report.damages.len() < MAX_LISTED_DAMAGES {
            self.report.damages.push(BundleDamage { offset, frame: self.frames, what: what.into() });
        } else {
            self.report.more_damages += 1;
        }
    }

    /// Stops reading, because the rest is unreadable.
    fn stop(&mut self, offset: u64, what: impl Into<String>) {
        self.damage(offset, what);
        self.ended = true;
    }

    /// Reads one frame; `None` if it holds nothing for this device, is damaged, or is the end.
    fn frame(&mut self) -> Option<BundleItem> {
        let begin = self.offset;
        let mut bytes = [0; FRAME_HEADER];
        if let Err(error) = self.input.read_exact(&mut bytes) {
            self.stop(begin, read_error(&error));
            return None;
        }
        let (fields, check) = bytes.split_at(13);
        let (fields, check) = (fixed::<13>(fields), fixed::<32>(check));
        let Some(head) = FrameHead::read(&fields) else {
            self.stop(begin, "the rest of the file cannot be read: the next part is missing or damaged");
            return None;
        };
        if head.stored as usize > MAX_STORED || head.plain as usize > MAX_CHUNK_BYTES {
            let what = format!(
                "a part declares {} bytes, {} unpacked; at most {MAX_CHUNK_BYTES} are allowed",
                head.stored, head.plain
            );
            self.stop(begin, what);
            return None;
        }
        let mut stored = Vec::new();
        match self.input.by_ref().take(u64::from(head.stored)).read_to_end(&mut stored) {
            Ok(length) if length == head.stored as usize => {}
            Ok(_) => {
                self.stop(begin, "the file ends within this part");
                return None;
            }
            Err(error) => {
                self.stop(begin, read_error(&error));
                return None;
            }
        }
        self.offset += (FRAME_HEADER + stored.len()) as u64;
        let sound = head.check(self.id, self.frames, &stored) == check;
        let item = if sound {
            self.sound_frame(begin, head, &stored)
        } else {
            Err("this part was modified, or moved from another place".to_owned())
        };
        let item = item.unwrap_or_else(|what| {
            self.damage(begin, what);
            None
        });
        if head.kind != FrameKind::Trailer || !sound {
            self.transcript.add(&check);
            self.frames += 1;
        }
        item
    }

    fn sound_frame(&mut self, begin: u64, head: FrameHead, stored: &[u8]) -> Result<Option<BundleItem>, String> {
        let place = (head.kind, head.section);
        let follows = |last| if head.kind == FrameKind::Events { last <= place } else { last < place };
        if head.section >= self.header.sections || !self.last.is_none_or(follows) {
            return Err("this part is out of order".to_owned());
        }
        self.last = Some(place);
        let opened;
        let packed = match (&self.keys, head.kind) {
            (None, _) | (_, FrameKind::Trailer) => stored,
            (Some(keys), _) => {
                let Some(key) = keys.get(&head.section) else { return Ok(None) };
                opened = seal::open(key, head, self.id, self.frames, stored)
                    .ok_or("this part cannot be decrypted: it was not written by the file's sender")?;
                &opened
            }
        };
        let plain = event_chunk::unpack(packed, head.plain as usize)?;
        let wrong = |error: minicbor::decode::Error| format!("this part cannot be read: {error}");
        match head.kind {
            FrameKind::Manifest => Ok(Some(BundleItem::Manifest(minicbor::decode(&plain).map_err(wrong)?))),
            FrameKind::Head => {
                let section: SectionHead = minicbor::decode(&plain).map_err(wrong)?;
                section.scope.check().map_err(|error| error.to_string())?;
                self.ends += section.ends.len();
                if self.ends > MAX_ENDS {
                    return Err(format!("the file names more than {MAX_ENDS} chains of events"));
                }
                Ok(Some(BundleItem::Head(head.section, section)))
            }
            FrameKind::Events => {
                let (events, problems) = event_chunk::decode(&plain)?;
                self.events += (events.len() + problems.len()) as u64;
                for problem in problems {
                    self.damage(begin, problem);
                }
                Ok(Some(BundleItem::Events(head.section, events)))
            }
            FrameKind::Trailer => {
                self.ended = true;
                let trailer: BundleTrailer = minicbor::decode(&plain).map_err(wrong)?;
                self.check_end(&trailer)?;
                Ok(None)
            }
        }
    }

    fn check_end(&mut self, trailer: &BundleTrailer) -> Result<(), String> {
        if trailer.frames != self.frames {
            return Err(format!("the file ends after {} parts of {}", self.frames, trailer.frames));
        }
        if self.report.sealed_sections == 0 && self.report.damages.is_empty() && trailer.events != self.events {
            return Err(format!("the file holds {} events and should hold {}", self.events, trailer.events));
        }
        let message = self.transcript.message(trailer.frames, trailer.events);
        let signed = VerifyingKey::from_bytes(&self.header.from.0)
            .and_then(|key| key.verify_strict(&message, &Signature::from_bytes(&trailer.signature)));
        if signed.is_err() {
            return Err("the signature of the file's maker is invalid".to_owned());
        }
        let mut after = [0];
        match self.input.read(&mut after) {
            Ok(0) => {}
            Ok(_) => return Err("there are extra bytes after the end of the bundle".to_owned()),
            Err(error) => return Err(read_error(&error)),
        }
        self.report.complete = self.report.damages.is_empty();
        Ok(())
    }
}

impl<R: Read> Iterator for BundleReader<R> {
    type Item = BundleItem;

    fn next(&mut self) -> Option<BundleItem> {
        while !self.ended {
            if let Some(item) = self.frame() {
                return Some(item);
            }
        }
        None
    }
}

fn read_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file ends here: the rest is missing".to_owned(),
        _ => format!("reading stopped: {error}"),
    }
}

/// Copies a slice of the right length into an array.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
