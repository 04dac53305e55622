//! Errors of a running script.

use serde::{Deserialize, Serialize};

/// The reason for which a script has stopped. It runs again after its reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
pub enum RunError {
    /// Division or remainder by zero, or a quotient that is not a number.
    #[error("Math error")]
    MathError,
    /// The script needs more memory than its limit.
    #[error("Stack-Heap Collision")]
    StackHeapCollision,
    /// The value of an assignment that has none, such as `integer *= float`, is used.
    #[error("Value of an assignment that has none")]
    NoValue,
    /// A function of the library has failed: a fault of the server, not of the script.
    #[error("Library function failed")]
    LibraryFault,
    /// A regular expression that is none, or would take too long.
    #[error("Regular expression is invalid or too large")]
    Pattern,
    /// A function that the world does not allow to the script's owner.
    #[error("Function is not allowed")]
    NotAllowed,
}
