"""Ed25519 keys: made on the host that signs with them, kept in a file that only its owner reads."""

import errno
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from precog_models.durable import write_durably

__all__ = ["PUBLIC_BYTES", "SIGNATURE_BYTES", "SigningKey", "verify"]

PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64


def verify(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` is that of `message` under the raw public key `public`."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


class SigningKey:
    """A private key.

    Parameters
    ----------
    key : Ed25519PrivateKey

    Attributes
    ----------
    public : bytes
        The raw public key.
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public: bytes = key.public_key().public_bytes_raw()

    @classmethod
    def generate(cls) -> "SigningKey":
        """A new key, from the system's random numbers."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> "SigningKey":
        """The key of 32 bytes, for simulations that repeat."""
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def load(cls, path: Path) -> "SigningKey":
        """The key of a PEM file.

        Raises
        ------
        OSError
            The file cannot be read, or others can read it, too.
        ValueError
            It holds no ed25519 key.
        """
        if path.stat().st_mode & 0o077:
            raise PermissionError(
                errno.EPERM, "Private key must be readable by its owner only: chmod 600", str(path)
            )
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} must hold a private key in PEM, but does not") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"{path} must hold an ed25519 key, not {type(key).__name__}")
        return cls(key)

    def save(self, path: Path) -> None:
        """Write a PEM file that only its owner reads."""
        pem = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        write_durably(path, pem, mode=0o600)

    @property
    def private(self) -> Ed25519PrivateKey:
        """The key itself, for libraries that sign."""
        return self._key

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`."""
        return self._key.sign(message)
