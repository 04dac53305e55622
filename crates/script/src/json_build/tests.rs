use super::*;
use crate::json::{get_value, to_list};
use crate::key::Key;
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;

const BOTH: [Dialect; 2] = [Sl, OpenSim];

fn path(elements: &[&str]) -> List {
    let element = |text: &&str| text.parse::<i32>().map_or_else(|_| Element::from(*text), Element::from);
    elements.iter().map(element).collect()
}

fn set(json: &str, specifiers: &[&str], value: &str, dialect: Dialect) -> String {
    set_value(json, &path(specifiers), value, usize::MAX, dialect).expect("room").to_string()
}

#[test]
fn lists_become_arrays() {
    let id = "01234567-89ab-cdef-0123-456789abcdef";
    let list = List::from(vec![
        1.into(),
        0.5.into(),
        "a\"\nb\\/".into(),
        "  x ".into(),
        "".into(),
        "12".into(),
        "true".into(),
        NULL.into(),
        TRUE.into(),
        "[1,2]".into(),
        "{\"a\":1}".into(),
        "\"q\"".into(),
        Key::from(id).into(),
        Vector::new(1.0, 2.0, 3.0).into(),
        Rotation::ZERO.into(),
        f64::INFINITY.into(),
    ]);
    let rest = format!(
        r#""x","","12",true,null,true,[1,2],{{"a":1}},"q","{id}","<1.000000, 2.000000, 3.000000>","<0.000000, 0.000000, 0.000000, 1.000000>""#
    );
    assert_eq!(from_list(ARRAY, &list, Sl).as_str(), format!(r#"[1,0.500000,"a\"\nb\\\/",{rest},inf]"#));
    assert_eq!(from_list(ARRAY, &list, OpenSim).as_str(), format!(r#"[1,0.5,"a\"\nb\\/",{rest},"Inf"]"#));
    assert_eq!(from_list(ARRAY, &List::default(), Sl).as_str(), "[]");
}

#[test]
fn lists_become_objects() {
    let list = |elements: &[Element]| List::from(elements.to_vec());
    for (source, expected) in [
        (list(&["a".into(), 1.into(), "b".into(), "x".into()]), r#"{"a":1,"b":"x"}"#),
        (list(&["a\"".into(), "[]".into()]), r#"{"a\"":[]}"#),
        (list(&[Key::from("k").into(), 1.into()]), r#"{"k":1}"#),
        (list(&[]), "{}"),
        (list(&["a".into()]), INVALID),
        (list(&[1.into(), 2.into()]), INVALID),
    ] {
        for dialect in BOTH {
            assert_eq!(from_list(OBJECT, &source, dialect).as_str(), expected, "{source:?}");
        }
    }
    assert_eq!(from_list("array", &List::default(), Sl).as_str(), INVALID);
}

#[test]
fn values_are_set_by_their_path() {
    for (json, specifiers, value, expected) in [
        ("", &["a"][..], "1", r#"{"a":1}"#),
        ("", &["a"], "x", r#"{"a":"x"}"#),
        ("", &["0"], "x", r#"["x"]"#),
        ("", &["-1"], "x", r#"["x"]"#),
        ("", &["a", "0", "b"], "x", r#"{"a":[{"b":"x"}]}"#),
        ("{}", &["a"], "true", r#"{"a":true}"#),
        (r#"{"a":1,"b":2}"#, &["a"], "3", r#"{"a":3,"b":2}"#),
        (r#"{"a":1,"b":2}"#, &["b"], "3", r#"{"a":1,"b":3}"#),
        (r#"{ "a" : 1 , "b" : [ 2 ] }"#, &["c"], "3", r#"{"a":1,"b":[ 2 ],"c":3}"#),
        ("[1,2,3]", &["1"], "x", r#"[1,"x",3]"#),
        ("[1,2,3]", &["3"], "x", r#"[1,2,3,"x"]"#),
        ("[1,2,3]", &["-1"], "x", r#"[1,2,3,"x"]"#),
        ("[1,2,3]", &["4"], "x", INVALID),
        ("[1,2,3]", &["-2"], "x", INVALID),
        ("[]", &["0"], "[4]", "[[4]]"),
        ("[]", &["1"], "x", INVALID),
        ("", &["1"], "x", INVALID),
        (r#"{"a":{"b":[1,{"c":2},3]}}"#, &["a", "b", "1", "c"], "9", r#"{"a":{"b":[1,{"c":9},3]}}"#),
        (r#"{"a":{"b":[1]}}"#, &["a", "b", "-1"], "9", r#"{"a":{"b":[1,9]}}"#),
        // Another kind of value is replaced.
        (r#"{"a":1}"#, &["a", "b"], "x", r#"{"a":{"b":"x"}}"#),
        (r#"{"a":1}"#, &["0"], "x", r#"["x"]"#),
        (r#"{"a":1}"#, &["1"], "x", INVALID),
        (r#"{"a":{"b":1},"c":2}"#, &["a", "-1"], "x", r#"{"a":["x"],"c":2}"#),
        ("[1,2]", &["a"], "x", r#"{"a":"x"}"#),
        ("7", &["a"], "x", r#"{"a":"x"}"#),
        // The whole.
        ("[1,2]", &[], "x", r#""x""#),
        ("no json", &[], "7", "7"),
        ("no json", &["a"], "7", INVALID),
        ("[1, no json]", &["0"], "7", INVALID),
        (r#"{"a":[1, no json]}"#, &["b"], "7", r#"{"a":[1, no json],"b":7}"#),
        (r#"{"a":1,"a":2}"#, &["a"], "3", r#"{"a":1,"a":3}"#),
        (r#"{"a\"b":1}"#, &["a\"b"], "3", r#"{"a\"b":3}"#),
        // JSON_TRUE, JSON_NULL, and text with white space.
        ("[]", &["0"], TRUE, "[true]"),
        ("[]", &["0"], NULL, "[null]"),
        ("[]", &["0"], " 1.5 ", "[1.5]"),
    ] {
        for dialect in BOTH {
            assert_eq!(set(json, specifiers, value, dialect), expected, "{json} {specifiers:?} {value}");
        }
    }
    assert_eq!(set_value("[1]", &List::from(vec![0.5.into()]), "x", 99, Sl).expect("room").as_str(), INVALID);
    let digits = List::from(vec!["0".into()]);
    assert_eq!(set_value("[1,2]", &digits, "x", 99, Sl).expect("room").as_str(), r#"["x",2]"#);
}

#[test]
fn append_is_a_string_in_opensim() {
    let append = List::from(vec![APPEND_TEXT.into()]);
    let set = |json: &str, dialect| set_value(json, &append, "x", 99, dialect).expect("room").to_string();
    assert_eq!((set("[1]", OpenSim), set("[1]", Sl)), (r#"[1,"x"]"#.to_owned(), r#"{"-1":"x"}"#.to_owned()));
    assert_eq!(set(r#"{"a":1}"#, OpenSim), r#"{"a":1,"-1":"x"}"#);
}

#[test]
fn values_are_deleted() {
    for (json, specifiers, expected) in [
        ("[1,2,3]", &["1"][..], "[1,3]"),
        ("[1]", &["0"], "[]"),
        (r#"{"a":1,"b":2}"#, &["a"], r#"{"b":2}"#),
        (r#"{"a":[1,{"b":2}],"c":3}"#, &["a", "1", "b"], r#"{"a":[1,{}],"c":3}"#),
        (r#"{"a":1}"#, &["b"], INVALID),
        ("[1]", &["1"], INVALID),
        ("[1]", &["-1"], INVALID),
        ("", &["a"], INVALID),
        (r#"{"a":1}"#, &["a", "b"], INVALID),
        ("[1]", &[], DELETE),
    ] {
        for dialect in BOTH {
            assert_eq!(set(json, specifiers, DELETE, dialect), expected, "{json} {specifiers:?}");
        }
    }
}

#[test]
fn texts_beyond_the_room_are_a_collision() {
    let set = |room| set_value("[1]", &path(&["-1"]), "2", room, Sl).map(|text| text.to_string());
    assert_eq!(set(18 + 10), Ok("[1,2]".to_owned()));
    assert_eq!(set(18 + 9), Err(RunError::StackHeapCollision));
}

#[test]
fn paths_may_be_deep() {
    let n = 2_000;
    let path: List = std::iter::repeat_n(Element::from(0), n).collect();
    let json = set_value("", &path, "7", usize::MAX, Sl).expect("room");
    assert_eq!(json.as_str(), format!("{}7{}", "[".repeat(n), "]".repeat(n)));
}

proptest! {
    #[test]
    fn strings_survive(source in prop::collection::vec("[a-z\"\\\\/\u{1}\n\u{e4}\u{1f600}]{1,6}", 0..5)) {
        // White space at the ends is removed, and text in quotes is taken as it is.
        prop_assume!(source.iter().all(|text| !text.starts_with(['\n', '"']) && !text.ends_with('\n')));
        let list: List = source.iter().map(|text| Element::from(&**text)).collect();
        for dialect in BOTH {
            prop_assert_eq!(to_list(from_list(ARRAY, &list, dialect).as_str(), usize::MAX, dialect), Ok(list.clone()));
        }
    }

    #[test]
    fn set_values_are_found(json in "[\\[\\]{}\",:a0 ]{0,16}", specifiers in prop::collection::vec("[a0]", 1..4)) {
        let specifiers: Vec<&str> = specifiers.iter().map(String::as_str).collect();
        let changed = set(&json, &specifiers, "42", Sl);
        prop_assert!(changed == INVALID || get_value(&changed, &path(&specifiers)).as_str() == "42", "{}", changed);
    }
}
