//! `throng tune`: settings of a running server.

use crate::cli::TuneArgs;
use crate::operator::{self, OperatorError};
use operator_api::Tunable;
use std::fmt::Write as _;

/// Sets a key, or lists all of them.
///
/// # Errors
/// When no server runs there, or it refuses.
pub fn run(args: &TuneArgs) -> Result<String, OperatorError> {
    let data = &args.data.data;
    let (Some(key), Some(text)) = (&args.key, &args.value) else {
        let tunables: Vec<Tunable> = serde_json::from_str(&operator::get(data, "/v1/tune")?)?;
        return Ok(table(&tunables));
    };
    let body = serde_json::json!({ "key": key, "value": value(text), "persist": args.persist });
    operator::command(data, "/v1/tune", &body)
}

/// Numbers and flags as such, anything else as text, which needs no quotes then.
fn value(text: &str) -> serde_json::Value {
    match serde_json::from_str(text) {
        Ok(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => value,
        _ => text.into(),
    }
}

fn table(tunables: &[Tunable]) -> String {
    let width = tunables.iter().map(|tunable| tunable.key.len()).max().unwrap_or_default();
    let mut out = String::new();
    for Tunable { key, value, kept } in tunables {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let kept = if *kept { "  (kept)" } else { "" };
        let _ = writeln!(out, "{key:<width$}  {value}{kept}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_need_no_quotes_and_numbers_are_numbers() {
        assert_eq!(value("off"), json!("off"));
        assert_eq!(value("12"), json!(12));
        assert_eq!(value("true"), json!(true));
        assert_eq!(value("[1]"), json!("[1]"));
        assert_eq!(value(""), json!(""));
    }

    #[test]
    fn the_list_marks_values_that_outlast_the_server() {
        let tunable = |key: &str, value, kept| Tunable { key: key.into(), value, kept };
        let text =
            table(&[tunable("a.b", json!("off"), true), tunable("recorder.horizon_s", json!(5), false)]);
        assert_eq!(text, "a.b                 off  (kept)\nrecorder.horizon_s  5\n");
    }
}
