//! Static objects of a world, and the ones sent to each client.
//!
//! Static objects need no turns, no bands and no kills: a client receives each one in full when it comes near, keeps it, and gets no
//! message when it walks away (a viewer culls by itself, and a KillObject would drop its cache entry). So all state of a client is a
//! bit for each object. Large prims of content come near earlier than boxes.
//!
//! Worlds of equal scenery, as a template's instances, share one [`StaticObjects`]. They differ in their local ids, which no two worlds of a
//! node have in common: a [`SceneryReplica`] is shared objects with the first local id of one world.

use crate::objects::{reach_m, static_block};
use glam::Vec3;
use ids::LocalId;
use link::{Motion, StaticObject};
use prim::{Body, MaterialOverrides};
use std::sync::Arc;
use wire::object_update::{FullMotion, FullPrim, encode_prim, patch_local_id};

/// Metres within which a client has everything, as far as its bytes go.
pub const REACH_M: f32 = 64.0;
/// Metres within which it has the large prims of content: as far as viewers draw by default, twice over. Larger ones are there [`REACH_M`] before the
/// client comes to their corner.
const FAR_REACH_M: f32 = 256.0;
/// Distance that a client walks before its surroundings are searched again, metres: the margin of the sent area beyond [`REACH_M`].
const STRIDE_M: f32 = 8.0;
/// Side of a cell, metres: a look visits about 80 of them.
const CELL_M: f32 = 16.0;

/// Index in [`StaticObjects`], counted from 0 in the order of local ids.
pub type ObjectIndex = u32;

/// Everything that stands in worlds that look alike, encoded once for all of them. The default is nothing.
#[derive(Debug)]
pub struct StaticObjects {
    objects: Vec<EncodedObject>,
    /// By row and column of cells.
    cells: Vec<Vec<ObjectIndex>>,
    /// Cells along a side.
    side: usize,
    /// The farthest reach of an object, metres.
    reach_max_m: f32,
}

#[derive(Debug)]
struct EncodedObject {
    position: Vec3,
    /// Distance up to which clients have it, metres.
    reach_m: f32,
    /// Block of an ObjectUpdate, not zero-coded, with the update flags of a client without rights. The world's local id is patched in.
    block: Box<[u8]>,
    /// Overrides of its materials, which no block has.
    overrides: Option<Arc<MaterialOverrides>>,
}

impl Default for StaticObjects {
    fn default() -> Self {
        Self::new(&link::Scenery::default(), 0.0)
    }
}

impl StaticObjects {
    /// Encodes the static objects of a region of `size_m` along a side.
    #[must_use]
    pub fn new(scenery: &link::Scenery, size_m: f32) -> Self {
        let side = (size_m / CELL_M).ceil().max(1.0) as usize;
        let mut cells = vec![Vec::new(); side * side];
        let mut objects = Vec::with_capacity(scenery.len());
        for (object, index) in scenery.prims().iter().zip(0..) {
            let Vec3 { x, y, .. } = object.position;
            cells[cell(y, side) * side + cell(x, side)].push(index);
            let body = scenery.body(index as usize);
            let overrides = body.and_then(|body| body.overrides.clone());
            let overrides = overrides.filter(|overrides| overrides.faces().len() > 0);
            let block = body.map_or_else(|| box_block(object), |body| content_block(object, body));
            let far = |body: &Arc<Body>| {
                let radius_m = body.scale.length() / 2.0;
                reach_m(radius_m).clamp(REACH_M, FAR_REACH_M.max(radius_m + REACH_M))
            };
            let reach_m = body.map_or(REACH_M, far);
            objects.push(EncodedObject { position: object.position, reach_m, block, overrides });
        }
        let reach_max_m = objects.iter().map(|object| object.reach_m).fold(0.0, f32::max);
        Self { objects, cells, side, reach_max_m }
    }

    /// Objects whose reach, widened by a margin, has a place in it, with the squares of their distances.
    fn around(&self, eye: Vec3, margin_m: f32) -> impl Iterator<Item = (f32, ObjectIndex)> {
        let radius_m = self.reach_max_m + margin_m;
        let span = |along: f32| cell(along - radius_m, self.side)..=cell(along + radius_m, self.side);
        let columns = span(eye.x);
        let cells = span(eye.y).flat_map(move |row| columns.clone().map(move |column| (row, column)));
        let objects = cells.flat_map(|(row, column)| &self.cells[row * self.side + column]);
        objects.filter_map(move |&index| {
            let object = &self.objects[index as usize];
            let (square, reach_m) = (object.position.distance_squared(eye), object.reach_m + margin_m);
            (square <= reach_m * reach_m).then_some((square, index))
        })
    }
}

/// Row or column of cells of a coordinate. Coordinates outside the region count to the ones at its borders.
fn cell(along: f32, side: usize) -> usize {
    ((along / CELL_M) as usize).min(side - 1)
}

/// The block of a prim with a body.
fn content_block(object: &StaticObject, body: &Body) -> Box<[u8]> {
    let motion = Motion { position: object.position, rotation: object.rotation, ..Motion::default() };
    static_block(&motion, body).into()
}

fn box_block(object: &StaticObject) -> Box<[u8]> {
    let StaticObject { position, rotation, prim } = object;
    let mut block = Vec::new();
    encode_prim(
        &FullPrim {
            local_id: LocalId(0),
            id: prim.id,
            parent: LocalId(0),
            state: 0,
            scale: prim.scale,
            motion: FullMotion { position: *position, rotation: *rotation, ..FullMotion::default() },
            update_flags: 0,
            texture_entry: &prim.texture_entry,
        },
        &mut block,
    );
    block.into()
}

/// Static objects of one world: shared ones with local ids of its own.
#[derive(Clone, Debug, Default)]
pub struct SceneryReplica {
    objects: Arc<StaticObjects>,
    /// Local id of the first; the others follow.
    first_id: u32,
}

impl SceneryReplica {
    /// Objects of a world with local ids from `first_id` on.
    #[must_use]
    pub const fn new(objects: Arc<StaticObjects>, first_id: u32) -> Self {
        Self { objects, first_id }
    }

    /// Objects shared by all worlds of equal scenery.
    #[must_use]
    pub const fn objects(&self) -> &Arc<StaticObjects> {
        &self.objects
    }

    /// Number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.objects.len()
    }

    /// True without objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.objects.is_empty()
    }

    /// The object with a local id.
    #[must_use]
    pub fn of_id(&self, id: LocalId) -> Option<ObjectIndex> {
        id.0.checked_sub(self.first_id).filter(|&index| (index as usize) < self.len())
    }

    /// The local id of an object.
    #[must_use]
    pub const fn id(&self, index: ObjectIndex) -> LocalId {
        LocalId(self.first_id + index)
    }

    /// Bytes of its block.
    ///
    /// # Panics
    /// When there is no such object.
    #[must_use]
    pub fn block_len(&self, index: ObjectIndex) -> usize {
        self.objects.objects[index as usize].block.len()
    }

    /// Overrides of its materials, which its block does not have.
    ///
    /// # Panics
    /// When there is no such object.
    #[must_use]
    pub fn overrides(&self, index: ObjectIndex) -> Option<&MaterialOverrides> {
        self.objects.objects[index as usize].overrides.as_deref()
    }

    /// Appends its block, as clients of this world are sent it.
    ///
    /// # Panics
    /// When there is no such object.
    pub fn write_block(&self, index: ObjectIndex, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&self.objects.objects[index as usize].block);
        patch_local_id(&mut out[at..], self.id(index));
    }
}

/// Static objects that one client was sent.
#[derive(Debug, Default)]
pub struct SentObjects {
    /// A bit for each object.
    sent: Vec<u64>,
    /// Position at which it last had everything near.
    complete: Option<Vec3>,
}

impl SentObjects {
    /// True if objects near `eye` have to be sent, or may have to.
    #[must_use]
    pub fn is_due(&self, scenery: &SceneryReplica, eye: Vec3) -> bool {
        !scenery.is_empty()
            && self.complete.is_none_or(|from| from.distance_squared(eye) >= STRIDE_M * STRIDE_M)
    }

    /// Fills `found` with the nearest objects not sent yet, at most `most`, nearest first, with their squared distances. Fewer than
    /// `most` are all there are.
    pub fn choose(
        &mut self,
        scenery: &SceneryReplica,
        eye: Vec3,
        most: usize,
        found: &mut Vec<(f32, ObjectIndex)>,
    ) {
        found.clear();
        found.extend(scenery.objects.around(eye, STRIDE_M).filter(|&(_, index)| !self.has(index)));
        let nearest =
            |a: &(f32, ObjectIndex), b: &(f32, ObjectIndex)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if found.len() > most {
            if most > 0 {
                found.select_nth_unstable_by(most - 1, nearest);
            }
            found.truncate(most);
        } else {
            self.complete = Some(eye);
        }
        found.sort_unstable_by(nearest);
    }

    /// Notes that an object was sent.
    pub fn mark_sent(&mut self, index: ObjectIndex) {
        let (word, bit) = (index as usize / 64, index % 64);
        if self.sent.len() <= word {
            self.sent.resize(word + 1, 0);
        }
        self.sent[word] |= 1 << bit;
    }

    /// Objects that the client was sent.
    pub fn known(&self, scenery: &SceneryReplica) -> impl Iterator<Item = LocalId> {
        let sent = (0..scenery.len() as ObjectIndex).filter(|&index| self.has(index));
        sent.map(|index| scenery.id(index))
    }

    /// An object has to be sent again: the client did not get it, or asks for it.
    pub fn mark_lost(&mut self, index: ObjectIndex) {
        if let Some(word) = self.sent.get_mut(index as usize / 64) {
            *word &= !(1 << (index % 64));
        }
        self.complete = None;
    }

    /// True if the client was sent an object.
    #[must_use]
    pub fn has(&self, index: ObjectIndex) -> bool {
        self.sent.get(index as usize / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Quat;
    use ids::{RegionHandle, Uuid};
    use link::Prim;
    use proptest::prelude::*;
    use wire::messages::ObjectUpdate;
    use wire::object_update::write_prefix;

    fn place() -> impl Strategy<Value = Vec3> {
        (0.0f32..=256.0, 0.0f32..=256.0, 20.0f32..40.0).prop_map(Vec3::from)
    }

    fn prim(n: u128, position: Vec3) -> StaticObject {
        let prim = Prim { id: Uuid::from_u128(n), scale: Vec3::ONE, texture_entry: Arc::default() };
        StaticObject { position, rotation: Quat::IDENTITY, prim }
    }

    fn scenery(places: &[Vec3]) -> SceneryReplica {
        let prims = places.iter().zip(1..).map(|(&place, n)| prim(n, place)).collect();
        let scenery = link::Scenery::new(prims).expect("somewhere");
        SceneryReplica::new(Arc::new(StaticObjects::new(&scenery, 256.0)), 1)
    }

    fn any_prim() -> impl Strategy<Value = StaticObject> {
        let texture_entry = prop::collection::vec(any::<u8>(), 0..=Prim::TEXTURE_ENTRY_MAX);
        let of = (any::<u128>(), place(), 0.0f32..6.0, 0.001f32..256.0, texture_entry);
        of.prop_map(|(n, position, turn, size, texture_entry)| {
            let StaticObject { prim, .. } = prim(n, position);
            let prim = Prim { scale: Vec3::new(size, 1.0, 2.0), texture_entry: texture_entry.into(), ..prim };
            StaticObject { position, rotation: Quat::from_rotation_z(turn), prim }
        })
    }

    /// Sends everything due, `most` at a time.
    fn send_all(
        sent: &mut SentObjects,
        scenery: &SceneryReplica,
        eye: Vec3,
        most: usize,
    ) -> Vec<ObjectIndex> {
        let mut all = Vec::new();
        let mut found = Vec::new();
        while sent.is_due(scenery, eye) {
            sent.choose(scenery, eye, most, &mut found);
            assert!(found.len() <= most);
            for &(_, index) in &found {
                sent.mark_sent(index);
                all.push(index);
            }
        }
        all
    }

    proptest! {
        /// A world with shared objects sends the same bytes as a world with its own encoding.
        #[test]
        fn shared_blocks_are_those_of_each_world(
            prims in prop::collection::vec(any_prim(), 1..20),
            first_ids in [any::<u32>(), any::<u32>()],
        ) {
            let objects = link::Scenery::new(prims.clone()).expect("somewhere");
            let objects = Arc::new(StaticObjects::new(&objects, 256.0));
            for first_id in first_ids.map(|id| id.min(u32::MAX - 20)) {
                let scenery = SceneryReplica::new(Arc::clone(&objects), first_id);
                for (StaticObject { position, rotation, prim }, index) in prims.iter().zip(0..) {
                    let local_id = LocalId(first_id + index);
                    let motion =
                        FullMotion { position: *position, rotation: *rotation, ..FullMotion::default() };
                    let own = FullPrim {
                        local_id,
                        id: prim.id,
                        parent: LocalId(0),
                        state: 0,
                        scale: prim.scale,
                        motion,
                        update_flags: 0,
                        texture_entry: &prim.texture_entry,
                    };
                    let (mut expected, mut found) = (vec![7, 7], vec![7, 7]);
                    encode_prim(&own, &mut expected);
                    scenery.write_block(index, &mut found);
                    prop_assert_eq!(scenery.block_len(index) + 2, found.len());
                    prop_assert_eq!(found, expected);
                    prop_assert_eq!((scenery.id(index), scenery.of_id(local_id)), (local_id, Some(index)));
                }
                let behind = LocalId(first_id + scenery.len() as u32);
                prop_assert_eq!(scenery.of_id(behind), None);
                prop_assert_eq!(first_id.checked_sub(1).and_then(|id| scenery.of_id(LocalId(id))), None);
            }
        }

        /// A viewer that walks any way has everything within reach, and each object once.
        #[test]
        fn a_walking_viewer_has_every_near_object_and_none_twice(
            places in prop::collection::vec(place(), 0..300),
            way in prop::collection::vec(place(), 1..12),
            most in 1usize..40,
        ) {
            let scenery = scenery(&places);
            let mut sent = SentObjects::default();
            let mut times = vec![0; places.len()];
            for eye in way {
                for index in send_all(&mut sent, &scenery, eye, most) {
                    times[index as usize] += 1;
                }
                for (place, n) in places.iter().zip(&times) {
                    prop_assert!(*n <= 1);
                    prop_assert!(*n == 1 || place.distance(eye) > REACH_M);
                }
            }
        }

        #[test]
        fn the_nearest_come_first(places in prop::collection::vec(place(), 0..300), eye in place()) {
            let scenery = scenery(&places);
            let sent = send_all(&mut SentObjects::default(), &scenery, eye, 7);
            let far: Vec<f32> = sent.iter().map(|&index| places[index as usize].distance_squared(eye)).collect();
            prop_assert!(far.is_sorted());
        }
    }

    #[test]
    fn content_is_sent_before_its_corner_is_reached() {
        let body = |size: f32| {
            let id = Uuid::from_u128(size.to_bits().into());
            let shape = prim::Shape::BOX;
            let body = Body::new(id, shape, Arc::new([7; 47]), ids::AgentId(Uuid::from_u128(2)), 0);
            Arc::new(Body { scale: Vec3::splat(size), ..body })
        };
        for (size, reach) in [(0.001, 64.0), (1.0, 147.2), (64.0, 256.0), (256.0, 285.7)] {
            let place = (Vec3::splat(20.0), Quat::IDENTITY, body(size));
            let content = link::Scenery::default().with_content(vec![place]).expect("somewhere");
            let objects = StaticObjects::new(&content, 512.0);
            let is_sent = |distance: f32| {
                let eye = Vec3::splat(20.0) + Vec3::X * distance;
                objects.around(eye, 0.0).count() == 1
            };
            assert!(is_sent(reach - 0.5) && !is_sent(reach + 0.5), "a prim of {size} m");
        }
    }

    #[test]
    fn content_is_sent_in_its_own_shape_and_in_no_form_for_caches() {
        let mut overrides = MaterialOverrides::default();
        let shiny = prim::MaterialOverride { metallic: Some(1.0), ..prim::MaterialOverride::default() };
        overrides.set(0, shiny).expect("a face");
        let torus = prim::Shape::plain(prim::ShapeKind::Torus);
        let body = Body {
            overrides: Some(Arc::new(overrides)),
            particles: Arc::new([5; 300]),
            ..Body::new(Uuid::from_u128(1), torus, Arc::new([7; 47]), ids::AgentId(Uuid::from_u128(2)), 0)
        };
        let boxes = link::Scenery::new(vec![prim(9, Vec3::splat(20.0))]).expect("somewhere");
        let place = (Vec3::splat(30.0), Quat::from_rotation_z(1.0), Arc::new(body));
        let content = boxes.with_content(vec![place]).expect("somewhere");
        let scenery = SceneryReplica::new(Arc::new(StaticObjects::new(&content, 256.0)), 100);
        let mut message = Vec::new();
        write_prefix(&mut message, RegionHandle::from_grid(1, 1), 1.0, 2);
        (0..2).for_each(|index| scenery.write_block(index, &mut message));
        let objects = ObjectUpdate::decode(&message[1..]).expect("a whole message").object_data;
        let [plain, shaped] = &objects[..] else { panic!("{objects:?}") };
        assert_eq!((plain.path_curve, plain.profile_curve), (0x10, 1));
        assert_eq!((shaped.path_curve, shaped.profile_curve), (torus.path_curve, torus.profile_curve));
        assert_eq!((shaped.id, shaped.full_id), (101, content.prims()[1].prim.id));
        assert_eq!((shaped.crc, shaped.update_flags), (0, 0), "no viewer keeps it");
        assert_eq!((&shaped.texture_entry[..], &shaped.ps_block[..]), (&[7; 47][..], &[][..]));
        assert!(scenery.overrides(0).is_none() && scenery.overrides(1).is_some());
    }

    #[test]
    fn a_lost_object_is_sent_again_and_alone() {
        let scenery = scenery(&[Vec3::splat(20.0), Vec3::splat(21.0)]);
        let mut sent = SentObjects::default();
        assert_eq!(send_all(&mut sent, &scenery, Vec3::splat(20.0), 10), [0, 1]);
        assert!(!sent.is_due(&scenery, Vec3::splat(20.0)));
        sent.mark_lost(1);
        assert_eq!(send_all(&mut sent, &scenery, Vec3::splat(20.0), 10), [1]);
    }

    #[test]
    fn nothing_is_due_where_nothing_stands() {
        assert!(!SentObjects::default().is_due(&SceneryReplica::default(), Vec3::splat(20.0)));
        assert_eq!(SceneryReplica::default().of_id(LocalId(0)), None);
    }
}
