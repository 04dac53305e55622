//! `throng inventory` and `throng give`: accounts' belongings, on a running server.

use super::{DataArg, NameArg};
use clap::{Args, Subcommand};
use ids::Uuid;

/// `throng inventory …`. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum InventoryCommand {
    /// Show an account's folders as a tree with numbers of items, and the items whose content is missing.
    #[command(after_help = "Example:
  throng inventory show Ada Lovelace")]
    Show {
        /// The user, or the id of the account.
        #[command(flatten)]
        name: NameArg,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
}

/// `throng give NAME ID`: gives an asset, or a copy of another account's item, to an account. Exit status 1: refused or not found.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "The thing is in the inventory at once, in the folder for its kind, and shown to the user if present.
Examples:
  throng give Ada Lovelace 8dcd4a48-2d37-4909-9f78-f7a9eb4ef903 --name Planks
  throng give Ada Lovelace 3b3f5a90-6c5e-4c4f-8a53-6d1a0f6d2f11 --from \"Eve Byron\""
)]
pub struct GiveArgs {
    /// The user, by first and last name or id, and behind it the id of the asset; with --from that of the item.
    #[arg(value_names = ["NAME", "ID"], num_args = 2..=3, required = true)]
    words: Vec<String>,
    /// Owner of the item: "First Last", or the id of an account. The owner must be allowed to copy it, and keeps it.
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// Name of the new item, at most 63 bytes.
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

impl GiveArgs {
    /// The receiver, and the id of the thing.
    ///
    /// # Errors
    /// A sentence: the last word is no id.
    pub fn receiver_and_id(&self) -> Result<(String, Uuid), String> {
        let (id, name) = self.words.split_last().expect("there are two words at least");
        let id = id.parse().map_err(|_| format!("{id:?} is no id of an asset or an item"))?;
        let words = name.iter().flat_map(|word| word.split_whitespace());
        Ok((words.collect::<Vec<_>>().join(" "), id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::parse;

    #[test]
    fn the_last_word_of_a_gift_is_its_id() {
        const ID: &str = "8dcd4a48-2d37-4909-9f78-f7a9eb4ef903";
        for words in [format!("Ada Lovelace {ID}"), format!("Ada {ID} --from Eve")] {
            let give: GiveArgs = parse(&words).unwrap();
            let (name, id) = give.receiver_and_id().unwrap();
            assert!(name.starts_with("Ada") && id.to_string() == ID, "{words}: {name} {id}");
        }
        assert!(parse::<GiveArgs>("Ada Lovelace planks").unwrap().receiver_and_id().is_err());
        assert!(parse::<GiveArgs>("Ada").is_err());
        assert!(parse::<GiveArgs>(&format!("Ada Augusta Lovelace {ID}")).is_err());
    }
}
