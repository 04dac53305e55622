//! Functions of numbers, vectors and rotations.

use super::{PureFunction, Work, pure};
use crate::kind::Kind::{Float, Integer, Rotation, Vector};
use crate::{math, rotation};

/// Arithmetic and rounding.
const FAST: Work = Work::Flat(6);
/// Transcendental functions.
const SLOW: Work = Work::Flat(40);

pub(super) static FUNCTIONS: &[PureFunction] = &[
    pure("llAbs", &[Integer], Integer, FAST, |c| Ok(math::abs(c.integer()).into())),
    pure("llFabs", &[Float], Float, FAST, |c| Ok(math::fabs(c.float(), c.dialect()).into())),
    pure("llFloor", &[Float], Integer, FAST, |c| Ok(math::floor(c.float(), c.dialect()).into())),
    pure("llCeil", &[Float], Integer, FAST, |c| Ok(math::ceil(c.float(), c.dialect()).into())),
    pure("llRound", &[Float], Integer, FAST, |c| Ok(math::round(c.float(), c.dialect()).into())),
    pure("llPow", &[Float, Float], Float, Work::Flat(80), |c| {
        Ok(math::pow(c.float(), c.float(), c.dialect()).into())
    }),
    pure("llSqrt", &[Float], Float, FAST, |c| Ok(math::sqrt(c.float(), c.dialect()).into())),
    pure("llLog", &[Float], Float, SLOW, |c| Ok(math::log(c.float(), c.dialect()).into())),
    pure("llLog10", &[Float], Float, SLOW, |c| Ok(math::log10(c.float(), c.dialect()).into())),
    pure("llSin", &[Float], Float, SLOW, |c| Ok(math::sin(c.float(), c.dialect()).into())),
    pure("llCos", &[Float], Float, SLOW, |c| Ok(math::cos(c.float(), c.dialect()).into())),
    pure("llTan", &[Float], Float, SLOW, |c| Ok(math::tan(c.float(), c.dialect()).into())),
    pure("llAsin", &[Float], Float, SLOW, |c| Ok(math::asin(c.float(), c.dialect()).into())),
    pure("llAcos", &[Float], Float, SLOW, |c| Ok(math::acos(c.float(), c.dialect()).into())),
    pure("llAtan2", &[Float, Float], Float, SLOW, |c| {
        Ok(math::atan2(c.float(), c.float(), c.dialect()).into())
    }),
    pure("llModPow", &[Integer, Integer, Integer], Integer, Work::Flat(250), |c| {
        Ok(math::mod_pow(c.integer(), c.integer(), c.integer()).into())
    }),
    pure("llFrand", &[Float], Float, FAST, |c| {
        let range = c.float();
        let unit = c.draw_unit();
        Ok(math::frand(range, unit, c.dialect()).into())
    }),
    pure("llsRGB2Linear", &[Vector], Vector, Work::Flat(250), |c| {
        Ok(math::srgb_to_linear(c.vector(), c.dialect()).into())
    }),
    pure("llLinear2sRGB", &[Vector], Vector, Work::Flat(250), |c| {
        Ok(math::linear_to_srgb(c.vector(), c.dialect()).into())
    }),
    pure("llVecMag", &[Vector], Float, FAST, |c| Ok(rotation::magnitude(c.vector(), c.dialect()).into())),
    pure("llVecDist", &[Vector, Vector], Float, FAST, |c| {
        Ok(rotation::distance(c.vector(), c.vector(), c.dialect()).into())
    }),
    pure("llVecNorm", &[Vector], Vector, FAST, |c| Ok(rotation::normalize(c.vector(), c.dialect()).into())),
    pure("llEuler2Rot", &[Vector], Rotation, Work::Flat(150), |c| {
        Ok(rotation::from_euler(c.vector(), c.dialect()).into())
    }),
    pure("llRot2Euler", &[Rotation], Vector, Work::Flat(120), |c| {
        Ok(rotation::to_euler(c.rotation(), c.dialect()).into())
    }),
    pure("llAxes2Rot", &[Vector, Vector, Vector], Rotation, SLOW, |c| {
        Ok(rotation::from_axes(c.vector(), c.vector(), c.vector(), c.dialect()).into())
    }),
    pure("llAxisAngle2Rot", &[Vector, Float], Rotation, SLOW, |c| {
        Ok(rotation::from_axis(c.vector(), c.float(), c.dialect()).into())
    }),
    pure(
        "llRot2Axis",
        &[Rotation],
        Vector,
        SLOW,
        |c| Ok(rotation::to_axis(c.rotation(), c.dialect()).into()),
    ),
    pure("llRot2Angle", &[Rotation], Float, SLOW, |c| {
        Ok(rotation::to_angle(c.rotation(), c.dialect()).into())
    }),
    pure("llAngleBetween", &[Rotation, Rotation], Float, Work::Flat(80), |c| {
        Ok(rotation::angle_between(c.rotation(), c.rotation(), c.dialect()).into())
    }),
    pure("llRot2Fwd", &[Rotation], Vector, SLOW, |c| Ok(rotation::forward(c.rotation(), c.dialect()).into())),
    pure("llRot2Left", &[Rotation], Vector, SLOW, |c| Ok(rotation::left(c.rotation(), c.dialect()).into())),
    pure("llRot2Up", &[Rotation], Vector, SLOW, |c| Ok(rotation::up(c.rotation(), c.dialect()).into())),
    pure("llRotBetween", &[Vector, Vector], Rotation, SLOW, |c| {
        Ok(rotation::between(c.vector(), c.vector(), c.dialect()).into())
    }),
];
