use super::*;
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;

const TEXT: &str =
    r#" { "a" : 1, "b":[10, -2.5e1, "x\"y", true,{"c":null}, false], "d":{"e":{}}, "äö":"ü" } "#;

fn path(elements: &[&str]) -> List {
    let element = |text: &&str| text.parse::<i32>().map_or_else(|_| Element::from(*text), Element::from);
    elements.iter().map(element).collect()
}

#[test]
fn values_are_found_by_their_path() {
    for (specifiers, value, kind) in [
        (&["a"][..], "1", NUMBER),
        (&["b", "0"], "10", NUMBER),
        (&["b", "1"], "-2.5e1", NUMBER),
        (&["b", "2"], "x\"y", STRING),
        (&["b", "3"], TRUE, TRUE),
        (&["b", "4"], r#"{"c":null}"#, OBJECT),
        (&["b", "4", "c"], NULL, NULL),
        (&["b", "5"], FALSE, FALSE),
        (&["d"], r#"{"e":{}}"#, OBJECT),
        (&["d", "e"], "{}", OBJECT),
        (&["äö"], "ü", STRING),
        (&[], TEXT.trim(), OBJECT),
        (&["x"], INVALID, INVALID),
        (&["b", "6"], INVALID, INVALID),
        (&["b", "-1"], INVALID, INVALID),
        (&["a", "0"], INVALID, INVALID),
        (&["0"], INVALID, INVALID),
        (&["d", "e", "f"], INVALID, INVALID),
    ] {
        assert_eq!(get_value(TEXT, &path(specifiers)).as_str(), value, "{specifiers:?}");
        assert_eq!(value_type(TEXT, &path(specifiers)).as_str(), kind, "{specifiers:?}");
    }
    let digits = List::from(vec!["b".into(), "2".into()]);
    assert_eq!(get_value(TEXT, &digits).as_str(), "x\"y", "digits in text name members of arrays");
    let float = List::from(vec![1.0.into()]);
    assert_eq!(get_value("[1, 2]", &float).as_str(), INVALID);
    let key = List::from(vec![crate::Key::from("a").into()]);
    assert_eq!(get_value(TEXT, &key).as_str(), "1");
}

#[test]
fn single_values_have_an_empty_path() {
    for (json, value, kind) in [
        ("7", "7", NUMBER),
        (" 7 ", "7", NUMBER),
        ("007.", "007.", NUMBER),
        (".5E-3", ".5E-3", NUMBER),
        ("\"a\"", "a", STRING),
        ("true", TRUE, TRUE),
        ("null", NULL, NULL),
        ("[]", "[]", ARRAY),
        (" [1] ", "[1]", ARRAY),
        ("", INVALID, INVALID),
        ("hello", INVALID, INVALID),
        ("TRUE", INVALID, INVALID),
        (".", INVALID, INVALID),
        ("1e", INVALID, INVALID),
        ("--1", INVALID, INVALID),
        ("1 2", INVALID, INVALID),
        ("[1", INVALID, INVALID),
        ("[1}", INVALID, INVALID),
        ("[1]]", INVALID, INVALID),
        ("\"a", INVALID, INVALID),
        ("{\"a\":1} x", INVALID, INVALID),
    ] {
        assert_eq!(get_value(json, &path(&[])).as_str(), value, "{json}");
        assert_eq!(value_type(json, &path(&[])).as_str(), kind, "{json}");
    }
}

#[test]
fn faults_count_on_the_path_alone() {
    for (json, specifiers, value) in [
        (r#"{"a":{x}, "b":1}"#, &["b"][..], "1"),
        (r#"{"a":{x}, "b":1}"#, &["a"], "{x}"),
        (r#"{"a":{x}, "b":1}"#, &["a", "x"], INVALID),
        (r#"{"a":1, b:2}"#, &["a"], INVALID),
        (r#"{"a":1,}"#, &["a"], INVALID),
        ("[1,,2]", &["0"], INVALID),
        ("[1 2]", &["0"], INVALID),
        (r#"{"a" 1}"#, &["a"], INVALID),
        (r#"{"a":1, "a":2}"#, &["a"], "2"),
        (r#"[[[[3]]]]"#, &["0", "0", "0", "0"], "3"),
        (r#"["]", 5]"#, &["1"], "5"),
        (r#"["\"]", 5]"#, &["1"], "5"),
    ] {
        assert_eq!(get_value(json, &path(specifiers)).as_str(), value, "{json} {specifiers:?}");
    }
}

#[test]
fn strings_are_unescaped() {
    for (json, expected) in [
        (r#""\b\t\n\f\r\"\/\\""#, "\u{8}\t\n\u{c}\r\"/\\"),
        (r#""\x""#, "x"),
        (r#""\u00e4\u00E4""#, "ää"),
        (r#""\ud83d\ude00!""#, "😀!"),
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\u12""#, "u12"),
        (r#""\u+123""#, "u+123"),
        (r#""\uäää""#, "uäää"),
        (r#""ä\ä""#, "ää"),
        ("\"\"", ""),
    ] {
        assert_eq!(get_value(json, &path(&[])).as_str(), expected, "{json}");
    }
}

#[test]
fn json_becomes_a_list() {
    let list = |elements: &[Element]| List::from(elements.to_vec());
    for (json, expected) in [
        ("", list(&[])),
        ("  ", list(&[])),
        ("[]", list(&[])),
        ("{}", list(&[])),
        (
            r#"[1, -2.5, "a\"b", true, false, null, [1, 2], {"x": 1}]"#,
            list(&[
                1.into(),
                (-2.5).into(),
                "a\"b".into(),
                TRUE.into(),
                FALSE.into(),
                NULL.into(),
                "[1, 2]".into(),
                r#"{"x": 1}"#.into(),
            ]),
        ),
        (r#"{"a": 1, "b": "c"}"#, list(&["a".into(), 1.into(), "b".into(), "c".into()])),
        ("[99999999999, -99999999999]", list(&[i32::MAX.into(), i32::MIN.into()])),
        ("7", list(&[7.into()])),
        (" \"a\" ", list(&["a".into()])),
        ("true", list(&[TRUE.into()])),
        ("hello world", list(&["hello world".into()])),
        ("[1, 2", list(&[INVALID.into()])),
        ("[1, x]", list(&[INVALID.into()])),
        ("{1}", list(&[INVALID.into()])),
        ("[1] x", list(&[INVALID.into()])),
    ] {
        for dialect in [Sl, OpenSim] {
            assert_eq!(to_list(json, usize::MAX, dialect), Ok(expected.clone()), "{json}");
        }
    }
    assert_eq!(to_list("[0.1]", usize::MAX, Sl), Ok(list(&[Sl.float(0.1).into()])));
    assert_eq!(to_list("[0.1]", usize::MAX, OpenSim), Ok(list(&[0.1.into()])));
}

#[test]
fn lists_beyond_the_room_are_a_collision() {
    let bytes = List::BASE_BYTES + 18 + 2 + 16;
    let read = |room| to_list(r#"{"a":1}"#, room, Sl);
    assert_eq!(read(bytes), Ok(List::from(vec!["a".into(), 1.into()])));
    assert_eq!(read(bytes - 1), Err(RunError::StackHeapCollision));
}

#[test]
fn depth_costs_no_more_than_length() {
    // Without the ends of brackets this path would read the text once for each level.
    let n = 20_000;
    let json = format!("{}7{}", "[".repeat(n), "]".repeat(n));
    let path: List = std::iter::repeat_n(Element::from(0), n).collect();
    assert_eq!(get_value(&json, &path).as_str(), "7");
    assert_eq!(get_value(&"[".repeat(n), &path).as_str(), INVALID);
}

proptest! {
    #[test]
    fn any_text_is_read(json in "[\\[\\]{}\",:a0.\\\\u\u{e4} -]{0,24}", specifiers in prop::collection::vec("[a0-1]{0,2}", 0..3)) {
        let specifiers: Vec<&str> = specifiers.iter().map(String::as_str).collect();
        let value = get_value(&json, &path(&specifiers));
        let is_invalid = value_type(&json, &path(&specifiers)).as_str() == INVALID;
        prop_assert_eq!(is_invalid, value.as_str() == INVALID);
        let _ = to_list(&json, usize::MAX, Sl);
    }
}
