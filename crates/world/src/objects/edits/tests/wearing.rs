//! Linksets that avatars wear.

use super::stage::{ADA, EVE, FAY, Stage, TICK, agent_of, config, new_object};
use crate::World;
use glam::Vec3;
use ids::{LocalId, SessionKey, Tick};
use link::{Action, Command, DerezKind, EditRefusal, Frame, NewObject, ObjectCommand, Placement, PrimFlags};

fn attach(id: LocalId, point: u8) -> ObjectCommand {
    ObjectCommand::Attach(vec![(id, point)])
}

/// The avatar of a session.
fn avatar_of(stage: &Stage, session: SessionKey) -> LocalId {
    let avatars = stage.world.roster.iter().filter(|(_, presence)| presence.identity.session == session);
    avatars.map(|(_, presence)| presence.id).next().expect("it is here")
}

#[test]
fn a_linkset_is_worn_whole_at_its_point_and_dropped_in_front() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let root = stage.ask(ADA, attach(prims[1], 5)).done().created[0];
    let avatar = avatar_of(&stage, ADA);
    assert_eq!(stage.store().worn_by(avatar), [root]);
    let worn: Vec<LocalId> = stage.store().linkset(root).collect();
    assert!(worn.len() == 3 && worn.iter().all(|&id| stage.body(id).state == 0x50));
    assert_eq!(stage.store().motion(root).map(|prim| prim.motion.position), Some(Vec3::ZERO));
    stage.ask(ADA, attach(root, 6)).refused(EditRefusal::Attached, &[root]);
    stage.ask(EVE, ObjectCommand::PutDown(vec![root])).refused(EditRefusal::Rights, &[root]);
    let dropped = stage.ask(ADA, ObjectCommand::PutDown(vec![worn[1]])).done().created[0];
    assert!(stage.store().worn_by(avatar).is_empty() && !stage.store().is_temporary_id(dropped));
    assert!(stage.store().linkset(dropped).all(|id| stage.body(id).state == 0));
}

#[test]
fn only_own_objects_are_worn_and_only_at_points_of_a_body() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(EVE, attach(id, 5)).refused(EditRefusal::Rights, &[id]);
    stage.ask(FAY, attach(id, 5)).refused(EditRefusal::Rights, &[id]);
    stage.ask(ADA, attach(id, 56)).refused(EditRefusal::BadValue, &[id]);
    stage.ask(SessionKey::NODE, attach(id, 5));
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::NoOwner), 1);
    let temporary = NewObject { flags: PrimFlags::TEMPORARY, ..new_object(0, Vec3::splat(60.0)) };
    let temporary = stage.rez_as(ADA, temporary);
    stage.ask(ADA, attach(temporary, 5)).refused(EditRefusal::Unsupported, &[temporary]);
    // The point of a viewer that adds to the objects there; and none.
    let worn = [stage.ask(ADA, attach(id, 0x80 | 5)).done().created[0]];
    assert_eq!(stage.body(worn[0]).state, 0x50);
    let id = stage.rez(ADA);
    let worn = stage.ask(ADA, attach(id, 0)).done().created[0];
    assert_eq!(stage.body(worn).state, 0x60);
}

#[test]
fn an_avatar_that_leaves_leaves_its_account_what_it_wears() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, attach(id, 5)).done();
    let object = stage.id_of(stage.store().worn_by(avatar_of(&stage, ADA))[0]);
    stage.step(vec![Command::by_session(ADA, 1 << 40, Action::Leave)]);
    let held: Vec<_> = stage.held_in_frame();
    assert_eq!(held.len(), 1);
    assert_eq!(
        (held[0].owner, held[0].kind, held[0].prims[0].1.body.id),
        (agent_of(ADA), DerezKind::Take, object)
    );
    assert_eq!(stage.store().len(), 0);
}

#[test]
fn a_world_that_restarts_without_avatars_gives_accounts_what_they_wore() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, attach(id, 5)).done();
    // A snapshot has the avatars, and they wear it still.
    let snapshot = stage.world.snapshot();
    let mut same = World::restore(config(), &snapshot).expect("its own snapshot");
    let mut frame = Frame::empty();
    same.step(Tick(100), TICK, 1.0, &mut Vec::new(), &mut frame);
    assert_eq!(same.objects.as_ref().map(|objects| objects.wearers().count()), Some(1));
    let stored = stage.store().stored();
    let mut bare = World::with_objects(config(), stored).expect("no contradiction");
    bare.step(Tick(0), TICK, 1.0, &mut Vec::new(), &mut frame);
    let is_adas = |event: &link::Event| matches!(event, link::Event::Transfer(_, link::Transfer::Held(held)) if held.owner == agent_of(ADA));
    assert!(frame.events.iter().any(is_adas));
    assert_eq!(bare.objects.as_ref().map(|objects| objects.len()), Some(0));
}

#[test]
fn an_avatar_whose_store_is_full_wears_nothing_more_and_loses_nothing() {
    let mut stage = Stage::new();
    let [worn, other] = [stage.rez(ADA), stage.rez(ADA)];
    stage.ask(ADA, attach(worn, 5)).done();
    stage.order(Action::HeldFull { owner: agent_of(ADA), is_full: true });
    stage.ask(ADA, attach(other, 5)).refused(EditRefusal::HeldFull, &[other]);
    stage.step(vec![Command::by_session(ADA, 1 << 40, Action::Leave)]);
    assert_eq!((stage.held_in_frame().len(), stage.store().len()), (1, 1));
}

#[test]
fn a_change_on_the_ground_cannot_be_undone_while_worn_and_one_while_worn_not_on_the_ground() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let object = stage.id_of(id);
    let place = |id, position| {
        let placement = Placement { position: Some(position), is_linked_set: true, ..Placement::default() };
        ObjectCommand::Place(vec![(id, placement)])
    };
    stage.ask(ADA, place(id, Vec3::new(80.0, 80.0, 30.0))).done();
    let worn = stage.ask(ADA, attach(id, 5)).done().created[0];
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::NoHistory, &[worn]);
    let offset = |stage: &Stage| stage.store().motion(worn).map(|prim| prim.motion.position);
    assert_eq!(offset(&stage), Some(Vec3::ZERO));
    // Twice, so that the newest change has a place relative to the avatar.
    for x in [1.0, 2.0] {
        stage.ask(ADA, place(worn, x * Vec3::X)).done();
    }
    let dropped = stage.ask(ADA, ObjectCommand::PutDown(vec![worn])).done().created[0];
    let at = stage.position(dropped);
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::NoHistory, &[dropped]);
    assert_eq!(stage.position(dropped), at);
}
