//! An authority that issues certificates for tests.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate with its key, in PEM.
pub struct Issued {
    pub certificate: String,
    pub key: String,
    /// The certificate as it is sent.
    pub der: Vec<u8>,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named(name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(parameters, key), pem }
    }

    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate of a server on this machine.
    pub fn server(&self) -> Issued {
        self.issue("server", &["localhost", "127.0.0.1"], |parameters| {
            parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        })
    }

    /// A certificate of a client.
    pub fn client(&self, common_name: &str, names: &[&str]) -> Issued {
        self.issue(common_name, names, |parameters| {
            parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        })
    }

    pub fn issue(&self, common_name: &str, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.distinguished_name = named(common_name);
        parameters.use_authority_key_identifier_extension = true;
        change(&mut parameters);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        Issued { certificate: certificate.pem(), key: key.serialize_pem(), der: certificate.der().to_vec() }
    }
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}
