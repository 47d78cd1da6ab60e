//! The entry of Agent Spec in the table of formats: its import, export and search terms.

use super::{Configuration, Options, Profile, Protocol, Security, edits, from_thing, supply::supply};
use crate::{
    Conversion, Descriptor, Export, Import, ImportOptions, Input, Parameter, ParameterKind, Rendition, Result,
    SearchContent, SearchTerm, Syntax,
    descriptor::{Sign, as_it_is, no_version},
    signs,
    td::Report,
};

/// The model of an agent, its prompts if they are published, the data of its capabilities, and its tags.
const SEARCH_TERMS: &[SearchTerm] = &[
    SearchTerm { path: &["agentspec:model", "agentspec:modelName"], content: SearchContent::Text },
    SearchTerm { path: &["agentspec:model", "agentspec:provider"], content: SearchContent::Text },
    SearchTerm { path: &["agentspec:prompts", "agentspec:text"], content: SearchContent::Text },
    SearchTerm { path: &["lmos:capabilities", "agentspec:input"], content: SearchContent::Schema },
    SearchTerm { path: &["lmos:capabilities", "agentspec:output"], content: SearchContent::Schema },
    SearchTerm { path: &["agentspec:metadata", "@value"], content: SearchContent::Tags },
];

pub(crate) const FORMAT: Descriptor = Descriptor {
    name: "agent-spec",
    noun: "an Open Agent Spec configuration",
    recognized_by: "`component_type`",
    signs: &[Sign::certain(signs::is_agent_spec)],
    search_terms: SEARCH_TERMS,
    import: Some(Import {
        summary: "Register the agents and tools of an Open Agent Spec configuration",
        description: "With `multipart/form-data`, send the configuration as the part `document`, and each component \
                      document as a part `component`.",
        media_types: &[
            ("application/json", Syntax::Json),
            ("application/yaml", Syntax::Yaml),
            ("application/x-yaml", Syntax::Yaml),
            ("text/yaml", Syntax::Yaml),
            ("text/x-yaml", Syntax::Yaml),
            ("application/vnd.agentspec+json", Syntax::Json),
            ("application/vnd.agentspec+yaml", Syntax::Yaml),
        ],
        schema: include_str!("schema.json"),
        parameters: &[
            Parameter::id("Id of the Thing, instead of the id of the document's main component"),
            Parameter::new(
                "base",
                ParameterKind::Text,
                "URL of the agent; `{id}` and `{name}` stand for its id and name",
            ),
            Parameter::new(
                "protocol",
                ParameterKind::Choice(&[Protocol::Http.name(), Protocol::A2a.name()]),
                "Protocol for calling the agent at `base`: a POST request with the inputs as JSON, or A2A",
            ),
            Parameter::new(
                "security",
                ParameterKind::Choice(&[
                    Security::Auto.name(),
                    Security::Nosec.name(),
                    Security::Basic.name(),
                    Security::Bearer.name(),
                    Security::ApiKey.name(),
                ]),
                "Security scheme to use if the document doesn't name one; apikey is a key in the header X-API-Key",
            ),
            Parameter {
                is_for_validation: true,
                ..Parameter::new(
                    "profile",
                    ParameterKind::Choice(&["spec", "sdk"]),
                    "Rules for validation: those of the specification, or those of its Python SDK",
                )
            },
            Parameter::new(
                "publisher",
                ParameterKind::Text,
                "Publisher in the ids `urn:agentspec:PUBLISHER:ID` of components whose own id isn't a UUID; `local` \
                 by default",
            ),
            Parameter::new("nested", ParameterKind::Flag, "Register nested agents as separate Things, too"),
            Parameter::new("tools", ParameterKind::Flag, "Register callable tools as separate Things, too"),
            Parameter::new(
                "publish_prompts",
                ParameterKind::Flag,
                "Store prompts and make them searchable, instead of replacing them with references",
            ),
        ],
        takes_components: true,
        tracking: None,
        has_id: |input, options| {
            parse(input, options).map_or(true, |configuration| configuration.has_id(profile(options)))
        },
        to_things,
        validate,
    }),
    export: Some(Export {
        path: "agent-spec",
        summary: "Read a Thing as an Open Agent Spec configuration",
        description: "The imported configuration, without secrets. For Things registered in another format, a \
            configuration is generated. References such as `{\"$component_ref\": \"gpt.api_key\"}` replace the values \
            that were left out; `Agentdex-Warnings` counts them. Supply the values when loading the configuration \
            (`components_registry={\"gpt.api_key\": …}` in the SDK).",
        media_types: &[("application/json", None)],
        versions: &[],
        read_version: no_version,
        max_age: None,
        from_thing: |thing, _| {
            let configuration = from_thing(thing)?;
            Ok(Rendition { bytes: format!("{configuration:#}\n").into_bytes(), warnings: Vec::new() })
        },
        in_version: as_it_is,
        with_edits: edits::with_edits,
        supply,
    }),
};

fn parse(input: &Input<'_>, options: &ImportOptions) -> Result<Configuration> {
    Configuration::parse_for(input.bytes, input.syntax, input.components, profile(options))
}

fn profile(options: &ImportOptions) -> Profile {
    match options.text("profile") {
        Some("sdk") => Profile::Sdk,
        _ => Profile::Spec,
    }
}

fn protocol(options: &ImportOptions) -> Protocol {
    let named = |protocol: &Protocol| options.text("protocol") == Some(protocol.name());
    Protocol::ALL.into_iter().find(named).unwrap_or_default()
}

fn security(options: &ImportOptions) -> Security {
    let named = |security: &Security| options.text("security") == Some(security.name());
    Security::ALL.into_iter().find(named).unwrap_or_default()
}

fn to_things(input: &Input<'_>, options: &ImportOptions) -> Result<Conversion> {
    let defaults = Options::default();
    parse(input, options)?.to_things(&Options {
        id: options.text("id").map(str::to_owned),
        profile: profile(options),
        base: options.text("base").map(str::to_owned),
        protocol: protocol(options),
        security: security(options),
        publisher: options.text("publisher").map_or(defaults.publisher, str::to_owned),
        nested: options.flag("nested"),
        tools: options.flag("tools"),
        publish_prompts: options.flag("publish_prompts"),
        thing_model: options.makes_thing_models(),
    })
}

fn validate(input: &Input<'_>, options: &ImportOptions) -> Result<Report> {
    Ok(parse(input, options)?.validate(profile(options)))
}
