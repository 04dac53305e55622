//! From a word and its arguments to a node, with the defaults of omitted arguments.

use super::{
    node::{AnimationIndex, Dm, Gait, LeafAction, Op, People, PlaceRef, Predicate, Tenths},
    tree::NodeForm,
    values::WordValue,
};
use crate::senses::SoundKind;

/// It is day from 6:00 …
const DAWN: u16 = 6 * 60;
/// … to 20:00.
const DUSK: u16 = 20 * 60;

/// The condition of a word and its arguments. None if they are incomplete.
pub(super) fn predicate_of(word: &str, arguments: &NodeArguments) -> Option<Predicate> {
    let within = arguments.length("within", 0);
    let last = arguments.span("in", 0);
    Some(match word {
        "sees" => Predicate::Sees { whom: arguments.people("", People::Anyone), within, last },
        "hears" => {
            let from = arguments.people("from", People::Anyone);
            // A sound is noticed once, and the condition must hold for as long as a turn takes.
            Predicate::Hears { sound: arguments.name("") as u8, from, within, last: arguments.span("in", 30) }
        }
        "hurt" => Predicate::Hurt { last: arguments.span("in", 50) },
        "health" => match (arguments.percent("below"), arguments.percent("above")) {
            (Some(percent), None) => Predicate::HealthBelow { percent },
            (None, Some(percent)) => Predicate::HealthAbove { percent },
            _ => return None,
        },
        "time" => Predicate::Time { from: arguments.minute(""), to: arguments.minute("to") },
        "daytime" => Predicate::Time { from: DAWN, to: DUSK },
        "night" => Predicate::Time { from: DUSK, to: DAWN },
        "within" => {
            Predicate::Within { spot: arguments.spot("of", PlaceRef::HOME), far: arguments.length("", 0) }
        }
        "beyond" => {
            Predicate::Beyond { spot: arguments.spot("of", PlaceRef::HOME), far: arguments.length("", 0) }
        }
        "has" => Predicate::HasTarget,
        "target" => Predicate::TargetIs { whom: arguments.people("is", People::Anyone) },
        "carries" => match arguments.get("") {
            Some(WordValue::Name(number)) => {
                Predicate::Carries { resource: number as u8, at_least: arguments.count("at", 1) as u8 }
            }
            _ => Predicate::CarriesNothing,
        },
        _ => return None,
    })
}

/// The node that a word and its arguments make.
pub(super) fn build(word: &str, arguments: &NodeArguments) -> Option<NodeForm> {
    let op = match word {
        "use" => return Some(NodeForm::Use(arguments.name(""))),
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
    Some(NodeForm::Op(op))
}

/// The action of a word and its arguments, with the defaults of omitted ones.
fn act(word: &str, arguments: &NodeArguments) -> Option<LeafAction> {
    let pace = arguments.pace(Gait::WALK);
    let at_a_run = arguments.pace(Gait::RUN);
    let lasting = arguments.span("for", 0);
    let play = arguments.animation("play");
    Some(match word {
        "wander" => LeafAction::Wander {
            pace,
            around: arguments.spot("around", PlaceRef::HOME),
            within: arguments.length("within", 100),
            pause: arguments.spans("pause"),
            lasting,
        },
        "patrol" => LeafAction::Patrol {
            pace,
            once: arguments.has("once"),
            route: arguments.name(""),
            pause: arguments.spans("pause"),
            lasting,
        },
        "guard" => LeafAction::Guard { pace, post: arguments.spot("", PlaceRef::HOME), lasting },
        "flee" => LeafAction::Flee {
            pace: at_a_run,
            from: arguments.people("from", People::Target),
            until: arguments.length("until", 400),
        },
        "chase" => LeafAction::Chase {
            pace: at_a_run,
            within: arguments.length("within", 20),
            leash: arguments.length("leash", 0),
            lost: arguments.span("lost", 50),
        },
        "follow" => LeafAction::Follow {
            pace: at_a_run,
            within: arguments.length("within", 30),
            lost: arguments.span("lost", 100),
        },
        "attack" => LeafAction::Attack {
            timer: 0,
            range: arguments.length("range", 20),
            every: arguments.span("every", 10),
            damage: arguments.count("damage", 0),
            play,
        },
        "gather" => LeafAction::Gather {
            pace,
            resource: arguments.name("") as u8,
            amount: arguments.count("amount", 1) as u8,
            taking: arguments.span("taking", 30),
            play,
        },
        "deliver" => LeafAction::Deliver { pace, to: arguments.spot("to", PlaceRef::HOME) },
        "talk" => {
            let (first, n) = arguments.lines();
            LeafAction::Talk { n, first, pause: arguments.span("pause", 40) }
        }
        "sit" => LeafAction::Sit { pace, at: arguments.spot("at", PlaceRef::HERE), lasting },
        "work" => LeafAction::Work { pace, at: arguments.spot("at", PlaceRef::HOME), play, lasting },
        "go" => LeafAction::Go {
            pace,
            to: arguments.spot("to", PlaceRef::HOME),
            within: arguments.length("within", 10),
        },
        "wait" => LeafAction::Wait { span: arguments.spans("") },
        "say" => {
            let (first, n) = arguments.lines();
            LeafAction::Say { n, first }
        }
        "play" => LeafAction::Play { animation: arguments.animation(""), lasting },
        "face" => LeafAction::Face { spot: arguments.spot("", PlaceRef::TARGET) },
        "sound" => LeafAction::Sound {
            sound: u8::try_from(arguments.name("")).unwrap_or(SoundKind::CHAT.0),
            reach: arguments.length("within", 200),
        },
        "forget" => LeafAction::Forget,
        _ => return None,
    })
}

/// Arguments behind a node's word.
pub(super) struct NodeArguments(pub(super) Vec<(&'static str, WordValue)>);

impl NodeArguments {
    fn get(&self, key: &str) -> Option<WordValue> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Decimetres.
    fn length(&self, key: &str, otherwise: u16) -> Dm {
        if let Some(WordValue::Length(length)) = self.get(key) { length } else { Dm(otherwise) }
    }

    fn span(&self, key: &str, otherwise: u16) -> Tenths {
        if let Some(WordValue::Span(span)) = self.get(key) { span } else { Tenths(otherwise) }
    }

    fn spans(&self, key: &str) -> (Tenths, Tenths) {
        if let Some(WordValue::Spans(min, max)) = self.get(key) { (min, max) } else { Default::default() }
    }

    fn count(&self, key: &str, otherwise: u16) -> u16 {
        if let Some(WordValue::Count(count)) = self.get(key) { count } else { otherwise }
    }

    fn percent(&self, key: &str) -> Option<u8> {
        if let Some(WordValue::Percent(percent)) = self.get(key) { Some(percent) } else { None }
    }

    fn minute(&self, key: &str) -> u16 {
        if let Some(WordValue::Minute(minute)) = self.get(key) { minute } else { 0 }
    }

    fn people(&self, key: &str, otherwise: People) -> People {
        if let Some(WordValue::People(people)) = self.get(key) { people } else { otherwise }
    }

    fn spot(&self, key: &str, otherwise: PlaceRef) -> PlaceRef {
        if let Some(WordValue::Spot(spot)) = self.get(key) { spot } else { otherwise }
    }

    fn name(&self, key: &str) -> u16 {
        if let Some(WordValue::Name(number)) = self.get(key) { number } else { 0 }
    }

    fn animation(&self, key: &str) -> AnimationIndex {
        if let Some(WordValue::Animation(animation)) = self.get(key) {
            animation
        } else {
            AnimationIndex::NONE
        }
    }

    fn lines(&self) -> (u16, u8) {
        if let Some(WordValue::Lines { first, n }) = self.get("") { (first, n) } else { (0, 0) }
    }

    fn pace(&self, otherwise: Gait) -> Gait {
        match self.get("speed") {
            Some(WordValue::Speed(speed)) => speed,
            _ if self.has("creep") => Gait::CREEP,
            _ if self.has("walk") => Gait::WALK,
            _ if self.has("run") => Gait::RUN,
            _ => otherwise,
        }
    }
}
