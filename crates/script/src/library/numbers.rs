//! Functions of numbers, vectors and rotations.

use super::{Binding, bind};
use crate::{math, rotation};

pub(super) static BINDINGS: &[Binding] = &[
    bind("llAbs", |c| Ok(math::abs(c.integer()).into())),
    bind("llFabs", |c| Ok(math::fabs(c.float(), c.dialect()).into())),
    bind("llFloor", |c| Ok(math::floor(c.float(), c.dialect()).into())),
    bind("llCeil", |c| Ok(math::ceil(c.float(), c.dialect()).into())),
    bind("llRound", |c| Ok(math::round(c.float(), c.dialect()).into())),
    bind("llPow", |c| Ok(math::pow(c.float(), c.float(), c.dialect()).into())),
    bind("llSqrt", |c| Ok(math::sqrt(c.float(), c.dialect()).into())),
    bind("llLog", |c| Ok(math::log(c.float(), c.dialect()).into())),
    bind("llLog10", |c| Ok(math::log10(c.float(), c.dialect()).into())),
    bind("llSin", |c| Ok(math::sin(c.float(), c.dialect()).into())),
    bind("llCos", |c| Ok(math::cos(c.float(), c.dialect()).into())),
    bind("llTan", |c| Ok(math::tan(c.float(), c.dialect()).into())),
    bind("llAsin", |c| Ok(math::asin(c.float(), c.dialect()).into())),
    bind("llAcos", |c| Ok(math::acos(c.float(), c.dialect()).into())),
    bind("llAtan2", |c| Ok(math::atan2(c.float(), c.float(), c.dialect()).into())),
    bind("llModPow", |c| Ok(math::mod_pow(c.integer(), c.integer(), c.integer()).into())),
    bind("llFrand", |c| {
        let range = c.float();
        let unit = c.draw_unit();
        Ok(math::frand(range, unit, c.dialect()).into())
    }),
    bind("llsRGB2Linear", |c| Ok(math::srgb_to_linear(c.vector(), c.dialect()).into())),
    bind("llLinear2sRGB", |c| Ok(math::linear_to_srgb(c.vector(), c.dialect()).into())),
    bind("llVecMag", |c| Ok(rotation::magnitude(c.vector(), c.dialect()).into())),
    bind("llVecDist", |c| Ok(rotation::distance(c.vector(), c.vector(), c.dialect()).into())),
    bind("llVecNorm", |c| Ok(rotation::normalize(c.vector(), c.dialect()).into())),
    bind("llEuler2Rot", |c| Ok(rotation::from_euler(c.vector(), c.dialect()).into())),
    bind("llRot2Euler", |c| Ok(rotation::to_euler(c.rotation(), c.dialect()).into())),
    bind("llAxes2Rot", |c| Ok(rotation::from_axes(c.vector(), c.vector(), c.vector(), c.dialect()).into())),
    bind("llAxisAngle2Rot", |c| Ok(rotation::from_axis(c.vector(), c.float(), c.dialect()).into())),
    bind("llRot2Axis", |c| Ok(rotation::to_axis(c.rotation(), c.dialect()).into())),
    bind("llRot2Angle", |c| Ok(rotation::to_angle(c.rotation(), c.dialect()).into())),
    bind("llAngleBetween", |c| Ok(rotation::angle_between(c.rotation(), c.rotation(), c.dialect()).into())),
    bind("llRot2Fwd", |c| Ok(rotation::forward(c.rotation(), c.dialect()).into())),
    bind("llRot2Left", |c| Ok(rotation::left(c.rotation(), c.dialect()).into())),
    bind("llRot2Up", |c| Ok(rotation::up(c.rotation(), c.dialect()).into())),
    bind("llRotBetween", |c| Ok(rotation::between(c.vector(), c.vector(), c.dialect()).into())),
];
