//! Statistics of generated content, for the report.

use super::Content;
use ids::LocalId;
use prim::body::SIZE_RANGE_M;
use prim::{ExtraParam, ShapeKind};
use replicate::objects::ObjectBlock;
use report::{Column, Section, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Upper edges of classes of linksets, prims.
const LINKSET_EDGES: [usize; 6] = [1, 5, 20, 60, 200, 256];
/// Upper edges of classes of sizes along the longest axis, metres.
const SIZE_EDGES_M: [f32; 6] = [0.25, 0.5, 1.0, 2.0, 5.0, SIZE_RANGE_M.1];

/// Figures of content.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in super::super) struct ContentFigures {
    /// Mean bytes of a block of ObjectUpdate, plain and zero-coded.
    pub(in super::super) raw_bytes: f64,
    pub(in super::super) coded_bytes: f64,
    /// Prims for each distinct texture entry.
    pub(in super::super) prims_per_entry: f64,
    /// Mean prims of a linkset.
    pub(in super::super) linkset_prims: f64,
}

impl Content {
    /// Its figures.
    pub(in super::super) fn figures(&self) -> ContentFigures {
        let (mut raw, mut coded, mut roots) = (0, 0, 0_u32);
        let mut entries = BTreeSet::new();
        let mut block = Vec::new();
        for (id, prim, versioned) in self.prims() {
            let encoded = ObjectBlock::new(id, prim, versioned.crc(), &versioned.body);
            block.clear();
            encoded.write(&prim.motion, 0, &mut block);
            raw += encoded.expanded_len();
            coded += block.len();
            roots += u32::from(prim.parent == LocalId(0));
            entries.insert(&*versioned.body.texture_entry);
        }
        let n_prims = f64::from(self.n_prims());
        ContentFigures {
            raw_bytes: raw as f64 / n_prims,
            coded_bytes: coded as f64 / n_prims,
            prims_per_entry: n_prims / entries.len() as f64,
            linkset_prims: n_prims / f64::from(roots),
        }
    }

    /// A section with its histograms.
    pub(in super::super) fn section(&self) -> Section {
        let ContentFigures { raw_bytes, coded_bytes, prims_per_entry, linkset_prims } = self.figures();
        let text = format!(
            "{} generated prims, which stand in for the archive of a real region. Mean of a prim: {} bytes plain, {} zero-coded; three real \
             archives have 279 and 127. {} prims for each distinct texture entry; real archives have 5 to 10. {} prims in a linkset on average.",
            self.n_prims(),
            report::number(raw_bytes),
            report::number(coded_bytes),
            report::number(prims_per_entry),
            report::number(linkset_prims),
        );
        Section::new("Content")
            .text(&text)
            .table(self.table("shape", self.shapes()))
            .table(self.table("linkset of up to this many prims", self.linksets()))
            .table(self.table("longest side up to this many metres", self.sizes()))
    }

    fn table(&self, class: &str, counts: Vec<(String, u32)>) -> Table {
        let mut table =
            Table::new(vec![Column::text(class), Column::number("prims", ""), Column::number("of all", "%")]);
        for (name, count) in counts {
            let percent = f64::from(count) / f64::from(self.n_prims()) * 100.0;
            table.row(vec![name.as_str().into(), count.into(), percent.into()]);
        }
        table
    }

    fn shapes(&self) -> Vec<(String, u32)> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for (.., versioned) in self.prims() {
            let body = &versioned.body;
            let sculpted = body.extra_params.get(ExtraParam::Sculpt).is_some();
            let name = match body.shape.kind() {
                _ if sculpted => "sculpt or mesh",
                Ok(ShapeKind::Box) => "box",
                Ok(ShapeKind::Cylinder) => "cylinder",
                Ok(ShapeKind::Prism) => "prism",
                Ok(ShapeKind::Sphere) => "sphere",
                Ok(ShapeKind::Torus) => "torus",
                Ok(ShapeKind::Tube) => "tube",
                Ok(ShapeKind::Ring) => "ring",
                Err(_) => unreachable!("shapes are clamped"),
            };
            *counts.entry(name).or_default() += 1;
        }
        counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn linksets(&self) -> Vec<(String, u32)> {
        let mut lens: BTreeMap<LocalId, usize> = BTreeMap::new();
        for (id, prim, _) in self.prims() {
            *lens.entry(if prim.parent == LocalId(0) { id } else { prim.parent }).or_default() += 1;
        }
        let mut counts = [0; LINKSET_EDGES.len()];
        for len in lens.into_values() {
            let class = LINKSET_EDGES.iter().position(|&most| len <= most).expect("256 at most");
            counts[class] += len as u32;
        }
        LINKSET_EDGES.iter().map(usize::to_string).zip(counts).collect()
    }

    fn sizes(&self) -> Vec<(String, u32)> {
        let mut counts = [0; SIZE_EDGES_M.len()];
        for (.., versioned) in self.prims() {
            let longest_m = versioned.body.scale.max_element();
            let class = SIZE_EDGES_M.iter().position(|&most| longest_m <= most).expect("no prim is longer");
            counts[class] += 1;
        }
        SIZE_EDGES_M.iter().map(f32::to_string).zip(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_prims_are_as_long_as_those_of_real_archives() {
        let content = Content::generate(5_000, 1, &(1 << 20..3 << 19));
        let figures = content.figures();
        assert!((251.0..307.0).contains(&figures.raw_bytes), "{figures:?}");
        assert!((114.0..140.0).contains(&figures.coded_bytes), "{figures:?}");
        assert!((5.0..10.0).contains(&figures.prims_per_entry), "{figures:?}");
    }

    #[test]
    fn each_histogram_counts_every_prim_once() {
        let content = Content::generate(2_000, 1, &(1 << 20..3 << 19));
        for counts in [content.shapes(), content.linksets(), content.sizes()] {
            assert_eq!(counts.iter().map(|(_, count)| count).sum::<u32>(), 2_000, "{counts:?}");
        }
    }
}
