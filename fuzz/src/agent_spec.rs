//! Agent Spec configurations, JSON and YAML: whatever comes is read, judged in both profiles and made
//! Things of without a panic, and what becomes a Thing is a valid Thing Description. After a zero byte
//! a document of components begins that is given beside the configuration.

#![no_main]

use agentdex::{
    convert::{
        Syntax,
        agent_spec::{Configuration, Options, Profile},
    },
    td::{Document, Layers, validate},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut documents = bytes.split(|byte| *byte == 0);
    let main = documents.next().unwrap_or_default();
    let beside: Vec<&[u8]> = documents.take(2).collect();
    for syntax in [Syntax::Json, Syntax::Yaml] {
        let beside: Vec<_> = beside.iter().map(|bytes| (*bytes, syntax)).collect();
        if let Ok(configuration) = Configuration::parse(main, syntax, &beside) {
            judge(&configuration);
        }
    }
});

fn judge(configuration: &Configuration) {
    for profile in [Profile::Spec, Profile::Sdk] {
        let is_valid = configuration.validate(profile).is_valid();
        for is_plain in [true, false] {
            let Ok(conversion) = configuration.to_things(&options(profile, is_plain)) else { continue };
            assert!(is_valid, "Things of an invalid configuration");
            for thing in conversion.things.iter().filter(|_| is_plain) {
                let document = Document::parse(thing.description.text().as_bytes()).expect("a description is JSON");
                let report = validate(&document, Layers::All);
                assert!(report.is_valid(), "{report}: {}", thing.description.text());
            }
        }
    }
}

/// The default, or everything that can be asked for.
fn options(profile: Profile, is_plain: bool) -> Options {
    if is_plain {
        return Options { profile, ..Options::default() };
    }
    Options {
        profile,
        base: Some("https://host.example/agents/a".to_owned()),
        publisher: "fuzz".to_owned(),
        nested: true,
        tools: true,
        publish_prompts: true,
        thing_model: true,
        ..Options::default()
    }
}
