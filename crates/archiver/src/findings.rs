//! Lists of what an archive's content has become, cut.

/// Findings of a list; further ones are counted.
const LISTED_MAX: usize = 500;

/// A part of an archive that became something else, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The part: a path in the archive, or the name and the id of an object.
    pub what: Box<str>,
    /// The reason.
    pub why: Box<str>,
}

/// A list that is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    listed: Vec<Finding>,
    n_total: u64,
}

impl Findings {
    /// Adds a finding.
    pub fn add(&mut self, what: impl Into<Box<str>>, why: impl ToString) {
        self.n_total += 1;
        if self.listed.len() < LISTED_MAX {
            self.listed.push(Finding { what: what.into(), why: why.to_string().into() });
        }
    }

    /// The first of them.
    #[must_use]
    pub fn listed(&self) -> &[Finding] {
        &self.listed
    }

    /// Number of all.
    #[must_use]
    pub const fn n_total(&self) -> u64 {
        self.n_total
    }

    /// True without any.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_total == 0
    }

    /// Adds those of another list behind its own.
    pub fn append(&mut self, others: &Self) {
        self.n_total += others.n_total;
        let n_room = LISTED_MAX.saturating_sub(self.listed.len());
        self.listed.extend(others.listed.iter().take(n_room).cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_and_counts_on() {
        let mut some = Findings::default();
        assert!(some.is_empty());
        (0..LISTED_MAX + 3).for_each(|n| some.add(n.to_string(), "no reason"));
        assert_eq!((some.listed().len(), some.n_total()), (LISTED_MAX, 503));
        let mut all = Findings::default();
        all.add("first", "none");
        all.append(&some);
        assert_eq!((all.listed().len(), all.n_total(), &*all.listed()[1].what), (LISTED_MAX, 504, "0"));
    }
}
