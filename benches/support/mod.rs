//! What several benchmarks need: descriptions of agents, and the memory of a process.

use std::fs;

/// The one of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A description of 3 KB, with its id; those of other numbers differ.
pub fn document(number: usize) -> (String, String) {
    let mut words = (0..).map(|index| word(number.wrapping_mul(31) ^ (index * 17)));
    let mut sentence = |count: usize| words.by_ref().take(count).collect::<Vec<_>>().join(" ");
    let id = format!("urn:example:agent:{:016x}", (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let actions: Vec<String> = (0..4)
        .map(|index| {
            format!(
                r#""{}{index}":{{"title":"{}","description":"{}","input":{{"type":"object","properties":{{"{}":{{"type":"string","description":"{}"}}}}}},"forms":[{{"href":"https://agents.example/{number}/actions/{index}","contentType":"application/json","op":"invokeaction"}}]}}"#,
                word(number + index),
                sentence(3),
                sentence(24),
                word(index),
                sentence(8),
            )
        })
        .collect();
    let document = format!(
        r#"{{"@context":["https://www.w3.org/2022/wot/td/v1.1",{{"lmos":"https://eclipse.dev/lmos/protocol/v1"}}],"@type":"lmos:Agent","id":"{id}","title":"{}","description":"{}","lmos:capabilities":[{{"id":"{}","name":"{}","description":"{}"}}],"securityDefinitions":{{"nosec_sc":{{"scheme":"nosec"}}}},"security":"nosec_sc","actions":{{{}}}}}"#,
        sentence(4),
        sentence(40),
        word(number),
        sentence(2),
        sentence(16),
        actions.join(","),
    );
    (id, document)
}

/// One of some 4000 words.
pub fn word(number: usize) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ty"];
    let hash = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (0..3).map(|index| SYLLABLES[(hash >> (index * 4)) as usize % 16]).collect()
}

/// Anonymous resident memory of a process in MB.
pub fn rss_anon(process: u32) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon on this system")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}
