//! Protection against losses: an import in another format drops content of a record only if requested, and a removal
//! reports the content lost.

use serde_json::Value;

use super::{
    applier::{Applier, Found},
    serving::Next,
    value,
    write::Remark,
};
use crate::{Error, Result, change::Seq, td::Losses};

impl Applier<'_> {
    /// Fails if an original in `format` would replace an original in another format, or if the served text would lose
    /// an affordance, form, security definition, or other member of the text served before from another format.
    /// `kept` are the positions of the remaining declarations.
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
        let losses = self.losses(live, Some(format), text)?;
        if original.is_none() && losses.is_empty() {
            return Ok(());
        }
        let (id, format, losses) = (id.to_owned(), format.to_owned(), Box::new(losses));
        Err(Error::LossyImport { id, format, original, losses, edits: Vec::new() })
    }

    /// Adds a remark about content lost by removing a version, if the record is then served from another format.
    pub(super) fn remark_on_losses(&mut self, id: &str, live: &Found<'_>, next: &Next) -> Result<()> {
        let Some(served) = next.declarations.0.first() else { return Ok(()) };
        let losses = Box::new(self.losses(live, served.format.as_deref(), &next.text)?);
        if !losses.is_empty() {
            let (id, version, format) = (id.to_owned(), served.version.clone(), served.format.clone());
            self.remarks.push(Remark::Lossy { id, version, format, losses });
        }
        Ok(())
    }

    /// Returns the content of the text served before from another format that is missing in a text.
    fn losses(&mut self, live: &Found<'_>, format: Option<&str>, text: &str) -> Result<Losses> {
        if live.record.format == format {
            return Ok(Losses::default());
        }
        let served = self.served_text(&live.record)?;
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        Ok(Losses::between(&parse(value::text(&served)?), &parse(text)))
    }
}
