//! Values behind words: numbers with their units, times of day, names.
//!
//! Each function takes its words off a cursor, or reports the expected and the found word.

use super::{
    SPEECH_LINES_MAX,
    fault::BehaviorFault,
    forms::{Expect, SPAN_MAX},
    interner::Interner,
    lexicon::{Lexicon, Names, PEOPLE, SPOTS},
    node::{AnimationIndex, Dm, Gait, People, PlaceRef, Tenths},
};
use outline::{FileReport, Lexeme, TextFault, Token, Words, shown};

/// A value as the table of words distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WordValue {
    Length(Dm),
    Span(Tenths),
    Spans(Tenths, Tenths),
    Percent(u8),
    Count(u16),
    Minute(u16),
    People(People),
    Spot(PlaceRef),
    /// Name of a route, a resource, a sound, a behaviour.
    Name(u16),
    Nothing,
    Animation(AnimationIndex),
    Lines {
        first: u16,
        n: u8,
    },
    Speed(Gait),
    Flag,
}

/// Names that values may refer to, and the report for problems.
pub(super) struct Values<'r, 'v> {
    pub(super) lexicon: &'r Lexicon<'v>,
    pub(super) behaviors: &'r Names<'v>,
    pub(super) lines: &'r mut Interner,
    pub(super) report: FileReport<'r, BehaviorFault>,
}

/// A number as it is written.
struct Number<'a> {
    value: f64,
    text: &'a str,
    column: u32,
}

/// Words that stand behind numbers, so that a wrong one is not taken for something else.
const UNITS: [&str; 9] = ["m", "s", "min", "h", "ms", "cm", "km", "%", "m/s"];

impl Values<'_, '_> {
    /// Reads one value. None when there is something wrong, which is reported.
    pub(super) fn read(&mut self, words: &mut Words<'_, '_>, expect: Expect) -> Option<WordValue> {
        Some(match expect {
            Expect::Length(min, max) => WordValue::Length(Dm(self.length(words, min, max)?)),
            Expect::Span(min, max) => WordValue::Span(Tenths(self.span(words, min, max)?)),
            Expect::Spans => self.spans(words)?,
            Expect::Last => {
                self.keyword(words, "last", "`last` and a duration, as in `in last 5 s`")?;
                WordValue::Span(Tenths(self.span(words, 1, SPAN_MAX)?))
            }
            Expect::Percent => {
                let wanted = "1 % to 100 %";
                let number = self.number(words, wanted)?;
                let factor = self.unit(words, &number, &[("%", 1.0)], wanted)?;
                WordValue::Percent(self.in_range(words, &number, factor, (1, 100), wanted)? as u8)
            }
            Expect::Count(min, max) => WordValue::Count(self.count(words, min, max)?),
            Expect::Times => {
                let count = self.count(words, 1, 10_000)?;
                self.keyword(words, "times", "`times`, as in `repeat 3 times:`")?;
                WordValue::Count(count)
            }
            Expect::Least => {
                self.keyword(words, "least", "`least` and a number, as in `at least 3`")?;
                WordValue::Count(self.count(words, 1, 255)?)
            }
            Expect::Speed => {
                let wanted = "a speed from 0.1 m/s to 25 m/s";
                let number = self.number(words, wanted)?;
                let factor = self.unit(words, &number, &[("m/s", 10.0)], wanted)?;
                let range = (1, u16::from(Gait::SPEED_MAX));
                WordValue::Speed(Gait(self.in_range(words, &number, factor, range, wanted)? as u8))
            }
            Expect::Clock => WordValue::Minute(self.clock(words)?),
            Expect::People => WordValue::People(self.people(words)?),
            Expect::Place => WordValue::Spot(self.spot(words, &["home", "here"])?),
            Expect::Spot => WordValue::Spot(self.spot(words, &SPOTS)?),
            Expect::Route => WordValue::Name(self.name(words, "route", &self.lexicon.routes)?),
            Expect::Load if words.skip_word("nothing") => WordValue::Nothing,
            Expect::Resource | Expect::Load => {
                WordValue::Name(self.name(words, "resource", &self.lexicon.resources)?)
            }
            Expect::Animation => WordValue::Animation(AnimationIndex(self.name(
                words,
                "animation",
                &self.lexicon.animations,
            )?)),
            Expect::Sound => WordValue::Name(self.name(words, "sound", &self.lexicon.sounds)?),
            Expect::Lines => self.lines(words)?,
            Expect::Behavior => WordValue::Name(self.behavior(words)?),
            Expect::Flag => WordValue::Flag,
        })
    }

    pub(super) fn add(&mut self, words: &Words<'_, '_>, fault: impl Into<BehaviorFault>) {
        self.report.add(words.line, words.column(), fault);
    }

    fn expected(&mut self, words: &Words<'_, '_>, wanted: &str) {
        let found =
            words.peek().map_or_else(|| "the end of the line".to_owned(), |token| token.lexeme.to_string());
        self.add(words, TextFault::Expected { wanted: wanted.to_owned(), found });
    }

    fn keyword(&mut self, words: &mut Words<'_, '_>, word: &str, wanted: &str) -> Option<()> {
        if words.skip_word(word) {
            return Some(());
        }
        self.expected(words, wanted);
        None
    }

    fn number<'a>(&mut self, words: &mut Words<'_, 'a>, wanted: &str) -> Option<Number<'a>> {
        if let Some(Token { column, lexeme: Lexeme::Number(text) }) = words.peek()
            && let Ok(value) = text.parse::<f64>()
        {
            words.skip();
            return Some(Number { value, text, column: *column });
        }
        self.expected(words, wanted);
        None
    }

    /// Takes a unit; returns its factor.
    fn unit(
        &mut self,
        words: &mut Words<'_, '_>,
        number: &Number<'_>,
        units: &[(&str, f64)],
        wanted: &str,
    ) -> Option<f64> {
        let next = words.peek_word();
        if let Some((_, factor)) = units.iter().find(|(unit, _)| next == Some(unit)) {
            words.skip();
            return Some(*factor);
        }
        let number_text = shown(number.text);
        let found = match next.filter(|unit| UNITS.contains(unit)) {
            Some(unit) => {
                words.skip();
                format!("`{number_text} {unit}`")
            }
            None => format!("`{number_text}` without a unit"),
        };
        let fault = TextFault::Expected { wanted: wanted.to_owned(), found };
        self.report.add(words.line, number.column, fault);
        None
    }

    fn in_range(
        &mut self,
        words: &Words<'_, '_>,
        number: &Number<'_>,
        factor: f64,
        (min, max): (u16, u16),
        wanted: &str,
    ) -> Option<u16> {
        let scaled = (number.value * factor).round();
        if (f64::from(min)..=f64::from(max)).contains(&scaled) {
            return Some(scaled as u16);
        }
        let fault = BehaviorFault::OutOfRange { found: shown(number.text), wanted: wanted.to_owned() };
        self.report.add(words.line, number.column, fault);
        None
    }

    fn length(&mut self, words: &mut Words<'_, '_>, min: u16, max: u16) -> Option<u16> {
        let metres = |dm: u16| f64::from(dm) / 10.0;
        let wanted = format!("a length from {} m to {} m", metres(min), metres(max));
        let number = self.number(words, &wanted)?;
        let factor = self.unit(words, &number, &[("m", 10.0)], &wanted)?;
        self.in_range(words, &number, factor, (min, max), &wanted)
    }

    fn span(&mut self, words: &mut Words<'_, '_>, min: u16, max: u16) -> Option<u16> {
        let shown = |tenths: u16| match tenths {
            600.. => format!("{} min", f64::from(tenths) / 600.0),
            _ => format!("{} s", f64::from(tenths) / 10.0),
        };
        let wanted = format!("a duration from {} to {}", shown(min), shown(max));
        let number = self.number(words, &wanted)?;
        let factor = self.unit(words, &number, &[("s", 10.0), ("min", 600.0)], &wanted)?;
        self.in_range(words, &number, factor, (min, max), &wanted)
    }

    fn spans(&mut self, words: &mut Words<'_, '_>) -> Option<WordValue> {
        let column = words.peek().map_or(words.last_column, |token| token.column);
        let shortest = self.span(words, 1, SPAN_MAX)?;
        if !words.skip_word("to") {
            return Some(WordValue::Spans(Tenths(shortest), Tenths(shortest)));
        }
        let longest = self.span(words, 1, SPAN_MAX)?;
        if longest < shortest {
            let wanted = "the longer duration behind `to`".to_owned();
            let found = "the shorter one".to_owned();
            self.report.add(words.line, column, TextFault::Expected { wanted, found });
            return None;
        }
        Some(WordValue::Spans(Tenths(shortest), Tenths(longest)))
    }

    fn count(&mut self, words: &mut Words<'_, '_>, min: u16, max: u16) -> Option<u16> {
        let wanted = format!("a whole number from {min} to {max}");
        let number = self.number(words, &wanted)?;
        if number.value.fract() != 0.0 {
            let fault = BehaviorFault::OutOfRange { found: shown(number.text), wanted };
            self.report.add(words.line, number.column, fault);
            return None;
        }
        self.in_range(words, &number, 1.0, (min, max), &wanted)
    }

    fn clock(&mut self, words: &mut Words<'_, '_>) -> Option<u16> {
        let wanted = "a time of day from `0:00` to `23:59`";
        if let Some(Token { lexeme: Lexeme::Clock(text), .. }) = words.peek()
            && let Some((hours, minutes)) = text.split_once(':')
            && minutes.len() == 2
            && let (Ok(hours @ 0..24), Ok(minutes @ 0..60)) = (hours.parse::<u16>(), minutes.parse::<u16>())
        {
            words.skip();
            return Some(hours * 60 + minutes);
        }
        self.expected(words, wanted);
        None
    }

    fn people(&mut self, words: &mut Words<'_, '_>) -> Option<People> {
        let people = match words.peek_word() {
            Some("anyone") => People::Anyone,
            Some("enemy") => People::Enemy,
            Some("friend") => People::Friend,
            Some("target") => People::Target,
            Some(name) => match self.lexicon.people.get(name) {
                Some(&number) => People::Kinds(number as u8),
                None => {
                    let known = PEOPLE.into_iter().chain(self.lexicon.people.keys().copied());
                    let nearest = self.report.nearest(name, known);
                    self.add(words, BehaviorFault::UnknownName { what: "kind", name: shown(name), nearest });
                    words.skip();
                    return None;
                }
            },
            None => {
                self.expected(words, "who: `player`, `enemy`, `anyone`, a kind of NPC");
                return None;
            }
        };
        words.skip();
        Some(people)
    }

    fn spot(&mut self, words: &mut Words<'_, '_>, known: &[&str]) -> Option<PlaceRef> {
        let spot = match words.peek_word() {
            Some("home") => PlaceRef::HOME,
            Some("here") if known.contains(&"here") => PlaceRef::HERE,
            Some("target") if known.contains(&"target") => PlaceRef::TARGET,
            Some("last-seen") if known.contains(&"last-seen") => PlaceRef::LAST_SEEN,
            Some(name) => match self.lexicon.places.get(name) {
                Some(&number) => PlaceRef(number),
                None => {
                    let known = known.iter().copied().chain(self.lexicon.places.keys().copied());
                    let nearest = self.report.nearest(name, known);
                    self.add(words, BehaviorFault::UnknownName { what: "place", name: shown(name), nearest });
                    words.skip();
                    return None;
                }
            },
            None => {
                self.expected(words, "where: `home` or a place");
                return None;
            }
        };
        words.skip();
        Some(spot)
    }

    fn name(&mut self, words: &mut Words<'_, '_>, what: &'static str, names: &Names<'_>) -> Option<u16> {
        let Some(name) = words.peek_word() else {
            self.expected(words, &format!("the name of a {what}"));
            return None;
        };
        let number = names.get(name).copied();
        if number.is_none() {
            let nearest = self.report.nearest(name, names.keys().copied());
            self.add(words, BehaviorFault::UnknownName { what, name: shown(name), nearest });
        }
        words.skip();
        number
    }

    fn behavior(&mut self, words: &mut Words<'_, '_>) -> Option<u16> {
        let Some(name) = words.peek_word() else {
            self.expected(words, "the name of a behaviour");
            return None;
        };
        let number = self.behaviors.get(name).copied();
        if number.is_none() {
            let nearest = self.report.nearest(name, self.behaviors.keys().copied());
            self.add(words, BehaviorFault::UnknownBehavior { name: shown(name), nearest });
        }
        words.skip();
        number
    }

    fn lines(&mut self, words: &mut Words<'_, '_>) -> Option<WordValue> {
        let mut said = Vec::new();
        let start = words.clone();
        while let Some(Token { lexeme: Lexeme::Quoted(line), .. }) = words.peek() {
            said.push(line.as_str());
            words.skip();
        }
        if said.is_empty() {
            self.expected(words, "a text in quotation marks");
            return None;
        }
        if said.len() > SPEECH_LINES_MAX {
            self.add(&start, TextFault::TooMany { what: "lines for one node", max: SPEECH_LINES_MAX });
            return None;
        }
        let Some(first) = self.lines.intern(&said) else {
            self.add(
                &start,
                TextFault::TooMany { what: "lines that are said in a set", max: Interner::LINES_MAX },
            );
            return None;
        };
        Some(WordValue::Lines { first, n: said.len() as u8 })
    }
}
