//! Writing of linksets, and of documents with several of them.

use super::kept::{KeptData, KeptScope, KeptScopeKind};
use super::part_write::{LinksetOrder, write_part};
use super::scope::{UsualElements, write_list};
use super::table::GROUP;
use super::{Coalesced, SceneGroup, ScenePart, WriteOptions, XmlForm};
use crate::xml::{XmlWriter, attribute, push_f32};
use glam::Vec3;
use ids::Uuid;

/// Writes several linksets. Each is an element within another one that has its offset, as OpenSimulator writes them.
pub(super) fn write_coalesced(coalesced: &Coalesced, options: &WriteOptions<'_>, out: &mut XmlWriter) {
    let options = WriteOptions { form: XmlForm::Original, ..*options };
    out.open_with("CoalescedObject", &vector_attributes(["x", "y", "z"], coalesced.size));
    for member in &coalesced.groups {
        let offset = vector_attributes(["offsetx", "offsety", "offsetz"], member.offset);
        out.open_with("SceneObjectGroup", &offset);
        write_group(&member.group, &options, out);
        out.close("SceneObjectGroup");
    }
    out.close("CoalescedObject");
}

fn vector_attributes(names: [&str; 3], vector: Vec3) -> String {
    let numbers = names.into_iter().zip(vector.to_array()).map(|(name, value)| {
        let mut text = String::new();
        push_f32(value, &mut text);
        attribute(name, &text)
    });
    numbers.collect()
}

/// Writes a linkset.
pub(super) fn write_group(group: &SceneGroup, options: &WriteOptions<'_>, out: &mut XmlWriter) {
    let carried = group.root.body.carried.as_deref();
    let of_root = KeptData::of(carried.map_or(&[][..], |carried| carried.as_bytes()));
    let scope = of_root.scope(KeptScopeKind::Group);
    let order = |index: usize| LinksetOrder {
        index,
        n_parts: group.others.len() + 1,
        root_position: group.root.place.position,
    };
    let write = |part: &ScenePart, index: usize, kept: &KeptData, wrapper: &str, out: &mut XmlWriter| {
        let write = |out: &mut XmlWriter| write_part(part, &order(index), kept, options.creators, out);
        match options.form {
            XmlForm::Xml2 => write(out),
            XmlForm::Original => write_wrapped(wrapper, kept.scope(KeptScopeKind::Wrapper), write, out),
        }
    };
    let mut usual = UsualElements::new(&GROUP);
    usual.put("SceneObjectPart", |out| write(&group.root, 0, &of_root, "RootPart", out));
    let of_others = of_root.scope(KeptScopeKind::OtherParts);
    usual.put("OtherParts", |out| {
        write_list("OtherParts", of_others, &group.others, out, |n, part, out| {
            let carried = part.body.carried.as_deref();
            let kept = KeptData::of(carried.map_or(&[][..], |carried| carried.as_bytes()));
            write(part, n + 1, &kept, "Part", out);
        });
    });
    let states: Vec<(Uuid, Box<str>)> = states_of(group).collect();
    let of_states = of_root.scope(KeptScopeKind::States);
    if !states.is_empty() || of_states.is_some() {
        usual.put("GroupScriptStates", |out| {
            write_list("GroupScriptStates", of_states, &states, out, |_, (id, state), out| {
                out.open_with("SavedScriptState", &attribute("UUID", &id.to_string()));
                out.raw(state);
                out.close("SavedScriptState");
            });
        });
    }
    let attributes = scope.and_then(|scope| scope.attributes.as_deref()).unwrap_or_default();
    out.open_with("SceneObjectGroup", attributes);
    // A document without the list has had a single part.
    let ignored = (!group.others.is_empty()).then_some("OtherParts");
    usual.merge(scope, ignored, None, out);
    out.close("SceneObjectGroup");
}

/// Items with a state, in the order of parts and items.
fn states_of(group: &SceneGroup) -> impl Iterator<Item = (Uuid, Box<str>)> {
    let contents = group.parts().filter_map(|part| part.body.contents.as_deref());
    let items = contents.flat_map(|contents| &contents.items);
    items.filter_map(|item| Some((item.id, KeptData::of(item.carried.as_bytes()).script_state?)))
}

/// Writes a part in an element of its own.
fn write_wrapped(
    name: &str,
    kept: Option<&KeptScope>,
    write: impl FnOnce(&mut XmlWriter),
    out: &mut XmlWriter,
) {
    out.open_with(name, kept.and_then(|kept| kept.attributes.as_deref()).unwrap_or_default());
    kept.into_iter().flat_map(|kept| kept.unknown_at(0)).for_each(|markup| out.raw(markup));
    write(out);
    kept.into_iter().flat_map(|kept| kept.unknown_at(1)).for_each(|markup| out.raw(markup));
    out.close(name);
}
