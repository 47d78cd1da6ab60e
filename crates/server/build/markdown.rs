//! Markdown as HTML: raw HTML is escaped, headings have the anchors that GitHub gives them, and links are rewritten.

use std::collections::HashSet;

use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// A rendered document.
pub struct Page {
    /// Text of the first heading.
    pub title: String,
    pub html: String,
}

/// Ending of the name of a picture for the light theme, beside one for the dark theme.
const LIGHT: &str = "-light.png";
/// Start of the element around a table, which scrolls sideways, also by the keyboard.
const SCROLLED: &str = "<div class=\"scrolled\" role=\"group\" tabindex=\"0\" aria-label=\"Table\">\n";

/// Renders a document. `rewrite` turns the target of a link or picture into an address.
///
/// # Errors
/// Those of `rewrite`.
pub fn render<E>(text: &str, mut rewrite: impl FnMut(&str) -> Result<String, E>) -> Result<Page, E> {
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let (mut title, mut anchors) = (None, HashSet::new());
    let mut rendered = Vec::with_capacity(events.len());
    let mut block = None;
    // Address of the heading that is open.
    let mut open = String::new();
    let mut is_picture = false;
    for (index, event) in events.iter().enumerate() {
        let event = match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let text = heading(&events[index..]);
                open = anchor(&text, &mut anchors);
                title.get_or_insert(text);
                let id = Some(CowStr::from(open.clone()));
                Event::Start(Tag::Heading { level: *level, id, classes: Vec::new(), attrs: Vec::new() })
            }
            Event::End(TagEnd::Heading(level)) => {
                if *level != HeadingLevel::H1 {
                    let link =
                        format!(" <a class=\"anchor\" href=\"#{open}\" aria-label=\"Link to this section\">#</a>");
                    rendered.push(Event::InlineHtml(link.into()));
                }
                Event::End(TagEnd::Heading(*level))
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => Event::Start(Tag::Link {
                link_type: *link_type,
                dest_url: rewrite(dest_url)?.into(),
                title: title.clone(),
                id: id.clone(),
            }),
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                if let Some(name) = dest_url.strip_suffix(LIGHT) {
                    is_picture = true;
                    let dark = rewrite(&format!("{name}-dark.png"))?;
                    let source = format!("<source media=\"(prefers-color-scheme: dark)\" srcset=\"{dark}\">");
                    rendered.push(Event::InlineHtml(format!("<picture>{source}").into()));
                }
                Event::Start(Tag::Image {
                    link_type: *link_type,
                    dest_url: rewrite(dest_url)?.into(),
                    title: title.clone(),
                    id: id.clone(),
                })
            }
            Event::End(TagEnd::Image) if is_picture => {
                is_picture = false;
                rendered.push(event.clone());
                Event::InlineHtml("</picture>".into())
            }
            // A style attribute for the alignment would violate the content security policy.
            Event::Start(Tag::Table(columns)) => {
                rendered.push(Event::Html(SCROLLED.into()));
                Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))
            }
            Event::End(TagEnd::Table) => {
                rendered.push(event.clone());
                Event::Html("</div>\n".into())
            }
            Event::Start(Tag::HtmlBlock) => {
                block = Some(String::new());
                continue;
            }
            Event::End(TagEnd::HtmlBlock) => match block.take().filter(|html| !is_comment(html)) {
                Some(html) => {
                    rendered.push(Event::Start(Tag::Paragraph));
                    rendered.push(Event::Text(html.into()));
                    Event::End(TagEnd::Paragraph)
                }
                None => continue,
            },
            Event::Html(html) | Event::InlineHtml(html) => match &mut block {
                Some(block) => {
                    block.push_str(html);
                    continue;
                }
                None if is_comment(html) => continue,
                None => Event::Text(html.clone()),
            },
            Event::Text(text) if block.is_some() => {
                block.iter_mut().for_each(|block| block.push_str(text));
                continue;
            }
            other => other.clone(),
        };
        rendered.push(event);
    }
    let mut html = String::with_capacity(text.len() * 2);
    html::push_html(&mut html, rendered.into_iter());
    // A heading of nothing.
    let html = html.replace("<th></th>", "<td></td>");
    Ok(Page { title: title.unwrap_or_default(), html })
}

fn is_comment(html: &str) -> bool {
    let html = html.trim();
    html.starts_with("<!--") && html.find("-->") == html.len().checked_sub(3)
}

/// Returns the text of the heading that starts with the first event.
fn heading(events: &[Event<'_>]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let text = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(&**text),
        _ => None,
    });
    text.collect()
}

/// Returns the name of a heading in addresses, which differs from all names so far.
fn anchor(heading: &str, taken: &mut HashSet<String>) -> String {
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    let name: String =
        kept.flat_map(char::to_lowercase).map(|character| if character == ' ' { '-' } else { character }).collect();
    let mut unique = name.clone();
    for number in 1.. {
        if taken.insert(unique.clone()) {
            break;
        }
        unique = format!("{name}-{number}");
    }
    unique
}
