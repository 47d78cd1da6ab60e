//! Context shared by all agents of a consumer: directory, network, bindings, middleware, settings, and tokens.

use std::sync::Arc;

use super::{Binding, Directory, Middleware, Network, Settings, authorize::Authorizer};

#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) directory: Arc<dyn Directory>,
    pub(super) network: Network,
    pub(super) bindings: Vec<Arc<dyn Binding>>,
    pub(super) middleware: Vec<Arc<dyn Middleware>>,
    pub(super) settings: Arc<Settings>,
    pub(super) authorizer: Arc<Authorizer>,
}
