//! Imports in another format than that of what is there: they drop nothing unless they are meant to.

use serde_json::Value;

use super::{
    applier::{Applier, Found},
    value,
};
use crate::{Error, Result, change::Seq, td::Losses};

impl Applier<'_> {
    /// Fails where an original in `format` would end one in another format, or where what is then served lacks an affordance,
    /// form, or security definition of what was served from another format. `kept` are the positions of the declarations that
    /// stay.
    pub(super) fn check_lossless(
        &mut self,
        id: &str,
        live: &Found<'_>,
        (format, kept): (&str, &[Seq]),
        text: &str,
    ) -> Result<()> {
        let before = live.record.declared()?;
        let ended = before.0.iter().filter(|one| !kept.contains(&one.base)).filter_map(|one| one.format.as_deref());
        let original = ended.into_iter().find(|other| *other != format).map(str::to_owned);
        let is_served_in = before.0.first().and_then(|served| served.format.as_deref());
        let mut losses = Losses::default();
        if is_served_in != Some(format) {
            let served = self.served_text(&live.record)?;
            let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
            losses = Losses::between(&parse(value::text(&served)?), &parse(text));
        }
        if original.is_none() && losses.is_empty() {
            return Ok(());
        }
        let (id, format, losses) = (id.to_owned(), format.to_owned(), Box::new(losses));
        Err(Error::LossyImport { id, format, original, losses })
    }
}
