"""Requests to a forge: JSON in and out, pages, retries. The one module that opens the network."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import Any

from lora_lint import __version__

_ATTEMPTS = 4
_TIMEOUT = 60  # seconds for one answer
_PATIENCE = 120  # seconds that all waiting of a run may take
_LIMIT = 512 * 1024 * 1024  # bytes of one answer


class ForgeError(Exception):
    """What a forge would not do; the text is one clear line. ``status`` is that of the answer, 0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ReadOnlyError(ForgeError):
    """The token may not write here, as in a run for a fork's pull request."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to other hosts without the token."""

    def redirect_request(self, req: urllib.request.Request, *rest: Any) -> urllib.request.Request | None:
        new = super().redirect_request(req, *rest)
        if new is not None and new.host != req.host:
            for name in ("Authorization", "Private-token"):
                new.remove_header(name)
        return new


class Client:
    """A forge's API under one address. ``token`` is the variable that the token comes from, ``wait`` sleeps for seconds."""

    def __init__(self, api: str, headers: Mapping[str, str], token: str, wait: Callable[[float], None] = time.sleep) -> None:
        self._api = api.rstrip("/")
        self._headers = {"User-Agent": f"lora-lint/{__version__}", **headers}
        self._token = token
        self._wait = wait
        self._waited = 0.0
        self._opener = urllib.request.build_opener(_Redirects())

    def json(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The answer to one request. Raises ``ForgeError``."""
        return _parsed(self._send(method, self._address(path, query), body)[0])

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        """The items of all pages of a list. Raises ``ForgeError``."""
        address: str | None = self._address(path, {"per_page": 100, **query})
        while address:
            raw, headers = self._send("GET", address)
            yield from _parsed(raw)
            following = re.search(r'<([^<>]+)>;\s*rel="next"', headers.get("Link", ""))
            address = following[1] if following else None
            if address and not address.startswith(self._api + "/"):  # the token goes nowhere else
                raise ForgeError(f"a list of {path} goes on at another address")

    def remove(self, path: str) -> None:
        """Delete something; that it is gone already is no error. Raises ``ForgeError``."""
        try:
            self._send("DELETE", self._address(path, {}))
        except ForgeError as error:
            if error.status not in (404, 410):
                raise

    def download(self, path: str, **query: Any) -> bytes:
        """The bytes of an answer. Raises ``ForgeError``."""
        return self._send("GET", self._address(path, query))[0]

    def _address(self, path: str, query: Mapping[str, Any]) -> str:
        return f"{self._api}/{path.lstrip('/')}" + (f"?{urllib.parse.urlencode(query)}" if query else "")

    def _send(self, method: str, address: str, body: Any = None) -> tuple[bytes, Mapping[str, str]]:
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        for attempt in range(_ATTEMPTS):
            request = urllib.request.Request(address, data, dict(headers), method=method)
            try:
                with self._opener.open(request, timeout=_TIMEOUT) as answer:
                    raw = answer.read(_LIMIT + 1)
                    if len(raw) > _LIMIT:
                        raise ForgeError(f"{method} {_shown(address)}: the answer is larger than {_LIMIT >> 20} MiB")
                    return raw, answer.headers
            except urllib.error.HTTPError as error:
                pause = _pause(error, attempt, method)
                if pause is None or attempt == _ATTEMPTS - 1:
                    failure = _failure(error, method, address)
                    raise ForgeError(f"{self._token} is not accepted: {failure}", 401) if error.code == 401 else failure from None
                limit = " (rate limit)" if error.code in (403, 429) else ""
                self._sleep(pause, f"{method} {_shown(address)}: {error.code}{limit}")
            except (OSError, HTTPException) as error:  # URLError is an OSError
                if method != "GET" or attempt == _ATTEMPTS - 1:
                    raise ForgeError(f"{method} {_shown(address)}: {_reason(error)}") from None
                self._sleep(2**attempt, f"{method} {_shown(address)}: {_reason(error)}")
        raise AssertionError("the last attempt returns or raises")

    def _sleep(self, seconds: float, why: str) -> None:
        if self._waited + seconds > _PATIENCE:
            raise ForgeError(f"{why}; not waiting another {seconds:.0f} s")
        self._waited += seconds
        self._wait(seconds)


def _parsed(raw: bytes) -> Any:
    if not raw.strip():
        return None
    try:
        return json.loads(raw)
    except ValueError:
        raise ForgeError("the forge answered with something else than JSON") from None


def _pause(error: urllib.error.HTTPError, attempt: int, method: str) -> float | None:
    """How long to wait before asking again; ``None``: never. https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api"""
    after, left, reset = (error.headers.get(name) for name in ("Retry-After", "X-RateLimit-Remaining", "X-RateLimit-Reset"))
    if error.code in (403, 429):
        if after and after.isdecimal():
            return float(after)
        if left == "0" and reset and reset.isdecimal():
            return max(1.0, float(reset) - time.time())
        return 60.0 * 2**attempt if error.code == 429 else None
    if error.code in (502, 503, 504) or (error.code >= 500 and method == "GET"):
        return float(2**attempt)
    return None


def _failure(error: urllib.error.HTTPError, method: str, address: str) -> ForgeError:
    try:
        said = json.loads(error.read(64 * 1024))
        text = [str(said.get("message", said.get("error", "")))]
        text += [one if isinstance(one, str) else json.dumps(one) for one in said.get("errors", ())]
    except (ValueError, OSError, AttributeError, TypeError):
        text = []
    words = " ".join("; ".join(part for part in text if part).split())[:500]
    message = f"{method} {_shown(address)}: {error.code} {words or error.reason}"
    refused = method != "GET" and (error.code == 403 or (method == "POST" and error.code == 404))
    return (ReadOnlyError if refused else ForgeError)(message, error.code)


def _shown(address: str) -> str:
    return urllib.parse.urlsplit(address).path


def _reason(error: Exception) -> str:
    return " ".join(str(getattr(error, "reason", error)).split()) or type(error).__name__
