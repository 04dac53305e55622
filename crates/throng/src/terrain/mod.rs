//! `throng terrain`: the ground of a running server's region, as files and by orders.
//!
//! Files are read and written here. Between this program and the server, heights go through the folder `terrain` of the data directory, since orders to
//! the server are small.

mod heights_file;
mod png16;

pub use heights_file::HeightsError;
pub use png16::PngError;

use crate::cli::{RangeArgs, TerrainArgs, TerrainCommand};
use crate::operator::{self, OperatorError};
use data_dir::terrain_path;
use heights_file::{HeightRange, HeightsForm, decode, encode};
use link::{Terrain, TerrainError};
use serde::Deserialize;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// As all of the data directory.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Reasons for which a command on the ground is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum TerrainCommandError {
    /// A name that stands for no form of file.
    #[error("{0}: the name of the file has to end with .r32, .raw or .png")]
    Form(PathBuf),
    /// A file.
    #[error("cannot use {path}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Contents of a file, or heights that do not fit into it.
    #[error("{path}")]
    Heights {
        /// Its path.
        path: PathBuf,
        /// The reason.
        #[source]
        source: HeightsError,
    },
    /// The server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// Its answer.
    #[error("the server's answer is not understood; is it of another version?")]
    Answer(#[from] serde_json::Error),
    /// Heights of the server.
    #[error("the server has written other heights than those of a region")]
    Written(#[from] TerrainError),
}

impl TerrainCommandError {
    /// Exit status of the command: 2 for a wrong use.
    #[must_use]
    pub const fn exit_status(&self) -> u8 {
        match self {
            Self::Form(_) | Self::Heights { source: HeightsError::Range(..), .. } => 2,
            Self::File { .. }
            | Self::Heights { .. }
            | Self::Operator(_)
            | Self::Answer(_)
            | Self::Written(_) => 1,
        }
    }
}

/// Answer of the server.
#[derive(Debug, Deserialize)]
struct TerrainAnswer {
    region: String,
    size_m: u32,
    lowest_m: f32,
    highest_m: f32,
    patches: usize,
}

/// Carries a command out.
///
/// # Errors
/// [`TerrainCommandError`].
pub fn run(command: &TerrainCommand) -> Result<String, TerrainCommandError> {
    match command {
        TerrainCommand::Load { file, range, target } => {
            let form = form_of(file)?;
            let bytes = fs::read(file).map_err(file_error(file))?;
            let ground = decode(form, &bytes, range_of(range)).map_err(heights_error(file))?;
            let exchange = Exchange::new(&target.data.data)?;
            exchange.write(&ground.to_r32())?;
            order(target, &serde_json::json!({ "action": "load", "file": exchange.number }), |answer| {
                format!("{} has the ground of {} now: {}.", answer.region, file.display(), answer.heights())
            })
        }
        TerrainCommand::Save { file, range, target } => {
            let form = form_of(file)?;
            // Before anything is done for nothing.
            if file.symlink_metadata().is_ok() {
                return Err(file_error(file)(io::ErrorKind::AlreadyExists.into()));
            }
            let exchange = Exchange::new(&target.data.data)?;
            let body = serde_json::json!({ "action": "save", "file": exchange.number });
            let (text, answer) = ask(target, &body)?;
            let ground = Terrain::from_r32(answer.size_m, &exchange.read()?)?;
            let bytes = encode(form, &ground, range_of(range)).map_err(heights_error(file))?;
            write_new(file, &bytes).map_err(file_error(file))?;
            let sentence =
                format!("The ground of {} is in {}: {}.\n", answer.region, file.display(), answer.heights());
            Ok(if target.json { text } else { sentence })
        }
        TerrainCommand::Fill { height_m, target } => {
            order(target, &serde_json::json!({ "action": "fill", "height_m": height_m }), |answer| {
                format!("{} is flat now: {}.", answer.region, answer.heights())
            })
        }
        TerrainCommand::Bake { target } => {
            order(target, &serde_json::json!({ "action": "bake" }), |answer| {
                format!(
                    "Edits of {} are limited by its present ground now: {}.",
                    answer.region,
                    answer.heights()
                )
            })
        }
    }
}

impl TerrainAnswer {
    fn heights(&self) -> String {
        let Self { size_m, lowest_m, highest_m, patches, .. } = self;
        format!("{size_m} m wide, {lowest_m} m to {highest_m} m high, {patches} patches changed")
    }
}

/// Sends an order; the server's answer, or a sentence about it.
fn order(
    target: &TerrainArgs,
    body: &serde_json::Value,
    tell: impl Fn(&TerrainAnswer) -> String,
) -> Result<String, TerrainCommandError> {
    let (text, answer) = ask(target, body)?;
    Ok(if target.json { text } else { tell(&answer) + "\n" })
}

/// Sends an order; the server's answer as text with a line's end, and decoded.
fn ask(
    target: &TerrainArgs,
    body: &serde_json::Value,
) -> Result<(String, TerrainAnswer), TerrainCommandError> {
    let mut body = body.clone();
    body["region"] = target.region.as_str().into();
    let text = operator::command(&target.data.data, "/v1/terrain", &body)?;
    let answer = serde_json::from_str(&text)?;
    Ok((text.trim_end().to_owned() + "\n", answer))
}

fn form_of(file: &Path) -> Result<HeightsForm, TerrainCommandError> {
    HeightsForm::of(file).ok_or_else(|| TerrainCommandError::Form(file.to_owned()))
}

const fn range_of(range: &RangeArgs) -> HeightRange {
    HeightRange { lowest_m: range.lowest, highest_m: range.highest }
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> TerrainCommandError {
    move |source| TerrainCommandError::File { path: path.to_owned(), source }
}

fn heights_error(path: &Path) -> impl Fn(HeightsError) -> TerrainCommandError {
    move |source| TerrainCommandError::Heights { path: path.to_owned(), source }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file in the data directory that the server reads or writes, for as long as this lives.
struct Exchange {
    path: PathBuf,
    /// The number by which the server knows it.
    number: u32,
}

impl Exchange {
    /// The file of this process, which does not exist yet.
    fn new(data: &Path) -> Result<Self, TerrainCommandError> {
        let (folder, number) = (terrain_path(data), std::process::id());
        let path = folder.join(format!("{number}.r32"));
        let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(&folder);
        made.map_err(file_error(&folder))?;
        let exchange = Self { path, number };
        // Of a process of the same number that was killed.
        exchange.remove();
        Ok(exchange)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), TerrainCommandError> {
        let opened = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&self.path);
        opened.and_then(|mut file| file.write_all(bytes)).map_err(file_error(&self.path))
    }

    fn read(&self) -> Result<Vec<u8>, TerrainCommandError> {
        fs::read(&self.path).map_err(file_error(&self.path))
    }

    fn remove(&self) {
        // It may not be there.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.remove();
    }
}
