//! `throng script`: scripts are checked without a server.

use crate::cli::{DialectName, ScriptCheckArgs};
use lsl::{Checked, Dialect, Severity};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Output of a check and the exit status of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOutput {
    /// For standard output.
    pub text: String,
    /// 0 without errors, 1 with errors, 2 if a file cannot be read.
    pub exit_status: u8,
}

/// A file in JSON.
#[derive(Serialize)]
struct CheckedFile {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<&'static str>,
    problems: Vec<ScriptProblem>,
    /// Further problems that are not listed.
    more: usize,
}

/// A problem in JSON.
#[derive(Serialize)]
struct ScriptProblem {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    severity: &'static str,
    message: String,
}

/// `throng script check`.
#[must_use]
pub fn check(args: &ScriptCheckArgs) -> CheckOutput {
    let mut output = CheckOutput { text: String::new(), exit_status: 0 };
    let mut files = Vec::new();
    for path in &args.files {
        let file = path.display().to_string();
        let (status, checked) = match read(path) {
            Ok(source) => {
                let checked = lsl::check(&source, dialect(&source, args.dialect));
                if !args.json {
                    write_text(&mut output.text, &file, &source, &checked);
                }
                (u8::from(!checked.is_valid()), in_json(file, &source, &checked))
            }
            Err(message) => {
                if !args.json {
                    let _ = writeln!(output.text, "{file}: error: {message}");
                }
                let problem = ScriptProblem { line: None, column: None, severity: "error", message };
                (2, CheckedFile { file, dialect: None, problems: vec![problem], more: 0 })
            }
        };
        output.exit_status = output.exit_status.max(status);
        files.push(checked);
    }
    if args.json {
        output.text = serde_json::to_string_pretty(&files).expect("text and numbers") + "\n";
    }
    output
}

/// The text of a file, whose bytes are bounded before they are read.
fn read(path: &Path) -> Result<String, String> {
    let of_system = |error: std::io::Error| error.to_string();
    let bytes = fs::metadata(path).map_err(of_system)?.len();
    if bytes > 2 * lsl::SOURCE_MAX as u64 {
        return Err(format!("{bytes} bytes, of which a script may have {}", lsl::SOURCE_MAX));
    }
    String::from_utf8(fs::read(path).map_err(of_system)?).map_err(|_| "this is not UTF-8 text".to_owned())
}

fn dialect(source: &str, setting: DialectName) -> Dialect {
    let named = Dialect::of_first_line(source);
    match setting {
        DialectName::Auto => Dialect::of_source(source),
        DialectName::Sl => named.unwrap_or(Dialect::Sl),
        DialectName::Opensim => named.unwrap_or(Dialect::Opensim),
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Each problem with its line and a caret below.
fn write_text(text: &mut String, file: &str, source: &str, checked: &Checked) {
    for found in &checked.faults {
        let at = checked.location(source, found.span);
        let kind = severity(found.fault.severity());
        let _ = writeln!(text, "{file}:{}:{}: {kind}: {}", at.line, at.column, found.fault);
        // Tabs stay tabs, so that the caret stands below its place.
        let blank: String = at.text.chars().take(at.column as usize - 1).map(blank_like).collect();
        let _ = writeln!(text, "{}\n{blank}{}", at.text, "^".repeat(at.width as usize));
    }
    if checked.n_more > 0 {
        let _ = writeln!(text, "{file}: and {} more", checked.n_more);
    }
}

const fn blank_like(letter: char) -> char {
    if letter == '\t' { '\t' } else { ' ' }
}

fn in_json(file: String, source: &str, checked: &Checked) -> CheckedFile {
    let problems = checked.faults.iter().map(|found| {
        let at = checked.location(source, found.span);
        let severity = severity(found.fault.severity());
        ScriptProblem {
            line: Some(at.line),
            column: Some(at.column),
            severity,
            message: found.fault.to_string(),
        }
    });
    CheckedFile {
        file,
        dialect: Some(checked.dialect.as_str()),
        problems: problems.collect(),
        more: checked.n_more,
    }
}
