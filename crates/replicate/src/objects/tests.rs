//! A client beside a world that changes, and blocks against the plain message.

use super::*;
use glam::{Quat, Vec3};
use ids::{AgentId, Instant, LocalId, RegionHandle, Uuid};
use link::{Motion, ObjectChange, ObjectMask, ObjectPage, PrimMotion, VersionedBody};
use prim::{Body, Carried, ContentItem, Contents, LoopedSound, Mask, Ownership, Permissions, Sale, Shape};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::messages::ObjectUpdate;
use wire::object_compressed;
use wire::object_update::{self, PREFIX_LEN};
use wire::zero_code;

/// A client that displays no avatar: its place, and how far it draws.
pub(super) struct Eye(pub(super) Vec3, pub(super) f32);

impl Onlooker for Eye {
    fn eye(&self) -> Vec3 {
        self.0
    }

    fn draw_m(&self) -> f32 {
        self.1
    }

    fn distance_to_wearer(&self, _: LocalId, _: bool) -> Option<f32> {
        None
    }

    fn wearers(&self) -> impl Iterator<Item = LocalId> {
        std::iter::empty()
    }
}

const OWNER: AgentId = AgentId(Uuid::from_u128(1));
const SIZE_M: f32 = 256.0;
const FIRST: FrameTime = FrameTime { at: Instant::ZERO, tick: 1, tick_s: 0.05, has_dead_reckoning: true };

fn body(n: u32, size: f32) -> Body {
    let id = Uuid::from_u128(u128::from(n) + 1);
    Body { scale: Vec3::splat(size), ..Body::new(id, Shape::BOX, Arc::new([7; 40]), OWNER, 0) }
}

fn prim_at(position: Vec3) -> PrimMotion {
    PrimMotion { motion: Motion { position, ..Motion::default() }, ..PrimMotion::NONE }
}

fn set(n: u32, motion: PrimMotion, body: Body, version: u32) -> ObjectChange {
    let body = VersionedBody { version, body: Arc::new(body) };
    ObjectChange::Set { id: id(n), motion, body, mask: ObjectMask::CREATED }
}

fn id(n: u32) -> LocalId {
    LocalId((1 << 20) + n)
}

/// The message that a client decodes.
fn decoded(blocks: &[u8], count: u8) -> ObjectUpdate {
    let (mut coded, mut prefix) = (Vec::new(), Vec::new());
    object_update::write_prefix(&mut prefix, RegionHandle::from_grid(1, 1), 1.0, count);
    zero_code::compress(&prefix, &mut coded);
    coded.extend_from_slice(blocks);
    let mut plain = Vec::new();
    zero_code::expand(&coded, &mut plain).expect("zero-coded");
    assert!(plain.len() > PREFIX_LEN);
    ObjectUpdate::decode(&plain[1..]).expect("a whole message")
}

#[test]
fn pieces_of_blocks_are_one_zero_coded_message() {
    let mut body = body(5, 2.0);
    body.hover_text.text = "Ähm".into();
    body.media_url = "http://here".into();
    body.worn_item = Some(Uuid::from_u128(0xA7));
    let mut motion = prim_at(Vec3::new(1.0, 2.0, 3.0));
    motion.motion.rotation = Quat::from_rotation_z(1.0);
    motion.parent = LocalId(77);
    let versioned = VersionedBody { version: 3, body: Arc::new(body) };
    let block = ObjectBlock::new(id(5), &motion, versioned.crc(), &versioned.body);
    let flags = [0, 1, 0x00FF_0000, u32::MAX, 0x0100_0001];
    let mut blocks = Vec::new();
    for flags in flags {
        let before = blocks.len();
        block.write(&motion.motion, flags, &mut blocks);
        assert!(blocks.len() - before <= block.len_max(), "{flags:#x}");
    }
    let message = decoded(&blocks, flags.len() as u8);
    assert_eq!(message.object_data.iter().map(|block| block.update_flags).collect::<Vec<_>>(), flags);
    for object in &message.object_data {
        assert_eq!((object.id, object.full_id, object.crc), (id(5).0, versioned.body.id, versioned.crc()));
        assert_eq!((object.parent_id, object.scale), (77, Vec3::splat(2.0)));
        assert_eq!(
            (object.text.as_slice(), object.media_url.as_slice()),
            ("Ähm\0".as_bytes(), &b"http://here\0"[..])
        );
        assert_eq!(object.texture_entry, [7; 40]);
        assert_eq!(object.extra_params, [0]);
        let item = b"AttachItemID STRING RW SV 00000000-0000-0000-0000-0000000000a7\0";
        assert_eq!(object.name_value, item);
    }
}

fn expanded_len(coded: &[u8]) -> usize {
    let mut plain = Vec::new();
    zero_code::expand(coded, &mut plain).expect("zero-coded");
    plain.len()
}

#[test]
fn a_prim_of_a_loaded_page_has_the_block_of_one_that_was_made() {
    let made = encoded(&[set(5, prim_at(Vec3::X), body(5, 1.0), 1)]);
    let mut page = ObjectPage::empty(id(5));
    Arc::make_mut(&mut page.motions)[5] = prim_at(Vec3::X);
    let versioned = VersionedBody { version: 1, body: Arc::new(body(5, 1.0)) };
    Arc::make_mut(&mut page.bodies)[5] = Some(versioned);
    let mut out = Vec::new();
    ObjectEncoder::default().encode(FIRST, &[ObjectChange::Pages(vec![page])], &mut out);
    let [EncodedObject::Pages(pages)] = &out[..] else { panic!("{out:?}") };
    let loaded = pages[0].entries[5].as_ref().expect("in the page");
    let block = |entry: &ObjectEntry| {
        let mut out = Vec::new();
        let len = entry.write_plain(id(5), &entry.prim.motion, 7, &mut out);
        (len, out)
    };
    assert!(loaded.shows_the_same_as(&made[0].1));
    assert_eq!(block(loaded), block(&made[0].1));
    // A client more finds it made.
    assert_eq!(block(loaded), block(&loaded.clone()));
}

/// The entries that a frame with these changes makes.
fn encoded(changes: &[ObjectChange]) -> Vec<(LocalId, ObjectEntry)> {
    let mut out = Vec::new();
    ObjectEncoder::default().encode(FIRST, changes, &mut out);
    let entries = out.into_iter().filter_map(|change| match change {
        EncodedObject::Set(id, entry) => Some((id, entry)),
        _ => None,
    });
    entries.collect()
}

#[test]
fn both_forms_have_particles_animation_sound_and_media() {
    for particles in [vec![5; 86], vec![6; 94], vec![7; 300]] {
        let moving = Body {
            texture_animation: Arc::new([3; 16]),
            particles: particles.clone().into(),
            media_url: "x-mv:0000000001/00000000-0000-0000-0000-000000000001".into(),
            sound: Some(LoopedSound { id: Uuid::from_u128(9), gain: 0.5, flags: 1, radius_m: 20.0 }),
            ..body(5, 1.0)
        };
        let media_url = [moving.media_url.as_bytes(), &[0]].concat();
        let entries = encoded(&[set(5, prim_at(Vec3::X), moving, 1)]);
        let [(id, entry)] = &entries[..] else { panic!("{entries:?}") };
        let mut plain = Vec::new();
        assert_eq!(entry.write_plain(*id, &entry.prim.motion, 7, &mut plain), expanded_len(&plain));
        let plain = decoded(&plain, 1).object_data.remove(0);
        let (mut coded, mut block) = (Vec::new(), Vec::new());
        let len = entry.write_compressed(*id, 7, true, &mut coded);
        zero_code::expand(&coded, &mut block).expect("zero-coded");
        assert_eq!(len, block.len());
        let (compressed, _) = object_compressed::decode(&block[6..]).expect("a whole block");
        for object in [&plain, &compressed] {
            assert_eq!(object.texture_anim, [3; 16]);
            assert_eq!(object.media_url, media_url);
            let sound = (object.sound, object.gain, object.flags, object.radius, object.owner_id);
            assert_eq!(sound, (Uuid::from_u128(9), 0.5, 1, 20.0, OWNER.0));
        }
        assert_eq!(compressed.ps_block, particles);
        let fits = particles.len() <= 255;
        assert_eq!(plain.ps_block, if fits { particles } else { Vec::new() });
        assert_eq!(entry.long_fields_len() > 0, !fits, "an object that does not fit is sent compressed");
    }
}

#[test]
fn particles_have_an_owner_and_other_prims_have_none() {
    let owner_of = |body: Body| {
        let entries = encoded(&[set(5, prim_at(Vec3::X), body, 1)]);
        let mut plain = Vec::new();
        let (id, entry) = &entries[0];
        let _ = entry.write_plain(*id, &entry.prim.motion, 0, &mut plain);
        decoded(&plain, 1).object_data[0].owner_id
    };
    assert_eq!(owner_of(body(5, 1.0)), Uuid::nil());
    assert_eq!(owner_of(Body { particles: Arc::new([5; 86]), ..body(5, 1.0) }), OWNER.0);
}

#[test]
fn each_prim_has_the_number_of_its_linkset() {
    let part = |number| PrimMotion { parent: id(0), link_number: number, ..prim_at(Vec3::X) };
    let entries = encoded(&[
        set(0, prim_at(Vec3::X), body(0, 1.0), 1),
        set(1, part(1), body(1, 1.0), 1),
        set(2, part(2), body(2, 1.0), 1),
        set(3, prim_at(Vec3::X), body(3, 1.0), 1),
    ]);
    let numbers: BTreeMap<LocalId, u16> = entries.iter().map(|(id, entry)| (*id, entry.n_prims)).collect();
    assert_eq!(numbers, BTreeMap::from([(id(0), 3), (id(1), 3), (id(2), 3), (id(3), 1)]));
}

#[test]
fn clients_are_sent_the_prims_of_a_changed_linkset_that_look_otherwise() {
    let part = |number, x| PrimMotion { parent: id(0), link_number: number, ..prim_at(Vec3::X * x) };
    let (mut encoder, mut objects) = (ObjectEncoder::default(), ObjectReplica::new(SIZE_M));
    let mut changed_by = |changes: &[ObjectChange]| {
        let (n_before, mut out) = (objects.n_changes(), Vec::new());
        encoder.encode(FIRST, changes, &mut out);
        out.iter().for_each(|change| objects.apply(1, change));
        objects.changed_since(n_before).expect("few").collect::<BTreeSet<_>>()
    };
    let all_ids = || BTreeSet::from([0, 1, 2].map(id));
    let all = [
        set(0, prim_at(Vec3::X), body(0, 1.0), 1),
        set(1, part(1, 3.0), body(1, 1.0), 1),
        set(2, part(2, 9.0), body(2, 1.0), 1),
    ];
    assert_eq!(changed_by(&all), all_ids());
    assert_eq!(changed_by(&[set(1, part(1, 4.0), body(1, 1.0), 2)]), [id(1)].into());
    assert_eq!(changed_by(&[set(1, part(1, 20.0), body(1, 1.0), 3)]), all_ids(), "it has become larger");
    assert_eq!(changed_by(&[set(0, prim_at(Vec3::Y), body(0, 1.0), 2)]), all_ids());
}

/// Contents with one item, to which its owner has these rights.
fn contents(serial: u32, rights: Mask) -> Option<Arc<Contents>> {
    let ownership = *body(0, 1.0).ownership;
    let permissions = Permissions { base: rights, ..Permissions::NEW };
    let item = ContentItem {
        id: Uuid::from_u128(7),
        asset: Uuid::from_u128(8),
        asset_type: 7,
        inventory_type: 7,
        name: "note".into(),
        description: "".into(),
        flags: 0,
        ownership: Ownership { permissions, ..ownership },
        sale: Sale::default(),
        created_s: 0,
        carried: Carried::default(),
    };
    Some(Arc::new(Contents { serial, items: vec![Arc::new(item)] }))
}

#[test]
fn clients_are_not_sent_a_prim_of_which_only_the_contents_have_changed() {
    let (mut encoder, mut objects) = (ObjectEncoder::default(), ObjectReplica::new(SIZE_M));
    let mut changed_by = |contents: Option<Arc<Contents>>| {
        let (n_before, mut out) = (objects.n_changes(), Vec::new());
        let body = Body { contents: contents.clone(), ..body(0, 1.0) };
        encoder.encode(FIRST, &[set(0, prim_at(Vec3::X), body, 1)], &mut out);
        out.iter().for_each(|change| objects.apply(1, change));
        assert_eq!(objects.get(id(0)).expect("it is there").body.contents, contents, "readers have them");
        objects.n_changes() - n_before
    };
    assert_eq!(changed_by(contents(1, Mask::ALL)), 1, "it is new");
    assert_eq!(changed_by(contents(2, Mask::ALL)), 0);
    // An item that must not be copied takes a right from the prim, which clients are shown.
    assert_eq!(changed_by(contents(3, Mask::TRANSFER)), 1);
    assert_eq!(changed_by(contents(4, Mask::TRANSFER)), 0);
}

#[test]
fn rights_follow_the_contents_of_each_prim_of_a_linkset() {
    use prim::receiver_flags::COPY;
    let mut encoder = ObjectEncoder::default();
    let part = PrimMotion { parent: id(0), link_number: 1, ..prim_at(Vec3::X) };
    let of_part = |contents| Body { contents, ..body(1, 1.0) };
    let may_copy = |encoder: &mut ObjectEncoder, changes: &[ObjectChange]| {
        let mut out = Vec::new();
        encoder.encode(FIRST, changes, &mut out);
        let root = out.iter().find_map(|change| match change {
            EncodedObject::Set(of, entry) if *of == id(0) => Some(entry.flags),
            EncodedObject::Pages(pages) => pages[0].entries[0].as_ref().map(|entry| entry.flags),
            _ => None,
        });
        root.expect("the root is encoded").owner & COPY != 0
    };
    let root = || set(0, prim_at(Vec3::splat(9.0)), body(0, 1.0), 1);
    let unique = contents(1, Mask::TRANSFER);
    assert!(!may_copy(&mut encoder, &[root(), set(1, part, of_part(unique.clone()), 1)]));
    // A change of another prim; others, none, and the same as before again.
    assert!(!may_copy(&mut encoder, &[root()]));
    assert!(may_copy(&mut encoder, &[set(1, part, of_part(contents(2, Mask::ALL)), 2)]));
    assert!(!may_copy(&mut encoder, &[set(1, part, of_part(unique.clone()), 3)]));
    assert!(may_copy(&mut encoder, &[set(1, part, of_part(None), 4)]));
    assert!(!may_copy(&mut encoder, &[set(1, part, of_part(unique), 5)]));
    // It is gone, with a page and by itself.
    let page = |bodies: &[Body]| {
        let mut page = ObjectPage::empty(id(0));
        for (at, body) in bodies.iter().enumerate() {
            let versioned = VersionedBody { version: 6, body: Arc::new(body.clone()) };
            Arc::make_mut(&mut page.bodies)[at] = Some(versioned);
            Arc::make_mut(&mut page.motions)[at] = if at == 0 { prim_at(Vec3::X) } else { part };
        }
        ObjectChange::Pages(vec![page])
    };
    assert!(may_copy(&mut encoder, &[page(&[body(0, 1.0)])]));
    assert!(!may_copy(&mut encoder, &[page(&[body(0, 1.0), of_part(contents(7, Mask::TRANSFER))])]));
    assert!(may_copy(&mut encoder, &[ObjectChange::Removed(id(1)), root()]));
    assert!(may_copy(&mut encoder, &[root(), set(1, part, of_part(None), 8)]), "it had another prim's id");
}

#[test]
fn rights_of_a_linkset_are_those_that_its_parts_share() {
    use prim::receiver_flags::{COPY, YOU_OWNER};
    let mut encoder = ObjectEncoder::default();
    let mut out = Vec::new();
    let part = PrimMotion { parent: id(0), link_number: 1, ..prim_at(Vec3::X) };
    encoder.encode(
        FIRST,
        &[set(0, prim_at(Vec3::splat(9.0)), body(0, 1.0), 1), set(1, part, body(1, 1.0), 1)],
        &mut out,
    );
    let flags = |out: &[EncodedObject]| {
        let entries = out.iter().filter_map(|change| match change {
            EncodedObject::Set(id, entry) => Some((id.0 & 0xFF, entry.flags)),
            _ => None,
        });
        entries.collect::<Vec<_>>()
    };
    assert!(
        flags(&out).iter().all(|(_, flags)| flags.owner & (COPY | YOU_OWNER) == COPY | YOU_OWNER),
        "{out:?}"
    );
    assert!(flags(&out).iter().all(|(_, flags)| flags.everyone & (COPY | YOU_OWNER) == 0));
    // A change of one part changes the flags of all.
    let mut bare = body(1, 1.0);
    let ownership = Arc::make_mut(&mut bare.ownership);
    ownership.permissions.owner = Mask::of_bits(ownership.permissions.owner.bits() & !Mask::COPY.bits());
    out.clear();
    encoder.encode(FIRST, &[set(1, part, bare, 2)], &mut out);
    assert_eq!(
        flags(&out).iter().map(|(id, flags)| (*id, flags.owner & COPY)).collect::<Vec<_>>(),
        [(0, 0), (1, 0)]
    );
}

#[test]
fn large_objects_are_sent_from_afar_and_the_largest_first() {
    let mut encoder = ObjectEncoder::default();
    let mut objects = ObjectReplica::new(SIZE_M);
    let changes = [
        set(0, prim_at(Vec3::new(30.0, 0.0, 0.0)), body(0, 0.1), 1),
        set(1, prim_at(Vec3::new(200.0, 0.0, 0.0)), body(1, 10.0), 1),
        set(2, prim_at(Vec3::new(200.0, 0.0, 0.0)), body(2, 0.1), 1),
        set(3, prim_at(Vec3::new(5.0, 0.0, 0.0)), body(3, 0.1), 1),
    ];
    let mut encoded = Vec::new();
    encoder.encode(FIRST, &changes, &mut encoded);
    encoded.iter().for_each(|change| objects.apply(FIRST.tick, change));
    let mut sent = SentSet::default();
    let mut due = Vec::new();
    sent.choose(&objects, &Eye(Vec3::ZERO, 256.0), 10, &mut due);
    assert_eq!(due.iter().map(|due| due.id).collect::<Vec<_>>(), [id(1), id(3), id(0)]);
    let mut sent = SentSet::default();
    sent.choose(&objects, &Eye(Vec3::ZERO, 64.0), 10, &mut due);
    assert_eq!(
        due.iter().map(|due| due.id).collect::<Vec<_>>(),
        [id(3), id(0)],
        "beyond what the client draws"
    );
    let mut sent = SentSet::default();
    sent.pin(id(2));
    sent.choose(&objects, &Eye(Vec3::ZERO, 256.0), 10, &mut due);
    assert!(due.iter().any(|due| due.id == id(2)), "an avatar that the client displays sits on it");
    assert_eq!((reach_m(0.01), reach_m(1.0), reach_m(60.0)), (32.0, 170.0, 512.0));
}

#[derive(Clone, Debug)]
enum Deed {
    Set(u32, (f32, f32), f32),
    Part(u32, u32),
    /// To another place; true if it goes on from there.
    Move(u32, (f32, f32), bool),
    Remove(u32),
    Page(u32),
    Walk((f32, f32)),
    Send(usize),
    Lose(u32),
    Ack,
}

fn deed() -> impl Strategy<Value = Deed> {
    let place = || (0.0f32..256.0, 0.0f32..256.0);
    prop_oneof![
        5 => (0..600_u32, place(), 0.01f32..20.0).prop_map(|(n, at, size)| Deed::Set(n, at, size)),
        1 => (0..600_u32, 0..600_u32).prop_map(|(n, root)| Deed::Part(n, root)),
        2 => (0..600_u32, place(), any::<bool>()).prop_map(|(n, at, goes_on)| Deed::Move(n, at, goes_on)),
        2 => (0..600_u32).prop_map(Deed::Remove),
        1 => (0..600_u32).prop_map(Deed::Page),
        1 => place().prop_map(Deed::Walk),
        3 => (0..20_usize).prop_map(Deed::Send),
        1 => (0..600_u32).prop_map(Deed::Lose),
        1 => Just(Deed::Ack),
    ]
}

/// A world as a plain map, and what a client makes of the messages.
struct Scene {
    world: BTreeMap<LocalId, (PrimMotion, VersionedBody)>,
    encoder: ObjectEncoder,
    objects: ObjectReplica,
    sent: SentSet,
    /// The client's objects, by checksum.
    client: BTreeMap<LocalId, u32>,
    /// Sent, and neither acked nor lost.
    in_flight: BTreeSet<LocalId>,
    eye: Vec3,
}

impl Scene {
    fn publish(&mut self, change: ObjectChange) {
        let mut encoded = Vec::new();
        self.encoder.encode(FIRST, &[change], &mut encoded);
        encoded.iter().for_each(|change| self.objects.apply(FIRST.tick, change));
    }

    fn ack(&mut self) {
        for id in std::mem::take(&mut self.in_flight) {
            self.settle(id, false);
        }
    }

    /// A prim that is gone by then is killed again: its update may have come after the kill.
    fn settle(&mut self, id: LocalId, is_lost: bool) {
        self.sent.settle(id, is_lost);
        if !self.sent.knows(id) {
            self.client.remove(&id);
        }
    }

    fn send(&mut self, most: usize) -> usize {
        let (mut kills, mut due) = (Vec::new(), Vec::new());
        self.sent.follow(&self.objects, &mut kills);
        for id in kills {
            assert!(!self.world.contains_key(&id), "{id:?} is there");
            self.client.remove(&id);
        }
        self.sent.choose(&self.objects, &Eye(self.eye, 256.0), most, &mut due);
        assert!(due.len() <= most);
        assert!(due.is_sorted_by(|a, b| {
            let (of_a, of_b) = ((a.root, a.link_number), (b.root, b.link_number));
            a.rank < b.rank || a.rank == b.rank && (a.size > b.size || a.size == b.size && of_a <= of_b)
        }));
        for due in &due {
            let entry = self.objects.get(due.id).expect("chosen from it");
            self.client.insert(due.id, entry.crc);
            self.sent.mark_sent(due.id, true);
            assert!(self.in_flight.insert(due.id), "{:?} is under way", due.id);
        }
        due.len()
    }
}

proptest! {
    #[test]
    fn a_client_ends_with_every_object_in_reach_and_none_that_is_gone(deeds in prop::collection::vec(deed(), 1..150)) {
        let mut scene = Scene {
            world: BTreeMap::new(),
            encoder: ObjectEncoder::default(),
            objects: ObjectReplica::new(SIZE_M),
            sent: SentSet::default(),
            client: BTreeMap::new(),
            in_flight: BTreeSet::new(),
            eye: Vec3::splat(100.0),
        };
        for (deed, version) in deeds.into_iter().zip(1..) {
            match deed {
                Deed::Set(n, (x, y), size) => {
                    let change = set(n, prim_at(Vec3::new(x, y, 20.0)), body(n, size), version);
                    let ObjectChange::Set { id, motion, body, .. } = &change else { unreachable!("made above") };
                    scene.world.insert(*id, (*motion, body.clone()));
                    scene.publish(change);
                }
                Deed::Part(n, root) => {
                    let is_root = scene.world.get(&id(root)).is_some_and(|(motion, _)| motion.parent == LocalId(0));
                    let has_parts = scene.world.values().any(|(motion, _)| motion.parent == id(n));
                    if n == root || !is_root || has_parts {
                        continue;
                    }
                    let motion = PrimMotion { parent: id(root), link_number: 1, ..prim_at(Vec3::X) };
                    let change = set(n, motion, body(n, 1.0), version);
                    let ObjectChange::Set { id, motion, body, .. } = &change else { unreachable!("made above") };
                    scene.world.insert(*id, (*motion, body.clone()));
                    scene.publish(change);
                }
                Deed::Move(n, (x, y), goes_on) => {
                    let Some((motion, _)) = scene.world.get_mut(&id(n)).filter(|(motion, _)| motion.parent == LocalId(0))
                    else {
                        continue;
                    };
                    motion.motion.position = Vec3::new(x, y, 20.0);
                    motion.motion.velocity = if goes_on { Vec3::X } else { Vec3::ZERO };
                    let change = ObjectChange::Moved(id(n), *motion);
                    scene.publish(change);
                }
                Deed::Remove(n) => {
                    let parts: Vec<LocalId> =
                        scene.world.iter().filter(|(_, (motion, _))| motion.parent == id(n)).map(|(id, _)| *id).collect();
                    for id in parts.into_iter().chain([id(n)]) {
                        if scene.world.remove(&id).is_some() {
                            scene.publish(ObjectChange::Removed(id));
                        }
                    }
                }
                Deed::Page(n) => {
                    let mut page = ObjectPage::empty(id(n));
                    for (id, (motion, body)) in &scene.world {
                        if link::page_of(*id) == page.first {
                            Arc::make_mut(&mut page.motions)[link::index_in_page(*id)] = *motion;
                            Arc::make_mut(&mut page.bodies)[link::index_in_page(*id)] = Some(body.clone());
                        }
                    }
                    scene.publish(ObjectChange::Pages(vec![page]));
                }
                Deed::Walk((x, y)) => scene.eye = Vec3::new(x, y, 20.0),
                Deed::Send(most) => drop(scene.send(most)),
                Deed::Ack => {
                    scene.ack();
                }
                Deed::Lose(n) => {
                    // The client has what it had before, or nothing.
                    if scene.in_flight.remove(&id(n)) {
                        scene.client.insert(id(n), 0);
                        scene.settle(id(n), true);
                    }
                }
            }
        }
        while scene.send(50) > 0 || !scene.in_flight.is_empty() {
            scene.ack();
        }
        prop_assert_eq!(scene.objects.len(), scene.world.len());
        for (id, crc) in &scene.client {
            let body = scene.world.get(id).map(|(_, body)| body.crc());
            prop_assert_eq!(body, Some(*crc), "the client has another state of {:?}, or an object that is gone", id);
        }
        for (id, (_, body)) in &scene.world {
            let entry = scene.objects.get(*id).expect("in the replica");
            // The client draws 256 m; 64 m more are sent.
            if entry.position.distance(scene.eye) <= reach_m(entry.radius_m).min(320.0) {
                prop_assert_eq!(scene.client.get(id), Some(&body.crc()), "{:?}", id);
            }
        }
    }
}

#[test]
fn counts_follow_prims_that_come_move_and_go() {
    let mut encoder = ObjectEncoder::default();
    let mut objects = ObjectReplica::new(SIZE_M);
    let mut apply = |objects: &mut ObjectReplica, changes: &[ObjectChange]| {
        let mut encoded = Vec::new();
        encoder.encode(FIRST, changes, &mut encoded);
        encoded.iter().for_each(|change| objects.apply(FIRST.tick, change));
    };
    let rows = |objects: &ObjectReplica| -> Vec<(u32, u32)> {
        let mut rows: Vec<_> = objects.counts().rows().map(|row| (row.square, row.n_prims)).collect();
        rows.sort_unstable();
        rows
    };
    let side = SIZE_M as u32 / 4;
    let part = PrimMotion { parent: id(0), link_number: 1, ..prim_at(Vec3::new(9.0, 0.0, 0.0)) };
    let root = prim_at(Vec3::new(5.0, 9.0, 0.0));
    apply(&mut objects, &[set(0, root, body(0, 1.0), 1), set(1, part, body(1, 1.0), 1)]);
    assert_eq!(rows(&objects), [(2 * side + 1, 2)], "a part counts where its root stands");
    apply(&mut objects, &[set(2, prim_at(Vec3::new(-3.0, 9e9, 0.0)), body(2, 1.0), 1)]);
    assert_eq!(rows(&objects), [(2 * side + 1, 2), ((side - 1) * side, 1)]);
    apply(&mut objects, &[ObjectChange::Removed(id(2)), ObjectChange::Removed(id(1))]);
    assert_eq!(rows(&objects), [(2 * side + 1, 1)]);
}
