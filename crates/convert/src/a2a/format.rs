//! Descriptor of agent cards in the table of formats.

use serde_json::{Value, json};

use super::{
    Card, Generation, Options, from_thing,
    signs::{has_both, is_like_card},
};
use crate::{
    Conversion, Descriptor, Export, Format, Import, ImportOptions, Input, Parameter, Rendition, Result, Syntax,
    Tracking,
    descriptor::{Edit, Sign, nothing_to_supply, report_on},
    edits::{merged, through_export},
    td::{Report, Violation},
};

pub(crate) const FORMAT: Descriptor = Descriptor {
    name: "a2a",
    noun: "an A2A agent card",
    recognized_by: "`supportedInterfaces`, or `url` and `skills`",
    signs: &[Sign::strong(has_both), Sign::weak(is_like_card)],
    search_terms: &[],
    import: Some(Import {
        summary: "Register an agent from its A2A agent card, or track the card's URL",
        description: "Accepts cards of versions 0.2, 0.3, and 1.0.",
        media_types: &[("application/json", Syntax::Json), ("application/a2a+json", Syntax::Json)],
        schema: include_str!("schema.json"),
        parameters: &[
            Parameter::id("Id of the Thing, instead of one derived from the card"),
            Parameter::source("URL of the card in the body; relative URLs in the card are resolved against it"),
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
        description: "The imported card, without secrets. For other versions of the protocol, and for Things \
            registered in another format, a card is generated.",
        media_types: &[("application/json", None), ("application/a2a+json", None)],
        versions: &["1.0", "0.3"],
        read_version: |asked| asked.parse().ok().map(Generation::name),
        max_age: Some(60),
        from_thing: |thing, version| from_thing(thing, generation(version)),
        in_version,
        with_edits,
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

/// Members of a Thing that cards without an interface have too, which are exported as none.
const PLACES: &[(&str, &str)] = &[
    ("/title", "/name"),
    ("/description", "/description"),
    ("/version/instance", "/version"),
    ("/lmos:metadata/lmos:vendor/lmos:name", "/provider/organization"),
    ("/lmos:metadata/lmos:vendor/lmos:url", "/provider/url"),
];

/// A card with what was edited since. Signatures are of the card as it was.
fn with_edits(edit: &Edit<'_>) -> Result<Rendition> {
    let unsigned = |thing: &Value| {
        let mut thing = thing.clone();
        thing.as_object_mut().map(|members| members.remove("a2a:signatures"));
        thing
    };
    let has_signatures = |thing: &Value| thing.get("a2a:signatures").is_some();
    let are_removed = has_signatures(edit.base) && !has_signatures(edit.edited);
    let (base, edited) = (unsigned(edit.base), unsigned(edit.edited));
    let edit = Edit { base: &base, edited: &edited, ..*edit };
    let mut rendition = through_export(Format::A2a, &edit, PLACES, |thing, original| {
        let generation = Card::parse(original.as_bytes())?.generation();
        Ok(serde_json::from_slice(&from_thing(thing, generation)?.bytes).unwrap_or_default())
    })?;
    if are_removed || rendition.bytes != edit.original.bytes {
        drop_signatures(&mut rendition);
    }
    Ok(rendition)
}

fn drop_signatures(rendition: &mut Rendition) {
    let signed = json!({"signatures": []});
    let text = String::from_utf8_lossy(&rendition.bytes);
    let unsigned = merged(&text, &signed, &json!({}));
    if unsigned != text {
        let message = "the signatures don't cover this changed card, and are left out";
        rendition.warnings.push(Violation::new("/a2a:signatures", "signatures-left-out", message));
        rendition.bytes = unsigned.into_bytes();
    }
}
