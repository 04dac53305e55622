//! Digests of strings.

use crate::string::Text;
use base64::engine::{Engine, general_purpose::STANDARD};
use md5::Digest as _;
use sha2::Digest as _;

/// Algorithms of `llComputeHash` and `llHMAC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "md5" => Self::Md5,
            "sha1" => Self::Sha1,
            "sha224" => Self::Sha224,
            "sha256" => Self::Sha256,
            "sha384" => Self::Sha384,
            "sha512" => Self::Sha512,
            _ => return None,
        })
    }

    /// Bytes of a block, for HMAC.
    const fn block(self) -> usize {
        match self {
            Self::Md5 | Self::Sha1 | Self::Sha224 | Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 => 128,
        }
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Md5 => md5::Md5::digest(bytes).to_vec(),
            Self::Sha1 => sha1::Sha1::digest(bytes).to_vec(),
            Self::Sha224 => sha2::Sha224::digest(bytes).to_vec(),
            Self::Sha256 => sha2::Sha256::digest(bytes).to_vec(),
            Self::Sha384 => sha2::Sha384::digest(bytes).to_vec(),
            Self::Sha512 => sha2::Sha512::digest(bytes).to_vec(),
        }
    }
}

/// `llMD5String`: of the text, a colon and a number.
#[must_use]
pub fn md5_string(text: &str, nonce: i32) -> Text {
    hexadecimal(&Algorithm::Md5.digest(format!("{text}:{nonce}").as_bytes()))
}

/// `llSHA1String`
#[must_use]
pub fn sha1_string(text: &str) -> Text {
    hexadecimal(&Algorithm::Sha1.digest(text.as_bytes()))
}

/// `llSHA256String`
#[must_use]
pub fn sha256_string(text: &str) -> Text {
    hexadecimal(&Algorithm::Sha256.digest(text.as_bytes()))
}

/// `llComputeHash`: by the name of an algorithm. `md5_sha1` is both, one behind the other. None if there is no such algorithm.
#[must_use]
pub fn compute(text: &str, algorithm: &str) -> Option<Text> {
    let bytes = text.as_bytes();
    if algorithm == "md5_sha1" {
        return Some(hexadecimal(&[Algorithm::Md5.digest(bytes), Algorithm::Sha1.digest(bytes)].concat()));
    }
    Algorithm::named(algorithm).map(|algorithm| hexadecimal(&algorithm.digest(bytes)))
}

/// `llHMAC`: the authentication code of a text, in Base64 (RFC 2104). None if there is no such algorithm.
#[must_use]
pub fn hmac(key: &str, text: &str, algorithm: &str) -> Option<Text> {
    let algorithm = Algorithm::named(algorithm)?;
    let mut key = key.as_bytes().to_vec();
    if key.len() > algorithm.block() {
        key = algorithm.digest(&key);
    }
    key.resize(algorithm.block(), 0);
    let padded = |by: u8| key.iter().map(|byte| byte ^ by).collect::<Vec<u8>>();
    let inner = algorithm.digest(&[&padded(0x36), text.as_bytes()].concat());
    Some(STANDARD.encode(algorithm.digest(&[padded(0x5C), inner].concat())).into())
}

/// `llHash`: 65,599 × the hash so far + the next code point.
#[must_use]
pub fn short(text: &str) -> i32 {
    let hash = text.chars().fold(0_u32, |hash, c| hash.wrapping_mul(65_599).wrapping_add(u32::from(c)));
    hash as i32
}

fn hexadecimal(bytes: &[u8]) -> Text {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_their_standards() {
        for (digest, expected) in [
            (compute("", "md5"), "d41d8cd98f00b204e9800998ecf8427e"),
            (compute("abc", "sha1"), "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (compute("abc", "sha224"), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
            (compute("abc", "sha256"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                compute("abc", "sha384"),
                "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
            ),
            (
                compute("abc", "sha512"),
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            (
                compute("", "md5_sha1"),
                "d41d8cd98f00b204e9800998ecf8427eda39a3ee5e6b4b0d3255bfef95601890afd80709",
            ),
        ] {
            assert_eq!(digest.expect("an algorithm").as_str(), expected);
        }
        assert_eq!((compute("abc", "crc"), compute("abc", "MD5")), (None, None));
        assert_eq!(sha1_string("abc"), compute("abc", "sha1").expect("an algorithm"));
        assert_eq!(sha256_string("ä"), compute("ä", "sha256").expect("an algorithm"));
    }

    #[test]
    fn md5_is_that_of_text_and_number() {
        assert_eq!(md5_string("ä", -7), compute("ä:-7", "md5").expect("an algorithm"));
    }

    #[test]
    fn codes_are_those_of_rfc_2202_and_rfc_4231() {
        let key = "what do ya want for nothing?";
        for (algorithm, expected) in [
            ("md5", "dQx4PmqwtQPqqG4xCl23OA=="),
            ("sha1", "7/zfauXrL6LSdBbV8YTfnCWafHk="),
            ("sha256", "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM="),
        ] {
            assert_eq!(hmac("Jefe", key, algorithm).expect("an algorithm").as_str(), expected);
        }
        assert_eq!(hmac("Jefe", key, "md5_sha1"), None);
        let long = "k".repeat(200);
        let hashed = hmac(&long, "text", "sha512");
        assert_ne!(hashed, hmac(&"k".repeat(128), "text", "sha512"));
    }

    #[test]
    fn short_hashes_wrap() {
        for (text, expected) in [("", 0), ("a", 97), ("ab", 97 * 65_599 + 98), ("😀", 0x1F600)] {
            assert_eq!(short(text), expected, "{text}");
        }
        assert_eq!(short("hello world"), 430_867_652);
    }
}
