//! Reading of a part. Wrong values are refused, but for those that OpenSimulator replaces, too.

use super::error::{Flaw, Mode, ObjectError, ObjectLossReason, ReadContext};
use super::fields::Fields;
use super::flags::{self, ALLOW_DROP, PART_FLAGS, VOLUME_DETECT};
use super::items::{self, ReadItem};
use super::kept::{KeptData, KeptScope, KeptScopeKind};
use super::part_write::{LinksetOrder, PART_ATTRIBUTES, created_us_of, usual_part};
use super::scope::FoundElements;
use super::shape_read::{ReadShape, read_shape};
use super::shape_write::usual_shape;
use super::table::{CREATED_MICROSECONDS, HAS_SIT_TARGET, PART, SHAPE};
use super::{PartPlace, ScenePart, media, values};
use crate::xml::XmlElement;
use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use prim::body::{
    CLICK_ACTION_MAX, DESCRIPTION_MAX, HOVER_TEXT_MAX, MEDIA_URL_MAX, NAME_MAX, PARTICLES_MAX,
    TEXTURE_ANIMATION_LEN,
};
use prim::{
    Body, CARRIED_MAX, Contents, HoverText, LoopedSound, Mask, Material, Names, Ownership, Permissions,
    PhysicsShape, PrimPhysics, Sale, SaleKind, SitTarget,
};
use std::sync::Arc;

/// Difference of a rotation's length from 1 that is rounding.
const UNIT_TOLERANCE: f32 = 1e-5;

/// A rotation that is shorter is none.
const ROTATION_MIN: f32 = 1e-4;

/// A part whose place in the linkset is not known yet.
#[derive(Debug)]
pub(super) struct ReadPart<'d> {
    place: PartPlace,
    flags: u32,
    /// Without contents.
    body: Body,
    serial: u32,
    pub(super) items: Vec<ReadItem>,
    found: FoundElements<'d>,
    shape: Option<FoundElements<'d>>,
    kept: KeptData,
    /// `LinkNum`.
    pub(super) link_number: i64,
    path: String,
}

/// Reads a part. `around` is what the element around it keeps.
pub(super) fn read_part<'d>(
    element: &XmlElement<'d>,
    around: Option<KeptScope>,
    is_root: bool,
    context: &mut ReadContext,
) -> Result<ReadPart<'d>, ObjectError> {
    context.count_part()?;
    let found = FoundElements::of(element, &PART, context);
    let fields = Fields { found: &found, mode: Mode::Strict };
    let mut kept = KeptData::default();
    if let Some(around) = around {
        kept.insert(KeptScopeKind::Wrapper, around);
    }
    let id = fields.read(context, "UUID", Uuid::nil(), values::id)?;
    if id.is_nil() && fields.get("UUID").is_none() {
        context.problem("UUID", Flaw::Id);
    }
    let items = match fields.get("TaskInventory") {
        None => Vec::new(),
        Some(list) => {
            let (items, scope) =
                context.within("TaskInventory", None, |context| items::read_contents(&list, id, context))?;
            if items.is_empty() || !scope.is_empty() {
                kept.insert(KeptScopeKind::TaskInventory, scope);
            }
            items
        }
    };
    let (shape, of_shape) = read_shape_of(&fields, context)?;
    let place = read_place(&fields, is_root, context)?;
    let body = read_body(id, of_shape, &fields, context)?;
    let part = ReadPart {
        place,
        flags: read_flags(&fields, context)?,
        body,
        serial: fields.read(context, "InventorySerial", 0, values::bits)?,
        items,
        link_number: fields.read(context, "LinkNum", 0, values::int)?,
        shape,
        kept,
        path: context.path_of(""),
        found,
    };
    Ok(part)
}

/// The shape, and its elements.
fn read_shape_of<'d>(
    fields: &Fields<'_, 'd>,
    context: &mut ReadContext,
) -> Result<(Option<FoundElements<'d>>, ReadShape), ObjectError> {
    let Some(element) = fields.get("Shape") else {
        context.problem("Shape", Flaw::Empty);
        return Ok((None, read_shape(None, context)?));
    };
    context.within("Shape", None, |context| {
        let found = FoundElements::of(&element, &SHAPE, context);
        let shape = read_shape(Some(&found), context)?;
        Ok((Some(found), shape))
    })
}

fn read_place(
    fields: &Fields<'_, '_>,
    is_root: bool,
    context: &mut ReadContext,
) -> Result<PartPlace, ObjectError> {
    let group_position = fields.read(context, "GroupPosition", Vec3::ZERO, values::vector)?;
    let offset = fields.read(context, "OffsetPosition", Vec3::ZERO, values::vector)?;
    let rotation = fields.read(context, "RotationOffset", Quat::IDENTITY, values::rotation)?;
    let mut read_movement = |name: &str| fields.read_or_default(context, name, Vec3::ZERO, values::vector);
    let velocity = read_movement("Velocity");
    let angular_velocity = read_movement("AngularVelocity");
    let acceleration = read_movement("Acceleration");
    let attached = read_movement("AttachedPos");
    Ok(PartPlace {
        position: if is_root { group_position } else { offset },
        rotation: unit(rotation, "RotationOffset", context),
        velocity,
        angular_velocity,
        acceleration,
        attached_position: (is_root && attached != Vec3::ZERO).then_some(attached),
    })
}

/// A rotation of length 1. One without length is none.
fn unit(rotation: Quat, name: &str, context: &mut ReadContext) -> Quat {
    let length = rotation.length();
    if !length.is_finite() || length < ROTATION_MIN {
        context.problem(name, Flaw::Vector);
        return Quat::IDENTITY;
    }
    if (length - 1.0).abs() > UNIT_TOLERANCE { rotation / length } else { rotation }
}

fn read_flags(fields: &Fields<'_, '_>, context: &mut ReadContext) -> Result<u32, ObjectError> {
    let named = fields.read(context, "Flags", 0, flags::read)?;
    let drops = fields.read(context, "AllowedDrop", false, values::boolean)?;
    let detects = fields.read(context, "VolumeDetectActive", false, values::boolean)?;
    let set = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    Ok((named | set(drops, ALLOW_DROP) | set(detects, VOLUME_DETECT)) & PART_FLAGS)
}

fn read_body(
    id: Uuid,
    of_shape: ReadShape,
    fields: &Fields<'_, '_>,
    context: &mut ReadContext,
) -> Result<Body, ObjectError> {
    let ownership = read_ownership(fields, context)?;
    let new = Body::new(id, of_shape.shape, Arc::clone(&of_shape.texture_entry), ownership.creator, 0);
    let scale = of_shape.scale.unwrap_or(new.scale);
    let address = fields.read(context, "MediaUrl", "".into(), values::text)?;
    let media = of_shape.media.and_then(|faces| match media::media_of(faces, &address) {
        Ok(media) => Some(Arc::new(media)),
        Err(flaw) => {
            context.problem("Shape/Media", flaw);
            None
        }
    });
    let media_url = match &media {
        Some(media) => media.address().into(),
        None => fields.text(context, "MediaUrl", MEDIA_URL_MAX)?,
    };
    let texture_animation = fields.bytes(context, "TextureAnimation", TEXTURE_ANIMATION_LEN)?;
    let seconds = fields.read(context, "CreationDate", 0, values::int)?;
    let exact = fields
        .read_or_default(context, CREATED_MICROSECONDS, None, |element| values::unsigned(element).map(Some));
    let body = Body {
        p_code: of_shape.p_code,
        state: of_shape.state,
        material: fields.code(context, "Material", Material::of_code)?,
        click_action: fields
            .code(context, "ClickAction", |code| (code <= CLICK_ACTION_MAX).then_some(code))?,
        scale: fields.read(context, "Scale", scale, values::vector)?,
        texture_animation: whole_animation(texture_animation, context).into(),
        extra_params: of_shape.extra_params,
        particles: fields.bytes(context, "ParticleSystem", PARTICLES_MAX)?.into(),
        hover_text: read_hover_text(fields, context)?,
        media_url,
        media,
        overrides: of_shape.overrides.map(Arc::new),
        sound: read_sound(fields, context)?,
        names: Names {
            name: fields.text(context, "Name", NAME_MAX)?,
            description: fields.text(context, "Description", DESCRIPTION_MAX)?,
            touch: fields.text(context, "TouchName", NAME_MAX)?,
            sit: fields.text(context, "SitName", NAME_MAX)?,
        },
        ownership: Arc::new(ownership),
        created_us: created_us_of(seconds, exact),
        sale: Sale {
            kind: fields.code(context, "ObjectSaleType", SaleKind::of_code)?,
            price: fields.read(context, "SalePrice", 0, values::whole)?,
        },
        physics: read_physics(fields, context)?,
        sit_target: read_sit_target(fields, context)?,
        ..new
    };
    let read = body.clone();
    let body = body.checked().map_err(|reason| ObjectError::Body { path: context.path_of(""), reason })?;
    note_clamped(&read, &body, context);
    Ok(body)
}

/// Notes values that were out of range.
fn note_clamped(read: &Body, checked: &Body, context: &mut ReadContext) {
    let (was, is) = (&read.physics, &checked.physics);
    let sound = |body: &Body| body.sound.map(|sound| (sound.gain, sound.radius_m));
    for (name, is_clamped) in [
        ("Scale", read.scale != checked.scale),
        ("SalePrice", read.sale != checked.sale),
        ("Density", was.density != is.density),
        ("Friction", was.friction != is.friction),
        ("Bounce", was.restitution != is.restitution),
        ("GravityModifier", was.gravity != is.gravity),
        ("SoundGain", sound(read) != sound(checked)),
    ] {
        if is_clamped {
            context.problem(name, Flaw::Clamped);
        }
    }
}

/// An animation of textures, or none of another length.
fn whole_animation(bytes: Vec<u8>, context: &mut ReadContext) -> Vec<u8> {
    if matches!(bytes.len(), 0 | TEXTURE_ANIMATION_LEN) {
        return bytes;
    }
    context.problem("TextureAnimation", Flaw::Length(bytes.len()));
    Vec::new()
}

/// Users and masks. No mask has more than the bounds of [`Permissions::with`] allow.
fn read_ownership(fields: &Fields<'_, '_>, context: &mut ReadContext) -> Result<Ownership, ObjectError> {
    let mut read_id = |name: &str| fields.read(context, name, Uuid::nil(), values::id);
    let (creator, group) = (AgentId(read_id("CreatorID")?), read_id("GroupID")?);
    let (owner, last_owner) = (AgentId(read_id("OwnerID")?), AgentId(read_id("LastOwnerID")?));
    let new = Permissions::NEW;
    let mut read_mask = |name: &str, absent: Mask| {
        let bits = fields.read(context, name, absent.bits(), values::bits)?;
        Ok::<Mask, ObjectError>(Mask::of_bits(bits))
    };
    let masks = Permissions {
        base: read_mask("BaseMask", new.base)?,
        owner: read_mask("OwnerMask", new.owner)?,
        group: read_mask("GroupMask", new.group)?,
        everyone: read_mask("EveryoneMask", new.everyone)?,
        next_owner: read_mask("NextOwnerMask", new.next_owner)?,
    };
    let bounded = [("OwnerMask", masks.owner), ("GroupMask", masks.group), ("EveryoneMask", masks.everyone)];
    for (name, mask) in bounded {
        if !masks.base.has(mask) {
            context.problem(name, Flaw::Clamped);
        }
    }
    Ok(Ownership { creator, owner, last_owner, group, permissions: masks.bounded() })
}

/// Hover text. Alpha is inverted in messages, and in the model, but not in files.
fn read_hover_text(fields: &Fields<'_, '_>, context: &mut ReadContext) -> Result<HoverText, ObjectError> {
    let opaque = [0, 0, 0, u8::MAX];
    let [red, green, blue, alpha] = fields.read_or_default(context, "Color", opaque, values::color);
    let text = fields.text(context, "Text", HOVER_TEXT_MAX)?;
    Ok(HoverText { text, color: [red, green, blue, u8::MAX - alpha] })
}

fn read_sound(
    fields: &Fields<'_, '_>,
    context: &mut ReadContext,
) -> Result<Option<LoopedSound>, ObjectError> {
    let id = fields.read(context, "SoundID", Uuid::nil(), values::id)?;
    let gain = fields.read(context, "SoundGain", 0.0, values::float)?;
    let flags = fields.read(context, "SoundFlags", 0, values::byte)?;
    let radius_m = fields.read(context, "SoundRadius", 0.0, values::float)?;
    Ok((!id.is_nil()).then_some(LoopedSound { id, gain, flags, radius_m }))
}

fn read_physics(fields: &Fields<'_, '_>, context: &mut ReadContext) -> Result<PrimPhysics, ObjectError> {
    let plain = PrimPhysics::default();
    Ok(PrimPhysics {
        shape: fields.code(context, "PhysicsShapeType", PhysicsShape::of_code)?,
        density: fields.read(context, "Density", plain.density, values::float)?,
        friction: fields.read(context, "Friction", plain.friction, values::float)?,
        restitution: fields.read(context, "Bounce", plain.restitution, values::float)?,
        gravity: fields.read(context, "GravityModifier", plain.gravity, values::float)?,
    })
}

/// The place for a sitting avatar. It stands there twice under different names, of which OpenSimulator takes the second one.
fn read_sit_target(
    fields: &Fields<'_, '_>,
    context: &mut ReadContext,
) -> Result<Option<SitTarget>, ObjectError> {
    let rotation = fields.read(context, "SitTargetOrientation", Quat::IDENTITY, values::rotation)?;
    let position = fields.read(context, "SitTargetPosition", Vec3::ZERO, values::vector)?;
    let position = fields.read(context, "SitTargetPositionLL", position, values::vector)?;
    let rotation = fields.read(context, "SitTargetOrientationLL", rotation, values::rotation)?;
    let is_marked = fields.read_or_default(context, HAS_SIT_TARGET, false, values::boolean);
    // Without any number it is none, in files of all ages.
    let rotation = if rotation.to_array() == [0.0; 4] { Quat::IDENTITY } else { rotation };
    let is_set = is_marked || position != Vec3::ZERO || rotation != Quat::IDENTITY;
    let rotation = unit(rotation, "SitTargetOrientation", context);
    Ok(is_set.then_some(SitTarget { position, rotation }))
}

impl ReadPart<'_> {
    pub(super) const fn position(&self) -> Vec3 {
        self.place.position
    }

    pub(super) const fn id(&self) -> Uuid {
        self.body.id
    }

    /// The part in its linkset, with everything that is kept with it and, for a root, with `of_group`, what its linkset keeps.
    pub(super) fn finish(
        self,
        order: &LinksetOrder,
        of_group: Vec<(KeptScopeKind, KeptScope)>,
        context: &mut ReadContext,
    ) -> ScenePart {
        let Self { place, flags, mut body, serial, items, found, shape, mut kept, path, .. } = self;
        let items = items::finish_items(items, |number, name, bytes| {
            let path = || format!("{path}/TaskInventory/TaskInventoryItem[{number}]/{name}");
            context.loss_at(path, bytes, ObjectLossReason::Full);
        });
        if serial != 0 || !items.is_empty() {
            body.contents = Some(Arc::new(Contents { serial, items }));
        }
        if let Some(shape) = shape {
            kept.insert(KeptScopeKind::Shape, shape.differences(&usual_shape(&body), ""));
        }
        // A place on an avatar is kept, so that it is not lost by a holder that has no room for it.
        let unplaced = PartPlace { attached_position: None, ..place };
        let part = ScenePart { place: unplaced, flags, body: Arc::new(body) };
        kept.insert(KeptScopeKind::Part, found.differences(&usual_part(&part, order, None), PART_ATTRIBUTES));
        for (kind, scope) in of_group {
            kept.insert(kind, scope);
        }
        let carried = kept.into_carried(CARRIED_MAX, |kind, name, bytes| {
            context.loss_at(|| path_in(&path, kind, name), bytes, ObjectLossReason::Full);
        });
        let mut body = Arc::unwrap_or_clone(part.body);
        if !carried.as_bytes().is_empty() {
            body.carried = Some(Arc::new(carried));
        }
        ScenePart { place, flags, body: Arc::new(body) }
    }
}

/// Path of an element that is kept with the part at a path.
fn path_in(part: &str, kind: Option<KeptScopeKind>, name: &str) -> String {
    let (outer, _) = part.rsplit_once('/').unwrap_or((part, ""));
    // A root stands in its linkset, or in an element of it.
    let group = outer.strip_suffix("/RootPart").unwrap_or(outer);
    let scope = match kind {
        Some(KeptScopeKind::Shape) => format!("{part}/Shape"),
        Some(KeptScopeKind::TaskInventory) => format!("{part}/TaskInventory"),
        Some(KeptScopeKind::Wrapper) => outer.to_owned(),
        Some(KeptScopeKind::Group) => group.to_owned(),
        Some(KeptScopeKind::OtherParts) => format!("{group}/OtherParts"),
        Some(KeptScopeKind::States) => format!("{group}/GroupScriptStates"),
        Some(KeptScopeKind::Part | KeptScopeKind::Item) | None => part.to_owned(),
    };
    if name.is_empty() { scope } else { format!("{scope}/{name}") }
}
