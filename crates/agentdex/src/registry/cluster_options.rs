//! `ClusterOptions`: options of a node of a cluster.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use agentdex_etcd::{Identity, Options as Connection, Tls, User};
use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};

use crate::{
    registry::Builder,
    store::{EtcdCluster, Limits, NodeOptions, SharedLog},
};

/// Options of a node of a cluster. The nodes of a cluster have the same content: each write is decided by one of
/// them, and appended to a log in [etcd](https://etcd.io).
///
/// ```
/// use agentdex::registry::ClusterOptions;
///
/// let options = ClusterOptions::new(["https://etcd-1:2379", "https://etcd-2:2379"])
///     .node("node-1")
///     .url("https://agents-1.example.org")
///     .user("agentdex", "secret");
/// ```
#[derive(Clone)]
#[must_use = "the options are used by `Builder::cluster`"]
pub struct ClusterOptions(NodeOptions);

impl ClusterOptions {
    /// Returns default options for an etcd with these endpoints: scheme (`http` or `https`), host, and port. The
    /// name of the cluster is `agentdex`, and that of the node `node`.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> ClusterOptions {
        ClusterOptions(NodeOptions {
            connection: Connection::new(endpoints),
            cluster: "agentdex".into(),
            name: "node".into(),
            url: None,
            settings: BTreeMap::new(),
            is_first: false,
            limits: Limits::default(),
        })
    }

    /// Sets the name of the cluster. Clusters with different names can use the same etcd.
    pub fn cluster_name(mut self, name: impl Into<String>) -> ClusterOptions {
        self.0.cluster = name.into();
        self
    }

    /// Sets the name of this node, which no other node of the cluster may have.
    pub fn node(mut self, name: impl Into<String>) -> ClusterOptions {
        self.0.name = name.into();
        self
    }

    /// Sets the URL of this node's REST API, which is shown to operators.
    pub fn url(mut self, url: impl Into<String>) -> ClusterOptions {
        self.0.url = Some(url.into());
        self
    }

    /// Adds a setting that should have the same value on all nodes. Nodes publish only a hash of the value, and
    /// [`Registry::cluster`](super::Registry::cluster) contains the names of the settings that differ.
    pub fn setting(mut self, name: impl Into<String>, value: impl AsRef<[u8]>) -> ClusterOptions {
        let hash = digest(&SHA256, value.as_ref());
        self.0.settings.insert(name.into(), HEXLOWER.encode(&hash.as_ref()[..16]));
        self
    }

    /// Sets whether this node founds the cluster, with the content of its directory, if etcd has no cluster with
    /// this name.
    pub fn init(mut self, is_first: bool) -> ClusterOptions {
        self.0.is_first = is_first;
        self
    }

    /// Sets the maximum time for which a node may serve its content without knowing all writes of its cluster. See
    /// [`Registry::cut_off_for`](super::Registry::cut_off_for). The default is 60 s.
    pub fn stale_limit(mut self, limit: Duration) -> ClusterOptions {
        // The end of the log is requested at least four times in this time.
        self.0.limits.silence = self.0.limits.silence.min(limit / 4);
        self.0.limits.stale = limit;
        self
    }

    /// Sets the user name and password for etcd.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> ClusterOptions {
        self.0.connection.user = Some(User { name: name.into(), password: password.into() });
        self
    }

    /// Sets the certificate authorities of etcd (PEM), instead of those of the system.
    pub fn ca(mut self, pem: impl Into<Vec<u8>>) -> ClusterOptions {
        self.tls().ca = Some(pem.into());
        self
    }

    /// Sets the client certificate for etcd and its private key (PEM).
    pub fn certificate(mut self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> ClusterOptions {
        self.tls().identity = Some(Identity { certificate: certificate.into(), key: key.into() });
        self
    }

    fn tls(&mut self) -> &mut Tls {
        self.0.connection.tls.get_or_insert_default()
    }
}

impl fmt::Debug for ClusterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeOptions { cluster, name, url, .. } = &self.0;
        let mut options = f.debug_struct("ClusterOptions");
        options.field("cluster", cluster).field("node", name).field("url", url).finish_non_exhaustive()
    }
}

impl Builder {
    /// Opens the registry as a node of a cluster.
    pub fn cluster(mut self, options: ClusterOptions) -> Builder {
        self.cluster = Some(SharedLog(Arc::new(EtcdCluster(options.0))));
        self
    }
}
