//! Extra parameters: those that are read are read again from their own bytes, and a material for a face leaves them whole.
#![no_main]

use ids::Uuid;
use libfuzzer_sys::fuzz_target;
use prim::{ExtraParam, ExtraParams};

fuzz_target!(|bytes: &[u8]| {
    let Ok(params) = ExtraParams::parse(bytes) else { return };
    assert_eq!(ExtraParams::parse(params.as_bytes()), Ok(params.clone()));
    let (kinds, n) = (params.entries().map(|(kind, _)| kind), params.entries().count());
    assert!(kinds.collect::<std::collections::BTreeSet<_>>().len() == n, "one entry of a type");
    let face = bytes.first().map_or(0, |byte| byte % 45);
    if let Ok(painted) = params.with_render_material(face..=face, Uuid::from_u128(1)) {
        assert!(painted.render_materials().any(|row| row == (face, Uuid::from_u128(1))));
        assert_eq!(ExtraParams::parse(painted.as_bytes()), Ok(painted.clone()));
        let others = |params: &ExtraParams| params.with(ExtraParam::RenderMaterial, None);
        assert_eq!(others(&painted), others(&params));
    }
});
