//! Functions of strings, codings and digests.

use super::{PureFunction, Work, pure};
use crate::kind::Kind::{Integer, Text as Str};
use crate::{encoding, hash, text};

/// Reads of each character.
const SCAN: Work = Work::Linear { base: 20, per_64_bytes: 40 };
/// Reads of a place, to which characters are counted.
const READ: Work = Work::Linear { base: 20, per_64_bytes: 4 };
/// New strings, a few operations per character.
const COPY: Work = Work::Linear { base: 60, per_64_bytes: 20 };
/// New strings, each character on its own.
const CHARS: Work = Work::Linear { base: 80, per_64_bytes: 100 };
/// Digests.
const DIGEST: Work = Work::Linear { base: 800, per_64_bytes: 200 };

pub(super) static FUNCTIONS: &[PureFunction] = &[
    pure("llStringLength", &[Str], Integer, Work::Flat(5), |c| {
        let text = c.argument();
        Ok((c.text_at(text).n_chars() as i32).into())
    }),
    pure("llGetSubString", &[Str, Integer, Integer], Str, COPY, |c| {
        Ok(text::sub_string(&c.text(), c.integer(), c.integer()).into())
    }),
    pure("llDeleteSubString", &[Str, Integer, Integer], Str, COPY, |c| {
        Ok(text::delete_sub_string(&c.text(), c.integer(), c.integer()).into())
    }),
    pure("llInsertString", &[Str, Integer, Str], Str, COPY, |c| {
        Ok(text::insert(&c.text(), c.integer(), &c.text(), c.room(), c.dialect())?.into())
    }),
    pure("llSubStringIndex", &[Str, Str], Integer, SCAN, |c| {
        let (text, pattern) = (c.argument(), c.argument());
        Ok(text::index_of(c.text_at(text), c.text_at(pattern).as_str(), c.dialect()).into())
    }),
    pure("llReplaceSubString", &[Str, Str, Str, Integer], Str, CHARS, |c| {
        Ok(text::replace(&c.text(), &c.text(), &c.text(), c.integer(), c.room())?.into())
    }),
    pure("llToUpper", &[Str], Str, CHARS, |c| Ok(text::to_upper(&c.text()).into())),
    pure("llToLower", &[Str], Str, CHARS, |c| Ok(text::to_lower(&c.text()).into())),
    pure("llStringTrim", &[Str, Integer], Str, COPY, |c| {
        Ok(text::trim(&c.text(), c.integer(), c.dialect()).into())
    }),
    pure("llChar", &[Integer], Str, Work::Flat(50), |c| Ok(text::char_of(c.integer(), c.dialect()).into())),
    pure("llOrd", &[Str, Integer], Integer, READ, |c| Ok(text::code_of(&c.text(), c.integer()).into())),
    pure("llEscapeURL", &[Str], Str, CHARS, |c| {
        Ok(encoding::escape_url(c.text().as_str(), c.dialect()).into())
    }),
    pure("llUnescapeURL", &[Str], Str, CHARS, |c| {
        Ok(encoding::unescape_url(c.text().as_str(), c.dialect()).into())
    }),
    pure("llStringToBase64", &[Str], Str, COPY, |c| Ok(encoding::to_base64(c.text().as_str()).into())),
    pure("llBase64ToString", &[Str], Str, CHARS, |c| {
        Ok(encoding::from_base64(c.text().as_str(), c.dialect()).into())
    }),
    pure("llIntegerToBase64", &[Integer], Str, Work::Flat(80), |c| {
        Ok(encoding::integer_to_base64(c.integer()).into())
    }),
    pure("llBase64ToInteger", &[Str], Integer, Work::Flat(60), |c| {
        Ok(encoding::base64_to_integer(&c.text()).into())
    }),
    pure("llXorBase64", &[Str, Str], Str, CHARS, |c| Ok(encoding::xor_base64(&c.text(), &c.text()).into())),
    pure("llMD5String", &[Str, Integer], Str, DIGEST, |c| {
        Ok(hash::md5_string(c.text().as_str(), c.integer()).into())
    }),
    pure("llSHA1String", &[Str], Str, DIGEST, |c| Ok(hash::sha1_string(c.text().as_str()).into())),
    pure("llSHA256String", &[Str], Str, DIGEST, |c| Ok(hash::sha256_string(c.text().as_str()).into())),
    pure("llComputeHash", &[Str, Str], Str, DIGEST, |c| {
        Ok(hash::compute(c.text().as_str(), c.text().as_str()).unwrap_or_default().into())
    }),
    pure("llHMAC", &[Str, Str, Str], Str, DIGEST, |c| {
        let (key, message, algorithm) = (c.text(), c.text(), c.text());
        let code = hash::hmac(key.as_str(), message.as_str(), algorithm.as_str());
        Ok(code.unwrap_or_default().into())
    }),
    pure("llHash", &[Str], Integer, SCAN, |c| Ok(hash::short(c.text().as_str()).into())),
];
