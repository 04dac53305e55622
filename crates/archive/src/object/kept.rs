//! The content of [`Carried`]: elements and attributes that the model has no field for, and the spelling of those that it has.
//!
//! ```text
//! edition U8 (1), then in the encoding of postcard:
//! scopes         list of (kind of scope, scope)
//! script state   text between the tags of SavedScriptState, of an item; optional
//!
//! scope          attributes of its tag, if they are not the usual ones
//!                order of its known elements by their numbers, if it is not the usual one
//!                elements: number, check of the value that it was read as (optional), spelling
//!                unknown elements: place, markup
//! ```
//!
//! A spelling is written in place of the usual one while the value is unchanged: while the usual spelling of the present value has the same check. Elements
//! without a check are no part of the model, and are written as they were read.

use super::table::{ElementTable, GROUP, ITEM, PART, SHAPE, WRAPPER};
use crate::xml::XmlElement;
use prim::{CARRIED_MAX, Carried};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Edition of the format.
const EDITION: u8 = 1;

/// Bytes that an entry takes beside its text, at most: number, place, check and lengths.
const ENTRY_BYTES: usize = 24;

/// Bytes that a scope takes beside its entries, at most.
const SCOPE_BYTES: usize = 32;

/// An element that is kept as a whole in OpenSimulator's archives although it is a copy of an asset.
const COPY_OF_ASSET: &str = "SculptData";

/// An element whose content is kept. Variants are numbers of the format: new ones come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum KeptScopeKind {
    /// The linkset, with its root.
    Group,
    /// The list of the other parts, with the root.
    OtherParts,
    /// The list of script states, with the root.
    States,
    /// The element around a part, with that part.
    Wrapper,
    Part,
    Shape,
    TaskInventory,
    Item,
}

impl KeptScopeKind {
    /// Its known elements; lists have none.
    pub(super) fn table(self) -> Option<&'static ElementTable> {
        match self {
            Self::Group => Some(&GROUP),
            Self::Wrapper => Some(&WRAPPER),
            Self::Part => Some(&PART),
            Self::Shape => Some(&SHAPE),
            Self::Item => Some(&ITEM),
            Self::OtherParts | Self::States | Self::TaskInventory => None,
        }
    }
}

/// Spelling of an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Spelling {
    /// It was not there.
    Absent,
    /// Markup between two tags without attributes.
    Inner(Box<str>),
    /// All of it.
    Outer(Box<str>),
}

impl Spelling {
    pub(super) fn of(element: &XmlElement<'_>) -> Self {
        let (name, inner, outer) = (element.name(), element.inner(), element.outer());
        let has_plain_tag = outer.as_bytes().get(1 + name.len()) == Some(&b'>');
        // Two brackets for each tag, and the slash of the second one.
        if has_plain_tag && outer.len() == inner.len() + 2 * name.len() + 5 {
            Self::Inner(inner.into())
        } else {
            Self::Outer(outer.into())
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Inner(markup) | Self::Outer(markup) => markup.len(),
        }
    }
}

/// A known element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptElement {
    /// Its number in the table of its scope.
    pub(super) id: u8,
    /// Check of the value that it was read as; `None` for elements that are no part of the model.
    pub(super) check: Option<u64>,
    pub(super) spelling: Spelling,
}

/// Content of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptScope {
    /// Attributes as they stand in the tag, with the blank before them, if they are not the usual ones.
    pub(super) attributes: Option<Box<str>>,
    /// Numbers of known elements in their order, if it is not the usual one.
    pub(super) order: Vec<u8>,
    pub(super) elements: Vec<KeptElement>,
    /// Unknown elements, each with the number of the known element before it, plus 1, or in a list the number of entries before it; 0 for none.
    pub(super) unknown: Vec<(u16, Box<str>)>,
}

impl KeptScope {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Markup of a known element that is kept; `None` if it was not there, too.
    pub(super) fn markup(&self, table: &ElementTable, name: &str) -> Option<Cow<'_, str>> {
        let known = table.at(table.find(name, 0)?);
        match &self.element(known.id)?.spelling {
            Spelling::Absent => None,
            Spelling::Inner(markup) => Some(Cow::Owned(format!("<{name}>{markup}</{name}>"))),
            Spelling::Outer(markup) => Some(Cow::Borrowed(markup)),
        }
    }

    /// The known element with a number.
    pub(super) fn element(&self, id: u8) -> Option<&KeptElement> {
        self.elements.iter().find(|element| element.id == id)
    }

    /// Unknown elements at a place.
    pub(super) fn unknown_at(&self, place: u16) -> impl Iterator<Item = &str> {
        self.unknown.iter().filter(move |(at, _)| *at == place).map(|(_, markup)| &**markup)
    }
}

/// Everything that is kept with a part or an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptData {
    scopes: Vec<(KeptScopeKind, KeptScope)>,
    /// Of an item: the markup between the tags of its state.
    pub(super) script_state: Option<Box<str>>,
}

/// A piece that can be left out, in the order in which pieces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Element(usize, usize),
    Unknown(usize, usize),
    /// Attributes and order of a scope.
    Shell(usize),
    ScriptState,
}

impl KeptData {
    /// Reads carried data. Data of another edition, which a later server has written, is none.
    pub(super) fn of(carried: &[u8]) -> Self {
        match carried.split_first() {
            Some((&EDITION, rest)) => postcard::from_bytes(rest).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    pub(super) fn scope(&self, kind: KeptScopeKind) -> Option<&KeptScope> {
        self.scopes.iter().find(|(other, _)| *other == kind).map(|(_, scope)| scope)
    }

    /// Adds a scope. One without content is left out, except for lists, whose being there is kept, too.
    pub(super) fn insert(&mut self, kind: KeptScopeKind, scope: KeptScope) {
        if !scope.is_empty() || kind.table().is_none() {
            self.scopes.push((kind, scope));
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The bytes of carried data; none without content.
    pub(super) fn encode(&self) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut bytes = vec![EDITION];
        bytes.extend(postcard::to_stdvec(self).expect("texts and numbers have an encoding"));
        bytes
    }

    /// The data to carry, at most `max` bytes, of which there are no more than [`CARRIED_MAX`]. Beyond them pieces are left out until the rest fits: first
    /// those that would not fit alone, then, the largest of a class first, copies of assets; spellings of modelled values; attributes and orders; unknown
    /// elements and those that are no part of the model; the script state. `lose` gets each of them, with its scope, name and bytes.
    pub(super) fn into_carried(
        mut self,
        max: usize,
        lose: impl FnMut(Option<KeptScopeKind>, &str, usize),
    ) -> Carried {
        self.shrink(max.min(CARRIED_MAX) - 1, lose);
        Carried::new(self.encode()).expect("it was cut to the limit")
    }

    fn shrink(&mut self, max: usize, mut lose: impl FnMut(Option<KeptScopeKind>, &str, usize)) {
        let of_pieces: usize = self.pieces().map(|(_, cost, _)| cost).sum();
        let mut total = SCOPE_BYTES * (self.scopes.len() + 1) + of_pieces;
        if total <= max {
            return;
        }
        let ranked = self.pieces().map(|(class, cost, piece)| (cost <= max, class, Reverse(cost), piece));
        let mut pieces: Vec<(bool, u8, Reverse<usize>, Piece)> = ranked.collect();
        pieces.sort_unstable();
        let mut left_out = BTreeSet::new();
        for (_, _, Reverse(cost), piece) in pieces {
            if total <= max {
                break;
            }
            total -= cost;
            let (kind, name, bytes) = self.describe(piece);
            // The absence of an element takes no bytes.
            if bytes > 0 {
                lose(kind, name, bytes);
            }
            left_out.insert(piece);
        }
        for (n, (_, scope)) in self.scopes.iter_mut().enumerate() {
            let mut at = 0..;
            scope.elements.retain(|_| !left_out.contains(&Piece::Element(n, at.next().unwrap_or(0))));
            let mut at = 0..;
            scope.unknown.retain(|_| !left_out.contains(&Piece::Unknown(n, at.next().unwrap_or(0))));
            if left_out.contains(&Piece::Shell(n)) {
                (scope.attributes, scope.order) = (None, Vec::new());
            }
        }
        if left_out.contains(&Piece::ScriptState) {
            self.script_state = None;
        }
    }

    /// Class, bytes at most, and place of each piece.
    fn pieces(&self) -> impl Iterator<Item = (u8, usize, Piece)> {
        let of_scopes = self.scopes.iter().enumerate().flat_map(|(n, (_, scope))| {
            let elements = scope.elements.iter().enumerate().map(move |(at, element)| {
                let class = if element.check.is_some() { 1 } else { 3 };
                (class, element.spelling.len(), Piece::Element(n, at))
            });
            let unknown = scope.unknown.iter().enumerate().map(move |(at, (_, markup))| {
                let class = if name_of(markup) == COPY_OF_ASSET { 0 } else { 3 };
                (class, markup.len(), Piece::Unknown(n, at))
            });
            let shell = shell_len(scope);
            elements.chain(unknown).chain((shell > 0).then_some((2, shell, Piece::Shell(n))))
        });
        let state = self.script_state.iter().map(|state| (4, state.len(), Piece::ScriptState));
        of_scopes.chain(state).map(|(class, len, piece)| (class, len + ENTRY_BYTES, piece))
    }

    /// Scope, name and bytes of a piece.
    fn describe(&self, piece: Piece) -> (Option<KeptScopeKind>, &str, usize) {
        match piece {
            Piece::Element(n, at) => {
                let (kind, scope) = &self.scopes[n];
                let element = &scope.elements[at];
                let name = kind.table().and_then(|table| Some(table.at(table.of_id(element.id)?).name));
                (Some(*kind), name.unwrap_or_default(), element.spelling.len())
            }
            Piece::Unknown(n, at) => {
                let (kind, scope) = &self.scopes[n];
                let (_, markup) = &scope.unknown[at];
                (Some(*kind), name_of(markup), markup.len())
            }
            Piece::Shell(n) => {
                let (kind, scope) = &self.scopes[n];
                (Some(*kind), "", shell_len(scope))
            }
            Piece::ScriptState => {
                (None, "SavedScriptState", self.script_state.as_deref().map_or(0, str::len))
            }
        }
    }
}

fn shell_len(scope: &KeptScope) -> usize {
    scope.attributes.as_deref().map_or(0, str::len) + scope.order.len()
}

/// The name of an element from its markup.
pub(super) fn name_of(markup: &str) -> &str {
    let tag = markup.strip_prefix('<').unwrap_or(markup);
    tag.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(id: u8, check: Option<u64>, len: usize) -> KeptElement {
        KeptElement { id, check, spelling: Spelling::Inner("x".repeat(len).into()) }
    }

    fn unknown(name: &str, len: usize) -> (u16, Box<str>) {
        (0, format!("<{name}>{}</{name}>", "x".repeat(len)).into())
    }

    #[test]
    fn data_is_read_as_it_is_written_and_data_of_another_edition_is_none() {
        let mut kept = KeptData { script_state: Some("<State/>".into()), ..KeptData::default() };
        let part = KeptScope {
            attributes: Some(" a=\"1\"".into()),
            order: vec![2, 1],
            elements: vec![element(3, Some(u64::MAX), 4), element(4, None, 0)],
            unknown: vec![unknown("New", 3)],
        };
        kept.insert(KeptScopeKind::Part, part);
        kept.insert(KeptScopeKind::Shape, KeptScope::default());
        kept.insert(KeptScopeKind::TaskInventory, KeptScope::default());
        assert_eq!(kept.scopes.len(), 2, "a shape as usual is left out");
        let carried = kept.clone().into_carried(CARRIED_MAX, |_, name, _| panic!("{name} is lost"));
        assert_eq!(KeptData::of(carried.as_bytes()), kept);
        let later = [&[2][..], &carried.as_bytes()[1..]].concat();
        for bytes in [&later[..], &carried.as_bytes()[..7], b""] {
            assert_eq!(KeptData::of(bytes), KeptData::default());
        }
        assert_eq!(KeptData::default().into_carried(CARRIED_MAX, |_, _, _| {}).as_bytes(), b"");
    }

    #[test]
    fn pieces_are_left_out_by_class_and_size_until_the_rest_fits() {
        let mut kept = KeptData { script_state: Some("s".repeat(20_000).into()), ..KeptData::default() };
        let scope = KeptScope {
            elements: vec![element(28, Some(1), 9_000), element(66, None, 12_000)],
            unknown: vec![unknown("Big", 30_000), unknown("SculptData", 10), unknown("Small", 5_000)],
            ..KeptScope::default()
        };
        kept.insert(KeptScopeKind::Part, scope);
        let mut lost = Vec::new();
        let carried = kept.into_carried(CARRIED_MAX, |kind, name, _| lost.push((kind, name.to_owned())));
        let of_part = |name: &str| (Some(KeptScopeKind::Part), name.to_owned());
        assert_eq!(lost, [of_part("SculptData"), of_part("Scale"), of_part("Big")]);
        assert!(carried.as_bytes().len() <= CARRIED_MAX);
        let rest = KeptData::of(carried.as_bytes());
        let part = rest.scope(KeptScopeKind::Part).unwrap();
        assert_eq!(part.elements, [element(66, None, 12_000)]);
        assert_eq!(part.unknown, [unknown("Small", 5_000)]);
        assert!(rest.script_state.is_some());
    }

    #[test]
    fn a_state_that_is_too_large_is_lost_at_last() {
        let kept = KeptData { script_state: Some("s".repeat(CARRIED_MAX).into()), ..KeptData::default() };
        let mut lost = Vec::new();
        let lose = |kind, name: &str, len| lost.push((kind, name.to_owned(), len));
        let carried = kept.into_carried(CARRIED_MAX, lose);
        assert_eq!(lost, [(None, "SavedScriptState".to_owned(), CARRIED_MAX)]);
        assert_eq!(carried.as_bytes(), b"");
    }
}
