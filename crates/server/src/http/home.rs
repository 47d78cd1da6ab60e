//! `/`: what this is, and where everything else is; for browsers the web page.

use std::collections::BTreeMap;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{LINK, VARY},
    web::Data,
};
use agentdex_api::About;

use super::{
    access, address::base_path, announcements, context::Context, formats, negotiation::negotiate, page,
    parameters::Parameters, problem::Problem,
};

const DESCRIPTION: &str = "An agent discovery registry: agents register as LMOS agents (W3C Thing Descriptions), and \
    clients find them by what they can do";

/// The resources of every registry.
const LINKS: [(&str, &str); 21] = [
    ("things", "/things"),
    ("search", "/search?q={words}"),
    ("events", "/events"),
    ("queries", "/queries"),
    ("changes", "/changes?since=0"),
    ("import", "/import/{format}"),
    ("imports", "/imports"),
    ("connect", "/connect"),
    ("convert", "/convert"),
    ("validate", "/validate"),
    ("directory", "/.well-known/wot"),
    ("agent-card", announcements::AGENT_CARD),
    ("server-card", announcements::SERVER_CARD),
    ("llms", announcements::LLMS_TXT),
    ("openapi", "/openapi.json"),
    ("documentation", "/docs/"),
    ("guide", "/docs/guide/"),
    ("health", "/health/ready"),
    ("metrics", "/metrics"),
    ("sessions", "/aos/sessions"),
    ("decisions", "/aos/decisions"),
];

/// Describe the registry, with links; for browsers, the web page
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/",
    operation_id = "home_page",
    tag = "about",
    responses(
        (status = 200, description = "Name, version, and links; a page for clients that prefer `text/html`", content((About = "application/json"), (String = "text/html"))),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
    )
))]
pub(super) async fn page(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    if page::is_preferred(&request) {
        return page::document(&context, &request);
    }
    Parameters::parse(&request, &[])?;
    negotiate(&request, &page::OFFERED)?;
    let base = base_path(&request, &context.options, "/");
    let mut links: BTreeMap<String, String> =
        LINKS.map(|(name, path)| (name.to_owned(), format!("{base}{path}"))).into();
    if context.options.conversations.is_some() {
        links.insert("conversation".to_owned(), format!("{base}/things/{{id}}/conversation"));
    }
    let things = access::may_read(&context, &request).then(|| context.registry(&request).len());
    let about = About {
        access: access::shown(&context, &request),
        demo: context.options.demo.is_some(),
        description: DESCRIPTION.to_owned(),
        formats: formats::list(base),
        links,
        name: "agentdex".to_owned(),
        registry: format!("urn:agentdex:registry:{}", context.registry_id()),
        things,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(HttpResponse::Ok().insert_header((VARY, "accept")).insert_header((LINK, announcements::LINKS)).json(about))
}
