//! Linksets of random prims, written and read again.

use super::*;
use ids::{AgentId, Uuid};
use prim::{
    AlphaMode, ContentItem, Contents, ExtraParam, ExtraParams, HoverText, LoopedSound, Mask, Material,
    MaterialOverride, MaterialOverrides, Media, MediaEntry, MediaUsers, Names, Ownership, PCode, Permissions,
    PhysicsShape, PrimPhysics, Sale, SaleKind, Shape, SitTarget, TextureTransform,
};
use proptest::prelude::*;
use wire::texture_entry::{Face, TextureEntry};

fn any_id() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn any_agent() -> impl Strategy<Value = AgentId> {
    any_id().prop_map(AgentId)
}

fn any_number(max: f32) -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0), -max..max, (-max..max).prop_map(|number| number / 1e7)]
}

fn any_vector(max: f32) -> impl Strategy<Value = Vec3> {
    [any_number(max), any_number(max), any_number(max)].prop_map(Vec3::from_array)
}

fn any_rotation() -> impl Strategy<Value = Quat> {
    prop_oneof![
        Just(Quat::IDENTITY),
        (any_vector(3.0)).prop_map(|turn| Quat::from_scaled_axis(turn).normalize())
    ]
}

/// Texts with characters that markup escapes, and some that XML forbids.
fn any_text(max_bytes: usize) -> impl Strategy<Value = Arc<str>> {
    "[ -~\u{1}\r\n\t\u{e4}\u{fffe}\u{1f600}]{0,60}"
        .prop_map(move |text| Arc::from(&text[..text.floor_char_boundary(max_bytes)]))
}

fn any_mask() -> impl Strategy<Value = Mask> {
    any::<u32>().prop_map(Mask::of_bits)
}

prop_compose! {
    fn any_permissions()(
        base in any_mask(), owner in any_mask(), group in any_mask(), everyone in any_mask(), next_owner in any_mask(),
    ) -> Permissions {
        Permissions { base, owner, group, everyone, next_owner }
    }
}

prop_compose! {
    fn any_ownership()(
        creator in any_agent(), owner in any_agent(), last_owner in any_agent(), group in any_id(),
        permissions in any_permissions(),
    ) -> Ownership {
        Ownership { creator, owner, last_owner, group, permissions }
    }
}

prop_compose! {
    fn any_sale()(kind in 0_u8..4, price in 0..i32::MAX) -> Sale {
        Sale { kind: SaleKind::of_code(kind).unwrap(), price }
    }
}

prop_compose! {
    fn any_shape()(
        path in prop::sample::select(vec![0x10_u8, 0x20, 0x30, 0x40, 0x80]),
        (profile, hole) in (0_u8..6, 0_u8..4),
        (path_begin, path_end, profile_begin, profile_end, profile_hollow) in any::<(u16, u16, u16, u16, u16)>(),
        (path_scale_x, path_scale_y, path_shear_x, path_shear_y) in any::<(u8, u8, i8, i8)>(),
        (path_twist, path_twist_begin, path_radius_offset) in any::<(i8, i8, i8)>(),
        (path_taper_x, path_taper_y, path_revolutions, path_skew) in any::<(i8, i8, u8, i8)>(),
    ) -> Shape {
        Shape {
            path_curve: path, profile_curve: profile | hole << 4, path_begin, path_end, path_scale_x, path_scale_y,
            path_shear_x, path_shear_y, path_twist, path_twist_begin, path_radius_offset, path_taper_x, path_taper_y,
            path_revolutions, path_skew, profile_begin, profile_end, profile_hollow,
        }
        .clamped()
        .unwrap()
    }
}

prop_compose! {
    fn any_face()(
        texture in any_id(), material_id in any_id(), color in any::<[u8; 4]>(), repeat_u in any_number(100.0),
        (glow, media) in any::<(u8, u8)>(),
    ) -> Face {
        Face { color, repeat_u, glow, media, material_id, ..Face::plain(texture) }
    }
}

fn any_textures() -> impl Strategy<Value = Arc<[u8]>> {
    let entry = (any_face(), prop::collection::btree_map(0_u8..45, any_face(), 0..4));
    let entry = entry.prop_map(|(default, faces)| TextureEntry { default, faces }.encode());
    prop_oneof![Just(Vec::new()), entry].prop_map(Arc::from)
}

fn any_floats(head: usize, count: usize) -> impl Strategy<Value = Vec<u8>> {
    let head = prop::collection::vec(any::<u8>(), head);
    let floats = prop::collection::vec(any_number(1_000.0), count);
    (head, floats).prop_map(|(head, floats)| {
        head.into_iter().chain(floats.iter().flat_map(|float| float.to_le_bytes())).collect()
    })
}

fn any_extra_params() -> impl Strategy<Value = ExtraParams> {
    let materials = prop::collection::btree_map(0_u8..45, any_id(), 0..4).prop_map(|rows| {
        let row =
            |(face, id): (&u8, &Uuid)| std::iter::once(*face).chain(id.into_bytes()).collect::<Vec<u8>>();
        let rows: Vec<u8> = rows.iter().flat_map(row).collect();
        [vec![(rows.len() / 17) as u8], rows].concat()
    });
    let probe = (any_number(1.0), any_number(100.0), any::<u8>()).prop_map(|(ambiance, clip, flags)| {
        [&ambiance.to_le_bytes()[..], &clip.to_le_bytes(), &[flags]].concat()
    });
    let entries = (
        prop::option::of(any_floats(4, 3)),
        prop::option::of(any_floats(4, 3)),
        prop::option::of(any_floats(17, 0)),
        prop::option::of(any_floats(16, 3)),
        prop::option::of(any_floats(4, 0)),
        prop::option::of(materials),
        prop::option::of(probe),
    );
    entries.prop_map(|(flexi, light, sculpt, image, mesh, materials, probe)| {
        let entries = [
            (ExtraParam::Flexible, flexi),
            (ExtraParam::Light, light),
            (ExtraParam::Sculpt, sculpt),
            (ExtraParam::LightImage, image),
            (ExtraParam::MeshFlags, mesh),
            (ExtraParam::RenderMaterial, materials),
            (ExtraParam::ReflectionProbe, probe),
        ];
        entries.into_iter().fold(ExtraParams::default(), |params, (kind, data)| {
            params.with(kind, data.as_deref()).expect("data of its kind")
        })
    })
}

prop_compose! {
    fn any_page()(
        (home, current) in ("[a-z:/?&<>é]{0,30}", "[a-z:/?&<>é]{0,30}"), flags in any::<[bool; 7]>(),
        controls in 0_u8..2, (width_px, height_px) in (0_u16..=2_048, 0_u16..=2_048),
        allowed in prop::collection::vec("[a-z*./]{0,9}", 0..3), (interact, control) in (0_u8..8, 0_u8..8),
    ) -> MediaEntry {
        let [has_still, loops, plays, scales, zooms, first_click_counts, is_limited] = flags;
        MediaEntry {
            home, current, has_still, loops, plays, scales, zooms, first_click_counts, controls, width_px, height_px,
            is_limited, allowed, interact: MediaUsers(interact), control: MediaUsers(control),
        }
    }
}

fn any_media() -> impl Strategy<Value = Media> {
    let faces = prop::collection::vec(prop::option::of(any_page()), 0..4);
    (any::<u32>(), any_agent(), faces).prop_map(|(version, editor, faces)| Media { version, editor, faces })
}

prop_compose! {
    fn any_override()(
        textures in prop::array::uniform4(prop::option::of((1_u128..u128::MAX).prop_map(Uuid::from_u128))),
        offset in prop::option::of(prop::array::uniform2(any_number(100.0))),
        rotation in prop::option::of(any_number(6.0)),
        base_color in prop::option::of(prop::array::uniform4(0.0_f32..1.0)),
        emissive_color in prop::option::of(prop::array::uniform3(0.0_f32..1.0)),
        metallic in prop::option::of(0.0_f32..1.0), mode in 0_u8..4, is_double_sided in any::<Option<bool>>(),
    ) -> MaterialOverride {
        let transform = TextureTransform { offset, scale: offset, rotation };
        let modes = [None, Some(AlphaMode::Opaque), Some(AlphaMode::Blend), Some(AlphaMode::Mask)];
        MaterialOverride {
            textures, transforms: [TextureTransform::default(), transform, TextureTransform::default(), transform],
            base_color, emissive_color, metallic, roughness: metallic, alpha_mode: modes[usize::from(mode)],
            alpha_cutoff: metallic, is_double_sided,
        }
    }
}

fn any_overrides() -> impl Strategy<Value = MaterialOverrides> {
    prop::collection::vec((0_u8..9, any_override()), 0..3).prop_map(|rows| {
        let mut overrides = MaterialOverrides::default();
        rows.into_iter().for_each(|(face, changes)| overrides.set(face, changes).expect("numbers in range"));
        overrides
    })
}

prop_compose! {
    fn any_item()(
        (id, asset) in (any_id(), any_id()), (asset_type, inventory_type) in any::<(i8, i8)>(),
        (name, description) in (any_text(63), any_text(127)), (flags, created_s) in any::<(u32, i64)>(),
        ownership in any_ownership(), sale in any_sale(),
    ) -> ContentItem {
        ContentItem {
            id, asset, asset_type, inventory_type, name, description, flags, ownership, sale, created_s,
            carried: prim::Carried::default(),
        }
    }
}

fn any_contents() -> impl Strategy<Value = Contents> {
    (1..=u32::MAX, prop::collection::vec(any_item(), 0..4)).prop_map(|(serial, items)| {
        let mut contents = Contents { serial, items: Vec::new() };
        for item in items {
            let name = contents.free_name(&item.name);
            contents.items.push(Arc::new(ContentItem { name, ..item }));
        }
        contents
    })
}

prop_compose! {
    fn any_physics()(
        shape in 0_u8..3, density in 1.0_f32..22_587.0, friction in 0.0_f32..255.0, restitution in 0.0_f32..1.0,
        gravity in -1.0_f32..28.0, is_plain in any::<bool>(),
    ) -> PrimPhysics {
        let shape = PhysicsShape::of_code(shape).unwrap();
        let other = PrimPhysics { shape, density, friction, restitution, gravity };
        if is_plain { PrimPhysics { shape, ..PrimPhysics::default() } } else { other }
    }
}

prop_compose! {
    fn any_looks()(
        shape in any_shape(), texture_entry in any_textures(), extra_params in any_extra_params(),
        texture_animation in prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 16)],
        particles in prop::collection::vec(any::<u8>(), 0..100), (text, color) in (any_text(254), any::<[u8; 4]>()),
        media in prop::option::of(any_media()), media_url in any_text(254), overrides in prop::option::of(any_overrides()),
        sound in prop::option::of((1_u128..u128::MAX, 0.0_f32..1.0, any::<u8>(), 0.0_f32..1_000.0)),
    ) -> Body {
        let new = Body::new(Uuid::nil(), shape, texture_entry, AgentId(Uuid::nil()), 0);
        let looped = |(id, gain, flags, radius_m)| LoopedSound { id: Uuid::from_u128(id), gain, flags, radius_m };
        Body {
            texture_animation: texture_animation.into(), extra_params, particles: particles.into(),
            hover_text: HoverText { text, color }, media: media.map(Arc::new), media_url,
            overrides: overrides.map(Arc::new), sound: sound.map(looped), ..new
        }
    }
}

/// A size along an axis, often one of the least or the greatest.
fn any_size() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.001_f32), 0.001_f32..0.01, 0.01_f32..64.0, 64.0_f32..256.0, Just(256.0_f32)]
}

prop_compose! {
    fn any_body()(
        looks in any_looks(), (id, code) in (any_id(), prop::sample::select(vec![9_u8, 95, 111, 255])),
        (state, material, click_action) in (any::<u8>(), 0_u8..8, 0_u8..10),
        scale in [any_size(), any_size(), any_size()],
        names in [any_text(63), any_text(127), any_text(63), any_text(63)], ownership in any_ownership(),
        created_us in any::<u64>(), sale in any_sale(), physics in any_physics(),
        seat in prop::option::of((any_vector(300.0), any_rotation())), contents in prop::option::of(any_contents()),
    ) -> Body {
        let [name, description, touch, sit] = names;
        let permissions = ownership.permissions.bounded();
        Body {
            id, p_code: PCode::of_code(code).unwrap(), state, material: Material::of_code(material).unwrap(),
            click_action, scale: Vec3::from_array(scale), names: Names { name, description, touch, sit },
            ownership: Arc::new(Ownership { permissions, ..ownership }), created_us, sale, physics,
            sit_target: seat.map(|(position, rotation)| SitTarget { position, rotation }),
            contents: contents.map(Arc::new), ..looks
        }
        .checked()
        .unwrap()
    }
}

prop_compose! {
    fn any_part()(
        body in any_body(), position in any_vector(300.0), rotation in any_rotation(), velocity in any_vector(20.0),
        angular_velocity in any_vector(6.0), acceleration in any_vector(20.0), flags in any::<u32>(),
    ) -> ScenePart {
        let movement = PartPlace { velocity, angular_velocity, acceleration, ..PartPlace::default() };
        let place = PartPlace { position, rotation, ..movement };
        ScenePart { place, flags: flags & flags::PART_FLAGS, body: Arc::new(body) }
    }
}

pub(super) fn any_group() -> impl Strategy<Value = SceneGroup> {
    (any_part(), prop::collection::vec(any_part(), 0..3))
        .prop_map(|(root, others)| SceneGroup { root, others })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn linksets_are_read_as_they_are_written(group in any_group()) {
        for form in [XmlForm::Xml2, XmlForm::Original] {
            let text = write_group(&group, &options(form));
            let ReadObject { object, report } = read(&text);
            prop_assert_eq!(report, ObjectReport::default());
            // Equal in every field, and nothing of the text is beyond the model.
            prop_assert_eq!(object, SceneObject::Group(group.clone()));
        }
    }

    #[test]
    fn several_linksets_are_read_as_they_are_written(
        groups in prop::collection::vec((any_vector(100.0), any_group()), 1..3), size in any_vector(100.0),
    ) {
        let groups = groups.into_iter().map(|(offset, group)| CoalescedGroup { offset, group }).collect();
        let object = SceneObject::Coalesced(Coalesced { size, groups });
        let text = write_object(&object, &options(XmlForm::Original));
        prop_assert_eq!(read(&text).object, object);
    }

    /// Also of a damaged document: it is refused, or it makes a linkset that is written and read again as the same one.
    #[test]
    fn damaged_documents_are_refused_or_stable(
        group in any_group(), at in any::<prop::sample::Index>(), len in 0_usize..40, junk in "[<>/&;a-c0-9 .-]{0,12}",
    ) {
        let text = write_group(&group, &options(XmlForm::Xml2));
        let start = text.floor_char_boundary(at.index(text.len()));
        let end = text.ceil_char_boundary((start + len).min(text.len()));
        let damaged = format!("{}{junk}{}", &text[..start], &text[end..]);
        let read = read_object(damaged.as_bytes(), &XmlLimits::OBJECT);
        if let Ok(ReadObject { object: SceneObject::Group(group), .. }) = read {
            for form in [XmlForm::Xml2, XmlForm::Original] {
                let again = read_one(&write_group(&group, &options(form)));
                prop_assert_eq!(bare(&again), bare(&group), "{}", damaged);
            }
        }
    }
}
