//! Objects of an archive as linksets for a running world.

use super::placing::{Placed, Placing, at_rest, unit};
use crate::accounts::AccountRules;
use crate::findings::Findings;
use crate::renewed_ids::{IdRule, RenewedIds};
use archive::object::flags::PART_FLAGS;
use archive::object::{PartPlace, SceneGroup, ScenePart, item_creator_data};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{INSERT_PRIMS_MAX, InsertedLinkset, PrimFlags, PrimMotion};
use prim::{Body, ContentItem, Contents, Ownership};
use std::collections::VecDeque;
use std::sync::Arc;

/// Metres between a part and its root along each axis at most. A world refuses linksets that are wider.
const OFFSET_MAX_M: f32 = 256.0;

/// A telehub that was among the objects.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTelehub {
    /// Its id in the region.
    pub object: Uuid,
    /// Its name.
    pub name: Arc<str>,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// Its rotation.
    pub rotation: Quat,
}

/// Makes linksets of objects, one after the other.
#[derive(Debug)]
pub struct LinksetConverter<'a> {
    placing: Placing,
    accounts: AccountRules<'a>,
    ids: RenewedIds,
    /// Id in the archive of the object that marks the telehub.
    telehub: Option<Uuid>,
    found: Option<FoundTelehub>,
    findings: Findings,
    n_objects: u64,
    n_prims: u64,
    /// Equal ones are shared.
    last_ownership: Option<Arc<Ownership>>,
}

/// A part in the region.
#[derive(Debug)]
struct AbsolutePart {
    position: Vec3,
    rotation: Quat,
    /// Its place relative to the root of its object, as it was read: the way to the region and back rounds.
    in_object: (Vec3, Quat),
    flags: u32,
    body: Arc<Body>,
}

impl<'a> LinksetConverter<'a> {
    /// With these places, accounts and ids. `telehub` is the id of the archive's object that marks the telehub.
    #[must_use]
    pub fn new(placing: Placing, accounts: AccountRules<'a>, ids: RenewedIds, telehub: Option<Uuid>) -> Self {
        Self {
            placing,
            accounts,
            ids,
            telehub,
            found: None,
            findings: Findings::default(),
            n_objects: 0,
            n_prims: 0,
            last_ownership: None,
        }
    }

    /// The linksets of an object, none if it has no place in the region. An object with more or farther parts than a linkset may have becomes several.
    pub fn convert(&mut self, group: SceneGroup) -> Vec<InsertedLinkset> {
        let what = format!("{} {}", group.root.body.names.name, group.root.body.id);
        let root = &group.root.place;
        let (position, rotation) = match self.placing.place(root.position, root.rotation) {
            Placed::At { position, rotation, is_moved_inside } => {
                if is_moved_inside {
                    let why = format!("it is outside of the region, at {}", root.position);
                    self.findings.add(&*what, format!("{why}, and comes to the border"));
                }
                (position, rotation)
            }
            // As it was asked for.
            Placed::OutsideBox => return Vec::new(),
            Placed::OutsideRegion => {
                self.findings.add(&*what, "it has no place in the region, and is left out");
                return Vec::new();
            }
            Placed::Nowhere => {
                self.findings.add(&*what, "its place is no number, and it is left out");
                return Vec::new();
            }
        };
        let owner = self.accounts.owner(group.root.body.ownership.owner);
        let is_telehub = self.telehub == Some(group.root.body.id) && self.found.is_none();
        let linksets = self.split(&what, group, (position, rotation), owner);
        if let (true, Some((place, body))) = (is_telehub, linksets.first().and_then(|it| it.prims.first())) {
            let (name, object) = (Arc::clone(&body.names.name), body.id);
            let (position, rotation) = (place.motion.position, place.motion.rotation);
            self.found = Some(FoundTelehub { object, name, position, rotation });
        }
        self.n_objects += 1;
        self.n_prims += linksets.iter().map(|linkset| linkset.prims.len() as u64).sum::<u64>();
        linksets
    }

    /// The telehub, once its object was converted.
    #[must_use]
    pub const fn telehub(&self) -> Option<&FoundTelehub> {
        self.found.as_ref()
    }

    /// Objects that became something else, or nothing.
    #[must_use]
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Objects and prims so far.
    #[must_use]
    pub const fn totals(&self) -> (u64, u64) {
        (self.n_objects, self.n_prims)
    }

    /// Divides an object into linksets that a world takes.
    fn split(
        &mut self,
        what: &str,
        group: SceneGroup,
        (position, rotation): (Vec3, Quat),
        owner: AgentId,
    ) -> Vec<InsertedLinkset> {
        let SceneGroup { root, others } = group;
        let root_flags = root.flags;
        if others.iter().any(|part| self.accounts.owner(part.body.ownership.owner) != owner) {
            self.findings.add(what, "parts of it have other owners, and get that of the root");
        }
        let absolute = |part: ScenePart| {
            let (offset, turn) = (part.place.position, part.place.rotation);
            let there = (position + rotation * offset, (rotation * turn).normalize());
            let is_there = there.0.is_finite() && there.1.is_finite();
            // A part without a place lies at the root.
            let at_root = ((position, rotation), (Vec3::ZERO, Quat::IDENTITY));
            let ((position, rotation), in_object) =
                if is_there { (there, (offset, unit(turn))) } else { at_root };
            AbsolutePart { position, rotation, in_object, flags: part.flags, body: part.body }
        };
        let mut rest: VecDeque<AbsolutePart> = others.into_iter().map(absolute).collect();
        let in_object = (Vec3::ZERO, Quat::IDENTITY);
        rest.push_front(AbsolutePart { position, rotation, in_object, flags: root.flags, body: root.body });
        let mut linksets = Vec::new();
        while let Some(root) = rest.pop_front() {
            let root_place = (root.position, root.rotation);
            let mut prims = vec![self.prim(root, None, root_flags, owner)];
            let mut left = VecDeque::new();
            for part in rest {
                let back = root_place.1.inverse();
                let place = if linksets.is_empty() {
                    part.in_object
                } else {
                    (back * (part.position - root_place.0), (back * part.rotation).normalize())
                };
                if prims.len() < INSERT_PRIMS_MAX && place.0.abs().max_element() <= OFFSET_MAX_M {
                    let number = prims.len() as u8;
                    let mut prim = self.prim(part, Some(place), root_flags, owner);
                    prim.0.link_number = number;
                    prims.push(prim);
                } else {
                    left.push_back(part);
                }
            }
            rest = left;
            linksets.push(InsertedLinkset { prims });
        }
        if linksets.len() > 1 {
            let why = "it has too many parts, or too distant ones";
            self.findings.add(what, format!("{why}, and becomes {} objects", linksets.len()));
        }
        linksets
    }

    /// A prim. Roots have their place in the region, within its borders.
    fn prim(
        &mut self,
        part: AbsolutePart,
        in_linkset: Option<(Vec3, Quat)>,
        root_flags: u32,
        owner: AgentId,
    ) -> (PrimMotion, Arc<Body>) {
        let at_root = || (self.placing.inside(part.position), part.rotation);
        let (position, rotation) = in_linkset.unwrap_or_else(at_root);
        let flags = PrimFlags(part.flags & PART_FLAGS & !PrimFlags::TEMPORARY.0);
        let flags = flags.with(PrimFlags::OF_LINKSET, PrimFlags(root_flags & !PrimFlags::TEMPORARY.0));
        let motion =
            PrimMotion { motion: at_rest(position, rotation), parent: LocalId(0), link_number: 0, flags };
        (motion, self.body(part.body, owner))
    }

    fn body(&mut self, body: Arc<Body>, owner: AgentId) -> Arc<Body> {
        let part = ScenePart { place: PartPlace::default(), flags: 0, body };
        let has_home = part.creator_data().is_some();
        let mut body = Arc::unwrap_or_clone(part.body);
        let ownership = Ownership { owner, ..self.accounts.ownership(&body.ownership, has_home) };
        body.ownership = self.shared(ownership);
        body.id = self.ids.give(body.id);
        if let Some(contents) = &body.contents {
            body.contents = Some(Arc::new(self.contents(contents, &body)));
        }
        Arc::new(body)
    }

    fn contents(&self, contents: &Contents, body: &Body) -> Contents {
        let item = |(place, item): (u64, &Arc<ContentItem>)| {
            let has_home = item_creator_data(item).is_some();
            let archived = self.accounts.ownership(&item.ownership, has_home);
            let id = match self.ids.rule() {
                IdRule::Keep => item.id,
                IdRule::Renew => self.ids.part(body.id, place),
            };
            let ownership = Ownership { owner: body.ownership.owner, ..archived };
            Arc::new(ContentItem { id, ownership, ..ContentItem::clone(item) })
        };
        Contents { serial: contents.serial, items: (0..).zip(&contents.items).map(item).collect() }
    }

    fn shared(&mut self, ownership: Ownership) -> Arc<Ownership> {
        match &self.last_ownership {
            Some(last) if **last == ownership => Arc::clone(last),
            _ => Arc::clone(self.last_ownership.insert(Arc::new(ownership))),
        }
    }
}

#[cfg(test)]
mod tests;
