//! Random trees for property tests.

use super::Llsd;
use proptest::prelude::*;
use uuid::Uuid;

/// Trees of up to five levels. Text holds only what every form can carry: no control characters but tab and
/// newline.
pub(crate) fn value() -> impl Strategy<Value = Llsd> {
    let scalar = prop_oneof![
        Just(Llsd::Undef),
        any::<bool>().prop_map(Llsd::Boolean),
        any::<i32>().prop_map(Llsd::Integer),
        (proptest::num::f64::NORMAL | proptest::num::f64::ZERO).prop_map(Llsd::Real),
        text().prop_map(Llsd::String),
        any::<u128>().prop_map(|bits| Llsd::Uuid(Uuid::from_u128(bits))),
        (-60_000_000_000_i64..200_000_000_000).prop_map(|seconds| Llsd::Date(seconds as f64)),
        text().prop_map(Llsd::Uri),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Llsd::Binary),
    ];
    scalar.prop_recursive(4, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Llsd::Array),
            proptest::collection::btree_map(text(), inner, 0..8).prop_map(Llsd::Map),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    r#"[ -~äß漢😀\t\r\n<>&'"\\]{0,20}"#
}
