//! Meshes of shapes that occur more than once.

use super::Geometry;
use super::build::build;
use super::detail::Detail;
use glam::Vec3;
use prim::{Body, PCode, Shape};
use state_hash::StateHasher;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Bytes of a slot beside its mesh: shape, index, allocations.
const SLOT_BYTES: usize = 128;

/// Geometries by shape, in a few levels of detail and whatever the scale otherwise: a region of 45,000 prims has some thousand shapes, most of them boxes, which have no mesh.
///
/// Bounded by bytes. When they are exceeded, a hand moves over the entries and drops each that was not asked for since it last
/// came by; colliders keep a dropped mesh for as long as they use it. A geometry follows from its shape alone, so that the
/// content of the cache decides nothing.
#[derive(Debug)]
pub struct ShapeCache {
    /// Places in `slots`. Never iterated.
    places: HashMap<(Shape, Detail), usize, BuildHasherDefault<StateHasher>>,
    slots: Vec<CacheSlot>,
    hand: usize,
    bytes: usize,
    bytes_max: usize,
}

#[derive(Debug)]
struct CacheSlot {
    key: (Shape, Detail),
    geometry: Geometry,
    bytes: usize,
    is_recent: bool,
}

impl Default for ShapeCache {
    fn default() -> Self {
        Self::new(Self::BYTES_MAX)
    }
}

impl ShapeCache {
    /// Bytes of the meshes in a cache by default: about 1,500 of usual size.
    pub const BYTES_MAX: usize = 16 << 20;

    /// An empty cache for at most so many bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { places: HashMap::default(), slots: Vec::new(), hand: 0, bytes: 0, bytes_max }
    }

    /// Geometry of a prim: nothing for trees and grass, a box for sculpts and meshes, whose form is an asset ([`Geometry::of_asset`]), else its shape.
    #[must_use]
    pub fn of_body(&mut self, body: &Body) -> Geometry {
        match body.p_code {
            PCode::Grass | PCode::Tree | PCode::NewTree => Geometry::Empty,
            PCode::Prim if body.extra_params.sculpt().is_some() => Geometry::BOX,
            PCode::Prim => self.of_shape(&body.shape, body.scale),
        }
    }

    /// Geometry of a shape, with the detail of this scale, metres.
    #[must_use]
    pub fn of_shape(&mut self, shape: &Shape, scale: Vec3) -> Geometry {
        let key = (*shape, Detail::of_scale(scale));
        if let Some(&place) = self.places.get(&key) {
            let slot = &mut self.slots[place];
            slot.is_recent = true;
            return slot.geometry.clone();
        }
        let geometry = build(shape, key.1);
        if let Geometry::Mesh(mesh) = &geometry {
            let bytes = mesh.bytes() + SLOT_BYTES;
            self.places.insert(key, self.slots.len());
            self.slots.push(CacheSlot { key, geometry: geometry.clone(), bytes, is_recent: true });
            self.bytes += bytes;
            self.shrink();
        }
        geometry
    }

    /// Number of meshes that it holds.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.slots.len()
    }

    /// True without meshes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes of its meshes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    fn shrink(&mut self) {
        while self.bytes > self.bytes_max && !self.slots.is_empty() {
            self.hand %= self.slots.len();
            let slot = &mut self.slots[self.hand];
            if std::mem::take(&mut slot.is_recent) {
                self.hand += 1;
                continue;
            }
            let dropped = self.slots.swap_remove(self.hand);
            self.places.remove(&dropped.key);
            self.bytes -= dropped.bytes;
            if let Some(moved) = self.slots.get(self.hand) {
                self.places.insert(moved.key, self.hand);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, Uuid};
    use prim::{ExtraParam, ShapeKind};
    use std::sync::Arc;

    fn hollow(steps: u16) -> Shape {
        Shape { profile_hollow: steps, ..Shape::BOX }
    }

    #[test]
    fn a_shape_is_built_once() {
        let mut cache = ShapeCache::default();
        let (first, second) =
            (cache.of_shape(&hollow(1_000), Vec3::ONE), cache.of_shape(&hollow(1_000), Vec3::ONE));
        let (Geometry::Mesh(first), Geometry::Mesh(second)) = (first, second) else { panic!("a mesh") };
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!((cache.len(), cache.bytes()), (1, first.bytes() + SLOT_BYTES));
        assert_eq!(cache.of_shape(&Shape::BOX, Vec3::ONE), Geometry::BOX);
        assert_eq!(cache.len(), 1, "boxes have no mesh");
    }

    #[test]
    fn a_full_cache_keeps_the_shapes_in_use() {
        let one = {
            let mut cache = ShapeCache::default();
            let _ = cache.of_shape(&hollow(1), Vec3::ONE);
            cache.bytes()
        };
        let mut cache = ShapeCache::new(10 * one);
        for steps in 1..=200 {
            let _ = cache.of_shape(&hollow(steps), Vec3::ONE);
            let _ = cache.of_shape(&hollow(1), Vec3::ONE);
            assert!(cache.bytes() <= 10 * one && cache.len() <= 10);
        }
        assert!(
            cache.places.contains_key(&(hollow(1), Detail::of_scale(Vec3::ONE)))
                && cache.places.contains_key(&(hollow(200), Detail::of_scale(Vec3::ONE)))
        );
        assert!(!cache.places.contains_key(&(hollow(2), Detail::of_scale(Vec3::ONE))));
        for (place, slot) in cache.slots.iter().enumerate() {
            assert_eq!(cache.places[&slot.key], place);
        }
    }

    #[test]
    fn a_mesh_larger_than_the_cache_is_built_all_the_same() {
        let mut cache = ShapeCache::new(0);
        assert!(matches!(cache.of_shape(&hollow(1), Vec3::ONE), Geometry::Mesh(_)));
        assert!(cache.is_empty());
    }

    #[test]
    fn trees_collide_with_nothing_and_sculpts_are_boxes() {
        let mut body = Body::new(
            Uuid::from_u128(1),
            Shape::plain(ShapeKind::Sphere),
            Arc::default(),
            AgentId(Uuid::from_u128(2)),
            0,
        );
        let mut cache = ShapeCache::default();
        assert!(matches!(cache.of_body(&body), Geometry::Mesh(_)));
        body.extra_params = body.extra_params.with(ExtraParam::Sculpt, Some(&[5; 17])).unwrap();
        assert_eq!(cache.of_body(&body), Geometry::BOX);
        for p_code in [PCode::Grass, PCode::Tree, PCode::NewTree] {
            assert_eq!(cache.of_body(&Body { p_code, ..body.clone() }), Geometry::Empty);
        }
    }
}
