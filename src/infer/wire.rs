//! The messages between the daemon and an inference worker: frames that consist of a length (four bytes, little endian)
//! and CBOR.
//!
//! Both are usually the same version of the program. But a daemon continues to run when its file is upgraded, and then
//! starts workers of the new version. So the first message contains the version, and another version is rejected.

use std::io::{self, Write};

use minicbor::{Decode, Encode, bytes::ByteVec};

use super::{Classification, ModelRole, Prompt};
use crate::worker::frame;

/// The version of the messages. Raise it with every change of their form.
pub(super) const VERSION: u32 = 4;

/// The maximum size of a message in bytes: far more than the largest request, 64 statements of 32 KiB.
pub(super) const MAX_FRAME: usize = 16 * 1024 * 1024;

/// A request to the worker.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct InferRequest {
    /// A number that increases with each request. Its response has the same number, and [`InferCommand::Cancel`] that
    /// of the request to cancel.
    #[n(0)]
    pub(super) id: u64,
    #[n(1)]
    pub(super) command: InferCommand,
}

/// The command of a request.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum InferCommand {
    /// The greeting: sent once, as the first request.
    #[n(0)]
    Hello(#[n(0)] InferHello),
    /// Loads the model of a role, replacing the present one.
    #[n(1)]
    Load {
        #[n(0)]
        role: ModelRole,
        #[n(1)]
        path: String,
    },
    #[n(2)]
    Embed(#[n(0)] Vec<String>),
    #[n(3)]
    Classify(#[n(0)] Vec<(String, String)>),
    #[n(4)]
    Generate {
        #[n(0)]
        prompt: Prompt,
        #[n(1)]
        grammar: String,
        #[n(2)]
        max_tokens: u32,
    },
    #[n(5)]
    Answers {
        #[n(0)]
        prompt: Prompt,
        #[n(1)]
        answers: Vec<String>,
    },
    /// Cancels the request with this message's id, which is then answered with [`FailureReason::Cancelled`] unless it
    /// is already done.
    #[n(6)]
    Cancel,
    #[n(7)]
    Likelihood {
        #[n(0)]
        prompt: Prompt,
        #[n(1)]
        answer: String,
    },
}

/// The limits and settings of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct InferHello {
    /// [`VERSION`] of the daemon.
    #[n(0)]
    pub(super) version: u32,
    /// The number of threads that compute.
    #[n(1)]
    pub(super) threads: u32,
    /// The limit of private memory, in bytes; `None` for no limit.
    #[n(2)]
    pub(super) memory: Option<u64>,
    /// The number of layers of the language model that a GPU computes; `None` for all.
    #[n(3)]
    pub(super) gpu_layers: Option<u32>,
    /// The device that computes these layers; `None` for llama.cpp's choice.
    #[n(4)]
    pub(super) device: Option<String>,
    /// The argument of `nice(2)`.
    #[n(5)]
    pub(super) nice: u8,
    /// The folder of the prefix cache; `None` for no cache.
    #[n(6)]
    pub(super) prefixes: Option<String>,
}

/// A response of the worker.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct InferResponse {
    #[n(0)]
    pub(super) id: u64,
    #[n(1)]
    pub(super) reply: InferReply,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum InferReply {
    /// The reply to [`InferCommand::Hello`]: the worker's [`VERSION`].
    #[n(0)]
    Ready(#[n(0)] u32),
    #[n(1)]
    Loaded(#[n(0)] ModelFacts),
    /// Vectors of little-endian 32-bit floats, and the number of tokens read for all of them.
    #[n(2)]
    Vectors(#[n(0)] Vec<ByteVec>, #[n(1)] u64),
    #[n(3)]
    Classifications(#[n(0)] Vec<Classification>),
    #[n(4)]
    Text(#[n(0)] String),
    #[n(5)]
    Weights(#[n(0)] Vec<f32>),
    #[n(6)]
    Failed {
        #[n(0)]
        failure: FailureReason,
        #[n(1)]
        why: String,
    },
}

/// The kind of a failure of one request. The worker continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum FailureReason {
    #[n(0)]
    BadModel,
    #[n(1)]
    OutOfMemory,
    #[n(2)]
    Refused,
    #[n(3)]
    Cancelled,
}

/// The properties of a model file, as llama.cpp reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ModelFacts {
    /// `bert`, `qwen2`, …
    #[n(0)]
    pub architecture: String,
    /// The dimension of the vectors or hidden states.
    #[n(1)]
    pub dimension: u32,
    /// The names of the classes, in the order of the outputs; empty if the model is not a classifier.
    #[n(2)]
    pub classes: Vec<String>,
    /// The maximum length of a text that the model was trained for, in tokens; 0 if unknown.
    #[n(3)]
    pub context: u32,
    /// The number of parameters.
    #[n(4)]
    pub parameters: u64,
    /// The size of the weights in bytes.
    #[n(5)]
    pub bytes: u64,
    /// The device that computes the model: `CPU`, or the names of GPUs.
    #[n(6)]
    pub computes: String,
    /// The number of layers that this device computes instead of the processor.
    #[n(7)]
    pub gpu_layers: u32,
    /// Whether the model has a chat template that llama.cpp supports; otherwise ChatML is used.
    #[n(8)]
    pub chat_template: bool,
}

/// Encodes a vector as little-endian 32-bit floats.
pub(super) fn pack(vector: &[f32]) -> ByteVec {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>().into()
}

/// Decodes a vector; `None` if the number of bytes is not a multiple of four.
pub(super) fn unpack(bytes: &ByteVec) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

/// Writes a message as one frame and flushes.
///
/// # Errors
/// If the other end is closed, or the message is longer than [`MAX_FRAME`].
pub(super) fn write(to: &mut impl Write, message: &impl Encode<()>) -> io::Result<()> {
    frame::write(to, MAX_FRAME, message)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::infer::{Speaker, Turn};

    fn read<T: for<'b> Decode<'b, ()>>(from: &mut impl io::Read) -> io::Result<Option<T>> {
        frame::read(from, MAX_FRAME)
    }

    fn prompt() -> impl Strategy<Value = Prompt> {
        let speaker = prop_oneof![Just(Speaker::System), Just(Speaker::User), Just(Speaker::Assistant)];
        let turn = (speaker, any::<String>()).prop_map(|(speaker, text)| Turn { speaker, text });
        (vec(turn, 0..4), any::<String>()).prop_map(|(prefix, text)| Prompt { prefix, text })
    }

    fn command() -> impl Strategy<Value = InferCommand> {
        prop_oneof![
            (
                any::<u32>(),
                any::<u32>(),
                any::<Option<u64>>(),
                any::<Option<u32>>(),
                any::<Option<String>>(),
                any::<u8>(),
                any::<Option<String>>()
            )
                .prop_map(|(version, threads, memory, gpu_layers, device, nice, prefixes)| {
                    InferCommand::Hello(InferHello { version, threads, memory, gpu_layers, device, nice, prefixes })
                }),
            any::<String>().prop_map(|path| InferCommand::Load { role: ModelRole::Nli, path }),
            vec(any::<String>(), 0..5).prop_map(InferCommand::Embed),
            vec(any::<(String, String)>(), 0..5).prop_map(InferCommand::Classify),
            (prompt(), any::<String>(), any::<u32>())
                .prop_map(|(prompt, grammar, max_tokens)| InferCommand::Generate { prompt, grammar, max_tokens }),
            (prompt(), vec(any::<String>(), 0..4))
                .prop_map(|(prompt, answers)| InferCommand::Answers { prompt, answers }),
            (prompt(), any::<String>()).prop_map(|(prompt, answer)| InferCommand::Likelihood { prompt, answer }),
            Just(InferCommand::Cancel),
        ]
    }

    fn reply() -> impl Strategy<Value = InferReply> {
        let number = -1e9_f32..1e9;
        prop_oneof![
            any::<u32>().prop_map(InferReply::Ready),
            (any::<String>(), vec(any::<String>(), 0..4)).prop_map(|(architecture, classes)| {
                InferReply::Loaded(ModelFacts { architecture, classes, ..ModelFacts::default() })
            }),
            (vec(vec(number.clone(), 0..9), 0..4), any::<u64>()).prop_map(|(vectors, tokens)| InferReply::Vectors(
                vectors.iter().map(|vector| pack(vector)).collect(),
                tokens
            )),
            vec(([number.clone(), number.clone(), number.clone()], proptest::option::of(number.clone())), 0..4)
                .prop_map(|pairs| {
                    let of = |(logits, gate)| Classification { logits, gate };
                    InferReply::Classifications(pairs.into_iter().map(of).collect())
                }),
            any::<String>().prop_map(InferReply::Text),
            vec(number, 0..5).prop_map(InferReply::Weights),
            any::<String>().prop_map(|why| InferReply::Failed { failure: FailureReason::Refused, why }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(requests in vec((any::<u64>(), command()), 0..4), answer in (any::<u64>(), reply())) {
            let mut stream = Vec::new();
            let requests: Vec<_> = requests.into_iter().map(|(id, command)| InferRequest { id, command }).collect();
            for request in &requests {
                write(&mut stream, request).unwrap();
            }
            let mut from = &*stream;
            for request in &requests {
                let back = read::<InferRequest>(&mut from).unwrap();
                prop_assert_eq!(back.as_ref(), Some(request));
            }
            prop_assert_eq!(read::<InferRequest>(&mut from).unwrap(), None);
            let answer = InferResponse { id: answer.0, reply: answer.1 };
            let mut bytes = Vec::new();
            write(&mut bytes, &answer).unwrap();
            prop_assert_eq!(read::<InferResponse>(&mut &*bytes).unwrap(), Some(answer));
            for end in 1..bytes.len() {
                prop_assert!(read::<InferResponse>(&mut &bytes[..end]).is_err(), "cut at {} of {}", end, bytes.len());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200), length in 0_u32..60) {
            let _result = read::<InferResponse>(&mut &*bytes);
            let mut framed = length.to_le_bytes().to_vec();
            framed.extend(&bytes);
            let _result = read::<InferResponse>(&mut &*framed);
            let _result = read::<InferRequest>(&mut &*framed);
        }

        #[test]
        fn vectors_survive_bit_for_bit(vector in vec(any::<u32>().prop_map(f32::from_bits), 0..50)) {
            let back = unpack(&pack(&vector)).unwrap();
            let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back), bits(&vector));
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_is_read() {
        let error = read::<InferRequest>(&mut &[0xff, 0xff, 0xff, 0xff, 0][..]).unwrap_err();
        assert!(error.to_string().contains("at most"), "{error}");
        let long = InferReply::Text("x".repeat(MAX_FRAME));
        assert!(write(&mut Vec::new(), &InferResponse { id: 1, reply: long }).is_err());
        assert_eq!(unpack(&vec![1, 2, 3].into()), None);
    }
}
