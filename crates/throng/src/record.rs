//! `throng record`: has a running server record one of its worlds.

use crate::cli::RecordArgs;
use crate::operator::{self, OperatorError};
use std::time::Duration;

/// How long a server may take to begin and to end a recording.
const PATIENCE: Duration = Duration::from_secs(30);

/// Orders a recording and waits until it is made.
///
/// # Errors
/// When no server runs there, or it refuses, or its disk is full.
pub fn run(args: &RecordArgs) -> Result<String, OperatorError> {
    // The server need not run in this directory.
    let out = std::path::absolute(&args.out).unwrap_or_else(|_| args.out.clone());
    let body = serde_json::json!({ "world": args.world, "seconds": args.seconds, "out": out });
    let patience = Duration::from_secs(args.seconds.into()) + PATIENCE;
    operator::command_within(patience, &args.data.data, "/v1/record", &body)
}
