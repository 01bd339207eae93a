"""Whatever is asked for, by whichever route: a page, or a clear 4xx; never a 500, never markup that
came with the request. PLUMBLINE_PAGE_REQUESTS: how many are tried (`make test-pages`: many)."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.routing import Mount, Route
from starlette.testclient import TestClient
from starlette.types import Message

from tests.tuner.pages.site import FIRST, HOSTILE, MARKUP, SECOND

REQUESTS = int(os.environ.get("PLUMBLINE_PAGE_REQUESTS", "150"))
LONG = "x" * 100_000
MARK = "<script>probe</script>"

HOSTILE_VALUES = [
    *("", " ", "\0", "\n\r", "%", "%zz", "..", "../../../../etc/passwd", "/etc/passwd", "~root"),
    *("-1", "0", "1e9", "٣", "9223372036854775807", "9223372036854775808", "9" * 400, "NaN"),
    *(
        MARK,
        f'"><img src=x onerror={MARK}',
        "{{ 7 * 7 }}",
        "' OR 1=1 --",
        "\ud7ff\ufffe",
        "é\u202e",
    ),
    *("a|b|c", "|||", "#", f"/etc/passwd#{FIRST}", f"{FIRST}@", f"{FIRST}/", f"{FIRST}:nothing"),
    LONG,
]
GOOD_VALUES = [
    *(FIRST, SECOND, HOSTILE, MARKUP, "before", "after", "MPI_Bcast", "MPI_Allreduce", "GL1", "1"),
    *("4", "16", "svg", "csv", "json", "spec", "log", "linear", "ratios", "violated", "yes"),
    *(f"{FIRST}:before", f"{SECOND}:after", f"{FIRST}/before", f"{FIRST}:before@default"),
    *(f"{FIRST}:before|MPI_Bcast|default", f"{SECOND}/after|MPI_Reduce|default"),
]
KEYS = ["a", "b", "run", "curve", "x", "y", "show", "base", "from", "to", "text", "every", "stage",
        "guideline", "function", "verdict", "bytes", "nprocs", MARK]  # fmt: skip

values = st.one_of(st.sampled_from(GOOD_VALUES), st.sampled_from(HOSTILE_VALUES), st.text())
queries = st.lists(st.tuples(st.sampled_from(KEYS), values), max_size=5)


def paths(client: TestClient) -> list[str]:
    """Of all routes that the application has, with `{name}` where a value stands."""
    found = []
    assert isinstance(client.app, Starlette)
    for route in client.app.routes:
        assert isinstance(route, Route | Mount)
        found.append(route.path + "/{name}" if isinstance(route, Mount) else route.path)
    assert len(found) > 20
    return found


def filled(path: str, given: Mapping[str, str]) -> str:
    return re.sub(
        r"{(\w+)[^}]*}", lambda name: quote(given[name[1]], safe="", errors="replace"), path
    )


def names(path: str) -> list[str]:
    return re.findall(r"{(\w+)[^}]*}", path)


class Answer(NamedTuple):
    status: int
    headers: Headers
    text: str


def asked(client: TestClient, path: str, query: str = "") -> Answer:
    """As uvicorn asks the application: `path` and `query` as they stand in a request, of any length
    and not put right by a client. An error that is no answer is raised."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        **{"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http"},
        **{"path": unquote(path), "raw_path": path.encode(), "query_string": query.encode()},
        **{"headers": [(b"host", b"localhost")], "server": ("localhost", 80), "root_path": ""},
    }
    asyncio.run(client.app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(
        sent[0]["status"], Headers(raw=sent[0]["headers"]), body.decode("utf-8", "replace")
    )


def require_clear(client: TestClient, path: str, query: str = "") -> int:
    answer = asked(client, path, query)
    about = (path[:300], query[:300], answer.status, answer.text[:300])
    assert answer.status < 500, about
    kind = answer.headers.get("Content-Type", "")
    if answer.status >= 400:
        assert kind.startswith("text/plain") and answer.text, about
        assert len(answer.text) < 2000 and "Traceback" not in answer.text, about
    if kind.startswith("text/html"):
        assert MARK not in answer.text, about
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"], about
    return answer.status


@settings(max_examples=REQUESTS)
@given(data=st.data())
def test_any_request_gets_a_page_or_a_clear_refusal(
    client: TestClient, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(paths(client)))
    address = filled(path, {name: data.draw(values) for name in names(path)})
    require_clear(client, address, urlencode(data.draw(queries), errors="replace"))


@pytest.mark.parametrize("key", [key for key in KEYS if key != MARK])
def test_values_of_a_hundred_thousand_characters_are_refused(client: TestClient, key: str) -> None:
    for path in ("/runs", "/curves", "/curves.svg", "/compare", "/environment", "/advise"):
        status = require_clear(client, path, urlencode({key: LONG}))
        assert 400 <= status < 500


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/runs?from=x", "from: 'x' is not a whole number"),
        ("/runs?from=-1", "`int` >= 0"),
        ("/runs?from=1&from=2", "stands twice"),
        ("/runs?nothing=1", "unknown field"),
        ("/map?a=1", "keys are: from"),
        ("/curves?x=sideways", "Invalid enum value"),
        (f"/curves?curve={quote(f'/etc/passwd#{FIRST}:before|MPI_Bcast|default')}", "no RUN:TABLE"),
        (f"/compare?a={quote(f'/etc/passwd#{FIRST}')}&b={FIRST}", "names a file"),
        (f"/compare?a={FIRST}:before&b={FIRST}:before", "share launches"),
        ("/compare.svg", "two sides"),
        ("/curves.svg", "at least one"),
        ("/curves.exe?curve=a", "endings are"),
        (f"/table/nothing/{FIRST}", "this table does not exist"),
        ("/advise?function=gather", "all three"),
        ("/advise?function=gather&bytes=-1&nprocs=4", "`int` >= 0"),
        ("/advise?function=gather&bytes=1&nprocs=0", "`int` >= 1"),
        ("/advise?function=gather&bytes=1&nprocs=4&run=nothing", "this run does not exist"),
        (f"/cell/MPI_Nothing/1/{FIRST}", "no such cell"),
        ("/run/nothing", "this run does not exist"),
        (f"/curves?base=3&curve={quote(f'{FIRST}:before|MPI_Bcast|default')}", "there are 1"),
    ],
)
def test_what_is_wrong_is_said(client: TestClient, address: str, words: str) -> None:
    answer = client.get(address)
    assert 400 <= answer.status_code < 500
    assert words in answer.text and "plumbline.db" not in answer.text


def test_nothing_is_taken(client: TestClient) -> None:
    for path in paths(client):
        address = filled(path, dict.fromkeys(names(path), "1"))
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            answer = client.request(method, address, files={"file": b"\0" * 1000})
            assert answer.status_code in (404, 405), (method, path)
