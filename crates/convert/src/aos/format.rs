//! Descriptor of AOS agents in the table of formats.

use serde_json::{Map, Value};

use super::{AgentDocument, Options, from_thing};
use crate::{
    Conversion, Descriptor, Export, Format, Import, ImportOptions, Input, Parameter, ParameterKind, Result,
    SearchContent, SearchTerm, Syntax,
    descriptor::{Sign, as_it_is, no_version, nothing_to_supply, report_on},
    edits::through_export,
};

const SEARCH_TERMS: &[SearchTerm] = &[
    SearchTerm { path: &["aos:instructions"], content: SearchContent::Text },
    SearchTerm { path: &["aos:resources", "aos:name"], content: SearchContent::Text },
    SearchTerm { path: &["aos:resources", "aos:description"], content: SearchContent::Text },
    SearchTerm { path: &["aos:resources", "aos:content"], content: SearchContent::Text },
    SearchTerm { path: &["aos:mcpServers", "aos:name"], content: SearchContent::Text },
    SearchTerm { path: &["aos:model", "aos:name"], content: SearchContent::Text },
    SearchTerm { path: &["aos:organization", "aos:name"], content: SearchContent::Text },
    SearchTerm { path: &["lmos:capabilities", "lmos:input"], content: SearchContent::Schema },
    SearchTerm { path: &["lmos:capabilities", "lmos:output"], content: SearchContent::Schema },
];

pub(crate) const FORMAT: Descriptor = Descriptor {
    name: "aos",
    noun: "an AOS agent",
    recognized_by: "`instructions`, `provider` and `version`",
    signs: &[Sign::strong(is_agent)],
    search_terms: SEARCH_TERMS,
    import: Some(Import {
        summary: "Register an agent from its Agent object (Agent Observability Standard)",
        description: "The `instructions` and the `content` of resources are private: they are neither stored nor \
            searched, unless `publish_prompts` is set. Faults in the object are reported as errors with their \
            locations.",
        media_types: &[("application/json", Syntax::Json)],
        schema: include_str!("schema.json"),
        parameters: &[
            Parameter::id("Id of the Thing, instead of the agent's id"),
            Parameter::new(
                "publish_prompts",
                ParameterKind::Flag,
                "Store the instructions and the content of resources, and make them searchable",
            ),
        ],
        takes_components: false,
        tracking: None,
        has_id: |_, _| true,
        to_things,
        validate: |input, options| {
            let id = Some("urn:agentdex:unknown".to_owned());
            Ok(report_on(parse(input, options)?.to_thing(&Options { id })?))
        },
    }),
    export: Some(Export {
        path: "aos",
        summary: "Read a Thing as an Agent object of the Agent Observability Standard",
        description: "The imported object, without secrets. For Things registered in another format, an object with \
            empty `instructions` is generated.",
        media_types: &[("application/json", None)],
        versions: &[],
        read_version: no_version,
        max_age: Some(60),
        from_thing: |thing, _| from_thing(thing),
        in_version: as_it_is,
        with_edits: |edit| {
            through_export(Format::Aos, edit, &[], |thing, _| {
                Ok(serde_json::from_slice(&from_thing(thing)?.bytes).unwrap_or_default())
            })
        },
        supply: nothing_to_supply,
    }),
};

fn is_agent(document: &Map<String, Value>) -> bool {
    let has = |name: &str| document.contains_key(name);
    ["instructions", "provider", "version"].into_iter().all(has)
        && !["skills", "supportedInterfaces", "@context"].into_iter().any(has)
}

fn parse(input: &Input<'_>, options: &ImportOptions) -> Result<AgentDocument> {
    AgentDocument::parse(input.syntax.to_json(input.bytes)?.as_bytes(), options.flag("publish_prompts"))
}

fn to_things(input: &Input<'_>, options: &ImportOptions) -> Result<Conversion> {
    parse(input, options)?.to_thing(&Options { id: options.text("id").map(str::to_owned) })
}
