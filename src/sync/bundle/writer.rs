//! Writes a bundle, frame by frame.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use ed25519_dalek::{Signer, SigningKey};
use minicbor::bytes::ByteArray;

use super::{
    error::BundleError,
    event_chunk::{self, FLUSH_BYTES, MAX_CHUNK_BYTES, MAX_CHUNK_EVENTS},
    format::{
        BundleHeader, BundleId, BundleManifest, BundleTrailer, FileKind, FrameHead, FrameKind, MAGIC, MAX_HEADER,
        MAX_RECIPIENTS, MAX_SECTIONS, SectionHead, Transcript, VERSION,
    },
    seal::{self, Randomness, SectionKey},
};
use crate::domain::{DeviceId, EventId, SignedEvent};

/// A recipient of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    pub device: DeviceId,
    /// The sections that the device may open besides the roster, which every recipient may open.
    pub sections: BTreeSet<u32>,
}

/// The content of a bundle, except its events.
#[derive(Clone, Debug)]
pub struct BundlePlan {
    pub team: EventId,
    /// The time in milliseconds since the Unix epoch.
    pub created: u64,
    /// Fresh randomness, from which all keys are derived.
    pub seed: [u8; 32],
    /// The recipients; `None` if the bundle is not encrypted.
    pub recipients: Option<Vec<Recipient>>,
    /// The description of the bundle.
    pub manifest: BundleManifest,
    /// The sections, the roster first. Exactly as many events as they declare must be written.
    pub heads: Vec<SectionHead>,
}

/// Writes a bundle: events are buffered and written in frames.
pub struct BundleWriter<W> {
    out: W,
    maker: SigningKey,
    id: BundleId,
    transcript: Transcript,
    frames: u64,
    heads: Vec<SectionHead>,
    /// Keys by section; empty if the bundle is not encrypted.
    keys: BTreeMap<u32, SectionKey>,
    section: u32,
    /// Events of the current section so far.
    pushed: u64,
    total: u64,
    pending: Vec<SignedEvent>,
    pending_bytes: usize,
}

impl<W: Write> BundleWriter<W> {
    /// Writes the header and the heads of all sections.
    ///
    /// # Errors
    /// [`BundleError::Limit`] if there are too many sections or recipients, [`BundleError::BadKey`] if a
    /// recipient's key is invalid, and I/O errors.
    pub fn new(mut out: W, maker: &SigningKey, plan: BundlePlan) -> Result<Self, BundleError> {
        let BundlePlan { team, created, seed, recipients, manifest, heads } = plan;
        if heads.is_empty() || heads.len() > MAX_SECTIONS {
            let message =
                format!("{} scopes in one bundle; at most {} fit: export fewer at once", heads.len(), MAX_SECTIONS - 1);
            return Err(BundleError::Limit(message));
        }
        let sections = heads.len() as u32;
        let from = DeviceId(maker.verifying_key().to_bytes());
        let mut random = Randomness::new(seed);
        let nonce = random.bytes();
        let keys: BTreeMap<u32, SectionKey> = match recipients {
            Some(_) => (0..sections).map(|section| (section, random.bytes())).collect(),
            None => BTreeMap::new(),
        };
        let envelopes = match recipients {
            None => None,
            Some(recipients) if recipients.is_empty() || recipients.len() > MAX_RECIPIENTS => {
                let message = format!("{} recipients; a bundle is sealed to 1 to {MAX_RECIPIENTS}", recipients.len());
                return Err(BundleError::Limit(message));
            }
            Some(recipients) => {
                let wrap = |recipient: Recipient| {
                    let may = |section: &u32| *section == 0 || recipient.sections.contains(section);
                    let his: Vec<(u32, SectionKey)> = keys
                        .iter()
                        .filter(|(section, _)| may(section))
                        .map(|(section, key)| (*section, *key))
                        .collect();
                    seal::seal_keys(&his, (&nonce, team, from, recipient.device), &mut random)
                };
                Some(recipients.into_iter().map(wrap).collect::<Result<Vec<_>, _>>()?)
            }
        };
        let header = BundleHeader { nonce: ByteArray::from(nonce), team, from, created, sections, envelopes };
        let header = minicbor::to_vec(&header).unwrap_or_default();
        if header.len() > MAX_HEADER {
            let message = "too many scopes for too many recipients: their keys do not fit into one bundle. Export \
                fewer scopes at once";
            return Err(BundleError::Limit(message.to_owned()));
        }
        out.write_all(&MAGIC)?;
        out.write_all(&[FileKind::Bundle.number(), VERSION])?;
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        let id = BundleId::of(&header);
        let mut writer = Self {
            out,
            maker: maker.clone(),
            id,
            transcript: Transcript::new(id),
            frames: 0,
            heads: Vec::new(),
            keys,
            section: 0,
            pushed: 0,
            total: 0,
            pending: Vec::new(),
            pending_bytes: 0,
        };
        writer.frame(FrameKind::Manifest, 0, &minicbor::to_vec(&manifest).unwrap_or_default())?;
        for (section, head) in (0..).zip(&heads) {
            writer.frame(FrameKind::Head, section, &minicbor::to_vec(head).unwrap_or_default())?;
        }
        writer.heads = heads;
        Ok(writer)
    }

    pub fn id(&self) -> BundleId {
        self.id
    }

    /// Adds an event. Sections must come in order.
    ///
    /// # Errors
    /// [`BundleError::Order`] if its section is already written or unknown, and I/O errors.
    pub fn push(&mut self, section: u32, event: SignedEvent) -> Result<(), BundleError> {
        if section < self.section || section as usize >= self.heads.len() {
            return Err(BundleError::Order(event.id));
        }
        while self.section < section {
            self.close_section()?;
        }
        if self.pending.len() == MAX_CHUNK_EVENTS || self.pending_bytes >= FLUSH_BYTES {
            self.flush()?;
        }
        self.pending_bytes += event_chunk::size(&event);
        self.pending.push(event);
        self.pushed += 1;
        Ok(())
    }

    /// Writes the remaining events and the signed end.
    ///
    /// # Errors
    /// [`BundleError::Limit`] if the number of events of a section differs from its head, and I/O errors.
    pub fn finish(mut self) -> Result<(BundleId, W), BundleError> {
        while (self.section as usize) < self.heads.len() {
            self.close_section()?;
        }
        let message = self.transcript.message(self.frames, self.total);
        let signature = ByteArray::from(self.maker.sign(&message).to_bytes());
        let trailer = BundleTrailer { frames: self.frames, events: self.total, signature };
        self.frame(FrameKind::Trailer, 0, &minicbor::to_vec(&trailer).unwrap_or_default())?;
        self.out.flush()?;
        Ok((self.id, self.out))
    }

    fn close_section(&mut self) -> Result<(), BundleError> {
        self.flush()?;
        if let Some(head) = self.heads.get(self.section as usize)
            && head.events != self.pushed
        {
            let message = format!("{} should have {} events and has {}", head.scope, head.events, self.pushed);
            return Err(BundleError::Limit(message));
        }
        self.total += self.pushed;
        self.pushed = 0;
        self.section += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BundleError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let plain = event_chunk::encode(&self.pending);
        self.pending.clear();
        self.pending_bytes = 0;
        self.frame(FrameKind::Events, self.section, &plain)
    }

    fn frame(&mut self, kind: FrameKind, section: u32, plain: &[u8]) -> Result<(), BundleError> {
        if plain.len() > MAX_CHUNK_BYTES {
            return Err(event_chunk::too_large("a scope's list of devices", plain.len()));
        }
        let packed = event_chunk::pack(plain)?;
        let key = self.keys.get(&section).filter(|_| kind != FrameKind::Trailer);
        let stored = packed.len() + key.map_or(0, |_| seal::TAG_BYTES);
        let head = FrameHead { kind, section, stored: stored as u32, plain: plain.len() as u32 };
        let stored = match key {
            None => packed,
            Some(key) => seal::seal(key, head, self.id, self.frames, &packed)
                .ok_or_else(|| event_chunk::too_large("a frame", plain.len()))?,
        };
        let check = head.check(self.id, self.frames, &stored);
        self.out.write_all(&head.bytes())?;
        self.out.write_all(&check)?;
        self.out.write_all(&stored)?;
        self.transcript.add(&check);
        self.frames += 1;
        Ok(())
    }
}
