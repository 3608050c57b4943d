# SPDX-License-Identifier: Apache-2.0
"""One question to an HTTP endpoint: bounded in seconds and bytes, and sent to no address but the one that was said."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from .._walls.errors import bad_value

MOST_BYTES = 16 * 2**20  # of an answer; a reply of 4,096 tokens has some 20 KB
_PART = 2**16
_SAID = 200  # letters of what a server says about a refusal


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nowhere: the key beside the question is for the address that was said."""

    def redirect_request(self, *_: Any) -> None:
        return None


def checked(op: str, address: str) -> str:
    """An address that can be asked, without the stroke at its end.

    Raises:
        ArgumentError: It is none, or has parts that would be lost or told on.
    """
    if not address.lower().startswith(("http://", "https://")):
        raise bad_value(op, "endpoint", "begin with http:// or https://", repr(address))
    try:
        parts = urlsplit(address)
        whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not address.isprintable() or " " in address:
        raise bad_value(op, "endpoint", "have the form http://host:port/v1", repr(address))
    if parts.username or parts.password:
        raise bad_value(op, "endpoint", "hold no password", "one")
    if parts.query or parts.fragment:
        raise bad_value(op, "endpoint", "end with its path", repr(address))
    return address.rstrip("/")


def checked_key(op: str, name: str, key: str) -> str:
    """A key that fits into a header, without the white space around it. It is in no message.

    Raises:
        ArgumentError: It does not fit.
    """
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise bad_value(op, name, "be one line of ASCII", f"{len(key)} characters with others among them")
    return key


def post(address: str, body: bytes, key: str, seconds: float) -> bytes:
    """What an endpoint answers.

    Raises:
        urllib.error.HTTPError: It answered with a failure, or with another address.
        OSError, http.client.HTTPException: Nothing answered, not to the end, not in time, or without end.
    """
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(address, body, headers)
    end = time.monotonic() + seconds
    parts, size = [], 0
    with urllib.request.build_opener(_Stay).open(request, timeout=seconds) as answer:
        while part := answer.read1(_PART):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise http.client.HTTPException(f"its answer is longer than {MOST_BYTES} bytes")
            if time.monotonic() > end:
                raise TimeoutError(f"its answer took longer than {seconds:g} s")
    return b"".join(parts)


def said(error: urllib.error.HTTPError, key: str) -> str:
    """The status of a failure, and the server's own words about it, as one line without the key."""
    status = f"{error.code} {error.reason}".strip()
    try:
        content = error.read1(_PART)
        try:
            found = json.loads(content)
            words = found.get("error", found)
            words = words.get("message", "") if isinstance(words, dict) else words
        except (ValueError, AttributeError, RecursionError):
            words = content.decode(errors="replace")
    except (OSError, http.client.HTTPException, AttributeError):
        words = ""
    line = " ".join(str(words).split())
    line = line.replace(key, "…") if key else line
    return f"{status}: {line[:_SAID]}" if line and not line.startswith("<") else status
