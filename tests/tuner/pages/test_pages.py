"""Pages: what they say, that each leads to the others, that nothing is loaded from elsewhere."""

from __future__ import annotations

import datetime
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import msgspec
import pytest
from starlette.testclient import TestClient

from plumbline.measure import repetitions
from plumbline.measure.repetitions import CriteriaPoint, RepetitionsCell, StoppedAt
from plumbline.pages import overview, run, table
from plumbline.results import putting_in_use
from plumbline.system.lru import BoundedCache
from plumbline_db import campaigns, coverage, findings
from plumbline_db.connection import Database
from plumbline_db.probe_records import Criterion
from tests.db import build
from tests.tuner.pages import site
from tests.tuner.pages.site import FIRST, HOSTILE, MARKUP, SECOND, SUITES

CURVE = f"{FIRST}:before|MPI_Bcast|default"


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def links(self) -> list[str]:
        return [found["href"] or "" for tag, found in self.elements if tag == "a"]


def shown(client: TestClient, address: str) -> Page:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.text)
    return Page(answer.text)


def test_the_overview_says_what_is_violated_and_what_has_changed(client: TestClient) -> None:
    page = shown(client, "/")
    assert "1 violated" in page.text and "with exported files in force" in page.text
    assert f"plumbline run --campaign {SECOND} -- mpirun " in page.text
    changed = page.text.partition("What has changed")[2]
    assert f"Since {FIRST}" in changed and "holds" in changed and "3.50" in changed


def test_an_empty_database_says_how_to_begin(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    Database.open(path, write=True).close()
    with site.client(path) as client:
        for name in ("", "runs", "history", "map", "guidelines", "curves", "compare"):
            shown(client, f"/{name}")
        assert "plumbline campaign" in shown(client, "/").text


def test_a_run_shows_its_tables_winners_and_suites(client: TestClient) -> None:
    page = shown(client, f"/run/{FIRST}")
    for fact in ("node1", "Open MPI v4.1.4", "8192-65536 bytes", "2.00 1.90–2.10", "2 suites",
                 "coll_tuned_allreduce_algorithm=basic_linear", "/out", ".sh"):  # fmt: skip
        assert fact in page.text, fact
    assert f"../table/before/{FIRST}" in page.links()


def test_a_table_leads_from_each_cell_to_its_launches(client: TestClient) -> None:
    page = shown(client, f"/table/before/{FIRST}")
    cells = list(dict.fromkeys(link for link in page.links() if "/cell/" in link))
    assert len(cells) == site.SIZE.cases // 2
    cell = shown(client, urljoin(f"/table/before/{FIRST}", cells[0]))
    assert "allreduce_as_reduce_plus_bcast" in cell.text and "Medians of 6 launches" in cell.text
    violated = shown(client, f"/table/before/{FIRST}?verdict=violated")
    assert 0 < len({link for link in violated.links() if "/cell/" in link}) < len(cells)


def test_a_cell_compares_variants_in_the_same_launches(client: TestClient) -> None:
    answer = client.get(f"/distribution.json/MPI_Bcast/1/{FIRST}")
    rows = answer.json()["data"]["values"]
    assert {row["variant"] for row in rows} == {"default", "allreduce_as_reduce_plus_bcast"}
    (whole,) = [row for row in rows if row["variant"] == "default" and "middle" in row]
    assert whole["samples"] == 36 and whole["launches"] == 6
    assert whole["low"] <= whole["quartile_1"] <= whole["middle"] <= whole["high"]


def test_a_cell_has_the_figures_of_its_samples(client: TestClient) -> None:
    place = f"MPI_Bcast/1/{FIRST}"
    assert f"samples.svg/{place}" in client.get(f"/cell/{place}").text
    panels = client.get(f"/samples.json/{place}").json()["vconcat"]
    density, _, means, course = (panel["data"]["values"] for panel in panels)
    variants = ["default", "allreduce_as_reduce_plus_bcast"]
    assert list(dict.fromkeys(row["variant"] for row in density)) == variants
    assert len(means) == 2 * 6 and {row["of"] for row in course} == {"mean", "median"}
    assert client.get(f"/samples.svg/{place}").headers["content-type"] == "image/svg+xml"


def test_a_cell_has_what_was_counted(client: TestClient) -> None:
    """Switches that the machine of the records had: some 57 in each block of a case. What was 0
    everywhere has no column, nor has what was not counted."""
    page = client.get(f"/cell/MPI_Bcast/1/{FIRST}").text
    table = page[page.index("<h2>Counters</h2>") :]
    head = table[: table.index("</thead>")]
    assert re.findall(r'class="number">(\w+)<', head) == ["involuntary_switches"]
    numbers = [float(number) for number in re.findall(r'class="number">([\d.]+)</td>', table)[:2]]
    per_block = numbers[0] * (site.SIZE.reps + (site.SIZE.warmup + site.SIZE.rewarm) / 2)
    assert 40 < per_block < 75


def test_a_cell_shows_the_repetitions_that_a_rule_counted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has nothing without a rule, and numbers but no curve without samples."""
    place = f"MPI_Bcast/1/{FIRST}"
    assert "Repetitions" not in client.get(f"/cell/{place}").text
    assert client.get(f"/repetitions.svg/{place}").status_code == 404
    points = [CriteriaPoint(20, {"rse": 0.05}), CriteriaPoint(30, {"rse": 0.02})]
    for curve, drawn in (([], False), (points, True)):
        launch = StoppedAt(30, "criteria", [Criterion("rse", 0.025, 0.02)], curve)
        counted = RepetitionsCell("MPI_Bcast", "default", 1, "ok", 30, True, [launch])
        monkeypatch.setattr(repetitions, "stored_of", lambda *_, cell=counted: [cell])
        page = client.get(f"/cell/{place}").text
        assert "<code>default</code> 30." in page
        assert (f"repetitions.svg/{place}" in page) == drawn
        picture = client.get(f"/repetitions.svg/{place}")
        assert (picture.status_code == 200) == drawn
    rows = client.get(f"/repetitions.json/{place}").json()["data"]["values"]
    assert [row["value"] for row in rows if "value" in row] == [0.05, 0.02]


def test_a_cell_whose_samples_were_thrown_away_keeps_its_medians(tmp_path: Path) -> None:
    from plumbline_db import old_samples
    from tests.db import generate

    path = tmp_path / "pruned.db"
    with Database.open(path, write=True) as db:
        generate.fill(db, 1, generate.Size())
        old_samples.prune(db, FIRST, "test", "2026-01-01T00:00:00+00:00")
    with site.client(path) as client:
        rows = client.get(f"/distribution.json/MPI_Bcast/1/{FIRST}").json()["data"]["values"]
        assert rows and all("launch_median" in row for row in rows)
        assert client.get(f"/compare?a={FIRST}:before&b={FIRST}:after").status_code == 410
        assert client.get(f"/samples.svg/MPI_Bcast/1/{FIRST}").status_code == 404
        assert "samples.svg" not in client.get(f"/cell/MPI_Bcast/1/{FIRST}").text


def test_a_winner_goes_from_violation_to_proof(client: TestClient) -> None:
    page = shown(client, f"/winner/0/{FIRST}")
    for fact in ("Winner for MPI_Allgather", "Removes", "GL12 16384", "As the search saw it",
                 "/out/plumbline.sh"):  # fmt: skip
        assert fact in page.text, fact
    assert client.get(f"/winner/99/{FIRST}").status_code == 404


def test_a_guideline_says_what_it_asks_for_and_where_it_fails(client: TestClient) -> None:
    page = shown(client, "/guideline/GL3")
    assert "MPI_Gather must not be slower than what does the same by other calls" in page.text
    assert "The right side: gather_as_allgather" in page.text
    failing = next(link for link in shown(client, "/").links() if "guideline/" in link)
    assert "1 cell is violated" in shown(client, urljoin("/", failing)).text
    assert client.get("/guideline/GL999").status_code == 404


def test_all_kinds_of_guidelines_are_said(client: TestClient) -> None:
    names = [
        link for link in shown(client, "/guidelines").links() if link.startswith("./guideline/")
    ]
    for name in names:
        assert len(shown(client, urljoin("/", name)).text) > 200


def test_the_map_has_a_row_for_each_function(client: TestClient) -> None:
    page = shown(client, "/map")
    assert "MPI_Alltoall" in page.text and "node1, openmpi-4.1.4" in page.text
    labels = [found.get("aria-label") or "" for _, found in page.elements]
    assert any(
        re.fullmatch(r"violated, 1 of \d+ violated(, \d+ before)?", label) for label in labels
    )
    pictures = [label for label in labels if label.startswith("Violated guidelines of openmpi-4.1")]
    assert pictures and 'class="site"' in client.get("/map").text


def test_what_was_measured_apart_is_never_called_faster(client: TestClient) -> None:
    page = shown(client, f"/compare?a={FIRST}:before&b={SECOND}:before")
    assert "no side is called faster" in page.text and "A faster" not in page.text
    together = shown(
        client, f"/compare?a={FIRST}:before@default&b={FIRST}:before@allreduce_as_reduce_plus_bcast"
    )
    assert "measured in the same launches" in together.text


def test_environments_are_compared(client: TestClient) -> None:
    page = shown(client, f"/environment?a={FIRST}&b={quote(HOSTILE)}")
    assert "machine host" in page.text.partition("What is the same")[0]
    assert "What differs" not in shown(client, f"/environment?a={FIRST}").text


def test_the_topology_is_a_picture_with_the_classes_of_pairs(client: TestClient) -> None:
    page = shown(client, f"/environment?a={SUITES}")
    pictures = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert [picture["class"] for picture in pictures] == ["topology"]
    for words in ("L3 32 MiB", "NUMA 64 GiB", "7 more", "cores", "same_cache", "400 ns", "10 GB/s"):
        assert words in page.text
    hostile = shown(client, f"/environment?a={quote(HOSTILE)}")
    assert "svg" not in [tag for tag, _ in hostile.elements]


def test_runs_are_shown_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with Database.open(path, write=True) as db:
        for number in range(1, 31):
            build.later(db, f"c{number:02}", number)
    with site.client(path) as client:
        first, second = shown(client, "/runs"), shown(client, "/runs?from=25")
        assert "1 to 25 of 30 runs" in first.text and "26 to 30 of 30" in second.text
        assert "./runs?from=25&text=" in first.links()
        assert "c05" in second.text and "c05" not in first.text
        assert "1 to 1 of 1 runs" in shown(client, "/runs?text=C17").text
        assert "the newest" in shown(client, "/runs?from=99").text


def test_a_page_that_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/map")
    again = client.get("/map", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and not again.content
    assert "Content-Security-Policy" in first.headers
    assert first.headers["Content-Encoding"] == "gzip"


def test_every_link_leads_somewhere_and_nothing_comes_from_elsewhere(client: TestClient) -> None:
    """From the first page on, two pages of a kind."""
    waiting, seen = ["/"], set()
    kinds: dict[str, int] = {}
    while waiting:
        address = waiting.pop()
        kind = re.sub(r"\d+", "0", address.split("?")[0].split("/")[1]) + str("?" in address)
        if address in seen or kinds.get(kind, 0) >= 2:
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == 200, address
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        page = Page(answer.text)
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        for tag, found in page.elements:
            assert not any(name.startswith("on") or name == "style" for name in found), address
            source = found.get("src") or (found.get("href") if tag == "link" else "") or ""
            assert not urlsplit(source).netloc, (address, source)
            assert tag != "script" or found.get("src"), address
        for link in page.links():
            parts = urlsplit(urljoin(f"http://x{address}", link))
            if parts.netloc == "x" and parts.path:
                waiting.append(parts.path + (f"?{parts.query}" if parts.query else ""))
    assert {"runFalse", "tableFalse", "cellTrue", "mapFalse", "overlapFalse"} <= kinds.keys()


@pytest.mark.parametrize(
    "address",
    [
        f"/run/{quote(HOSTILE)}",
        f"/table/before/{quote(HOSTILE)}",
        f"/cell/MPI_Allreduce/16384/{quote(HOSTILE)}",
        f"/winner/0/{quote(HOSTILE)}",
        f"/environment?a={quote(HOSTILE)}",
        f"/guideline/{quote(MARKUP)}",
        "/",
        "/runs",
        "/compare",
        f"/runs?text={quote(MARKUP)}",
        "/map",
        "/guidelines",
        f"/curves?run={quote(HOSTILE)}&text={quote(MARKUP)}",
        f"/curves?every=yes&run={quote(HOSTILE)}",
        f"/compare?a={quote(MARKUP)}",
    ],
)
def test_names_with_markup_are_text(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    assert "<script>alert" not in answer.text and "&lt;script&gt;alert" in answer.text
    assert "{{ 7 * 7 }}" in answer.text


def test_all_pages_have_their_landmarks_and_names(client: TestClient) -> None:
    for address in ("/", f"/run/{FIRST}", f"/curves?run={FIRST}&curve={quote(CURVE)}"):
        page = shown(client, address)
        tags = [tag for tag, _ in page.elements]
        assert tags.count("main") == tags.count("h1") == tags.count("header") == 1
        assert all(found.get("alt") for tag, found in page.elements if tag == "img")
        assert ("html", {"lang": "en"}) in page.elements


def test_what_to_do_next(stored: Path, installed: None) -> None:
    with Database.open(stored) as db:
        steps = overview.steps_of(db, campaigns.all_campaigns(db))
        now = datetime.datetime.now(datetime.UTC)
        for place in coverage.of_campaigns(db):
            steps += overview.of_place(db, place, now)
    texts = [step.text for step in steps]
    assert any("was interrupted" in text for text in texts)  # no process measures the hostile one
    assert any("older than 90 days" in text for text in texts)
    commands = [step.command for step in steps]
    # No file can hold this winner.
    assert any(found.startswith(f"plumbline run --campaign {SECOND} -- ") for found in commands)


def test_a_run_of_suites_says_what_they_are_and_leads_to_their_curves(client: TestClient) -> None:
    assert SUITES in shown(client, "/runs").text
    page = shown(client, f"/run/{SUITES}")
    assert "Why 1 point was added to gather" in page.text
    assert "8192 bytes, look 2, jump: MPI_Gather, between 4096 and 16384" in page.text
    assert "Violation tables" not in page.text
    (gather, ranks, modes) = [link for link in page.links() if "curve=" in link]
    for link, legend in (
        (gather, "gather_naive_irecv"),
        (ranks, "by ranks"),
        (modes, "ssend_recv"),
    ):
        curves = shown(client, urljoin(f"/run/{SUITES}", link))
        (picture,) = [found for tag, found in curves.elements if tag == "img"]
        assert legend in (picture["alt"] or "")


def test_each_rank_alone(client: TestClient) -> None:
    (link, *_) = [to for to in shown(client, f"/run/{SUITES}").links() if "curve=" in to]
    address = urljoin(f"/run/{SUITES}", link)
    assert "at 4096 bytes" in shown(client, address).text
    page = shown(client, f"{address}&at=4096")
    (picture,) = [found for tag, found in page.elements if tag == "img"]
    assert "by rank" in (picture["alt"] or "")
    for at, status in (("x", 400), ("-1", 400), ("4097", 404)):
        assert client.get(f"{address}&at={at}").status_code == status


BROWSER = {"Accept": "text/html,application/xhtml+xml"}


def test_the_links_stand_in_three_groups_and_the_current_one_is_marked(client: TestClient) -> None:
    text = client.get(f"/table/before/{FIRST}").text
    groups = re.findall(r'class="group"[^>]*>([^<]+)<', text)
    assert groups == ["Results", "Explore", "Applications"]
    assert re.findall(r'aria-current="page">([^<]+)<', text) == ["Runs"]


def test_an_error_is_a_page_for_a_browser_that_keeps_the_form(client: TestClient) -> None:
    address = "/advise?function=gather&bytes=64q&nprocs=4"
    page = Page(client.get(address, headers=BROWSER).text)
    fields = {found["name"]: found for tag, found in page.elements if tag == "input"}
    assert fields["function"]["value"] == "gather" and fields["bytes"]["value"] == "64q"
    assert "aria-invalid" in fields["bytes"] and "aria-invalid" not in fields["nprocs"]
    assert page.text.count("bytes: '64q' is not a whole number") == 2  # above, and at its field
    assert client.get(address, headers=BROWSER).status_code == 400
    assert client.get(address).headers["Content-Type"].startswith("text/plain")


def test_a_size_may_have_a_unit(client: TestClient) -> None:
    short, long = (
        client.get(f"/advise?function=gather&bytes={size}&nprocs=4", headers=BROWSER)
        for size in ("64k", "65536")
    )
    assert (short.status_code, short.text) == (200, long.text)


def test_a_page_that_is_not_there_is_said_in_a_sentence(client: TestClient) -> None:
    answer = client.get("/nosuch", headers=BROWSER)
    assert answer.status_code == 404 and "this page does not exist" in answer.text


def test_an_error_of_a_path_is_a_page_too(client: TestClient) -> None:
    answer = client.get("/run/nothing", headers=BROWSER)
    assert answer.status_code == 404 and "this run does not exist" in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "<nav" in answer.text and "<form" not in answer.text


def test_a_table_has_rows_with_violations_first_and_darker_cells_for_larger_ratios(
    client: TestClient, stored: Path
) -> None:
    with Database.open(stored) as db:
        found = findings.get_verdicts(db, FIRST, "before")
    rows = table.by_row(found, sorted({each.bytes for each in found}))
    flags = [bool(row.violated) for row in rows]
    assert flags == sorted(flags, reverse=True) and len(set(flags)) == 2
    steps = [
        table.step(build.verdict("before", verdict="violated", ratio=ratio))
        for ratio in (1.1, 1.3, 2.5, 9.0)
    ]
    assert steps == [f"violated step-{number}" for number in (1, 2, 3, 4)]
    text = client.get(f"/table/before/{FIRST}").text
    assert 'aria-label="violated, ' in text and 'aria-label="holds, ' in text


def test_the_overview_has_figures_and_curves_of_real_machines_first(client: TestClient) -> None:
    text = client.get("/").text
    assert text.count('class="figures"') > 1 and 'class="plot"' in text
    assert "median speed-up of" in text and "<summary><h2>" not in text  # none is simulated


def test_a_simulated_machine_is_folded_below_real_ones(tmp_path: Path) -> None:
    path = tmp_path / "simulated.db"
    site.store(path)
    with Database.open(path, write=True) as db:
        simulated = msgspec.structs.replace(
            campaigns.get(db, FIRST),
            id="simulated",
            key="k-simulated",
            settings='{"simulate":{"library":"ompi"}}',
            nprocs=99,
        )
        campaigns.put(db, simulated)
        findings.put_verdicts(db, simulated.id, "before", [build.verdict("before", nprocs=99)])
    with site.client(path) as client:
        text = client.get("/").text
    assert "1 simulated machine<" in text
    assert text.index("99 ranks") > text.index("1 simulated machine<")


def test_the_history_has_campaigns_in_order(client: TestClient) -> None:
    text = shown(client, "/history").text
    assert text.index(FIRST) < text.index(SECOND) and "No releases were compared yet" in text


def test_texts_have_commands_and_no_backticks(client: TestClient) -> None:
    text = client.get(f"/report/{FIRST}").text
    assert "<code>--new</code>" in text and "`" not in text


def test_commands_can_be_pasted_where_the_program_is_not_on_path(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty database counts as well: its pages say how to begin."""
    program = tmp_path / ".venv" / "bin" / "plumbline"
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setattr(putting_in_use, "_uses", BoundedCache(1))
    with Database.open(tmp_path / "empty.db", write=True):
        pass
    for_all = "/", "/runs", "/history", "/advise", "/recordings", "/overlap"
    with site.client(tmp_path / "empty.db") as empty:
        told = [empty.get(address).text for address in for_all]
        assert all(f"<code>{program} " in page for page in told)
    told += [client.get(address).text for address in for_all]
    told += [client.get(f"/report/{FIRST}").text, client.get(f"/explained/{FIRST}").text]
    assert not any(re.search(r"<code>plumbline ", page) for page in told)


def test_only_what_can_be_measured_is_offered_to_be_measured(client: TestClient) -> None:
    known = client.get("/advise?function=exscan&bytes=64&nprocs=4").text
    assert "advise MPI_Exscan --bytes 64" in known
    assert "--measure" not in client.get("/advise?function=nosuch&bytes=64&nprocs=4").text


def test_long_names_may_be_broken_at_their_parts(client: TestClient) -> None:
    page = client.get(f"/cell/MPI_Bcast/4/{FIRST}?stage=before").text
    assert "allreduce_<wbr>as_<wbr>reduce_<wbr>plus_<wbr>bcast" in page
    assert "MPI_<wbr>" not in page and "at 4 bytes</h1>" in page
    assert "at 1 byte</h1>" in client.get(f"/cell/MPI_Bcast/1/{FIRST}?stage=before").text


def test_the_best_winner_of_a_function_is_its_own_where_it_has_one() -> None:
    every = build.winner(function="*", speedup=3.0)
    own = build.winner(function="MPI_Bcast", speedup=1.5)
    table = [build.verdict("before", function=name) for name in ("MPI_Bcast", "MPI_Scan")]
    found = run.Summary(build.CAMPAIGN, "before", table, [], [every, own])
    best = {each.function: each.best and each.best.speedup for each in found.functions}
    assert best == {"MPI_Bcast": 1.5, "MPI_Scan": 3.0}
    assert [each.winners for each in found.functions] == [2, 1]
