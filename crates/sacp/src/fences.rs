//! Fenced code blocks (CommonMark, section 4.5).

use std::ops::Range;

/// A fenced code block of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    /// The offset of the line that opens it.
    pub(super) start: usize,
    pub(super) content: Range<usize>,
    /// The offset after the line that closes it.
    pub(super) end: usize,
}

/// The fenced code blocks of a text, a last unclosed one included.
pub(super) fn fenced_blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (offset, offset + line.len());
        offset = end;
        let unindented = line.trim_start();
        match open {
            None => open = fence(unindented).map(|fence| (fence, start, end)),
            Some((opening, begin, from)) => {
                let closes = fence(unindented)
                    .is_some_and(|fence| fence.starts_with(opening) && unindented[fence.len()..].trim().is_empty());
                if closes {
                    blocks.push(Block { start: begin, content: from..start, end });
                    open = None;
                }
            }
        }
    }
    blocks.extend(open.map(|(_, start, from)| Block { start, content: from..text.len(), end: text.len() }));
    blocks
}

/// The content of the only fenced code block of a text.
pub(super) fn only_block(text: &str) -> Option<&str> {
    match fenced_blocks(text).as_slice() {
        [block] => Some(&text[block.content.clone()]),
        _ => None,
    }
}

/// The block whose content an offset is in.
pub(super) fn block_at(blocks: &[Block], offset: usize) -> Option<&Block> {
    let after = blocks.partition_point(|block| block.content.start <= offset);
    blocks[..after].last().filter(|block| block.content.contains(&offset))
}

/// The run of three or more backticks or tildes that a line starts with.
fn fence(line: &str) -> Option<&str> {
    let character = line.chars().next().filter(|character| matches!(character, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(character).len();
    (length >= 3).then(|| &line[..length])
}
