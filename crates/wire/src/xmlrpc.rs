//! XML-RPC, the form of login: calls, responses and faults, for both ends.
//!
//! Values are [`Llsd`] trees, whose types cover XML-RPC's; a UUID or link travels as a string. The writer
//! keeps to what all clients read: one exact prolog, integers as `<i4>`, booleans as the
//! strings `true` and `false`, no white space. The reader takes every form of the specification, and
//! `<nil/>`. What the fields of a login mean is no matter of this module.

use crate::Malformed;
use crate::llsd::{
    Budget, Limits, Llsd, base64_decode, base64_encode, format_compact, parse_boolean, parse_date,
    parse_integer, parse_real, push_real,
};
use crate::markup::{Element, Markup, escape, is_blank, tagged};
use std::collections::BTreeMap;

/// One client compares these bytes literally, so they are not ours to choose.
const PROLOG: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";

/// Parameters of one call. Login has one; a few viewers append unused scalars.
const PARAMS_MAX: usize = 16;

/// A call: method and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodCall {
    /// Such as `login_to_simulator`.
    pub method: String,
    /// In order.
    pub params: Vec<Llsd>,
}

/// A server's reply to a call that it cannot parse. A refused login is not a fault but a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlRpcFault {
    /// For programs.
    pub code: i32,
    /// For people.
    pub message: String,
}

/// A server's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// The one value that the method returned.
    Value(Llsd),
    /// The call failed.
    Fault(XmlRpcFault),
}

/// Reads a `<methodCall>`.
///
/// # Errors
/// As [`decode_response`].
pub fn decode_call(document: &[u8], limits: Limits) -> Result<MethodCall, Malformed> {
    let mut markup = Markup::new(document, limits.bytes_max)?;
    let mut budget = Budget::new(limits);
    markup.expect("methodCall")?;
    markup.expect("methodName")?;
    let method = markup.text()?.trim_matches(is_blank).to_owned();
    let mut params = Vec::new();
    if let Some(list) = markup.child()? {
        if list.name() != "params" {
            return Err(Malformed::Syntax);
        }
        while let Some(param) = markup.child()? {
            if param.name() != "param" {
                return Err(Malformed::Syntax);
            }
            if params.len() == PARAMS_MAX {
                return Err(Malformed::Oversized);
            }
            params.push(read_only_value(&mut markup, &mut budget)?);
        }
        markup.close()?;
    }
    markup.close()?;
    Ok(MethodCall { method, params })
}

/// Reads a `<methodResponse>`.
///
/// # Errors
/// [`Malformed::Oversized`] or [`Malformed::Depth`] beyond the limits, [`Malformed::Text`] unless it is
/// UTF-8, [`Malformed::Truncated`] if it ends early, [`Malformed::Syntax`] for markup that XML-RPC does not
/// have, [`Malformed::Value`] for a scalar that is none of its type.
pub fn decode_response(document: &[u8], limits: Limits) -> Result<Response, Malformed> {
    let mut markup = Markup::new(document, limits.bytes_max)?;
    let mut budget = Budget::new(limits);
    markup.expect("methodResponse")?;
    let response = match markup.child()?.as_ref().map(Element::name) {
        Some("params") => {
            markup.expect("param")?;
            let value = read_only_value(&mut markup, &mut budget)?;
            markup.close()?;
            Response::Value(value)
        }
        Some("fault") => {
            let fault = read_only_value(&mut markup, &mut budget)?;
            Response::Fault(XmlRpcFault {
                code: fault.get("faultCode").as_i32().ok_or(Malformed::Value)?,
                message: fault.get("faultString").to_text().ok_or(Malformed::Value)?,
            })
        }
        _ => return Err(Malformed::Syntax),
    };
    markup.close()?;
    markup.close()?;
    Ok(response)
}

/// Reads the `<value>` that is all there is in the open element, and closes that element.
fn read_only_value(markup: &mut Markup<'_>, budget: &mut Budget) -> Result<Llsd, Malformed> {
    markup.expect("value")?;
    let value = read(markup, budget, 1)?;
    markup.close()?;
    Ok(value)
}

/// Reads the content of an open `<value>`, up to and with its closing tag. Without a type it is a string.
fn read(markup: &mut Markup<'_>, budget: &mut Budget, level: usize) -> Result<Llsd, Malformed> {
    budget.spend(level)?;
    let (text, typed) = markup.text_or_child()?;
    let Some(typed) = typed else { return Ok(Llsd::String(text)) };
    if !text.chars().all(is_blank) {
        return Err(Malformed::Syntax);
    }
    let value = match typed.name() {
        "struct" => {
            let mut members = BTreeMap::new();
            while let Some(member) = markup.child()? {
                if member.name() != "member" {
                    return Err(Malformed::Syntax);
                }
                markup.expect("name")?;
                let name = markup.text()?;
                markup.expect("value")?;
                members.insert(name, read(markup, budget, level + 1)?);
                markup.close()?;
            }
            Llsd::Map(members)
        }
        "array" => {
            let mut values = Vec::new();
            markup.expect("data")?;
            while let Some(value) = markup.child()? {
                if value.name() != "value" {
                    return Err(Malformed::Syntax);
                }
                values.push(read(markup, budget, level + 1)?);
            }
            markup.close()?;
            Llsd::Array(values)
        }
        name => {
            let text = markup.text()?;
            scalar(name, text)?.ok_or(Malformed::Value)?
        }
    };
    markup.close()?;
    Ok(value)
}

/// `Ok(None)` for text that is no value of the named type.
fn scalar(name: &str, text: String) -> Result<Option<Llsd>, Malformed> {
    Ok(match name {
        "i4" | "int" => parse_integer(&text).map(Llsd::Integer),
        "boolean" => parse_boolean(&text).map(Llsd::Boolean),
        "double" => parse_real(&text).map(Llsd::Real),
        "string" => Some(Llsd::String(text)),
        "dateTime.iso8601" => parse_date(&text).map(Llsd::Date),
        "base64" => base64_decode(&text).map(Llsd::Binary),
        "nil" | "ex:nil" => Some(Llsd::Undef),
        _ => return Err(Malformed::Syntax),
    })
}

/// Writes a `<methodCall>`.
#[must_use]
pub fn encode_call(call: &MethodCall) -> String {
    let mut out = format!("{PROLOG}<methodCall><methodName>");
    escape(&call.method, &mut out);
    out.push_str("</methodName><params>");
    for value in &call.params {
        out.push_str("<param>");
        write(value, &mut out);
        out.push_str("</param>");
    }
    out.push_str("</params></methodCall>");
    out
}

/// Writes a `<methodResponse>` with the value that the method returned.
#[must_use]
pub fn encode_response(value: &Llsd) -> String {
    let mut out = format!("{PROLOG}<methodResponse><params><param>");
    write(value, &mut out);
    out.push_str("</param></params></methodResponse>");
    out
}

/// Writes a `<methodResponse>` with a fault.
#[must_use]
pub fn encode_fault(fault: &XmlRpcFault) -> String {
    let mut out = format!("{PROLOG}<methodResponse><fault>");
    let members =
        Llsd::map([("faultCode", Llsd::from(fault.code)), ("faultString", fault.message.as_str().into())]);
    write(&members, &mut out);
    out.push_str("</fault></methodResponse>");
    out
}

fn write(value: &Llsd, out: &mut String) {
    out.push_str("<value>");
    match value {
        // XML-RPC has no undefined, and LLSD's converts to the empty string.
        Llsd::Undef => out.push_str("<string></string>"),
        Llsd::Boolean(value) => {
            tagged("string", out, |out| out.push_str(if *value { "true" } else { "false" }))
        }
        Llsd::Integer(value) => tagged("i4", out, |out| out.push_str(&value.to_string())),
        Llsd::Real(value) => tagged("double", out, |out| push_real(*value, out)),
        Llsd::String(text) | Llsd::Uri(text) => tagged("string", out, |out| escape(text, out)),
        Llsd::Uuid(value) => tagged("string", out, |out| out.push_str(&value.to_string())),
        Llsd::Date(seconds) => tagged("dateTime.iso8601", out, |out| out.push_str(&format_compact(*seconds))),
        Llsd::Binary(bytes) => tagged("base64", out, |out| base64_encode(bytes, out)),
        Llsd::Array(values) => {
            out.push_str("<array><data>");
            values.iter().for_each(|value| write(value, out));
            out.push_str("</data></array>");
        }
        Llsd::Map(members) => tagged("struct", out, |out| {
            for (name, value) in members {
                out.push_str("<member>");
                tagged("name", out, |out| escape(name, out));
                write(value, out);
                out.push_str("</member>");
            }
        }),
    }
    out.push_str("</value>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llsd::{DEPTH_MAX, arbitrary};
    use proptest::prelude::*;

    #[test]
    fn response_has_the_exact_form_that_clients_compare() {
        let reply = Llsd::map([
            ("login", Llsd::Boolean(true)),
            ("circuit_code", Llsd::Integer(7)),
            ("message", "a < b".into()),
            ("options", Llsd::Array(Vec::new())),
        ]);
        let expected = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<methodResponse><params><param><value><struct>\
            <member><name>circuit_code</name><value><i4>7</i4></value></member>\
            <member><name>login</name><value><string>true</string></value></member>\
            <member><name>message</name><value><string>a &lt; b</string></value></member>\
            <member><name>options</name><value><array><data></data></array></value></member>\
            </struct></value></param></params></methodResponse>";
        assert_eq!(encode_response(&reply), expected);
        let Ok(Response::Value(read)) = decode_response(expected.as_bytes(), Limits::REPLY) else {
            panic!("a value was written")
        };
        assert_eq!(read.get("login").as_bool(), Some(true));
        assert_eq!(read.get("circuit_code").as_i32(), Some(7));
    }

    #[test]
    fn call_is_read_in_every_form_of_the_specification() {
        let call = "<?xml version=\"1.0\"?>\r\n<methodCall>\n <methodName> login_to_simulator </methodName>\n <params>\n\
            <param><value><struct>\n\
              <member><name>first</name><value>Ada</value></member>\n\
              <member> <name>last</name> <value> <string>Lovelace</string> </value> </member>\n\
              <member><name>agree</name><value><boolean>1</boolean></value></member>\n\
              <member><name>n</name><value><int>-3</int></value></member>\n\
              <member><name>x</name><value><double>1.5</double></value></member>\n\
              <member><name>when</name><value><dateTime.iso8601>19700101T00:00:09</dateTime.iso8601></value></member>\n\
              <member><name>raw</name><value><base64>AQI=</base64></value></member>\n\
              <member><name>none</name><value><nil/></value></member>\n\
              <member><name>options</name><value><array><data>\n<value><string>inventory-root</string></value>\n\
              <value/></data></array></value></member>\n\
            </struct></value></param>\n<param><value><i4>5</i4></value></param></params></methodCall>\n";
        let expected = MethodCall {
            method: "login_to_simulator".into(),
            params: vec![
                Llsd::map([
                    ("first", Llsd::from("Ada")),
                    ("last", "Lovelace".into()),
                    ("agree", true.into()),
                    ("n", (-3).into()),
                    ("x", 1.5.into()),
                    ("when", Llsd::Date(9.0)),
                    ("raw", vec![1_u8, 2].into()),
                    ("none", Llsd::Undef),
                    ("options", Llsd::array(["inventory-root", ""])),
                ]),
                Llsd::Integer(5),
            ],
        };
        assert_eq!(decode_call(call.as_bytes(), Limits::STRANGER), Ok(expected));
        let bare = b"<methodCall><methodName>m</methodName></methodCall>";
        assert_eq!(
            decode_call(bare, Limits::STRANGER),
            Ok(MethodCall { method: "m".into(), params: Vec::new() })
        );
    }

    #[test]
    fn fault_survives_the_way() {
        let fault = XmlRpcFault { code: -32_600, message: "no such <method>".into() };
        assert_eq!(
            decode_response(encode_fault(&fault).as_bytes(), Limits::REPLY),
            Ok(Response::Fault(fault))
        );
    }

    fn value_in_call(value: &str) -> Result<MethodCall, Malformed> {
        let call = format!(
            "<methodCall><methodName>m</methodName><params><param>{value}</param></params></methodCall>"
        );
        decode_call(call.as_bytes(), Limits::STRANGER)
    }

    #[test]
    fn markup_outside_of_xml_rpc_is_refused_with_its_reason() {
        for (value, reason) in [
            ("", Malformed::Syntax),
            ("<string>x</string>", Malformed::Syntax),
            ("<value><i8>1</i8></value>", Malformed::Syntax),
            ("<value>text<i4>1</i4></value>", Malformed::Syntax),
            ("<value><i4>1</i4><i4>2</i4></value>", Malformed::Syntax),
            ("<value><i4>one</i4></value>", Malformed::Value),
            ("<value><i4>1</i4></value><value/>", Malformed::Syntax),
            ("<value><struct><member><value/></member></struct></value>", Malformed::Syntax),
            ("<value><array><value/></array></value>", Malformed::Syntax),
            ("<value>&lol;</value>", Malformed::Syntax),
        ] {
            assert_eq!(value_in_call(value), Err(reason), "{value}");
        }
        let bomb = b"<!DOCTYPE m [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><methodCall/>";
        assert_eq!(decode_call(bomb, Limits::STRANGER), Err(Malformed::Syntax));
        assert_eq!(decode_call(b"<methodCall>", Limits::STRANGER), Err(Malformed::Truncated));
        assert_eq!(decode_response(b"<methodResponse/>", Limits::REPLY), Err(Malformed::Syntax));
    }

    #[test]
    fn depth_values_and_params_are_bounded() {
        let nested = |arrays: usize| {
            format!(
                "{}<value/>{}",
                "<value><array><data>".repeat(arrays),
                "</data></array></value>".repeat(arrays)
            )
        };
        assert!(value_in_call(&nested(DEPTH_MAX - 1)).is_ok());
        assert_eq!(value_in_call(&nested(DEPTH_MAX)), Err(Malformed::Depth));
        let wide = format!("<value><array><data>{}</data></array></value>", "<value/>".repeat(1_024));
        assert_eq!(value_in_call(&wide), Err(Malformed::Oversized));
        let several = |params: usize| vec!["<value/>"; params].join("</param><param>");
        assert!(value_in_call(&several(PARAMS_MAX)).is_ok());
        assert_eq!(value_in_call(&several(PARAMS_MAX + 1)), Err(Malformed::Oversized));
    }

    /// A tree after a round trip: XML-RPC has fewer types, and dates there have whole seconds.
    fn flattened(value: Llsd) -> Llsd {
        match value {
            Llsd::Undef => "".into(),
            Llsd::Boolean(_) | Llsd::Uuid(_) | Llsd::Uri(_) => {
                value.to_text().expect("these scalars have text").into()
            }
            Llsd::Array(values) => Llsd::Array(values.into_iter().map(flattened).collect()),
            Llsd::Map(entries) => Llsd::map(entries.into_iter().map(|(key, value)| (key, flattened(value)))),
            other => other,
        }
    }

    proptest! {
        #[test]
        fn written_values_read_back(value in arbitrary::value()) {
            let response = decode_response(encode_response(&value).as_bytes(), Limits::REPLY);
            prop_assert_eq!(response, Ok(Response::Value(flattened(value.clone()))));
            let call = encode_call(&MethodCall { method: "m".into(), params: vec![value.clone()] });
            let expected = MethodCall { method: "m".into(), params: vec![flattened(value)] };
            prop_assert_eq!(decode_call(call.as_bytes(), Limits::REPLY), Ok(expected));
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_call(&bytes, Limits::STRANGER);
            let _ = decode_response(&bytes, Limits::STRANGER);
        }

        #[test]
        fn a_damaged_call_is_decoded_without_panic(
            value in arbitrary::value(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = encode_call(&MethodCall { method: "m".into(), params: vec![value] }).into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode_call(&bytes, Limits::STRANGER);
        }
    }
}
