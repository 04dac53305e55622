//! Content of a region: prims in linksets, scattered over 256 m.
//!
//! It stands in for the archive of a real region, which may not be passed on, and has the statistics that are known of three such archives: one
//! distinct texture entry per five to ten prims (here seven), 279 bytes of a prim plain and 127 zero-coded (the report has those of the run). The
//! other distributions are assumptions: [`LINKSETS`] for linksets, [`looks::KINDS`] for shapes, sizes that are even in their logarithms. Equal seeds give
//! equal content.

mod histogram;
mod looks;

use bots::rng::Rng;
use glam::{Quat, Vec2, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{Motion, ObjectPage, PrimMotion, VersionedBody, index_in_page, page_of};
use looks::Looks;
use prim::{Body, Names, Ownership, Permissions};
use std::ops::Range;
use std::sync::Arc;

/// Width and depth of the region, metres.
const SIZE_M: f32 = 256.0;
/// Height of its flat ground, metres.
const GROUND_M: f32 = 22.0;

/// Linksets by their numbers of prims: the share of linksets, the least and the most prims. On average 9.7.
const LINKSETS: [(f64, u32, u32); 5] =
    [(0.45, 1, 1), (0.25, 2, 5), (0.20, 6, 20), (0.08, 21, 60), (0.02, 61, 200)];

/// Prims per distinct texture entry.
const PRIMS_PER_ENTRY: u32 = 7;

/// Sizes of roots along an axis, metres; even in their logarithms.
const ROOT_SIZE_M: (f32, f32) = (0.2, 10.0);
/// Sizes of parts, as shares of the root's size.
const PART_SIZE: (f32, f32) = (0.05, 1.0);
/// Share of linksets that stand above the ground, and the highest of them, metres.
const RAISED: (f64, f32) = (0.3, 40.0);

/// Owners of the content.
const OWNERS: u64 = 40;
/// Time of the first creation, microseconds since 1970.
const CREATED_US: u64 = 1_700_000_000_000_000;

/// A generated region.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pages: Vec<ObjectPage>,
    n_prims: u32,
}

impl Content {
    /// Content of `n_prims` prims, with the first local ids of the range.
    pub(super) fn generate(n_prims: u32, seed: u64, ids: &Range<u32>) -> Self {
        let mut maker = ContentMaker {
            rng: Rng::new(seed, 0),
            looks: Looks::new(seed, n_prims.div_ceil(PRIMS_PER_ENTRY)),
            pages: Vec::new(),
            next: ids.start,
        };
        let end = ids.start + n_prims;
        assert!(end <= ids.end, "a region has local ids for its content");
        while maker.next < end {
            maker.put_linkset(end - maker.next);
        }
        Self { pages: maker.pages, n_prims }
    }

    pub(super) const fn n_prims(&self) -> u32 {
        self.n_prims
    }

    /// Its pages, in the order of their local ids.
    pub(super) fn pages(&self) -> Vec<ObjectPage> {
        self.pages.clone()
    }

    /// Its prims, in the order of their local ids.
    pub(super) fn prims(&self) -> impl Iterator<Item = (LocalId, &PrimMotion, &VersionedBody)> {
        self.pages.iter().flat_map(ObjectPage::prims)
    }

    /// The first `n` prims for a viewer at this place: those of the linksets with the largest radius ÷ distance, the prims of a linkset together.
    pub(super) fn foremost(&self, eye: Vec3, n: usize) -> Vec<LocalId> {
        let mut linksets: Vec<LinksetView> = Vec::new();
        for (id, prim, versioned) in self.prims() {
            let own_m = versioned.body.scale.length() / 2.0;
            if prim.parent == LocalId(0) {
                linksets.push(LinksetView { position: prim.motion.position, radius_m: own_m, ids: vec![id] });
            } else {
                // A root comes before its parts.
                let linkset = linksets.last_mut().expect("the root's");
                linkset.radius_m = linkset.radius_m.max(prim.motion.position.length() + own_m);
                linkset.ids.push(id);
            }
        }
        let size = |linkset: &LinksetView| linkset.radius_m / linkset.position.distance(eye).max(0.1);
        linksets.sort_by(|a, b| size(b).total_cmp(&size(a)));
        linksets.into_iter().flat_map(|linkset| linkset.ids).take(n).collect()
    }
}

/// A linkset as a viewer sees it.
struct LinksetView {
    position: Vec3,
    /// Of a sphere around the root with all parts in it.
    radius_m: f32,
    ids: Vec<LocalId>,
}

/// Content under way.
struct ContentMaker {
    rng: Rng,
    looks: Looks,
    pages: Vec<ObjectPage>,
    /// The next local id.
    next: u32,
}

impl ContentMaker {
    /// Adds a linkset of at most `most` prims.
    fn put_linkset(&mut self, most: u32) {
        let n_prims = self.linkset_len().min(most);
        let root = LocalId(self.next);
        let owner = AgentId(Uuid::from_u64_pair(1, self.rng.next() % OWNERS));
        let size = self.root_size();
        for number in 0..n_prims {
            let (motion, scale) = if number == 0 {
                (self.root_motion(size), size)
            } else {
                let scale = size * self.rng.between(PART_SIZE.0, PART_SIZE.1);
                let place = Vec3::from_array([(); 3].map(|()| self.rng.within(0.5))) * size;
                (Motion { position: place, rotation: self.rotation(), ..Motion::default() }, scale)
            };
            let prim = PrimMotion {
                motion,
                parent: if number == 0 { LocalId(0) } else { root },
                // At most 200.
                link_number: number as u8,
                ..PrimMotion::NONE
            };
            self.put(prim, owner, scale);
        }
    }

    fn put(&mut self, prim: PrimMotion, owner: AgentId, scale: Vec3) {
        let id = LocalId(self.next);
        self.next += 1;
        if self.pages.last().is_none_or(|page| page.first != page_of(id)) {
            self.pages.push(ObjectPage::empty(id));
        }
        let body = self.body(owner, scale);
        let page = self.pages.last_mut().expect("just pushed");
        Arc::make_mut(&mut page.motions)[index_in_page(id)] = prim;
        Arc::make_mut(&mut page.bodies)[index_in_page(id)] = Some(VersionedBody { version: 1, body });
    }

    fn body(&mut self, owner: AgentId, scale: Vec3) -> Arc<Body> {
        let id = Uuid::from_u64_pair(self.rng.next(), self.rng.next());
        let look = self.looks.choose(&mut self.rng);
        let plain = Body::new(id, look.shape, look.texture_entry, owner, 0);
        let is_named = self.rng.unit() >= 0.3;
        let name = if is_named { format!("Part {}", self.next).into() } else { "Primitive".into() };
        let ownership = Ownership { permissions: Permissions::NEW, ..*plain.ownership };
        let body = Body {
            scale,
            extra_params: look.extra_params,
            hover_text: look.hover_text,
            names: Names { name, ..Names::default() },
            ownership: Arc::new(ownership),
            created_us: CREATED_US + u64::from(self.next) * 1_000,
            ..plain
        };
        Arc::new(body.checked().expect("all fields are within their bounds"))
    }

    fn linkset_len(&mut self) -> u32 {
        let mut share = self.rng.unit();
        let class = LINKSETS.iter().find(|(of_all, ..)| {
            share -= of_all;
            share < 0.0
        });
        // Rounding may leave a rest.
        let &(_, least, most) = class.unwrap_or(&LINKSETS[0]);
        least + (self.rng.unit() * f64::from(most - least + 1)) as u32
    }

    /// A flat box is as likely as a cube: most prims of a building are walls and floors.
    fn root_size(&mut self) -> Vec3 {
        let (least, most) = ROOT_SIZE_M;
        Vec3::from_array([(); 3].map(|()| least * (most / least).powf(self.rng.unit() as f32)))
    }

    fn root_motion(&mut self, size: Vec3) -> Motion {
        let at = Vec2::new(self.rng.between(0.0, SIZE_M), self.rng.between(0.0, SIZE_M));
        let (share, highest_m) = RAISED;
        let above_m = if self.rng.unit() < share { self.rng.between(0.0, highest_m) } else { 0.0 };
        let position = at.extend(GROUND_M + size.z / 2.0 + above_m);
        Motion { position, rotation: self.rotation(), ..Motion::default() }
    }

    /// Half of all prims are not turned, a quarter is turned about the vertical, a quarter in any way.
    fn rotation(&mut self) -> Quat {
        let angle = self.rng.between(0.0, std::f32::consts::TAU);
        match (self.rng.unit() * 4.0) as u32 {
            0 | 1 => Quat::IDENTITY,
            2 => Quat::from_rotation_z(angle),
            _ => Quat::from_axis_angle(self.rng.direction().extend(0.5).normalize(), angle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const IDS: Range<u32> = 1 << 20..3 << 19;

    #[test]
    fn equal_seeds_give_equal_content_and_a_world_accepts_it() {
        let content = Content::generate(3_000, 1, &IDS);
        assert_eq!(content.pages, Content::generate(3_000, 1, &IDS).pages);
        assert_ne!(content.pages, Content::generate(3_000, 2, &IDS).pages);
        let ids: Vec<u32> = content.prims().map(|(LocalId(id), ..)| id).collect();
        assert_eq!(ids, (IDS.start..IDS.start + 3_000).collect::<Vec<_>>());
        let mut n_expected = 0;
        for (id, prim, versioned) in content.prims() {
            n_expected = if prim.parent == LocalId(0) { 0 } else { n_expected + 1 };
            assert_eq!(u32::from(prim.link_number), n_expected, "parts follow their root");
            assert!(prim.parent == LocalId(0) || prim.parent.0 + n_expected == id.0);
            assert_eq!(prim::check_texture_entry(&versioned.body.texture_entry), Ok(()));
        }
    }

    #[test]
    fn there_is_a_distinct_texture_entry_for_five_to_ten_prims() {
        let content = Content::generate(10_000, 1, &IDS);
        let entries: BTreeSet<&[u8]> = content.prims().map(|(.., one)| &*one.body.texture_entry).collect();
        let per_entry = 10_000.0 / entries.len() as f64;
        assert!((5.0..10.0).contains(&per_entry), "{per_entry}");
    }

    #[test]
    fn the_foremost_prims_are_of_the_linksets_that_look_largest() {
        let content = Content::generate(2_000, 1, &IDS);
        let eye = Vec3::new(128.0, 128.0, 24.0);
        let all = content.foremost(eye, 2_000);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 2_000);
        assert_eq!(content.foremost(eye, 300), all[..300]);
        let place = |id: LocalId| {
            let (_, prim, _) = content.prims().find(|(other, ..)| *other == id).expect("a prim");
            prim.parent
        };
        // Each part is somewhere behind its root.
        for (at, &id) in all.iter().enumerate().filter(|(_, id)| place(**id) != LocalId(0)) {
            assert!(all[..at].contains(&place(id)));
        }
    }
}
