//! The value of a body.

use super::{Interned, RowError, Versions, record_of};
use glam::Vec3;
use ids::Uuid;
use prim::{
    Body, HoverText, LoopedSound, Material, MaterialOverrides, Media, Names, Ownership, PCode, PrimPhysics,
    RareFields, RareParts, Sale, Shape,
};
use record::{Part, push_value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Record of a body. Version 2 adds contents and data of archives. A body without them has the encoding of version 1, so that its row does not grow.
pub(super) const BODY: Part = Part { upgrades: &[record::unchanged], ..Part::new(*b"BODY", "object body") };

/// Fields in the order of the encoding.
#[derive(Serialize, Deserialize)]
struct BodyRow<'a> {
    id: Uuid,
    p_code: u8,
    state: u8,
    material: u8,
    click_action: u8,
    scale: Vec3,
    shape: Shape,
    extra_params: &'a [u8],
    particles: &'a [u8],
    sound: Option<LoopedSound>,
    touch: &'a str,
    sit: &'a str,
    ownership: Ownership,
    created_us: u64,
    sale: Sale,
    physics: PrimPhysics,
    media: Option<Arc<Media>>,
    overrides: Option<Arc<MaterialOverrides>>,
    rare: RareFields,
}

/// Appends the value of a body.
pub(crate) fn push_body(out: &mut Vec<u8>, body: &Body) {
    let row = BodyRow {
        id: body.id,
        p_code: body.p_code as u8,
        state: body.state,
        material: body.material as u8,
        click_action: body.click_action,
        scale: body.scale,
        shape: body.shape,
        extra_params: body.extra_params.as_bytes(),
        particles: &body.particles,
        sound: body.sound,
        touch: &body.names.touch,
        sit: &body.names.sit,
        ownership: *body.ownership,
        created_us: body.created_us,
        sale: body.sale,
        physics: body.physics,
        media: body.media.clone(),
        overrides: body.overrides.clone(),
        rare: RareFields::of(body),
    };
    push_value(out, &BODY, &row);
}

/// Decodes a body without the fields of the state.
pub(crate) fn read_body(value: &[u8], versions: Versions, interned: &mut Interned) -> Result<Body, RowError> {
    let record = record_of(&BODY, value, versions)?;
    let row: BodyRow<'_> = BODY.decode(&record, 0)?;
    let unknown = |field, code| RowError::Code { field, code };
    let RareParts { sit_target, contents, carried, worn_item } = row.rare.into_parts();
    Ok(Body {
        id: row.id,
        p_code: PCode::of_code(row.p_code).ok_or_else(|| unknown("class", row.p_code))?,
        state: row.state,
        material: Material::of_code(row.material).ok_or_else(|| unknown("material", row.material))?,
        click_action: row.click_action,
        scale: row.scale,
        shape: row.shape.clamped()?,
        texture_entry: Arc::default(),
        texture_animation: Arc::default(),
        extra_params: interned.extra_params(row.extra_params)?,
        particles: interned.bytes(row.particles),
        hover_text: HoverText::default(),
        media_url: Arc::default(),
        sound: row.sound,
        names: Names { touch: interned.text(row.touch), sit: interned.text(row.sit), ..Names::default() },
        ownership: interned.ownership(row.ownership),
        created_us: row.created_us,
        sale: row.sale,
        physics: row.physics,
        media: row.media,
        overrides: row.overrides,
        sit_target,
        contents,
        carried,
        worn_item,
    })
}
