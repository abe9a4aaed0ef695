"""Certificates of the links: the fleet's own authority, requests, and what it issues.

Keys of links are P-256, apart from the ed25519 keys that sign records: a link says who is
connected, a signature who said something.
"""

import datetime
from collections.abc import Sequence
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = [
    "LinkAuthority",
    "check_issued",
    "common_name",
    "expiry",
    "has_addresses",
    "new_key",
    "request",
]

_CA_DAYS = 3660
_DAYS = 397
_BACKDATED = datetime.timedelta(hours=1)  # clocks differ


def new_key() -> bytes:
    """A private key for a link, PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def request(key: bytes, name: str, addresses: Sequence[str]) -> bytes:
    """A signing request, PEM.

    Parameters
    ----------
    key : bytes
        The link's private key, PEM.
    name : str
        The member.
    addresses : sequence of str
        IP addresses and host names at which others connect to it.
    """
    names: list[x509.GeneralName] = []
    for address in addresses:
        try:
            names.append(x509.IPAddress(ip_address(address)))
        except ValueError:
            names.append(x509.DNSName(address))
    builder = x509.CertificateSigningRequestBuilder().subject_name(_name(name))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(_private(key), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def has_addresses(csr: bytes) -> bool:
    """Whether a signing request asks for addresses.

    Raises
    ------
    ValueError
        It is damaged.
    """
    extensions = x509.load_pem_x509_csr(csr).extensions
    return any(isinstance(one.value, x509.SubjectAlternativeName) for one in extensions)


def expiry(certificate: bytes) -> datetime.datetime:
    """When a certificate ends."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def common_name(certificate: bytes) -> str:
    """The member that a certificate names; `ValueError` if it is damaged or names none."""
    return _common_name(x509.load_pem_x509_certificate(certificate).subject)


def check_issued(certificate: bytes, authority: bytes, key: bytes) -> None:
    """Refuse a certificate with which no link would come up.

    Parameters
    ----------
    certificate, authority : bytes
        The member's and the fleet's, PEM.
    key : bytes
        The link's private key, PEM.

    Raises
    ------
    ValueError
        One of them is damaged, the authority did not issue it, or it is another key's.
    """
    issued = x509.load_pem_x509_certificate(certificate)
    try:
        issued.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    except (InvalidSignature, TypeError, ValueError) as error:
        raise ValueError(
            "certificate must be issued by the authority that comes with it"
        ) from error
    if issued.public_key() != _private(key).public_key():
        raise ValueError("certificate must be for the key of the link, not for another one")


class LinkAuthority:
    """Signs requests of members.

    Parameters
    ----------
    key, certificate : bytes
        PEM.
    """

    def __init__(self, key: bytes, certificate: bytes) -> None:
        self.key = key
        self.certificate = certificate

    @classmethod
    def create(cls, fleet: str) -> "LinkAuthority":
        """An authority with a new key."""
        key = new_key()
        private = _private(key)
        name = _name(f"precog fleet {fleet}")
        builder = (
            _builder(name, name, private.public_key(), _CA_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(certify=True), critical=True)
        )
        return cls(key, _signed(builder, private))

    def issue(self, csr: bytes, name: str, *, days: int = _DAYS) -> bytes:
        """A certificate for a request, PEM.

        Raises
        ------
        ValueError
            The request is damaged, is not signed by its own key, or names somebody else.
        """
        asked = x509.load_pem_x509_csr(csr)
        if not asked.is_signature_valid:
            raise ValueError("certificate request must be signed by its own key")
        if _common_name(asked.subject) != name:
            raise ValueError(
                f"certificate request must name {name}, not {_common_name(asked.subject)!r}"
            )
        public = asked.public_key()
        if not isinstance(public, ec.EllipticCurvePublicKey):
            raise ValueError(f"link key must be P-256, not {type(public).__name__}")
        issuer = x509.load_pem_x509_certificate(self.certificate).subject
        both = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = (
            _builder(_name(name), issuer, public, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(certify=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        )
        for extension in asked.extensions:
            if isinstance(extension.value, x509.SubjectAlternativeName):
                builder = builder.add_extension(extension.value, critical=False)
        return _signed(builder, _private(self.key))


def _private(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"link key must be P-256, not {type(key).__name__}")
    return key


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _common_name(name: x509.Name) -> str:
    names = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    if len(names) != 1:
        raise ValueError(f"certificate must name one member, not {len(names)}")
    return str(names[0].value)


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(*, certify: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not certify,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certify,
        crl_sign=certify,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
