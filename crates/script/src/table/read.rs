//! The text of the table.
//!
//! `NAME(PARAMETER: KIND, …): KIND FLAG…`, in areas that begin with `= TITLE`. Lines with `#` are comments. Flags:
//!
//! | flag | meaning |
//! |---|---|
//! | `pure`, `world`, `later=REASON` | what carries it out; one of them, the reasons in [`REASONS`] |
//! | `fuel=F` | fuel of each call; 10 otherwise, for an answer without work |
//! | `fuel=F+L`, `fuel=F*L` | L more per 64 bytes: [`Work::Linear`], [`Work::Product`] |
//! | `delay=S` | the script sleeps S seconds in a call |
//! | `energy=E` | the object needs E energy; 10 otherwise |
//! | `deprecated`, `deprecated=F` | not to be called any more; F stands in for it |
//! | `needs=N,…` | rights, one of which a call needs ([`Need`]) |
//! | `threat=T` | danger ([`Threat`]); `none` otherwise |
//! | `sl`, `opensim` | in this dialect only |
//! | `answer=N` | result of a call where it is not served; zero, `NULL_KEY`, an empty string or list otherwise |
//! | `denies=D` | event of the refusal ([`Denial`]) |

use super::{Denial, Function, Need, Service, Threat};
use crate::dialect::Dialect;
use crate::key::Key;
use crate::kind::{Kind, Value};
use crate::signature::{Signature, Work};

const TABLES: [&str; 5] = [
    include_str!("values.txt"),
    include_str!("objects.txt"),
    include_str!("space.txt"),
    include_str!("avatars.txt"),
    include_str!("land.txt"),
];

/// Fuel of an answer without work.
const FUEL: u32 = 10;

/// Energy of a call unless the table says otherwise.
const ENERGY: f32 = 10.0;

/// Reasons for which a function is not served yet.
const REASONS: [(&str, &str); 19] = [
    ("rarer", "fewer scripts call it than those served first"),
    ("obsolete", "it has no effect in Second Life either, or has had a successor for many years"),
    ("gods", "administrators have no functions of their own in scripts"),
    ("vehicles", "there are no vehicles"),
    ("pathfinding", "objects do not find paths"),
    ("damage", "objects do no damage"),
    ("money", "there is no money"),
    ("experiences", "there are no experiences"),
    ("media", "faces have no media"),
    ("mail", "scripts have no mail"),
    ("urls", "scripts receive no HTTP requests"),
    ("npcs", "scripts do not control NPCs"),
    ("environments", "scripts do not read or change the sky"),
    ("terrain", "scripts do not read or change the shape of the land"),
    ("grid", "scripts learn little of the server and of the grid"),
    ("drawings", "the server draws no textures"),
    ("in-place", "values have no identity: no function changes the list of a variable"),
    ("rsa", "there are no signatures"),
    ("aes", "there is no encryption"),
];

/// All functions, sorted by name.
///
/// # Panics
///
/// If a line of the table is broken, as any test of it shows.
pub(super) fn functions() -> Vec<Function> {
    let mut functions = Vec::new();
    for table in TABLES {
        let mut area = "";
        for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("= ") {
                Some(title) => area = title,
                None => functions.push(function(line, area)),
            }
        }
    }
    functions.sort_by_key(|function| function.signature.name);
    functions
}

fn function(line: &'static str, area: &'static str) -> Function {
    let broken = || panic!("broken line of the table of functions: {line}");
    let (name, rest) = line.split_once('(').unwrap_or_else(broken);
    let (parameters, rest) = rest.split_once(')').unwrap_or_else(broken);
    let (result, flags) = match rest.strip_prefix(": ") {
        Some(rest) => {
            let (kind, flags) = rest.split_once(' ').unwrap_or_else(broken);
            (Some(kind_of(kind)), flags)
        }
        None => (None, rest),
    };
    let parameters = parameters.split(", ").filter(|parameter| !parameter.is_empty());
    let parameters: Vec<(&'static str, Kind)> = parameters
        .map(|parameter| parameter.split_once(": ").unwrap_or_else(broken))
        .map(|(name, kind)| (name, kind_of(kind)))
        .collect();
    let kinds: Vec<Kind> = parameters.iter().map(|(_, kind)| *kind).collect();
    let mut function = Function {
        // Read once, for as long as the program runs.
        signature: Signature { name, parameters: kinds.leak(), result, work: Work::Flat(FUEL) },
        parameters: parameters.into_iter().map(|(name, _)| name).collect(),
        area,
        only: None,
        delay_ms: 0,
        energy: ENERGY,
        is_deprecated: false,
        instead: None,
        needs: Vec::new(),
        threat: Threat::None,
        service: Service::Later(""),
        answer: result.map(unavailable),
        denial: None,
    };
    for flag in flags.split_whitespace() {
        assert!(set(&mut function, flag), "{line}: {flag} is no flag");
    }
    assert_ne!(function.service, Service::Later(""), "{line}: neither `pure`, `world` nor `later`");
    function
}

/// Sets what a flag says. False for an unknown one.
fn set(function: &mut Function, flag: &'static str) -> bool {
    let (word, value) = flag.split_once('=').unwrap_or((flag, ""));
    match word {
        "pure" => function.service = Service::Pure,
        "world" => function.service = Service::World,
        "later" => function.service = Service::Later(of_word(&REASONS, value)),
        "fuel" => function.signature.work = work(value),
        "delay" => function.delay_ms = (number(value) * 1_000.0).round() as u32,
        "energy" => function.energy = number(value) as f32,
        "deprecated" => {
            function.is_deprecated = true;
            function.instead = (!value.is_empty()).then_some(value);
        }
        "needs" => {
            let need = |word: &str| Need::ALL.into_iter().find(|need| need.as_str() == word);
            function.needs.extend(value.split(',').map(|word| need(word).expect("a need of the table")));
        }
        "threat" => function.threat = Threat::named(value).expect("a level of the table"),
        "sl" => function.only = Some(Dialect::Sl),
        "opensim" => function.only = Some(Dialect::OpenSim),
        "answer" => function.answer = Some(Value::Integer(number(value) as i32)),
        "denies" => function.denial = Denial::ALL.into_iter().find(|denial| denial.as_str() == value),
        _ => return false,
    }
    true
}

/// The answer of a function that is not served.
fn unavailable(kind: Kind) -> Value {
    match kind {
        Kind::Key => Value::Key(Key::NULL),
        other => Value::zero(other),
    }
}

fn work(text: &str) -> Work {
    let parts = |(base, per_64_bytes): (&str, &str)| (number(base) as u32, number(per_64_bytes) as u32);
    if let Some((base, per_64_bytes)) = text.split_once('+').map(parts) {
        return Work::Linear { base, per_64_bytes };
    }
    match text.split_once('*').map(parts) {
        Some((base, per_64_bytes)) => Work::Product { base, per_64_bytes },
        None => Work::Flat(number(text) as u32),
    }
}

fn kind_of(word: &str) -> Kind {
    let kinds = [
        ("integer", Kind::Integer),
        ("float", Kind::Float),
        ("text", Kind::Text),
        ("key", Kind::Key),
        ("list", Kind::List),
        ("vector", Kind::Vector),
        ("rotation", Kind::Rotation),
    ];
    of_word(&kinds, word)
}

fn of_word<T: Copy>(words: &[(&str, T)], word: &str) -> T {
    let found = words.iter().find(|(known, _)| *known == word);
    found.unwrap_or_else(|| panic!("{word} is no word of the table of functions")).1
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}
