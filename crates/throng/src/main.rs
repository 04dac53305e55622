//! Reads the command line and runs one command.

use clap::Parser;
use std::io::{self, Write};
use std::process::ExitCode;
use throng::cli::{Cli, Command, ConfigCommand};
use throng::{config, load, operator, serve, user};

/// Exit status for a configuration that is not valid; clap uses the same for a command line that is not.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(args) => match config::load(&args.sources()) {
            Ok(effective) => finish(serve::run(&effective.config).map(|()| String::new())),
            Err(error) => fail(EXIT_USAGE, &error),
        },
        Command::User(command) => finish(user::run(command)),
        Command::Kick(args) => {
            let body = serde_json::json!({ "name": args.name.name() });
            finish(operator::command(&args.data.data, "/v1/kick", &body))
        }
        Command::Alert(args) => {
            let body = serde_json::json!({ "text": args.text });
            finish(operator::command(&args.data.data, "/v1/alert", &body))
        }
        Command::Bots(args) => match load::run(&args) {
            Ok((text, true)) => print(&text),
            Ok((text, false)) => {
                print(&text);
                ExitCode::FAILURE
            }
            Err(error) => fail(1, &error),
        },
        Command::Config(ConfigCommand::Docs) => print(&config::docs()),
        Command::Config(ConfigCommand::Show(args)) => match config::load(&args.sources()) {
            Ok(effective) => print(&effective.show()),
            Err(error) => fail(EXIT_USAGE, &error),
        },
    }
}

/// Ends a command: its output, or what went wrong.
fn finish<E: std::error::Error>(result: Result<String, E>) -> ExitCode {
    match result {
        Ok(text) => print(&text),
        Err(error) => fail(1, &error),
    }
}

/// Writes a command's output. A reader that went away (`| head`) is no failure.
fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(1, &error),
        _ => ExitCode::SUCCESS,
    }
}

/// Tells what went wrong, with all its causes, and ends with this status.
fn fail(status: u8, error: &dyn std::error::Error) -> ExitCode {
    let mut message = format!("throng: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::from(status)
}
