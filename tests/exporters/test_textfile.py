"""`plumbline serve --textfile`: a file that node_exporter reads."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters.metrics.scrape import write_textfile
from tests.db import build
from tests.exporters.prometheus import ends, free_port
from tests.exporters.test_metrics import promtool


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.done(db)
    return path


def test_it_is_written_as_a_whole_for_all_to_read(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "textfile"
    folder.mkdir()
    target = folder / "plumbline.prom"
    target.write_text("before")
    write_textfile(database, target)
    text = target.read_text()
    assert "plumbline_violations{" in text and "process_" not in text and "python_info" not in text
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert list(folder.iterdir()) == [target]  # nothing else is left there
    promtool(text)


def test_node_exporter_reads_it(database: Path, tmp_path: Path) -> None:
    program = shutil.which("prometheus-node-exporter")
    if program is None:
        pytest.skip("no prometheus-node-exporter on PATH (the Debian package of that name)")
    write_textfile(database, tmp_path / "plumbline.prom")
    address = f"127.0.0.1:{free_port()}"
    options = ("--collector.disable-defaults", "--collector.textfile")
    process = subprocess.Popen(
        [
            *(program, *options, f"--collector.textfile.directory={tmp_path}"),
            f"--web.listen-address={address}",
        ],
        stderr=subprocess.DEVNULL,
    )
    url = f"http://{address}/metrics"
    with (
        ends(process, lambda: urllib.request.urlopen(url, timeout=5).close()),
        urllib.request.urlopen(url, timeout=30) as answer,
    ):
        text = answer.read().decode()
    assert "plumbline_violations{" in text and "node_textfile_scrape_error 0" in text


def test_a_database_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    target = tmp_path / "plumbline.prom"
    command = [sys.executable, "-m", "plumbline", "--db", str(tmp_path / "none.db"), "serve"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, "--textfile", str(target)], env=environment, capture_output=True, timeout=60
    )
    assert done.returncode == 1 and b"there is no database" in done.stderr
    assert 'plumbline_scrape_success{collector="guidelines"} 0.0' in target.read_text()


def test_names_and_places_that_are_none(database: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"end with \.prom"):
        write_textfile(database, tmp_path / "plumbline.txt")
    with pytest.raises(PlumblineError, match="cannot write"):
        write_textfile(database, tmp_path / "none" / "plumbline.prom")
