//! Batches: their times, their content, and what becomes of failed ones.

mod content_orders;
mod escrow;
mod model;
mod worn;

use super::*;
use crate::movers::PERIOD;
use crate::rows::push_state;
use crate::testing::{
    IDS, REGION, at, body, config, frame, kept, moving, rich_body, set, temporary, world_of, world_with,
};
use ids::LocalId;
use link::{ObjectMask, PrimFlags, PrimMotion, SnapshotChunk, StoredObjects, VersionedBody};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{ObjectRows, RegionRow, Store};

const FRESH: Uuid = Uuid::from_u128(99);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn empty() -> Keeper {
    of(&StoredRegion::default()).0
}

fn of(stored: &StoredRegion) -> (Keeper, LoadedRegion) {
    Keeper::load(&config(), stored, FRESH).expect("of this build")
}

/// A keeper after the frames 0, 1, … with these changes, each 50 ms after the one before.
fn following(frames: &[&[ObjectChange]]) -> Keeper {
    let mut keeper = empty();
    for (sequence, changes) in (0..).zip(frames) {
        assert_eq!(
            keeper.handle_frame(ms(50 * sequence), &frame(sequence, changes.to_vec())),
            Following::Current
        );
    }
    keeper
}

/// Local ids of bodies, states and removed objects, from the begin of the range.
fn content(batch: &Batch) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let place = |LocalId(id): LocalId| id - IDS.kept.start;
    let RegionChanges { bodies, states, gone, .. } = &batch.changes;
    let of = |rows: &ObjectRows| rows.iter().map(|(id, _)| place(id)).collect();
    (of(bodies), of(states), gone.iter().map(|id| place(*id)).collect())
}

fn poll(keeper: &mut Keeper, now: Instant) -> Batch {
    keeper.poll_batch(now).expect("due")
}

/// Polls a batch and reports it as saved.
fn save(keeper: &mut Keeper, now: Instant) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let batch = poll(keeper, now);
    keeper.handle_saved(now, batch.id, true);
    let content = content(&batch);
    // The next one has nothing of it.
    keeper.recycle(batch.changes);
    content
}

#[test]
fn a_batch_comes_a_quarter_of_a_second_after_the_first_change_with_all_of_them() {
    let mut keeper = following(&[&[], &[set(kept(1), at(1.0), body(1))], &[set(kept(2), at(2.0), body(2))]]);
    assert_eq!((keeper.poll_timeout(), keeper.unsaved_since()), (Some(ms(300)), Some(ms(50))));
    assert_eq!(keeper.poll_batch(ms(299)), None);
    let batch = poll(&mut keeper, ms(300));
    assert_eq!(content(&batch), (vec![1, 2], vec![1, 2], vec![]));
    let RegionRow { epoch, sequence, cache_id, .. } = batch.changes.row;
    assert_eq!((epoch, sequence, cache_id, batch.region), (Epoch(0), 2, FRESH, REGION));
    assert_eq!((batch.since, keeper.unsaved_since()), (Some(ms(50)), Some(ms(50))), "under way");
    keeper.handle_saved(ms(310), batch.id, true);
    assert_eq!((keeper.poll_timeout(), keeper.unsaved_since()), (None, None));
    assert_eq!(keeper.poll_batch(ms(9_000)), None);
}

#[test]
fn one_batch_is_under_way_and_the_next_has_the_newest_states() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    let first = poll(&mut keeper, ms(250));
    let changes = vec![ObjectChange::Moved(kept(1), at(2.0)), ObjectChange::Moved(kept(1), at(3.0))];
    keeper.handle_frame(ms(260), &frame(1, changes));
    assert_eq!((keeper.poll_timeout(), keeper.poll_batch(ms(9_000))), (None, None));
    keeper.handle_saved(ms(300), first.id, true);
    assert_eq!(keeper.poll_timeout(), Some(ms(510)));
    let second = poll(&mut keeper, ms(510));
    assert_eq!(content(&second), (vec![], vec![1], vec![]), "the body is as it was");
    let (_, state) = second.changes.states.iter().next().unwrap();
    let mut expected = Vec::new();
    push_state(&mut expected, &IDS.kept, &at(3.0), &body(1));
    assert_eq!(state, expected);
}

#[test]
fn documents_come_with_everything_that_has_changed_until_they_are_saved() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    let documents = |n, replaces| {
        let rows = vec![(Uuid::from_u128(n), vec![1])];
        DocumentChanges { rows, replaces }
    };
    keeper.handle_frame(ms(300), &frame(1, vec![set(kept(2), at(2.0), body(2))]));
    keeper.order_documents(documents(1, true));
    let batch = poll(&mut keeper, ms(310));
    assert_eq!(
        (content(&batch), &batch.changes.documents),
        ((vec![2], vec![2], vec![]), &documents(1, true))
    );
    // Others come meanwhile, and the outcome is unknown.
    keeper.order_documents(documents(2, false));
    keeper.handle_saved(ms(320), batch.id, false);
    let batch = poll(&mut keeper, ms(9_000));
    let mut both = documents(1, true);
    both.append(documents(2, false));
    assert_eq!((content(&batch), &batch.changes.documents), ((vec![2], vec![2], vec![]), &both));
    keeper.handle_saved(ms(9_010), batch.id, true);
    keeper.recycle(batch.changes);
    keeper.order_save();
    assert!(poll(&mut keeper, ms(9_020)).changes.documents.is_empty());
}

#[test]
fn only_rows_with_other_contents_are_written() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1)), set(kept(2), at(1.0), body(2))]]);
    assert_eq!(save(&mut keeper, ms(250)), (vec![1, 2], vec![1, 2], vec![]));
    let mut named = body(1);
    Arc::make_mut(&mut named.body).names.name = "Other".into();
    let mut clicked = VersionedBody { version: 2, ..body(2) };
    Arc::make_mut(&mut clicked.body).click_action = 3;
    keeper.handle_frame(
        ms(300),
        &frame(1, vec![set(kept(1), at(1.0), named.clone()), set(kept(2), at(1.0), clicked)]),
    );
    assert_eq!(save(&mut keeper, ms(550)), (vec![2], vec![1, 2], vec![]));
    // There and back.
    keeper.handle_frame(ms(600), &frame(2, vec![set(kept(1), at(5.0), named.clone())]));
    keeper.handle_frame(ms(650), &frame(3, vec![set(kept(1), at(1.0), named)]));
    assert_eq!((keeper.poll_batch(ms(900)), keeper.unsaved_since()), (None, None));
}

#[test]
fn an_object_that_comes_and_goes_between_two_batches_leaves_no_row() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))], &[ObjectChange::Removed(kept(1))]]);
    assert_eq!((keeper.poll_timeout(), keeper.n_unsaved()), (None, (0, 0)));
    keeper.handle_frame(ms(100), &frame(2, vec![set(kept(1), at(1.0), body(2))]));
    let batch = poll(&mut keeper, ms(350));
    // It goes while its rows are written, and another one gets its local id.
    keeper.handle_frame(ms(360), &frame(3, vec![ObjectChange::Removed(kept(1))]));
    keeper.handle_saved(ms(370), batch.id, true);
    assert_eq!(save(&mut keeper, ms(610)), (vec![], vec![], vec![1]));
    keeper.handle_frame(ms(650), &frame(4, vec![set(kept(1), at(1.0), body(2))]));
    assert_eq!(save(&mut keeper, ms(900)), (vec![1], vec![1], vec![]));
}

#[test]
fn temporary_and_worn_objects_are_never_written() {
    let flagged = PrimMotion { flags: PrimFlags::TEMPORARY, ..at(1.0) };
    let worn = PrimMotion { parent: LocalId(IDS.temporary.end + 5), ..at(1.0) };
    let upper = temporary(3);
    let mut keeper = following(&[&[
        set(upper, flagged, body(1)),
        set(kept(1), flagged, body(2)),
        set(kept(2), worn, body(3)),
        set(kept(3), at(1.0), body(4)),
    ]]);
    let batch = poll(&mut keeper, ms(250));
    assert_eq!(content(&batch), (vec![3], vec![3], vec![]));
    keeper.handle_saved(ms(250), batch.id, true);
    // An object that becomes temporary goes from the disk, and an object that is kept from now on comes.
    keeper.handle_frame(
        ms(300),
        &frame(1, vec![set(kept(3), flagged, body(4)), set(kept(1), at(1.0), body(2))]),
    );
    keeper.handle_frame(
        ms(350),
        &frame(2, vec![ObjectChange::Moved(upper, moving(1.0)), ObjectChange::Removed(upper)]),
    );
    assert_eq!(save(&mut keeper, ms(550)), (vec![1], vec![1], vec![3]));
}

#[test]
fn local_ids_in_use_by_objects_that_are_not_kept_rest_after_a_start() {
    let mut keeper = following(&[
        &[set(temporary(0), PrimMotion { flags: PrimFlags::TEMPORARY, ..at(1.0) }, body(1))],
        &[set(kept(0), at(1.0), body(2)), set(kept(4), at(1.0), body(3))],
        &[ObjectChange::Removed(kept(4))],
    ]);
    let batch = poll(&mut keeper, ms(300));
    let stored = stored_of(&batch);
    let (_, region) = of(&stored);
    let StoredObjects { kept, temporary, now_ns, .. } = region.objects.clone();
    assert_eq!((kept.n_used, kept.resting), (5, vec![(4, 100_000_000)]));
    assert_eq!((temporary.n_used, temporary.resting, now_ns), (1, vec![(0, 100_000_000)], 100_000_000));
    assert!(world_of(region.objects).is_some());
}

/// The region that a first batch leaves.
fn stored_of(batch: &Batch) -> StoredRegion {
    let store = Store::open_in_memory().expect("memory");
    store.save_region(batch.region, &batch.changes).expect("memory");
    store.region_objects(batch.region).expect("memory")
}

#[test]
fn objects_in_motion_are_written_every_five_seconds_and_at_rest_at_once() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1)), set(kept(2), at(2.0), body(2))]]);
    save(&mut keeper, ms(250));
    keeper.handle_frame(ms(1_000), &frame(1, vec![ObjectChange::Moved(kept(1), moving(2.0))]));
    keeper.handle_frame(ms(1_100), &frame(2, vec![ObjectChange::Moved(kept(2), moving(3.0))]));
    assert_eq!((keeper.unsaved_since(), keeper.n_unsaved()), (None, (0, 2)), "no edit");
    assert_eq!(keeper.poll_timeout(), Some(ms(1_000) + PERIOD));
    assert_eq!(keeper.poll_batch(ms(5_999)), None);
    // An edit in between has its own batch.
    keeper.handle_frame(ms(3_000), &frame(3, vec![set(kept(3), at(3.0), body(3))]));
    assert_eq!(save(&mut keeper, ms(3_250)), (vec![3], vec![3], vec![]));
    keeper.handle_frame(ms(4_000), &frame(4, vec![ObjectChange::Moved(kept(1), at(4.0))]));
    assert_eq!(save(&mut keeper, ms(4_250)), (vec![], vec![1], vec![]), "at rest");
    assert_eq!(keeper.moving_lag(ms(6_200)), Duration::from_millis(100));
    let batch = poll(&mut keeper, ms(6_200));
    assert_eq!((content(&batch), batch.since), ((vec![], vec![2], vec![]), None));
    keeper.handle_saved(ms(6_200), batch.id, true);
    assert_eq!((keeper.n_unsaved(), keeper.poll_timeout()), ((0, 0), None));
}

#[test]
fn an_edit_of_an_object_in_motion_is_written_with_its_place() {
    let mut keeper = following(&[&[set(kept(1), moving(1.0), body(1))]]);
    assert_eq!(save(&mut keeper, ms(250)), (vec![1], vec![1], vec![]), "a new object, whatever it does");
    keeper.handle_frame(ms(300), &frame(1, vec![ObjectChange::Moved(kept(1), moving(2.0))]));
    keeper.handle_frame(ms(350), &frame(2, vec![set(kept(1), moving(3.0), rich_body(1))]));
    keeper.handle_frame(ms(400), &frame(3, vec![ObjectChange::Moved(kept(1), moving(4.0))]));
    let batch = poll(&mut keeper, ms(600));
    let mut expected = Vec::new();
    push_state(&mut expected, &IDS.kept, &moving(4.0), &rich_body(1));
    assert_eq!(batch.changes.states.iter().collect::<Vec<_>>(), [(kept(1), &expected[..])]);
    assert_eq!(keeper.n_unsaved(), (0, 0));
}

#[test]
fn movements_keep_to_their_budget_and_edits_do_not_wait_for_them() {
    let ids: Vec<LocalId> = (0..1_000).map(kept).collect();
    let config = KeeperConfig { moving_bytes_per_s: 5_000, ..config() };
    let mut keeper = Keeper::load(&config, &StoredRegion::default(), FRESH).unwrap().0;
    let all = ids.iter().map(|id| set(*id, at(1.0), body(id.0.into()))).collect();
    keeper.handle_frame(ms(0), &frame(0, all));
    save(&mut keeper, ms(250));
    let moved = ids.iter().map(|id| ObjectChange::Moved(*id, moving(1.0))).collect();
    keeper.handle_frame(ms(1_000), &frame(1, moved));
    let (mut now, mut n_bytes) = (ms(6_000), 0);
    for n in 0..40 {
        let edit = set(kept(5_000 + n), at(1.0), body(u128::from(n) << 64));
        keeper.handle_frame(now, &frame(2 + u64::from(n), vec![edit]));
        now += Duration::from_millis(250);
        let batch = poll(&mut keeper, now);
        assert_eq!(content(&batch).0, [5_000 + n], "an edit is in the next batch");
        let of_movers = batch.changes.states.iter().filter(|(id, _)| *id < kept(5_000));
        n_bytes += of_movers.map(|(_, state)| state.len()).sum::<usize>();
        keeper.handle_saved(now, batch.id, true);
    }
    // Of ten seconds, and of the half that was unspent before.
    assert!((35_000..=52_500 + 200).contains(&n_bytes), "{n_bytes} bytes");
    assert!(keeper.n_unsaved().1 > 0);
    assert_eq!(keeper.moving_lag(now), now.since(ms(6_000)));
}

#[test]
fn a_failed_batch_is_part_of_the_next_one_beneath_newer_changes() {
    let mut keeper = following(&[&[
        set(kept(1), at(1.0), body(1)),
        set(kept(2), at(1.0), body(2)),
        set(kept(3), at(1.0), body(3)),
        set(kept(4), at(1.0), body(4)),
    ]]);
    save(&mut keeper, ms(250));
    let changes = vec![
        ObjectChange::Removed(kept(1)),
        ObjectChange::Moved(kept(2), at(2.0)),
        ObjectChange::Moved(kept(3), at(2.0)),
        ObjectChange::Moved(kept(4), at(2.0)),
    ];
    keeper.handle_frame(ms(300), &frame(1, changes));
    let failed = poll(&mut keeper, ms(550));
    let changes = vec![
        ObjectChange::Removed(kept(2)),
        set(kept(1), at(7.0), body(7)),
        ObjectChange::Moved(kept(3), at(3.0)),
        ObjectChange::Moved(kept(4), moving(4.0)),
    ];
    keeper.handle_frame(ms(560), &frame(2, changes));
    keeper.handle_saved(ms(600), failed.id, false);
    assert_eq!((keeper.failures(), keeper.unsaved_since()), (1, Some(ms(300))));
    assert_eq!(keeper.poll_timeout(), Some(ms(1_100)));
    let batch = poll(&mut keeper, ms(1_100));
    // The failed one may have been saved: both rows of each.
    assert_eq!(content(&batch), (vec![1, 3, 4], vec![1, 3, 4], vec![2]));
    assert_eq!(keeper.n_unsaved(), (0, 0), "the movement is part of the edit");
    keeper.handle_saved(ms(1_200), batch.id, true);
    assert_eq!((keeper.failures(), keeper.unsaved_since()), (0, None));
}

#[test]
fn an_edit_that_is_undone_after_a_failure_is_written_all_the_same() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    keeper.handle_frame(ms(300), &frame(1, vec![set(kept(1), at(1.0), rich_body(1))]));
    // It was saved in truth, and the answer was lost.
    let failed = poll(&mut keeper, ms(550));
    keeper.handle_saved(ms(600), failed.id, false);
    keeper.handle_frame(ms(650), &frame(2, vec![set(kept(1), at(1.0), body(1))]));
    assert_eq!(save(&mut keeper, ms(1_100)), (vec![1], vec![1], vec![]));
}

#[test]
fn pauses_after_failures_grow_up_to_half_a_minute() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    let mut now = ms(250);
    for pause_ms in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
        let batch = poll(&mut keeper, now);
        keeper.handle_saved(now, batch.id, false);
        assert_eq!(keeper.poll_timeout(), Some(now + Duration::from_millis(pause_ms)));
        assert_eq!(keeper.unsaved_since(), Some(ms(0)));
        keeper.order_save();
        assert_eq!(
            keeper.poll_timeout(),
            Some(now + Duration::from_millis(pause_ms)),
            "an order does not shorten it"
        );
        now = keeper.poll_timeout().unwrap();
    }
    save(&mut keeper, now);
    keeper.handle_frame(now, &frame(1, vec![ObjectChange::Moved(kept(1), at(2.0))]));
    assert_eq!(keeper.poll_timeout(), Some(now + Duration::from_millis(250)));
}

#[test]
fn unsaved_changes_are_bounded_by_the_number_of_objects() {
    let mut keeper = following(&[&[]]);
    for sequence in 1..400 {
        let id = kept(sequence as u32 % 10);
        let change = match sequence % 4 {
            0 => ObjectChange::Removed(id),
            1 => ObjectChange::Moved(id, moving(1.0)),
            _ => set(id, at(sequence as f32), body(sequence.into())),
        };
        keeper.handle_frame(ms(50 * sequence), &frame(sequence, vec![change]));
        let (n_edited, n_moving) = keeper.n_unsaved();
        assert!(n_edited + n_moving <= 10);
        if let Some(batch) = keeper.poll_batch(ms(50 * sequence)) {
            keeper.handle_saved(ms(50 * sequence), batch.id, false);
        }
    }
    assert!(keeper.objects.len() <= 10);
}

#[test]
fn an_ordered_save_comes_at_once_with_all_movements() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    keeper.handle_frame(ms(300), &frame(1, vec![ObjectChange::Moved(kept(1), moving(2.0))]));
    keeper.order_save();
    assert_eq!(save(&mut keeper, ms(300)), (vec![], vec![1], vec![]));
    keeper.order_save();
    let batch = poll(&mut keeper, ms(310));
    assert_eq!((content(&batch), batch.changes.row.sequence), ((vec![], vec![], vec![]), 1), "the row alone");
    keeper.handle_saved(ms(310), batch.id, true);
    keeper.replace_cache_id(Uuid::from_u128(5));
    for now in [ms(320), ms(820)] {
        let batch = poll(&mut keeper, now);
        assert_eq!(batch.changes.row.cache_id, Uuid::from_u128(5), "again after a failure");
        keeper.handle_saved(now, batch.id, false);
    }
}

#[test]
fn a_start_whose_world_has_the_loaded_objects_writes_nothing() {
    let all: Vec<ObjectChange> = (0..600_u32)
        .map(|n| {
            set(kept(n), at(n as f32), if n.is_multiple_of(2) { body(n.into()) } else { rich_body(n.into()) })
        })
        .collect();
    let store = Store::open_in_memory().expect("memory");
    let save_next = |keeper: &mut Keeper| {
        let batch = poll(keeper, ms(250));
        store.save_region(REGION, &batch.changes).expect("memory");
        batch
    };
    let begin = || {
        let (mut keeper, region) = of(&store.region_objects(REGION).expect("memory"));
        let mut world = world_with(region.objects, region.land).expect("a world accepts it");
        let mut first = Frame::empty();
        world.step(ids::Tick(0), Duration::from_millis(50), 1.0, &mut Vec::new(), &mut first);
        assert!(matches!(&first.objects[..], [ObjectChange::Pages(pages)] if pages.len() == 3));
        assert_eq!(keeper.handle_frame(ms(0), &first), Following::Current);
        keeper
    };
    save_next(&mut following(&[&all]));
    // A region that had no land: estate and parcel.
    let first = save_next(&mut begin());
    assert_eq!((content(&first), first.changes.land.rows.len()), ((vec![], vec![], vec![]), 2));
    let mut keeper = begin();
    assert_eq!((keeper.poll_timeout(), keeper.n_unsaved()), (None, (0, 0)));
    // Afterwards only the object that moves is written, and not its body.
    keeper.handle_frame(ms(50), &frame(1, vec![ObjectChange::Moved(kept(5), at(9.0))]));
    assert_eq!(save(&mut keeper, ms(300)), (vec![], vec![5], vec![]));
}

#[test]
fn content_of_a_region_with_another_name_is_not_taken() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    let stored = stored_of(&poll(&mut keeper, ms(250)));
    let load = |name: &str, former_name: Option<&str>| {
        let former_name = former_name.map(str::to_owned);
        Keeper::load(&KeeperConfig { name: name.into(), former_name, ..config() }, &stored, FRESH)
    };
    let why = load("Hills", None).expect_err("another region").to_string();
    assert_eq!(why, "number 1 has the content of region \"Harbour\"");
    assert!(load("Hills", Some("Lake")).is_err());
    assert!(load("harbour", None).is_ok(), "names are the same in capitals");
    // A region that was renamed is saved under its new name at once.
    let (mut keeper, _) = load("Hills", Some("Harbour")).expect("it was renamed");
    keeper.handle_frame(ms(0), &frame(0, vec![set(kept(1), at(1.0), body(1))]));
    assert_eq!(poll(&mut keeper, ms(0)).changes.row.name, "Hills");
}

#[test]
fn objects_that_a_world_begins_without_are_removed() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1)), set(kept(2), at(1.0), body(2))]]);
    let stored = stored_of(&poll(&mut keeper, ms(250)));
    let mut keeper = of(&stored).0;
    keeper.handle_frame(ms(0), &frame(0, vec![set(kept(2), at(5.0), body(2))]));
    assert_eq!(save(&mut keeper, ms(250)), (vec![], vec![2], vec![1]));
}

fn snapshot(sequence: u64, objects: Vec<(LocalId, PrimMotion, VersionedBody)>) -> Frame {
    let prims = objects.into_iter().map(|(id, motion, body)| crate::rows::PlacedPrim { id, motion, body });
    let objects = crate::load::pages_of(prims.collect());
    let part = SnapshotChunk { index: 0, count: 2, objects, ..SnapshotChunk::default() };
    Frame { snapshot: Some(part), ..frame(sequence, Vec::new()) }
}

#[test]
fn after_a_gap_a_snapshot_is_asked_for_and_compared() {
    let mut keeper = following(&[&[
        set(kept(1), at(1.0), body(1)),
        set(kept(2), at(1.0), body(2)),
        set(kept(3), at(1.0), body(3)),
    ]]);
    save(&mut keeper, ms(250));
    keeper.handle_frame(ms(300), &frame(1, vec![ObjectChange::Moved(kept(1), at(2.0))]));
    assert_eq!(
        keeper.handle_frame(ms(400), &frame(3, vec![ObjectChange::Removed(kept(3))])),
        Following::NeedsSnapshot
    );
    assert_eq!(keeper.handle_frame(ms(450), &frame(4, Vec::new())), Following::Waiting);
    // The state before the gap is that of a whole frame, and is saved.
    let batch = poll(&mut keeper, ms(550));
    assert_eq!((content(&batch), batch.changes.row.sequence), ((vec![], vec![1], vec![]), 1));
    keeper.handle_saved(ms(550), batch.id, true);
    assert_eq!(keeper.unsaved_since(), Some(ms(400)), "frames are missing");
    let whole =
        vec![(kept(1), at(2.0), body(1)), (kept(2), at(1.0), rich_body(2)), (kept(4), at(1.0), body(4))];
    assert_eq!(keeper.handle_frame(ms(600), &snapshot(5, whole)), Following::Current);
    let batch = poll(&mut keeper, ms(850));
    assert_eq!((content(&batch), batch.changes.row.sequence), ((vec![2, 4], vec![2, 4], vec![3]), 5));
    assert_eq!(keeper.handle_frame(ms(900), &frame(6, Vec::new())), Following::Current);
}

#[test]
fn a_later_epoch_begins_with_a_snapshot() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    let next = Frame { epoch: Epoch(1), ..frame(0, Vec::new()) };
    assert_eq!(keeper.handle_frame(ms(300), &next), Following::NeedsSnapshot);
    let whole = Frame { epoch: Epoch(1), ..snapshot(1, vec![(kept(1), at(0.5), body(1))]) };
    assert_eq!(keeper.handle_frame(ms(350), &whole), Following::Current);
    let batch = poll(&mut keeper, ms(600));
    assert_eq!((content(&batch), batch.changes.row.epoch), ((vec![], vec![1], vec![]), Epoch(1)));
}

#[test]
fn a_snapshot_that_does_not_come_is_asked_for_again() {
    let mut keeper = following(&[&[]]);
    let asked: Vec<u64> = (2..250)
        .filter(|sequence| {
            keeper.handle_frame(ms(*sequence), &frame(*sequence, Vec::new())) == Following::NeedsSnapshot
        })
        .collect();
    assert_eq!(asked, [2, 103, 204]);
}

#[test]
fn a_world_that_begins_without_its_objects_removes_none_whatever_is_built_in_it() {
    let begin = || {
        let mut keeper = following(&[&[set(kept(1), at(1.0), body(1)), set(kept(2), at(1.0), body(2))]]);
        let batch = poll(&mut keeper, ms(250));
        let stored = stored_of(&batch);
        keeper.handle_saved(ms(250), batch.id, true);
        (keeper, stored)
    };
    let of_life = |epoch, frame: Frame| Frame { epoch: Epoch(epoch), ..frame };
    let theirs = || (kept(1), at(1.0), body(8));
    // After a panic and after a start, without an object and with the first one that is built there.
    let empty = of_life(1, snapshot(0, Vec::new()));
    let built = of_life(1, snapshot(0, vec![theirs()]));
    for (mut keeper, first) in [
        (begin().0, empty),
        (begin().0, built),
        (of(&begin().1).0, frame(0, Vec::new())),
        (of(&begin().1).0, frame(0, vec![set(kept(1), at(1.0), body(8))])),
    ] {
        let epoch = first.epoch.0;
        assert_eq!(keeper.handle_frame(ms(300), &first), Following::Emptied);
        assert_eq!((keeper.unsaved_since(), keeper.n_unsaved()), (Some(ms(300)), (0, 0)));
        let next = of_life(epoch, frame(1, Vec::new()));
        assert_ne!(keeper.handle_frame(ms(350), &next), Following::Current);
        // An edit there, and a later life that has it and one object of the region.
        let edited = of_life(epoch, snapshot(2, vec![theirs()]));
        let later = of_life(epoch + 1, snapshot(0, vec![theirs(), (kept(2), at(1.0), body(2))]));
        for frame in [edited, later] {
            assert_eq!(keeper.handle_frame(ms(400), &frame), Following::Emptied);
            assert!(keeper.is_emptied() && keeper.is_behind());
            assert_eq!(keeper.unsaved_since(), Some(ms(300)), "it grows, and users hear of it");
            keeper.order_save();
            if let Some(batch) = keeper.poll_batch(ms(9_000)) {
                assert_eq!(content(&batch), (vec![], vec![], vec![]), "nothing is removed");
                keeper.handle_saved(ms(9_000), batch.id, true);
            }
        }
        // A life with all of them, one of which has moved.
        let all = vec![(kept(1), at(1.0), body(1)), (kept(2), at(5.0), body(2)), (kept(3), at(1.0), body(8))];
        assert_eq!(keeper.handle_frame(ms(9_000), &of_life(epoch + 2, snapshot(0, all))), Following::Current);
        assert!(!keeper.is_emptied() && !keeper.is_behind());
        assert_eq!(save(&mut keeper, ms(9_250)), (vec![3], vec![2, 3], vec![]));
    }
}

#[test]
fn a_region_without_objects_is_followed_through_a_panic_and_a_start() {
    // Its users have removed the last object, and the batch with that has been saved or not.
    for is_saved in [false, true] {
        let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
        save(&mut keeper, ms(250));
        keeper.handle_frame(ms(300), &frame(1, vec![ObjectChange::Removed(kept(1))]));
        if is_saved {
            assert_eq!(save(&mut keeper, ms(550)), (vec![], vec![], vec![1]));
        }
        let next = Frame { epoch: Epoch(1), ..snapshot(0, vec![(kept(1), at(1.0), body(8))]) };
        let next = if is_saved { next } else { Frame { epoch: Epoch(1), ..snapshot(0, Vec::new()) } };
        assert_eq!(keeper.handle_frame(ms(600), &next), Following::Current);
        let expected = if is_saved { (vec![1], vec![1], vec![]) } else { (vec![], vec![], vec![1]) };
        assert_eq!(save(&mut keeper, ms(850)), expected);
    }
    let stored = stored_of(&{
        let mut keeper = empty();
        keeper.handle_frame(ms(0), &frame(0, Vec::new()));
        keeper.order_save();
        poll(&mut keeper, ms(0))
    });
    let mut keeper = of(&stored).0;
    assert_eq!(keeper.handle_frame(ms(0), &frame(0, Vec::new())), Following::Current);
}

#[test]
fn after_the_disk_has_lost_rows_everything_is_written_again() {
    let store = Store::open_in_memory().expect("memory");
    let write = |batch: &Batch| store.save_region(REGION, &batch.changes).expect("memory");
    let objects =
        || [(kept(1), at(1.0), body(1)), (kept(2), at(1.0), rich_body(2)), (kept(3), at(1.0), body(3))];
    let mut world =
        world_with(StoredObjects::default(), of(&StoredRegion::default()).1.land).expect("a world");
    let mut first = Frame::empty();
    world.step(ids::Tick(0), Duration::from_millis(50), 1.0, &mut Vec::new(), &mut first);
    first.objects = objects().map(|(id, motion, body)| set(id, motion, body)).to_vec();
    let mut keeper = empty();
    assert_eq!(keeper.handle_frame(ms(0), &first), Following::Current);
    let batch = poll(&mut keeper, ms(250));
    write(&batch);
    keeper.handle_saved(ms(250), batch.id, true);
    let whole = store.region_objects(REGION).expect("memory");
    assert_eq!((whole.bodies.len(), whole.land.len()), (3, 2));
    // Without one object and a half, and without land.
    let mut lost = batch.changes.clone();
    lost.gone = vec![kept(1), kept(2)];
    (lost.bodies, lost.states) = (ObjectRows::default(), ObjectRows::default());
    lost.states.push(kept(2), whole.states.iter().nth(1).expect("the second").1);
    lost.land.gone = whole.land.iter().map(|(key, _)| key).collect();
    lost.land.rows = store::LandRows::default();
    store.save_region(REGION, &lost).expect("memory");

    keeper.forget_disk(ms(300));
    assert_eq!((keeper.is_behind(), keeper.unsaved_since()), (true, Some(ms(300))));
    let batch = poll(&mut keeper, ms(300));
    assert_eq!(content(&batch), (vec![], vec![], vec![]), "the row of the region");
    write(&batch);
    keeper.handle_saved(ms(300), batch.id, true);
    // An object that changes and one that goes before the snapshot.
    let changes = vec![ObjectChange::Moved(kept(3), at(2.0)), ObjectChange::Removed(kept(1))];
    assert_eq!(keeper.handle_frame(ms(350), &frame(1, changes)), Following::Waiting);
    assert_eq!(keeper.poll_batch(ms(900)), None);
    let [_, second, (third, _, third_body)] = objects();
    let mut part = snapshot(2, vec![second, (third, at(2.0), third_body)]);
    let of_world = of(&whole).1.land;
    part.snapshot.as_mut().expect("a part").land = Some(of_world.state);
    assert_eq!(keeper.handle_frame(ms(900), &part), Following::Current);
    let batch = poll(&mut keeper, ms(1_150));
    assert_eq!(content(&batch), (vec![2, 3], vec![2, 3], vec![1]));
    write(&batch);
    keeper.handle_saved(ms(1_150), batch.id, true);
    assert_eq!((keeper.is_behind(), keeper.unsaved_since()), (false, None));
    let again = store.region_objects(REGION).expect("memory");
    let ids = |rows: &ObjectRows| rows.iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!((ids(&again.bodies), ids(&again.states)), (vec![kept(2), kept(3)], vec![kept(2), kept(3)]));
    assert_eq!(again.land, whole.land);
}

#[test]
fn a_region_that_has_lost_its_last_object_in_a_gap_is_empty() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    assert_eq!(keeper.handle_frame(ms(300), &frame(2, Vec::new())), Following::NeedsSnapshot);
    assert_eq!(keeper.handle_frame(ms(350), &snapshot(3, Vec::new())), Following::Current);
    assert_eq!(save(&mut keeper, ms(600)), (vec![], vec![], vec![1]));
}

#[test]
fn pages_replace_the_objects_with_their_ids() {
    let mut keeper = following(&[&[
        set(kept(1), at(1.0), body(1)),
        set(kept(2), at(1.0), body(2)),
        set(kept(256), at(1.0), body(3)),
    ]]);
    save(&mut keeper, ms(250));
    let mut page = ObjectPage::empty(kept(0));
    for (n, motion) in [(2, at(1.0)), (9, at(2.0))] {
        Arc::make_mut(&mut page.motions)[n] = motion;
        Arc::make_mut(&mut page.bodies)[n] = Some(body(n as u128));
    }
    keeper.handle_frame(ms(300), &frame(1, vec![ObjectChange::Pages(vec![page])]));
    assert_eq!(save(&mut keeper, ms(550)), (vec![9], vec![9], vec![1]));
}

#[test]
fn a_damaged_object_is_replaced_by_the_next_one_with_its_local_id() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1)), set(kept(2), at(1.0), body(2))]]);
    let mut stored = stored_of(&poll(&mut keeper, ms(250)));
    stored.states = ObjectRows::default();
    stored.states.push(kept(2), b"damaged");
    let (mut keeper, region) = of(&stored);
    assert_eq!(region.damaged.iter().map(|object| object.id).collect::<Vec<_>>(), [kept(1), kept(2)]);
    keeper.handle_frame(ms(0), &frame(0, vec![set(kept(2), at(1.0), body(2))]));
    assert_eq!(save(&mut keeper, ms(250)), (vec![2], vec![2], vec![]));
}

#[test]
#[should_panic(expected = "an outcome is that of the batch under way")]
fn an_outcome_of_another_batch_is_noticed() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    let batch = poll(&mut keeper, ms(250));
    keeper.handle_saved(ms(250), batch.id + 1, true);
}

#[test]
fn masks_do_not_decide_on_rows() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    let (id, motion, body) = (kept(1), at(1.0), rich_body(1));
    keeper.handle_frame(
        ms(300),
        &frame(1, vec![ObjectChange::Set { id, motion, body, mask: ObjectMask::TEXT }]),
    );
    assert_eq!(save(&mut keeper, ms(550)), (vec![1], vec![1], vec![]));
}

#[test]
fn the_pace_of_saves_changes_at_once() {
    let mut keeper = following(&[&[]]);
    keeper.handle_frame(ms(50), &frame(1, vec![set(kept(0), at(1.0), body(0))]));
    assert_eq!(keeper.poll_timeout(), Some(ms(300)));
    keeper.set_pace(Duration::from_millis(20), 1 << 20);
    assert_eq!(keeper.poll_timeout(), Some(ms(70)));
    assert_eq!(keeper.poll_batch(ms(70)).map(|batch| content(&batch).0), Some(vec![0]));
}
