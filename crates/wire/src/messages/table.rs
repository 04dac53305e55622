//! The notation in which the message tables are written.
//!
//! ```text
//! messages! {
//!     /// What it is for.
//!     AgentPause: Low 78, plain, from Client {
//!         agent_data: one AgentPauseAgentData {
//!             agent_id: Uuid, session_id: Uuid,
//!             /// What the field means, where its name does not say it.
//!             serial_num: u32,
//!         }
//!     }
//! }
//! ```
//!
//! A message has a frequency and number, `zero_coded` or `plain`, and its sender: `Client`, `Server` or `Either`.
//! A block stands there `one` time, `twice` (Multiple 2) or `many` times (Variable, up to 255). An `extra` block is
//! a Variable one that a younger template appended: it is left out when it is empty, count and all, since clients with
//! the older template take the count for a trailing byte. A field's kind is a codec ([`super::codec`]): a Rust type, or `Ip`, `Port`, `Variable1`, `Variable2`, `Fixed(n)`.

/// Declares messages: a struct for each message and each of its blocks, with encoder, decoder and schema.
macro_rules! messages {
    ($(
        $(#[$message_doc:meta])*
        $Message:ident: $frequency:ident $number:literal, $coding:ident, from $sender:ident {
            $( $block:ident: $repeat:ident $Block:ident {
                $( $(#[$field_doc:meta])* $field:ident: $kind:ident $(($len:literal))? ),* $(,)?
            } )*
        }
    )*) => {
        use super::block::BlockCodec as _;
        use super::codec::Codec as _;
        use super::reader::BodyReader;
        use super::schema::{Block, Field, Repeat, Schema, MessageOrigin, plain_name};
        use super::MessageNumber;
        use crate::Malformed;

        /// Names of the messages declared in this table, for the test that none is left out of the whole set.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$(stringify!($Message)),*];

        $(
            $(#[$message_doc])*
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $Message {
                $(
                    #[doc = concat!("The `", stringify!($block), "` block.")]
                    pub $block: repeat!(value $repeat $Block),
                )*
            }

            impl $Message {
                /// The number at the head of the body.
                pub const NUMBER: MessageNumber = MessageNumber::$frequency($number);
                /// True if a sender should zero-code it.
                pub const ZERO_CODED: bool = coding!($coding);
                /// Name, number and layout.
                pub const SCHEMA: Schema = Schema {
                    name: stringify!($Message),
                    number: Self::NUMBER,
                    zero_coded: Self::ZERO_CODED,
                    sender: MessageOrigin::$sender,
                    blocks: &[$(
                        Block {
                            name: stringify!($block),
                            repeat: repeat!(schema $repeat),
                            fields: $Block::FIELDS,
                        },
                    )*],
                };

                /// Appends number and body, not zero-coded.
                ///
                /// # Panics
                /// If a field exceeds its length prefix or a block stands more than 255 times: the caller keeps to the sizes (see
                /// [`crate::text::to_wire`]).
                pub fn encode(&self, out: &mut Vec<u8>) {
                    Self::NUMBER.write(out);
                    $( repeat!(write $repeat, &self.$block, out); )*
                }

                /// Reads the body, which follows the number. Blocks that the sender left out at the end are
                /// empty or default; bytes behind the last block are ignored.
                ///
                /// # Errors
                /// [`Malformed::Truncated`] when it ends inside a block, or before the first;
                /// [`Malformed::Value`] when a floating-point number is not finite.
                pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
                    #[allow(unused_mut, unused_variables, reason = "messages without blocks read nothing")]
                    let mut reader = BodyReader::new(body);
                    Ok(Self { $( $block: repeat!(read $repeat, &mut reader)?, )* })
                }

                /// Any value that the message can have.
                #[cfg(test)]
                #[allow(unused_variables, reason = "messages without blocks have one value only")]
                pub(super) fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
                    Self { $( $block: repeat!(arbitrary $repeat, next), )* }
                }
            }

            impl From<$Message> for super::Message {
                fn from(message: $Message) -> Self {
                    Self::$Message(message)
                }
            }

            $(
                #[doc = concat!("The `", stringify!($block), "` block of [`", stringify!($Message), "`].")]
                #[derive(Clone, Debug, Default, PartialEq)]
                pub struct $Block {
                    $(
                        $(#[$field_doc])*
                        #[doc = concat!("\n\n`", stringify!($kind), $("(", $len, ")",)? "` on the wire.")]
                        pub $field: value!($kind $($len)?),
                    )*
                }

                impl super::block::BlockCodec for $Block {
                    const LEN_MIN: usize = 0 $( + <codec!($kind $($len)?)>::LEN_MIN )*;
                    const FIELDS: &'static [Field] = &[$(
                        Field { name: plain_name(stringify!($field)), kind: <codec!($kind $($len)?)>::KIND },
                    )*];

                    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
                        Ok(Self { $( $field: <codec!($kind $($len)?)>::read(reader)?, )* })
                    }

                    fn write(&self, out: &mut Vec<u8>) {
                        $( <codec!($kind $($len)?)>::write(&self.$field, out); )*
                    }

                    #[cfg(test)]
                    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
                        Self { $( $field: <codec!($kind $($len)?)>::arbitrary(next), )* }
                    }
                }
            )*
        )*
    };
}

/// The codec that a kind names.
macro_rules! codec {
    (Uuid) => {
        uuid::Uuid
    };
    (Vec3) => {
        glam::Vec3
    };
    (DVec3) => {
        glam::DVec3
    };
    (Vec4) => {
        glam::Vec4
    };
    (Quat) => {
        glam::Quat
    };
    (Ip) => {
        super::codec::Ip
    };
    (Port) => {
        super::codec::Port
    };
    (Variable1) => {
        super::codec::Variable1
    };
    (Variable2) => {
        super::codec::Variable2
    };
    (Fixed $len:literal) => {
        [u8; $len]
    };
    ($number:ident) => {
        $number
    };
}

/// Type of a field of that kind in its struct.
macro_rules! value {
    (Ip) => { [u8; 4] };
    (Port) => { u16 };
    (Variable1) => { Vec<u8> };
    (Variable2) => { Vec<u8> };
    ($($kind:tt)*) => { codec!($($kind)*) };
}

/// Everything that depends on how often a block stands in its message.
macro_rules! repeat {
    (value one $Block:ident) => { $Block };
    (value twice $Block:ident) => { [$Block; 2] };
    (value many $Block:ident) => { Vec<$Block> };
    (value extra $Block:ident) => { Vec<$Block> };
    (schema one) => { Repeat::Single };
    (schema twice) => { Repeat::Multiple(2) };
    (schema many) => { Repeat::Variable };
    (schema extra) => { Repeat::Extra };
    (read one, $reader:expr) => { super::block::read_one($reader) };
    (read twice, $reader:expr) => { super::block::read_twice($reader) };
    (read many, $reader:expr) => { super::block::read_many($reader) };
    (read extra, $reader:expr) => { super::block::read_many($reader) };
    (write one, $block:expr, $out:expr) => { $block.write($out) };
    (write twice, $block:expr, $out:expr) => { super::block::write_twice($block, $out) };
    (write many, $block:expr, $out:expr) => { super::block::write_many($block, $out) };
    (write extra, $block:expr, $out:expr) => { super::block::write_extra($block, $out) };
    (arbitrary one, $next:expr) => { super::block::BlockCodec::arbitrary($next) };
    (arbitrary twice, $next:expr) => { super::block::arbitrary_twice($next) };
    (arbitrary many, $next:expr) => { super::block::arbitrary_many($next) };
    (arbitrary extra, $next:expr) => { super::block::arbitrary_many($next) };
}

/// True if the template asks for zero-coding.
macro_rules! coding {
    (zero_coded) => {
        true
    };
    (plain) => {
        false
    };
}

/// Gathers the messages of all tables: the [`super::Message`] enumeration and the [`super::SCHEMA`] table.
macro_rules! message_set {
    ($($table:ident: $($Message:ident)*;)*) => {
        $( mod $table; pub use $table::*; )*

        /// Any message of the set.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message {
            $($(
                #[doc = concat!("[`", stringify!($Message), "`](struct@", stringify!($Message), ").")]
                $Message($Message),
            )*)*
        }

        /// Every message of the set, table by table.
        pub const SCHEMA: &[Schema] = &[$($( $Message::SCHEMA, )*)*];

        /// Name and layout of the message with this number, if it is in the set.
        #[must_use]
        pub const fn schema_of(number: MessageNumber) -> Option<&'static Schema> {
            match number {
                $($( $Message::NUMBER => Some(&$Message::SCHEMA), )*)*
                _ => None,
            }
        }

        impl Message {
            /// Reads a body, expanded if it was zero-coded, from its number on.
            ///
            /// # Errors
            /// [`Malformed::UnknownMessage`] for a number outside the set, and those of the message's own `decode`.
            pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
                let (number, rest) = MessageNumber::split(body)?;
                Self::decode_numbered(number, rest)
            }

            /// Reads what follows a number that was read before.
            ///
            /// # Errors
            /// As [`Self::decode`].
            pub fn decode_numbered(number: MessageNumber, rest: &[u8]) -> Result<Self, Malformed> {
                match number {
                    $($( $Message::NUMBER => $Message::decode(rest).map(Self::$Message), )*)*
                    _ => Err(Malformed::UnknownMessage),
                }
            }

            /// Appends number and body, not zero-coded.
            ///
            /// # Panics
            /// As the message's own `encode`.
            pub fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $($( Self::$Message(message) => message.encode(out), )*)*
                }
            }

            /// Name, number and layout.
            #[must_use]
            pub const fn schema(&self) -> &'static Schema {
                match self {
                    $($( Self::$Message(_) => &$Message::SCHEMA, )*)*
                }
            }

            /// Any value of any message of the set.
            #[cfg(test)]
            fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
                let constructors: &[fn(&mut dyn FnMut() -> u64) -> Self] =
                    &[$($( |next| $Message::arbitrary(next).into(), )*)*];
                let index = next() % constructors.len() as u64;
                constructors[usize::try_from(index).expect("the set is small")](next)
            }
        }

        /// Names of all messages, as their own tables say.
        #[cfg(test)]
        const DECLARED: &[&[&str]] = &[$( $table::NAMES, )*];
    };
}
