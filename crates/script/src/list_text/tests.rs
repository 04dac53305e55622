use super::*;
use crate::{Key, Rotation};
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;

const BOTH: [Dialect; 2] = [Sl, OpenSim];

/// Texts between vertical bars.
fn texts(pieces: &str) -> List {
    pieces.split('|').map(Element::from).collect()
}

fn none() -> List {
    List::default()
}

#[test]
fn dumps_join_strings() {
    let source = List::from(vec![
        1.into(),
        (-0.0).into(),
        "a".into(),
        Vector::new(-0.0, 1.0, -1e-9).into(),
        Rotation::new(0.0, 0.0, -0.0, 1.0).into(),
        Key::from("k").into(),
    ]);
    let dump = |dialect| dump(&source, "; ", usize::MAX, dialect).expect("room").as_str().to_owned();
    let sl = "1; 0.000000; a; <0.000000, 1.000000, 0.000000>; <0.000000, 0.000000, 0.000000, 1.000000>; k";
    let opensim =
        "1; -0.000000; a; <-0.000000, 1.000000, -0.000000>; <0.000000, 0.000000, -0.000000, 1.000000>; k";
    assert_eq!((&*dump(Sl), &*dump(OpenSim)), (sl, opensim));
}

/// To look for each delimiter anew, from where another one has ended, would take a minute.
#[test]
fn delimiters_that_overlap_are_found_in_one_pass() {
    let text = Text::from("a".repeat(400_000));
    let delimiters: List = ["a".to_owned(), "a".repeat(200_000), "a".repeat(500_000)]
        .into_iter()
        .map(|text| Element::from(&*text))
        .collect();
    for dialect in BOTH {
        let pieces = parse(&text, &delimiters, &none(), false, usize::MAX, dialect);
        assert_eq!(pieces.map(|list| list.len()), Ok(0));
        let pieces = parse(&text, &none(), &delimiters, false, usize::MAX, dialect);
        assert_eq!(pieces.map(|list| list.len()), Ok(400_000));
    }
}

#[test]
fn dumps_are_bounded_by_the_room() {
    let source: List = std::iter::repeat_n(Element::from("ab"), 3).collect();
    for dialect in BOTH {
        let dumped = |room| dump(&source, "--", room, dialect).map(|text| text.to_string());
        assert_eq!(dumped(18 + 20), Ok("ab--ab--ab".to_owned()));
        assert_eq!(dumped(18 + 19), Err(RunError::StackHeapCollision));
        assert_eq!(dump(&none(), "--", 18, dialect), Ok(Text::default()));
    }
}

#[test]
fn csv_has_commas_and_spaces() {
    let source = List::from(vec![
        1.into(),
        16_777_216.0.into(),
        "a,b".into(),
        Vector::new(0.5, f64::INFINITY, f64::NAN).into(),
        (-0.0).into(),
    ]);
    let sl = "1, 16777216.000000, a,b, <0.500000, inf, nan>, -0.000000";
    let opensim = "1, 16777216.000000, a,b, <0.500000, Infinity, NaN>, -0.000000";
    assert_eq!((to_csv(&source, Sl).as_str(), to_csv(&source, OpenSim).as_str()), (sl, opensim));
    assert_eq!(to_csv(&none(), Sl).as_str(), "");
}

#[test]
fn csv_is_read_without_commas_in_brackets() {
    for (text, sl, opensim) in [
        ("a,b", "a|b", "a|b"),
        ("a, b", "a|b", "a|b"),
        ("a,  b ,c", "a| b |c", "a|b|c"),
        (" a", "a", "a"),
        ("", "", ""),
        (",", "|", "|"),
        ("a,,b", "a||b", "a||b"),
        ("<1, 2, 3>, x", "<1, 2, 3>|x", "<1, 2, 3>|x"),
        ("<<1, 2>, 3>, x", "<<1, 2>, 3>|x", "<<1, 2>, 3>|x"),
        ("<1, 2", "<1, 2", "<1, 2"),
        ("a>, b", "a>|b", "a>|b"),
        ("ä, ö", "ä|ö", "ä|ö"),
    ] {
        assert_eq!(from_csv(text, usize::MAX, Sl), Ok(texts(sl)), "{text}");
        assert_eq!(from_csv(text, usize::MAX, OpenSim), Ok(texts(opensim)), "{text}");
    }
}

#[test]
fn text_is_parsed_at_separators_and_spacers() {
    for (text, separators, spacers, parsed, kept) in [
        ("a b  c", " ", "", "a|b|c", "a|b||c"),
        ("a,b;c", ",", ";", "a|b|;|c", "a|b|;|c"),
        (",a,", ",", "", "a", "|a|"),
        ("abc", "x", "y", "abc", "abc"),
        ("abc", "", "", "abc", "abc"),
        ("a--b-c", "--|-", "", "a|b|c", "a|b|c"),
        ("a--b", "-|--", "", "a|b", "a||b"),
        ("a+b", "+", "+", "a|b", "a|b"),
        ("ab", "", "a|b", "a|b", "|a||b|"),
        ("äöü", "ö", "", "ä|ü", "ä|ü"),
        ("aaa", "aa", "", "a", "|a"),
    ] {
        for dialect in BOTH {
            let parse = |keep_nulls| {
                parse(&text.into(), &texts(separators), &texts(spacers), keep_nulls, usize::MAX, dialect)
                    .expect("room")
            };
            assert_eq!(parse(false), texts(parsed), "{text} {separators} {spacers}");
            assert_eq!(parse(true), texts(kept), "{text} {separators} {spacers} with nulls");
        }
    }
}

#[test]
fn dialects_differ_in_empty_strings_and_delimiters() {
    let parse = |text: &str, separators: List, keep_nulls, dialect| {
        parse(&text.into(), &separators, &none(), keep_nulls, usize::MAX, dialect).expect("room")
    };
    assert_eq!(parse("", none(), true, Sl), texts(""));
    assert_eq!(parse("", none(), true, OpenSim), none());
    for dialect in BOTH {
        assert_eq!(parse("", none(), false, dialect), none());
    }
    let nine = texts("1|2|3|4|5|6|7|8|9");
    assert_eq!(parse("a9b8c", nine.clone(), false, Sl), texts("a9b|c"));
    assert_eq!(parse("a9b8c", nine, false, OpenSim), texts("a|b|c"));
    let integer = List::from(vec![7.into()]);
    assert_eq!(parse("a7b", integer.clone(), false, Sl), texts("a7b"));
    assert_eq!(parse("a7b", integer, false, OpenSim), texts("a|b"));
}

#[test]
fn lists_beyond_the_room_are_a_collision() {
    let bytes = List::BASE_BYTES + 3 * 20;
    let separators = texts(",");
    for dialect in BOTH {
        let read = |room| from_csv("a,b,c", room, dialect);
        assert_eq!((read(bytes), read(bytes - 1)), (Ok(texts("a|b|c")), Err(RunError::StackHeapCollision)));
        let parsed = |room| parse(&"a,b,c".into(), &separators, &none(), false, room, dialect);
        assert_eq!((parsed(bytes), parsed(bytes - 1)), (read(bytes), read(bytes - 1)));
    }
}

#[test]
fn delimiters_are_bounded() {
    let many: List = (0..40).map(|n| Element::from(&*format!("<{n}>"))).collect();
    let parse = |dialect| {
        let text = "a<7>b<8>c<31>d<32>e".into();
        parse(&text, &many, &none(), false, usize::MAX, dialect).expect("room")
    };
    assert_eq!(parse(Sl), texts("a|b<8>c<31>d<32>e"));
    assert_eq!(parse(OpenSim), texts("a|b|c|d<32>e"));
}

proptest! {
    /// Nothing is lost: pieces and delimiters together are the text.
    #[test]
    fn pieces_add_up_to_the_text(text in "[ab,;\u{e4}]{0,30}") {
        let spacers = texts(",|;|ab");
        for dialect in BOTH {
            let pieces = parse(&text.as_str().into(), &none(), &spacers, true, usize::MAX, dialect).expect("room");
            let joined = dump(&pieces, "", usize::MAX, dialect).expect("room");
            prop_assert_eq!(joined.as_str(), text.as_str());
        }
    }

    #[test]
    fn integers_survive_csv(source in prop::collection::vec(any::<i32>(), 1..10)) {
        let list: List = source.iter().map(|&number| number.into()).collect();
        let read = from_csv(to_csv(&list, Sl).as_str(), usize::MAX, Sl).expect("room");
        for (n, number) in source.iter().enumerate() {
            prop_assert_eq!(read.integer(n as i32, Sl), *number);
        }
    }
}
