//! Meaning of a file's lines: items become nodes, with all names looked up.
//!
//! Each item is read by itself, so that a faulty one hides no other problem.

use super::{
    fault::BehaviorFault,
    forms::{FORMS, Form, FormParameter, NodeSort, words},
    meaning::{NodeArguments, build, predicate_of},
    node::Op,
    tree::{NodeForm, Tree},
    values::Values,
};
use outline::{Lexeme, NodeText, Outline, TextFault, Token, Words, shown};

/// Reads the items below a behaviour's name.
pub(super) fn body(outline: &Outline<'_>, root: usize, values: &mut Values<'_, '_>) -> Vec<Tree> {
    let mut reader = NodeReader { outline, values };
    reader.children(&outline.items[root], "behaviour")
}

struct NodeReader<'o, 'a, 'r, 'v, 'm> {
    outline: &'o Outline<'a>,
    values: &'m mut Values<'r, 'v>,
}

impl NodeReader<'_, '_, '_, '_, '_> {
    fn children(&mut self, item: &NodeText<'_>, parent: &'static str) -> Vec<Tree> {
        item.children.iter().map(|&child| self.item(child, parent)).collect()
    }

    fn item(&mut self, index: usize, parent: &'static str) -> Tree {
        let item = &self.outline.items[index];
        let mut words = item.words();
        let (part, mut conditions) = match words.peek().map(|token| &token.lexeme) {
            Some(Lexeme::Word("behaviour" | "behavior")) => {
                self.values.add(&words, BehaviorFault::NestedBehavior);
                (NodeForm::Broken, Vec::new())
            }
            Some(&Lexeme::Word(word)) => self.node(item, word, &mut words, parent),
            // An empty item was reported by the outline.
            None => (NodeForm::Broken, Vec::new()),
            Some(other) => {
                let wanted = "a node such as `select` or `wander`".to_owned();
                self.values.add(&words, TextFault::Expected { wanted, found: other.to_string() });
                (NodeForm::Broken, Vec::new())
            }
        };
        // Children of an unknown word may be in their place.
        let word = first_word(item).and_then(Form::of).map_or("", |form| form.word);
        conditions.extend(self.children(item, word));
        Tree { line: item.line, column: item.column, part, children: conditions }
    }

    /// A node, and the conditions that stand on its line.
    fn node(
        &mut self,
        item: &NodeText<'_>,
        word: &str,
        words: &mut Words<'_, '_>,
        parent: &'static str,
    ) -> (NodeForm, Vec<Tree>) {
        // `not` begins a condition, as `sees` does.
        let Some(form) = Form::of(if word == "not" { "sees" } else { word }) else {
            let nearest = self.values.report.nearest(word, self::words());
            self.values.add(words, BehaviorFault::UnknownWord { word: shown(word), nearest });
            return (NodeForm::Broken, Vec::new());
        };
        self.placed(item, form, parent);
        if form.word == "when" || form.role == NodeSort::Condition {
            let node = if form.word == "when" { "when" } else { "a condition" };
            if form.word == "when" {
                words.skip();
            }
            return self.conditions(words, node);
        }
        words.skip();
        let arguments = self.arguments(form, words);
        let part = arguments.and_then(|arguments| build(form.word, &arguments));
        (part.unwrap_or(NodeForm::Broken), Vec::new())
    }

    /// Checks that a node stands where it can, with and without others under it.
    fn placed(&mut self, item: &NodeText<'_>, form: &Form, parent: &'static str) {
        let mut add = |fault| self.values.report.add(item.line, item.column, fault);
        match form.word {
            _ if parent.is_empty() => {}
            "weight" if parent != "random" => {
                add(BehaviorFault::Misplaced { node: "weight", parent: "random" })
            }
            "from" if parent != "schedule" => {
                add(BehaviorFault::Misplaced { node: "from", parent: "schedule" })
            }
            word if parent == "schedule" && word != "from" => {
                add(BehaviorFault::OnlyUnder { node: "schedule", child: "from" });
            }
            _ => {}
        }
        match (form.role, item.has_colon, item.children.is_empty()) {
            (NodeSort::Header, false, _) => add(BehaviorFault::MissingColon { node: form.word }),
            (NodeSort::Header, true, true) => add(BehaviorFault::Empty { node: form.word }),
            (NodeSort::Condition, true, _) => add(BehaviorFault::NeedsWhen),
            (NodeSort::Action, true, _) => add(BehaviorFault::NoChildren { node: form.word }),
            _ => {}
        }
    }

    /// Conditions with `and` or `or` between them.
    fn conditions(&mut self, words: &Words<'_, '_>, node: &'static str) -> (NodeForm, Vec<Tree>) {
        let is_between = |token: &Token<'_>| matches!(token.lexeme, Lexeme::Word("and" | "or"));
        let has = |word| words.tokens.iter().any(|token| token.lexeme == Lexeme::Word(word));
        let any = has("or");
        if any && has("and") {
            self.values.add(words, BehaviorFault::AndOr);
            return (NodeForm::Broken, Vec::new());
        }
        let mut conditions = Vec::new();
        let mut last_column = words.last_column;
        for tokens in words.tokens.split(is_between) {
            let mut words = Words { tokens, line: words.line, last_column };
            conditions.push(self.condition(&mut words, node));
            last_column = tokens.last().map_or(last_column, |token| token.column);
        }
        match conditions.len() {
            1 if node != "when" => {
                let only = conditions.pop().expect("there is one");
                (only.part, Vec::new())
            }
            n => (NodeForm::Op(Op::When { conditions: n.min(255) as u8, any }), conditions),
        }
    }

    fn condition(&mut self, words: &mut Words<'_, '_>, node: &'static str) -> Tree {
        let (line, column) = (words.line, words.peek().map_or(words.last_column, |token| token.column));
        let not = words.peek_word() == Some("not");
        if not {
            words.skip();
        }
        let form = words.peek_word().and_then(Form::of).filter(|form| form.role == NodeSort::Condition);
        let op = if let Some(form) = form {
            words.skip();
            let arguments = self.arguments(form, words);
            arguments.and_then(|arguments| {
                let condition = predicate_of(form.word, &arguments);
                if condition.is_none() {
                    let needs = "either `below` or `above`, as in `health below 30 %`".to_owned();
                    self.values.report.add(line, column, BehaviorFault::Missing { node: form.word, needs });
                }
                Some(Op::Check { not, condition: condition? })
            })
        } else {
            self.unknown_condition(words, node);
            None
        };
        Tree { line, column, part: op.map_or(NodeForm::Broken, NodeForm::Op), children: Vec::new() }
    }

    fn unknown_condition(&mut self, words: &Words<'_, '_>, node: &'static str) {
        let fault = match words.peek_word() {
            None => BehaviorFault::Missing {
                node,
                needs: "a condition, such as `sees player within 20 m`".to_owned(),
            },
            Some(word) => {
                let known = words_of(NodeSort::Condition).chain(["not"]);
                BehaviorFault::UnknownWord {
                    word: shown(word),
                    nearest: self.values.report.nearest(word, known),
                }
            }
        };
        self.values.add(words, fault);
    }

    /// Reads all that stands behind a node's word. None when something is wrong, all of which is reported.
    fn arguments(&mut self, form: &'static Form, words: &mut Words<'_, '_>) -> Option<NodeArguments> {
        let head = words.last_column;
        let mut arguments = NodeArguments(Vec::new());
        let mut is_whole = true;
        if let Some(parameter) = form.positional()
            && (parameter.is_required || self.has_positional(form, words))
        {
            match self.values.read(words, parameter.value) {
                Some(value) => arguments.0.push(("", value)),
                None => {
                    is_whole = false;
                    skip_to_key(form, words);
                }
            }
        }
        while words.peek().is_some() {
            match words.peek_word().and_then(|word| form.keyed(word)) {
                Some(parameter) => is_whole &= self.option(parameter, form, words, &mut arguments),
                None => {
                    self.unknown_option(form, words);
                    is_whole = false;
                    words.skip();
                    skip_to_key(form, words);
                }
            }
        }
        // A value that was there and could not be read is not missing.
        if is_whole {
            for parameter in form.parameters.iter().filter(|parameter| parameter.is_required) {
                if !arguments.has(parameter.key) {
                    let needs = format!("`{}`", parameter.key);
                    let fault = BehaviorFault::Missing { node: form.word, needs };
                    self.values.report.add(words.line, head, fault);
                    is_whole = false;
                }
            }
        }
        is_whole.then_some(arguments)
    }

    fn option(
        &mut self,
        parameter: &'static FormParameter,
        form: &'static Form,
        words: &mut Words<'_, '_>,
        arguments: &mut NodeArguments,
    ) -> bool {
        const PACES: [&str; 4] = ["creep", "walk", "run", "speed"];
        let is_pace = PACES.contains(&parameter.key);
        let is_twice =
            arguments.has(parameter.key) || is_pace && PACES.iter().any(|pace| arguments.has(pace));
        if is_twice {
            let what = if is_pace { "pace" } else { parameter.key }.to_owned();
            self.values.add(words, BehaviorFault::Twice { what });
        }
        words.skip();
        match self.values.read(words, parameter.value) {
            Some(value) => arguments.0.push((parameter.key, value)),
            None => {
                skip_to_key(form, words);
                return false;
            }
        }
        !is_twice
    }

    /// True if the next token is an optional value rather than one of the node's own words.
    fn has_positional(&self, form: &Form, words: &Words<'_, '_>) -> bool {
        words.peek().is_some_and(|_| words.peek_word().is_none_or(|word| form.keyed(word).is_none()))
    }

    fn unknown_option(&mut self, form: &'static Form, words: &Words<'_, '_>) {
        let fault = match words.peek_word() {
            Some(word) => BehaviorFault::UnknownOption {
                node: form.word,
                word: shown(word),
                nearest: self.values.report.nearest(word, form.keys()),
                takes: form.takes(),
            },
            None => BehaviorFault::Text(TextFault::Expected {
                wanted: format!("a word that `{}` knows ({})", form.word, form.takes()),
                found: words.peek().map_or_else(String::new, |token| token.lexeme.to_string()),
            }),
        };
        self.values.add(words, fault);
    }
}

/// The word with which an item begins.
fn first_word<'a>(item: &NodeText<'a>) -> Option<&'a str> {
    match item.tokens.first()?.lexeme {
        Lexeme::Word(word) => Some(word),
        _ => None,
    }
}

fn words_of(role: NodeSort) -> impl Iterator<Item = &'static str> {
    FORMS.iter().filter(move |form| form.role == role).map(|form| form.word)
}

/// Skips words up to a known one.
fn skip_to_key(form: &Form, words: &mut Words<'_, '_>) {
    while words.peek().is_some() && words.peek_word().is_none_or(|word| form.keyed(word).is_none()) {
        words.skip();
    }
}
