//! What agent cards are, for the table of formats.

use super::{
    Card, Generation, Options, from_thing,
    signs::{has_both, is_like_card},
};
use crate::{
    Conversion, Descriptor, Export, Import, ImportOptions, Input, Parameter, Rendition, Result, Syntax, Tracking,
    descriptor::{Sign, nothing_to_supply, report_on},
    td::Report,
};

pub(crate) const FORMAT: Descriptor = Descriptor {
    name: "a2a",
    noun: "an A2A agent card",
    recognized_by: "`supportedInterfaces`, or `url` and `skills`",
    signs: &[Sign::strong(has_both), Sign::weak(is_like_card)],
    search_terms: &[],
    import: Some(Import {
        summary: "Register the agent of an A2A agent card, and track the card's URL",
        description: "Cards of 0.2, 0.3 and 1.0 are read.",
        media_types: &[("application/json", Syntax::Json), ("application/a2a+json", Syntax::Json)],
        schema: include_str!("schema.json"),
        parameters: &[
            Parameter::id("The id of the Thing, instead of one that is made of the card"),
            Parameter::source("The URL that the card in the body is from: relative URLs in it are resolved against it"),
        ],
        takes_components: false,
        tracking: Some(Tracking {
            accept: Some("application/a2a+json, application/json;q=0.9"),
            well_known: &["/.well-known/agent-card.json", "/.well-known/agent.json"],
            is_signed: true,
        }),
        has_id,
        to_things,
        validate,
    }),
    export: Some(Export {
        path: "agent-card",
        summary: "Read a Thing as an A2A agent card",
        description: "The card that it was imported from, without secrets; in another version, or of other \
            descriptions, one that is made of it.",
        media_types: &[("application/json", None), ("application/a2a+json", None)],
        versions: &["1.0", "0.3"],
        read_version: |asked| asked.parse().ok().map(Generation::name),
        max_age: Some(60),
        from_thing: |thing, version| from_thing(thing, generation(version)),
        in_version,
        supply: nothing_to_supply,
    }),
};

fn to_things(input: &Input<'_>, options: &ImportOptions) -> Result<Conversion> {
    let text = |name| options.text(name).map(str::to_owned);
    let json = input.syntax.to_json(input.bytes)?;
    Card::parse(json.as_bytes())?.to_thing(&Options { id: text("id"), base: text("base") })
}

/// False for a card without the URL of an interface.
fn has_id(input: &Input<'_>, options: &ImportOptions) -> bool {
    let card = input.syntax.to_json(input.bytes).and_then(|json| Card::parse(json.as_bytes()));
    card.map_or(true, |card| card.has_id(options.text("base")))
}

/// A card without any URL is valid too, though no id is made of it.
fn validate(input: &Input<'_>, _: &ImportOptions) -> Result<Report> {
    Ok(report_on(to_things(input, &ImportOptions::of_fetched(Some("urn:agentdex:unknown"), None))?))
}

fn generation(version: Option<&str>) -> Generation {
    version.and_then(|version| version.parse().ok()).unwrap_or(Generation::V1)
}

fn in_version(original: &[u8], version: &str) -> Result<Option<Rendition>> {
    let (card, generation) = (Card::parse(original)?, generation(Some(version)));
    Ok((card.generation() != generation).then(|| card.as_version(generation)))
}
