//! Tests of objects as XML.

mod bodies;
mod carrying;
mod refusals;
mod round_trips;
mod samples;
mod values;

use super::*;
use crate::xml::XmlLimits;

/// Reads a document that has to be an object.
fn read(text: &str) -> ReadObject {
    read_object(text.as_bytes(), &XmlLimits::OBJECT).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// Reads a document of one linkset.
fn read_one(text: &str) -> SceneGroup {
    match read(text).object {
        SceneObject::Group(group) => group,
        SceneObject::Coalesced(_) => panic!("several linksets"),
    }
}

fn options(form: XmlForm) -> WriteOptions<'static> {
    WriteOptions { form, creators: None }
}

/// The linkset with another root.
fn with_body(group: &SceneGroup, change: impl FnOnce(&mut Body)) -> SceneGroup {
    let mut changed = group.clone();
    change(Arc::make_mut(&mut changed.root.body));
    changed
}

/// The model without anything that is kept beside it.
fn bare(group: &SceneGroup) -> SceneGroup {
    let bare_part = |part: &ScenePart| {
        let mut part = part.clone();
        let body = Arc::make_mut(&mut part.body);
        body.carried = None;
        if let Some(contents) = &mut body.contents {
            for item in &mut Arc::make_mut(contents).items {
                Arc::make_mut(item).carried = prim::Carried::default();
            }
        }
        part
    };
    SceneGroup { root: bare_part(&group.root), others: group.others.iter().map(bare_part).collect() }
}
