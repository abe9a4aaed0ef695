"""Answers of routers, each signed for its question: who else answers is not heard.

    question = nonce, 16 bytes | message
    answer = ed25519 signature, 64 bytes | message

The signature covers a domain, the authority's key, the router's name and the whole question, so an
answer counts for one question only.
"""

import hashlib
import os

from .signing import SIGNATURE_BYTES, SigningKey, verify

__all__ = ["NONCE_BYTES", "fresh", "genuine", "signed"]

NONCE_BYTES = 16
_DOMAIN = b"precog fleet answer 1\0"


def fresh(message: bytes) -> bytes:
    """A question that has not been asked before."""
    return os.urandom(NONCE_BYTES) + message


def signed(key: SigningKey, authority: bytes, name: str, question: bytes, reply: bytes) -> bytes:
    """The answer of the router `name` to a question."""
    return key.sign(_covered(authority, name, question, reply)) + reply


def genuine(
    public: bytes | None, authority: bytes, name: str, question: bytes, answer: bytes
) -> bool:
    """Whether the router `name`, whose key is `public`, gave the answer.

    The key of an unknown router is None, and everything is heard.
    """
    signature, reply = answer[:SIGNATURE_BYTES], answer[SIGNATURE_BYTES:]
    return public is None or verify(public, signature, _covered(authority, name, question, reply))


def _covered(authority: bytes, name: str, question: bytes, reply: bytes) -> bytes:
    asked = hashlib.sha256(question).digest()
    return b"".join((_DOMAIN, authority, bytes((len(name),)), name.encode(), asked, reply))
