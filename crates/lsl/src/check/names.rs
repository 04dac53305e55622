//! Declarations and scopes.
//!
//! A scope has one declaration of each name, of whatever kind: global variables, functions and states share the outermost one. A use looks for its
//! own kind, from the innermost scope outwards, so that a function can be called where a variable of its name hides it. Names of the library come
//! first of all. Labels belong to the block that they are in.
//!
//! Each name has its innermost declaration of each kind at hand, so that neither a use nor a declaration goes through the scopes around it.

use crate::Span;
use crate::syntax::{ExprId, NameId};
use crate::types::Type;

/// Index of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// Value of a variable, as far as it is known before the script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Nothing,
    /// It has the default value of its type.
    Default,
    /// It has the value of its declaration.
    Value(ExprId),
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
    /// Of local variables.
    pub(crate) known: Known,
}

impl Symbol {
    pub(crate) const fn is_unused(&self) -> bool {
        self.n_uses == 0 && !self.may_be_unused
    }
}

/// A declaration that can be used here.
#[derive(Clone, Copy, Debug)]
struct Visible {
    symbol: SymbolId,
    /// The declaration of its name and kind that it hides, with its depth.
    hidden: Option<(SymbolId, usize)>,
}

/// The innermost declarations of a name.
#[derive(Clone, Copy, Debug, Default)]
struct Innermost {
    /// By kind, with the number of scopes around them, their own among these.
    of_kind: [Option<(SymbolId, usize)>; 4],
    /// In the outermost scope.
    global: Option<SymbolId>,
}

/// All declarations, and those that can be used at the place that is being checked.
#[derive(Debug)]
pub(crate) struct Scopes {
    pub(crate) symbols: Vec<Symbol>,
    /// By name.
    innermost: Vec<Innermost>,
    /// Those that can be used, outermost first.
    visible: Vec<Visible>,
    /// Number of those outside of each scope.
    scopes: Vec<usize>,
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
    /// A table with room for this number of names.
    pub(crate) fn new(n_names: usize) -> Self {
        let innermost = vec![Innermost::default(); n_names];
        Self { symbols: Vec::new(), innermost, visible: Vec::new(), scopes: Vec::new() }
    }

    pub(crate) fn open(&mut self) {
        self.scopes.push(self.visible.len());
    }

    pub(crate) fn close(&mut self) {
        let first = self.scopes.pop().unwrap_or_default();
        for gone in self.visible.drain(first..).rev() {
            let symbol = &self.symbols[gone.symbol.0 as usize];
            let of_kind = &mut self.innermost[symbol.name.0 as usize].of_kind[symbol.kind as usize];
            *of_kind = gone.hidden;
        }
    }

    /// True outside of functions and states.
    pub(crate) fn is_outermost(&self) -> bool {
        self.scopes.len() == 1
    }

    /// Declares in the innermost scope, and says which former declarations are concerned.
    pub(crate) fn declare(&mut self, symbol: Symbol) -> (SymbolId, Met) {
        let id = SymbolId(self.symbols.len() as u32);
        let depth = self.scopes.len();
        let innermost = &mut self.innermost[symbol.name.0 as usize];
        let mut here = innermost.of_kind.iter().flatten().filter(|&&(_, at)| at == depth);
        let mut met = Met { same_scope: here.next().map(|&(symbol, _)| symbol), hidden: None };
        if met.same_scope.is_none() {
            let of_kind = &mut innermost.of_kind[symbol.kind as usize];
            met.hidden = of_kind.map(|(hidden, _)| hidden).or(innermost.global);
            self.visible.push(Visible { symbol: id, hidden: *of_kind });
            *of_kind = Some((id, depth));
            if depth == 1 {
                innermost.global = Some(id);
            }
        }
        self.symbols.push(symbol);
        (id, met)
    }

    /// The innermost declaration of this kind.
    pub(crate) fn find(&self, name: NameId, kind: Kind) -> Option<SymbolId> {
        self.innermost[name.0 as usize].of_kind[kind as usize].map(|(symbol, _)| symbol)
    }

    /// The innermost declaration of any kind.
    pub(crate) fn find_any(&self, name: NameId) -> Option<SymbolId> {
        // A declaration further in has the higher number among those that can be used.
        self.innermost[name.0 as usize].of_kind.iter().flatten().map(|&(symbol, _)| symbol).max()
    }

    pub(crate) fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0 as usize]
    }

    pub(crate) fn note_use(&mut self, id: SymbolId) {
        self.symbols[id.0 as usize].n_uses += 1;
    }

    /// Forgets the values of all variables from an index on.
    pub(crate) fn forget_values(&mut self, from: usize) {
        self.symbols[from..].iter_mut().for_each(|symbol| symbol.known = Known::Nothing);
    }

    /// Names of this kind that can be used here.
    pub(crate) fn names_of(&self, kind: Kind) -> impl Iterator<Item = NameId> {
        let all = self.visible.iter().map(|visible| self.symbol(visible.symbol));
        all.filter(move |symbol| symbol.kind == kind).map(|symbol| symbol.name)
    }
}
