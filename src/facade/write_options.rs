//! How results are written.

use crate::report::Overwrite;

/// How results are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    force: bool,
    leaves_charts_out: bool,
}

impl WriteOptions {
    /// With charts and page, where there is nothing, or in the place of an earlier result of the same: a run in the place of a run, a study or
    /// plan in the place of the same one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to replace whatever is there. Inputs, the working directory and your home directory stay.
    #[must_use]
    pub fn force(mut self, is_forced: bool) -> Self {
        self.force = is_forced;
        self
    }

    /// Whether charts and the page are drawn.
    #[must_use]
    pub fn charts(mut self, are_drawn: bool) -> Self {
        self.leaves_charts_out = !are_drawn;
        self
    }

    pub(super) fn is_forced(&self) -> bool {
        self.force
    }

    pub(super) fn draws_charts(&self) -> bool {
        !self.leaves_charts_out
    }

    pub(super) fn overwrite(&self) -> Overwrite {
        if self.force { Overwrite::Anything } else { Overwrite::OnlyOurs }
    }
}
