//! Declaration of keys: one declaration makes the struct's field, its default, its check and its documentation.

use super::show::to_toml;
use figment::value::Value;
use gateway::http::IpNet;
use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};

/// A table of the configuration file.
#[derive(Debug)]
pub struct ConfigSection {
    /// Its name in the file, without brackets.
    pub name: &'static str,
    /// Description, in lines.
    pub about: &'static [&'static str],
    /// Its keys in the order of the documentation.
    pub keys: &'static [Key],
    /// True if it may occur several times (`[[name]]`).
    pub repeated: bool,
}

/// One key of a section.
#[derive(Debug)]
pub struct Key {
    /// Its name in the file.
    pub name: &'static str,
    /// The declaration's doc comment in lines: effect, an empty line, and the trade-off of a change.
    pub doc: &'static [&'static str],
    /// Unit of the value; "–" without one.
    pub unit: &'static str,
    /// Allowed values.
    pub kind: KeyKind,
}

/// Sets of allowed values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyKind {
    /// `true` or `false`.
    Flag,
    /// A whole number in a closed range.
    Whole {
        /// Least allowed.
        min: i64,
        /// Greatest allowed.
        max: i64,
        /// The value is a multiple of this.
        step: i64,
    },
    /// One of these whole numbers.
    OneOf(&'static [i64]),
    /// A number in a closed range.
    Number {
        /// Least allowed.
        min: f64,
        /// Greatest allowed.
        max: f64,
    },
    /// Text without control characters other than line breaks, and without marks that change the direction of text.
    Text,
    /// Text on one line that is not empty.
    Line,
    /// A name for clients: text on one line, of 1 to `NAME_BYTES_MAX` bytes.
    Name,
    /// An address with a port, IPv4 or IPv6.
    Address,
    /// An IPv4 address with a port, since LLUDP carries four bytes.
    AddressV4,
    /// An IPv4 address with or without a port, or nothing.
    PublicAddress,
    /// Address of a database. Shown without its password.
    StoreUrl,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Names of hosts.
    Hostnames,
    /// Addresses and networks.
    Networks,
}

impl KeyKind {
    /// A whole number from `min` to `max`.
    pub(super) const fn whole(min: i64, max: i64) -> Self {
        Self::Whole { min, max, step: 1 }
    }

    /// Reads a value given as text, from the environment or a flag. Unparsable text stays text, for [`KeyKind::allows`] to refuse.
    pub(super) fn read(self, text: &str) -> Value {
        match self {
            Self::Flag => text.parse::<bool>().map(Value::from).ok(),
            Self::Whole { .. } | Self::OneOf(_) => text.parse::<i64>().map(Value::from).ok(),
            Self::Number { .. } => text.parse::<f64>().map(Value::from).ok(),
            Self::Hostnames | Self::Networks => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(items.map(Value::from).collect::<Vec<_>>().into())
            }
            _ => None,
        }
        .unwrap_or_else(|| Value::from(text))
    }

    /// The value as TOML, without its secret parts.
    pub(super) fn show(self, value: &Value) -> String {
        let address = value.as_str().filter(|_| self == Self::StoreUrl);
        match address.map(str::parse::<store::StoreUrl>) {
            None => to_toml(value),
            Some(Ok(url)) => to_toml(&Value::from(url.to_string())),
            // It may hold a password all the same.
            Some(Err(_)) => String::new(),
        }
    }

    /// True if the key allows this value.
    pub(crate) fn allows(self, value: &Value) -> bool {
        match self {
            Self::Flag => value.to_bool().is_some(),
            Self::Whole { min, max, step } => whole(value)
                .is_some_and(|n| (i128::from(min)..=max.into()).contains(&n) && n % i128::from(step) == 0),
            Self::OneOf(numbers) => {
                whole(value).is_some_and(|n| numbers.iter().any(|&one| i128::from(one) == n))
            }
            Self::Number { min, max } => {
                // A whole number is a number too, though TOML distinguishes 20 and 20.0.
                let whole = value.to_i128().map(|n| n as f64);
                let number = value.to_num().and_then(|number| number.to_f64()).or(whole);
                number.is_some_and(|n| (min..=max).contains(&n))
            }
            Self::Text => {
                value.as_str().is_some_and(|text| !text.chars().any(|c| c != '\n' && link::is_misleading(c)))
            }
            Self::Line => value.as_str().is_some_and(is_line),
            Self::Name => value.as_str().is_some_and(|text| is_line(text) && text.len() <= NAME_BYTES_MAX),
            Self::Address => value.as_str().is_some_and(|text| text.parse::<SocketAddr>().is_ok()),
            Self::AddressV4 => value.as_str().is_some_and(|text| text.parse::<SocketAddrV4>().is_ok()),
            Self::PublicAddress => {
                value.as_str().is_some_and(|text| text.parse::<super::PublicAddress>().is_ok())
            }
            Self::StoreUrl => value.as_str().is_some_and(|text| text.parse::<store::StoreUrl>().is_ok()),
            Self::Choice(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Self::Hostnames => is_list_of(value, is_hostname),
            Self::Networks => is_list_of(value, |text| network(text).is_some()),
        }
    }
}

impl fmt::Display for KeyKind {
    /// Completes the sentence "the value must be …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true or false"),
            Self::Whole { min, max, step: 1 } => write!(f, "a whole number from {min} to {max}"),
            Self::Whole { min, max, step } => write!(f, "a multiple of {step} from {min} to {max}"),
            Self::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Self::Text => f.write_str("text without control characters"),
            Self::Line => f.write_str("text that is not empty, without control characters"),
            Self::Name => {
                write!(f, "text that is not empty, of at most {NAME_BYTES_MAX} bytes, without control characters")
            }
            Self::Address => f.write_str("an address with a port, such as \"127.0.0.1:9000\""),
            Self::AddressV4 => f.write_str("an IPv4 address with a port, such as \"127.0.0.1:9000\""),
            Self::PublicAddress => {
                f.write_str(
                    "the IPv4 address of a server, other than 0.0.0.0, with or without a port, such as \"203.0.113.7\", or empty",
                )
            }
            Self::Hostnames => f.write_str("a list of host names, such as [\"grid.example.org\"]"),
            Self::Networks => {
                f.write_str("a list of addresses and networks, such as [\"127.0.0.1\", \"10.0.0.0/8\"]")
            }
            Self::StoreUrl => f.write_str(
                "\"sqlite:\", \"sqlite:PATH\" or \"postgres://USER@HOST/DATABASE\" without sslmode=require",
            ),
            Self::OneOf(numbers) => alternatives(f, numbers),
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                alternatives(f, &quoted)
            }
        }
    }
}

/// Bytes of a name, as far as messages to clients carry it.
const NAME_BYTES_MAX: usize = 63;

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(link::is_misleading)
}

fn is_list_of(value: &Value, is_item: impl Fn(&str) -> bool) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(|item| item.as_str().is_some_and(&is_item)))
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// A network, or the one address of a network of its own.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// A whole number. Files have signed ones and defaults unsigned ones.
fn whole(value: &Value) -> Option<i128> {
    value.to_i128().or_else(|| value.to_u128().and_then(|n| i128::try_from(n).ok()))
}

/// "a, b or c".
fn alternatives<T: fmt::Display>(f: &mut fmt::Formatter<'_>, all: &[T]) -> fmt::Result {
    for (i, one) in all.iter().enumerate() {
        let separator = ["", ", ", " or "][usize::from(i > 0) + usize::from(i > 0 && i + 1 == all.len())];
        write!(f, "{separator}{one}")?;
    }
    Ok(())
}

/// Declares a section: the struct, its `Default`, and its [`ConfigSection`] as the constant `SECTION`.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $Name:ident in $path:literal, repeated: $repeated:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr, $unit:literal, $kind:expr;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        $vis struct $Name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl $Name {
            /// The section as documented and checked.
            pub const SECTION: $crate::config::ConfigSection = $crate::config::ConfigSection {
                name: $path,
                about: &[$($about),+],
                keys: &[$( $crate::config::Key {
                    name: stringify!($field),
                    doc: &[$($doc),+],
                    unit: $unit,
                    kind: $kind,
                } ),+],
                repeated: $repeated,
            };
        }
    };
}

pub(super) use section;
