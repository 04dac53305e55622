//! An element with known children: those that a document has, the usual ones for a value, the differences, and both put together again.

use super::error::{Flaw, ObjectLossReason, ReadContext};
use super::kept::{KeptElement, KeptScope, Spelling};
use super::table::{ElementTable, KnownElement, Modelling};
use crate::xml::{XmlElement, XmlWriter, is_blank};
use glam::{Quat, Vec3};
use ids::Uuid;
use std::cell::Cell;
use std::fmt::Display;

/// Key of a check: the number of an element, or this bit with that of a group.
const GROUP_BIT: u8 = 0x80;

/// Key of the check of an element's value.
fn key_of(known: KnownElement) -> Option<u8> {
    match known.kind {
        Modelling::Constant | Modelling::Nested => None,
        Modelling::Own => Some(known.id),
        Modelling::Shared(group) => Some(GROUP_BIT | group),
    }
}

/// Children of an element of a document.
#[derive(Debug)]
pub(super) struct FoundElements<'d> {
    table: &'static ElementTable,
    attributes: &'d str,
    /// By the places of the table.
    slots: Vec<Option<XmlElement<'d>>>,
    /// Places of known elements, in the order of the document.
    order: Vec<usize>,
    /// Unknown elements, each with the number of the known one before it, plus 1.
    pub(super) unknown: Vec<(u16, XmlElement<'d>)>,
    /// Place behind the element that was asked for last.
    cursor: Cell<usize>,
}

impl<'d> FoundElements<'d> {
    /// Sorts the children of an element.
    pub(super) fn of(
        element: &XmlElement<'d>,
        table: &'static ElementTable,
        context: &mut ReadContext,
    ) -> Self {
        let children = element.children().map(|child| (child.name(), child));
        Self::sort(element, table, children, context)
    }

    /// Sorts children by the names that the caller gives them. Of two known ones with one name the last one counts, as in OpenSimulator, and the first one is
    /// kept as an unknown one.
    pub(super) fn sort(
        element: &XmlElement<'d>,
        table: &'static ElementTable,
        children: impl Iterator<Item = (&'d str, XmlElement<'d>)>,
        context: &mut ReadContext,
    ) -> Self {
        if element.has_text() {
            context.loss("", element.inner().len(), ObjectLossReason::NoPlace);
        }
        let mut found = Self {
            table,
            attributes: element.attributes(),
            slots: vec![None; table.len()],
            order: Vec::new(),
            unknown: Vec::new(),
            cursor: Cell::new(0),
        };
        for (name, child) in children {
            let next = found.order.last().map_or(0, |last| last + 1);
            let Some(index) = table.find(name, next) else {
                found.unknown.push((found.place(), child));
                continue;
            };
            if let Some(former) = found.slots[index].replace(child) {
                let at = found.order.iter().position(|&other| other == index).unwrap_or(0);
                found.order.remove(at);
                let place = at.checked_sub(1).map_or(0, |before| found.place_behind(found.order[before]));
                found.unknown.push((place, former));
                context.problem(table.at(index).name, Flaw::Twice);
            }
            found.order.push(index);
        }
        found
    }

    /// Place of an unknown element that comes next.
    fn place(&self) -> u16 {
        self.order.last().map_or(0, |&last| self.place_behind(last))
    }

    fn place_behind(&self, index: usize) -> u16 {
        u16::from(self.table.at(index).id) + 1
    }

    /// A known child.
    pub(super) fn get(&self, name: &str) -> Option<XmlElement<'d>> {
        let index = self.table.find(name, self.cursor.get())?;
        self.cursor.set(index + 1);
        self.slots[index]
    }

    /// The differences to the usual elements.
    pub(super) fn differences(&self, usual: &UsualElements, usual_attributes: &str) -> KeptScope {
        let mut checks: Vec<(u8, u64)> = Vec::new();
        let mut elements = Vec::new();
        for (index, known) in self.table.iter() {
            let original = self.slots[index];
            let is_usual = original.map(|element| element.outer()) == usual.get(index);
            if is_usual || known.kind == Modelling::Nested {
                continue;
            }
            let check = key_of(known).map(|key| usual.check_once(key, &mut checks));
            let spelling = original.map_or(Spelling::Absent, |element| Spelling::of(&element));
            elements.push(KeptElement { id: known.id, check, spelling });
        }
        let is_ascending = self.order.is_sorted();
        let order = self.order.iter().map(|&index| self.table.at(index).id);
        KeptScope {
            attributes: kept_attributes(self.attributes, usual_attributes),
            order: if is_ascending { Vec::new() } else { order.collect() },
            elements,
            unknown: self.unknown.iter().map(|(place, element)| (*place, element.outer().into())).collect(),
        }
    }
}

/// Attributes of a tag, if they are not the usual ones.
pub(super) fn kept_attributes(attributes: &str, usual: &str) -> Option<Box<str>> {
    let attributes = attributes.trim_end_matches(is_blank);
    (attributes != usual).then(|| attributes.into())
}

/// Elements of a value in the spelling that this server writes. They are added in the order of their table.
#[derive(Debug)]
pub(super) struct UsualElements {
    table: &'static ElementTable,
    writer: XmlWriter,
    /// Begin and end of each; equal for an absent one.
    spans: Vec<(usize, usize)>,
    next: usize,
}

impl UsualElements {
    pub(super) fn new(table: &'static ElementTable) -> Self {
        Self { table, writer: XmlWriter::new(), spans: vec![(0, 0); table.len()], next: 0 }
    }

    /// Adds an element that `write` writes under its name.
    pub(super) fn put(&mut self, name: &'static str, write: impl FnOnce(&mut XmlWriter)) {
        let index = self.table.find(name, self.next).expect("a known element");
        debug_assert!(index >= self.next, "{name} comes too late");
        let start = self.writer.len();
        write(&mut self.writer);
        self.spans[index] = (start, self.writer.len());
        self.next = index + 1;
    }

    pub(super) fn leaf(&mut self, name: &'static str, text: &str) {
        self.put(name, |writer| writer.leaf(name, text));
    }

    /// Of a number or a word.
    pub(super) fn value(&mut self, name: &'static str, value: impl Display) {
        self.put(name, |writer| writer.value(name, value));
    }

    pub(super) fn float(&mut self, name: &'static str, value: f32) {
        self.put(name, |writer| writer.float(name, value));
    }

    pub(super) fn bytes(&mut self, name: &'static str, bytes: &[u8]) {
        self.put(name, |writer| writer.bytes(name, bytes));
    }

    pub(super) fn id(&mut self, name: &'static str, id: Uuid) {
        self.put(name, |writer| {
            writer.open(name);
            writer.value("UUID", id);
            writer.close(name);
        });
    }

    pub(super) fn vector(&mut self, name: &'static str, vector: Vec3) {
        self.floats(name, ["X", "Y", "Z"].into_iter().zip(vector.to_array()));
    }

    pub(super) fn rotation(&mut self, name: &'static str, rotation: Quat) {
        self.floats(name, ["X", "Y", "Z", "W"].into_iter().zip(rotation.to_array()));
    }

    fn floats(&mut self, name: &'static str, floats: impl Iterator<Item = (&'static str, f32)>) {
        self.put(name, |writer| {
            writer.open(name);
            for (axis, value) in floats {
                writer.float(axis, value);
            }
            writer.close(name);
        });
    }

    /// The element at a place of the table.
    fn get(&self, index: usize) -> Option<&str> {
        let (start, end) = self.spans[index];
        (start < end).then(|| &self.writer.as_str()[start..end])
    }

    /// The check of a key; each is made once, and noted in `checks`.
    fn check_once(&self, key: u8, checks: &mut Vec<(u8, u64)>) -> u64 {
        if let Some((_, check)) = checks.iter().find(|(other, _)| *other == key) {
            return *check;
        }
        let check = self.check(key);
        checks.push((key, check));
        check
    }

    /// Hash of the elements that make a value.
    fn check(&self, key: u8) -> u64 {
        let mut hasher = blake3::Hasher::new();
        for (index, known) in self.table.iter().filter(|(_, known)| key_of(*known) == Some(key)) {
            let text = self.get(index).unwrap_or_default();
            hasher.update(&[known.id]);
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let hash = hasher.finalize();
        let (first, _) = hash.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
        u64::from_le_bytes(*first)
    }

    /// Appends the elements, in the spelling and with the unknown ones that were kept. `ignored` is an element whose kept spelling does not count; `filled` is
    /// one, with its markup, that is written if there would be none.
    pub(super) fn merge(
        &self,
        kept: Option<&KeptScope>,
        ignored: Option<&'static str>,
        filled: Option<(&'static str, &str)>,
        out: &mut XmlWriter,
    ) {
        let none = KeptScope::default();
        let kept = match (kept, filled) {
            (None, None) => return out.raw(self.writer.as_str()),
            (kept, _) => kept.unwrap_or(&none),
        };
        let mut checks: Vec<(u8, u64)> = Vec::new();
        kept.unknown_at(0).for_each(|markup| out.raw(markup));
        for index in self.places(kept) {
            let known = self.table.at(index);
            let usual = self.get(index);
            let spelled = kept.element(known.id).filter(|_| ignored != Some(known.name));
            let start = out.len();
            match spelled {
                Some(element) if self.is_unchanged(known, element, &mut checks) => {
                    write_spelling(known.name, &element.spelling, out);
                }
                Some(element) => write_changed(usual, &element.spelling, out),
                None => out.raw(usual.unwrap_or_default()),
            }
            match filled {
                Some((name, markup)) if name == known.name && out.len() == start => out.raw(markup),
                _ => {}
            }
            kept.unknown_at(u16::from(known.id) + 1).for_each(|markup| out.raw(markup));
        }
    }

    fn is_unchanged(&self, known: KnownElement, element: &KeptElement, checks: &mut Vec<(u8, u64)>) -> bool {
        // An element without a check was no part of the model when it was read.
        let Some(key) = key_of(known) else { return true };
        element.check.is_some_and(|check| self.check_once(key, checks) == check)
    }

    /// Places of the table in the order that was kept. A new element stands behind its usual neighbour.
    fn places(&self, kept: &KeptScope) -> Vec<usize> {
        if kept.order.is_empty() {
            return (0..self.table.len()).collect();
        }
        let mut places: Vec<usize> = Vec::with_capacity(self.table.len());
        for index in kept.order.iter().filter_map(|&id| self.table.of_id(id)) {
            if !places.contains(&index) {
                places.push(index);
            }
        }
        for index in 0..self.table.len() {
            if !places.contains(&index) {
                let former = index.checked_sub(1);
                let at = former.and_then(|former| places.iter().position(|&place| place == former));
                places.insert(at.map_or(0, |at| at + 1), index);
            }
        }
        places
    }
}

fn write_spelling(name: &str, spelling: &Spelling, out: &mut XmlWriter) {
    match spelling {
        Spelling::Absent => {}
        Spelling::Inner(markup) => {
            out.open(name);
            out.raw(markup);
            out.close(name);
        }
        Spelling::Outer(markup) => out.raw(markup),
    }
}

/// Writes a value that has changed, with the attributes that its element had.
fn write_changed(usual: Option<&str>, spelling: &Spelling, out: &mut XmlWriter) {
    let Some(usual) = usual else { return };
    let attributes = match spelling {
        Spelling::Outer(markup) => attributes_of(markup),
        Spelling::Inner(_) | Spelling::Absent => "",
    };
    let name_end = usual.find([' ', '/', '>']).unwrap_or(usual.len());
    let (name, rest) = usual.split_at(name_end);
    out.raw(name);
    out.raw(attributes);
    out.raw(rest);
}

/// Attributes of an element from its markup, with the blank before them.
fn attributes_of(markup: &str) -> &str {
    let Some(start) = markup.find(|c: char| is_blank(c) || matches!(c, '/' | '>')) else { return "" };
    let mut quote = None;
    let end = markup[start..].find(|c: char| match quote {
        Some(open) => {
            if c == open {
                quote = None;
            }
            false
        }
        None => {
            if matches!(c, '"' | '\'') {
                quote = Some(c);
            }
            matches!(c, '/' | '>')
        }
    });
    markup[start..].get(..end.unwrap_or(0)).unwrap_or_default().trim_end_matches(is_blank)
}

/// Writes a list with the unknown elements that were kept between its entries.
pub(super) fn write_list<T>(
    name: &str,
    kept: Option<&KeptScope>,
    entries: &[T],
    out: &mut XmlWriter,
    write: impl Fn(usize, &T, &mut XmlWriter),
) {
    let attributes = kept.and_then(|kept| kept.attributes.as_deref()).unwrap_or_default();
    if entries.is_empty() && kept.is_none_or(|kept| kept.unknown.is_empty()) {
        return out.empty(name, attributes);
    }
    out.open_with(name, attributes);
    for (place, entry) in entries.iter().enumerate() {
        let unknown = kept.into_iter().flat_map(|kept| kept.unknown_at(place as u16));
        unknown.for_each(|markup| out.raw(markup));
        write(place, entry, out);
    }
    // Behind the last entry, also those that have stood behind more of them.
    let unknown = kept.into_iter().flat_map(|kept| &kept.unknown);
    let behind = unknown.filter(|(place, _)| usize::from(*place) >= entries.len());
    behind.for_each(|(_, markup)| out.raw(markup));
    out.close(name);
}

#[cfg(test)]
mod tests {
    use super::super::table::PART;
    use super::*;
    use crate::xml::{XmlDocument, XmlLimits};

    /// Usual elements of a part with few fields.
    fn usual(name: &str, owner: u128) -> UsualElements {
        let mut usual = UsualElements::new(&PART);
        usual.value("AllowedDrop", false);
        usual.leaf("Name", name);
        usual.id("OwnerID", Uuid::from_u128(owner));
        usual.id("RezzerID", Uuid::nil());
        usual
    }

    /// Data kept of a document with these children when it is read as `usual`.
    fn kept(children: &str, usual: &UsualElements) -> KeptScope {
        let document = format!("<SceneObjectPart a=\"1\">{children}</SceneObjectPart>");
        let document = XmlDocument::parse(document.as_bytes(), &XmlLimits::OBJECT).unwrap();
        let mut context = ReadContext::default();
        FoundElements::of(&document.root(), &PART, &mut context).differences(usual, " a=\"1\"")
    }

    fn merged(usual: &UsualElements, kept: &KeptScope) -> String {
        let mut out = XmlWriter::new();
        usual.merge(Some(kept), None, None, &mut out);
        out.into_text()
    }

    const BOX: &str = "<AllowedDrop>false</AllowedDrop><Name>Box</Name><OwnerID><UUID>00000000-0000-0000-0000-000000000001</UUID></OwnerID>\
        <RezzerID><UUID>00000000-0000-0000-0000-000000000000</UUID></RezzerID>";

    #[test]
    fn usual_elements_keep_nothing() {
        let usual = usual("Box", 1);
        assert_eq!(kept(BOX, &usual), KeptScope::default());
        assert_eq!(merged(&usual, &KeptScope::default()), BOX);
    }

    #[test]
    fn each_document_is_merged_as_it_was() {
        for children in [
            "",
            "<Name>Box</Name>",
            "<New a='b'/><AllowedDrop>0</AllowedDrop><New/><Name >Box</Name><Other>x</Other>",
            "<Name>Box</Name><!-- gone --><AllowedDrop>false</AllowedDrop>",
            "<OwnerID>1</OwnerID><Name>Box</Name><Name>Box</Name>",
            "<PassTouches>true</PassTouches><Vehicle><TYPE>1</TYPE></Vehicle>",
        ] {
            let usual = usual("Box", 1);
            let expected = children.replace("<!-- gone -->", "");
            assert_eq!(merged(&usual, &kept(children, &usual)), expected, "{children}");
        }
    }

    #[test]
    fn a_spelling_counts_while_all_elements_of_its_value_are_unchanged() {
        let children = "<AllowedDrop>0</AllowedDrop><Name a=\"/>\" >B&#111;x</Name><OwnerID>1</OwnerID><RezzerID>7</RezzerID><New/>";
        let kept = kept(children, &usual("Box", 1));
        let renamed = merged(&usual("Sphere", 1), &kept);
        assert_eq!(renamed, children.replace(" >B&#111;x", ">Sphere"));
        let sold = merged(&usual("Box", 2), &kept);
        let no_rezzer = "<RezzerID><UUID>00000000-0000-0000-0000-000000000000</UUID></RezzerID>";
        let owner = "<OwnerID><UUID>00000000-0000-0000-0000-000000000002</UUID></OwnerID>";
        let expected =
            children.replace("<OwnerID>1</OwnerID><RezzerID>7</RezzerID>", &format!("{owner}{no_rezzer}"));
        assert_eq!(sold, expected);
    }

    #[test]
    fn an_element_that_is_new_stands_in_its_usual_place() {
        let usual_before = usual("Box", 1);
        let kept = kept("<RezzerID/><Name>Box</Name><AllowedDrop>false</AllowedDrop>", &usual_before);
        let mut later = UsualElements::new(&PART);
        later.value("AllowedDrop", false);
        later.leaf("Name", "Box");
        later.value("Material", 3);
        assert_eq!(
            merged(&later, &kept),
            "<Name>Box</Name><Material>3</Material><AllowedDrop>false</AllowedDrop>"
        );
    }

    #[test]
    fn an_element_is_filled_in_or_its_spelling_ignored() {
        let usual = usual("Box", 1);
        let kept = kept("<CreatorData>x;y</CreatorData><AttachedPos/>", &usual);
        let merged = |kept: Option<&KeptScope>, ignored, filled| {
            let mut out = XmlWriter::new();
            usual.merge(kept, ignored, filled, &mut out);
            out.into_text()
        };
        let filled = Some(("CreatorData", "<CreatorData>new</CreatorData>"));
        assert_eq!(merged(Some(&kept), Some("AttachedPos"), filled), "<CreatorData>x;y</CreatorData>");
        let expected = BOX.replace("<Name>", "<CreatorData>new</CreatorData><Name>");
        assert_eq!(merged(None, None, filled), expected);
    }
}
