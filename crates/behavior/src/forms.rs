//! The words of the language with their arguments, in one table.

use super::mind::TARGET_MEMORY_MS;

/// The sort of node that a word makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeSort {
    /// Has others under it.
    Header,
    /// Holds or does not, at once.
    Condition,
    /// Does something, at once or for a while.
    Action,
}

/// The form of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Metres, between two numbers of decimetres.
    Length(u16, u16),
    /// A duration, between two numbers of tenths of a second.
    Span(u16, u16),
    /// A duration, or one `to` another.
    Spans,
    /// `last` and a duration.
    Last,
    /// 1 to 100 with `%`.
    Percent,
    /// A whole number.
    Count(u16, u16),
    /// A whole number and `times`.
    Times,
    /// `least` and a whole number.
    Least,
    /// Metres a second.
    Speed,
    /// A time of day.
    Clock,
    /// Kinds of people.
    People,
    /// `home` or a place of the template.
    Place,
    /// A place, `target` or `last-seen`.
    Spot,
    Route,
    Resource,
    /// A resource, or `nothing`.
    Load,
    Animation,
    Sound,
    /// One quotation or more.
    Lines,
    /// A name of a behaviour.
    Behavior,
    /// Nothing: the word says it all.
    Flag,
}

/// Something that a node takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormParameter {
    /// The word before the value; empty for a value directly after the node's word.
    pub(crate) key: &'static str,
    pub(crate) value: Expect,
    pub(crate) is_required: bool,
}

/// One word with its arguments.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) word: &'static str,
    pub(crate) role: NodeSort,
    pub(crate) parameters: &'static [FormParameter],
}

impl Form {
    /// The form of a word.
    pub(crate) fn of(word: &str) -> Option<&'static Self> {
        FORMS.iter().find(|form| form.word == word)
    }

    pub(crate) fn positional(&self) -> Option<&'static FormParameter> {
        self.parameters.iter().find(|parameter| parameter.key.is_empty())
    }

    pub(crate) fn keyed(&self, key: &str) -> Option<&'static FormParameter> {
        self.parameters.iter().find(|parameter| !key.is_empty() && parameter.key == key)
    }

    /// The words that it knows.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().map(|parameter| parameter.key).filter(|key| !key.is_empty())
    }

    /// The words that it knows, for a message.
    pub(crate) fn takes(&self) -> String {
        let keys: Vec<String> = self.keys().map(|key| format!("`{key}`")).collect();
        if keys.is_empty() { "nothing more".to_owned() } else { keys.join(", ") }
    }
}

/// All words with which a node can begin.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|form| form.word).chain(["not"])
}

/// Anything from arm's length to as far as a large region is wide.
const LENGTH: Expect = Expect::Length(1, 10_000);
/// A tenth of a second to 100 minutes.
pub(crate) const SPAN: Expect = Expect::Span(1, SPAN_MAX);
/// 100 minutes.
pub(crate) const SPAN_MAX: u16 = 60_000;
/// The weights of half of the nodes that a behaviour may have, which is all that one `random` can have, add up to 16 bits.
const WEIGHT_MAX: u16 = 500;

const fn needs(key: &'static str, value: Expect) -> FormParameter {
    FormParameter { key, value, is_required: true }
}

const fn may(key: &'static str, value: Expect) -> FormParameter {
    FormParameter { key, value, is_required: false }
}

const CREEP: FormParameter = may("creep", Expect::Flag);
const WALK: FormParameter = may("walk", Expect::Flag);
const RUN: FormParameter = may("run", Expect::Flag);
const SPEED: FormParameter = may("speed", Expect::Speed);
/// `chase target` reads better than `chase`.
const TARGET: FormParameter = may("target", Expect::Flag);
const WITHIN: FormParameter = may("within", LENGTH);
const IN_LAST: FormParameter = may("in", Expect::Last);
const LASTING: FormParameter = may("for", SPAN);
const PAUSE: FormParameter = may("pause", Expect::Spans);
const PLAY: FormParameter = may("play", Expect::Animation);
/// No longer than minds remember a target.
const LOST: FormParameter = may("lost", Expect::Span(1, (TARGET_MEMORY_MS / 100) as u16));

macro_rules! forms {
    ($($role:ident $word:literal [$($parameter:expr),* $(,)?])*) => {
        &[$(Form { word: $word, role: NodeSort::$role, parameters: &[$($parameter),*] }),*]
    };
}

pub(crate) const FORMS: &[Form] = forms! {
    Header "sequence" []
    Header "select" []
    Header "parallel" []
    Header "random" []
    Header "schedule" []
    Header "weight" [needs("", Expect::Count(1, WEIGHT_MAX))]
    Header "from" [needs("", Expect::Clock)]
    // It takes conditions, which are read in another way.
    Header "when" []
    Header "invert" []
    Header "try" []
    Header "repeat" [may("", Expect::Times)]
    Header "cooldown" [needs("", SPAN)]
    Header "timeout" [needs("", SPAN)]
    Header "chance" [needs("", Expect::Percent), needs("every", SPAN)]

    Condition "sees" [needs("", Expect::People), needs("within", LENGTH), IN_LAST]
    Condition "hears" [needs("", Expect::Sound), may("from", Expect::People), WITHIN, IN_LAST]
    Condition "hurt" [IN_LAST]
    Condition "health" [may("below", Expect::Percent), may("above", Expect::Percent)]
    Condition "time" [needs("", Expect::Clock), needs("to", Expect::Clock)]
    Condition "daytime" []
    Condition "night" []
    Condition "within" [needs("", LENGTH), needs("of", Expect::Spot)]
    Condition "beyond" [needs("", LENGTH), needs("of", Expect::Spot)]
    Condition "has" [needs("target", Expect::Flag)]
    Condition "target" [needs("is", Expect::People)]
    Condition "carries" [needs("", Expect::Load), may("at", Expect::Least)]

    Action "wander" [WITHIN, may("around", Expect::Place), PAUSE, LASTING, CREEP, WALK, RUN, SPEED]
    Action "patrol" [needs("", Expect::Route), PAUSE, may("once", Expect::Flag), LASTING, CREEP, WALK, RUN, SPEED]
    Action "guard" [may("", Expect::Place), LASTING, CREEP, WALK, RUN, SPEED]
    Action "flee" [may("from", Expect::People), may("until", LENGTH), CREEP, WALK, RUN, SPEED]
    Action "chase" [TARGET, WITHIN, may("leash", LENGTH), LOST, CREEP, WALK, RUN, SPEED]
    Action "follow" [TARGET, WITHIN, LOST, CREEP, WALK, RUN, SPEED]
    Action "attack" [TARGET, may("range", LENGTH), needs("every", SPAN), needs("damage", Expect::Count(1, 10_000)), PLAY]
    Action "gather" [
        needs("", Expect::Resource), may("amount", Expect::Count(1, 255)), may("taking", SPAN), PLAY, CREEP, WALK, RUN,
        SPEED,
    ]
    Action "deliver" [needs("to", Expect::Place), CREEP, WALK, RUN, SPEED]
    Action "talk" [needs("", Expect::Lines), may("pause", SPAN)]
    Action "sit" [may("at", Expect::Place), LASTING, CREEP, WALK, RUN, SPEED]
    Action "work" [needs("at", Expect::Place), PLAY, LASTING, CREEP, WALK, RUN, SPEED]
    Action "go" [needs("to", Expect::Spot), WITHIN, CREEP, WALK, RUN, SPEED]
    Action "wait" [needs("", Expect::Spans)]
    Action "say" [needs("", Expect::Lines)]
    Action "play" [needs("", Expect::Animation), LASTING]
    Action "face" [needs("", Expect::Spot)]
    Action "sound" [needs("", Expect::Sound), WITHIN]
    Action "forget" [TARGET]
    Action "use" [needs("", Expect::Behavior)]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_and_its_arguments_are_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating/behaviours.md");
        let page = std::fs::read_to_string(path).expect("the page is part of the source");
        for form in FORMS {
            let entry = format!("| `{}", form.word);
            let rows: Vec<&str> = page.lines().filter(|line| line.starts_with(&entry)).collect();
            assert!(!rows.is_empty(), "no row of a table begins with `{}`", form.word);
            // `creep`, `walk`, `run` and `speed` are described once, as *pace*.
            for key in form.keys().filter(|key| !["creep", "walk", "run", "speed"].contains(key)) {
                assert!(rows.iter().any(|row| row.contains(key)), "`{}` does not name `{key}`", form.word);
            }
            let has_pace = form.keyed("speed").is_some();
            assert_eq!(rows.iter().any(|row| row.contains("*pace*")), has_pace, "{}", form.word);
        }
    }

    #[test]
    fn no_word_is_in_the_table_twice() {
        for (index, form) in FORMS.iter().enumerate() {
            assert!(FORMS[..index].iter().all(|other| other.word != form.word), "{}", form.word);
            let keys: Vec<&str> = form.keys().collect();
            assert!((1..keys.len()).all(|at| !keys[..at].contains(&keys[at])), "{}", form.word);
        }
    }
}
