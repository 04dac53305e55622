//! Objects as XML: a document is refused with a text, or it makes linksets that are written in both forms and read again as the same ones.
#![no_main]

use archive::object::{
    Coalesced, SceneGroup, SceneObject, ScenePart, WriteOptions, XmlForm, read_object, write_group,
    write_object,
};
use archive::xml::XmlLimits;
use libfuzzer_sys::fuzz_target;
use prim::Carried;
use std::sync::Arc;

/// The form of inventories has an element more around each part, and several linksets have two more.
const WRITTEN: XmlLimits = XmlLimits { depth_max: XmlLimits::OBJECT.depth_max + 3, ..XmlLimits::OBJECT };

fuzz_target!(|bytes: &[u8]| {
    let read = match read_object(bytes, &XmlLimits::OBJECT) {
        Ok(read) => read,
        Err(why) => {
            assert!(!why.to_string().is_empty());
            return;
        }
    };
    let object = read.object;
    for group in object.groups() {
        for form in [XmlForm::Xml2, XmlForm::Original] {
            let text = write_group(group, &WriteOptions { form, creators: None });
            let again = read_object(text.as_bytes(), &WRITTEN).expect("its own text");
            let SceneObject::Group(again) = again.object else { panic!("one linkset") };
            assert_eq!(bare(&again), bare(group));
        }
        for reference in group.references() {
            assert!(!reference.asset.is_nil() && !reference.to_string().is_empty());
        }
    }
    if let SceneObject::Coalesced(Coalesced { groups, .. }) = &object {
        let text = write_object(&object, &WriteOptions::default());
        let again = read_object(text.as_bytes(), &WRITTEN).expect("its own text").object.into_groups();
        assert_eq!(again.len(), groups.len());
    }
});

/// The linkset without the data that is kept beside the model.
fn bare(group: &SceneGroup) -> SceneGroup {
    SceneGroup { root: bare_part(&group.root), others: group.others.iter().map(bare_part).collect() }
}

fn bare_part(part: &ScenePart) -> ScenePart {
    let mut part = part.clone();
    let body = Arc::make_mut(&mut part.body);
    body.carried = None;
    if let Some(contents) = &mut body.contents {
        for item in &mut Arc::make_mut(contents).items {
            Arc::make_mut(item).carried = Carried::default();
        }
    }
    part
}
