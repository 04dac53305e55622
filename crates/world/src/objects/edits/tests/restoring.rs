//! Tickets of linksets that leave a world and come back.

use super::stage::{ADA, EVE, OPERATOR, Stage, agent_of, config};
use crate::World;
use glam::Vec3;
use ids::{AgentId, HeldKey, LocalId, SessionKey, Ticket, Uuid, WorldId};
use link::{
    Action, Derez, DerezKind, EditRefusal, HeldObject, ObjectCommand, ObjectLimits, PlacedLinkset, Ray,
    Restoration, RestorePlace, Rezzing, Transfer,
};
use std::sync::Arc;

fn derez(objects: &[LocalId], kind: DerezKind) -> ObjectCommand {
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    ObjectCommand::Derez(Derez { objects: objects.to_vec(), kind, folder, transaction })
}

fn key(n: u32) -> HeldKey {
    HeldKey { region: WorldId(1), ticket: Ticket(n) }
}

/// The id of the first prim of an object with other ids.
const FRESH: Uuid = Uuid::from_u128(0xC0_5E << 64);

fn restore(ticket: u32, object: &Arc<HeldObject>) -> Action {
    order(Some(key(ticket)), object, RestorePlace::Former)
}

fn order(key: Option<HeldKey>, object: &Arc<HeldObject>, place: RestorePlace) -> Action {
    let object = Arc::clone(object);
    Action::Restore(Box::new(Restoration { key, object, place, ids: FRESH }))
}

/// Transfers that a snapshot of the world has.
fn unsettled(stage: &mut Stage) -> Vec<(Ticket, Transfer)> {
    stage.order(Action::Resync);
    stage.frame.snapshot.as_ref().expect("a snapshot of one part").transfers.clone()
}

#[test]
fn a_linkset_that_leaves_has_a_ticket_in_frames_and_snapshots_until_it_is_settled() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA), stage.rez(EVE)];
    let answer = stage.ask(OPERATOR, derez(&ids[..2], DerezKind::Return)).done();
    let tickets: Vec<Ticket> = answer.transfers.iter().map(|(ticket, _)| *ticket).collect();
    assert_eq!(tickets, [Ticket(1), Ticket(2)]);
    assert_eq!(unsettled(&mut stage), answer.transfers);
    assert_eq!(stage.order(Action::Settle(Ticket(1))).transfers, []);
    let next = stage.ask(EVE, derez(&ids[2..], DerezKind::Take)).done();
    assert_eq!(next.transfers[0].0, Ticket(3));
    assert_eq!(unsettled(&mut stage), [&answer.transfers[1..], &next.transfers[..]].concat());
    // Also in a world that continues from a snapshot.
    let before = stage.world.state_hash();
    stage.world = World::restore(config(), &stage.world.snapshot()).expect("its own snapshot");
    assert_eq!(stage.world.state_hash(), before);
    stage.order(Action::Settle(Ticket(3)));
    assert_ne!(stage.world.state_hash(), before);
    assert_eq!(unsettled(&mut stage), []);
    assert_eq!((stage.world.counters().settle, stage.world.last_ticket()), (1, Ticket(3)));
}

#[test]
fn a_linkset_comes_back_as_it_was_and_once() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let places = stage.places();
    let linkset = stage.ask(ADA, derez(&prims[..1], DerezKind::Trash)).done().held().remove(0);
    stage.order(Action::Settle(Ticket(1)));
    let answer = stage.order(restore(1, &linkset));
    assert_eq!(answer.transfers, [(Ticket(2), Transfer::Restored(key(1)))]);
    assert_eq!((stage.places(), stage.store().len()), (places, 3));
    let root = stage.store().local_id(linkset.linksets[0][0].1.body.id).expect("it is back");
    assert_eq!(stage.store().linkset(root).count(), 3);
    let back = stage.store().body(root).expect("it is back");
    assert_eq!(back.version, linkset.linksets[0][0].1.version + 1, "clients may have it in their caches");
    assert_eq!(back.body, linkset.linksets[0][0].1.body);
    // The order comes again, since its answer may have been lost.
    assert_eq!(stage.order(restore(1, &linkset)).transfers, []);
    assert_eq!((unsettled(&mut stage), stage.store().len()), (answer.transfers, 3));
}

#[test]
fn a_linkset_that_the_region_refuses_stays_in_the_store() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let linkset = stage.ask(ADA, derez(&prims[..1], DerezKind::Trash)).done().held().remove(0);
    stage.limit(ObjectLimits { objects_max: 2, ..ObjectLimits::default() });
    let refused = |ticket, why| vec![(Ticket(ticket), Transfer::Refused(key(1), why))];
    assert_eq!(stage.order(restore(1, &linkset)).transfers, refused(2, EditRefusal::Full));
    assert_eq!((stage.store().len(), stage.world.counters().edits.refused_for(EditRefusal::Full)), (0, 1));
    // No second answer before the first is on the disk.
    stage.limit(ObjectLimits::default());
    assert_eq!(stage.order(restore(1, &linkset)).transfers, []);
    stage.order(Action::Settle(Ticket(2)));
    assert_eq!(stage.order(restore(1, &linkset)).transfers, [(Ticket(3), Transfer::Restored(key(1)))]);
    stage.order(Action::Settle(Ticket(3)));
    assert_eq!(stage.order(restore(1, &linkset)).transfers, refused(4, EditRefusal::Twice));
    for (linksets, ticket) in [Vec::new(), vec![Vec::new()]].into_iter().zip(5..) {
        let nowhere = HeldObject { linksets, ..(*linkset).clone() };
        let expected = vec![(Ticket(ticket), Transfer::Refused(key(ticket), EditRefusal::BadValue))];
        assert_eq!(stage.order(restore(ticket, &Arc::new(nowhere))).transfers, expected);
    }
}

#[test]
fn a_copy_that_comes_into_the_world_is_an_object_of_its_own() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let copy = stage.ask(ADA, derez(&prims[..1], DerezKind::TakeCopy)).done().held().remove(0);
    for ticket in [1, 2] {
        let action = match restore(ticket, &copy) {
            Action::Restore(order) => Action::Restore(Box::new(Restoration {
                place: RestorePlace::At(Vec3::new(-5.0, 20.0, 30.0)),
                ids: Uuid::from_u128(u128::from(ticket) << 80),
                ..*order
            })),
            other => panic!("{other:?}"),
        };
        let [(_, Transfer::Restored(_))] = stage.order(action).transfers[..] else { panic!("refused") };
        let root = stage.store().local_id(Uuid::from_u128(u128::from(ticket) << 80)).expect("the id chosen");
        assert_eq!(stage.position(root), Vec3::new(0.0, 20.0, 30.0), "the nearest place inside");
    }
    assert_eq!(stage.store().len(), 6);
}

#[test]
fn a_temporary_linkset_that_was_held_is_kept() {
    let mut stage = Stage::new();
    let object = super::stage::new_object(0, Vec3::splat(50.0));
    let flags = link::PrimFlags::TEMPORARY;
    let id = stage.rez_as(ADA, link::NewObject { flags, ..object });
    let linkset = stage.ask(ADA, derez(&[id], DerezKind::Take)).done().held().remove(0);
    stage.order(restore(1, &linkset));
    let root = stage.store().local_id(linkset.linksets[0][0].1.body.id).expect("it is back");
    assert!(!stage.store().is_temporary_id(root) && !stage.flags(root).any(flags));
}

#[test]
fn objects_of_a_user_for_whom_the_store_is_full_stay() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(EVE)];
    stage.order(Action::HeldFull { owner: agent_of(ADA), is_full: true });
    stage.ask(OPERATOR, derez(&ids[..1], DerezKind::Return)).refused(EditRefusal::HeldFull, &ids[..1]);
    assert_eq!(stage.ask(OPERATOR, derez(&ids[1..], DerezKind::Return)).done().held().len(), 1);
    let hash = stage.world.state_hash();
    stage.order(Action::HeldFull { owner: AgentId(Uuid::nil()), is_full: true });
    assert_ne!(stage.world.state_hash(), hash);
    stage.order(Action::HeldFull { owner: agent_of(ADA), is_full: false });
    assert_eq!(stage.ask(OPERATOR, derez(&ids[..1], DerezKind::Return)).done().held().len(), 1);
    // Without a holder there is nothing to keep.
    stage.order(Action::HeldFull { owner: agent_of(ADA), is_full: true });
    let id = stage.rez(ADA);
    stage.ask(ADA, derez(&[id], DerezKind::Delete)).done();
    assert_eq!(stage.store().len(), 0);
}

#[test]
fn no_session_orders_transfers() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let linkset = stage.ask(ADA, derez(&[id], DerezKind::Take)).done().held().remove(0);
    let orders = [
        restore(1, &linkset),
        Action::Settle(Ticket(1)),
        Action::HeldFull { owner: agent_of(ADA), is_full: true },
    ];
    for session in [ADA, OPERATOR] {
        let commands = (0..).zip(orders.clone()).map(|(n, action)| {
            let sequence = 1 << 32 | session.0 << 8 | n;
            link::Command::by_session(session, sequence, action)
        });
        stage.step(commands.collect());
    }
    assert_eq!((stage.world.counters().foreign, stage.store().len()), (6, 0));
    assert_eq!(unsettled(&mut stage).len(), 1);
    assert_eq!(stage.ask(SessionKey::NODE, derez(&[LocalId(7)], DerezKind::Return)).transfers, []);
}

#[test]
fn tickets_of_a_step_that_panicked_are_given_again() {
    let config = crate::WorldConfig { objects: Some(link::StoredObjects::default()), ..config() };
    let mut life = crate::Life::new(config, 0.0);
    let mut frame = link::Frame::empty();
    let mut tick = 0;
    let mut step = |life: &mut crate::Life, actions: Vec<Action>| {
        tick += 1;
        let commands =
            (0..).zip(actions).map(|(n, action)| link::Command::by_session(ADA, tick << 8 | n, action));
        let mut commands: Vec<link::Command> = commands.collect();
        let now = ids::Instant::from_millis(50 * tick);
        life.step(now, ids::Tick(tick), super::stage::TICK, 1.0, &mut commands, &mut frame);
        frame.clone()
    };
    let create = |n| {
        let object = super::stage::new_object(n, Vec3::splat(50.0));
        Action::Object(Box::new(ObjectCommand::Create(Box::new(object))))
    };
    let take = |id| Action::Object(Box::new(derez(&[id], DerezKind::Take)));
    step(&mut life, vec![super::stage::enter(ADA), create(1), create(2)]);
    let id_of = |life: &crate::Life, n| {
        let objects = life.world().objects.as_ref().expect("built on");
        objects.local_id(Uuid::from_u128(n))
    };
    let ids = [1, 2].map(|n| id_of(&life, n).expect("just made"));
    step(&mut life, vec![take(ids[0])]);
    life.arm(Box::new(|| panic!("a fault of this test")));
    let fails = std::panic::AssertUnwindSafe(|| step(&mut life, vec![take(ids[1])]));
    assert!(std::panic::catch_unwind(fails).is_err());
    drop(life.begin_again(1));
    let frame = step(&mut life, Vec::new());
    let tickets =
        |transfers: &[(Ticket, Transfer)]| transfers.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>();
    assert_eq!(tickets(&frame.snapshot.expect("asked for").transfers), [Ticket(1)]);
    let frame = step(&mut life, vec![take(ids[1])]);
    let [link::Event::Transfer(ticket, Transfer::Held(linkset))] = &frame.events[..] else {
        panic!("{frame:?}")
    };
    assert_eq!((*ticket, linkset.linksets[0][0].1.body.id), (Ticket(2), Uuid::from_u128(2)));
    assert_eq!([1, 2].map(|n| id_of(&life, n)), [None; 2]);
}

#[test]
fn a_linkset_that_no_world_has_had_is_refused() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let linkset = stage.ask(ADA, derez(&prims[..1], DerezKind::Trash)).done().held().remove(0);
    let with = |edit: &dyn Fn(&mut PlacedLinkset)| {
        let mut other = (*linkset).clone();
        edit(&mut other.linksets[0]);
        Arc::new(other)
    };
    let refused = [
        (with(&|prims| prims[1].0.motion.position.x = 300.0), EditRefusal::TooFar),
        (with(&|prims| prims[1].0.motion.position.x = f32::NAN), EditRefusal::BadNumber),
        (with(&|prims| prims[0].0.motion.rotation.w = f32::INFINITY), EditRefusal::BadNumber),
        (with(&|prims| prims[1].1 = prims[0].1.clone()), EditRefusal::Twice),
        (with(&|prims| *prims = vec![prims[0].clone(); 257]), EditRefusal::TooManyParts),
    ];
    for ((other, why), ticket) in refused.into_iter().zip(2..) {
        let answer = stage.order(restore(ticket, &other));
        assert_eq!(answer.transfers, [(Ticket(ticket), Transfer::Refused(key(ticket), why))]);
    }
    assert_eq!(stage.store().len(), 0);
}

#[test]
fn several_linksets_come_with_their_distances_or_not_at_all() {
    let mut stage = Stage::new();
    let [one, other] = [stage.rez_linkset(ADA, 2)[0], stage.rez(ADA)];
    let apart = stage.position(other) - stage.position(one);
    let object = stage.ask(ADA, derez(&[one, other], DerezKind::Take)).done().held().remove(0);
    assert_eq!((object.linksets.len(), stage.store().len()), (2, 0));
    stage.order(Action::Settle(Ticket(1)));
    stage.limit(ObjectLimits { objects_max: 2, ..ObjectLimits::default() });
    let answer = stage.order(restore(1, &object));
    assert_eq!(answer.transfers, [(Ticket(2), Transfer::Refused(key(1), EditRefusal::Full))]);
    assert_eq!((stage.store().len(), stage.frame.objects.len()), (0, 0), "nothing of it was there");
    stage.order(Action::Settle(Ticket(2)));
    stage.limit(ObjectLimits::default());
    let at = Vec3::new(100.0, 120.0, 40.0);
    let answer = stage.order(order(Some(key(1)), &object, RestorePlace::At(at)));
    assert_eq!(answer.transfers, [(Ticket(3), Transfer::Restored(key(1)))]);
    let roots = object.linksets.iter().map(|prims| stage.store().local_id(prims[0].1.body.id));
    let places: Vec<Vec3> = roots.map(|root| stage.position(root.expect("with its own id"))).collect();
    assert!(places[0] == at && places[1].distance(at + apart) < 1e-3, "{places:?}");
}

/// An order for a copy, with this id of its first prim.
fn copy(ids: Uuid, object: &Arc<HeldObject>, place: RestorePlace) -> Action {
    let object = Arc::clone(object);
    Action::Restore(Box::new(Restoration { key: None, object, place, ids }))
}

/// The same of one that a user rezzes.
fn rez(ids: Uuid, object: &Arc<HeldObject>, rezzing: Rezzing) -> Action {
    copy(ids, object, RestorePlace::Rezzed(rezzing))
}

#[test]
fn a_copy_that_a_user_rezzes_is_answered_without_a_ticket_and_there_once() {
    let mut stage = Stage::new();
    let root = stage.rez_linkset(ADA, 2)[0];
    let object = stage.ask(ADA, derez(&[root], DerezKind::Take)).done().held().remove(0);
    let position = Vec3::new(20.0, 20.0, 30.0);
    let rezzing = Rezzing { session: ADA, position, ray: None, is_selected: true };
    for _ in 0..2 {
        let answer = stage.order_for(ADA, rez(FRESH, &object, rezzing));
        assert_eq!((answer.rezzed, answer.transfers.len()), (Some((FRESH, None)), 0));
        assert_eq!(stage.store().len(), 2, "also if its answer was lost");
    }
    let root = stage.store().local_id(FRESH).expect("the id of the order");
    assert_eq!(stage.position(root), Vec3::new(20.0, 20.0, 30.25), "it stands there");
    // On another prim, that a pointer shows.
    let base = link::NewObject {
        scale: Vec3::splat(4.0),
        ..super::stage::new_object(0, Vec3::new(60.0, 60.0, 30.0))
    };
    let base = stage.rez_as(ADA, base);
    stage.pass(10 * super::stage::TICK);
    let target = stage.id_of(base);
    let ray = Ray { start: Vec3::new(60.0, 60.0, 50.0), end: Vec3::new(60.0, 60.0, 32.0), target };
    let (on, ids) = (Rezzing { ray: Some(ray), ..rezzing }, Uuid::from_u128(0xAB << 64));
    assert_eq!(stage.order_for(ADA, rez(ids, &object, on)).rezzed, Some((ids, None)));
    let root = stage.store().local_id(ids).expect("the id of the order");
    assert!(stage.position(root).distance(Vec3::new(60.0, 60.0, 32.25)) < 1e-2);
}

#[test]
fn a_user_puts_an_object_back_where_it_was() {
    let mut stage = Stage::new();
    let [one, other] = [stage.rez_linkset(ADA, 2)[0], stage.rez(ADA)];
    let places = [one, other].map(|root| stage.position(root));
    let object = stage.ask(ADA, derez(&[one, other], DerezKind::Take)).done().held().remove(0);
    let back = |session| RestorePlace::Back { session, is_selected: true };
    let of_eve = Uuid::from_u128(0xE << 64);
    let answer = stage.order_for(EVE, copy(of_eve, &object, back(EVE)));
    assert_eq!(answer.rezzed, Some((of_eve, Some(EditRefusal::OtherOwner))));
    let answer = stage.order_for(ADA, copy(FRESH, &object, back(ADA)));
    assert_eq!((answer.rezzed, answer.created.len()), (Some((FRESH, None)), 2));
    let now: Vec<Vec3> = answer.created.iter().map(|&root| stage.position(root)).collect();
    assert_eq!(now, places);
}

#[test]
fn a_user_rezzes_nothing_without_the_right_to_it() {
    let mut stage = Stage::new();
    let root = stage.rez(ADA);
    let object = stage.ask(ADA, derez(&[root], DerezKind::Take)).done().held().remove(0);
    let position = Vec3::new(20.0, 20.0, 30.0);
    let rezzing = |session| Rezzing { session, position, ray: None, is_selected: false };
    let nowhere = Rezzing { position: Vec3::NAN, ..rezzing(ADA) };
    let refused = [
        (rezzing(EVE), EditRefusal::OtherOwner),
        (rezzing(SessionKey(77)), EditRefusal::NoOwner),
        (nowhere, EditRefusal::BadNumber),
    ];
    for ((rezzing, reason), n) in refused.into_iter().zip(1..) {
        let ids = Uuid::from_u128(n << 64);
        let answer = stage.order_for(rezzing.session, rez(ids, &object, rezzing));
        assert_eq!((answer.rezzed, stage.store().len()), (Some((ids, Some(reason))), 0));
    }
    stage.limit(ObjectLimits { is_closed: true, ..ObjectLimits::default() });
    let answer = stage.order_for(ADA, rez(FRESH, &object, rezzing(ADA)));
    assert_eq!(answer.rezzed, Some((FRESH, Some(EditRefusal::NotSaved))));
    // With a key, the store learns of it.
    let action = order(Some(key(5)), &object, RestorePlace::Rezzed(rezzing(ADA)));
    let answer = stage.order_for(ADA, action);
    assert_eq!(answer.transfers, [(Ticket(2), Transfer::Refused(key(5), EditRefusal::NotSaved))]);
}

#[test]
fn a_copy_that_was_deleted_is_not_rezzed_again_by_an_order_that_comes_again() {
    let mut stage = Stage::new();
    let root = stage.rez(ADA);
    let object = stage.ask(ADA, derez(&[root], DerezKind::Take)).done().held().remove(0);
    let position = Vec3::new(20.0, 20.0, 30.0);
    let rezzing = Rezzing { session: ADA, position, ray: None, is_selected: false };
    assert_eq!(stage.order_for(ADA, rez(FRESH, &object, rezzing)).rezzed, Some((FRESH, None)));
    let root = stage.store().local_id(FRESH).expect("the id of the order");
    stage.ask(ADA, derez(&[root], DerezKind::Delete)).done();
    stage.limit(ObjectLimits { is_closed: true, ..ObjectLimits::default() });
    let refused = Uuid::from_u128(0xAB << 64);
    let not_saved = Some((refused, Some(EditRefusal::NotSaved)));
    assert_eq!(stage.order_for(ADA, rez(refused, &object, rezzing)).rezzed, not_saved);
    stage.limit(ObjectLimits::default());
    // In the same world, and in one that continues from its snapshot.
    for _ in 0..2 {
        assert_eq!(stage.order_for(ADA, rez(FRESH, &object, rezzing)).rezzed, Some((FRESH, None)));
        assert_eq!(stage.order_for(ADA, rez(refused, &object, rezzing)).rezzed, not_saved);
        assert_eq!(stage.store().len(), 0);
        let hash = stage.world.state_hash();
        stage.world = World::restore(config(), &stage.world.snapshot()).expect("its own snapshot");
        assert_eq!(stage.world.state_hash(), hash);
    }
}

#[test]
fn an_order_that_was_sent_before_its_world_went_back_is_carried_out_behind_the_settlement_only() {
    let config = crate::WorldConfig { objects: Some(link::StoredObjects::default()), ..config() };
    let mut life = crate::Life::new(config, 0.0);
    let mut frame = link::Frame::empty();
    let mut tick = 0;
    let mut step = |life: &mut crate::Life, actions: Vec<(SessionKey, Action)>| {
        tick += 1;
        let commands = (0..).zip(actions).map(|(n, (session, action))| match session {
            SessionKey::NODE => link::Command::by_node(session, tick << 8 | n, action),
            _ => link::Command::by_session(session, tick << 8 | n, action),
        });
        let mut commands: Vec<link::Command> = commands.collect();
        let now = ids::Instant::from_millis(50 * tick);
        life.step(now, ids::Tick(tick), super::stage::TICK, 1.0, &mut commands, &mut frame);
        frame.clone()
    };
    let of_node = |action: Action| (SessionKey::NODE, action);
    let transfers = |frame: &link::Frame| -> Vec<(Ticket, Transfer)> {
        let transfers = frame.events.iter().filter_map(|event| match event {
            link::Event::Transfer(ticket, transfer) => Some((*ticket, transfer.clone())),
            _ => None,
        });
        transfers.collect()
    };
    let n_prims = |life: &crate::Life| life.world().object_counts().prims;
    let new = super::stage::new_object(1, Vec3::splat(50.0));
    let create = Action::Object(Box::new(ObjectCommand::Create(Box::new(new))));
    // A checkpoint follows the first step.
    step(&mut life, vec![(ADA, super::stage::enter(ADA)), (ADA, create)]);
    let objects = life.world().objects.as_ref().expect("built on");
    let id = objects.local_id(Uuid::from_u128(1)).expect("just made");
    let take = Action::Object(Box::new(derez(&[id], DerezKind::Take)));
    let frame = step(&mut life, vec![(ADA, take)]);
    let [link::Event::Transfer(Ticket(1), Transfer::Held(object))] = &frame.events[..] else {
        panic!("{frame:?}")
    };
    let mark = HeldKey { region: HeldKey::ITEMS, ticket: Ticket(7) };
    let rezzed = order(Some(mark), object, RestorePlace::Former);
    let frame = step(&mut life, vec![of_node(rezzed.clone())]);
    assert_eq!(transfers(&frame), [(Ticket(2), Transfer::Restored(mark))]);
    life.arm_amid_change(Box::new(|| panic!("a fault of this test")));
    let fails = std::panic::AssertUnwindSafe(|| step(&mut life, Vec::new()));
    assert!(std::panic::catch_unwind(fails).is_err());
    assert_eq!(life.begin_again(1).0, crate::Beginning::Newest);
    assert_eq!(n_prims(&life), 1, "the object has not left");
    // The node has sent the order again before it knew that.
    let ignored = life.world().counters().ignored;
    let frame = step(&mut life, vec![of_node(rezzed.clone())]);
    assert_eq!((transfers(&frame), n_prims(&life)), (Vec::new(), 1));
    assert_eq!(life.world().counters().ignored, ignored + 1);
    let undone = Transfer::Undone { first: Ticket(1), last: Ticket(2) };
    assert_eq!(frame.snapshot.expect("asked for").transfers, [(Ticket(3), undone)]);
    let frame = step(&mut life, vec![of_node(Action::Settle(Ticket(3))), of_node(rezzed)]);
    assert_eq!(transfers(&frame), [(Ticket(4), Transfer::Restored(mark))]);
    assert_eq!(n_prims(&life), 2);
}
