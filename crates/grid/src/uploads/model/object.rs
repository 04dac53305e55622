//! The asset of an object that is made of a model.

use super::linkset::PlacedPrim;
use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, XmlForm, write_group};
use std::sync::Arc;

/// The document of a linkset in the form that inventories have, by its prims, the root first. None without prims.
pub(in crate::uploads) fn document(prims: Vec<PlacedPrim>) -> Option<String> {
    let mut parts = prims.into_iter().map(|prim| ScenePart {
        place: PartPlace { position: prim.position, rotation: prim.rotation, ..PartPlace::default() },
        flags: 0,
        body: Arc::new(prim.body),
    });
    let group = SceneGroup { root: parts.next()?, others: parts.collect() };
    let options = WriteOptions { form: XmlForm::Original, ..WriteOptions::default() };
    Some(write_group(&group, &options))
}
