use super::*;

const ROOM: usize = 64 << 10;

fn found(text: &str, pattern: &str, start: i32) -> Result<String, RunError> {
    let text = Text::from(text);
    let list = matches(&Search { text: &text, pattern, start }, ROOM, &mut 0)?;
    let pieces = list.iter().map(|element| match element {
        Element::Text(text) => text.as_str().to_owned(),
        Element::Integer(index) => index.to_string(),
        other => panic!("{other:?}"),
    });
    Ok(pieces.collect::<Vec<_>>().join(" "))
}

fn replaced(text: &str, pattern: &str, by: &str, count: i32, start: i32) -> Result<String, RunError> {
    let text = Text::from(text);
    let replaced = replace(&Search { text: &text, pattern, start }, by, count, ROOM, &mut 0)?;
    Ok(replaced.as_str().to_owned())
}

#[test]
fn matches_and_their_groups_have_texts_and_indexes() {
    for (text, pattern, start, expected) in [
        ("one two", "[a-z]+", 0, "one 0 two 4"),
        ("one two", "[a-z]+", 1, "ne 1 two 4"),
        ("one two", "[a-z]+", -2, "wo 5"),
        ("one two", "^[a-z]+", 4, ""),
        ("one two", "[0-9]", 0, ""),
        ("one two", "[a-z]", 7, ""),
        ("one two", "[a-z]", -8, ""),
        ("", "x*", 0, ""),
        ("k=v", "([a-z])=([a-z])", 0, "k=v 0 k 0 v 2"),
        ("ab", "(a)|(b)", 0, "a 0 a 0 b 1 b 1"),
        ("äöä", "ä", 0, "ä 0 ä 2"),
        ("äbäb", "ä(b)", 1, "äb 2 b 3"),
        ("aa", "x*", 0, " 0  1  2"),
        ("ABC", "(?i)b", 0, "B 1"),
    ] {
        assert_eq!(found(text, pattern, start), Ok(expected.to_owned()), "{text} {pattern} {start}");
    }
    for (text, pattern, expected) in
        [("door 12", "[0-9]{2}$", true), ("door", "[0-9]", false), ("", "^$", true), ("x", "(", false)]
    {
        assert_eq!(is_match(&text.into(), pattern, &mut 0), Ok(expected), "{pattern}");
    }
}

#[test]
fn replacements_refer_to_groups() {
    for (text, pattern, by, count, start, expected) in [
        ("one two one", "one", "1", -1, 0, "1 two 1"),
        ("one two one", "one", "1", 1, 0, "1 two one"),
        ("one two one", "one", "1", 0, 0, "one two one"),
        ("one two one", "one", "1", -1, 3, "one two 1"),
        ("one two one", "one", "1", -1, -3, "one two 1"),
        ("one two one", "one", "1", -1, 11, "one two one"),
        ("one two one", "one", "1", -1, -12, "one two one"),
        ("a=1", "(.)=(.)", "$2=$1", -1, 0, "1=a"),
        ("a=1", "(.)=(.)", "${2}0$$$&$", -1, 0, "10$a=1$"),
        ("a=1", "(?<k>.)=(.)", "${k}$3${none}$x", -1, 0, "a$3${none}$x"),
        ("ab", "(x)?b", "[$1]", -1, 0, "a[]"),
        ("ab", "", "-", -1, 0, "-a-b-"),
        ("äö", "ö", "ä$", -1, 0, "ää$"),
        ("äö", "ö", "${", -1, 0, "ä${"),
    ] {
        let replaced = replaced(text, pattern, by, count, start);
        assert_eq!(replaced, Ok(expected.to_owned()), "{text} {pattern} {by} {count} {start}");
    }
}

#[test]
fn expressions_and_texts_are_bounded() {
    let long = "a".repeat(TEXT_MAX + 1);
    let wide = "a".repeat(PATTERN_MAX + 1);
    for (text, pattern) in
        [("a", "("), ("a", "(a)\\1"), ("a", "a(?=b)"), ("a", "(a{1000}){1000}"), (&*long, "a"), ("a", &*wide)]
    {
        let shown = &pattern[..pattern.len().min(20)];
        assert_eq!(found(text, pattern, 0), Err(RunError::Pattern), "{shown}");
        assert_eq!(replaced(text, pattern, "", -1, 0), Err(RunError::Pattern), "{shown}");
        let is_bounded = text.len() <= TEXT_MAX && pattern.len() <= PATTERN_MAX;
        let expected = if is_bounded { Ok(false) } else { Err(RunError::Pattern) };
        assert_eq!(is_match(&text.into(), pattern, &mut 0), expected, "{shown}");
    }
    assert_eq!(replaced("a", "a", &wide, -1, 0), Err(RunError::Pattern));
    // Each letter is a match, and each search may have looked at all that follows.
    assert_eq!(found(&"a".repeat(TEXT_MAX), "a", 0), Err(RunError::Pattern));
    assert_eq!(found(&"a".repeat(2_000), "a", 0), Err(RunError::StackHeapCollision));
    assert_eq!(
        replaced(&"a".repeat(2_000), "a", "0123456789abcdefghi", -1, 0),
        Err(RunError::StackHeapCollision)
    );
}

#[test]
fn work_takes_fuel() {
    let fuel = |text: &str, pattern: &str| {
        let text = Text::from(text);
        let mut fuel = 0;
        let _ = matches(&Search { text: &text, pattern, start: 0 }, ROOM, &mut fuel);
        fuel
    };
    assert!(fuel("a", "[a-z]+") > 1_000);
    assert!(fuel(&"a".repeat(10_000), "b") > fuel("a", "b") + 600);
    assert!(fuel(&"a".repeat(100), "a") > fuel(&"a".repeat(100), "a+") + 100);
}
