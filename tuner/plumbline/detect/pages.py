"""Recordings on the pages of `plumbline serve`: what was found in each, and what would take its
place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from plumbline.detect import findings as detected
from plumbline.detect import words
from plumbline.detect.findings import HandMade
from plumbline_db.connection import Database
from plumbline_db.errors import command_name, typed
from plumbline_db.findings import Detection, detections, get_detection
from plumbline_exporters import frame
from plumbline_exporters.frame import Link, Pages

_shown = frame.templates("plumbline.detect")
_shown.globals["typed"] = typed
_shown.globals["name"] = lambda path: PurePath(path).name or path


class ShownFinding(msgspec.Struct, frozen=True):
    """`title`, then `lines`; `sketch` in the `language` of the application."""

    number: int
    title: str
    lines: list[str]
    sketch: str


class ShownCategory(msgspec.Struct, frozen=True):
    head: str
    findings: list[ShownFinding]


class ListedDetection(msgspec.Struct, frozen=True):
    """`saving_seconds`: of all findings whose saving is known and above 0; None: none is."""

    about: Detection
    count: int
    saving_seconds: float | None


def pages(db_path: Path) -> Pages:
    """Over one database, which is opened anew for every request."""

    def listing(request: Request) -> Response:
        with Database.open(db_path) as db:
            every = [_listed(detection) for detection in detections(db)]
        return frame.page(request, _shown, "recordings.html", every=every, seconds=words.seconds)

    def one(request: Request) -> Response:
        with _opened(db_path, request) as detection:
            shown = _shown_findings(detected.findings(detection))
        return frame.page(
            request,
            _shown,
            "recording.html",
            about=detection,
            categories=shown,
            seconds=words.seconds,
        )

    def as_json(request: Request) -> Response:
        with _opened(db_path, request) as detection:
            return frame.json(request, msgspec.Raw(detection.findings.encode()))

    return Pages(
        [
            Route("/recordings", listing),
            Route("/recordings/{id}.json", as_json),
            Route("/recordings/{id}", one),
        ],
        [Link("Applications", "recordings", "Recordings")],
    )


@contextmanager
def _opened(db_path: Path, request: Request) -> Iterator[Detection]:
    with Database.open(db_path) as db:
        detection = get_detection(db, request.path_params["id"])
    if detection is None:
        raise HTTPException(404, "this recording does not exist")
    try:
        yield detection
    except msgspec.DecodeError as error:
        raise HTTPException(
            404, f"another version wrote this detection: run `{command_name()} detect` again"
        ) from error


def _listed(detection: Detection) -> ListedDetection:
    try:
        findings = detected.findings(detection)
    except msgspec.DecodeError:
        return ListedDetection(detection, 0, None)
    saved = [finding.saving.best.seconds for finding in findings if finding.saving is not None]
    gains = [seconds for seconds in saved if seconds > 0]
    return ListedDetection(detection, len(findings), sum(gains) if gains else None)


def _shown_findings(findings: list[HandMade]) -> list[ShownCategory]:
    """Return the findings by category, in the order in which they are reported."""
    shown: list[ShownCategory] = []
    numbers = {id(finding): number for number, finding in enumerate(findings, 1)}
    for head, members in words.by_category(findings):
        shown_members = [_shown_finding(finding, numbers[id(finding)]) for finding in members]
        shown.append(ShownCategory(head, shown_members))
    return shown


def _shown_finding(finding: HandMade, number: int) -> ShownFinding:
    title, *lines = words.of(finding, number)
    return ShownFinding(
        number, title, [line.strip() for line in lines], words.patch_sketch(finding)
    )
