//! Log lines: destination, filter and format.

use std::fmt;
use std::str::FromStr;
use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: time, level, target, message, fields.
    #[default]
    Text,
    /// For machines: one JSON object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("{text:?} is not a log format (text, json)")),
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// Logging could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter does not parse.
    #[error("{filter:?} is not a log filter (such as \"info\" or \"info,gateway=debug\")")]
    Filter {
        /// The filter.
        filter: String,
        /// Position and reason.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The process already logs.
    #[error("logging was started before")]
    Started(#[from] tracing_subscriber::util::TryInitError),
}

/// Writes the process's `tracing` events that pass `filter` (`info`, or per crate: `info,gateway=debug`) to standard error,
/// unbuffered and apart from the output of commands. Once per process.
///
/// # Errors
/// When the filter does not parse or logging was started before.
pub fn start_logging(format: LogFormat, filter: &str) -> Result<(), LoggingError> {
    subscriber(format, filter, std::io::stderr)?.try_init()?;
    Ok(())
}

/// The subscriber; tests pass another writer.
fn subscriber<W>(format: LogFormat, filter: &str, writer: W) -> Result<Dispatch, LoggingError>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let env_filter = EnvFilter::try_new(filter)
        .map_err(|source| LoggingError::Filter { filter: filter.to_owned(), source })?;
    // With internal errors logged, a failed write would be reported on standard error, which panics if that has gone with
    // its terminal: a server that drains because of SIGHUP would abort instead.
    let builder =
        tracing_subscriber::fmt().with_env_filter(env_filter).with_writer(writer).log_internal_errors(false);
    Ok(match format {
        LogFormat::Text => builder.with_ansi(false).into(),
        LogFormat::Json => builder.json().flatten_event(true).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, filter: &str) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let dispatch = subscriber(format, filter, move || writer.clone()).unwrap();
        tracing::dispatcher::with_default(&dispatch, || {
            tracing::info!(target: "gateway", sessions = 3, "draining");
            tracing::debug!(target: "gateway", "detail");
        });
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn text_lines_carry_level_target_message_and_fields() {
        let text = logged(LogFormat::Text, "info");
        assert!(text.trim_end().ends_with("INFO gateway: draining sessions=3"), "{text}");
    }

    #[test]
    fn json_lines_are_flat_objects() {
        let text = logged(LogFormat::Json, "info");
        assert_eq!(text.lines().count(), 1, "{text}");
        for part in
            [r#""level":"INFO""#, r#""target":"gateway""#, r#""message":"draining""#, r#""sessions":3"#]
        {
            assert!(text.starts_with('{') && text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn the_filter_chooses_by_target() {
        assert_eq!(logged(LogFormat::Text, "warn,gateway=debug").lines().count(), 2);
        assert_eq!(logged(LogFormat::Text, "warn").lines().count(), 0);
    }

    #[test]
    fn a_filter_that_does_not_parse_is_named() {
        let error = subscriber(LogFormat::Text, "gateway=loud", io::sink).unwrap_err();
        assert!(error.to_string().contains("\"gateway=loud\""), "{error}");
    }
}
