//! From a word and its arguments to what a mind follows: here stands what holds where a file says nothing.

use super::{
    node::{Action, Animation, Condition, Dm, Gait, Op, People, Spot, Tenths},
    tree::Part,
    values::Value,
};
use crate::senses::SoundKind;

/// It is day from 6:00 …
const DAWN: u16 = 6 * 60;
/// … to 20:00.
const DUSK: u16 = 20 * 60;

/// The condition that a word and its arguments make. None where what they say leaves it open.
pub(super) fn ask(word: &str, arguments: &Arguments) -> Option<Condition> {
    let within = arguments.length("within", 0);
    let last = arguments.span("in", 0);
    Some(match word {
        "sees" => Condition::Sees { whom: arguments.people("", People::Anyone), within, last },
        "hears" => {
            let from = arguments.people("from", People::Anyone);
            // A sound is noticed once, and the condition must hold for as long as a turn takes.
            Condition::Hears { sound: arguments.name("") as u8, from, within, last: arguments.span("in", 30) }
        }
        "hurt" => Condition::Hurt { last: arguments.span("in", 50) },
        "health" => match (arguments.percent("below"), arguments.percent("above")) {
            (Some(percent), None) => Condition::HealthBelow { percent },
            (None, Some(percent)) => Condition::HealthAbove { percent },
            _ => return None,
        },
        "time" => Condition::Time { from: arguments.minute(""), to: arguments.minute("to") },
        "daytime" => Condition::Time { from: DAWN, to: DUSK },
        "night" => Condition::Time { from: DUSK, to: DAWN },
        "within" => {
            Condition::Within { spot: arguments.spot("of", Spot::HOME), far: arguments.length("", 0) }
        }
        "beyond" => {
            Condition::Beyond { spot: arguments.spot("of", Spot::HOME), far: arguments.length("", 0) }
        }
        "has" => Condition::HasTarget,
        "target" => Condition::TargetIs { whom: arguments.people("is", People::Anyone) },
        "carries" => match arguments.get("") {
            Some(Value::Name(number)) => {
                Condition::Carries { resource: number as u8, at_least: arguments.count("at", 1) as u8 }
            }
            _ => Condition::CarriesNothing,
        },
        _ => return None,
    })
}

/// The node that a word and its arguments make.
pub(super) fn build(word: &str, arguments: &Arguments) -> Option<Part> {
    let op = match word {
        "use" => return Some(Part::Use(arguments.name(""))),
        "sequence" => Op::Sequence,
        "select" => Op::Select,
        "parallel" => Op::Parallel,
        // The sum is known when all are read.
        "random" => Op::Random { total: 0 },
        "weight" => Op::Weight(arguments.count("", 1)),
        "schedule" => Op::Schedule,
        "from" => Op::From { minute: arguments.minute("") },
        "invert" => Op::Invert,
        "try" => Op::Try,
        // Timers are given out when the behaviour is put together.
        "repeat" => Op::Repeat { times: arguments.count("", 0), timer: 0 },
        "cooldown" => Op::Cooldown { span: arguments.span("", 0), timer: 0 },
        "timeout" => Op::Timeout { span: arguments.span("", 0), timer: 0 },
        "chance" => {
            Op::Chance { percent: arguments.percent("")?, every: arguments.span("every", 0), timer: 0 }
        }
        action => Op::Do(act(action, arguments)?),
    };
    Some(Part::Op(op))
}

/// The action that a word and its arguments make, with what holds where nothing is said.
fn act(word: &str, arguments: &Arguments) -> Option<Action> {
    let pace = arguments.pace(Gait::WALK);
    let at_a_run = arguments.pace(Gait::RUN);
    let lasting = arguments.span("for", 0);
    let play = arguments.animation("play");
    Some(match word {
        "wander" => Action::Wander {
            pace,
            around: arguments.spot("around", Spot::HOME),
            within: arguments.length("within", 100),
            pause: arguments.spans("pause"),
            lasting,
        },
        "patrol" => Action::Patrol {
            pace,
            once: arguments.has("once"),
            route: arguments.name(""),
            pause: arguments.spans("pause"),
            lasting,
        },
        "guard" => Action::Guard { pace, post: arguments.spot("", Spot::HOME), lasting },
        "flee" => Action::Flee {
            pace: at_a_run,
            from: arguments.people("from", People::Target),
            until: arguments.length("until", 400),
        },
        "chase" => Action::Chase {
            pace: at_a_run,
            within: arguments.length("within", 20),
            leash: arguments.length("leash", 0),
            lost: arguments.span("lost", 50),
        },
        "follow" => Action::Follow {
            pace: at_a_run,
            within: arguments.length("within", 30),
            lost: arguments.span("lost", 100),
        },
        "attack" => Action::Attack {
            timer: 0,
            range: arguments.length("range", 20),
            every: arguments.span("every", 10),
            damage: arguments.count("damage", 0),
            play,
        },
        "gather" => Action::Gather {
            pace,
            resource: arguments.name("") as u8,
            amount: arguments.count("amount", 1) as u8,
            taking: arguments.span("taking", 30),
            play,
        },
        "deliver" => Action::Deliver { pace, to: arguments.spot("to", Spot::HOME) },
        "talk" => {
            let (first, n) = arguments.lines();
            Action::Talk { n, first, pause: arguments.span("pause", 40) }
        }
        "sit" => Action::Sit { pace, at: arguments.spot("at", Spot::HERE), lasting },
        "work" => Action::Work { pace, at: arguments.spot("at", Spot::HOME), play, lasting },
        "go" => {
            Action::Go { pace, to: arguments.spot("to", Spot::HOME), within: arguments.length("within", 10) }
        }
        "wait" => Action::Wait { span: arguments.spans("") },
        "say" => {
            let (first, n) = arguments.lines();
            Action::Say { n, first }
        }
        "play" => Action::Play { animation: arguments.animation(""), lasting },
        "face" => Action::Face { spot: arguments.spot("", Spot::TARGET) },
        "sound" => Action::Sound {
            sound: u8::try_from(arguments.name("")).unwrap_or(SoundKind::CHAT.0),
            reach: arguments.length("within", 200),
        },
        "forget" => Action::Forget,
        _ => return None,
    })
}

/// Arguments behind a node's word.
pub(super) struct Arguments(pub(super) Vec<(&'static str, Value)>);

impl Arguments {
    fn get(&self, key: &str) -> Option<Value> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Decimetres.
    fn length(&self, key: &str, otherwise: u16) -> Dm {
        if let Some(Value::Length(length)) = self.get(key) { length } else { Dm(otherwise) }
    }

    fn span(&self, key: &str, otherwise: u16) -> Tenths {
        if let Some(Value::Span(span)) = self.get(key) { span } else { Tenths(otherwise) }
    }

    fn spans(&self, key: &str) -> (Tenths, Tenths) {
        if let Some(Value::Spans(min, max)) = self.get(key) { (min, max) } else { Default::default() }
    }

    fn count(&self, key: &str, otherwise: u16) -> u16 {
        if let Some(Value::Count(count)) = self.get(key) { count } else { otherwise }
    }

    fn percent(&self, key: &str) -> Option<u8> {
        if let Some(Value::Percent(percent)) = self.get(key) { Some(percent) } else { None }
    }

    fn minute(&self, key: &str) -> u16 {
        if let Some(Value::Minute(minute)) = self.get(key) { minute } else { 0 }
    }

    fn people(&self, key: &str, otherwise: People) -> People {
        if let Some(Value::People(people)) = self.get(key) { people } else { otherwise }
    }

    fn spot(&self, key: &str, otherwise: Spot) -> Spot {
        if let Some(Value::Spot(spot)) = self.get(key) { spot } else { otherwise }
    }

    fn name(&self, key: &str) -> u16 {
        if let Some(Value::Name(number)) = self.get(key) { number } else { 0 }
    }

    fn animation(&self, key: &str) -> Animation {
        if let Some(Value::Animation(animation)) = self.get(key) { animation } else { Animation::NONE }
    }

    fn lines(&self) -> (u16, u8) {
        if let Some(Value::Lines { first, n }) = self.get("") { (first, n) } else { (0, 0) }
    }

    fn pace(&self, otherwise: Gait) -> Gait {
        match self.get("speed") {
            Some(Value::Speed(speed)) => speed,
            _ if self.has("creep") => Gait::CREEP,
            _ if self.has("walk") => Gait::WALK,
            _ if self.has("run") => Gait::RUN,
            _ => otherwise,
        }
    }
}
