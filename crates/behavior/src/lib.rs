//! NPCs' decisions and senses: behaviour trees written as text, minds that follow them, perception and attention.
//!
//! [`BehaviorSet::load`] reads files in the language of `docs/operating/behaviours.md` and checks them against what a world's
//! template offers ([`Vocabulary`]); all problems come back at once ([`Problems`]). A [`Mind`] is one NPC's position in a
//! behaviour and its memory; [`Mind::think`] turns [`senses::Senses`] into an [`Intent`], which the world carries out until the
//! next thought. When files change under a running world, [`Adoption`] takes minds over. [`senses`] has perception, hearing and
//! the periods of looks and thoughts.
//!
//! No geometry: walls, paths and lines of sight are the world's business and reach a mind as answers. All of it is a function of
//! its arguments: nothing here reads a clock, draws a number or iterates a hash map.
//!
//! From text to tree: crate `outline` (lines, words, nesting), `read` with the table of words in `forms`
//! (meaning), `check` (termination, reachability), `compile` (flat nodes). Following it: `think` and `composites`, `judge`
//! (conditions), `act` and `deeds` (actions).

mod act;
mod adoption;
mod check;
mod compile;
mod composites;
mod conditions;
mod deeds;
mod fault;
mod forms;
mod intent;
mod interner;
mod lexicon;
mod load;
mod meaning;
mod mind;
mod node;
mod read;
pub mod senses;
mod set;
mod think;
mod tree;
mod values;
mod vocabulary;
mod way;

pub use adoption::Adoption;
pub use fault::BehaviorFault;
pub use intent::{Attack, Deed, Facing, Go, Intent, Pace, Pose, SoundMade};
pub use load::{Loaded, Source};
pub use mind::{Mind, SPEECH_GAP_MS, TARGET_MEMORY_MS};
pub use node::{AnimationId, BehaviorId, LineId, NamedPlaceId, ResourceId};
pub use outline::PROBLEMS_MAX;
pub use set::{BehaviorSet, Names};
pub use vocabulary::{Kind, KindGroup, NamedPlace, Resource, Route, Vocabulary};

/// A fault in a set, and its place; the file is `template` when the vocabulary itself is wrong.
pub type Problem = outline::Problem<BehaviorFault>;
/// All faults of a set, in order of files and lines.
pub type Problems = outline::Problems<BehaviorFault>;

/// Bytes of one file.
pub const FILE_BYTES_MAX: usize = 128 * 1024;
/// Files of one set.
pub const FILES_MAX: usize = 64;
/// Behaviours of one set.
pub const BEHAVIORS_MAX: usize = 256;
/// Lines that mean something, in all files of a set.
pub const ITEMS_MAX: usize = 16_384;
/// Nodes of one behaviour, with all that it uses. A thought visits each at most twice.
pub const NODES_MAX: usize = 256;
/// Depth of nested nodes, with all that is used. A thought is as deep on the stack.
pub const DEPTH_MAX: usize = 24;
/// Timers of one behaviour, with all that it uses: one for each `cooldown`, `chance` and `attack`, and one for each level
/// of nested `timeout` and `repeat`.
pub const TIMERS_MAX: usize = 6;
/// Lines behind one `say` or `talk`.
pub const SPEECH_LINES_MAX: usize = 32;
/// Maximum size of a spoken line, bytes: that of a chat message.
pub const SPEECH_BYTES_MAX: usize = 1_023;

#[cfg(test)]
mod tests;
