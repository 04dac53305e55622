//! Reading of a shape. Wrong values become defaults, as in OpenSimulator.

use super::error::{Flaw, Mode, ObjectError, ReadContext};
use super::extra::{self, Flexi, Light};
use super::fields::Fields;
use super::scope::FoundElements;
use super::shape_write::{HOLES, PROFILES};
use super::{media, overrides, values};
use crate::xml::XmlElement;
use glam::Vec3;
use ids::PLYWOOD_TEXTURE;
use prim::{
    ExtraParam, ExtraParams, Hole, MaterialOverrides, MediaEntry, PCode, Path, Profile, Shape,
    TextureEntryError, check_texture_entry,
};
use std::sync::Arc;
use wire::texture_entry::TextureEntry;

/// Path of a shape that has none. OpenSimulator's own default is no path.
const PATH_DEFAULT: u8 = Path::Line as u8;

/// Fields of a body that stand in its shape.
#[derive(Debug)]
pub(super) struct ReadShape {
    pub(super) shape: Shape,
    pub(super) p_code: PCode,
    pub(super) state: u8,
    pub(super) texture_entry: Arc<[u8]>,
    pub(super) extra_params: ExtraParams,
    pub(super) media: Option<Vec<Option<MediaEntry>>>,
    pub(super) overrides: Option<MaterialOverrides>,
    /// Size, in older files.
    pub(super) scale: Option<Vec3>,
}

/// Reads a shape; without an element it is a box.
pub(super) fn read_shape(
    found: Option<&FoundElements<'_>>,
    context: &mut ReadContext,
) -> Result<ReadShape, ObjectError> {
    let Some(found) = found else {
        return Ok(ReadShape {
            shape: Shape::BOX,
            p_code: PCode::default(),
            state: 0,
            texture_entry: plywood(),
            extra_params: ExtraParams::default(),
            media: None,
            overrides: None,
            scale: None,
        });
    };
    let fields = Fields { found, mode: Mode::Lenient };
    let p_code = fields.code(context, "PCode", PCode::of_code)?;
    Ok(ReadShape {
        shape: read_curves(&fields, p_code, context)?,
        p_code,
        state: fields.read(context, "State", 0, values::byte)?,
        texture_entry: read_texture_entry(&fields, context),
        extra_params: read_extra_params(&fields, context)?,
        media: fields.read(context, "Media", None, |element| media::read(element).map(Some))?,
        overrides: fields
            .read(context, "MatOvrd", None, |element| overrides::decode(&values::bytes(element)?))?,
        scale: fields.read(context, "Scale", None, |element| values::vector(element).map(Some))?,
    })
}

/// Profile and path, clamped. The names of profile and hole stand behind the code of both, and count.
fn read_curves(
    fields: &Fields<'_, '_>,
    p_code: PCode,
    context: &mut ReadContext,
) -> Result<Shape, ObjectError> {
    let curve = fields.read(context, "ProfileCurve", 0, values::byte)?;
    let profile = profile_of(curve & 0x0F, context);
    let hole = hole_of(curve & 0xF0, context);
    let profile = fields.read(context, "ProfileShape", profile, |element| name_of(element, &PROFILES))?;
    let hole = fields.read(context, "HollowShape", hole >> 4, |element| name_of(element, &HOLES))? << 4;
    let mut read_u16 = |name: &str| fields.read(context, name, 0, values::whole::<u16>);
    let (path_begin, path_end) = (read_u16("PathBegin")?, read_u16("PathEnd")?);
    let (profile_begin, profile_end) = (read_u16("ProfileBegin")?, read_u16("ProfileEnd")?);
    let profile_hollow = read_u16("ProfileHollow")?;
    let mut read_byte = |name: &str, default: u8| fields.read(context, name, default, values::byte);
    let path_curve = read_byte("PathCurve", PATH_DEFAULT)?;
    let path_revolutions = read_byte("PathRevolutions", 0)?;
    let (path_scale_x, path_scale_y) = (read_byte("PathScaleX", 0)?, read_byte("PathScaleY", 0)?);
    let mut read_signed = |name: &str| fields.read(context, name, 0, values::signed_byte);
    let shape = Shape {
        path_curve,
        profile_curve: profile | hole,
        path_begin,
        path_end,
        path_scale_x,
        path_scale_y,
        path_shear_x: read_signed("PathShearX")?,
        path_shear_y: read_signed("PathShearY")?,
        path_twist: read_signed("PathTwist")?,
        path_twist_begin: read_signed("PathTwistBegin")?,
        path_radius_offset: read_signed("PathRadiusOffset")?,
        path_taper_x: read_signed("PathTaperX")?,
        path_taper_y: read_signed("PathTaperY")?,
        path_revolutions,
        path_skew: read_signed("PathSkew")?,
        profile_begin,
        profile_end,
        profile_hollow,
    };
    let known = match shape.path() {
        Ok(_) => shape,
        Err(why) => {
            context.problem("PathCurve", why.into());
            Shape { path_curve: PATH_DEFAULT, ..shape }
        }
    };
    let clamped = known.clamped().expect("its curves are known");
    // Trees and grass show nothing of it, and have numbers of any sort.
    if clamped != known && p_code == PCode::Prim {
        context.problem("", Flaw::Clamped);
    }
    Ok(clamped)
}

/// A known profile; an unknown one is a square.
fn profile_of(code: u8, context: &mut ReadContext) -> u8 {
    if usize::from(code) < PROFILES.len() {
        return code;
    }
    context.problem("ProfileCurve", Flaw::Range(code.into()));
    Profile::Square as u8
}

/// A known hole; an unknown one is as its profile.
fn hole_of(code: u8, context: &mut ReadContext) -> u8 {
    if usize::from(code >> 4) < HOLES.len() {
        return code;
    }
    context.problem("ProfileCurve", Flaw::Range(code.into()));
    Hole::Same as u8
}

/// Place of a name in a list.
fn name_of(element: &XmlElement<'_>, names: &[&str]) -> Result<u8, Flaw> {
    let text = values::text(element)?;
    let name = text.trim();
    match names.iter().position(|other| *other == name) {
        Some(place) => Ok(place as u8),
        None if name.is_empty() => Err(Flaw::Empty),
        None => Err(Flaw::name(name)),
    }
}

/// One plywood texture on all faces.
fn plywood() -> Arc<[u8]> {
    TextureEntry::plain(PLYWOOD_TEXTURE).encode().into()
}

/// Textures. Bytes behind them are left out, as OpenSimulator does; other damage makes them plywood.
fn read_texture_entry(fields: &Fields<'_, '_>, context: &mut ReadContext) -> Arc<[u8]> {
    let name = "TextureEntry";
    let Some(element) = fields.get(name) else { return plywood() };
    let bytes = match values::bytes(&element) {
        Ok(bytes) => bytes,
        Err(flaw) => {
            context.problem(name, flaw);
            return plywood();
        }
    };
    if bytes.is_empty() {
        return Arc::default();
    }
    let whole = match check_texture_entry(&bytes) {
        Ok(()) => return bytes.into(),
        Err(why @ TextureEntryError::Trailing(len)) => {
            context.problem(name, why.into());
            &bytes[..bytes.len() - len]
        }
        Err(why) => {
            context.problem(name, why.into());
            return plywood();
        }
    };
    whole.into()
}

/// The bytes of all entries, changed by the elements that stand for some of them.
fn read_extra_params(fields: &Fields<'_, '_>, context: &mut ReadContext) -> Result<ExtraParams, ObjectError> {
    let params = fields.read(context, "ExtraParams", ExtraParams::default(), |element| {
        Ok(ExtraParams::parse(&values::bytes(element)?)?)
    })?;
    let params = read_sculpt(params, fields, context)?;
    let flexi = read_flexi(params.get(ExtraParam::Flexible), fields, context)?;
    let params = changed(params, ExtraParam::Flexible, "FlexiEntry", &flexi, fields, context)?;
    let light = read_light(params.get(ExtraParam::Light), fields, context)?;
    changed(params, ExtraParam::Light, "LightEntry", &light, fields, context)
}

/// With the data that elements make, if an element says that there is such an entry; without it, if it says that there is none.
fn changed(
    params: ExtraParams,
    kind: ExtraParam,
    name: &str,
    data: &[u8],
    fields: &Fields<'_, '_>,
    context: &mut ReadContext,
) -> Result<ExtraParams, ObjectError> {
    let has_entry = fields.read(context, name, None, |element| values::boolean(element).map(Some))?;
    let changed = match has_entry {
        None => return Ok(params),
        Some(false) => params.with(kind, None),
        Some(true) if params.get(kind).is_some_and(|former| extra::is_same(kind, former, data)) => {
            return Ok(params);
        }
        Some(true) => params.with(kind, Some(data)),
    };
    Ok(changed.unwrap_or_else(|why| {
        context.problem(name, why.into());
        params
    }))
}

fn read_sculpt(
    params: ExtraParams,
    fields: &Fields<'_, '_>,
    context: &mut ReadContext,
) -> Result<ExtraParams, ObjectError> {
    let (id, kind) = params.sculpt().unwrap_or_default();
    let id = fields.read(context, "SculptTexture", id, values::id)?;
    let kind = fields.read(context, "SculptType", kind, values::byte)?;
    let data = [id.as_bytes().as_slice(), &[kind]].concat();
    changed(params, ExtraParam::Sculpt, "SculptEntry", &data, fields, context)
}

fn read_flexi(
    former: Option<&[u8]>,
    fields: &Fields<'_, '_>,
    context: &mut ReadContext,
) -> Result<Vec<u8>, ObjectError> {
    let former = former.map_or(Flexi::NONE, Flexi::of);
    let softness = fields.read(context, "FlexiSoftness", former.softness, values::byte)?;
    let mut read = |name: &str, former: f32| fields.read(context, name, former, values::float);
    let flexi = Flexi {
        softness: softness & 3,
        tension: read("FlexiTension", former.tension)?,
        drag: read("FlexiDrag", former.drag)?,
        gravity: read("FlexiGravity", former.gravity)?,
        wind: read("FlexiWind", former.wind)?,
        force: [
            read("FlexiForceX", former.force[0])?,
            read("FlexiForceY", former.force[1])?,
            read("FlexiForceZ", former.force[2])?,
        ],
    };
    Ok(flexi.encode())
}

fn read_light(
    former: Option<&[u8]>,
    fields: &Fields<'_, '_>,
    context: &mut ReadContext,
) -> Result<Vec<u8>, ObjectError> {
    let former = former.map_or(Light::NONE, Light::of);
    let mut read = |name: &str, former: f32| fields.read(context, name, former, values::float);
    let light = Light {
        color: [
            read("LightColorR", former.color[0])?,
            read("LightColorG", former.color[1])?,
            read("LightColorB", former.color[2])?,
        ],
        radius: read("LightRadius", former.radius)?,
        cutoff: read("LightCutoff", former.cutoff)?,
        falloff: read("LightFalloff", former.falloff)?,
        intensity: read("LightIntensity", former.intensity)?,
    };
    Ok(light.encode())
}
