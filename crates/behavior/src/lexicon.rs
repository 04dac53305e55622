//! A template's names, checked and ready to be looked up.

use super::{Problem, fault::BehaviorFault, vocabulary::Vocabulary};
use crate::senses::{KindId, KindSet, SoundKind};
use glam::Vec3;
use outline::{ProblemReport, TextFault, is_name, shown};
use std::collections::BTreeMap;

/// The file that problems of the template are reported for.
pub(crate) const TEMPLATE: &str = "template";

/// Points of a route, spots of a resource.
const POINTS_MAX: usize = 256;
/// Places, routes, animations.
const NAMES_MAX: usize = 1_024;
/// Resources: an NPC remembers in eight bits which it carries.
const RESOURCES_MAX: usize = 255;
/// Groups of kinds.
const GROUPS_MAX: usize = 64;

/// Words with which behaviours name kinds of people without the template's help.
pub(crate) const PEOPLE: [&str; 6] = ["anyone", "player", "npc", "enemy", "friend", "target"];
/// Words with which behaviours name places without the template's help.
pub(crate) const SPOTS: [&str; 4] = ["home", "here", "target", "last-seen"];
/// Words of the language itself.
const RESERVED: [&str; 4] = ["and", "or", "not", "nothing"];

/// Names of one sort, and their numbers.
pub(crate) type Names<'a> = BTreeMap<&'a str, u16>;

/// Names that a file may use.
#[derive(Debug, Default)]
pub(crate) struct Lexicon<'a> {
    pub(crate) places: Names<'a>,
    pub(crate) routes: Names<'a>,
    pub(crate) resources: Names<'a>,
    pub(crate) animations: Names<'a>,
    pub(crate) sounds: Names<'a>,
    /// Kinds, groups, `player` and `npc`: numbers in `masks`.
    pub(crate) people: Names<'a>,
    pub(crate) masks: Vec<KindSet>,
    /// Enemies and friends of each kind; players, which have neither, come first.
    pub(crate) relations: Vec<(KindSet, KindSet)>,
}

impl<'a> Lexicon<'a> {
    /// Reads a vocabulary and reports its faults.
    pub(crate) fn of(vocabulary: &'a Vocabulary, report: &mut ProblemReport<BehaviorFault>) -> Self {
        let mut faults = FaultReporter(report);
        let names = |list: &'a [String]| list.iter().map(String::as_str);
        let mut lexicon = Self {
            places: faults.names(
                "place",
                &SPOTS,
                NAMES_MAX,
                vocabulary.places.iter().map(|p| p.name.as_str()),
            ),
            routes: faults.names("route", &[], NAMES_MAX, vocabulary.routes.iter().map(|r| r.name.as_str())),
            resources: faults.names(
                "resource",
                &[],
                RESOURCES_MAX,
                vocabulary.resources.iter().map(|r| r.name.as_str()),
            ),
            animations: faults.names("animation", &[], NAMES_MAX, names(&vocabulary.animations)),
            sounds: faults.names(
                "sound",
                &SoundKind::NAMES,
                SoundKind::COUNT_MAX - SoundKind::NAMES.len(),
                names(&vocabulary.sounds),
            ),
            ..Self::default()
        };
        for number in lexicon.sounds.values_mut() {
            *number += SoundKind::NAMES.len() as u16;
        }
        lexicon.sounds.extend(SoundKind::NAMES.into_iter().zip(0..));
        faults.positions(vocabulary);
        lexicon.read_people(vocabulary, &mut faults);
        lexicon
    }

    fn read_people(&mut self, vocabulary: &'a Vocabulary, faults: &mut FaultReporter<'_>) {
        let kinds_max = KindId::COUNT_MAX - 1;
        let kinds = vocabulary.kinds.iter().take(kinds_max);
        if vocabulary.kinds.len() > kinds_max {
            faults.add(TextFault::TooMany { what: "kinds", max: kinds_max });
        }
        self.people.extend([("player", 0), ("npc", 1)]);
        self.masks.extend([KindSet::only(KindId::PLAYER), KindSet(!KindSet::only(KindId::PLAYER).0)]);
        for (kind, number) in kinds.clone().zip(1..) {
            self.add_people("kind", &kind.name, KindSet::only(KindId(number)), faults);
        }
        if vocabulary.groups.len() > GROUPS_MAX {
            faults.add(TextFault::TooMany { what: "groups", max: GROUPS_MAX });
        }
        for group in vocabulary.groups.iter().take(GROUPS_MAX) {
            let members = self.set_of(&group.members, faults);
            self.add_people("group", &group.name, members, faults);
        }
        self.relations.push((KindSet::NONE, KindSet::NONE));
        for kind in kinds {
            let relation = (self.set_of(&kind.enemies, faults), self.set_of(&kind.friends, faults));
            self.relations.push(relation);
        }
    }

    fn add_people(
        &mut self,
        what: &'static str,
        name: &'a str,
        mask: KindSet,
        faults: &mut FaultReporter<'_>,
    ) {
        if !faults.is_good_name(what, name, &PEOPLE) {
            return;
        }
        if self.people.insert(name, self.masks.len() as u16).is_some() {
            faults.add(BehaviorFault::DuplicateName { what, name: shown(name) });
        }
        self.masks.push(mask);
    }

    fn set_of(&self, names: &[String], faults: &mut FaultReporter<'_>) -> KindSet {
        let mut set = KindSet::NONE;
        for name in names {
            match self.people.get(name.as_str()) {
                Some(&number) => set = set.or(self.masks[usize::from(number)]),
                None => {
                    let nearest = faults.0.nearest(name, self.people.keys().copied());
                    faults.add(BehaviorFault::UnknownName { what: "kind", name: shown(name), nearest });
                }
            }
        }
        set
    }
}

struct FaultReporter<'a>(&'a mut ProblemReport<BehaviorFault>);

impl FaultReporter<'_> {
    fn add(&mut self, fault: impl Into<BehaviorFault>) {
        self.0.add(0, Problem::new(TEMPLATE, 0, 0, fault));
    }

    fn names<'a>(
        &mut self,
        what: &'static str,
        taken: &[&str],
        max: usize,
        names: impl ExactSizeIterator<Item = &'a str>,
    ) -> Names<'a> {
        if names.len() > max {
            self.add(TextFault::TooMany { what, max });
        }
        let mut known = Names::new();
        for (name, number) in names.take(max).zip(0..) {
            if self.is_good_name(what, name, taken) && known.insert(name, number).is_some() {
                self.add(BehaviorFault::DuplicateName { what, name: shown(name) });
            }
        }
        known
    }

    fn is_good_name(&mut self, what: &'static str, name: &str, taken: &[&str]) -> bool {
        let is_good = is_name(name) && !taken.contains(&name) && !RESERVED.contains(&name);
        if !is_good {
            self.add(BehaviorFault::BadName { what, name: shown(name) });
        }
        is_good
    }

    fn positions(&mut self, vocabulary: &Vocabulary) {
        for place in &vocabulary.places {
            let is_sound = place.radius_m.is_finite() && place.radius_m >= 0.0;
            self.points("place", &place.name, &[place.position], is_sound);
        }
        for route in &vocabulary.routes {
            self.points("route", &route.name, &route.points, true);
        }
        for resource in &vocabulary.resources {
            self.points("resource", &resource.name, &resource.spots, true);
        }
    }

    fn points(&mut self, what: &'static str, name: &str, points: &[Vec3], is_sound: bool) {
        let name = shown(name);
        if points.is_empty() {
            self.add(BehaviorFault::NoPoints { what, name });
        } else if points.len() > POINTS_MAX {
            self.add(TextFault::TooMany { what: "points of a route or resource", max: POINTS_MAX });
        } else if !is_sound || points.iter().any(|point| !point.is_finite()) {
            self.add(BehaviorFault::NotFinite { what, name });
        }
    }
}
