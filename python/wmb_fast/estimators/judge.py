# SPDX-License-Identifier: Apache-2.0
"""A judge: any model behind an endpoint that speaks OpenAI's chat completions, asked once and remembered.

A question is a prompt and pictures, sent as PNG in data URLs, at temperature 0 with a seed. What came back is kept word
for word in ``<home>/judge/<digest>.json`` beside the question it answers; the digest is of the model's name, the
prompt, the pictures and the settings, not of the address, so a transcript can be replayed anywhere, without a network.
A server that is busy or broken, or whose answer is cut off, is asked again after a pause; one that cannot be reached
leaves what was answered so far, and the next run goes on from there. No judge is deterministic: only its transcripts
are.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import time
import urllib.error
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._walls import drafts
from .._walls.checks import integer, real
from .._walls.errors import BackendError, FileFormatError, WmbError, bad_value
from .._walls.places import home_folder
from ..rollout.png import png_bytes
from .endpoint import checked, checked_key, post, said
from .home import OFFLINE
from .registry import Frame

KEY = "WMB_FAST_JUDGE_KEY"
UNREACHABLE = "judge unreachable"
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
_LONGEST_PAUSE = 60.0


class JudgeUnreachableError(BackendError):
    """Nothing answered, or nothing but errors."""


@dataclass(frozen=True)
class Transcript:
    """One question and its answer.

    Attributes:
        reply: The words, as they came.
        digest: Of the question.
        model: What the endpoint said that it is.
        replayed: Whether it was here already.
        path: Where it is kept.
    """

    reply: str
    digest: str
    model: str
    replayed: bool
    path: Path


class Judge:
    """Asks, and remembers.

    Args:
        endpoint: The base address, for example ``http://127.0.0.1:8000/v1``; ``/chat/completions`` is added. With
            ``None`` transcripts are replayed, and nobody is asked.
        model: What to ask the endpoint for.
        folder: Where transcripts are kept; by default below ``$WMB_FAST_HOME``.
        seed: Sent with each question.
        most_tokens: Of a reply.
        tries: How often a question is sent before the judge counts as unreachable; once it does, further questions are
            sent once, until it answers one.
        pause: Seconds before the second try; doubled before each further one, or what the server asks for.
        timeout: Seconds that an answer may take.

    The key, where the endpoint wants one, is read from ``$WMB_FAST_JUDGE_KEY``; it is never written anywhere.

    Raises:
        ArgumentError: An endpoint that is no http address, a key that fits into no header, or a setting out of range.
    """

    def __init__(
        self,
        endpoint: str | None,
        model: str,
        *,
        folder: str | os.PathLike[str] | None = None,
        seed: int = 0,
        most_tokens: int = 4096,
        tries: int = 4,
        pause: float = 1.0,
        timeout: float = 300.0,
    ) -> None:
        if not model.strip():
            raise bad_value("judge", "model", "be a name", repr(model))
        self.endpoint, self.model = checked("judge", endpoint) if endpoint is not None else "", model
        self._key = checked_key("judge", KEY, os.environ.get(KEY, "")) if self.endpoint else ""
        self._folder = home_folder() / "judge" if folder is None else Path(folder)
        self._settings = {
            "temperature": 0,
            "seed": integer("judge", "seed", seed, at_least=0),
            "max_tokens": integer("judge", "most_tokens", most_tokens, at_least=1),
        }
        self._tries = integer("judge", "tries", tries, at_least=1)
        self._pause = real("judge", "pause", pause, at_least=0)
        self._timeout = real("judge", "timeout", timeout, above=0)
        self._gone = False

    @property
    def settings(self) -> dict[str, Any]:
        """All that a reply is asked for with, besides the question."""
        return {"model": self.model, **self._settings}

    def ask(self, prompt: str, pictures: Sequence[Frame] = ()) -> str:
        """The reply, word for word. See :meth:`transcript`."""
        return self.transcript(prompt, pictures).reply

    def transcript(
        self, prompt: str, pictures: Sequence[Frame] = (), *, valid: Callable[[str], object] | None = None
    ) -> Transcript:
        """The answer to a question, from memory or from the judge.

        Args:
            prompt: The words.
            pictures: (H, W, 3) uint8 RGB each, in the order in which they are shown.
            valid: The protocol's reader of replies: a reply at which it raises a ``ValueError`` is kept under another
                name, for the eye, and not replayed.

        Raises:
            JudgeUnreachableError: It does not answer; or ``WMB_FAST_OFFLINE`` is set and it was never asked this.
            FileFormatError: It answered with something that is no chat completion.
            ValueError: What ``valid`` raised.
            ArgumentError: The transcript cannot be written.
        """
        hashes = [_hash(picture) for picture in pictures]
        digest = self._digest(prompt, hashes)
        path = self._folder / f"{digest}.json"
        known = _kept(path, digest)
        if known is not None:
            if valid is not None:
                valid(known["reply"])
            return Transcript(known["reply"], digest, known["answered_by"], True, path)
        answer = self._sent(_request(self.model, self._settings, prompt, [png_bytes(picture) for picture in pictures]))
        reply, by = _words(answer, self.endpoint)
        kept = {
            "digest": digest,
            "asked": {"model": self.model, **self._settings, "prompt": prompt, "pictures_sha256": hashes},
            "answered_by": by,
            "reply": reply,
            "answer": answer,
        }
        try:
            if valid is not None:
                valid(reply)
        except ValueError:
            self._write(path.with_suffix(".refused.json"), kept)
            raise
        self._write(path, kept)
        return Transcript(reply, digest, by, False, path)

    def _digest(self, prompt: str, hashes: Sequence[str]) -> str:
        asked = [self.model, self._settings, prompt, hashes]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            drafts.write(path, json.dumps(content, indent=1, ensure_ascii=False).encode())
        except OSError as error:
            raise bad_value("judge", "folder", "be a folder that can be written", f"{path.parent} ({error})") from error

    def _sent(self, body: bytes) -> dict[str, Any]:
        if not self.endpoint or os.environ.get(OFFLINE, "0") not in ("", "0"):
            why = f"{OFFLINE} forbids asking it" if self.endpoint else "nobody is to be asked"
            raise JudgeUnreachableError(f"{UNREACHABLE}: {why}, and it was never asked this")
        pause, tries = self._pause, 1 if self._gone else self._tries
        for attempt in range(tries):
            if attempt:
                time.sleep(min(pause, _LONGEST_PAUSE))
                pause *= 2
            try:
                answer = self._once(body)
            except urllib.error.HTTPError as error:
                failure: WmbError = self._unreachable(f"it answered {said(error, self._key)}", attempt + 1)
                error.close()
                if error.code not in _AGAIN:
                    raise failure from error
                wanted = error.headers.get("Retry-After", "")
                pause = max(pause, float(wanted)) if wanted.isdecimal() else pause
            except (OSError, http.client.HTTPException) as error:
                failure = self._unreachable(str(getattr(error, "reason", error)), attempt + 1)
            except FileFormatError as error:
                failure = error
            else:
                self._gone = False
                return answer
        self._gone = True
        raise failure

    def _unreachable(self, what: str, times: int) -> JudgeUnreachableError:
        often = f", {times} times" if times > 1 else ""
        return JudgeUnreachableError(f"{UNREACHABLE}: {self.endpoint}: {' '.join(what.split())}{often}")

    def _once(self, body: bytes) -> dict[str, Any]:
        content = post(f"{self.endpoint}/chat/completions", body, self._key, self._timeout)
        try:
            found: dict[str, Any] = json.loads(content)
            json.dumps(found, ensure_ascii=False).encode()  # half a character cannot be kept
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"judge: {self.endpoint} must answer with JSON, got {content[:60]!r}") from error
        return found


def _request(model: str, settings: Mapping[str, Any], prompt: str, shown: Sequence[bytes]) -> bytes:
    parts: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
    for png in shown:
        url = "data:image/png;base64," + base64.b64encode(png).decode()
        parts.append({"type": "image_url", "image_url": {"url": url}})
    content: Any = parts if shown else prompt
    return json.dumps({"model": model, **settings, "messages": [{"role": "user", "content": content}]}).encode()


def _words(answer: Mapping[str, Any], endpoint: str) -> tuple[str, str]:
    try:
        words = answer["choices"][0]["message"]["content"]
        if not isinstance(words, str):
            raise TypeError(f"content of type {type(words).__name__}")
        return words, str(answer.get("model", ""))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise FileFormatError(f"judge: {endpoint} must answer with a chat completion, got {error!r}") from error


def _kept(path: Path, digest: str) -> dict[str, Any] | None:
    """A transcript that is here and whole; one that is damaged, or whose reply is not what its answer says, is none."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
        whole = found["digest"] == digest and _words(found["answer"], str(path)) == (
            found["reply"],
            found["answered_by"],
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if whole else None


def _hash(picture: Frame) -> str:
    """Of the pixels, not of the file: that depends on who wrote it."""
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or 0 in picture.shape:
        raise bad_value("judge", "pictures", "be (H, W, 3) uint8", f"{picture.dtype} {picture.shape}")
    return hashlib.sha256(f"{picture.shape}\n".encode() + np.ascontiguousarray(picture).tobytes()).hexdigest()
