//! The village of the examples: what its template would offer, and the files themselves. Tests, the benchmark and the fuzz
//! target share it.

use behavior::{BehaviorSet, Kind, KindGroup, NamedPlace, Resource, Route, Source, Vocabulary};
use glam::Vec3;

/// The examples by name.
pub(crate) const FILES: [(&str, &str); 6] = [
    ("villager.behaviour", include_str!("../../behaviours/villager.behaviour")),
    ("guard.behaviour", include_str!("../../behaviours/guard.behaviour")),
    ("bandits.behaviour", include_str!("../../behaviours/bandits.behaviour")),
    ("shopkeeper.behaviour", include_str!("../../behaviours/shopkeeper.behaviour")),
    ("deer.behaviour", include_str!("../../behaviours/deer.behaviour")),
    ("woodcutter.behaviour", include_str!("../../behaviours/woodcutter.behaviour")),
];

/// Vocabulary of the village.
pub(crate) fn vocabulary() -> Vocabulary {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let kind = |name: &str, enemies: &[&str], friends: &[&str]| Kind {
        name: name.into(),
        enemies: names(enemies),
        friends: names(friends),
    };
    let place = |name: &str, x: f32, y: f32, radius_m: f32| NamedPlace {
        name: name.into(),
        position: Vec3::new(x, y, 20.0),
        radius_m,
    };
    let at = |(x, y): (f32, f32)| Vec3::new(x, y, 20.0);
    Vocabulary {
        kinds: vec![
            kind("villager", &["bandit"], &["townsfolk"]),
            kind("guard", &["bandit", "player"], &["townsfolk"]),
            kind("bandit", &["player", "guard"], &["bandit"]),
            kind("shopkeeper", &[], &["townsfolk"]),
            kind("deer", &["player", "bandit", "townsfolk"], &["deer"]),
        ],
        groups: vec![KindGroup {
            name: "townsfolk".into(),
            members: names(&["villager", "guard", "shopkeeper"]),
        }],
        places: vec![
            place("well", 100.0, 100.0, 2.0),
            place("smithy", 120.0, 100.0, 0.0),
            place("bench", 110.0, 110.0, 0.0),
            place("market", 100.0, 130.0, 6.0),
            place("camp", 40.0, 40.0, 3.0),
            place("counter", 102.0, 132.0, 0.0),
            place("storehouse", 130.0, 120.0, 1.0),
        ],
        routes: vec![Route {
            name: "wall".into(),
            points: [(80.0, 80.0), (140.0, 80.0), (140.0, 140.0), (80.0, 140.0)].map(at).to_vec(),
        }],
        resources: vec![Resource {
            name: "wood".into(),
            spots: [(150.0, 120.0), (155.0, 128.0), (148.0, 110.0)].map(at).to_vec(),
        }],
        animations: names(&["hammer", "drink", "slash", "laugh", "wave", "graze", "chop"]),
        sounds: names(&["horn"]),
        entries: names(&["villager", "guard", "bandit", "shopkeeper", "deer", "woodcutter"]),
    }
}

/// The set of the village.
pub(crate) fn load() -> BehaviorSet {
    let sources = FILES.map(|(file, text)| Source { file, bytes: text.as_bytes() });
    let loaded = BehaviorSet::load(&sources, &vocabulary()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(loaded.warnings.to_string(), "");
    loaded.set
}
