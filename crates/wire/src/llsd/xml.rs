//! LLSD as XML, the form of capabilities and event queues.
//!
//! Output has no prolog and starts with `<llsd>`: one client reads a prolog as a second root, another looks
//! for that text. Input may have prolog, comments, white space and attributes, and writes its
//! booleans as it likes.

use super::date;
use super::scalar::{
    base16_decode, base64_decode, base64_encode, parse_boolean, parse_integer, parse_real, push_real,
};
use super::{Budget, Limits, Llsd};
use crate::Malformed;
use crate::markup::{Element, Markup, escape, tagged};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Reads `<llsd>…</llsd>`; an empty one is [`Llsd::Undef`].
///
/// # Errors
/// [`Malformed::Oversized`] or [`Malformed::Depth`] beyond the limits, [`Malformed::Text`] unless it is
/// UTF-8, [`Malformed::Truncated`] if it ends early, [`Malformed::Syntax`] for markup that LLSD does not
/// have, [`Malformed::Value`] for a scalar that is none of its type.
pub fn decode(document: &[u8], limits: Limits) -> Result<Llsd, Malformed> {
    let mut markup = Markup::new(document, limits.bytes_max)?;
    markup.expect("llsd")?;
    let mut budget = Budget::new(limits);
    let value = match markup.child()? {
        Some(element) => {
            let value = read(&mut markup, &element, &mut budget, 1)?;
            markup.close()?;
            value
        }
        None => Llsd::Undef,
    };
    markup.close()?;
    Ok(value)
}

/// Reads the value whose opening tag is `element`, up to and with its closing tag.
fn read(
    markup: &mut Markup<'_>,
    element: &Element<'_>,
    budget: &mut Budget,
    level: usize,
) -> Result<Llsd, Malformed> {
    budget.spend(level)?;
    match element.name() {
        "map" => {
            let mut entries = BTreeMap::new();
            while let Some(key) = markup.child()? {
                if key.name() != "key" {
                    return Err(Malformed::Syntax);
                }
                let key = markup.text()?;
                let value = markup.child()?.ok_or(Malformed::Syntax)?;
                entries.insert(key, read(markup, &value, budget, level + 1)?);
            }
            Ok(Llsd::Map(entries))
        }
        "array" => {
            let mut values = Vec::new();
            while let Some(value) = markup.child()? {
                values.push(read(markup, &value, budget, level + 1)?);
            }
            Ok(Llsd::Array(values))
        }
        name => {
            let text = markup.text()?;
            scalar(name, text, element)?.ok_or(Malformed::Value)
        }
    }
}

/// `Ok(None)` for text that is no value of the named type.
fn scalar(name: &str, text: String, element: &Element<'_>) -> Result<Option<Llsd>, Malformed> {
    Ok(match name {
        "undef" => Some(Llsd::Undef),
        "boolean" => parse_boolean(&text).map(Llsd::Boolean),
        "integer" => parse_integer(&text).map(Llsd::Integer),
        "real" => parse_real(&text).map(Llsd::Real),
        "string" => Some(Llsd::String(text)),
        "uri" => Some(Llsd::Uri(text)),
        "uuid" if text.trim().is_empty() => Some(Llsd::Uuid(Uuid::nil())),
        "uuid" => Uuid::try_parse(text.trim()).ok().map(Llsd::Uuid),
        "date" => date::parse(&text).map(Llsd::Date),
        "binary" => match element.attribute("encoding")?.as_deref() {
            None | Some("base64") => base64_decode(&text).map(Llsd::Binary),
            Some("base16") => base16_decode(&text).map(Llsd::Binary),
            Some(_) => None,
        },
        _ => return Err(Malformed::Syntax),
    })
}

/// Writes `<llsd>…</llsd>` without prolog or white space.
#[must_use]
pub fn encode(value: &Llsd) -> String {
    let mut out = String::from("<llsd>");
    write(value, &mut out);
    out.push_str("</llsd>");
    out
}

fn write(value: &Llsd, out: &mut String) {
    match value {
        Llsd::Undef => out.push_str("<undef/>"),
        // Digits, because every client takes them: nm writes them itself, and the viewer's parser counts in
        // them.
        Llsd::Boolean(value) => tagged("boolean", out, |out| out.push(if *value { '1' } else { '0' })),
        Llsd::Integer(value) => tagged("integer", out, |out| out.push_str(&value.to_string())),
        Llsd::Real(value) => tagged("real", out, |out| push_real(*value, out)),
        Llsd::String(text) => tagged("string", out, |out| escape(text, out)),
        Llsd::Uuid(value) => tagged("uuid", out, |out| out.push_str(&value.to_string())),
        Llsd::Date(seconds) => tagged("date", out, |out| out.push_str(&date::format(*seconds))),
        Llsd::Uri(text) => tagged("uri", out, |out| escape(text, out)),
        Llsd::Binary(bytes) => tagged("binary", out, |out| base64_encode(bytes, out)),
        Llsd::Array(values) => tagged("array", out, |out| values.iter().for_each(|value| write(value, out))),
        Llsd::Map(entries) => tagged("map", out, |out| {
            for (key, value) in entries {
                tagged("key", out, |out| escape(key, out));
                write(value, out);
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DEPTH_MAX, arbitrary};
    use super::*;
    use proptest::prelude::*;

    fn parse(document: &str) -> Result<Llsd, Malformed> {
        decode(document.as_bytes(), Limits::REQUEST)
    }

    #[test]
    fn every_type_has_its_element() {
        let value = Llsd::map([
            ("a", Llsd::Undef),
            ("b", true.into()),
            ("c", (-7).into()),
            ("d", 0.5.into()),
            ("e", "x<&>y".into()),
            ("f", Uuid::from_u128(1).into()),
            ("g", Llsd::Date(0.0)),
            ("h", Llsd::Uri("http://a/?b&c".into())),
            ("i", Llsd::from_u32(258)),
            ("j", Llsd::array([1, 2])),
        ]);
        let document = "<llsd><map><key>a</key><undef/><key>b</key><boolean>1</boolean><key>c</key>\
            <integer>-7</integer><key>d</key><real>0.5</real><key>e</key><string>x&lt;&amp;&gt;y</string><key>f</key>\
            <uuid>00000000-0000-0000-0000-000000000001</uuid><key>g</key><date>1970-01-01T00:00:00Z</date>\
            <key>h</key><uri>http://a/?b&amp;c</uri><key>i</key><binary>AAABAg==</binary><key>j</key>\
            <array><integer>1</integer><integer>2</integer></array></map></llsd>";
        assert_eq!(encode(&value), document);
        assert_eq!(parse(document), Ok(value));
    }

    #[test]
    fn dialects_of_the_clients_are_read() {
        let viewer = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<llsd>\n <map>\n  <key>ack</key>\n  <undef />\n\
            <!-- c --><key>done</key> <boolean>false</boolean>\n </map>\n</llsd>\n";
        assert_eq!(parse(viewer), Ok(Llsd::map([("ack", Llsd::Undef), ("done", false.into())])));
        let empties = "<llsd><array><boolean/><integer/><real/><string/><uuid/><date/><uri/><binary/><map/></array></llsd>";
        let expected = vec![
            Llsd::Boolean(false),
            Llsd::Integer(0),
            Llsd::Real(0.0),
            "".into(),
            Uuid::nil().into(),
            Llsd::Date(0.0),
            Llsd::Uri(String::new()),
            Llsd::Binary(Vec::new()),
            Llsd::Map(BTreeMap::new()),
        ];
        assert_eq!(parse(empties), Ok(Llsd::Array(expected)));
        assert_eq!(parse("<llsd/>"), Ok(Llsd::Undef));
        let based = "<llsd><array><binary encoding='base16'>01 fF</binary><binary encoding=\"base64\">\nAf8=\n</binary></array></llsd>";
        assert_eq!(parse(based), Ok(Llsd::array([vec![1, 255], vec![1, 255]])));
        assert_eq!(parse("<llsd><string> a\tb </string></llsd>"), Ok(" a\tb ".into()));
    }

    #[test]
    fn markup_outside_of_llsd_is_refused_with_its_reason() {
        for (document, reason) in [
            ("", Malformed::Syntax),
            ("<llsd><integer>1</integer>", Malformed::Truncated),
            ("<llsd><integer>one</integer></llsd>", Malformed::Value),
            ("<llsd><boolean>maybe</boolean></llsd>", Malformed::Value),
            ("<llsd><uuid>1234</uuid></llsd>", Malformed::Value),
            ("<llsd><date>soon</date></llsd>", Malformed::Value),
            ("<llsd><binary encoding='base85'>ab</binary></llsd>", Malformed::Value),
            ("<llsd><i4>1</i4></llsd>", Malformed::Syntax),
            ("<llsd><integer>1</integer><integer>2</integer></llsd>", Malformed::Syntax),
            ("<llsd><map><integer>1</integer></map></llsd>", Malformed::Syntax),
            ("<llsd><map><key>a</key></map></llsd>", Malformed::Syntax),
            ("<llsd><array>text</array></llsd>", Malformed::Syntax),
            ("<map/>", Malformed::Syntax),
            ("<!DOCTYPE llsd [<!ENTITY a 'aaaa'>]><llsd><string>&a;</string></llsd>", Malformed::Syntax),
        ] {
            assert_eq!(parse(document), Err(reason), "{document}");
        }
    }

    #[test]
    fn nesting_is_allowed_to_the_limit_and_not_beyond() {
        let nested = |arrays: usize| {
            format!("<llsd>{}<undef/>{}</llsd>", "<array>".repeat(arrays), "</array>".repeat(arrays))
        };
        assert!(parse(&nested(DEPTH_MAX - 1)).is_ok());
        assert_eq!(parse(&nested(DEPTH_MAX)), Err(Malformed::Depth));
        assert_eq!(parse(&"<array>".repeat(10_000)), Err(Malformed::Syntax));
    }

    #[test]
    fn bytes_and_values_are_bounded() {
        let document = "<llsd><array><undef/><undef/></array></llsd>";
        let limits = Limits { bytes_max: document.len(), values_max: 3 };
        assert!(decode(document.as_bytes(), limits).is_ok());
        let few_bytes = Limits { bytes_max: document.len() - 1, ..limits };
        assert_eq!(decode(document.as_bytes(), few_bytes), Err(Malformed::Oversized));
        let few_values = Limits { values_max: 2, ..limits };
        assert_eq!(decode(document.as_bytes(), few_values), Err(Malformed::Oversized));
    }

    proptest! {
        #[test]
        fn written_values_read_back(value in arbitrary::value()) {
            prop_assert_eq!(parse(&encode(&value)), Ok(value));
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, Limits::REQUEST);
        }

        #[test]
        fn a_damaged_document_is_decoded_without_panic(
            value in arbitrary::value(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = encode(&value).into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode(&bytes, Limits::REQUEST);
        }
    }
}
