//! Errors of a running script.

/// The reason for which a script has stopped. It runs again after its reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RunError {
    /// Division or remainder by zero, or a quotient that is not a number.
    #[error("Math error")]
    MathError,
    /// The script needs more memory than its limit.
    #[error("Stack-Heap Collision")]
    StackHeapCollision,
}
