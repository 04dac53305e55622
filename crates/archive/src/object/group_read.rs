//! Reading of linksets, and of documents with several of them.

use super::error::{Flaw, ObjectError, ObjectLossReason, ReadContext};
use super::kept::{KeptElement, KeptScope, KeptScopeKind, Spelling};
use super::part_read::{ReadPart, read_part};
use super::part_write::LinksetOrder;
use super::scope::{FoundElements, UsualElements, kept_attributes};
use super::table::{GROUP, WRAPPER};
use super::{Coalesced, CoalescedGroup, SceneGroup, SceneObject};
use crate::xml::XmlElement;
use glam::Vec3;
use ids::Uuid;
use std::collections::{HashMap, HashSet};

/// Number of `OtherParts` in its table.
const OTHER_PARTS: u8 = 1;

/// Reads the outermost element of a document.
pub(super) fn read_root(
    root: &XmlElement<'_>,
    context: &mut ReadContext,
) -> Result<SceneObject, ObjectError> {
    match root.name() {
        "SceneObjectGroup" => context
            .within("SceneObjectGroup", None, |context| read_group(root, context))
            .map(SceneObject::Group),
        "SceneObjectPart" => context.within("SceneObjectPart", None, |context| {
            let part = read_part(root, None, true, context)?;
            Ok(SceneObject::Group(finish(part, Vec::new(), Vec::new(), context)))
        }),
        "CoalescedObject" => context
            .within("CoalescedObject", None, |context| read_coalesced(root, context))
            .map(SceneObject::Coalesced),
        other => Err(ObjectError::Root(other.chars().take(64).collect())),
    }
}

fn read_coalesced(root: &XmlElement<'_>, context: &mut ReadContext) -> Result<Coalesced, ObjectError> {
    let size = read_vector(root, ["x", "y", "z"], context);
    let mut groups = Vec::new();
    for child in root.children() {
        if child.name() != "SceneObjectGroup" {
            context.loss(child.name(), child.outer().len(), ObjectLossReason::NoPlace);
            continue;
        }
        let member = context.within("SceneObjectGroup", Some(groups.len() + 1), |context| {
            let offset = read_vector(&child, ["offsetx", "offsety", "offsetz"], context);
            // OpenSimulator writes the element of a linkset within another one that has the offset; a single one is read, too.
            let group = match child.child("SceneObjectGroup") {
                Some(inner) => {
                    context.within("SceneObjectGroup", None, |context| read_group(&inner, context))?
                }
                None => read_group(&child, context)?,
            };
            Ok(CoalescedGroup { offset, group })
        })?;
        groups.push(member);
    }
    if groups.is_empty() {
        return Err(ObjectError::Absent { path: context.path_of(""), expected: "SceneObjectGroup" });
    }
    Ok(Coalesced { size, groups })
}

/// A vector in attributes; 0 for numbers that are absent or none.
fn read_vector(element: &XmlElement<'_>, names: [&str; 3], context: &mut ReadContext) -> Vec3 {
    let numbers = names.map(|name| {
        let Some(text) = element.attribute(name) else { return 0.0 };
        let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        if number.is_none() {
            context.problem(name, Flaw::Number);
        }
        number.unwrap_or(0.0)
    });
    Vec3::from_array(numbers)
}

fn read_group(element: &XmlElement<'_>, context: &mut ReadContext) -> Result<SceneGroup, ObjectError> {
    let mut has_root = false;
    let children = element.children().map(|child| {
        let is_part = matches!(child.name(), "RootPart" | "SceneObjectPart");
        let is_root = is_part && !has_root;
        has_root |= is_part;
        // The root has one place in both forms. Later parts are sorted out of the unknown elements.
        let name = if is_root {
            "SceneObjectPart"
        } else if is_part {
            ""
        } else {
            child.name()
        };
        (name, child)
    });
    let mut found = FoundElements::sort(element, &GROUP, children, context);
    let Some(root) = found.get("SceneObjectPart") else {
        return Err(ObjectError::Absent { path: context.path_of(""), expected: "SceneObjectPart" });
    };
    let root = if root.name() == "RootPart" {
        context.within("RootPart", None, |context| {
            read_wrapped(&root, true, context)?
                .ok_or_else(|| ObjectError::Absent { path: context.path_of(""), expected: "SceneObjectPart" })
        })?
    } else {
        context.within("SceneObjectPart", None, |context| read_part(&root, None, true, context))?
    };
    let mut scopes = Vec::new();
    let mut others = Vec::new();
    if let Some(list) = found.get("OtherParts") {
        let scope = context.within("OtherParts", None, |context| read_others(&list, &mut others, context))?;
        if !scope.is_empty() {
            scopes.push((KeptScopeKind::OtherParts, scope));
        }
    }
    let unsorted = std::mem::take(&mut found.unknown).into_iter();
    let (further, unknown): (Vec<_>, Vec<_>) =
        unsorted.partition(|(_, child)| child.name() == "SceneObjectPart");
    found.unknown = unknown;
    for (n, (_, part)) in (2..).zip(further) {
        let read = |context: &mut ReadContext| read_part(&part, None, false, context);
        others.push(context.within("SceneObjectPart", Some(n), read)?);
    }
    // In the order of their links; documents have them in any.
    others.sort_by_key(|part: &ReadPart<'_>| part.link_number);
    let mut parts: Vec<ReadPart<'_>> = std::iter::once(root).chain(others).collect();
    if let Some(list) = found.get("GroupScriptStates") {
        let scope = context
            .within("GroupScriptStates", None, |context| Ok(read_states(&list, &mut parts, context)))?;
        let mut items = parts.iter().flat_map(|part| &part.items);
        let has_states = items.any(|(_, kept)| kept.script_state.is_some());
        if !scope.is_empty() || !has_states {
            scopes.push((KeptScopeKind::States, scope));
        }
    }
    let mut scope = found.differences(&UsualElements::new(&GROUP), "");
    if found.get("OtherParts").is_none() {
        scope.elements.push(KeptElement { id: OTHER_PARTS, check: None, spelling: Spelling::Absent });
    }
    scopes.push((KeptScopeKind::Group, scope));
    let others = parts.split_off(1);
    let root = parts.pop().expect("the root was put there");
    Ok(finish(root, others, scopes, context))
}

/// The list of other parts: in elements of their own in one form, and without them in the other.
fn read_others<'d>(
    list: &XmlElement<'d>,
    others: &mut Vec<ReadPart<'d>>,
    context: &mut ReadContext,
) -> Result<KeptScope, ObjectError> {
    let mut scope = list_scope(list, context);
    for child in list.children() {
        let number = Some(others.len() + 1);
        let part = match child.name() {
            "Part" => context.within("Part", number, |context| read_wrapped(&child, false, context))?,
            "SceneObjectPart" => {
                let read = |context: &mut ReadContext| read_part(&child, None, false, context);
                Some(context.within("SceneObjectPart", number, read)?)
            }
            _ => None,
        };
        match part {
            Some(part) => others.push(part),
            None => scope.unknown.push((place_of(others.len()), child.outer().into())),
        }
    }
    Ok(scope)
}

/// A part in an element of its own; none if there is no part in it.
fn read_wrapped<'d>(
    wrapper: &XmlElement<'d>,
    is_root: bool,
    context: &mut ReadContext,
) -> Result<Option<ReadPart<'d>>, ObjectError> {
    let found = FoundElements::of(wrapper, &WRAPPER, context);
    let Some(part) = found.get("SceneObjectPart") else { return Ok(None) };
    let around = found.differences(&UsualElements::new(&WRAPPER), "");
    let read = |context: &mut ReadContext| read_part(&part, Some(around), is_root, context);
    context.within("SceneObjectPart", None, read).map(Some)
}

/// Gives states of scripts to their items. States of other items are kept as markup.
fn read_states(list: &XmlElement<'_>, parts: &mut [ReadPart<'_>], context: &mut ReadContext) -> KeptScope {
    let mut scope = list_scope(list, context);
    let mut places: HashMap<Uuid, (usize, usize)> = HashMap::new();
    for (n, part) in parts.iter().enumerate() {
        for (at, (item, _)) in part.items.iter().enumerate() {
            places.entry(item.id).or_insert((n, at));
        }
    }
    let mut n_states = 0;
    for child in list.children() {
        let id = match child.name() {
            "SavedScriptState" => child.attribute("UUID").and_then(|id| Uuid::try_parse(id.trim()).ok()),
            _ => None,
        };
        // A second state of an item has no place.
        let place = id.and_then(|id| places.remove(&id));
        let Some((n, at)) = place else {
            scope.unknown.push((place_of(n_states), child.outer().into()));
            continue;
        };
        // The id is written anew, and nothing else.
        if child.attributes().matches('=').count() > 1 {
            context.loss("SavedScriptState", child.attributes().len(), ObjectLossReason::NoPlace);
        }
        parts[n].items[at].1.script_state = Some(child.inner().into());
        n_states += 1;
    }
    scope
}

/// Attributes of a list. Text in it is lost.
fn list_scope(list: &XmlElement<'_>, context: &mut ReadContext) -> KeptScope {
    if list.has_text() {
        context.loss("", list.inner().len(), ObjectLossReason::NoPlace);
    }
    KeptScope { attributes: kept_attributes(list.attributes(), ""), ..KeptScope::default() }
}

fn place_of(n_before: usize) -> u16 {
    u16::try_from(n_before).unwrap_or(u16::MAX)
}

/// A linkset of parts whose order is known.
fn finish(
    root: ReadPart<'_>,
    others: Vec<ReadPart<'_>>,
    scopes: Vec<(KeptScopeKind, KeptScope)>,
    context: &mut ReadContext,
) -> SceneGroup {
    let mut ids = HashSet::new();
    for part in std::iter::once(&root).chain(&others) {
        if !part.id().is_nil() && !ids.insert(part.id()) {
            context.problem("OtherParts", Flaw::SameId(part.id()));
        }
    }
    let n_parts = others.len() + 1;
    let order = |index: usize, root_position: Vec3| LinksetOrder { index, n_parts, root_position };
    let root_position = root.position();
    let root = root.finish(&order(0, root_position), scopes, context);
    let others = (1..)
        .zip(others)
        .map(|(index, part)| part.finish(&order(index, root_position), Vec::new(), context))
        .collect();
    SceneGroup { root, others }
}
