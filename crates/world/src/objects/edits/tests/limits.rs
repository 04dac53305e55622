//! Bounds: prims of a region, of a second, of a linkset, of a request; worlds that are not built on.

use super::stage::{ADA, EVE, Stage, agent_of, config, enter, new_object};
use crate::World;
use crate::objects::{Edits, RecentEdit};
use glam::Vec3;
use ids::{LocalId, SessionKey, Tick, Uuid};
use link::{
    Action, Command, CopyPlace, Duplicates, EditRefusal, Event, FlagsEdit, Frame, NewObject, ObjectCommand,
    ObjectLimits, PrimFlags,
};
use std::collections::BTreeSet;
use std::time::Duration;

fn copies(of: LocalId, n: usize, ids: u128) -> ObjectCommand {
    ObjectCommand::Duplicate(Box::new(Duplicates {
        ids: Uuid::from_u128(ids << 70),
        group: Uuid::nil(),
        is_selected: false,
        copies: vec![(of, CopyPlace::Offset(Vec3::Z)); n],
    }))
}

#[test]
fn a_region_has_a_number_of_prims_for_all_makers_together() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    stage.limit(ObjectLimits { objects_max: 7, ..ObjectLimits::default() });
    let answer = stage.ask(ADA, copies(prims[0], 3, 1));
    answer.refused(EditRefusal::Full, &prims[..1]);
    assert_eq!((answer.created.len(), stage.store().len()), (2, 6));
    stage.rez(EVE);
    let create = ObjectCommand::Create(Box::new(new_object(77, Vec3::splat(50.0))));
    stage.ask(EVE, create).refused(EditRefusal::Full, &[]);
    assert_eq!(stage.store().len(), 7);
}

#[test]
fn a_session_makes_a_limited_number_of_prims_in_a_second() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.limit(ObjectLimits { rez_per_s: 10, ..ObjectLimits::default() });
    stage.pass(Duration::from_secs(1));
    let made = stage.ask(ADA, copies(id, 30, 1));
    made.refused(EditRefusal::TooFast, &[id; 20]);
    assert_eq!(made.created.len(), 10);
    // Others have a rate of their own.
    stage.rez(EVE);
    stage.pass(Duration::from_millis(400));
    assert_eq!(stage.ask(ADA, copies(id, 30, 2)).created.len(), 5);
    stage.pass(Duration::from_secs(2));
    assert_eq!(stage.ask(ADA, copies(id, 30, 3)).created.len(), 10);
}

#[test]
fn a_session_changes_a_limited_number_of_prims_in_a_second_and_looks_count() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 15);
    stage.pass(Duration::from_secs(2));
    stage.limit(ObjectLimits { edits_per_s: 25, ..ObjectLimits::default() });
    // The first name takes a look at 15 prims, 10 more are free.
    let names = |n: usize| ObjectCommand::Name(vec![(prims[1], "Wall".into()); n]);
    let answer = stage.ask(ADA, names(12));
    assert_eq!(answer.refused, Some((EditRefusal::TooFast, vec![prims[1]])));
    assert_eq!(stage.ask(SessionKey::NODE, names(200)), super::stage::Answer::default());
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::TooFast), 1);
}

#[test]
fn a_region_has_a_number_of_physical_prims_for_flags_links_and_new_objects() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let [alone, other] = [stage.rez(ADA), stage.rez(ADA)];
    stage.limit(ObjectLimits { physical_max: 3, ..ObjectLimits::default() });
    let physical = FlagsEdit { is_physical: true, ..FlagsEdit::default() };
    stage.ask(ADA, ObjectCommand::Flags(prims[1], physical)).done();
    stage.ask(ADA, ObjectCommand::Flags(alone, physical)).done();
    assert_eq!(stage.world.object_counts().physical, 3);
    // They are physical already.
    stage.ask(ADA, ObjectCommand::Flags(prims[0], physical)).done();
    stage.ask(ADA, ObjectCommand::Flags(other, physical)).refused(EditRefusal::TooManyPhysical, &[other]);
    stage.ask(ADA, ObjectCommand::Link(vec![alone, other])).refused(EditRefusal::TooManyPhysical, &[other]);
    let new = NewObject { flags: PrimFlags::PHYSICS, ..new_object(77, Vec3::splat(50.0)) };
    let create = ObjectCommand::Create(Box::new(new));
    stage.ask(ADA, create.clone()).refused(EditRefusal::TooManyPhysical, &[]);
    stage.ask(ADA, ObjectCommand::Flags(alone, FlagsEdit::default())).done();
    stage.ask(ADA, create).done();
    let counts = stage.world.object_counts();
    assert_eq!((counts.prims, counts.physical, counts.temporary), (5, 3, 0));
}

#[test]
fn sessions_change_nothing_while_their_edits_cannot_be_saved_and_the_node_does() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.limit(ObjectLimits { is_closed: true, ..ObjectLimits::default() });
    let name = || ObjectCommand::Name(vec![(id, "Wall".into())]);
    stage.ask(ADA, name()).refused(EditRefusal::NotSaved, &[]);
    stage.ask(ADA, copies(id, 1, 1)).refused(EditRefusal::NotSaved, &[]);
    assert_eq!((stage.store().len(), &*stage.body(id).names.name), (1, "Primitive"));
    stage.ask(SessionKey::NODE, name());
    assert_eq!((stage.node_result, &*stage.body(id).names.name), (Some((1, 0, None)), "Wall"));
    stage.limit(ObjectLimits::default());
    stage.ask(ADA, copies(id, 1, 1)).done();
}

#[test]
fn an_operator_sees_the_newest_edits_with_their_authors() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let object = stage.id_of(id);
    stage.ask(ADA, ObjectCommand::Name(vec![(id, "Wall".into())])).done();
    stage.ask(EVE, ObjectCommand::Name(vec![(id, "Mine".into())]));
    stage.ask(SessionKey::NODE, ObjectCommand::Description(vec![(id, "Stone".into())]));
    let edits: Vec<_> = stage.world.recent_edits().since(1).collect();
    let told = |edit: &RecentEdit| (edit.what, edit.agent, edit.done, edit.refused, edit.reason);
    let expected = [
        ("name", Some(agent_of(ADA)), 1, 0, None),
        ("name", Some(agent_of(EVE)), 0, 1, Some(EditRefusal::Rights)),
        ("description", None, 1, 0, None),
    ];
    assert_eq!(edits.iter().map(|edit| told(edit)).collect::<Vec<_>>(), expected);
    assert!(edits.iter().all(|edit| edit.object == Some(object)));
    let names: Vec<&str> = edits.iter().map(|edit| &*edit.name).collect();
    assert_eq!(names, ["Primitive", "Wall", "Wall"], "as it was called before the edit");
}

#[test]
fn a_request_names_as_many_objects_as_a_message() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let names = |n: usize| ObjectCommand::Name(vec![(id, "Wall".into()); n]);
    stage.ask(ADA, names(255)).done();
    stage.ask(ADA, names(256)).refused(EditRefusal::TooManyObjects, &[]);
    assert_eq!(stage.world.counters().edits.done, 256);
}

#[test]
fn a_linkset_has_as_many_prims_as_are_allowed_and_256_at_most() {
    let mut stage = Stage::new();
    stage.limit(ObjectLimits { rez_per_s: 10_000, edits_per_s: 100_000, ..ObjectLimits::default() });
    let first = stage.rez(ADA);
    let answer = stage.ask(ADA, copies(first, 255, 1)).done();
    stage.ask(ADA, ObjectCommand::Link([&[first], &answer.created[..254]].concat())).done();
    assert_eq!(stage.store().linkset_len(first), 255);
    let [last, another] = [answer.created[254], stage.rez(ADA)];
    // The 257th.
    stage
        .ask(ADA, ObjectCommand::Link(vec![first, last, another]))
        .refused(EditRefusal::TooManyParts, &[another]);
    assert_eq!(stage.store().linkset_len(first), 256);
    stage.limit(ObjectLimits { link_max: 2, ..ObjectLimits::default() });
    let [a, b, c] = [stage.rez(ADA), stage.rez(ADA), stage.rez(ADA)];
    stage.ask(ADA, ObjectCommand::Link(vec![a, b, c])).refused(EditRefusal::TooManyParts, &[c]);
    // Larger linksets stay.
    assert_eq!(stage.store().linkset_len(first), 256);
}

#[test]
fn a_world_restored_without_its_visitors_has_their_objects_and_not_their_rights() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.limit(ObjectLimits { objects_max: 9, ..ObjectLimits::default() });
    let snapshot = stage.world.snapshot();
    let mut empty = World::restore_without_visitors(config(), &snapshot).expect("its own snapshot");
    let mut left = World::restore(config(), &snapshot).expect("its own snapshot");
    let mut checkpoint = left.checkpoint();
    checkpoint.forget_visitors();
    let forgotten = World::resume(config(), &checkpoint).expect("its own checkpoint");
    let leave = |n| Command::by_node(SessionKey(n), 1 << 40, Action::Leave);
    left.step(Tick(100), super::stage::TICK, 1.0, &mut (1..5).map(leave).collect(), &mut Frame::empty());
    empty.step(Tick(100), super::stage::TICK, 1.0, &mut Vec::new(), &mut Frame::empty());
    let of_edits = [&empty, &left, &forgotten].map(|world| world.edits.hash());
    assert_eq!(of_edits, [of_edits[0]; 3]);
    assert_ne!(of_edits[0], stage.world.edits.hash(), "the operator's rights are gone");
    assert!(empty.objects.is_some_and(|objects| objects.motion(id).is_some()));
}

#[test]
fn limits_and_times_of_temporary_objects_are_in_the_hash_of_the_state() {
    let usual = ObjectLimits::default();
    let limits = [
        usual,
        ObjectLimits { objects_max: 1, ..usual },
        ObjectLimits { physical_max: 2, ..usual },
        ObjectLimits { is_closed: true, ..usual },
        ObjectLimits { rez_per_s: 1, ..usual },
        ObjectLimits { edits_per_s: 1, ..usual },
        ObjectLimits { link_max: 1, ..usual },
        ObjectLimits { temporary_ms: 1, ..usual },
    ];
    let hash_with = |limits| {
        let mut edits = Edits::default();
        edits.set_limits(limits);
        edits.hash()
    };
    let hashes: BTreeSet<u64> = limits.into_iter().map(hash_with).collect();
    assert_eq!(hashes.len(), limits.len());
    let mut edits = Edits::default();
    edits.temporaries.schedule(Uuid::from_u128(1), 5);
    assert_ne!(edits.hash(), Edits::default().hash());
}

#[test]
fn an_instance_refuses_every_request() {
    let mut world = World::new(config());
    let create = Action::Object(Box::new(ObjectCommand::Create(Box::new(new_object(1, Vec3::splat(50.0))))));
    let limits = Action::ObjectLimits(ObjectLimits::default());
    let mut commands = vec![
        Command::by_session(ADA, 0, enter(ADA)),
        Command::by_session(ADA, 1, create),
        Command::by_node(ADA, 2, Action::EditRights(Box::default())),
        Command::by_node(SessionKey::NODE, 0, limits),
    ];
    let mut frame = Frame::empty();
    world.step(Tick(0), super::stage::TICK, 1.0, &mut commands, &mut frame);
    let refused = Event::ObjectsRefused { session: ADA, reason: EditRefusal::NotBuiltOn, ids: Vec::new() };
    assert_eq!(frame.events, [refused]);
    let counters = world.counters();
    assert_eq!(
        (counters.object, counters.edit_rights, counters.object_limits, counters.ignored),
        (1, 0, 0, 2)
    );
    assert_eq!(counters.edits.outcomes().map(|(_, n)| n).sum::<u64>(), 1);
}
