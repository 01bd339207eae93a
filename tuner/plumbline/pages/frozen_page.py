"""A page as a file: its links lead to other files, what needs a server is left out, and pictures
carry what they are drawn by. Pure: a page in, a page out.

The pages are ours: every element is well formed, and every value stands in double quotes."""

from __future__ import annotations

import hashlib
import html
import os.path
import posixpath
import re
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

Find = Callable[[str], str | None]

_LINKS = {"a": "href", "link": "href", "script": "src", "img": "src"}
_PICTURE = "data-picture"
_MOST_NAME = 60
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; "
    "img-src 'self' file: data:"
)


def file_of(address: str, kind: str) -> str:
    """The name of the file for what is at this address (path and query), relative to the folder of
    the report. Made of plain characters; where others or a query had to go, a hash tells names
    apart. `kind`: the ending."""
    parts = urlsplit(address)
    if parts.path == "/":
        return f"overview{kind}"
    words = [_plain(unquote(word)) for word in parts.path.strip("/").split("/")]
    stem, ending = os.path.splitext(words[-1])
    keeps = ending == kind
    name = "/".join([*words[:-1], stem if keeps else words[-1]])
    if parts.query or not _is_plain(parts.path):
        name += "-" + hashlib.sha256(address.encode()).hexdigest()[:10]
    return name + kind


def _plain(word: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=+-]", "_", word).strip(".")[:_MOST_NAME] or "_"


def _is_plain(path: str) -> bool:
    return all(_plain(word) == word for word in path.strip("/").split("/"))


class Frozen(HTMLParser):
    """`find`: the file for an address (None: it is not in the report); `specification`: what a
    picture at an address is drawn by, as JSON (None: it is left to its image)."""

    def __init__(self, address: str, own: str, find: Find, specification: Find) -> None:
        super().__init__(convert_charrefs=False)
        self._address, self._own = address, own
        self._find, self._specification = find, specification
        self._out: list[str] = []
        self._forms = 0

    def frozen(self, text: str) -> str:
        self.feed(text)
        self.close()
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "form":
            self._forms += 1
            self._say('<p class="quiet no-form">To choose something else: plumbline serve.</p>', 1)
            return
        self._say(self._element(tag, dict(attrs), ">"))
        if tag == "head":
            self._say(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">')

    def _element(self, tag: str, attributes: dict[str, str | None], end: str) -> str:
        after = ""
        if tag in _LINKS and attributes.get(_LINKS[tag]) is not None:
            self._lead(tag, attributes)
        if _PICTURE in attributes:
            specification = self._specification(self._joined(attributes.pop(_PICTURE) or ""))
            if specification is not None:
                attributes[_PICTURE] = "#"
                # `<` would end the element within a text.
                safe = specification.replace("<", "\\u003c")
                after = f'<script type="application/json">{safe}</script>'
        words = [
            name if value is None else f'{name}="{html.escape(value)}"'
            for name, value in attributes.items()
        ]
        return f"<{' '.join([tag, *words])}{end}{after}"

    def _lead(self, tag: str, attributes: dict[str, str | None]) -> None:
        """To a file; what is not in the report is no link."""
        name = _LINKS[tag]
        link = attributes.pop(name) or ""
        if link.startswith("#"):
            attributes[name] = link
            return
        address, _, fragment = self._joined(link).partition("#")
        file = self._find(address)
        if file is not None:
            folder = posixpath.dirname(self._own) or "."
            attributes[name] = posixpath.relpath(file, folder) + (
                f"#{fragment}" if fragment else ""
            )
        elif tag == "a":
            attributes.pop("download", None)
            attributes["class"] = "absent"

    def _joined(self, link: str) -> str:
        return urljoin(self._address, link)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._forms -= 1
            return
        self._say(f"</{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._say(self._element(tag, dict(attrs), "/>"))

    def handle_data(self, data: str) -> None:
        self._say(data)

    def handle_entityref(self, name: str) -> None:
        self._say(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._say(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._say(f"<!{decl}>")

    def _say(self, text: str, depth: int = 0) -> None:
        """Unless it stands deeper in forms than that."""
        if self._forms <= depth:
            self._out.append(text)
