//! A lost, a doubled and a vanished thing are found, and a request without an answer explains both of its outcomes and no third one.

use super::super::cargo::CargoTag;
use super::super::record::DeedKind;
use super::*;
use ids::Uuid;

const TAG: CargoTag = CargoTag { maker: 0, serial: 7 };
const CONTENT: [u8; 32] = [5; 32];

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn item(owner: u32, number: u128) -> CargoPlace {
    CargoPlace::Item { owner, item: id(number) }
}

fn object(number: u128) -> CargoPlace {
    CargoPlace::Object(id(number))
}

/// A ledger and a census under construction.
#[derive(Default)]
struct Scene {
    ledger: CarryLedger,
    census: CarryCensus,
    number: u64,
}

impl Scene {
    /// Asks for something; an answer follows with [`Self::done`].
    fn ask(&mut self, kind: DeedKind, key: CargoKey, from: Option<CargoPlace>, leaves: bool) -> &mut Self {
        self.ask_for(kind, key, (from, leaves), Expectation::default())
    }

    fn ask_for(
        &mut self,
        kind: DeedKind,
        key: CargoKey,
        (from, leaves): (Option<CargoPlace>, bool),
        expected: Expectation,
    ) -> &mut Self {
        self.number += 1;
        let deed = Deed { kind, key, from, leaves, expected };
        self.ledger.add(0, &CarryEvent::Asked { number: self.number, deed });
        self
    }

    fn done(&mut self, place: Option<CargoPlace>) -> &mut Self {
        self.ledger.add(0, &CarryEvent::Done { number: self.number, place, asset: None });
        self
    }

    fn find(&mut self, key: CargoKey, place: CargoPlace) -> &mut Self {
        self.find_as(key, place, CargoFind { folder: None, revision: 0, asset: None })
    }

    fn find_as(&mut self, key: CargoKey, place: CargoPlace, find: CargoFind) -> &mut Self {
        self.census.finds.entry(key).or_default().insert(place, find);
        self
    }

    /// Things lost, doubled and vanished.
    fn counts(&self) -> (u64, u64, u64) {
        let AuditFindings { lost, doubled, vanished, .. } = self.ledger.audit(&self.census);
        (lost, doubled, vanished)
    }
}

/// A thing that must not be copied, in the inventory of bot 0.
fn unique() -> (Scene, CargoKey) {
    let key = CargoKey::unique(TAG);
    let mut scene = Scene::default();
    scene.ask(DeedKind::Give, key, None, false).done(Some(item(0, 1)));
    (scene, key)
}

#[test]
fn a_thing_that_is_where_the_answers_have_named_it_is_no_finding() {
    let (mut scene, key) = unique();
    scene.ask(DeedKind::Rez, key, Some(item(0, 1)), true).done(Some(object(2)));
    scene.find(key, object(2));
    assert_eq!(scene.counts(), (0, 0, 0));
    let findings = scene.ledger.audit(&scene.census);
    assert!(findings.is_clean() && findings.audited == 1 && findings.texts.is_empty());
}

#[test]
fn an_absent_acknowledged_thing_is_lost_and_without_the_right_to_copy_also_vanished() {
    let (scene, key) = unique();
    assert_eq!(scene.counts(), (1, 0, 1));
    let common = CargoKey::common(TAG);
    let mut scene = Scene::default();
    scene.ask(DeedKind::Create, common, None, false).done(Some(item(0, 1)));
    assert_eq!(scene.counts(), (1, 0, 0));
    let texts = scene.ledger.audit(&scene.census).texts;
    assert_eq!(texts, [format!("{common} is lost: {} is absent", item(0, 1))]);
    assert_ne!(common.to_string(), key.to_string());
}

#[test]
fn a_thing_at_two_places_is_doubled_if_it_must_not_be_copied() {
    let (mut scene, key) = unique();
    scene.ask(DeedKind::Rez, key, Some(item(0, 1)), true);
    scene.find(key, item(0, 1)).find(key, object(2));
    assert_eq!(scene.counts(), (0, 1, 0), "the request has no answer, and half of its effect");

    let common = CargoKey::common(TAG);
    let mut scene = Scene::default();
    scene.ask(DeedKind::Create, common, None, false).done(Some(item(0, 1)));
    scene.ask(DeedKind::Rez, common, Some(item(0, 1)), false);
    scene.find(common, item(0, 1)).find(common, object(2));
    assert_eq!(scene.counts(), (0, 0, 0));
}

#[test]
fn a_request_without_an_answer_leaves_two_possibilities_and_no_third() {
    for (finds, expected) in [
        (vec![item(0, 1)], (0, 0, 0)),
        (vec![object(2)], (0, 0, 0)),
        (vec![], (0, 0, 1)),
        (vec![item(0, 1), object(2)], (0, 1, 0)),
    ] {
        let (mut scene, key) = unique();
        scene.ask(DeedKind::Rez, key, Some(item(0, 1)), true);
        for place in finds {
            scene.find(key, place);
        }
        assert_eq!(scene.counts(), expected, "{:?}", scene.census);
    }
    // A thing that does not exist yet, or is about to be removed, may be at no place.
    let key = CargoKey::unique(TAG);
    let mut scene = Scene::default();
    scene.ask(DeedKind::Give, key, None, false);
    assert_eq!(scene.counts(), (0, 0, 0));
    let (mut scene, key) = unique();
    scene.ask(DeedKind::Purge, key, Some(item(0, 1)), true);
    assert_eq!(scene.counts(), (0, 0, 0));
}

#[test]
fn a_thing_that_is_back_behind_its_confirmed_removal_is_lost() {
    let key = CargoKey::common(TAG);
    let mut scene = Scene::default();
    scene.ask(DeedKind::Create, key, None, false).done(Some(item(0, 1)));
    scene.ask(DeedKind::Purge, key, Some(item(0, 1)), true).done(None);
    assert_eq!(scene.counts(), (0, 0, 0));
    scene.find(key, item(0, 1));
    assert_eq!(scene.counts(), (1, 0, 0));
}

#[test]
fn content_folder_and_name_are_those_of_the_last_answer() {
    let key = CargoKey::common(TAG);
    let expected = Expectation { content: Some(CONTENT), folder: Some(id(90)), revision: Some(1) };
    let right = CargoFind { folder: Some(id(90)), revision: 1, asset: Some(id(80)) };
    let lost = |find: CargoFind, content: Option<[u8; 32]>| {
        let mut scene = Scene::default();
        scene.ask_for(DeedKind::Upload, key, (None, false), expected).done(Some(item(0, 1)));
        scene.find_as(key, item(0, 1), find);
        scene.census.assets.insert(id(80), content);
        scene.counts().0
    };
    assert_eq!(lost(right, Some(CONTENT)), 0);
    assert_eq!(lost(right, Some([6; 32])), 1, "other bytes");
    assert_eq!(lost(right, None), 1, "no bytes");
    assert_eq!(lost(CargoFind { asset: Some(id(81)), ..right }, Some(CONTENT)), 1, "an asset without bytes");
    assert_eq!(lost(CargoFind { asset: Some(Uuid::nil()), ..right }, None), 0, "an asset that is not shown");
    assert_eq!(lost(CargoFind { folder: Some(id(91)), ..right }, Some(CONTENT)), 1);
    assert_eq!(lost(CargoFind { revision: 0, ..right }, Some(CONTENT)), 1);
}

#[test]
fn a_change_without_an_answer_may_have_been_made() {
    let key = CargoKey::common(TAG);
    let content = |hash| Expectation { content: Some(hash), ..Expectation::default() };
    let find = CargoFind { folder: Some(id(91)), revision: 3, asset: Some(id(80)) };
    for (found, lost) in [(CONTENT, 0), ([6; 32], 0), ([7; 32], 1)] {
        let mut scene = Scene::default();
        scene.ask_for(DeedKind::Upload, key, (None, false), content(CONTENT)).done(Some(item(0, 1)));
        scene.ask_for(DeedKind::Rewrite, key, (Some(item(0, 1)), false), content([6; 32]));
        scene.find_as(key, item(0, 1), find);
        scene.census.assets.insert(id(80), Some(found));
        assert_eq!(scene.counts().0, lost, "{found:?}");
    }
}

#[test]
fn assets_that_answers_have_named_are_compared_without_their_items() {
    let key = CargoKey::common(TAG);
    let mut scene = Scene::default();
    let expected = Expectation { content: Some(CONTENT), ..Expectation::default() };
    scene.ask_for(DeedKind::Upload, key, (None, false), expected);
    let asset = Some((id(80), 7));
    scene.ledger.add(0, &CarryEvent::Done { number: 1, place: Some(item(0, 1)), asset });
    scene.ask(DeedKind::Purge, key, Some(item(0, 1)), true).done(None);
    assert_eq!(scene.counts(), (1, 0, 0), "no bot was sent it");
    scene.census.assets.insert(id(80), Some(CONTENT));
    assert_eq!(scene.counts(), (0, 0, 0));
    assert_eq!(scene.ledger.audit(&scene.census).audited, 2);
}

#[test]
fn a_settlement_leaves_a_ledger_that_agrees_with_the_census() {
    let (mut scene, key) = unique();
    scene.ask(DeedKind::Rez, key, Some(item(0, 1)), true);
    let (other, lost) = (CargoTag { maker: 0, serial: 8 }, CargoTag { maker: 0, serial: 9 });
    scene.ask(DeedKind::Create, CargoKey::common(lost), None, false).done(Some(item(0, 3)));
    scene.find(key, object(2)).find(CargoKey::common(other), item(1, 4));
    assert_eq!(scene.counts(), (1, 0, 0));
    let events = scene.ledger.settlement(&scene.census);
    assert_eq!(events.len(), 4, "three things and the end: {events:?}");
    events.iter().for_each(|event| scene.ledger.add(0, event));
    assert_eq!((scene.counts(), scene.ledger.n_pending()), ((0, 0, 0), 0));
    assert_eq!(scene.ledger.things.len(), 2, "the lost one is expected no more");
    assert_eq!(scene.ledger.settlement(&scene.census), [CarryEvent::Audited]);
}
