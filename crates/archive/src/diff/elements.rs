//! Differences of two documents.

use super::DiffReport;
use crate::xml::{XmlDocument, XmlElement, XmlError, XmlLimits};
use quick_xml::events::attributes::Attributes;
use std::collections::{BTreeMap, BTreeSet};

/// Lists without an order, elements in them, and the steps from such an element to its id; `@` is before an attribute.
const UNORDERED: [(&str, &str, &[&str]); 5] = [
    ("OtherParts", "Part", &["SceneObjectPart", "UUID"]),
    ("OtherParts", "SceneObjectPart", &["UUID"]),
    ("TaskInventory", "TaskInventoryItem", &["ItemID"]),
    ("GroupScriptStates", "SavedScriptState", &["@UUID"]),
    ("ParcelAccessList", "ParcelAccessEntry", &["AgentID"]),
];

/// Lists the differences of two documents.
///
/// # Errors
/// [`XmlError`] if one of them cannot be read.
pub(super) fn compare(path: &str, a: &[u8], b: &[u8], report: &mut DiffReport) -> Result<(), XmlError> {
    let limits = XmlLimits::OBJECT;
    let (a, b) = (XmlDocument::parse(a, &limits)?, XmlDocument::parse(b, &limits)?);
    let (a, b) = (a.root(), b.root());
    if a.name() == b.name() {
        compare_elements(&format!("{path}/{}", a.name()), a, b, report);
    } else {
        report.add(path, Some(a.name()), Some(b.name()));
    }
    Ok(())
}

/// Compares elements with the same name. The depth of a document is bounded by its reader.
fn compare_elements(path: &str, a: XmlElement<'_>, b: XmlElement<'_>, report: &mut DiffReport) {
    if a.outer() == b.outer() {
        return;
    }
    compare_attributes(path, a, b, report);
    match (a.text(), b.text()) {
        (Some(text), Some(other)) => {
            if text != other {
                report.add(path, Some(&text), Some(&other));
            }
        }
        (None, None) if !a.has_text() && !b.has_text() => compare_children(path, a, b, report),
        // Elements among text, or in the place of text, are compared as they stand there.
        _ if a.inner() == b.inner() => {}
        _ => report.add(path, Some(a.inner()), Some(b.inner())),
    }
}

fn compare_attributes(path: &str, a: XmlElement<'_>, b: XmlElement<'_>, report: &mut DiffReport) {
    if a.attributes().trim() == b.attributes().trim() {
        return;
    }
    let mut names: BTreeSet<String> = attribute_names(a);
    names.extend(attribute_names(b));
    for name in names {
        let (value, other) = (a.attribute(&name), b.attribute(&name));
        if value != other {
            report.add(&format!("{path}/@{name}"), value.as_deref(), other.as_deref());
        }
    }
}

fn attribute_names(element: XmlElement<'_>) -> BTreeSet<String> {
    let tag = format!("x{}", element.attributes());
    let attributes = Attributes::new(&tag, 1).flatten();
    attributes.map(|attribute| attribute.key.into_inner().to_owned()).collect()
}

fn compare_children(path: &str, a: XmlElement<'_>, b: XmlElement<'_>, report: &mut DiffReport) {
    let mut others: BTreeMap<String, XmlElement<'_>> = labelled(b).into_iter().collect();
    for (label, child) in labelled(a) {
        let path = format!("{path}/{label}");
        match others.remove(&label) {
            Some(other) => compare_elements(&path, child, other, report),
            None => report.add(&path, Some(child.inner()), None),
        }
    }
    for (label, other) in others {
        report.add(&format!("{path}/{label}"), None, Some(other.inner()));
    }
}

/// Children with labels that differ: the name, with an id for those of a list without an order, and with a number from the second of the same label on.
fn labelled(element: XmlElement<'_>) -> Vec<(String, XmlElement<'_>)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut children = Vec::new();
    for child in element.children() {
        let mut label = child.name().to_owned();
        if let Some(id) = id_in(element.name(), child) {
            label = format!("{label}[{id}]");
        }
        let count = counts.entry(label.clone()).or_default();
        *count += 1;
        if *count > 1 {
            label = format!("{label}[{count}]");
        }
        children.push((label, child));
    }
    children
}

/// The id of an element, if the list is one without an order.
fn id_in(list: &str, element: XmlElement<'_>) -> Option<String> {
    let is_of_list = |row: &&(&str, &str, &[&str])| row.0 == list && row.1 == element.name();
    let (_, _, steps) = UNORDERED.iter().find(is_of_list)?;
    let mut inner = element;
    for step in *steps {
        if let Some(name) = step.strip_prefix('@') {
            return Some(inner.attribute(name)?.trim().to_owned());
        }
        inner = inner.child(step)?;
    }
    // Ids stand in an element of their own within the named one.
    while let Some(child) = inner.children().next() {
        inner = child;
    }
    Some(inner.text()?.trim().to_owned())
}
