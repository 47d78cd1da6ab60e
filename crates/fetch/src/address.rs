//! Addresses that are not fetched from, and the names of their kinds.
//!
//! IPv4 and IPv6 share one space of 128 bits, in which an IPv4 address is its IPv4-mapped one
//! (RFC 4291, section 2.5.5.2): the two spellings of an address can't be distinguished.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    bits: u128,
    prefix: u32,
}

/// The IPv4 addresses.
const IPV4: Network = Network { bits: 0xffff_0000_0000, prefix: 96 };
/// The part of IPv6 that is allocated to the public so far (RFC 4291, section 2.4, and IANA's registry).
const GLOBAL_UNICAST: Network = v6([0x2000, 0], 3);
/// NAT64 (RFC 6052): the last 32 bits are an IPv4 address.
const NAT64: Network = v6([0x64, 0xff9b], 96);
/// 6to4 (RFC 3056): the 32 bits after the prefix are an IPv4 address.
const SIX_TO_FOUR: Network = v6([0x2002, 0], 16);

/// Refused networks, from IANA's registries of special-purpose addresses, and the addresses at which clouds serve
/// secrets. The narrower come before the wider.
const REFUSED: [(Network, &str); 35] = [
    (v4([169, 254, 169, 254], 32), "a cloud metadata address"),
    (v4([169, 254, 170, 0], 24), "a cloud metadata address"),
    (v4([100, 100, 100, 200], 32), "a cloud metadata address"),
    (v4([168, 63, 129, 16], 32), "a cloud metadata address"),
    (v4([192, 0, 0, 192], 32), "a cloud metadata address"),
    (v6([0xfd00, 0x0ec2], 32), "a cloud metadata address"),
    (v6([0xfd20, 0x00ce], 32), "a cloud metadata address"),
    (v4([0, 0, 0, 0], 32), "the unspecified address"),
    (v4([0, 0, 0, 0], 8), "an address of the current network"),
    (v4([10, 0, 0, 0], 8), "a private address"),
    (v4([100, 64, 0, 0], 10), "a carrier-grade NAT address"),
    (v4([127, 0, 0, 0], 8), "a loopback address"),
    (v4([169, 254, 0, 0], 16), "a link-local address"),
    (v4([172, 16, 0, 0], 12), "a private address"),
    (v4([192, 0, 0, 0], 24), "an address reserved for protocols"),
    (v4([192, 0, 2, 0], 24), "an address reserved for documentation"),
    (v4([192, 88, 99, 0], 24), "a 6to4 relay"),
    (v4([192, 168, 0, 0], 16), "a private address"),
    (v4([198, 18, 0, 0], 15), "an address reserved for benchmarks"),
    (v4([198, 51, 100, 0], 24), "an address reserved for documentation"),
    (v4([203, 0, 113, 0], 24), "an address reserved for documentation"),
    (v4([224, 0, 0, 0], 4), "a multicast address"),
    (v4([255, 255, 255, 255], 32), "the broadcast address"),
    (v4([240, 0, 0, 0], 4), "a reserved address"),
    (v6([0, 0], 128), "the unspecified address"),
    (Network { bits: 1, prefix: 128 }, "a loopback address"),
    (v6([0xfc00, 0], 7), "a private address"),
    (v6([0xfe80, 0], 10), "a link-local address"),
    (v6([0xfec0, 0], 10), "a site-local address"),
    (v6([0xff00, 0], 8), "a multicast address"),
    (v6([0x2001, 0], 32), "a Teredo address"),
    (v6([0x2001, 2], 48), "an address reserved for benchmarks"),
    (v6([0x2001, 0], 23), "an address reserved for protocols"),
    (v6([0x2001, 0x0db8], 32), "an address reserved for documentation"),
    (v6([0x3fff, 0], 20), "an address reserved for documentation"),
];

const fn v4(octets: [u8; 4], prefix: u32) -> Network {
    Network { bits: IPV4.bits | u32::from_be_bytes(octets) as u128, prefix: IPV4.prefix + prefix }
}

/// The network of the first 32 bits.
const fn v6(segments: [u16; 2], prefix: u32) -> Network {
    Network { bits: (segments[0] as u128) << 112 | (segments[1] as u128) << 96, prefix }
}

impl Network {
    /// Reads `192.0.2.0/24`, `fd00::/8`, or a single address. Other texts are none.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().ok()?;
        let (most, before) = if address.is_ipv4() { (32, IPV4.prefix) } else { (128, 0) };
        let prefix = match prefix {
            None => most,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
            Some(_) => return None,
        };
        (prefix <= most).then(|| Network { bits: bits(address), prefix: prefix + before })
    }

    /// Its first address; for IPv4, an IPv4-mapped one.
    pub fn first_address(&self) -> Ipv6Addr {
        let of_hosts = u128::MAX.checked_shr(self.prefix).unwrap_or_default();
        Ipv6Addr::from_bits(self.bits & !of_hosts)
    }

    /// True if the address is in it. IPv6 networks contain no IPv4 addresses, however wide they
    /// are.
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = bits(address);
        self.covers(bits) && (self.prefix >= IPV4.prefix || !IPV4.covers(bits))
    }

    fn covers(&self, bits: u128) -> bool {
        let differing = (self.bits ^ bits).leading_zeros();
        differing >= self.prefix
    }
}

/// Returns the kind of an address that is not fetched from unless the operator allows it; none if it is one of the
/// public internet. An address that embeds an IPv4 address is judged by that one.
pub(super) fn refused_kind(address: IpAddr) -> Option<&'static str> {
    let bits = bits(address);
    if NAT64.covers(bits) {
        return refused_kind(Ipv4Addr::from_bits(bits as u32).into());
    }
    if SIX_TO_FOUR.covers(bits) {
        return refused_kind(Ipv4Addr::from_bits((bits >> 80) as u32).into());
    }
    let special = REFUSED.iter().find(|(network, _)| network.covers(bits)).map(|(_, kind)| *kind);
    let is_public = IPV4.covers(bits) || GLOBAL_UNICAST.covers(bits);
    special.or((!is_public).then_some("an address outside the public internet"))
}

fn bits(address: IpAddr) -> u128 {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    Ipv6Addr::to_bits(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(address: &str) -> Option<&'static str> {
        refused_kind(address.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_fetched_from() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2a00::1",
            "2620:0:2d0:200::7",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert_eq!(kind(address), None, "{address}");
        }
    }

    #[test]
    fn each_kind_is_refused_in_its_first_and_last_address() {
        for (kind_of, addresses) in [
            ("a loopback address", &["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"][..]),
            (
                "a private address",
                &[
                    "10.0.0.0",
                    "10.255.255.255",
                    "172.16.0.0",
                    "172.31.255.255",
                    "192.168.0.0",
                    "192.168.255.255",
                    "fc00::",
                    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                ],
            ),
            ("a link-local address", &["169.254.0.0", "169.254.255.255", "fe80::", "febf::ffff"]),
            ("a carrier-grade NAT address", &["100.64.0.0", "100.127.255.255"]),
            (
                "a cloud metadata address",
                &[
                    "169.254.169.254",
                    "169.254.170.2",
                    "100.100.100.200",
                    "168.63.129.16",
                    "192.0.0.192",
                    "fd00:ec2::254",
                    "fd20:ce::254",
                ],
            ),
            ("the unspecified address", &["0.0.0.0", "::"]),
            ("an address of the current network", &["0.0.0.1", "0.255.255.255"]),
            ("a multicast address", &["224.0.0.0", "239.255.255.255", "ff00::", "ff02::1"]),
            ("the broadcast address", &["255.255.255.255"]),
            ("a reserved address", &["240.0.0.0", "255.255.255.254"]),
            (
                "an address reserved for documentation",
                &["192.0.2.0", "198.51.100.255", "203.0.113.7", "2001:db8::1", "3fff:fff::1"],
            ),
            ("an address reserved for benchmarks", &["198.18.0.0", "198.19.255.255", "2001:2::1"]),
            ("an address reserved for protocols", &["192.0.0.0", "2001:1::1", "2001:10::1", "2001:1ff::1"]),
            ("a 6to4 relay", &["192.88.99.1"]),
            ("a site-local address", &["fec0::1"]),
            ("a Teredo address", &["2001:0:4136:e378:8000:63bf:3fff:fdd2"]),
            // Among them the deprecated IPv4-compatible ones, translated ones, local NAT64 and the discard prefix.
            (
                "an address outside the public internet",
                &["::7f00:1", "::ffff:0:7f00:1", "64:ff9b:1::1", "100::1", "5f00::1", "4000::1"],
            ),
        ] {
            for address in addresses {
                assert_eq!(kind(address), Some(kind_of), "{address}");
            }
        }
    }

    #[test]
    fn embedded_addresses_are_judged_by_what_they_embed() {
        for embedding in ["::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::127.0.0.1", "2002:7f00:1::1"] {
            assert_eq!(kind(embedding), Some("a loopback address"), "{embedding}");
        }
        assert_eq!(kind("::ffff:169.254.169.254"), Some("a cloud metadata address"));
        assert_eq!(kind("2002:a9fe:a9fe::"), Some("a cloud metadata address"));
        assert_eq!(kind("64:ff9b::10.1.2.3"), Some("a private address"));
    }

    #[test]
    fn networks_are_read_and_contain_what_they_say() {
        let contains =
            |network: &str, address: &str| Network::parse(network).unwrap().contains(address.parse().unwrap());
        assert!(contains("127.0.0.0/8", "127.9.9.9") && contains("127.0.0.0/8", "::ffff:127.9.9.9"));
        assert!(contains("10.1.2.3", "10.1.2.3") && !contains("10.1.2.3", "10.1.2.4"));
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fc12::1"));
        assert!(contains("0.0.0.0/0", "8.8.8.8") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("::/0", "::1") && !contains("::/0", "8.8.8.8"));
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/+8", "10.0.0.0/", "host/8", "/8"] {
            assert_eq!(Network::parse(wrong), None, "{wrong:?}");
        }
    }
}
