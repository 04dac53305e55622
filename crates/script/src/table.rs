//! The table of all functions that scripts may call, served or not: names, kinds, costs, needs and answers.
//!
//! It is the only list of functions. The [`Library`](crate::library::Library) of the machine takes kinds and fuel from it, compilers their types, hosts
//! delays and needs, and pages of documentation all of it. Its text is in `table/*.txt`.

mod read;

use crate::dialect::Dialect;
use crate::kind::Value;
use crate::signature::Signature;
use std::sync::LazyLock;

static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(read::functions);

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name, kinds and fuel.
    pub signature: Signature,
    /// Names of the parameters.
    pub parameters: Vec<&'static str>,
    /// The subject that it belongs to.
    pub area: &'static str,
    /// The only dialect that has it.
    pub only: Option<Dialect>,
    /// Milliseconds for which the script sleeps in a call, before a world's factor.
    pub delay_ms: u32,
    /// Energy that the object needs for a call.
    pub energy: f32,
    /// Scripts should not call it any more; the function that stands in for it is `instead`.
    pub is_deprecated: bool,
    /// See [`Self::is_deprecated`].
    pub instead: Option<&'static str>,
    /// Rights that a call needs: one of them.
    pub needs: Vec<Need>,
    /// Danger of a call, for functions of OpenSimulator.
    pub threat: Threat,
    /// The part of the program that carries it out.
    pub service: Service,
    /// Result of a call where it is not served; none for a function without a result.
    pub answer: Option<Value>,
    /// Event by which a call is refused where it is not served, beside the result.
    pub denial: Option<Denial>,
}

/// The part of the program that carries a function out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The machine: it needs nothing but values, and the script's own memory and random numbers.
    Pure,
    /// The world in which the script is.
    World,
    /// Nothing yet, for this reason.
    Later(&'static str),
}

/// A right that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A granted permission: to attach the object.
    Attach,
    /// A granted permission: to change links.
    Links,
    /// A granted permission: to move the camera.
    ControlCamera,
    /// A granted permission: to know the camera.
    TrackCamera,
    /// A granted permission: to animate the avatar.
    Animation,
    /// A granted permission: to replace its standard animations.
    OverrideAnimations,
    /// A granted permission: to receive its controls.
    Controls,
    /// A granted permission: to spend its money.
    Debit,
    /// A granted permission: to teleport it.
    Teleport,
    /// A granted permission: to return objects.
    ReturnObjects,
    /// A granted permission: to manage land.
    Land,
    /// The script belongs to an experience that the avatar takes part in.
    Experience,
    /// The object's owner owns the land, or may manage it.
    LandOwner,
    /// The object's owner manages the region.
    Estate,
    /// The object's owner is an administrator.
    God,
}

/// Danger of a function of OpenSimulator. A world allows those up to its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threat {
    /// Harmless.
    None,
    /// A nuisance at most.
    VeryLow,
    /// Tells things that avatars may want to keep.
    Low,
    /// May be misused by scripts that users receive.
    Moderate,
    /// May harm other users of the region.
    High,
    /// May harm them in their absence.
    VeryHigh,
    /// May harm the server.
    Severe,
}

/// Event by which a script learns that its request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// `http_request` with `URL_REQUEST_DENIED`, under the key that the call returned.
    Url,
    /// `transaction_result` without success, under the key that the call returned.
    Transaction,
    /// `experience_permissions_denied`, for the avatar of the call.
    Experience,
    /// `dataserver` with `0,` and the number of an error, under the key that the call returned.
    KeyValue,
}

/// All functions, by name.
#[must_use]
pub fn functions() -> &'static [Function] {
    &FUNCTIONS
}

/// The forms of a name: two if the dialects differ, none for an unknown one.
pub fn named(name: &str) -> impl Iterator<Item = &'static Function> {
    let from = functions().partition_point(|function| function.signature.name < name);
    functions()[from..].iter().take_while(move |function| function.signature.name == name)
}

/// The function of a name in a dialect.
#[must_use]
pub fn function(name: &str, dialect: Dialect) -> Option<&'static Function> {
    named(name).find(|function| function.only.is_none_or(|only| only == dialect))
}

impl Function {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.signature.name
    }

    /// True if a call neither waits nor depends on the level of danger that the world allows.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.delay_ms == 0 && self.threat == Threat::None
    }
}

impl Need {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Attach,
        Self::Links,
        Self::ControlCamera,
        Self::TrackCamera,
        Self::Animation,
        Self::OverrideAnimations,
        Self::Controls,
        Self::Debit,
        Self::Teleport,
        Self::ReturnObjects,
        Self::Land,
        Self::Experience,
        Self::LandOwner,
        Self::Estate,
        Self::God,
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attach => "attach",
            Self::Links => "links",
            Self::ControlCamera => "control-camera",
            Self::TrackCamera => "track-camera",
            Self::Animation => "animation",
            Self::OverrideAnimations => "override-animations",
            Self::Controls => "controls",
            Self::Debit => "debit",
            Self::Teleport => "teleport",
            Self::ReturnObjects => "return-objects",
            Self::Land => "land",
            Self::Experience => "experience",
            Self::LandOwner => "land-owner",
            Self::Estate => "estate",
            Self::God => "god",
        }
    }
}

impl Threat {
    /// All levels, from the lowest on.
    pub const ALL: [Self; 7] =
        [Self::None, Self::VeryLow, Self::Low, Self::Moderate, Self::High, Self::VeryHigh, Self::Severe];

    /// The level up to which functions are allowed unless a world says otherwise.
    pub const ALLOWED: Self = Self::VeryLow;

    /// Its name in tables and in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::VeryLow => "very-low",
            Self::Low => "low",
            Self::Moderate => "moderate",
            Self::High => "high",
            Self::VeryHigh => "very-high",
            Self::Severe => "severe",
        }
    }

    /// The level of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

impl Denial {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Url, Self::Transaction, Self::Experience, Self::KeyValue];

    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Transaction => "transaction",
            Self::Experience => "experience",
            Self::KeyValue => "key-value",
        }
    }
}

#[cfg(test)]
mod tests;
