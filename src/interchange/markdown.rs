//! Parses Markdown into a flat list of blocks, each with its headings and line, for the importers.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, LinkType, MetadataBlockKind, Options, Parser, Tag, TagEnd};

/// What the text of an open task begins with.
pub const OPEN_TASK: &str = "[ ]";

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading of this level, 1 to 6.
    Heading(u8),
    /// A paragraph outside lists.
    Paragraph,
    /// A list item, without nested items.
    Item {
        /// The nesting depth of its list, 0 for a top-level list.
        depth: usize,
    },
    /// A code block.
    Code,
    Table,
}

/// A link in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownLink {
    /// The linked words.
    pub text: String,
    pub target: String,
}

/// One block of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    /// Its text on one line, without emphasis, links and struck-out words; `code` keeps its backquotes.
    pub text: String,
    /// Its first line, from 1.
    pub line: usize,
    /// The byte offset in `text` at which each further source line begins, and that line.
    pub breaks: Vec<(usize, usize)>,
    /// The headings above it, outermost first; for a heading, including itself.
    pub headings: Vec<String>,
    pub links: Vec<MarkdownLink>,
    /// Whether the block is in a quotation.
    pub quoted: bool,
    /// Its struck-out words.
    pub struck: String,
    /// Whether all words are bold, so that the block serves as a heading.
    pub bold: bool,
    /// The rows of a table with their lines, header first.
    pub rows: Vec<(usize, Vec<String>)>,
}

impl Block {
    /// Splits `text` into its source lines: the byte offset in `text`, the line's number, and its part of `text`.
    pub fn lines(&self) -> impl Iterator<Item = (usize, usize, &str)> {
        let ends = self.breaks.iter().skip(1).map(|(offset, _)| *offset).chain([self.text.len()]);
        let lines = self.breaks.iter().zip(ends);
        lines.filter_map(|((offset, number), end)| Some((*offset, *number, self.text.get(*offset..end)?)))
    }

    /// Returns the line of a part of `text`.
    pub fn line_of(&self, part: &str) -> usize {
        let at = self.text.find(part).unwrap_or_default();
        self.breaks.iter().rev().find(|(offset, _)| *offset <= at).map_or(self.line, |(_, line)| *line)
    }
}

/// A parsed document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkdownDocument {
    /// The fields of the YAML front matter: key in lower case, value without quotes, line.
    pub front: Vec<(String, String, usize)>,
    /// Its blocks in order.
    pub blocks: Vec<Block>,
}

impl MarkdownDocument {
    /// Parses Markdown. Every text is valid.
    pub fn parse(text: &str) -> Self {
        BlockReader::new(text).read()
    }
}

struct BlockReader<'a> {
    lines: LineIndex,
    text: &'a str,
    out: MarkdownDocument,
    headings: Vec<(u8, String)>,
    open: Vec<OpenBlock>,
    /// The numbers of open lists, quotations, struck-out spans and bold spans.
    lists: usize,
    quotes: usize,
    struck: usize,
    strong: usize,
    /// The first line of the front matter while it is being parsed.
    metadata: Option<usize>,
    link: Option<MarkdownLink>,
}

/// A block that is being parsed.
struct OpenBlock {
    kind: BlockKind,
    /// The text by source line.
    rows: Vec<(usize, String)>,
    line: usize,
    links: Vec<MarkdownLink>,
    /// Whether the block was already added to the document.
    emitted: bool,
    struck: String,
    /// Whether some of the words are not bold.
    plain: bool,
    cells: Vec<(usize, Vec<String>)>,
}

impl<'a> BlockReader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            lines: LineIndex::new(text),
            text,
            out: MarkdownDocument::default(),
            headings: Vec::new(),
            open: Vec::new(),
            lists: 0,
            quotes: 0,
            struck: 0,
            strong: 0,
            metadata: None,
            link: None,
        }
    }

    fn read(mut self) -> MarkdownDocument {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        for (event, range) in Parser::new_ext(self.text, options).into_offset_iter() {
            self.event(event, range);
        }
        self.out
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let line = self.lines.at(range.start);
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match self.metadata {
                Some(first) => self.front_matter(&text, first),
                None => self.push(&text, line),
            },
            Event::Code(code) => {
                self.push(&format!("`{code}`"), line);
            }
            Event::TaskListMarker(false) => {
                self.push(OPEN_TASK, line);
                self.space();
            }
            Event::SoftBreak | Event::HardBreak => self.push(" ", line),
            Event::InlineHtml(html) if html.trim_start().to_ascii_lowercase().starts_with("<br") => {
                self.push(" ", line);
            }
            // A placeholder such as `<name>` is not HTML.
            Event::InlineHtml(html) if is_placeholder(&html) => self.push(&html, line),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::MetadataBlock(MetadataBlockKind::YamlStyle) => self.metadata = Some(self.lines.at(range.start) + 1),
            Tag::Heading { level, .. } => self.begin(BlockKind::Heading(number(level)), range.start),
            Tag::Paragraph if self.lists == 0 => self.begin(BlockKind::Paragraph, range.start),
            Tag::Paragraph => self.push(" ", self.lines.at(range.start)),
            Tag::CodeBlock(_) => {
                self.flush_item();
                self.begin(BlockKind::Code, range.start);
            }
            Tag::Table(_) => self.begin(BlockKind::Table, range.start),
            Tag::List(_) => {
                self.flush_item();
                self.lists += 1;
            }
            Tag::Item => self.begin(BlockKind::Item { depth: self.lists.saturating_sub(1) }, range.start),
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Strong => self.strong += 1,
            Tag::TableHead | Tag::TableRow => {
                if let Some(open) = self.open.last_mut() {
                    open.cells.push((self.lines.at(range.start), Vec::new()));
                }
            }
            Tag::TableCell => {
                if let Some((_, row)) = self.open.last_mut().and_then(|open| open.cells.last_mut()) {
                    row.push(String::new());
                }
            }
            Tag::Link { dest_url, link_type, .. } => {
                self.link = Some(MarkdownLink { text: String::new(), target: dest_url.into_string() });
                if matches!(link_type, LinkType::Autolink | LinkType::Email)
                    && let Some(link) = &mut self.link
                {
                    link.text.clone_from(&link.target);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::MetadataBlock(_) => self.metadata = None,
            TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Table | TagEnd::Item => self.finish(),
            TagEnd::Paragraph if self.lists == 0 => self.finish(),
            TagEnd::List(_) => self.lists = self.lists.saturating_sub(1),
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::TableCell => self.space(),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Link => {
                if let (Some(link), Some(open)) = (self.link.take(), self.open.last_mut()) {
                    open.links.push(link);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, kind: BlockKind, offset: usize) {
        let line = self.lines.at(offset);
        self.open.push(OpenBlock {
            kind,
            rows: Vec::new(),
            line,
            links: Vec::new(),
            emitted: false,
            struck: String::new(),
            plain: false,
            cells: Vec::new(),
        });
    }

    fn push(&mut self, text: &str, line: usize) {
        if self.struck > 0 {
            if let Some(open) = self.open.last_mut() {
                open.struck.push_str(text);
            }
            return;
        }
        if let Some(link) = &mut self.link {
            link.text.push_str(text);
        }
        if let Some(open) = self.open.last_mut() {
            open.plain |= self.strong == 0 && !text.trim().is_empty();
            if let Some(cell) = open.cells.last_mut().and_then(|(_, row)| row.last_mut()) {
                cell.push_str(text);
            }
            match open.rows.last_mut() {
                Some((at, row)) if *at == line => row.push_str(text),
                _ => open.rows.push((line, text.to_owned())),
            }
        }
    }

    /// Appends a space.
    fn space(&mut self) {
        if let Some((_, row)) = self.open.last_mut().and_then(|open| open.rows.last_mut()) {
            row.push(' ');
        }
    }

    /// Emits an item's own text before a nested list or code block begins.
    fn flush_item(&mut self) {
        let Some(open) = self.open.last_mut() else { return };
        if matches!(open.kind, BlockKind::Item { .. }) && !open.emitted {
            open.emitted = true;
            let own = OpenBlock {
                kind: open.kind,
                rows: std::mem::take(&mut open.rows),
                line: open.line,
                links: std::mem::take(&mut open.links),
                emitted: true,
                struck: std::mem::take(&mut open.struck),
                plain: open.plain,
                cells: Vec::new(),
            };
            self.emit(own);
        }
    }

    fn finish(&mut self) {
        let Some(open) = self.open.pop() else { return };
        // Text after a nested list belongs to an item that was already emitted.
        if !open.emitted {
            self.emit(open);
        }
    }

    fn emit(&mut self, open: OpenBlock) {
        let OpenBlock { kind, rows, line, links, struck, plain, cells, .. } = open;
        let (mut text, mut breaks, mut spaced) = (String::new(), Vec::new(), true);
        for (row_line, row) in &rows {
            let words = row.split_whitespace().collect::<Vec<_>>().join(" ");
            if words.is_empty() {
                spaced |= !row.is_empty();
                continue;
            }
            if !text.is_empty() && (spaced || row.starts_with(char::is_whitespace)) {
                text.push(' ');
            }
            breaks.push((text.len(), *row_line));
            text.push_str(&words);
            spaced = true;
        }
        if text.is_empty() && struck.is_empty() && !matches!(kind, BlockKind::Code | BlockKind::Table) {
            return;
        }
        if let BlockKind::Heading(level) = kind {
            self.headings.retain(|(above, _)| *above < level);
            self.headings.push((level, text.trim_end_matches(':').to_owned()));
        }
        let headings = self.headings.iter().map(|(_, text)| text.clone()).collect();
        let bold = !plain && !text.is_empty();
        let quoted = self.quotes > 0;
        self.out.blocks.push(Block { kind, text, line, breaks, headings, links, quoted, struck, bold, rows: cells });
    }

    fn front_matter(&mut self, text: &str, first: usize) {
        for (index, line) in text.lines().enumerate() {
            if let Some((key, value)) = line.split_once(':')
                && !key.starts_with([' ', '#', '-'])
            {
                let value = value.split(" #").next().unwrap_or_default();
                let value = value.trim().trim_matches(['"', '\'']).trim();
                self.out.front.push((key.trim().to_ascii_lowercase(), value.to_owned(), first + index));
            }
        }
    }
}

/// Whether a tag is a placeholder to fill in, such as `<one sentence>`, and not HTML, such as `<b>` or `<!-- … -->`.
fn is_placeholder(html: &str) -> bool {
    const TAGS: [&str; 24] = [
        "a", "b", "br", "code", "del", "details", "div", "em", "i", "img", "ins", "kbd", "li", "p", "pre", "s",
        "small", "span", "strong", "sub", "summary", "sup", "u", "ul",
    ];
    let name = html.trim_start_matches('<').trim_start_matches('/');
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    !name.is_empty() && !html.contains('=') && !TAGS.contains(&name.to_ascii_lowercase().as_str())
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Byte offsets of line starts.
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn new(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line of a byte offset, from 1.
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &str) -> Vec<(usize, String)> {
        MarkdownDocument::parse(text).blocks.into_iter().map(|block| (block.line, block.text)).collect()
    }

    #[test]
    fn items_keep_their_line_and_come_before_what_is_nested() {
        let text =
            "# Top\n\nIntro *here*\nand on.\n\n- one `x`\n  - two\n\n    ```\n    code\n    ```\n- ~~gone~~ three\n";
        assert_eq!(
            lines_of(text),
            [
                (1, "Top".into()),
                (3, "Intro here and on.".into()),
                (6, "one `x`".into()),
                (7, "two".into()),
                (9, "code".into()),
                (12, "three".into())
            ]
        );
        let blocks = MarkdownDocument::parse(text).blocks;
        assert_eq!(blocks[3].kind, BlockKind::Item { depth: 1 });
        assert_eq!(blocks[3].headings, ["Top"]);
    }

    #[test]
    fn a_deeper_heading_keeps_those_above_and_an_equal_one_replaces() {
        let blocks = MarkdownDocument::parse("# A\n## B\n### C\n## D\ntext\n").blocks;
        assert_eq!(blocks[4].headings, ["A", "D"]);
        assert_eq!(blocks[2].headings, ["A", "B", "C"]);
    }

    #[test]
    fn front_matter_is_read_with_its_lines_and_is_no_block() {
        let document = MarkdownDocument::parse("---\nstatus: \"accepted\"\ndate: 2024-05-01 # note\n---\n# T\n");
        assert_eq!(document.front, [("status".into(), "accepted".into(), 2), ("date".into(), "2024-05-01".into(), 3)]);
        assert_eq!(document.blocks[0].line, 5);
    }

    #[test]
    fn each_sentence_has_its_line() {
        let block = MarkdownDocument::parse("\nOne is\nhere. Two is `code`.\nThree.\n").blocks.remove(0);
        assert_eq!(block.text, "One is here. Two is `code`. Three.");
        let lines: Vec<_> = ["One is here.", "Two is `code`.", "Three."].map(|part| block.line_of(part)).into();
        assert_eq!((block.line, lines), (2, vec![2, 3, 4]));
    }

    #[test]
    fn links_are_kept_beside_the_words() {
        let block = MarkdownDocument::parse("Superseded by [5. Use X](0005-use-x.md)\n").blocks.remove(0);
        assert_eq!(block.text, "Superseded by 5. Use X");
        assert_eq!(block.links, [MarkdownLink { text: "5. Use X".into(), target: "0005-use-x.md".into() }]);
    }

    #[test]
    fn tables_and_quotes_are_told_apart() {
        let blocks = MarkdownDocument::parse("> said\n\n| a | b |\n|---|---|\n| c | d |\n").blocks;
        assert!(blocks[0].quoted);
        assert_eq!(blocks[1].kind, BlockKind::Table);
    }
}
