//! Datagrams and messages that no client sends, one kind after the other.

use crate::identity::Identity;
use crate::rng::Rng;
use ids::Uuid;
use wire::header::{self, Flags};
use wire::messages::{AgentUpdate, AgentUpdateAgentData, MessageNumber};

/// A number of no message: the template ends long before it.
const UNKNOWN: MessageNumber = MessageNumber::Low(0xF000);

/// Runs of 255 zeros that expand to more than any message may be long.
const BOMB_RUNS: usize = 64;

/// Length of noise, in bytes.
const NOISE_LEN: usize = 200;

/// One piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// A whole datagram, header and all.
    Datagram(Vec<u8>),
    /// A message that travels in a proper datagram of the circuit.
    Message(Vec<u8>),
}

impl Garbage {
    /// Number of kinds.
    pub const KINDS: u64 = 8;

    /// The `n`th piece.
    pub fn new(n: u64, identity: &Identity, rng: &mut Rng) -> Self {
        match n % Self::KINDS {
            // Shorter than a header.
            0 => Self::Datagram(noise(header::HEADER_LEN - 1, rng)),
            // Its extra header reaches past its end.
            1 => Self::Datagram(vec![0, 0, 0, 0, 0, u8::MAX, 0]),
            // As many appended acks as there can be, and none of them there.
            2 => Self::Datagram(coded(Flags::ACKS, &[u8::MAX])),
            // A run of zeros without its length.
            3 => Self::Datagram(coded(Flags::ZERO_CODED, &[0xFF, 0])),
            // A zero-coded bomb: expands beyond every bound.
            4 => Self::Datagram(coded(Flags::ZERO_CODED, &[0, u8::MAX].repeat(BOMB_RUNS))),
            // Half a message.
            5 => {
                let mut message = update(identity.session.0, identity);
                message.truncate(message.len() / 2);
                Self::Message(message)
            }
            6 => {
                let mut message = Vec::new();
                UNKNOWN.write(&mut message);
                message.extend(noise(NOISE_LEN, rng));
                Self::Message(message)
            }
            // Another client's session.
            _ => {
                let session = Uuid::from_u128(u128::from(rng.next()) << 64 | u128::from(rng.next()));
                Self::Message(update(session, identity))
            }
        }
    }
}

/// A datagram of the circuit's first number with these flags.
fn coded(flags: Flags, body: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    header::write_header(&mut datagram, flags, 0);
    datagram.extend_from_slice(body);
    datagram
}

fn update(session_id: Uuid, identity: &Identity) -> Vec<u8> {
    let agent_data =
        AgentUpdateAgentData { agent_id: identity.agent.0, session_id, ..AgentUpdateAgentData::default() };
    let mut message = Vec::new();
    AgentUpdate { agent_data }.encode(&mut message);
    message
}

fn noise(len: usize, rng: &mut Rng) -> Vec<u8> {
    (0..len).map(|_| rng.next() as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::IDENTITY;
    use circuit::{Circuit, Config};
    use ids::Instant;
    use wire::messages::Message;

    /// Reasons for which a server refuses the pieces of one round: of the circuit first, then of messages.
    fn refusals(seed: u64) -> Vec<&'static str> {
        let mut rng = Rng::new(seed, 0);
        let now = Instant::ZERO;
        let refuse = |garbage| match garbage {
            Garbage::Datagram(bytes) => {
                let mut server = Circuit::new(now, &Config::server(), 1);
                let mut scratch = Vec::new();
                let refusal = server.handle_datagram(now, &bytes, &mut scratch);
                refusal.expect_err("it is garbage").as_str()
            }
            Garbage::Message(message) => match Message::decode(&message) {
                Err(why) => why.as_str(),
                Ok(Message::AgentUpdate(update)) if update.agent_data.session_id != IDENTITY.session.0 => {
                    "wrong session"
                }
                Ok(message) => panic!("{message:?} is no garbage"),
            },
        };
        (0..Garbage::KINDS).map(|n| refuse(Garbage::new(n, &IDENTITY, &mut rng))).collect()
    }

    #[test]
    fn every_piece_is_refused_for_its_own_reason() {
        for seed in 0..50 {
            assert_eq!(
                refusals(seed),
                [
                    "truncated",
                    "truncated",
                    "truncated",
                    "zero_code",
                    "zero_code",
                    "truncated",
                    "unknown_message",
                    "wrong session",
                ]
            );
        }
    }
}
