//! One request while it is carried out: the acting user's rights, the bounds, and the list of refusals.

use super::pull::Pull;
use super::schedule::{self, ObjectSchedule};
use super::session::SessionEdits;
use super::{ActingUser, EditedLand, Outcome};
use crate::objects::escrow::Escrow;
use crate::objects::{ObjectError, ObjectStore, with_emptiness};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey, Ticket, Uuid};
use link::{
    CEILING_M, EditRefusal, Event, ObjectCommand, ObjectLimits, ObjectMask, PrimFlags, PrimMotion, Transfer,
    VersionedBody,
};
use prim::body::{PHYSICAL_SIZE_RANGE_M, SIZE_RANGE_M};
use prim::{Body, ItemDrop, LinksetPermissions, Mask, MediaUsers, Role, Sale, SaleKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Least height of an object, metres: that of OpenSimulator.
const FLOOR_M: f32 = -100.0;
/// Metres of a part from its root along each axis at most: the width of a usual region.
pub(super) const OFFSET_MAX_M: f32 = 256.0;
/// Difference to 1 of the squared length of a rotation that is left as it is: 4 mm at 256 m. Archives have lengths within 1e-5 of 1.
const UNIT_TOLERANCE: f32 = 2.5e-5;

/// Carries out one request.
#[derive(Debug)]
pub(super) struct ObjectEditor<'a> {
    pub(super) store: &'a mut ObjectStore,
    /// None in a world without land.
    pub(super) land: Option<EditedLand<'a>>,
    pub(super) limits: &'a ObjectLimits,
    pub(super) temporaries: &'a mut ObjectSchedule,
    /// Pulls of this step.
    pub(super) pulls: &'a mut BTreeMap<SessionKey, Option<Pull>>,
    /// State of the acting session.
    pub(super) own: &'a mut SessionEdits,
    pub(super) events: &'a mut Vec<Event>,
    pub(super) actor: ActingUser,
    /// Width of the region, metres.
    pub(super) size_m: f32,
    pub(super) outcome: Outcome,
    /// The linkset that was judged last: requests often name prims of one linkset. Forgotten when masks, owners or linksets change.
    pub(super) judged: Option<Judgement>,
}

/// Relation of the acting user to a linkset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judgement {
    pub(super) root: LocalId,
    pub(super) owner: AgentId,
    pub(super) is_attached: bool,
    rights: Mask,
    role: Role,
    /// Rights of its owner, for offers.
    owner_rights: Mask,
    is_locked: bool,
}

impl Judgement {
    pub(super) fn allows(&self, deed: prim::Edit) -> bool {
        prim::allows(deed, self.rights, self.role)
    }

    /// True if the acting user may put this item into a prim of it.
    pub(super) fn allows_drop(&self, item: ItemDrop) -> bool {
        prim::allows_drop(item, self.rights, self.role, self.is_locked)
    }

    /// The users among whom the acting one is, for media of its faces.
    pub(super) const fn media_users(&self) -> MediaUsers {
        match self.role {
            Role::Owner | Role::Friend | Role::Operator { .. } => MediaUsers::ALL,
            Role::Group => MediaUsers(MediaUsers::GROUP.0 | MediaUsers::ANYONE.0),
            Role::Everyone => MediaUsers::ANYONE,
        }
    }

    /// True if its owner may sell it so.
    pub(super) fn can_be_sold(&self, kind: SaleKind) -> bool {
        self.owner_rights.has(match kind {
            SaleKind::No => Mask::NONE,
            SaleKind::Original | SaleKind::Contents => Mask::TRANSFER,
            SaleKind::Copy => Mask::TRANSFER | Mask::COPY,
        })
    }
}

impl ObjectEditor<'_> {
    /// Carries out a request for the objects that allow it.
    pub(super) fn carry_out(&mut self, request: ObjectCommand) {
        match request {
            ObjectCommand::Create(object) => self.create(*object),
            ObjectCommand::Duplicate(duplicates) => self.duplicate(*duplicates),
            ObjectCommand::Place(places) => self.each(places, Self::place),
            ObjectCommand::Shape(shapes) => self.each(shapes, Self::set_shape),
            ObjectCommand::Textures(textures) => self.each(textures, Self::set_textures),
            ObjectCommand::Material(materials) => self.each(materials, Self::set_material),
            ObjectCommand::ExtraParam(params) => self.each(params, Self::set_extra_param),
            ObjectCommand::Flags(object, flags) => self.each(vec![(object, flags)], Self::set_flags),
            ObjectCommand::Name(names) => self.each(names, Self::set_name),
            ObjectCommand::Description(texts) => self.each(texts, Self::set_description),
            ObjectCommand::ClickAction(actions) => self.each(actions, Self::set_click_action),
            ObjectCommand::InSearch(objects) => self.each(objects, Self::set_in_search),
            ObjectCommand::Permissions(masks) => self.each(masks, Self::set_permissions),
            ObjectCommand::Group { objects, group } => self.each(with(objects, group), Self::set_group),
            ObjectCommand::Owner { objects, owner, group } => {
                self.each(with(objects, (owner, group)), Self::set_owner);
            }
            ObjectCommand::Sale(offers) => self.each(offers, Self::offer),
            ObjectCommand::Buy { offers, group } => {
                self.each(offers, |editor, id, offer| editor.buy(id, offer, group));
            }
            ObjectCommand::Link(objects) => self.link(objects),
            ObjectCommand::Delink(objects) => self.delink(objects),
            ObjectCommand::Attach(objects) => self.attach_all(objects),
            ObjectCommand::PutDown(objects) => {
                self.each(with(objects, ()), |editor, id, ()| editor.put_down(id))
            }
            ObjectCommand::TakeOff(objects) => {
                self.each(with(objects, ()), |editor, id, ()| editor.take_off(id));
            }
            ObjectCommand::Derez(derez) => self.derez(derez),
            ObjectCommand::Clear(objects) => self.clear(objects),
            ObjectCommand::Undo(objects) => self.undo(objects),
            ObjectCommand::Redo(objects) => self.redo(objects),
            ObjectCommand::Insert(insertion) => self.insert(*insertion, false),
            ObjectCommand::InsertWithIds(insertion) => self.insert(*insertion, true),
            ObjectCommand::Media(object, faces) => self.each(vec![(object, faces)], Self::set_media),
            ObjectCommand::Navigate(object, visit) => self.each(vec![(object, visit)], Self::navigate),
            ObjectCommand::RenderMaterial(faces) => self.each(faces, Self::set_render_material),
            ObjectCommand::FaceMaterial(faces) => self.each(faces, Self::set_face_material),
            ObjectCommand::Drag { object, grip, target } => {
                self.each(vec![(object, ())], |editor, id, ()| editor.pull(id, grip, target));
            }
            ObjectCommand::Release => self.let_go(),
            ObjectCommand::PutItem(id, item) => self.on_contents(id, |editor| editor.put_item(id, *item)),
            ObjectCommand::EditItem(id, edit) => self.on_contents(id, |editor| editor.edit_item(id, *edit)),
            ObjectCommand::RemoveItem(id, item) => {
                self.on_contents(id, |editor| editor.remove_item(id, item));
            }
            ObjectCommand::ReadItem(id, item) => self.on_contents(id, |editor| editor.read_item(id, item)),
            ObjectCommand::TakeItem { object: id, item, folder } => {
                self.on_contents(id, |editor| editor.take_item(id, item, folder));
            }
        }
    }

    /// Does this with each object, and refuses those with which it cannot be done.
    pub(super) fn each<T>(
        &mut self,
        requests: Vec<(LocalId, T)>,
        mut carry_out: impl FnMut(&mut Self, LocalId, T) -> Result<(), EditRefusal>,
    ) {
        for (id, request) in requests {
            let result = self.charge(1).and_then(|()| carry_out(self, id, request));
            self.settle(Some(id), result);
        }
    }

    /// Counts a result, of the object that the client named.
    pub(super) fn settle(&mut self, id: Option<LocalId>, result: Result<(), EditRefusal>) {
        match result {
            Ok(()) => self.outcome.done += 1,
            Err(reason) => {
                self.outcome.refuse(reason);
                self.outcome.ids.extend(id);
            }
        }
    }

    /// Gives a transfer a ticket, and reports it.
    pub(super) fn transfer(&mut self, give: impl FnOnce(&mut Escrow) -> (Ticket, Transfer)) {
        let (ticket, transfer) = give(self.store.escrow_mut());
        self.events.push(Event::Transfer(ticket, transfer));
    }

    /// Takes this number of changed prims from the session's rate.
    pub(super) fn charge(&mut self, n_prims: usize) -> Result<(), EditRefusal> {
        let (now_ns, per_s) = (self.store.now_ns(), self.limits.edits_per_s);
        let is_free = self.actor.is_node || n_prims == 0;
        if is_free || self.own.changed.take(n_prims, per_s, now_ns) {
            Ok(())
        } else {
            Err(EditRefusal::TooFast)
        }
    }

    /// Rights of the acting user on the linkset of a prim.
    pub(super) fn judge(&mut self, id: LocalId) -> Result<Judgement, EditRefusal> {
        let root = self.store.root_of(id).ok_or(EditRefusal::Unknown)?;
        if let Some(known) = self.judged.filter(|known| known.root == root) {
            return Ok(known);
        }
        // It costs a look at each prim.
        self.charge(self.store.linkset_len(root) - 1)?;
        let body = |id| self.store.body(id).map(|versioned| &versioned.body);
        let ownership = &body(root).ok_or(EditRefusal::Unknown)?.ownership;
        let (owner, is_attached) = (ownership.owner, is_attached(self.store, root));
        let parts = self.store.linkset(root).skip(1).filter_map(|id| Some((id, body(id)?)));
        let parts = parts.map(|(id, part)| (part.ownership.permissions, self.store.contents_rights(id)));
        let of_root = (&ownership.permissions, self.store.contents_rights(root));
        let shared = LinksetPermissions::of(of_root, parts);
        let role = self.role(owner);
        let rights = shared.rights(role, is_attached);
        let owner_rights = shared.rights(Role::Owner, is_attached);
        let is_locked = shared.is_locked();
        let judged = Judgement { root, owner, is_attached, rights, role, owner_rights, is_locked };
        self.judged = Some(judged);
        Ok(judged)
    }

    /// As [`Self::judge`], refused without the right to this.
    pub(super) fn need(&mut self, id: LocalId, deed: prim::Edit) -> Result<Judgement, EditRefusal> {
        let judged = self.judge(id)?;
        if judged.allows(deed) { Ok(judged) } else { Err(EditRefusal::Rights) }
    }

    fn role(&self, owner: AgentId) -> Role {
        let is_owner = self.actor.agent == Some(owner);
        if self.actor.is_node || self.own.is_operator {
            Role::Operator { is_owner }
        } else if is_owner {
            Role::Owner
        } else if self.own.may_edit_for(owner) {
            Role::Friend
        } else {
            Role::Everyone
        }
    }

    /// Account of the acting user, the owner of a new object or a copy.
    pub(super) fn new_owner(&self) -> Result<AgentId, EditRefusal> {
        self.actor.agent.ok_or(EditRefusal::NoOwner)
    }

    /// Prims of a linkset, its root first, all of which are about to change.
    pub(super) fn linkset(&mut self, root: LocalId) -> Result<Vec<LocalId>, EditRefusal> {
        self.charge(self.store.linkset_len(root) - 1)?;
        Ok(self.store.linkset(root).collect())
    }

    /// Changes the body of a prim that was judged.
    pub(super) fn edit_body(&mut self, id: LocalId, mask: ObjectMask, edit: impl FnOnce(&mut Body)) {
        self.store.edit_body(id, mask, edit).expect("a prim that was judged is there");
    }

    /// Adds new prims within the limits, and reports them to their maker.
    pub(super) fn add(
        &mut self,
        mut prims: Vec<(PrimMotion, VersionedBody)>,
        is_selected: bool,
    ) -> Result<(), EditRefusal> {
        for (motion, versioned) in &mut prims {
            motion.flags = with_emptiness(motion.flags, versioned.body.n_items());
        }
        let n_prims = prims.len();
        if self.store.len() + n_prims > self.limits.objects_max as usize {
            return Err(EditRefusal::Full);
        }
        if let Some((root, _)) = prims.first() {
            let n_counted = if root.flags.any(PrimFlags::TEMPORARY) { 0 } else { n_prims };
            self.need_building_land(root.motion.position, n_counted)?;
        }
        let is_physical = |prim: &&(PrimMotion, VersionedBody)| prim.0.flags.any(PrimFlags::PHYSICS);
        self.check_physical(prims.iter().filter(is_physical).count())?;
        let bodies = || prims.iter().map(|(_, versioned)| &versioned.body);
        self.check_items(
            bodies().map(|body| body.n_items()).sum(),
            bodies().map(|body| body.carried_len()).sum(),
        )?;
        let (now_ns, per_s) = (self.store.now_ns(), self.limits.rez_per_s);
        if !self.actor.is_node && !self.own.rezzed.take(n_prims, per_s, now_ns) {
            return Err(EditRefusal::TooFast);
        }
        let id = self.store.insert_linkset(prims)?;
        if is_temporary(self.store, id) {
            let object = self.id_of(id);
            self.temporaries.schedule(object, now_ns + schedule::life_ns(self.limits));
        }
        self.report_created(id, is_selected);
        Ok(())
    }

    /// Refuses more physical prims than the region may have.
    pub(super) fn check_physical(&self, n_more: usize) -> Result<(), EditRefusal> {
        let n_physical = self.store.counts().physical + n_more;
        let is_too_many = n_more > 0 && n_physical > self.limits.physical_max as usize;
        if is_too_many { Err(EditRefusal::TooManyPhysical) } else { Ok(()) }
    }

    /// As [`Self::check_physical`], for these prims as physical ones. Refused, too, if one of them is too thin or too large for that.
    pub(super) fn check_physical_prims(&self, prims: &[LocalId]) -> Result<(), EditRefusal> {
        let has_size =
            |id: &LocalId| self.store.body(*id).is_some_and(|versioned| versioned.body.has_physical_size());
        if !prims.iter().all(has_size) {
            return Err(EditRefusal::PhysicalSize);
        }
        let is_new =
            |id: &&LocalId| self.store.motion(**id).is_some_and(|prim| !prim.flags.any(PrimFlags::PHYSICS));
        self.check_physical(prims.iter().filter(is_new).count())
    }

    /// Reports the local id of a linkset to the acting session.
    pub(super) fn report_created(&mut self, id: LocalId, is_selected: bool) {
        let (session, object) = (self.actor.session, self.id_of(id));
        if session != SessionKey::NODE {
            self.events.push(Event::ObjectCreated { session, id, object, is_selected });
        }
    }

    /// Id of a prim that is there.
    pub(super) fn id_of(&self, id: LocalId) -> Uuid {
        self.store.body(id).expect("a prim that is there").body.id
    }

    /// A position with its height clamped to that of objects. A position beyond the borders is refused, as by OpenSimulator without a neighbour there.
    pub(super) fn in_region(&self, position: Vec3) -> Result<Vec3, EditRefusal> {
        let position = finite(position)?;
        let across = position.truncate();
        let is_inside =
            across.cmpge(glam::Vec2::ZERO).all() && across.cmple(glam::Vec2::splat(self.size_m)).all();
        if !is_inside {
            return Err(EditRefusal::Outside);
        }
        Ok(across.extend(position.z.clamp(FLOOR_M, CEILING_M)))
    }

    /// The nearest place within the borders, for new objects.
    pub(super) fn nearest_in_region(&self, position: Vec3) -> Result<Vec3, EditRefusal> {
        let most = Vec3::new(self.size_m, self.size_m, CEILING_M);
        Ok(finite(position)?.clamp(Vec3::new(0.0, 0.0, FLOOR_M), most))
    }
}

impl From<ObjectError> for EditRefusal {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::Unknown => Self::Unknown,
            ObjectError::Twice => Self::Twice,
            ObjectError::Full => Self::Full,
            ObjectError::TooManyParts => Self::TooManyParts,
            ObjectError::Itself => Self::Itself,
        }
    }
}

/// Each object with the same request.
fn with<T: Copy>(objects: Vec<LocalId>, request: T) -> Vec<(LocalId, T)> {
    objects.into_iter().map(|id| (id, request)).collect()
}

/// True for a root that an avatar wears.
fn is_attached(store: &ObjectStore, root: LocalId) -> bool {
    store.motion(root).is_some_and(|prim| prim.parent != LocalId(0))
}

/// True for a prim that vanishes by itself.
pub(super) fn is_temporary(store: &ObjectStore, id: LocalId) -> bool {
    store.motion(id).is_some_and(|prim| prim.flags.any(PrimFlags::TEMPORARY))
}

/// A vector of numbers.
pub(super) fn finite(vector: Vec3) -> Result<Vec3, EditRefusal> {
    if vector.is_finite() { Ok(vector) } else { Err(EditRefusal::BadNumber) }
}

/// A rotation as a unit quaternion; one without direction is refused. One of length 1 stays as it is, to the last digit: an object that is taken, or that an
/// archive has, comes back the same.
pub(super) fn unit_rotation(rotation: Quat) -> Result<Quat, EditRefusal> {
    let squared = rotation.length_squared();
    if (squared - 1.0).abs() <= UNIT_TOLERANCE {
        return Ok(rotation);
    }
    let has_direction = squared.is_finite() && squared > 1e-6;
    if has_direction { Ok(rotation.normalize()) } else { Err(EditRefusal::BadNumber) }
}

/// Least and most metres along an axis of a prim with these flags.
pub(super) const fn size_range_m(flags: PrimFlags) -> (f32, f32) {
    if flags.any(PrimFlags::PHYSICS) { PHYSICAL_SIZE_RANGE_M } else { SIZE_RANGE_M }
}

/// The nearest size in a range.
pub(super) fn bounded_size(size: Vec3, (least, most): (f32, f32)) -> Result<Vec3, EditRefusal> {
    Ok(finite(size)?.clamp(Vec3::splat(least), Vec3::splat(most)))
}

/// Makes a prim another user's, with all its items: its owner has the rights of the next owner, and it is not for sale.
pub(super) fn hand_over(body: &mut Body, owner: AgentId, group: Uuid) {
    let ownership = Arc::make_mut(&mut body.ownership);
    ownership.last_owner = ownership.owner;
    ownership.owner = owner;
    ownership.group = group;
    ownership.permissions = ownership.permissions.for_next_owner();
    body.sale = Sale::default();
    if let Some(contents) = &mut body.contents {
        *contents = Arc::new(contents.for_next_owner(owner, group));
    }
}
