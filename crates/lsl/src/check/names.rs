//! Declarations and scopes.
//!
//! A scope has one declaration of each name, of whatever kind: global variables, functions and states share the outermost one. A use looks for its
//! own kind, from the innermost scope outwards, so that a function can be called where a variable of its name hides it. Names of the library come
//! first of all. Labels belong to the block that they are in.

use crate::Span;
use crate::syntax::NameId;
use crate::types::Type;
use std::collections::HashMap;

/// Index of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SymbolId(pub(crate) u32);

/// Kind of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Variable,
    Function,
    State,
    Label,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Function => "function",
            Self::State => "state",
            Self::Label => "label",
        }
    }

    /// With an article.
    pub(crate) const fn described(self) -> &'static str {
        match self {
            Self::Variable => "a variable",
            Self::Function => "a function",
            Self::State => "a state",
            Self::Label => "a label",
        }
    }
}

/// A declaration.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) name: NameId,
    pub(crate) kind: Kind,
    pub(crate) ty: Type,
    pub(crate) span: Span,
    /// Parameters of events are there whether used or not.
    pub(crate) may_be_unused: bool,
    pub(crate) n_uses: u32,
    /// Index among the globals, of functions.
    pub(crate) function: Option<usize>,
}

impl Symbol {
    pub(crate) const fn is_unused(&self) -> bool {
        self.n_uses == 0 && !self.may_be_unused
    }
}

/// All declarations, and the scopes around the place that is being checked, outermost first.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    pub(crate) symbols: Vec<Symbol>,
    scopes: Vec<HashMap<NameId, SymbolId>>,
}

/// Former declarations that a new one meets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Met {
    /// In the same scope: the new one is not valid.
    pub(crate) same_scope: Option<SymbolId>,
    /// Further out: the new one hides it.
    pub(crate) hidden: Option<SymbolId>,
}

impl Scopes {
    pub(crate) fn open(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(crate) fn close(&mut self) {
        self.scopes.pop();
    }

    /// True outside of functions and states.
    pub(crate) fn is_outermost(&self) -> bool {
        self.scopes.len() == 1
    }

    /// Declares in the innermost scope, and says which former declarations are concerned.
    pub(crate) fn declare(&mut self, symbol: Symbol) -> (SymbolId, Met) {
        let id = SymbolId(self.symbols.len() as u32);
        let (innermost, outer) = self.scopes.split_last_mut().expect("the outermost scope");
        let mut met = Met { same_scope: innermost.get(&symbol.name).copied(), hidden: None };
        if met.same_scope.is_none() {
            let alike = |found: &&SymbolId| self.symbols[found.0 as usize].kind == symbol.kind;
            let mut outward = outer.iter().rev().filter_map(|scope| scope.get(&symbol.name));
            let global = outer.first().and_then(|scope| scope.get(&symbol.name));
            met.hidden = outward.find(alike).or(global).copied();
            innermost.insert(symbol.name, id);
        }
        self.symbols.push(symbol);
        (id, met)
    }

    /// The innermost declaration of this kind.
    pub(crate) fn find(&self, name: NameId, kind: Kind) -> Option<SymbolId> {
        let mut outward = self.scopes.iter().rev().filter_map(|scope| scope.get(&name));
        outward.find(|found| self.symbols[found.0 as usize].kind == kind).copied()
    }

    /// The innermost declaration of any kind.
    pub(crate) fn find_any(&self, name: NameId) -> Option<SymbolId> {
        self.scopes.iter().rev().find_map(|scope| scope.get(&name)).copied()
    }

    pub(crate) fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0 as usize]
    }

    pub(crate) fn note_use(&mut self, id: SymbolId) {
        self.symbols[id.0 as usize].n_uses += 1;
    }

    /// Names of this kind that can be used here.
    pub(crate) fn names_of(&self, kind: Kind) -> impl Iterator<Item = NameId> {
        let all = self.scopes.iter().flat_map(HashMap::iter);
        all.filter(move |(_, id)| self.symbols[id.0 as usize].kind == kind).map(|(&name, _)| name)
    }
}
