//! Reasons to refuse an object, and lists of values and data that were read otherwise than they stand there.

use crate::xml::XmlError;
use ids::Uuid;
use prim::{BodyError, ExtraParamError, MediaError, OverrideError, ShapeError, TextureEntryError};
use std::fmt::Write as _;
use thiserror::Error;

/// Entries of each list of a [`ObjectReport`]; further ones are counted.
pub const REPORT_MAX: usize = 200;

/// Parts of a document, in all of its linksets. The largest linksets of OpenSimulator have some thousand.
pub const PARTS_MAX: usize = 10_000;

/// Items of a document, in all of its parts. More are kept as markup.
const ITEMS_MAX: usize = 20_000;

/// Characters of an unknown name in a message.
const NAME_SHOWN: usize = 40;

/// A reason to refuse a document as an object.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ObjectError {
    /// The bytes are no document.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// A document of something else.
    #[error("the outermost element is <{0}>, which is no object")]
    Root(String),
    /// A linkset without a root, or a list without a linkset.
    #[error("{path} has no {expected}")]
    Absent {
        /// Path of the element.
        path: String,
        /// Name of the element that it lacks.
        expected: &'static str,
    },
    /// More parts than [`PARTS_MAX`].
    #[error("more than {PARTS_MAX} parts")]
    Parts,
    /// A value that is none of its element.
    #[error("{path}: {flaw}")]
    Value {
        /// Path of the element.
        path: String,
        /// The fault.
        flaw: Flaw,
    },
    /// A part that no prim can be.
    #[error("{path}: {reason}")]
    Body {
        /// Path of the element.
        path: String,
        /// The reason.
        reason: BodyError,
    },
}

/// A fault of a value.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Flaw {
    /// An element without text.
    #[error("no value")]
    Empty,
    /// Text that is no number.
    #[error("no number")]
    Number,
    /// A number of too many characters.
    #[error("a number of {0} characters")]
    Long(usize),
    /// A number that is infinite, or none.
    #[error("a number that is not finite")]
    NotFinite,
    /// A number that its element cannot have.
    #[error("the number {0} is out of range")]
    Range(i64),
    /// A number that was replaced by the nearest one in range.
    #[error("out of range, the nearest value was taken")]
    Clamped,
    /// A vector or rotation with other numbers than it has.
    #[error("no vector")]
    Vector,
    /// Text that is no id.
    #[error("no id")]
    Id,
    /// Two elements with one id.
    #[error("the id {0} is there twice")]
    SameId(Uuid),
    /// Two items of a prim with one name.
    #[error("the name is there twice, the second item is called {0:?}")]
    SameName(String),
    /// Text that is no base64.
    #[error("no base64")]
    Base64,
    /// A name that does not stand for a value.
    #[error("the unknown name {0:?}")]
    Name(String),
    /// Elements in place of text.
    #[error("elements in place of text")]
    Markup,
    /// An element that is there twice; the last one counts.
    #[error("the element is there twice, the last one counts")]
    Twice,
    /// A text that was cut.
    #[error("{len} bytes, cut to {max}")]
    Cut {
        /// Bytes of the text.
        len: usize,
        /// Bytes that are kept.
        max: usize,
    },
    /// Bytes that are too many or too few.
    #[error("{0} bytes, which its kind does not have")]
    Length(usize),
    /// More items than a prim holds.
    #[error("more items than a prim holds")]
    Items,
    /// A shape without a curve.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Textures that cannot be read.
    #[error(transparent)]
    TextureEntry(#[from] TextureEntryError),
    /// Extra parameters that cannot be read.
    #[error(transparent)]
    ExtraParams(#[from] ExtraParamError),
    /// Media that no prim can have.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// Text that describes no media.
    #[error("no media")]
    NoMedia,
    /// Overrides that no prim can have.
    #[error(transparent)]
    Overrides(#[from] OverrideError),
    /// Bytes that describe no overrides.
    #[error("no overrides of materials")]
    NoOverrides,
}

impl Flaw {
    /// For a name that does not stand for a value.
    pub(super) fn name(name: &str) -> Self {
        Self::Name(name.chars().take(NAME_SHOWN).collect())
    }
}

/// A value that was read otherwise than it stands there: the default or the nearest value took its place. The text itself is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectProblem {
    /// Path of the element, as in `SceneObjectGroup/OtherParts/Part[3]/SceneObjectPart/Shape/PathCurve`. Elements in lists count from 1.
    pub path: String,
    /// The fault.
    pub flaw: Flaw,
}

/// The reason for a [`ObjectLoss`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectLossReason {
    /// The prim or item has no room for more unmodelled data.
    Full,
    /// There is no place for it in the model: text between elements, attributes of a list.
    NoPlace,
}

/// Data that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectLoss {
    /// Path of the element.
    pub path: String,
    /// Its bytes.
    pub bytes: usize,
    /// The reason.
    pub reason: ObjectLossReason,
}

/// Findings of a reader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectReport {
    /// Values that were replaced, at most [`REPORT_MAX`].
    pub problems: Vec<ObjectProblem>,
    /// Number of further ones.
    pub more_problems: usize,
    /// Data that is not kept, at most [`REPORT_MAX`].
    pub losses: Vec<ObjectLoss>,
    /// Number of further ones.
    pub more_losses: usize,
}

impl ObjectReport {
    /// True without findings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty() && self.losses.is_empty()
    }

    fn add_problem(&mut self, path: impl FnOnce() -> String, flaw: Flaw) {
        if self.problems.len() < REPORT_MAX {
            self.problems.push(ObjectProblem { path: path(), flaw });
        } else {
            self.more_problems += 1;
        }
    }

    fn add_loss(&mut self, path: impl FnOnce() -> String, bytes: usize, reason: ObjectLossReason) {
        if self.losses.len() < REPORT_MAX {
            self.losses.push(ObjectLoss { path: path(), bytes, reason });
        } else {
            self.more_losses += 1;
        }
    }
}

/// Treatment of a value that is none of its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The object is refused, except for elements without text and texts that are no id, as OpenSimulator does with elements of a part.
    Strict,
    /// The default takes its place, as OpenSimulator does with elements of a shape and of an item.
    Lenient,
}

/// Elements that a reader is in, from the outermost one on, with their numbers in lists.
#[derive(Debug, Default)]
struct Trail(Vec<(&'static str, Option<usize>)>);

impl Trail {
    /// Path of an element in the present one; of the present one itself for an empty name.
    fn path_of(&self, name: &str) -> String {
        let mut path = String::new();
        let mut push = |name: &str, number: Option<usize>| {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
            if let Some(number) = number {
                write!(path, "[{number}]").expect("a text takes all characters");
            }
        };
        self.0.iter().for_each(|(name, number)| push(name, *number));
        if !name.is_empty() {
            push(name, None);
        }
        path
    }
}

/// Place of a reader in a document, and its findings.
#[derive(Debug, Default)]
pub(super) struct ReadContext {
    trail: Trail,
    report: ObjectReport,
    n_parts: usize,
    n_items: usize,
}

impl ReadContext {
    /// Reads an element within the present one. `number` counts elements of a list from 1.
    pub(super) fn within<T>(
        &mut self,
        name: &'static str,
        number: Option<usize>,
        read: impl FnOnce(&mut Self) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        self.trail.0.push((name, number));
        let result = read(self)?;
        self.trail.0.pop();
        Ok(result)
    }

    /// Counts a part, up to [`PARTS_MAX`] in a document.
    pub(super) fn count_part(&mut self) -> Result<(), ObjectError> {
        self.n_parts += 1;
        if self.n_parts > PARTS_MAX { Err(ObjectError::Parts) } else { Ok(()) }
    }

    /// Counts an item; false beyond [`ITEMS_MAX`] in a document.
    pub(super) fn count_item(&mut self) -> bool {
        self.n_items += 1;
        self.n_items <= ITEMS_MAX
    }

    /// Path of an element in the present one; of the present one itself for an empty name.
    pub(super) fn path_of(&self, name: &str) -> String {
        self.trail.path_of(name)
    }

    /// An error about an element in the present one.
    pub(super) fn error(&self, name: &str, flaw: Flaw) -> ObjectError {
        ObjectError::Value { path: self.path_of(name), flaw }
    }

    /// Notes that an element in the present one was read otherwise than it stands there.
    pub(super) fn problem(&mut self, name: &str, flaw: Flaw) {
        let Self { trail, report, .. } = self;
        report.add_problem(|| trail.path_of(name), flaw);
    }

    /// Notes that data of the present element is not kept.
    pub(super) fn loss(&mut self, name: &str, bytes: usize, reason: ObjectLossReason) {
        let Self { trail, report, .. } = self;
        report.add_loss(|| trail.path_of(name), bytes, reason);
    }

    /// Notes that data at another place than the present element is not kept.
    pub(super) fn loss_at(&mut self, path: impl FnOnce() -> String, bytes: usize, reason: ObjectLossReason) {
        self.report.add_loss(path, bytes, reason);
    }

    /// The outcome of a parser, or the default in place of a wrong value, depending on the mode.
    pub(super) fn judge<T>(
        &mut self,
        name: &str,
        mode: Mode,
        default: T,
        parsed: Result<T, Flaw>,
    ) -> Result<T, ObjectError> {
        match parsed {
            Ok(value) => Ok(value),
            Err(flaw) if mode == Mode::Lenient || matches!(flaw, Flaw::Empty | Flaw::Id) => {
                self.problem(name, flaw);
                Ok(default)
            }
            Err(flaw) => Err(self.error(name, flaw)),
        }
    }

    /// The findings.
    pub(super) fn into_report(self) -> ObjectReport {
        self.report
    }
}
