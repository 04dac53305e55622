//! From files to a set: all files are read, all faults collected, and only a set without faults is built.

use super::{
    BEHAVIORS_MAX, DEPTH_MAX, FILE_BYTES_MAX, FILES_MAX, ITEMS_MAX, Problem, Problems, SPEECH_BYTES_MAX,
    check::{self, Definition},
    compile,
    fault::BehaviorFault,
    interner::Interner,
    lexicon::{Lexicon, Names, TEMPLATE},
    read,
    set::{BehaviorSet, CompiledBehavior, IndexRange, Names as SetNames},
    values::Values,
    vocabulary::Vocabulary,
};
use glam::Vec3;
use outline::{FileLimits, FileReport, Lexeme, NodeText, Outline, ProblemReport, TextFault, is_name, shown};
use state_hash::StateHasher;
use std::hash::Hash;

/// Bounds of a file, as the reader of text keeps them.
const LIMITS: FileLimits = FileLimits {
    file_bytes: FILE_BYTES_MAX,
    quotation_bytes: SPEECH_BYTES_MAX,
    items: ITEMS_MAX,
    depth: DEPTH_MAX,
};

/// A file of behaviours.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name, as messages show it.
    pub file: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// A set, with the warnings on its files.
#[derive(Debug)]
pub struct Loaded {
    /// To be shared.
    pub set: BehaviorSet,
    /// Unused behaviours.
    pub warnings: Problems,
}

impl BehaviorSet {
    /// Reads files and checks them against a template's vocabulary.
    ///
    /// Costs time and memory in proportion to the files, which are bounded; meant for a long task.
    ///
    /// # Errors
    ///
    /// All faults of the files, up to [`PROBLEMS_MAX`](super::PROBLEMS_MAX).
    pub fn load(sources: &[Source<'_>], vocabulary: &Vocabulary) -> Result<Loaded, Problems> {
        let mut report = ProblemReport::<BehaviorFault>::default();
        let lexicon = Lexicon::of(vocabulary, &mut report);
        let mut lines = Interner::default();
        if sources.len() > FILES_MAX {
            add_to_template(&mut report, TextFault::TooMany { what: "files", max: FILES_MAX });
        }
        let sources = &sources[..sources.len().min(FILES_MAX)];
        let outlines: Vec<Outline<'_>> = (1..)
            .zip(sources)
            .map(|(index, source)| {
                let mut report = FileReport { file: source.file, index, report: &mut report };
                let lines = outline::lines(source.bytes, &LIMITS, &mut report).unwrap_or_default();
                Outline::of(lines, &LIMITS, &mut report)
            })
            .collect();
        let (heads, behaviors) = heads(sources, &outlines, &mut report);
        let definitions: Vec<Definition<'_>> = heads
            .into_iter()
            .map(|head| {
                let report =
                    FileReport { file: sources[head.file].file, index: head.file + 1, report: &mut report };
                let mut values =
                    Values { lexicon: &lexicon, behaviors: &behaviors, lines: &mut lines, report };
                let body = read::body(&outlines[head.file], head.item, &mut values);
                let item = &outlines[head.file].items[head.item];
                Definition { name: head.name, file: head.file, line: item.line, column: item.column, body }
            })
            .collect();
        let has_circle = check_all(&definitions, sources, &mut report);
        let entries = entries(vocabulary, &behaviors, &mut report);
        if has_circle || !report.is_clean() {
            return Err(report.into_problems());
        }
        let mut set = Self::of_template(vocabulary, lexicon, lines);
        set.put_together(&definitions, sources, &mut report);
        if !report.is_clean() {
            return Err(report.into_problems());
        }
        set.fingerprint = set.digest();
        Ok(Loaded { warnings: unused(&definitions, &entries, sources), set })
    }

    /// The template's part of a set, without behaviours.
    fn of_template(vocabulary: &Vocabulary, lexicon: Lexicon<'_>, lines: Interner) -> Self {
        let mut points = Vec::new();
        let mut range = |list: &[Vec3]| {
            let first = points.len() as u32;
            points.extend_from_slice(list);
            IndexRange { first, len: list.len() as u32 }
        };
        let routes = vocabulary.routes.iter().map(|route| range(&route.points)).collect();
        let resources = vocabulary.resources.iter().map(|resource| range(&resource.spots)).collect();
        Self {
            nodes: Box::default(),
            behaviors: Box::default(),
            masks: lexicon.masks.into(),
            relations: lexicon.relations.into(),
            places: vocabulary.places.iter().map(|place| (place.position, place.radius_m)).collect(),
            points: points.into(),
            routes,
            resources,
            lines: lines.into_lines(),
            names: SetNames {
                behaviors: Vec::new(),
                routes: vocabulary.routes.iter().map(|route| route.name.clone()).collect(),
                resources: vocabulary.resources.iter().map(|resource| resource.name.clone()).collect(),
            },
            fingerprint: 0,
        }
    }

    fn put_together(
        &mut self,
        definitions: &[Definition<'_>],
        sources: &[Source<'_>],
        report: &mut ProblemReport<BehaviorFault>,
    ) {
        let mut nodes = Vec::new();
        let mut behaviors = Vec::new();
        for (index, definition) in definitions.iter().enumerate() {
            match compile::compile(definitions, index, &self.masks) {
                Ok(compiled) => {
                    let (first, len) = (nodes.len() as u32, compiled.nodes.len() as u32);
                    nodes.extend(compiled.nodes);
                    let (n_timers, interest) = (compiled.n_timers, compiled.interest);
                    behaviors.push(CompiledBehavior { nodes: IndexRange { first, len }, n_timers, interest });
                    self.names.behaviors.push(definition.name.to_owned());
                }
                Err(fault) => {
                    definition.report(sources, report).add(definition.line, definition.column, fault)
                }
            }
        }
        self.nodes = nodes.into();
        self.behaviors = behaviors.into();
    }

    fn digest(&self) -> u64 {
        let mut hasher = StateHasher::new();
        self.nodes.hash(&mut hasher);
        self.behaviors.hash(&mut hasher);
        self.masks.hash(&mut hasher);
        self.relations.hash(&mut hasher);
        self.routes.hash(&mut hasher);
        self.resources.hash(&mut hasher);
        self.lines.hash(&mut hasher);
        self.names.hash(&mut hasher);
        for &(position, radius_m) in &self.places {
            hasher.vec3(position);
            hasher.u32(radius_m.to_bits());
        }
        self.points.iter().for_each(|&point| hasher.vec3(point));
        hasher.finish()
    }
}

/// A line with a behaviour's name.
struct BehaviorHeading<'a> {
    name: &'a str,
    file: usize,
    item: usize,
}

/// Finds all behaviours, so that files may use each other's in any order. A faulty name hides no fault below it.
fn heads<'a>(
    sources: &[Source<'_>],
    outlines: &[Outline<'a>],
    report: &mut ProblemReport<BehaviorFault>,
) -> (Vec<BehaviorHeading<'a>>, Names<'a>) {
    let mut heads: Vec<BehaviorHeading<'a>> = Vec::new();
    let mut names = Names::new();
    for (file, (source, outline)) in sources.iter().zip(outlines).enumerate() {
        let mut report = FileReport { file: source.file, index: file + 1, report };
        for &index in &outline.roots {
            let item = &outline.items[index];
            let Some(name) = head(item, &mut report) else { continue };
            if heads.len() >= BEHAVIORS_MAX {
                report.add(
                    item.line,
                    item.column,
                    TextFault::TooMany { what: "behaviours", max: BEHAVIORS_MAX },
                );
                return (heads, names);
            }
            if let Some(&known) = names.get(name) {
                let first: &BehaviorHeading<'_> = &heads[usize::from(known)];
                let line = outlines[first.file].items[first.item].line;
                let file = sources[first.file].file.to_owned();
                let fault = BehaviorFault::DuplicateBehavior { name: shown(name), file, line };
                report.add(item.line, item.column, fault);
            } else if !name.is_empty() {
                names.insert(name, heads.len() as u16);
            }
            heads.push(BehaviorHeading { name, file, item: index });
        }
    }
    (heads, names)
}

/// The name on a line with a behaviour's name; empty when it has none, which is reported. None for another line.
fn head<'a>(item: &NodeText<'a>, report: &mut FileReport<'_, BehaviorFault>) -> Option<&'a str> {
    let mut tokens = item.tokens.iter().map(|token| &token.lexeme);
    match tokens.next() {
        Some(Lexeme::Word("behaviour" | "behavior")) => {}
        Some(Lexeme::Word(word))
            if report.nearest(&word.to_lowercase(), ["behaviour", "behavior"]).is_some() =>
        {
            let nearest = Some("behaviour".to_owned());
            report.add(item.line, item.column, BehaviorFault::UnknownWord { word: shown(word), nearest });
        }
        _ => {
            report.add(item.line, item.column, BehaviorFault::NotInBehavior);
            return None;
        }
    }
    if !item.has_colon {
        report.add(item.line, item.column, BehaviorFault::MissingColon { node: "behaviour" });
    } else if item.children.is_empty() {
        report.add(item.line, item.column, BehaviorFault::Empty { node: "behaviour" });
    }
    match (tokens.next(), tokens.next()) {
        (Some(Lexeme::Word(name)), None) if is_name(name) => Some(name),
        (found, _) => {
            let wanted = "one name behind `behaviour`, made of letters, digits, `-` and `_`".to_owned();
            let found = match found {
                None => "nothing".to_owned(),
                Some(_) => {
                    item.tokens[1..].iter().map(|t| t.lexeme.to_string()).collect::<Vec<_>>().join(" ")
                }
            };
            report.add(item.line, item.column, TextFault::Expected { wanted, found: shown(&found) });
            Some("")
        }
    }
}

/// Looks for cycles and unreachable nodes. True if there is a cycle.
fn check_all(
    definitions: &[Definition<'_>],
    sources: &[Source<'_>],
    report: &mut ProblemReport<BehaviorFault>,
) -> bool {
    let (order, has_circle) = check::order(definitions, |definition, tree, fault| {
        definition.report(sources, report).add(tree.line, tree.column, fault);
    });
    let mut known = vec![None; definitions.len()];
    for index in order {
        let definition = &definitions[index];
        known[index] =
            Some(check::check_body(&definition.body, &known, &mut definition.report(sources, report)));
    }
    has_circle
}

/// The behaviours that NPCs of the template begin with.
fn entries(
    vocabulary: &Vocabulary,
    behaviors: &Names<'_>,
    report: &mut ProblemReport<BehaviorFault>,
) -> Vec<usize> {
    let mut entries = Vec::new();
    for name in &vocabulary.entries {
        match behaviors.get(name.as_str()) {
            Some(&index) => entries.push(usize::from(index)),
            None => {
                let nearest = report.nearest(name, behaviors.keys().copied());
                add_to_template(report, BehaviorFault::UnknownBehavior { name: shown(name), nearest });
            }
        }
    }
    entries
}

fn unused(definitions: &[Definition<'_>], entries: &[usize], sources: &[Source<'_>]) -> Problems {
    let mut warnings = ProblemReport::<BehaviorFault>::default();
    if !entries.is_empty() {
        let is_used = check::used_from(definitions, entries);
        for (definition, _) in definitions.iter().zip(is_used).filter(|(_, is_used)| !is_used) {
            let fault = BehaviorFault::Unused { name: definition.name.to_owned() };
            definition.report(sources, &mut warnings).add(definition.line, definition.column, fault);
        }
    }
    warnings.into_problems()
}

fn add_to_template(report: &mut ProblemReport<BehaviorFault>, fault: impl Into<BehaviorFault>) {
    report.add(0, Problem::new(TEMPLATE, 0, 0, fault));
}

impl Definition<'_> {
    fn report<'r>(
        &self,
        sources: &[Source<'r>],
        report: &'r mut ProblemReport<BehaviorFault>,
    ) -> FileReport<'r, BehaviorFault> {
        FileReport { file: sources[self.file].file, index: self.file + 1, report }
    }
}
