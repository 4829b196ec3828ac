//! Reading a bundle: frame by frame, in bounded memory, as far as it goes.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use ed25519_dalek::{Signature, SigningKey, VerifyingKey};

use super::{
    chunk::{self, MAX_CHUNK_BYTES, MAX_STORED},
    error::{BundleError, Damage},
    format::{
        BundleId, FRAME, FileKind, FrameHead, FrameKind, Head, Header, MAX_HEADER, MAX_RECIPIENTS, MAX_SECTIONS,
        Manifest, PREFIX, Trailer, Transcript, VERSION,
    },
    note,
    seal::{self, Key},
};
use crate::domain::{DeviceId, SignedEvent};

/// The most damages that are spelled out.
const SPELLED_OUT: usize = 20;

/// A part of a bundle, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// What it says of itself.
    Manifest(Manifest),
    /// The beginning of a section.
    Head(u32, Head),
    /// Events of a section, of sound form, their signatures not checked.
    Events(u32, Vec<SignedEvent>),
}

/// How a bundle ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// All of it was there, unchanged, and the signature of its maker verifies.
    pub whole: bool,
    /// What could not be used, the first twenty.
    pub damages: Vec<Damage>,
    /// How many there were besides.
    pub more_damages: u64,
    /// Sections that are not for this device.
    pub closed: u64,
}

/// A bundle that is being read.
pub struct BundleReader<R> {
    input: R,
    id: BundleId,
    header: Header,
    /// Keys by section; `None` where the bundle is open.
    keys: Option<BTreeMap<u32, Key>>,
    transcript: Transcript,
    offset: u64,
    frames: u64,
    /// The kind and section of the last frame: they only go forward.
    last: Option<(FrameKind, u32)>,
    /// Events so far, by what their frames hold; of closed sections they are unknown.
    events: u64,
    ended: bool,
    ending: Ending,
}

impl<R: Read> BundleReader<R> {
    /// Reads the header, and takes the keys that are sealed to the device whose key this is.
    ///
    /// # Errors
    /// What is wrong with the header, or that the bundle is not sealed to this device.
    pub fn new(mut input: R, key: &SigningKey) -> Result<Self, BundleError> {
        let device = DeviceId(key.verifying_key().to_bytes());
        let bytes = note::read_prefixed(&mut input, FileKind::Bundle, VERSION, MAX_HEADER)?;
        let offset = (PREFIX + bytes.len()) as u64;
        let damaged = |what: String| BundleError::Header { offset, what };
        let header: Header = minicbor::decode(&bytes).map_err(|error| damaged(error.to_string()))?;
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
                    return Err(BundleError::NotForUs { sealed_to, device });
                };
                Some(seal::unwrap(envelope, (&header.nonce, header.team, header.from), key)?.into_iter().collect())
            }
        };
        let id = BundleId::of(&bytes);
        let ending = Ending {
            closed: keys.as_ref().map_or(0, |keys: &BTreeMap<u32, Key>| {
                (0..header.sections).filter(|section| !keys.contains_key(section)).count() as u64
            }),
            ..Ending::default()
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
            ended: false,
            ending,
        })
    }

    /// The bundle's name.
    pub fn id(&self) -> BundleId {
        self.id
    }

    /// What stands open at its beginning.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How it ended; of use once [`Iterator::next`] gave nothing more.
    pub fn ending(self) -> Ending {
        self.ending
    }

    fn damage(&mut self, offset: u64, what: impl Into<String>) {
        if self.ending.damages.len() < SPELLED_OUT {
            self.ending.damages.push(Damage { offset, frame: self.frames, what: what.into() });
        } else {
            self.ending.more_damages += 1;
        }
    }

    /// The rest cannot be read.
    fn stop(&mut self, offset: u64, what: impl Into<String>) {
        self.damage(offset, what);
        self.ended = true;
    }

    /// One frame; `None` where it holds nothing for this device, is damaged, or is the end.
    fn frame(&mut self) -> Option<Item> {
        let begin = self.offset;
        let mut bytes = [0; FRAME];
        if let Err(error) = self.input.read_exact(&mut bytes) {
            self.stop(begin, cut(&error));
            return None;
        }
        let (fields, check) = bytes.split_at(13);
        let (fields, check) = (fixed::<13>(fields), fixed::<32>(check));
        let Some(head) = FrameHead::read(&fields) else {
            self.stop(begin, "the rest of the file cannot be read: no frame begins here");
            return None;
        };
        if head.stored as usize > MAX_STORED || head.plain as usize > MAX_CHUNK_BYTES {
            let what = format!(
                "a frame declares {} bytes, {} unpacked; at most {MAX_CHUNK_BYTES} are allowed",
                head.stored, head.plain
            );
            self.stop(begin, what);
            return None;
        }
        let mut stored = Vec::new();
        match self.input.by_ref().take(u64::from(head.stored)).read_to_end(&mut stored) {
            Ok(length) if length == head.stored as usize => {}
            Ok(_) => {
                self.stop(begin, "the file ends within this frame");
                return None;
            }
            Err(error) => {
                self.stop(begin, cut(&error));
                return None;
            }
        }
        self.offset += (FRAME + stored.len()) as u64;
        let sound = head.check(self.id, self.frames, &stored) == check;
        let item = if sound {
            self.sound_frame(begin, head, &stored)
        } else {
            Err("the frame was changed or moved".to_owned())
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

    fn sound_frame(&mut self, begin: u64, head: FrameHead, stored: &[u8]) -> Result<Option<Item>, String> {
        let place = (head.kind, head.section);
        let follows = |last| if head.kind == FrameKind::Events { last <= place } else { last < place };
        if head.section >= self.header.sections || !self.last.is_none_or(follows) {
            return Err("the frame stands where it does not belong".to_owned());
        }
        self.last = Some(place);
        let opened;
        let packed = match (&self.keys, head.kind) {
            (None, _) | (_, FrameKind::Trailer) => stored,
            (Some(keys), _) => {
                let Some(key) = keys.get(&head.section) else { return Ok(None) };
                opened = seal::open(key, head, self.id, self.frames, stored)
                    .ok_or("the frame does not open: it was not sealed by the one who made the file")?;
                &opened
            }
        };
        let plain = chunk::unpack(packed, head.plain as usize)?;
        let wrong = |error: minicbor::decode::Error| format!("the frame cannot be read: {error}");
        match head.kind {
            FrameKind::Manifest => Ok(Some(Item::Manifest(minicbor::decode(&plain).map_err(wrong)?))),
            FrameKind::Head => {
                let section: Head = minicbor::decode(&plain).map_err(wrong)?;
                section.scope.check().map_err(|error| error.to_string())?;
                Ok(Some(Item::Head(head.section, section)))
            }
            FrameKind::Events => {
                let (events, problems) = chunk::decode(&plain)?;
                self.events += (events.len() + problems.len()) as u64;
                for problem in problems {
                    self.damage(begin, problem);
                }
                Ok(Some(Item::Events(head.section, events)))
            }
            FrameKind::Trailer => {
                self.ended = true;
                let trailer: Trailer = minicbor::decode(&plain).map_err(wrong)?;
                self.check_end(&trailer)?;
                Ok(None)
            }
        }
    }

    fn check_end(&mut self, trailer: &Trailer) -> Result<(), String> {
        if trailer.frames != self.frames {
            return Err(format!("the file ends after {} frames of {}", self.frames, trailer.frames));
        }
        if self.ending.closed == 0 && self.ending.damages.is_empty() && trailer.events != self.events {
            return Err(format!("the file holds {} events and should hold {}", self.events, trailer.events));
        }
        let message = self.transcript.message(trailer.frames, trailer.events);
        let signed = VerifyingKey::from_bytes(&self.header.from.0)
            .and_then(|key| key.verify_strict(&message, &Signature::from_bytes(&trailer.signature)));
        if signed.is_err() {
            return Err("the signature of the one who made the file does not verify".to_owned());
        }
        let mut after = [0];
        match self.input.read(&mut after) {
            Ok(0) => {}
            Ok(_) => return Err("something follows the end of the bundle".to_owned()),
            Err(error) => return Err(cut(&error)),
        }
        self.ending.whole = self.ending.damages.is_empty();
        Ok(())
    }
}

impl<R: Read> Iterator for BundleReader<R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        while !self.ended {
            if let Some(item) = self.frame() {
                return Some(item);
            }
        }
        None
    }
}

fn cut(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file ends here: the rest is missing".to_owned(),
        _ => format!("reading stopped: {error}"),
    }
}

/// An array of a slice whose length is known to be right.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
