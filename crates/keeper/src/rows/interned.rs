//! Interning of fields: equal values of many prims share their memory.

use prim::{ExtraParamError, ExtraParams, Ownership};
use state_hash::StateHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// Fields decoded so far. Real regions have one distinct texture entry per five to ten prims.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    bytes: BTreeSet<Arc<[u8]>>,
    texts: BTreeSet<Arc<str>>,
    extra_params: BTreeMap<Box<[u8]>, ExtraParams>,
    /// The prims of an owner have few distinct values. Never iterated.
    ownerships: HashSet<Arc<Ownership>, BuildHasherDefault<StateHasher>>,
}

impl Interned {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        if bytes.is_empty() {
            return Arc::default();
        }
        if let Some(known) = self.bytes.get(bytes) {
            return Arc::clone(known);
        }
        let new: Arc<[u8]> = bytes.into();
        self.bytes.insert(Arc::clone(&new));
        new
    }

    pub(crate) fn text(&mut self, text: &str) -> Arc<str> {
        if text.is_empty() {
            return Arc::default();
        }
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    /// Bytes that are in the table were checked before.
    pub(crate) fn extra_params(&mut self, bytes: &[u8]) -> Result<ExtraParams, ExtraParamError> {
        if let Some(known) = self.extra_params.get(bytes) {
            return Ok(known.clone());
        }
        let new = ExtraParams::parse(bytes)?;
        self.extra_params.insert(bytes.into(), new.clone());
        Ok(new)
    }

    pub(crate) fn ownership(&mut self, ownership: Ownership) -> Arc<Ownership> {
        if let Some(known) = self.ownerships.get(&ownership) {
            return Arc::clone(known);
        }
        let new = Arc::new(ownership);
        self.ownerships.insert(Arc::clone(&new));
        new
    }
}
