//! Functions of strings, codings and digests.

use super::{Binding, bind};
use crate::{encoding, hash, text};

pub(super) static BINDINGS: &[Binding] = &[
    bind("llStringLength", |c| {
        let text = c.argument();
        Ok((c.text_at(text).n_chars() as i32).into())
    }),
    bind("llGetSubString", |c| Ok(text::sub_string(&c.text(), c.integer(), c.integer()).into())),
    bind("llDeleteSubString", |c| Ok(text::delete_sub_string(&c.text(), c.integer(), c.integer()).into())),
    bind("llInsertString", |c| {
        Ok(text::insert(&c.text(), c.integer(), &c.text(), c.room(), c.dialect())?.into())
    }),
    bind("llSubStringIndex", |c| {
        let (text, pattern) = (c.argument(), c.argument());
        Ok(text::index_of(c.text_at(text), c.text_at(pattern).as_str(), c.dialect()).into())
    }),
    bind("llReplaceSubString", |c| {
        Ok(text::replace(&c.text(), &c.text(), &c.text(), c.integer(), c.room())?.into())
    }),
    bind("llToUpper", |c| Ok(text::to_upper(&c.text()).into())),
    bind("llToLower", |c| Ok(text::to_lower(&c.text()).into())),
    bind("llStringTrim", |c| Ok(text::trim(&c.text(), c.integer(), c.dialect()).into())),
    bind("llChar", |c| Ok(text::char_of(c.integer(), c.dialect()).into())),
    bind("llOrd", |c| Ok(text::code_of(&c.text(), c.integer()).into())),
    bind("llEscapeURL", |c| Ok(encoding::escape_url(c.text().as_str(), c.dialect()).into())),
    bind("llUnescapeURL", |c| Ok(encoding::unescape_url(c.text().as_str(), c.dialect()).into())),
    bind("llStringToBase64", |c| Ok(encoding::to_base64(c.text().as_str()).into())),
    bind("llBase64ToString", |c| Ok(encoding::from_base64(c.text().as_str(), c.dialect()).into())),
    bind("llIntegerToBase64", |c| Ok(encoding::integer_to_base64(c.integer()).into())),
    bind("llBase64ToInteger", |c| Ok(encoding::base64_to_integer(&c.text()).into())),
    bind("llXorBase64", |c| Ok(encoding::xor_base64(&c.text(), &c.text()).into())),
    bind("llXorBase64Strings", |c| Ok(encoding::xor_base64_digits(&c.text(), &c.text()).into())),
    bind("llXorBase64StringsCorrect", |c| Ok(encoding::xor_base64(&c.text(), &c.text()).into())),
    bind("llMD5String", |c| Ok(hash::md5_string(c.text().as_str(), c.integer()).into())),
    bind("llSHA1String", |c| Ok(hash::sha1_string(c.text().as_str()).into())),
    bind("llSHA256String", |c| Ok(hash::sha256_string(c.text().as_str()).into())),
    bind("llComputeHash", |c| {
        Ok(hash::compute(c.text().as_str(), c.text().as_str()).unwrap_or_default().into())
    }),
    bind("llHMAC", |c| {
        let (key, message, algorithm) = (c.text(), c.text(), c.text());
        let code = hash::hmac(key.as_str(), message.as_str(), algorithm.as_str());
        Ok(code.unwrap_or_default().into())
    }),
    bind("llHash", |c| Ok(hash::short(c.text().as_str()).into())),
];
