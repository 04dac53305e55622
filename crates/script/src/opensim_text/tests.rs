use super::*;
use crate::value::{Element, Vector};

const ROOM: usize = 1_000;

#[test]
fn patterns_are_filled_with_elements() {
    let list = || {
        let elements: Vec<Element> =
            vec!["sky".into(), 7.into(), 0.5.into(), Vector::new(1.0, 2.0, 3.0).into(), "ä{1}".into()];
        List::from(elements)
    };
    for (pattern, expected) in [
        ("", ""),
        ("plain", "plain"),
        ("{0}", "sky"),
        ("{1} of {0}, {1}", "7 of sky, 7"),
        ("{2}", "0.500000"),
        ("{3}", "<1.000000, 2.000000, 3.000000>"),
        ("{4}!", "ä{1}!"),
        ("[{0,5}]", "[  sky]"),
        ("[{0,-5}]", "[sky  ]"),
        ("[{0,2}]", "[sky]"),
        ("[{4,6}]", "[  ä{1}]"),
        ("{1:D4}", "7"),
        ("{ 1 , 3 :x}", "  7"),
        ("{{0}}", "{0}"),
        ("{{{0}}}", "{sky}"),
        ("{9}", "{9}"),
        ("{-1}", "{-1}"),
        ("{x}", "{x}"),
        ("{", "{"),
        ("}", "}"),
        ("{0", "{0"),
        ("}{0}{", "}sky{"),
        ("ä{0}ö", "äskyö"),
    ] {
        let filled = fill(pattern, &list(), ROOM, Dialect::OpenSim).expect(pattern);
        assert_eq!(filled.as_str(), expected, "{pattern}");
    }
    assert_eq!(fill("{0,2147483647}", &list(), ROOM, Dialect::OpenSim), Err(RunError::StackHeapCollision));
    assert_eq!(fill("{0,-2147483648}", &list(), ROOM, Dialect::OpenSim), Err(RunError::StackHeapCollision));
    let long = "{0}".repeat(200);
    assert_eq!(fill(&long, &list(), ROOM, Dialect::OpenSim), Err(RunError::StackHeapCollision));
    // A brace without its other half is not looked for in all of the text.
    let braces = "{ ".repeat(200_000);
    assert_eq!(fill(&braces, &list(), 1 << 20, Dialect::OpenSim).expect("braces").as_str(), braces);
}

#[test]
fn beginnings_ends_and_places_are_found() {
    for (text, value, ignores_case, starts, ends, index) in [
        ("Apple", "Ap", false, true, false, 0),
        ("Apple", "ap", false, false, false, -1),
        ("Apple", "aP", true, true, false, 0),
        ("Apple", "LE", true, false, true, 3),
        ("äöÄÖ", "äö", false, true, false, 0),
        ("xäöÄÖ", "ÄÖ", false, false, true, 3),
        ("xäöÄÖ", "ÄÖ", true, false, true, 1),
        ("a", "", false, false, false, -1),
        ("", "", true, false, false, -1),
        ("", "a", false, false, false, -1),
    ] {
        let (text, value) = (Text::from(text), Text::from(value));
        let found = (
            starts_with(&text, &value, ignores_case),
            ends_with(&text, &value, ignores_case),
            index_of(&text, &value, ignores_case),
        );
        assert_eq!(found, (starts, ends, index), "{text} {value} {ignores_case}");
    }
    for (start, count, expected) in
        [(0, 0, 5), (0, -1, 5), (0, 6, 5), (0, 5, 3), (2, 3, 3), (4, 1, -1), (-3, 2, 1), (7, 0, -1)]
    {
        assert_eq!(last_index_of(&"-aäaÄa-".into(), &"a".into(), start, count, false), expected, "{start}");
    }
    assert_eq!(last_index_of(&"-aäaÄa-".into(), &"Ä".into(), 0, 0, true), 4);
    assert_eq!(last_index_of(&"-a-".into(), &"".into(), 0, 0, true), -1);
}

#[test]
fn pieces_are_taken_removed_and_replaced() {
    for (start, count, removed, taken) in [
        (1, 2, "äe", "bc"),
        (0, 1, "bce", "ä"),
        (-5, 1, "bce", "ä"),
        (2, 0, "äb", ""),
        (2, -1, "äb", ""),
        (2, 99, "äb", "ce"),
        (2, i32::MAX, "äb", "ce"),
        (0, 99, "", "äbce"),
        (4, 1, "", ""),
    ] {
        let text = Text::from("äbce");
        assert_eq!(remove(&text, start, count).as_str(), removed, "{start} {count}");
        assert_eq!(sub_string(&text, start, count).as_str(), taken, "{start} {count}");
    }
    let replaced = |text: &str, value: &str, by: &str| replace(&text.into(), &value.into(), &by.into(), ROOM);
    assert_eq!(replaced("a.b.c", ".", "->").expect("room").as_str(), "a->b->c");
    assert_eq!(replaced("a.b.c", ".", "").expect("room").as_str(), "abc");
    assert_eq!(replaced("abc", "", "x").expect("room").as_str(), "");
    assert_eq!(replaced(&"a".repeat(100), "a", "12345"), Err(RunError::StackHeapCollision));
}

#[test]
fn times_are_dates() {
    for (seconds, expected) in [
        (0, "1970-01-01T00:00:00.0000000Z"),
        (-1, "1969-12-31T23:59:59.0000000Z"),
        (951_782_400, "2000-02-29T00:00:00.0000000Z"),
        (1_234_567_890, "2009-02-13T23:31:30.0000000Z"),
        (1_709_251_199, "2024-02-29T23:59:59.0000000Z"),
        (i32::MAX, "2038-01-19T03:14:07.0000000Z"),
        (i32::MIN, "1901-12-13T20:45:52.0000000Z"),
    ] {
        assert_eq!(timestamp(seconds).as_str(), expected);
    }
}
