//! Elements of a part in the spelling of this server, which is OpenSimulator's.

use super::flags::{self, ALLOW_DROP, PART_FLAGS, VOLUME_DETECT};
use super::items::{self, Creators};
use super::kept::{KeptData, KeptScope, KeptScopeKind};
use super::scope::UsualElements;
use super::shape_write;
use super::table::{CREATED_MICROSECONDS, HAS_SIT_TARGET, PART};
use super::{PartPlace, ScenePart, values};
use crate::xml::{XmlDocument, XmlLimits, XmlWriter};
use glam::{Quat, Vec3};
use ids::Uuid;
use prim::{Body, LoopedSound, PrimPhysics, SitTarget};

/// Attributes of a part's tag.
pub(super) const PART_ATTRIBUTES: &str =
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"";

/// Microseconds of a second.
const SECOND_US: u64 = 1_000_000;

/// Place of a part in its linkset.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinksetOrder {
    /// 0 for the root.
    pub(super) index: usize,
    pub(super) n_parts: usize,
    pub(super) root_position: Vec3,
}

impl LinksetOrder {
    /// `LinkNum`: 0 for a root without other parts, 1 for one with them.
    fn link_number(&self) -> usize {
        if self.n_parts == 1 { 0 } else { self.index + 1 }
    }
}

/// Seconds of a time of creation, as far as OpenSimulator's number reaches.
pub(super) fn seconds_of(created_us: u64) -> i64 {
    i64::try_from(created_us / SECOND_US).unwrap_or(i64::MAX).min(i32::MAX.into())
}

/// A time of creation from its seconds and, if they are of the same time, its microseconds.
pub(super) fn created_us_of(seconds: i64, microseconds: Option<u64>) -> u64 {
    let whole = u64::try_from(seconds).unwrap_or(0).saturating_mul(SECOND_US);
    microseconds.filter(|&microseconds| seconds_of(microseconds) == seconds).unwrap_or(whole)
}

/// Writes a part with everything that is kept with it.
pub(super) fn write_part(
    part: &ScenePart,
    order: &LinksetOrder,
    kept: &KeptData,
    creators: Creators<'_>,
    out: &mut XmlWriter,
) {
    let scope = kept.scope(KeptScopeKind::Part);
    let attributes = scope.and_then(|scope| scope.attributes.as_deref()).unwrap_or(PART_ATTRIBUTES);
    let usual = usual_part(part, order, Some((kept, creators)));
    let is_stale = |position: &Vec3| scope.and_then(kept_attached_position) != Some(*position);
    let ignored = part.place.attached_position.filter(is_stale).map(|_| "AttachedPos");
    let creator_data = items::creator_data(creators, part.body.ownership.creator);
    let filled = creator_data.as_deref().map(|markup| ("CreatorData", markup));
    out.element("SceneObjectPart", attributes, |out| usual.merge(scope, ignored, filled, out));
}

/// The place on an avatar that is kept.
fn kept_attached_position(scope: &KeptScope) -> Option<Vec3> {
    let markup = scope.markup(&PART, "AttachedPos")?;
    let document = XmlDocument::parse(markup.as_bytes(), &XmlLimits::SMALL).ok()?;
    values::vector(&document.root()).ok()
}

/// The elements of a part. Without `nested`, those of its shape and its contents are left out.
pub(super) fn usual_part(
    part: &ScenePart,
    order: &LinksetOrder,
    nested: Option<(&KeptData, Creators<'_>)>,
) -> UsualElements {
    let ScenePart { place, flags, body } = part;
    let is_root = order.index == 0;
    let mut usual = UsualElements::new(&PART);
    usual.value("AllowedDrop", flags & ALLOW_DROP != 0);
    usual.id("CreatorID", body.ownership.creator.0);
    usual.id("FolderID", body.id);
    usual.value("InventorySerial", body.contents.as_ref().map_or(0, |contents| contents.serial));
    if let Some((kept, creators)) = nested {
        let scope = kept.scope(KeptScopeKind::TaskInventory);
        let contents = body.contents.as_deref();
        if scope.is_some() || contents.is_some_and(|contents| !contents.items.is_empty()) {
            usual.put("TaskInventory", |writer| {
                items::write_contents(contents, body.id, scope, creators, writer);
            });
        }
    }
    usual.id("UUID", body.id);
    usual.value("LocalId", order.index + 1);
    usual.leaf("Name", &body.names.name);
    usual.value("Material", body.material as u8);
    usual.value("PassTouches", false);
    usual.value("PassCollisions", false);
    usual.value("RegionHandle", 0);
    usual.value("ScriptAccessPin", 0);
    put_place(place, order, &mut usual);
    usual.leaf("Description", &body.names.description);
    put_hover_text(body, &mut usual);
    usual.leaf("SitName", &body.names.sit);
    usual.leaf("TouchName", &body.names.touch);
    usual.value("LinkNum", order.link_number());
    usual.value("ClickAction", body.click_action);
    if let Some((kept, _)) = nested {
        let scope = kept.scope(KeptScopeKind::Shape);
        usual.put("Shape", |writer| shape_write::write_shape(body, scope, writer));
    }
    usual.vector("Scale", body.scale);
    put_sit_target(body, &mut usual);
    usual.value("ParentID", usize::from(!is_root));
    usual.value("CreationDate", seconds_of(body.created_us));
    usual.value("Category", 0);
    usual.value("SalePrice", body.sale.price);
    usual.value("ObjectSaleType", body.sale.kind as u8);
    usual.value("OwnershipCost", 0);
    put_ownership(body, &mut usual);
    usual.value("Flags", flags::names(flags & PART_FLAGS & !(ALLOW_DROP | VOLUME_DETECT)));
    usual.id("CollisionSound", Uuid::nil());
    usual.value("CollisionSoundVolume", 0);
    if !body.media_url.is_empty() {
        usual.leaf("MediaUrl", &body.media_url);
    }
    usual.vector("AttachedPos", place.attached_position.unwrap_or_default());
    usual.bytes("TextureAnimation", &body.texture_animation);
    usual.bytes("ParticleSystem", &body.particles);
    for name in ["PayPrice0", "PayPrice1", "PayPrice2", "PayPrice3", "PayPrice4"] {
        usual.value(name, -2);
    }
    usual.value("Buoyancy", 0);
    usual.vector("Force", Vec3::ZERO);
    usual.vector("Torque", Vec3::ZERO);
    usual.value("VolumeDetectActive", flags & VOLUME_DETECT != 0);
    put_physics(&body.physics, &mut usual);
    usual.vector("CameraEyeOffset", Vec3::ZERO);
    usual.vector("CameraAtOffset", Vec3::ZERO);
    put_sound(body, &mut usual);
    if seconds_of(body.created_us) as u64 * SECOND_US != body.created_us {
        usual.value(CREATED_MICROSECONDS, body.created_us);
    }
    if body.sit_target.is_some_and(|target| is_taken_for_none(&target)) {
        usual.value(HAS_SIT_TARGET, true);
    }
    usual
}

/// True for a sit target that OpenSimulator takes for none.
fn is_taken_for_none(target: &SitTarget) -> bool {
    target.position == Vec3::ZERO && target.rotation == Quat::IDENTITY
}

fn put_place(place: &PartPlace, order: &LinksetOrder, usual: &mut UsualElements) {
    usual.vector("GroupPosition", order.root_position);
    usual.vector("OffsetPosition", if order.index == 0 { Vec3::ZERO } else { place.position });
    usual.rotation("RotationOffset", place.rotation);
    usual.vector("Velocity", place.velocity);
    usual.vector("AngularVelocity", place.angular_velocity);
    usual.vector("Acceleration", place.acceleration);
}

/// Hover text and its colour. Alpha is inverted in messages, and in the model, but not in files.
fn put_hover_text(body: &Body, usual: &mut UsualElements) {
    let [red, green, blue, alpha] = body.hover_text.color;
    usual.put("Color", |writer| {
        writer.open("Color");
        for (name, value) in [("R", red), ("G", green), ("B", blue), ("A", u8::MAX - alpha)] {
            writer.value(name, value);
        }
        writer.close("Color");
    });
    usual.leaf("Text", &body.hover_text.text);
}

fn put_sit_target(body: &Body, usual: &mut UsualElements) {
    let none = SitTarget { position: Vec3::ZERO, rotation: Quat::IDENTITY };
    let SitTarget { position, rotation } = body.sit_target.unwrap_or(none);
    usual.rotation("SitTargetOrientation", rotation);
    usual.vector("SitTargetPosition", position);
    usual.vector("SitTargetPositionLL", position);
    usual.rotation("SitTargetOrientationLL", rotation);
}

fn put_ownership(body: &Body, usual: &mut UsualElements) {
    let ownership = &body.ownership;
    usual.id("GroupID", ownership.group);
    usual.id("OwnerID", ownership.owner.0);
    usual.id("LastOwnerID", ownership.last_owner.0);
    usual.id("RezzerID", Uuid::nil());
    let masks = &ownership.permissions;
    for (name, mask) in [
        ("BaseMask", masks.base),
        ("OwnerMask", masks.owner),
        ("GroupMask", masks.group),
        ("EveryoneMask", masks.everyone),
        ("NextOwnerMask", masks.next_owner),
    ] {
        usual.value(name, mask.bits());
    }
}

/// Matter is written if it is not the default.
fn put_physics(physics: &PrimPhysics, usual: &mut UsualElements) {
    let default = PrimPhysics::default();
    usual.value("PhysicsShapeType", physics.shape as u8);
    for (name, value, default) in [
        ("Density", physics.density, default.density),
        ("Friction", physics.friction, default.friction),
        ("Bounce", physics.restitution, default.restitution),
        ("GravityModifier", physics.gravity, default.gravity),
    ] {
        if value != default {
            usual.float(name, value);
        }
    }
}

fn put_sound(body: &Body, usual: &mut UsualElements) {
    let none = LoopedSound { id: Uuid::nil(), gain: 0.0, flags: 0, radius_m: 0.0 };
    let LoopedSound { id, gain, flags, radius_m } = body.sound.unwrap_or(none);
    usual.id("SoundID", id);
    usual.float("SoundGain", gain);
    usual.value("SoundFlags", flags);
    usual.float("SoundRadius", radius_m);
    usual.value("SoundQueueing", false);
}
