//! Table of pages: prims by local id, shared until written.

use ids::LocalId;
use link::{ObjectPage, PageMotions, PrimMotion, VersionedBody, index_in_page, page_of};
use std::{collections::VecDeque, ops::Range, sync::Arc};

/// Pages of a range of local ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageTable {
    /// Local id of the first page.
    first: u32,
    pages: Vec<Option<ObjectPage>>,
}

/// Page memory that no table holds any more, for the next copy.
#[derive(Debug, Default)]
pub(crate) struct PagePool {
    /// The one that was given up first comes first: its readers leave it first.
    motions: VecDeque<Arc<PageMotions>>,
}

/// Motion pages that a pool keeps: those of 500 movers on pages of their own, as long as readers hold the former ones.
const POOL_MAX: usize = 512;

impl PageTable {
    /// A table of the pages that `ids` lies on.
    pub(crate) const fn new(ids: &Range<u32>) -> Self {
        Self { first: page_of(LocalId(ids.start)).0, pages: Vec::new() }
    }

    pub(crate) fn body(&self, id: LocalId) -> Option<&VersionedBody> {
        self.page(id)?.bodies[index_in_page(id)].as_ref()
    }

    /// Place and movement of a prim.
    pub(crate) fn motion(&self, id: LocalId) -> Option<&PrimMotion> {
        let page = self.page(id)?;
        page.bodies[index_in_page(id)].as_ref()?;
        Some(&page.motions[index_in_page(id)])
    }

    /// Motion of a prim that is there, to be changed.
    pub(crate) fn motion_mut(&mut self, id: LocalId, pool: &mut PagePool) -> Option<&mut PrimMotion> {
        self.body(id)?;
        let number = self.number_of(id)?;
        let page = self.pages[number].as_mut()?;
        Some(&mut pool.own(&mut page.motions)[index_in_page(id)])
    }

    /// Body of a prim that is there, to be changed.
    pub(crate) fn body_mut(&mut self, id: LocalId) -> Option<&mut VersionedBody> {
        self.body(id)?;
        let number = self.number_of(id)?;
        let page = self.pages[number].as_mut()?;
        Arc::make_mut(&mut page.bodies)[index_in_page(id)].as_mut()
    }

    /// Puts a prim at its place; the former one, if any.
    ///
    /// # Panics
    /// If the id lies before the table's range.
    pub(crate) fn insert(
        &mut self,
        id: LocalId,
        motion: PrimMotion,
        body: VersionedBody,
        pool: &mut PagePool,
    ) -> Option<VersionedBody> {
        let number = self.number_of(id).expect("local ids of objects begin with the world's");
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        let page = self.pages[number].get_or_insert_with(|| ObjectPage::empty(id));
        pool.own(&mut page.motions)[index_in_page(id)] = motion;
        Arc::make_mut(&mut page.bodies)[index_in_page(id)].replace(body)
    }

    /// Takes a prim out.
    pub(crate) fn remove(&mut self, id: LocalId, pool: &mut PagePool) -> Option<VersionedBody> {
        self.body(id)?;
        let number = self.number_of(id)?;
        let page = self.pages[number].as_mut()?;
        pool.own(&mut page.motions)[index_in_page(id)] = PrimMotion::NONE;
        let body = Arc::make_mut(&mut page.bodies)[index_in_page(id)].take();
        if page.prims().next().is_none() {
            self.pages[number] = None;
        }
        body
    }

    /// Pages with prims.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &ObjectPage> {
        self.pages.iter().flatten()
    }

    /// Puts a whole page in the place of the one with its ids.
    pub(crate) fn insert_page(&mut self, page: ObjectPage) {
        let number = self.number_of(page.first).expect("pages of the world's local ids");
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        self.pages[number] = Some(page);
    }

    /// The page that an id lies on.
    pub(crate) fn page(&self, id: LocalId) -> Option<&ObjectPage> {
        self.pages.get(self.number_of(id)?)?.as_ref()
    }

    fn number_of(&self, LocalId(id): LocalId) -> Option<usize> {
        Some(id.checked_sub(self.first)? as usize / link::PAGE_PRIMS)
    }
}

impl PagePool {
    /// The motions of a page, copied first if they are shared. The memory is that of a former page if one is free.
    fn own<'a>(&mut self, motions: &'a mut Arc<PageMotions>) -> &'a mut PageMotions {
        if Arc::get_mut(motions).is_none() {
            let mut former = match self.motions.front_mut().and_then(Arc::get_mut) {
                Some(free) => {
                    *free = **motions;
                    self.motions.pop_front().expect("the free one")
                }
                None => Arc::new(**motions),
            };
            std::mem::swap(motions, &mut former);
            if self.motions.len() < POOL_MAX {
                self.motions.push_back(former);
            }
        }
        Arc::get_mut(motions).expect("copied if it was shared")
    }
}
