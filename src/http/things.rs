//! `/things`: the collection. Lists are streamed, anonymous Things are created.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{ETAG, HeaderName, LINK, VARY},
    },
    web::{self, Data},
};

use super::{
    Context,
    address::{base_path, escape},
    body,
    conditions::{Conditions, Verdict},
    listing::{Empty, Form, Listing, View},
    parameters::Parameters,
    problem::Problem,
    thing,
};
use crate::{
    Error, Registry, Seq,
    registry::{IndexStatus, Write},
    search::{Filters, MAX_LIMIT},
};

/// The log position that an answer shows at least.
pub(super) const SEQ: HeaderName = HeaderName::from_static("agentdex-seq");

const KNOWN: [&str; 13] = [
    "limit",
    "offset",
    "format",
    "view",
    "q",
    "consistent",
    "capability",
    "type",
    "tag",
    "vendor",
    "protocol",
    "security",
    "source_format",
];
const KINDS: [&str; 2] = ["application/ld+json", "application/json"];

/// `POST /things`
pub(super) async fn create(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let dry_run = Parameters::parse(&request, &["dry_run"])?.flag("dry_run")?;
    body::check_type(&request, &body::DESCRIPTIONS)?;
    let json = body::read(&request, payload, context.options.body_limit).await?;
    let large = json.len() > thing::LARGE;
    let written = thing::commit(&context.registry, Write::create(json).dry_run(dry_run), large).await?;
    thing::answer(&context, &request, &written, dry_run)
}

/// What a client asks of the list.
struct Asked {
    limit: Option<usize>,
    offset: usize,
    form: Form,
    view: View,
    query: Option<String>,
    filters: Filters,
    consistent: bool,
}

impl Asked {
    fn of(parameters: &Parameters) -> Result<Asked, Problem> {
        let limit = parameters.number("limit", 1)?.map(|limit| usize::try_from(limit).unwrap_or(MAX_LIMIT));
        let offset = parameters.number("offset", 0)?.unwrap_or_default();
        Ok(Asked {
            limit: limit.map(|limit| limit.min(MAX_LIMIT)),
            offset: usize::try_from(offset).unwrap_or(usize::MAX),
            form: parameters
                .choice("format", &[("array", Form::Array), ("collection", Form::Collection)])?
                .unwrap_or_default(),
            view: parameters.choice("view", &[("full", View::Full), ("summary", View::Summary)])?.unwrap_or_default(),
            query: parameters.text("q").map(str::to_owned).filter(|query| !query.trim().is_empty()),
            filters: parameters.filters("source_format"),
            consistent: parameters.flag("consistent")?,
        })
    }

    fn is_filtered(&self) -> bool {
        self.query.is_some() || !self.filters.is_empty()
    }

    /// The URL of a page of what was asked for.
    fn page(&self, path: &str, parameters: &Parameters, offset: usize) -> String {
        let mut url = format!("{path}?offset={offset}");
        if let Some(limit) = self.limit {
            url.push_str(&format!("&limit={limit}"));
        }
        for (name, value) in parameters.pairs().filter(|(name, _)| !["offset", "limit"].contains(name)) {
            url.push_str(&format!("&{name}={}", escape(value)));
        }
        url
    }
}

/// `GET /things`
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &KNOWN)?;
    let asked = Asked::of(&parameters)?;
    let tag = collection_tag(&context.registry)?;
    let path = format!("{}/things", base_path(&request, &context.options, "/things"));
    let canonical = format!("<{path}>; rel=\"canonical\"; etag=\"{tag}\"");
    if !asked.is_filtered() {
        match Conditions::of(&request)?.verdict(&tag) {
            Verdict::Proceed => {}
            Verdict::NotModified => {
                let mut unmodified = HttpResponse::NotModified();
                return Ok(unmodified
                    .insert_header((ETAG, format!("\"{tag}\"")))
                    .insert_header((LINK, canonical))
                    .finish());
            }
            Verdict::Failed => return Err(Problem::precondition_failed(&format!("\"{tag}\""))),
        }
    }

    let found = find(&context.registry, &asked).await?;
    let end = asked.limit.map(|limit| asked.offset.saturating_add(limit));
    let next = end.filter(|end| *end < found.total).map(|end| asked.page(&path, &parameters, end));

    let mut response = HttpResponse::Ok();
    response.insert_header((SEQ, found.seq.0)).insert_header((VARY, "accept")).insert_header((LINK, canonical));
    if !asked.is_filtered() {
        response.insert_header((ETAG, format!("\"{tag}\"")));
    }
    if let Some(next) = &next {
        response.append_header((LINK, format!("<{next}>; rel=\"next\"")));
    }
    response.content_type(body::negotiate(&request, &KINDS));
    if *request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    let this = asked.page(&path, &parameters, asked.offset);
    let things = found.things.skip(asked.offset).take(asked.limit.unwrap_or(usize::MAX));
    let listing = Listing::new(things, asked.view, asked.form.frame(found.total, &this, next.as_deref()));
    Ok(response.streaming(listing.into_stream()))
}

/// What the list is made from, and the log position from before it was looked for.
struct Found {
    seq: Seq,
    total: usize,
    things: Box<dyn Iterator<Item = crate::Result<crate::registry::Thing>> + Send>,
}

async fn find(registry: &Registry, asked: &Asked) -> Result<Found, Error> {
    if !asked.is_filtered() {
        let seq = registry.last_seq();
        let total = usize::try_from(registry.len()).unwrap_or(usize::MAX);
        return Ok(Found { seq, total, things: Box::new(registry.list()) });
    }
    let (query, filters, consistent) = (asked.query.clone(), asked.filters.clone(), asked.consistent);
    let registry = registry.clone();
    let search = move || {
        if consistent {
            registry.refresh()?;
        }
        let seq = match registry.status().index {
            IndexStatus::Ready { seq } => seq,
            IndexStatus::Rebuilding { .. } => Seq::ZERO,
        };
        let ids = registry.ids_matching(query.as_deref(), &filters, false)?;
        let total = ids.len();
        let things = ids.into_iter().filter_map(move |id| registry.find_by_id(&id).transpose());
        Ok(Found { seq, total, things: Box::new(things) })
    };
    web::block(search).await.unwrap_or(Err(Error::ShuttingDown))
}

/// The entity tag of the collection, without quotes.
fn collection_tag(registry: &Registry) -> Result<String, Error> {
    let seq = registry.last_seq();
    Ok(match registry.expired()?.len() {
        0 => seq.to_string(),
        expired => format!("{seq}-{expired}"),
    })
}
