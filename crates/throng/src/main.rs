//! Reads the command line and runs one command.

use clap::Parser;
use experiment::ExperimentError;
use std::io::{self, Write};
use std::process::ExitCode;
use telemetry::allocations::{CountingAllocator, give_large_blocks_back};
use throng::archive_command::ArchiveCommandError;
use throng::backup_command::BackupCommandError;
use throng::cli::{Cli, Command, ConfigCommand, ExperimentCommand, ScriptCommand};
use throng::inventory_command::GiveCommandError;
use throng::region_command::RegionCommandError;
use throng::store_command::StoreCommandError;
use throng::{
    archive_command, assets_command, backup_command, config, console, crashes, estate_command, experiments,
    inventory_command, jobs_command, load, measure, objects_command, preflights, record, region_command,
    replay, script_command, serve, server_command, store_command, supervise, terrain, token, trace, tune,
    user, workload,
};

/// Exit status for a configuration that is not valid; clap uses the same for a command line that is not.
const EXIT_USAGE: u8 = 2;

/// Counts the allocations of a server's threads (`throng_thread_allocations_total`).
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    // A process started through /proc/self/exe would be called "exe" in ps and top.
    let _ = rustix::thread::set_name(c"throng");
    match Cli::parse().command {
        Command::Serve(args) if args.supervise => match supervise::run() {
            Ok(status) => ExitCode::from(status),
            Err(error) => fail(1, &error),
        },
        Command::Serve(args) => match config::load(&args.sources()) {
            Ok(effective) => {
                give_large_blocks_back();
                for warning in &effective.warnings {
                    let _ = writeln!(io::stderr(), "throng: {warning}");
                }
                match serve::run(&effective.config, &args.sources(), args.supervised_by) {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(error) if error.is_of_configuration() => fail(EXIT_USAGE, &error),
                    Err(error) => fail(1, &error),
                }
            }
            Err(error) => fail(EXIT_USAGE, &error),
        },
        Command::Console(args) => match console::run(&args) {
            Ok(status) => ExitCode::from(status),
            Err(error) => fail(error.exit_status(), &error),
        },
        Command::Status(args) => finish(server_command::status(&args)),
        Command::Shutdown(args) => finish(server_command::shut_down(&args)),
        Command::User(command) => finish(user::run(command)),
        Command::Login(command) => finish(server_command::login(&command)),
        Command::Inventory(command) => finish(inventory_command::run(command)),
        Command::Give(args) => match inventory_command::give(&args) {
            Ok(text) => print(&text),
            Err(error @ GiveCommandError::Usage(_)) => fail(EXIT_USAGE, &error),
            Err(error) => fail(1, &error),
        },
        Command::Assets(command) => match assets_command::run(command) {
            Ok((text, is_well)) => {
                let printed = print(&text);
                if is_well { printed } else { ExitCode::FAILURE }
            }
            Err(error) => fail(1, &error),
        },
        Command::Token(command) => finish(token::run(command)),
        Command::Store(command) => match store_command::run(command) {
            Ok((text, is_well)) => {
                let printed = print(&text);
                if is_well { printed } else { ExitCode::FAILURE }
            }
            Err(error @ StoreCommandError::Config(_)) => fail(EXIT_USAGE, &error),
            Err(error) => fail(1, &error),
        },
        Command::Objects(command) => match objects_command::run(command) {
            Ok((text, is_well)) => {
                let printed = print(&text);
                if is_well { printed } else { ExitCode::FAILURE }
            }
            Err(error) => fail(1, &error),
        },
        Command::Region(command) => match region_command::run(command) {
            Ok((text, is_well)) => {
                let printed = print(&text);
                if is_well { printed } else { ExitCode::FAILURE }
            }
            Err(error @ RegionCommandError::Config(_)) => fail(EXIT_USAGE, &error),
            Err(error) => fail(1, &error),
        },
        Command::Estate(command) => finish(estate_command::run(command)),
        Command::Parcel(command) => finish(estate_command::run_parcel(command)),
        Command::Kick(args) => finish(server_command::kick(&args)),
        Command::Alert(args) => finish(server_command::alert(&args)),
        Command::Say(args) => finish(server_command::say(&args)),
        Command::Terrain(command) => match terrain::run(&command) {
            Ok(text) => print(&text),
            Err(error) => fail(error.exit_status(), &error),
        },
        Command::Oar(command) => finish_archive(archive_command::run_oar(command)),
        Command::Iar(command) => finish_archive(archive_command::run_iar(command)),
        Command::Script(ScriptCommand::Check(args)) => {
            let checked = script_command::check(&args);
            let printed = print(&checked.text);
            if printed == ExitCode::SUCCESS { ExitCode::from(checked.exit_status) } else { printed }
        }
        Command::Verify(args) => finish_backup(backup_command::verify(&args)),
        Command::Backup(args) => finish_backup(backup_command::back_up(&args)),
        Command::Restore(args) => finish_backup(backup_command::restore(&args)),
        Command::Jobs(command) => finish(jobs_command::run(command)),
        Command::Trace(command) => finish(trace::run(command, &mut io::stdout())),
        Command::Tune(args) => finish(tune::run(&args)),
        Command::Crash(command) => finish(crashes::run(command)),
        Command::CrashMonitor(args) => finish(crashes::monitor(args).map(|()| String::new())),
        Command::Record(args) => finish(record::run(&args)),
        Command::Replay(args) => match replay::run(&args) {
            Ok((text, true)) => print(&text),
            Ok((text, false)) => {
                print(&text);
                ExitCode::FAILURE
            }
            Err(error) => fail(1, &error),
        },
        Command::Bots(args) => match load::run(&args) {
            Ok((text, true)) => print(&text),
            Ok((text, false)) => {
                print(&text);
                ExitCode::FAILURE
            }
            Err(error) => fail(1, &error),
        },
        Command::Experiment(ExperimentCommand::List) => print(&experiments::list()),
        Command::Experiment(ExperimentCommand::Run(args)) => experiment_told(experiments::run(&args)),
        Command::Experiment(ExperimentCommand::Summary(args)) => {
            experiment_told(experiments::summarize(&args))
        }
        Command::ExperimentChild { program } => {
            fail(1, &experiment::child::become_program(&program[0], &program[1..]))
        }
        Command::ExperimentRelay => fail(1, &experiment::sink::relay()),
        Command::ExperimentBurn { percent } => fail(1, &experiment::burner::burn(f64::from(percent) / 100.0)),
        Command::Preflight(args) => match preflights::run(&args) {
            Ok((text, is_clean)) => {
                let printed = print(&text);
                if is_clean { printed } else { ExitCode::FAILURE }
            }
            Err(error) => fail(preflights::exit_status(&error), &error),
        },
        Command::Workload(args) => match workload::run(&args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(workload::exit_status(&error), &error),
        },
        Command::MeasureRecorder(args) => finish(measure::run(&args)),
        Command::Config(ConfigCommand::Docs) => print(&config::docs()),
        Command::Config(ConfigCommand::Show(args)) => match config::load(&args.sources()) {
            Ok(effective) => print(&effective.show()),
            Err(error) => fail(EXIT_USAGE, &error),
        },
    }
}

/// Ends a command on archives.
fn finish_archive(result: Result<(String, bool), ArchiveCommandError>) -> ExitCode {
    match result {
        Ok((text, is_well)) => {
            let printed = print(&text);
            if is_well { printed } else { ExitCode::FAILURE }
        }
        Err(error) => fail(error.exit_status(), &error),
    }
}

/// Ends a command on stored data and their backups.
fn finish_backup(result: Result<(String, bool), BackupCommandError>) -> ExitCode {
    match result {
        Ok((text, is_well)) => {
            let printed = print(&text);
            if is_well { printed } else { ExitCode::FAILURE }
        }
        Err(error @ BackupCommandError::Config(_)) => fail(EXIT_USAGE, &error),
        Err(error) => fail(1, &error),
    }
}

/// Ends a command of experiments.
fn experiment_told(result: Result<experiments::ExperimentOutput, ExperimentError>) -> ExitCode {
    match result {
        Ok(told) => {
            let printed = print(&told.output);
            // A closed standard error is no failure.
            let _ = io::stderr().write_all(told.complaints.as_bytes());
            if told.is_well { printed } else { ExitCode::FAILURE }
        }
        Err(error) => fail(experiments::exit_status(&error), &error),
    }
}

/// Ends a command with its output or its error.
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

/// Prints the error with all its causes, and ends with this status.
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
