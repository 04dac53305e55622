//! The wardrobe with keepers of two regions, whose worlds are played by hand.

mod questions;

use super::*;
use crate::KeeperConfig;
use crate::testing::{IDS, at, body, config, frame, set, temporary};
use ids::{LocalId, Ticket};
use link::{
    Action, DerezKind, Event, Frame, HeldObject, ObjectChange, PrimMotion, Transfer, VersionedBody,
    WearOrder, WornChange, WornTransfer,
};
use std::sync::Arc;
use store::StoredRegion;

const ADA: AgentId = AgentId(Uuid::from_u128(1));
const SESSION: SessionKey = SessionKey(3);
const AVATAR: LocalId = LocalId(7);
const ONE: WorldId = WorldId(1);
const TWO: WorldId = WorldId(2);

struct Regions {
    keepers: Vec<Keeper>,
    sequences: [u64; 2],
    ticket: u32,
}

impl WornRegions for Regions {
    fn keepers(&mut self) -> impl Iterator<Item = &mut Keeper> {
        self.keepers.iter_mut()
    }
}

/// A node with a wardrobe.
struct Node {
    wardrobe: Wardrobe,
    regions: Regions,
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn item(n: u128) -> Uuid {
    Uuid::from_u128(0x100 + n)
}

fn root(n: u128, x: f32) -> (PrimMotion, VersionedBody) {
    let mut versioned = body(n);
    let edited = Arc::make_mut(&mut versioned.body);
    (edited.state, edited.worn_item) = (0x20, Some(item(n)));
    (PrimMotion { parent: AVATAR, ..at(x) }, versioned)
}

fn object(n: u128, x: f32) -> HeldObject {
    let (folder, transaction, is_worn) = (Uuid::nil(), Uuid::nil(), true);
    let (owner, by, kind) = (ADA, SESSION, DerezKind::Take);
    HeldObject { owner, by, kind, folder, transaction, is_worn, linksets: vec![vec![root(n, x)]] }
}

fn worn(n: u128) -> WornObject {
    let object = Arc::new(object(n, 0.5));
    WornObject { owner: ADA, item: item(n), point: 2, revision: 10, is_ahead: false, object }
}

fn shown(n: u32, x: f32) -> ObjectChange {
    let (place, versioned) = root(n.into(), x);
    set(temporary(n), place, versioned)
}

fn arrived(world: Option<WorldId>, items: &[u128]) -> WardrobeOrder {
    let worn = items.iter().map(|n| worn(*n)).collect();
    WardrobeOrder::Arrived { agent: ADA, session: SESSION, world, worn }
}

impl Node {
    fn new() -> Self {
        let keeper = |region| {
            let config = KeeperConfig { region, ids: IDS, ..config() };
            let loaded = Keeper::load(&config, &StoredRegion::default(), Uuid::from_u128(9));
            let (mut keeper, _) = loaded.expect("an empty region");
            keeper.handle_frame(ms(0), &Frame { world: region, ..frame(0, Vec::new()) });
            keeper
        };
        let keepers = [ONE, TWO].map(keeper).into();
        let regions = Regions { keepers, sequences: [0; 2], ticket: 0 };
        Self { wardrobe: Wardrobe::new(Uuid::from_u128(5)), regions }
    }

    fn order(&mut self, now: Instant, order: WardrobeOrder) {
        self.wardrobe.take_order(now, order, &mut self.regions);
        self.wardrobe.drive(now, &mut self.regions);
    }

    /// Orders for the world of a region since the last call, by their items.
    fn sent(&mut self, world: WorldId) -> Vec<(&'static str, Vec<Uuid>)> {
        let mut sent = Vec::new();
        let keeper = keeper_of(&mut self.regions, world).expect("a region");
        keeper.send_orders(|action| {
            match action {
                Action::Wear(order) => {
                    let WearOrder { item, session, .. } = *order;
                    assert_eq!(session, SESSION);
                    sent.push(("wear", vec![item]));
                }
                Action::TakeOff(order) => {
                    let WornItems::These(items) = order.items else { panic!("some") };
                    sent.push(("take off", items));
                }
                Action::Settle(_) => {}
                other => panic!("{other:?}"),
            }
            true
        });
        sent
    }

    /// The next frame of a world.
    fn frame(&mut self, now: Instant, world: WorldId, objects: Vec<ObjectChange>, events: Vec<Event>) {
        let n = usize::from(world == TWO);
        self.regions.sequences[n] += 1;
        let frame = Frame { world, events, ..frame(self.regions.sequences[n], objects) };
        self.regions.keepers[n].handle_frame(now, &frame);
        while let Some(news) = self.regions.keepers[n].poll_worn() {
            self.wardrobe.take_news(now, world, news, &mut self.regions);
        }
        self.wardrobe.drive(now, &mut self.regions);
    }

    fn transfer(&mut self, n: u128, change: WornChange, x: f32) -> Event {
        self.regions.ticket += 1;
        let transfer = WornTransfer { item: item(n), change, object: object(n, x) };
        Event::Transfer(Ticket(self.regions.ticket), Transfer::Worn(Arc::new(transfer)))
    }

    /// Saves both regions; rows of worn objects that changed, and of those that went.
    fn save(&mut self, now: Instant) -> (usize, usize) {
        let (mut kept, mut gone) = (0, 0);
        for keeper in &mut self.regions.keepers {
            let Some(batch) = keeper.poll_batch(now) else { continue };
            let of_tickets = batch.changes.held.iter().filter_map(|(_, change)| match change {
                store::HeldChange::Worn(save) => Some(&**save),
                _ => None,
            });
            for save in batch.changes.worn.iter().chain(of_tickets) {
                *(if save.ends { &mut gone } else { &mut kept }) += 1;
            }
            keeper.handle_saved(now, batch.id, true);
        }
        (kept, gone)
    }
}

#[test]
fn objects_go_with_the_avatar_from_region_to_region() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1, 2]));
    assert_eq!(node.sent(ONE), [("wear", vec![item(1)]), ("wear", vec![item(2)])]);
    node.frame(ms(150), ONE, vec![shown(1, 0.5), shown(2, 0.5)], Vec::new());
    node.frame(ms(200), ONE, vec![shown(1, 0.75)], Vec::new());
    // The avatar is in the other region before a frame of the first one says so.
    node.order(ms(300), arrived(Some(TWO), &[1, 2]));
    assert_eq!(node.sent(TWO), []);
    let left = [(1, 0.75), (2, 0.5)].map(|(n, x)| node.transfer(n, WornChange::Left, x));
    let gone = [1, 2].map(|n| ObjectChange::Removed(temporary(n)));
    node.frame(ms(350), ONE, gone.into(), left.into());
    assert_eq!(node.sent(TWO), [("wear", vec![item(1)]), ("wear", vec![item(2)])]);
    let piece = &node.wardrobe.users[&ADA].pieces[&item(1)];
    assert_eq!(piece.worn.object.linksets[0][0].0.motion.position.x, 0.75, "with the edit");
    assert_eq!(node.save(ms(1_000)), (1, 0), "the one with the edit");
    // Into an instance and back.
    node.frame(ms(1_050), TWO, vec![shown(1, 0.75), shown(2, 0.5)], Vec::new());
    node.order(ms(1_100), arrived(None, &[1, 2]));
    let left = [(1, 0.75), (2, 0.5)].map(|(n, x)| node.transfer(n, WornChange::Left, x));
    let gone = [1, 2].map(|n| ObjectChange::Removed(temporary(n)));
    node.frame(ms(1_150), TWO, gone.into(), left.into());
    assert_eq!((node.sent(ONE), node.sent(TWO)), (vec![], vec![]));
    node.order(ms(9_000), arrived(Some(TWO), &[1, 2]));
    assert_eq!(node.sent(TWO).len(), 2);
}

#[test]
fn items_are_put_on_and_taken_off_also_where_no_region_has_them() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1]));
    node.order(ms(100), WardrobeOrder::Wear { agent: ADA, items: vec![(worn(2), true)] });
    assert_eq!(node.sent(ONE), [("wear", vec![item(1)]), ("wear", vec![item(2)])]);
    node.frame(ms(150), ONE, vec![shown(1, 0.5), shown(2, 0.5)], Vec::new());
    let all_but = WardrobeOrder::TakeOff { agent: ADA, items: WornItems::AllBut(vec![item(2)]) };
    node.order(ms(200), all_but);
    assert_eq!(node.sent(ONE), [("take off", vec![item(1)])]);
    let off = node.transfer(1, WornChange::TakenOff, 0.5);
    node.frame(ms(250), ONE, vec![ObjectChange::Removed(temporary(1))], vec![off]);
    // The store has its row still.
    node.order(ms(300), arrived(Some(ONE), &[1, 2]));
    assert_eq!(node.sent(ONE), []);
    assert_eq!(node.save(ms(600)), (0, 1));
    // In an instance.
    let left = node.transfer(2, WornChange::Left, 0.5);
    node.order(ms(700), arrived(None, &[2]));
    node.frame(ms(700), ONE, vec![ObjectChange::Removed(temporary(2))], vec![left]);
    node.order(ms(750), WardrobeOrder::Wear { agent: ADA, items: vec![(worn(3), true)] });
    node.order(ms(800), WardrobeOrder::TakeOff { agent: ADA, items: WornItems::These(vec![item(3)]) });
    assert_eq!(node.save(ms(2_000)), (0, 2), "one was replaced");
    assert!(node.wardrobe.users[&ADA].pieces.is_empty());
}

#[test]
fn what_a_world_refuses_or_loses_is_tried_again() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1, 2, 3]));
    node.sent(ONE);
    let refused = |n, reason| Event::WearRefused { owner: ADA, item: item(n), reason };
    let answers = vec![refused(1, EditRefusal::NoOwner), refused(2, EditRefusal::Full)];
    node.frame(ms(150), ONE, vec![shown(3, 0.5)], answers);
    assert_eq!((node.sent(ONE), node.wardrobe.poll_timeout()), (vec![], Some(ms(1_150))));
    node.wardrobe.drive(ms(1_150), &mut node.regions);
    assert_eq!(node.sent(ONE), [("wear", vec![item(1)])]);
    node.frame(ms(1_200), ONE, Vec::new(), vec![refused(1, EditRefusal::NoOwner)]);
    assert_eq!(node.wardrobe.poll_timeout(), Some(ms(3_200)), "twice the pause");
    // The world has no room for the second one, but another region may have.
    node.order(ms(1_300), arrived(Some(TWO), &[]));
    assert_eq!(node.sent(TWO), [("wear", vec![item(1)]), ("wear", vec![item(2)])]);
    assert_eq!(node.sent(ONE), [], "the third one is there");
}

#[test]
fn a_second_wish_tries_again_what_a_region_has_refused_and_nothing_else() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1, 2, 3]));
    node.sent(ONE);
    let full = Event::WearRefused { owner: ADA, item: item(2), reason: EditRefusal::Full };
    node.frame(ms(150), ONE, vec![shown(1, 0.5), shown(3, 0.5)], vec![full.clone()]);
    assert_eq!((node.sent(ONE), node.wardrobe.poll_timeout()), (vec![], None));
    let off = node.transfer(3, WornChange::TakenOff, 0.5);
    node.frame(ms(200), ONE, vec![ObjectChange::Removed(temporary(3))], vec![off]);
    // The first is there, and the store has the row of the third one still.
    let again = || WardrobeOrder::WearAgain { agent: ADA, items: [1, 2, 3, 4].map(item).into() };
    node.order(ms(250), again());
    assert_eq!(node.sent(ONE), [("wear", vec![item(2)])]);
    let refused = Event::WearRefused { owner: ADA, item: item(3), reason: EditRefusal::TooFast };
    let answers: Vec<_> = std::iter::from_fn(|| node.wardrobe.poll_answer()).collect();
    assert_eq!(answers, [(ONE, refused)]);
    node.order(ms(260), again());
    assert_eq!(node.sent(ONE), [], "it is on the way");
    node.frame(ms(300), ONE, Vec::new(), vec![full]);
    node.order(ms(350), again());
    assert_eq!(node.sent(ONE), [("wear", vec![item(2)])]);
    node.frame(ms(400), ONE, vec![shown(2, 0.5)], Vec::new());
    node.order(ms(450), again());
    assert_eq!(node.sent(ONE), []);
    // Of a user that is nowhere.
    let (agent, items) = (AgentId(Uuid::from_u128(2)), vec![item(2)]);
    node.order(ms(500), WardrobeOrder::WearAgain { agent, items });
    assert_eq!(node.wardrobe.users.len(), 1);
}

#[test]
fn a_user_is_forgotten_when_the_disk_has_everything() {
    let mut node = Node::new();
    node.order(ms(0), arrived(Some(ONE), &[1]));
    node.frame(ms(50), ONE, vec![shown(1, 0.5)], Vec::new());
    let gone = |session| WardrobeOrder::Gone { agent: ADA, session };
    node.order(ms(100), gone(SessionKey(99)));
    assert_eq!(node.wardrobe.users[&ADA].session, Some(SESSION), "an earlier session");
    node.order(ms(100), gone(SESSION));
    let left = node.transfer(1, WornChange::Left, 0.75);
    node.frame(ms(150), ONE, vec![ObjectChange::Removed(temporary(1))], vec![left]);
    assert_eq!(node.sent(ONE), []);
    node.wardrobe.drive(ms(60_150), &mut node.regions);
    assert_eq!(node.wardrobe.users.len(), 1, "its last state is not saved");
    assert_eq!(node.save(ms(60_200)), (1, 0));
    let at = node.wardrobe.poll_timeout().expect("a time");
    node.wardrobe.drive(at, &mut node.regions);
    assert_eq!((node.wardrobe.users.len(), node.wardrobe.poll_timeout()), (0, None));
}

#[test]
fn an_end_is_remembered_until_it_is_saved() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1]));
    node.frame(ms(150), ONE, vec![shown(1, 0.5)], Vec::new());
    node.order(ms(200), WardrobeOrder::TakeOff { agent: ADA, items: WornItems::These(vec![item(1)]) });
    let off = node.transfer(1, WornChange::TakenOff, 0.5);
    node.frame(ms(250), ONE, vec![ObjectChange::Removed(temporary(1))], vec![off]);
    node.order(ms(300), WardrobeOrder::Gone { agent: ADA, session: SESSION });
    // The saves of the region are held back, and the store has the row still at the next login.
    let later = ms(300) + 2 * MEMORY;
    node.wardrobe.drive(later, &mut node.regions);
    node.order(later, arrived(Some(ONE), &[1]));
    assert_eq!(node.sent(ONE), []);
    assert_eq!(node.save(later), (0, 1));
    node.wardrobe.due.insert(ADA, later);
    node.wardrobe.drive(later, &mut node.regions);
    assert!(node.wardrobe.users[&ADA].ended.is_empty());
}

#[test]
fn ids_of_tasks_are_random_ones() {
    let ids: std::collections::BTreeSet<Uuid> =
        (0..1_000).map(|n| id_of_task(Uuid::from_u128(5), n)).collect();
    assert!(ids.len() == 1_000 && ids.iter().all(|id| id.get_version_num() == 4));
}
