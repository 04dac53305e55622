//! A replica follows the land of its world, over snapshots as over changes.

use super::LandReplica;
use crate::encoder::{EncodedFrame, Encoder, Intake};
use crate::replica::Replica;
use crate::scenery::SceneryReplica;
use glam::Vec2;
use ids::{AgentId, Epoch, Uuid, WorldId};
use link::{
    Estate, Frame, GroundPatch, LandChange, LandState, PATCH_SAMPLES, Parcel, ParcelFlags, ParcelNumber,
    SnapshotChunk, SquareSet,
};
use std::sync::Arc;
use std::time::Duration;

const ONE: ParcelNumber = ParcelNumber(1);
const TWO: ParcelNumber = ParcelNumber(2);

struct Follower {
    encoder: Encoder,
    replica: Replica,
    sequence: u64,
}

impl Follower {
    /// Of a world that has told of its land.
    fn new() -> Self {
        let mut follower = Self::without_land();
        follower.follow(&Frame { land: vec![LandChange::Whole(state())], ..Frame::empty() });
        follower
    }

    fn without_land() -> Self {
        Self {
            encoder: Encoder::new(Duration::from_millis(50)),
            replica: Replica::new(WorldId(0), 256.0, SceneryReplica::default()),
            sequence: 0,
        }
    }

    fn follow(&mut self, frame: &Frame) {
        let mut encoded = EncodedFrame::default();
        let frame = Frame { sequence: self.sequence, ..frame.clone() };
        self.sequence += 1;
        assert_eq!(self.encoder.encode(&frame, &mut encoded), Intake::Ready);
        self.replica.apply(&encoded);
    }

    fn change(&mut self, change: LandChange) {
        self.follow(&Frame { land: vec![change], epoch: self.replica.epoch, ..Frame::empty() });
    }

    fn dig(&mut self, patch: GroundPatch) {
        self.follow(&Frame { ground: vec![patch], epoch: self.replica.epoch, ..Frame::empty() });
    }

    /// The world begins another epoch, and sends this as its whole land.
    fn restart(&mut self, ground: Vec<GroundPatch>, land: LandState) {
        let land = Some(land);
        let snapshot = Some(SnapshotChunk { index: 0, count: 1, ground, land, ..SnapshotChunk::default() });
        self.sequence = 0;
        let epoch = Epoch(self.replica.epoch.0 + 1);
        self.follow(&Frame { epoch, snapshot, ..Frame::empty() });
    }

    fn land(&self) -> &LandReplica {
        self.replica.land().expect("the world has land")
    }
}

fn state() -> LandState {
    LandState::of_one_parcel(256, Uuid::from_u128(8), Estate::new("Hills", None, 20.0), 7)
}

fn patch(column: u8, row: u8, height_m: f32) -> GroundPatch {
    GroundPatch::new(column, row, [height_m; PATCH_SAMPLES]).expect("heights of a ground")
}

#[test]
fn a_world_without_land_has_none_in_its_replica() {
    let mut follower = Follower::without_land();
    follower.follow(&Frame::empty());
    assert!(follower.replica.land().is_none());
}

#[test]
fn the_whole_land_is_known_and_its_overlay_new() {
    let follower = Follower::new();
    let land = follower.land();
    let parcel = &land.parcel_at(Vec2::new(255.9, 0.0)).expect("inside").parcel;
    assert_eq!((parcel.number, parcel.n_squares), (ONE, 4_096));
    assert!(land.parcel_at(Vec2::new(256.0, 0.0)).is_none() && land.parcel_at(Vec2::NAN).is_none());
    assert_eq!(land.overlay().since(0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(land.estate().map(|(estate, _)| estate.name.to_string()), Some("Hills".to_owned()));
    assert_eq!((land.n_patches(), land.n_overlay_parts()), (256, 4));
}

#[test]
fn an_edited_patch_is_new_once_for_each_reader() {
    let mut follower = Follower::new();
    follower.dig(patch(3, 2, 25.0));
    let cursor = follower.land().ground().n_changes();
    follower.dig(patch(0, 1, 26.0));
    let land = follower.land();
    assert_eq!(land.ground().since(0).collect::<Vec<_>>(), [2 * 16 + 3, 16]);
    assert_eq!(land.ground().since(cursor).collect::<Vec<_>>(), [16]);
    assert_eq!(land.patch(16).map(|known| known.patch.heights()[0]), Some(26.0));
    assert!(land.patch(17).is_none());
    let height = |x, y| land.edited_height(Vec2::new(x, y));
    assert_eq!([height(15.9, 31.0), height(16.0, 31.0), height(f32::NAN, 0.0)], [Some(26.0), None, None]);
}

#[test]
fn a_snapshot_takes_edits_back_that_it_does_not_have() {
    let mut follower = Follower::new();
    follower.dig(patch(3, 0, 25.0));
    follower.dig(patch(4, 0, 25.0));
    let cursor = follower.land().ground().n_changes();
    follower.restart(vec![patch(4, 0, 25.0), patch(5, 0, 30.0)], state());
    let land = follower.land();
    assert_eq!(land.ground().since(cursor).collect::<Vec<_>>(), [3, 5], "patch 4 has the same heights");
    assert!(land.patch(3).is_none() && land.patch(4).is_some());
}

#[test]
fn changes_during_a_snapshot_are_not_lost() {
    let mut follower = Follower::new();
    let sequence = follower.sequence + 1;
    let mut encoded = EncodedFrame::default();
    let chunk =
        |index, ground, land| SnapshotChunk { index, count: 2, ground, land, ..SnapshotChunk::default() };
    let frames = [
        (chunk(0, vec![patch(1, 0, 22.0)], Some(state())), Vec::new()),
        (chunk(1, Vec::new(), None), vec![patch(1, 0, 23.0), patch(2, 0, 24.0)]),
    ];
    for (n, (snapshot, ground)) in (0..).zip(frames) {
        let frame = Frame { sequence: sequence + n, snapshot: Some(snapshot), ground, ..Frame::empty() };
        let intake = follower.encoder.encode(&frame, &mut encoded);
        assert_eq!(intake, if n == 0 { Intake::Waiting } else { Intake::Ready });
    }
    follower.replica.apply(&encoded);
    let height = |number| follower.land().patch(number).map(|known| known.patch.heights()[0]);
    assert_eq!((height(1), height(2)), (Some(23.0), Some(24.0)));
}

#[test]
fn divided_squares_and_their_neighbours_are_new_in_the_overlay() {
    let mut follower = Follower::new();
    let cursor = follower.land().overlay().n_changes();
    let part = Parcel { n_squares: 1, ..Parcel::new(TWO, Uuid::from_u128(9), None, 7) };
    follower.change(LandChange::Parcel(Arc::new(part)));
    assert_eq!(follower.land().overlay().since(cursor).count(), 0, "it has no squares yet");
    // The last row of the first part: the square in the north is in the second.
    let squares = SquareSet::of([(5, 15)].into_iter()).expect("a square");
    follower.change(LandChange::Squares(TWO, squares));
    let land = follower.land();
    assert_eq!(land.overlay().since(cursor).collect::<Vec<_>>(), [0, 1]);
    let number_at = |x, y| land.parcel_at(Vec2::new(x, y)).map(|known| known.parcel.number);
    assert_eq!(
        [number_at(20.0, 60.0), number_at(19.9, 60.0), number_at(20.0, 64.0)],
        [Some(TWO), Some(ONE), Some(ONE)]
    );
    follower.change(LandChange::Removed(TWO));
    assert!(follower.land().parcel(TWO).is_none());
}

#[test]
fn settings_that_the_overlay_does_not_show_leave_it_as_it_is() {
    let mut follower = Follower::new();
    let cursor = follower.land().overlay().n_changes();
    let former = follower.land().parcel(ONE).expect("the only one").clone();
    let mut renamed = Parcel::clone(&former.parcel);
    renamed.settings.name = "Meadow".into();
    follower.change(LandChange::Parcel(Arc::new(renamed.clone())));
    assert_eq!(follower.land().overlay().since(cursor).count(), 0);
    assert!(follower.land().parcel(ONE).expect("known").changed > former.changed);
    renamed.settings.flags = renamed.settings.flags.union(ParcelFlags::FOR_SALE);
    follower.change(LandChange::Parcel(Arc::new(renamed.clone())));
    assert_eq!(follower.land().overlay().since(cursor).count(), 4);
    renamed.owner = Some(AgentId(Uuid::from_u128(3)));
    let cursor = follower.land().overlay().n_changes();
    follower.change(LandChange::Parcel(Arc::new(renamed)));
    assert_eq!(follower.land().overlay().since(cursor).count(), 4);
}
