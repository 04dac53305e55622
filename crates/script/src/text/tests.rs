use super::*;
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;

const BOTH: [Dialect; 2] = [Sl, OpenSim];

fn text(text: &str) -> Text {
    text.into()
}

#[test]
fn sums_beyond_the_room_are_a_collision() {
    assert_eq!(concat(&text("aä"), &text("b"), 24), Ok(text("aäb")));
    assert_eq!(concat(&text("aä"), &text("b"), 23), Err(RunError::StackHeapCollision));
    for dialect in BOTH {
        assert_eq!(insert(&text("ab"), 1, &text("c"), 24, dialect), Ok(text("acb")));
        assert_eq!(insert(&text("ab"), 1, &text("c"), 23, dialect), Err(RunError::StackHeapCollision));
    }
}

#[test]
fn unequal_strings_differ_by_one() {
    for (left, right, expected) in [("a", "a", 0), ("a", "b", 1), ("b", "a", 1), ("", "a", 1), ("a", "A", 1)]
    {
        assert_eq!(difference(&text(left), &text(right)), expected);
    }
}

#[test]
fn ranges_are_kept_or_deleted() {
    for (source, start, end, kept, rest) in [
        ("abcd", 0, -1, "abcd", ""),
        ("abcd", 1, 2, "bc", "ad"),
        ("abcd", -3, -2, "bc", "ad"),
        ("abcd", 2, 9, "cd", "ab"),
        ("abcd", 7, 9, "", "abcd"),
        ("abcd", 3, 0, "ad", "bc"),
        ("abcd", 2, 1, "abcd", ""),
        ("abcd", 1, -9, "bcd", "a"),
        ("ä😀cd", 1, 1, "😀", "äcd"),
        ("ä😀cd", 3, 0, "äd", "😀c"),
        ("", 0, -1, "", ""),
    ] {
        assert_eq!(sub_string(&text(source), start, end), text(kept), "{source} {start} {end}");
        assert_eq!(delete_sub_string(&text(source), start, end), text(rest), "{source} {start} {end}");
    }
}

#[test]
fn strings_are_inserted_in_front_of_an_index() {
    for (source, index, sl, opensim) in [
        ("abc", 0, "-abc", "-abc"),
        ("abc", 1, "a-bc", "a-bc"),
        ("abc", 3, "abc-", "abc-"),
        ("abc", 9, "abc-", "abc-"),
        ("abc", -1, "-abc", "ab-c"),
        ("abc", -9, "-abc", "-abc"),
        ("äöü", 1, "ä-öü", "ä-öü"),
        ("", 0, "-", "-"),
    ] {
        assert_eq!(insert(&text(source), index, &text("-"), 99, Sl), Ok(text(sl)), "{source} {index}");
        assert_eq!(
            insert(&text(source), index, &text("-"), 99, OpenSim),
            Ok(text(opensim)),
            "{source} {index}"
        );
    }
}

#[test]
fn patterns_are_found_by_character() {
    for (source, pattern, sl, opensim) in [
        ("hello", "l", 2, 2),
        ("hello", "lo", 3, 3),
        ("hello", "L", -1, -1),
        ("äö😀b", "b", 3, 3),
        ("hello", "", 0, 0),
        ("", "", 0, -1),
        ("", "a", -1, -1),
    ] {
        assert_eq!(index_of(&text(source), pattern, Sl), sl, "{pattern} in {source}");
        assert_eq!(index_of(&text(source), pattern, OpenSim), opensim, "{pattern} in {source}");
    }
}

#[test]
fn patterns_are_replaced_from_both_ends() {
    for (source, pattern, count, expected) in [
        ("a.a.a", "a", 0, "xy.xy.xy"),
        ("a.a.a", "a", 1, "xy.a.a"),
        ("a.a.a", "a", 2, "xy.xy.a"),
        ("a.a.a", "a", 9, "xy.xy.xy"),
        ("a.a.a", "a", -1, "a.a.xy"),
        ("a.a.a", "a", -2, "a.xy.xy"),
        ("a.a.a", "a", i32::MIN, "xy.xy.xy"),
        ("aaa", "aa", 0, "xya"),
        ("aaa", "aa", -1, "axy"),
        ("a.a", "", 0, "a.a"),
        ("a.a", "b", 0, "a.a"),
        ("ä.ä", "ä", 1, "xy.ä"),
    ] {
        let replaced = replace(&text(source), &text(pattern), &text("xy"), count, 99);
        assert_eq!(replaced, Ok(text(expected)), "{source} {pattern} {count}");
    }
    let doubled = |room| replace(&text("aaa"), &text("a"), &text("bb"), 0, room);
    assert_eq!(doubled(30), Ok(text("bbbbbb")));
    assert_eq!(doubled(29), Err(RunError::StackHeapCollision));
}

#[test]
fn case_changes_one_character_into_one() {
    for (source, upper, lower) in [
        ("Hello 1", "HELLO 1", "hello 1"),
        ("äÖ", "ÄÖ", "äö"),
        ("ß", "ß", "ß"),
        ("ς", "Σ", "ς"),
        ("Σ", "Σ", "σ"),
        ("ıİ", "Iİ", "ıİ"),
        ("", "", ""),
    ] {
        assert_eq!(to_upper(&text(source)), text(upper));
        assert_eq!(to_lower(&text(source)), text(lower));
    }
}

#[test]
fn white_space_is_trimmed_from_the_ends() {
    for (ends, sl, opensim) in [
        (1, "a b \t\n", "a b \t\n"),
        (2, " \t\na b", " \t\na b"),
        (3, "a b", "a b"),
        (0, " \t\na b \t\n", " \t\na b \t\n"),
        (7, "a b", " \t\na b \t\n"),
        (-1, "a b", " \t\na b \t\n"),
    ] {
        assert_eq!(trim(&text(" \t\na b \t\n"), ends, Sl), text(sl), "{ends}");
        assert_eq!(trim(&text(" \t\na b \t\n"), ends, OpenSim), text(opensim), "{ends}");
    }
    let wide = text("\u{3000}a\u{a0}");
    assert_eq!((trim(&wide, 3, Sl), trim(&wide, 3, OpenSim)), (wide, text("a")));
    assert_eq!(trim(&text("   "), 3, Sl), text(""));
}

#[test]
fn characters_have_codes() {
    for (code, sl, opensim) in [
        (65, "A", "A"),
        (0, "", ""),
        (0x1F600, "😀", "😀"),
        (-1, "\u{fffd}", "\u{fffd}"),
        (0xD800, "\u{fffd}", "\u{fffd}"),
        (0x11_0000, "\u{fffd}", "\u{fffd}"),
        (0xFFFE, "\u{fffd}", "\u{fffe}"),
        (0xFFFF, "\u{fffd}", "\u{ffff}"),
        (0xFDD0, "\u{fdd0}", "\u{fdd0}"),
    ] {
        assert_eq!(char_of(code, Sl), text(sl), "{code:x}");
        assert_eq!(char_of(code, OpenSim), text(opensim), "{code:x}");
    }
    for (source, index, expected) in
        [("A😀", 0, 65), ("A😀", 1, 0x1F600), ("A😀", -1, 0x1F600), ("A😀", 2, 0), ("A😀", -3, 0), ("", 0, 0)]
    {
        assert_eq!(code_of(&text(source), index), expected, "{source} {index}");
    }
}

proptest! {
    #[test]
    fn pieces_add_up(source in "[a\u{e4}\u{1f600}]{0,8}", start in -10..10_i32, end in -10..10_i32) {
        let source = text(&source);
        let kept = sub_string(&source, start, end);
        let rest = delete_sub_string(&source, start, end);
        prop_assert_eq!(kept.n_chars() + rest.n_chars(), source.n_chars());
    }

    #[test]
    fn replaced_text_is_that_of_the_standard_library(source in "[ab]{0,12}", pattern in "[ab]{1,3}", n in 1..4_usize) {
        let replaced = |count| replace(&text(&source), &text(&pattern), &text("c"), count, usize::MAX).expect("room");
        prop_assert_eq!(replaced(0), Text::from(source.replace(&pattern, "c")));
        prop_assert_eq!(replaced(n as i32), Text::from(source.replacen(&pattern, "c", n)));
    }
}
