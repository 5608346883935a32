//! How results are written.

use super::error::Error;
use crate::report::{Exported, Format, Overwrite};

/// How results are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    force: bool,
    leaves_charts_out: bool,
    parquet: bool,
    png: bool,
    is_live: bool,
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

    /// Whether tables are written as Parquet, too. That needs the feature `parquet`; without it nothing is written.
    #[must_use]
    pub fn parquet(mut self, is_wanted: bool) -> Self {
        self.parquet = is_wanted;
        self
    }

    /// Whether charts are written as PNG, too. That needs the feature `png`; without it nothing is written.
    #[must_use]
    pub fn png(mut self, is_wanted: bool) -> Self {
        self.png = is_wanted;
        self
    }

    /// Whether the page of a run holds the simulator, too, so that the run can be played again in it with other values. That needs the
    /// feature `live`; without it nothing is written.
    #[must_use]
    pub fn live(mut self, is_wanted: bool) -> Self {
        self.is_live = is_wanted;
        self
    }

    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    fn formats(&self) -> impl Iterator<Item = Format> {
        let wanted = [(Format::Parquet, self.parquet), (Format::Png, self.png)];
        wanted.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(format, _)| format)
    }

    /// Refuses formats for which the crate is built without their feature.
    pub(super) fn check_formats(&self) -> Result<(), Error> {
        let missing = self.formats().find(|format| !format.feature().1);
        missing.map_or(Ok(()), |format| {
            let message = format!("this kubesquall is built without {}", format.as_str());
            Err(Error::argument(message, format!("build it with the feature `{}`", format.feature().0)))
        })
    }

    /// Gives `write` what is wanted besides of a directory's tables and charts: names in that directory, and contents.
    pub(super) fn export(
        &self,
        exported: &Exported<'_>,
        mut write: impl FnMut(&str, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.formats().try_for_each(|format| exported.files(format, &mut write))
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
