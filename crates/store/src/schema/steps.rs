//! The steps, in both dialects side by side: a module for each subject, with the tables of its steps.

mod accounts;
mod instances;
mod regions;
mod seals;
mod server;

use super::SchemaStep;
use crate::seals::seal_all_rows;
use accounts::{
    ACCOUNTS_AND_INVENTORIES, INVENTORY_STATISTICS, ITEM_MARKS, OFFERS_AND_GESTURES, WORN_AND_APPEARANCES,
};
use instances::{BIRTHS, INSTANCES, PORTAL_INSTANCES, TOKENS};
use regions::{HELD_OBJECTS, LAND, MATERIALS, OBJECTS, REGION_DOCUMENTS};
use seals::SEALS;
use server::{ASSETS, COUNTERS, JOBS};

/// All steps; the version of a step is its place in the list, from 1. Steps are appended, never edited: databases in the field have gone
/// through them.
pub(super) const STEPS: &[SchemaStep] = &[
    SchemaStep { name: "accounts and inventories", sql: ACCOUNTS_AND_INVENTORIES, fill: None },
    SchemaStep { name: "instances", sql: INSTANCES, fill: None },
    SchemaStep { name: "tokens", sql: TOKENS, fill: None },
    SchemaStep { name: "births of instances", sql: BIRTHS, fill: None },
    SchemaStep { name: "instances of portals", sql: PORTAL_INSTANCES, fill: None },
    SchemaStep { name: "counters", sql: COUNTERS, fill: None },
    SchemaStep { name: "objects of regions", sql: OBJECTS, fill: None },
    SchemaStep { name: "materials of regions", sql: MATERIALS, fill: None },
    SchemaStep { name: "land and names of regions", sql: LAND, fill: None },
    SchemaStep { name: "held objects", sql: HELD_OBJECTS, fill: None },
    SchemaStep { name: "assets", sql: ASSETS, fill: None },
    SchemaStep { name: "inventory_statistics", sql: INVENTORY_STATISTICS, fill: None },
    SchemaStep { name: "jobs", sql: JOBS, fill: None },
    SchemaStep { name: "items on their way", sql: ITEM_MARKS, fill: None },
    SchemaStep { name: "offers and gestures", sql: OFFERS_AND_GESTURES, fill: None },
    SchemaStep { name: "documents of regions", sql: REGION_DOCUMENTS, fill: None },
    SchemaStep { name: "worn objects and appearances", sql: WORN_AND_APPEARANCES, fill: None },
    SchemaStep { name: "seals of rows", sql: SEALS, fill: Some(seal_all_rows) },
];
