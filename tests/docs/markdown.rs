//! Markdown, as far as tests read it: headings, links, tables, blocks of code.

use std::{collections::BTreeSet, fs, path::Path, sync::LazyLock};

use regex::Regex;

/// A document of the repository.
pub struct Document {
    /// Its path from the root of the repository.
    pub name: String,
    text: String,
}

/// A block of code.
pub struct Block {
    pub language: String,
    pub text: String,
    /// The need of it that tests can't meet, from the comment `<!-- not run: … -->` before it.
    pub lacks: Option<String>,
}

impl Document {
    pub fn new(name: &str, text: &str) -> Document {
        Document { name: name.to_owned(), text: text.to_owned() }
    }

    pub fn read(name: &str) -> Document {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
        Document::new(name, &text.unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines that no block of code has.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut is_code = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.starts_with("```");
            is_code ^= is_fence;
            !is_fence && !is_code
        })
    }

    /// Targets of links and pictures, as they are written.
    pub fn links(&self) -> Vec<String> {
        static LINK: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#"\]\(([^()\s]+)\)|(?:src|srcset)="([^"]+)"|<(https?:[^>\s]+)>"#).unwrap());
        static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").unwrap());
        let prose: Vec<&str> = self.prose().collect();
        let prose = prose.join("\n");
        let prose = CODE.replace_all(&prose, "");
        let found = LINK.captures_iter(&prose).filter_map(|link| (1..4).find_map(|group| link.get(group)));
        found.map(|target| target.as_str().to_owned()).collect()
    }

    /// Names of its headings in links, as GitHub makes them.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        for heading in self.prose().filter(|line| line.starts_with('#')) {
            let text = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = text.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
            let name: String = kept.map(|character| if character == ' ' { '-' } else { character }).collect();
            let mut numbered = name.clone();
            for number in 1.. {
                if anchors.insert(numbered) {
                    break;
                }
                numbered = format!("{name}-{number}");
            }
        }
        anchors
    }

    /// The blocks of code, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let (mut before, mut is_code) = ("", false);
        for line in self.text.lines() {
            match (line.strip_prefix("```"), is_code) {
                (Some(language), false) => {
                    let lacks = before.strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
                    let (language, lacks) = (language.to_owned(), lacks.map(str::to_owned));
                    blocks.push(Block { language, text: String::new(), lacks });
                    is_code = true;
                }
                (Some(_), true) => is_code = false,
                (None, true) => {
                    let block = blocks.last_mut().expect("a block that has begun");
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, false) => {}
            }
            before = line;
        }
        assert!(!is_code, "{}: a block of code doesn't end", self.name);
        blocks
    }

    /// The texts in code in the first column of the table with this header.
    pub fn first_column(&self, header: &str) -> Vec<String> {
        let rows = self.text.lines().skip_while(|line| *line != header).skip(2);
        let cells = rows.take_while(|line| line.starts_with('|')).filter_map(|row| row.split('|').nth(1));
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
    }
}

/// README and the chapters of the guide.
pub fn guide() -> Vec<Document> {
    let mut names = vec!["README.md".to_owned()];
    names.extend(chapters());
    names.iter().map(|name| Document::read(name)).collect()
}

/// The names of the files of the guide, sorted.
pub fn chapters() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut names, mut folders) = (BTreeSet::new(), vec![root.join("docs")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                names.insert(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    names
}

#[test]
fn links_headings_and_blocks_are_read() {
    let text = "# A `b`, c!\n[x](y.md#z) `[n](o)` <https://a.example/>\n## Twice\n## Twice\n<img src=\"p.png\">\n\
        <!-- not run: a moon -->\n```sh\n# [no](link)\n```\n```json\n{}\n```\n| q |\n|---|\n| `a`, `b` | `c` |\n";
    let document = Document::new("x.md", text);
    assert_eq!(document.links(), ["y.md#z", "https://a.example/", "p.png"]);
    assert_eq!(document.anchors().into_iter().collect::<Vec<_>>(), ["a-b-c", "twice", "twice-1"]);
    let blocks = document.blocks();
    let lacks: Vec<_> = blocks.iter().map(|block| block.lacks.as_deref()).collect();
    assert_eq!((lacks, blocks[1].text.as_str()), (vec![Some("a moon"), None], "{}\n"));
    assert_eq!(document.first_column("| q |"), ["a", "b"]);
}
