//! The message set as data: name, sender and layout of each message. Tests compare it with the
//! protocol's template; metrics and captures take names from it.

use super::MessageNumber;

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// As in the protocol's template: `AgentUpdate`.
    pub name: &'static str,
    /// The message number at the head of the body.
    pub number: MessageNumber,
    /// Zero-coding in the template. A hint for senders; receivers obey the datagram's flag.
    pub zero_coded: bool,
    /// The end of the circuit that sends it.
    pub sender: MessageOrigin,
    /// Its blocks, in the order of the wire.
    pub blocks: &'static [Block],
}

impl Schema {
    /// True if its first block begins with the ids of the sender's agent and session, as in most messages from clients: the session is
    /// then in bytes 16 to 32 behind the number.
    #[must_use]
    pub const fn names_session(&self) -> bool {
        let [Block { repeat: Repeat::Single, fields: [agent, session, ..], .. }, ..] = self.blocks else {
            return false;
        };
        is_uuid(agent, "agent_id") && is_uuid(session, "session_id")
    }
}

const fn is_uuid(field: &Field, name: &str) -> bool {
    let (mut at, (actual, expected)) = (0, (field.name.as_bytes(), name.as_bytes()));
    while at < expected.len() {
        if at >= actual.len() || actual[at] != expected[at] {
            return false;
        }
        at += 1;
    }
    actual.len() == expected.len() && matches!(field.kind, FieldKind::Uuid)
}

/// The end of a circuit that sends a message. A message from the other end is dropped by its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOrigin {
    /// The viewer or bot.
    Client,
    /// The simulator.
    Server,
    /// Both.
    Either,
}

/// One block of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The template's name in snake case: `agent_data`.
    pub name: &'static str,
    /// Number of its repetitions.
    pub repeat: Repeat,
    /// Its fields, in the order of the wire.
    pub fields: &'static [Field],
}

/// Number of a block's repetitions in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Exactly once.
    Single,
    /// This exact number of times, without a count.
    Multiple(u8),
    /// A byte with the count, then that many.
    Variable,
    /// As `Variable`, but left out altogether when there are none: appended by a younger template.
    Extra,
}

/// One field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The template's name in snake case: `agent_id`.
    pub name: &'static str,
    /// Its form on the wire.
    pub kind: FieldKind,
}

/// Forms of a field. Numbers are little-endian unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// Eight bytes.
    U64,
    /// One byte, signed.
    S8,
    /// Two bytes, signed.
    S16,
    /// Four bytes, signed.
    S32,
    /// Four bytes, floating point.
    F32,
    /// Eight bytes, floating point.
    F64,
    /// One byte; anything but 0 is true.
    Bool,
    /// 16 bytes in the order of the text form.
    Uuid,
    /// Three `F32`.
    Vector3,
    /// Three `F64`.
    Vector3d,
    /// Four `F32`.
    Vector4,
    /// Three `F32`: x, y and z of a unit quaternion whose w is not negative.
    Quaternion,
    /// Four bytes in network order.
    IpAddress,
    /// Two bytes, **big-endian**.
    IpPort,
    /// Fixed length in bytes.
    Fixed(u8),
    /// A length of one byte, then the bytes.
    Variable1,
    /// A length of two bytes, then the bytes.
    Variable2,
}

/// A field's name without the `r#` that Rust asks for where it is a keyword (`type`).
pub(super) const fn plain_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}
