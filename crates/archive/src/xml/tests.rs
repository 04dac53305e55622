//! Tests of documents that are read and written.

use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<XmlDocument<'_>, XmlError> {
    XmlDocument::parse(text.as_bytes(), &XmlLimits::SMALL)
}

fn text_of(text: &str) -> Result<String, XmlError> {
    Ok(parse(text)?.root().text().expect("no elements in it").into_owned())
}

#[test]
fn elements_are_places_in_the_source() {
    let text = "<?xml version=\"1.0\" encoding=\"utf-16\"?><a x='1' y=\"2&lt;\"><b/>t<c  ><d>1</d></c ><b>2</b></a>\r\n";
    let document = parse(text).unwrap();
    let root = document.root();
    assert_eq!((root.name(), root.attributes()), ("a", " x='1' y=\"2&lt;\""));
    assert_eq!(root.attribute("y").as_deref(), Some("2<"));
    assert_eq!(root.attribute("z"), None);
    assert_eq!(root.inner(), "<b/>t<c  ><d>1</d></c ><b>2</b>");
    assert_eq!(root.outer(), text[39..].trim_end());
    assert_eq!((root.text(), root.has_text(), root.offset()), (None, true, 39));
    let children: Vec<_> = root.children().map(|child| (child.name(), child.outer())).collect();
    assert_eq!(children, [("b", "<b/>"), ("c", "<c  ><d>1</d></c >"), ("b", "<b>2</b>")]);
    let c = root.child("c").unwrap();
    assert_eq!((c.attributes(), c.inner(), c.has_text()), ("  ", "<d>1</d>", false));
    assert_eq!(c.child("d").unwrap().text().as_deref(), Some("1"));
    assert_eq!(c.children().count(), 1);
    assert!(root.child("d").is_none());
}

#[test]
fn text_is_exact_across_comments_cdata_and_references() {
    for (text, expected) in [
        ("<a> x\r\ny </a>", " x\r\ny "),
        (
            "<a>1&lt;<!-- & -->2<![CDATA[<&>]]>&#x41;&#66;<?p?>&apos;&quot;&gt;&amp;amp;</a>",
            "1<2<&>AB'\">&amp;",
        ),
        ("<a>&#1;&#xFFFE;&#xD;</a>", "\u{1}\u{FFFE}\r"),
        ("<a/>", ""),
        ("\u{FEFF}<a></a>\0\0", ""),
        ("<a>\u{1F600}</a>", "\u{1F600}"),
    ] {
        assert_eq!(text_of(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn damage_is_refused_at_its_place() {
    let at = |offset: usize| move |why: &XmlError| matches!(why, XmlError::Syntax { offset: at, .. } if *at == offset);
    for (text, offset) in [
        ("<a><b></a>", 6),
        ("<a></a><b/>", 7),
        ("<a/>text", 4),
        ("text<a/>", 0),
        ("<a/></a>", 4),
        ("<a x=1/>", 0),
        ("<a x='1' x='2'/>", 0),
        ("<a x='<'/>", 0),
        ("<a 1='x'/>", 0),
        ("<1/>", 0),
        ("<a>< b/></a>", 3),
        ("<a>& b</a>", 3),
        ("\u{FEFF}<a><b></a>", 9),
        ("<a><!-- </a>", 3),
    ] {
        let why = parse(text).map(|_| ()).unwrap_err();
        assert!(at(offset)(&why), "{text}: {why}");
    }
    assert_eq!(parse("<a><b></b>").map(|_| ()), Err(XmlError::Truncated));
    assert_eq!(parse(" ").map(|_| ()), Err(XmlError::Empty));
    assert_eq!(parse("").map(|_| ()), Err(XmlError::Empty));
}

#[test]
fn document_types_and_entities_are_refused() {
    for (text, expected) in [
        ("<!DOCTYPE a [<!ENTITY b 'bbbb'>]><a>&b;</a>", XmlError::DocumentType { offset: 0 }),
        ("\n<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", XmlError::DocumentType { offset: 1 }),
        ("<a>1&b;</a>", XmlError::Entity { offset: 4 }),
        ("<a>&#xD800;</a>", XmlError::Entity { offset: 3 }),
        ("<a>&#x110000;</a>", XmlError::Entity { offset: 3 }),
        ("<a>&#+65;</a>", XmlError::Entity { offset: 3 }),
        ("<a><b x='&c;'/></a>", XmlError::Entity { offset: 3 }),
        ("<a><b x='&'/></a>", XmlError::Entity { offset: 3 }),
    ] {
        assert_eq!(parse(text).map(|_| ()), Err(expected), "{text}");
    }
}

/// In files of OpenSimulator, whose texts are those of messages with the NUL at their end.
#[test]
fn a_reference_to_nul_is_no_character_of_a_text() {
    let document = parse("<a b='x&#x0;'>Ears&#x0;&#1;<!-- --></a>").unwrap();
    assert_eq!(document.root().text().as_deref(), Some("Ears\u{1}"));
    assert_eq!(document.root().attribute("b").as_deref(), Some("x"));
}

#[test]
fn characters_and_encodings_are_checked_with_their_places() {
    assert_eq!(parse("<a>\u{1}</a>").map(|_| ()), Err(XmlError::Character { offset: 3 }));
    assert_eq!(parse("<a>x\u{FFFF}\u{0}</a>").map(|_| ()), Err(XmlError::Character { offset: 4 }));
    let parse_bytes = |bytes: &[u8]| XmlDocument::parse(bytes, &XmlLimits::SMALL).map(|_| ());
    assert_eq!(parse_bytes(b"<a>\xFF</a>"), Err(XmlError::Utf8 { offset: 3 }));
    assert_eq!(parse_bytes(b"\xFF\xFE<\0a\0/\0>\0"), Err(XmlError::Utf8 { offset: 0 }));
}

#[test]
fn limits_are_kept() {
    let limits = XmlLimits { bytes_max: 40, depth_max: 3, elements_max: 4, attributes_max: 2 };
    let parse = |text: &str| XmlDocument::parse(text.as_bytes(), &limits).map(|_| ());
    assert_eq!(parse("<a><b><c/></b><d/></a>"), Ok(()));
    assert_eq!(parse("<a><b><c><d/></c></b></a>"), Err(XmlError::Depth { offset: 9, max: 3 }));
    assert_eq!(parse("<a><b/><c/><d/><e/></a>"), Err(XmlError::Elements { max: 4 }));
    assert_eq!(parse("<a b='' c=''/>"), Ok(()));
    assert_eq!(parse("<a b='' c='' d=''/>"), Err(XmlError::Attributes { offset: 0, max: 2 }));
    let long = format!("<a>{}</a>", " ".repeat(40));
    assert_eq!(parse(&long), Err(XmlError::Oversized { len: 47, max: 40 }));
    let deep = "<a>".repeat(1_000_000);
    let why = XmlDocument::parse(deep.as_bytes(), &XmlLimits::OBJECT).map(|_| ());
    assert_eq!(why, Err(XmlError::Depth { offset: 192, max: 64 }));
}

#[test]
fn numbers_have_the_form_of_dot_net() {
    for (value, expected) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-0.5, "-0.5"),
        (128.312_5, "128.3125"),
        (0.707_106_77, "0.70710677"),
        (0.000_1, "0.0001"),
        (0.000_01, "1E-05"),
        (-1.5e-5, "-1.5E-05"),
        (1_234_567.0, "1234567"),
        (1e7, "1E+07"),
        (16_777_216.0, "16777216"),
        (1.234_567_9e11, "1.2345679E+11"),
        (f32::MAX, "3.4028235E+38"),
        (f32::from_bits(1), "1E-45"),
        (f32::NAN, "0"),
        (f32::NEG_INFINITY, "0"),
    ] {
        let mut text = String::new();
        push_f32(value, &mut text);
        assert_eq!(text, expected);
    }
}

#[test]
fn elements_are_written_in_the_form_of_dot_net() {
    let mut writer = XmlWriter::new();
    writer.open_with("Part", &attribute("name", "a\"<\n'"));
    writer.leaf("Empty", "");
    writer.leaf("Text", "a<b>&\"'\u{1F}\r\n\t\u{0}é");
    writer.bytes("None", b"");
    writer.bytes("Bytes", &[1, 2]);
    writer.value("Number", -2);
    writer.float("Float", 0.25);
    writer.empty("List", " x=\"1\"");
    writer.close("Part");
    let expected = "<Part name=\"a&quot;&lt;&#xA;'\"><Empty /><Text>a&lt;b&gt;&amp;\"'&#x1F;\r\n\té</Text><None></None>\
        <Bytes>AQI=</Bytes><Number>-2</Number><Float>0.25</Float><List x=\"1\" /></Part>";
    assert_eq!(writer.as_str(), expected);
    let document = parse(expected).unwrap();
    assert_eq!(document.root().attribute("name").as_deref(), Some("a\"<\n'"));
    assert_eq!(document.root().child("Text").unwrap().text().as_deref(), Some("a<b>&\"'\u{1F}\r\n\té"));
}

proptest! {
    #[test]
    fn numbers_are_read_as_they_are_written(bits: u32) {
        let value = f32::from_bits(bits);
        prop_assume!(value.is_finite());
        let mut text = String::new();
        push_f32(value, &mut text);
        prop_assert_eq!(text.parse::<f32>().map(f32::to_bits), Ok(bits), "{}", text);
    }

    #[test]
    fn texts_are_read_as_they_are_written(text in "[ -~\u{1}\r\n\t\u{e4}\u{fffe}\u{1f600}]{0,40}") {
        let mut writer = XmlWriter::new();
        writer.open_with("a", &attribute("b", &text));
        writer.leaf("c", &text);
        writer.close("a");
        let document = parse(writer.as_str()).unwrap();
        let root = document.root();
        let attribute = root.attribute("b").map(|value| value.to_string());
        let content = root.child("c").unwrap().text().map(|value| value.to_string());
        prop_assert_eq!(attribute.as_deref(), Some(text.as_str()));
        prop_assert_eq!(content.as_deref(), Some(text.as_str()));
    }

    #[test]
    fn any_markup_is_parsed_without_panic(text in "[<>/&;!?a-c\"'= \\-\\[\\]#x1]{0,60}") {
        if let Ok(document) = parse(&text) {
            let root = document.root();
            let _ = (root.text(), root.attribute("a"), root.children().count());
            prop_assert!(text.contains(root.outer()));
        }
    }
}
