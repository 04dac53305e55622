//! Elements of a shape in the spelling of this server.

use super::extra::{self, Flexi, Light};
use super::kept::KeptScope;
use super::scope::UsualElements;
use super::table::SHAPE;
use super::{media, overrides};
use crate::xml::XmlWriter;
use ids::Uuid;
use prim::{Body, ExtraParam};

/// Names of profiles by their codes.
pub(super) const PROFILES: [&str; 6] =
    ["Circle", "Square", "IsometricTriangle", "EquilateralTriangle", "RightTriangle", "HalfCircle"];

/// Names of holes by the high half of their codes.
pub(super) const HOLES: [&str; 4] = ["Same", "Circle", "Square", "Triangle"];

/// Writes a shape with everything that is kept of it.
pub(super) fn write_shape(body: &Body, kept: Option<&KeptScope>, out: &mut XmlWriter) {
    let attributes = kept.and_then(|kept| kept.attributes.as_deref()).unwrap_or_default();
    out.element("Shape", attributes, |out| usual_shape(body).merge(kept, None, None, out));
}

/// The elements of a shape.
pub(super) fn usual_shape(body: &Body) -> UsualElements {
    let shape = &body.shape;
    let mut usual = UsualElements::new(&SHAPE);
    usual.value("ProfileCurve", shape.profile_curve);
    usual.bytes("TextureEntry", &body.texture_entry);
    usual.bytes("ExtraParams", &extra::encode(&body.extra_params));
    usual.value("PathBegin", shape.path_begin);
    usual.value("PathCurve", shape.path_curve);
    usual.value("PathEnd", shape.path_end);
    usual.value("PathRadiusOffset", shape.path_radius_offset);
    usual.value("PathRevolutions", shape.path_revolutions);
    usual.value("PathScaleX", shape.path_scale_x);
    usual.value("PathScaleY", shape.path_scale_y);
    // Bytes in OpenSimulator, with the bits of a signed one.
    usual.value("PathShearX", shape.path_shear_x.cast_unsigned());
    usual.value("PathShearY", shape.path_shear_y.cast_unsigned());
    usual.value("PathSkew", shape.path_skew);
    usual.value("PathTaperX", shape.path_taper_x);
    usual.value("PathTaperY", shape.path_taper_y);
    usual.value("PathTwist", shape.path_twist);
    usual.value("PathTwistBegin", shape.path_twist_begin);
    usual.value("PCode", body.p_code as u8);
    usual.value("ProfileBegin", shape.profile_begin);
    usual.value("ProfileEnd", shape.profile_end);
    usual.value("ProfileHollow", shape.profile_hollow);
    usual.value("State", body.state);
    usual.value("LastAttachPoint", 0);
    usual.value("ProfileShape", name_of(&PROFILES, shape.profile_curve & 0x0F));
    usual.value("HollowShape", name_of(&HOLES, shape.profile_curve >> 4));
    let (sculpt, sculpt_kind) = body.extra_params.sculpt().unwrap_or((Uuid::nil(), 0));
    usual.id("SculptTexture", sculpt);
    usual.value("SculptType", sculpt_kind);
    put_flexi_and_light(body, &mut usual);
    let has = |kind: ExtraParam| body.extra_params.get(kind).is_some();
    usual.value("FlexiEntry", has(ExtraParam::Flexible));
    usual.value("LightEntry", has(ExtraParam::Light));
    usual.value("SculptEntry", has(ExtraParam::Sculpt));
    if let Some(media) = &body.media {
        usual.leaf("Media", &media::encode(&media.faces));
    }
    if let Some(overrides) = &body.overrides {
        usual.bytes("MatOvrd", &overrides::encode(overrides));
    }
    usual
}

fn name_of(names: &[&'static str], code: u8) -> &'static str {
    names.get(usize::from(code)).copied().unwrap_or(names[0])
}

fn put_flexi_and_light(body: &Body, usual: &mut UsualElements) {
    let flexi = body.extra_params.get(ExtraParam::Flexible).map_or(Flexi::NONE, Flexi::of);
    usual.value("FlexiSoftness", flexi.softness);
    usual.float("FlexiTension", flexi.tension);
    usual.float("FlexiDrag", flexi.drag);
    usual.float("FlexiGravity", flexi.gravity);
    usual.float("FlexiWind", flexi.wind);
    for (name, force) in ["FlexiForceX", "FlexiForceY", "FlexiForceZ"].into_iter().zip(flexi.force) {
        usual.float(name, force);
    }
    let light = body.extra_params.get(ExtraParam::Light).map_or(Light::NONE, Light::of);
    for (name, value) in ["LightColorR", "LightColorG", "LightColorB"].into_iter().zip(light.color) {
        usual.float(name, value);
    }
    // Alpha of a light is its intensity, which has an element of its own.
    usual.value("LightColorA", 1);
    usual.float("LightRadius", light.radius);
    usual.float("LightCutoff", light.cutoff);
    usual.float("LightFalloff", light.falloff);
    usual.float("LightIntensity", light.intensity);
}
