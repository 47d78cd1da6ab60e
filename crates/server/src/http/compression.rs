//! Compression for those who ask for it, at no cost to the others. A compressed representation has an
//! entity tag of its own (RFC 9110, section 8.8.3.3).

use std::rc::Rc;

use actix_web::{
    Error, HttpMessage,
    body::MessageBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
    http::{
        Method, StatusCode,
        header::{
            ACCEPT_ENCODING, AcceptEncoding, CONTENT_ENCODING, ContentEncoding, Encoding, IF_MATCH, IF_NONE_MATCH,
        },
    },
    middleware::Compress,
};
use futures_util::{
    TryFutureExt,
    future::{Either, LocalBoxFuture, MapOk},
};

use super::conditions;

/// Compresses responses by what the client accepts. Requests without `Accept-Encoding` bypass actix's
/// middleware, which reads the media type of every response.
pub(super) struct CompressIfAsked {
    /// True if anything is compressed here.
    pub(super) is_offered: bool,
}

type Compressing<S> = <Compress as Transform<Rc<S>, ServiceRequest>>::Transform;

impl<S, B> Transform<S, ServiceRequest> for CompressIfAsked
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse;
    type Error = Error;
    type Transform = CompressedIfAsked<S, Compressing<S>>;
    type InitError = ();
    type Future = LocalBoxFuture<'static, Result<Self::Transform, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        let (plain, is_offered) = (Rc::new(service), self.is_offered);
        let compressing = Compress::default().new_transform(plain.clone());
        Box::pin(compressing.map_ok(move |compressing| CompressedIfAsked { plain, compressing, is_offered }))
    }
}

/// A resource whose responses are compressed for clients that ask for it.
pub(super) struct CompressedIfAsked<S, C> {
    plain: Rc<S>,
    compressing: C,
    is_offered: bool,
}

/// A call whose response body is boxed, which costs nothing where it is already.
type Boxed<F, B> = MapOk<F, fn(ServiceResponse<B>) -> ServiceResponse>;

impl<S, B, C, D> Service<ServiceRequest> for CompressedIfAsked<S, C>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody + 'static,
    C: Service<ServiceRequest, Response = ServiceResponse<D>, Error = Error>,
    C::Future: 'static,
    D: MessageBody + 'static,
{
    type Response = ServiceResponse;
    type Error = Error;
    type Future = Either<Boxed<S::Future, B>, LocalBoxFuture<'static, Result<ServiceResponse, Error>>>;

    forward_ready!(plain);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        if !self.is_offered || !request.headers().contains_key(ACCEPT_ENCODING) {
            return Either::Left(self.plain.call(request).map_ok(ServiceResponse::map_into_boxed_body));
        }
        // What a conditional read would be coded with if it were answered with the representation.
        let coding = is_conditional_read(&request).then(|| coding_for(&request)).flatten();
        if let Some(coding) = coding {
            conditions::select_coding(request.headers_mut(), coding.as_str());
        }
        let response = self.compressing.call(request);
        Either::Right(Box::pin(async move {
            let mut response = response.await?.map_into_boxed_body();
            let is_bare = matches!(response.status(), StatusCode::NOT_MODIFIED | StatusCode::PRECONDITION_FAILED);
            let applied = response.headers().get(CONTENT_ENCODING).and_then(|coding| coding.to_str().ok());
            let coding = coding.filter(|_| is_bare).map(|coding| coding.as_str().to_owned());
            if let Some(coding) = coding.or_else(|| applied.filter(|_| !is_bare).map(str::to_owned)) {
                conditions::add_coding(response.headers_mut(), &coding);
            }
            Ok(response)
        }))
    }
}

fn is_conditional_read(request: &ServiceRequest) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        && (request.headers().contains_key(IF_NONE_MATCH) || request.headers().contains_key(IF_MATCH))
}

/// Returns the coding that actix's middleware chooses, or `None` without compression.
fn coding_for(request: &ServiceRequest) -> Option<ContentEncoding> {
    let offered = [Encoding::identity(), Encoding::gzip(), Encoding::deflate()];
    match request.get_header::<AcceptEncoding>()?.negotiate(offered.iter())? {
        Encoding::Known(ContentEncoding::Identity) | Encoding::Unknown(_) => None,
        Encoding::Known(coding) => Some(coding),
    }
}
