"""The recipes of docs/database.md for other programs, run if the program is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from tests.db import build
from tests.probes.launch import ROOT
from tests.tuner.cli.command import plumbline

PAGE = (ROOT / "docs" / "database.md").read_text()


def recipe(name: str) -> str:
    """The block under a heading."""
    part = PAGE.partition(f"\n### {name}\n")[2]
    return part.partition("```\n")[2].partition("\n```")[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        build.done(db)
    (tmp_path / "plumbline.db").chmod(0o444)
    return tmp_path


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_with(*modules: str) -> str:
    """An interpreter that has them."""
    for program in (sys.executable, "python3"):
        words = [program, "-c", f"import {', '.join(modules)}"]
        if shutil.which(program) and not subprocess.run(words, capture_output=True).returncode:
            return program
    pytest.skip(f"no Python here has {' and '.join(modules)}")


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3")
def test_sqlite3(folder: Path) -> None:
    said = run(folder, "sh", "-e", "-c", recipe("sqlite3"))
    function, bytes, us, launches = said.splitlines()[0].split("|")
    assert (function, bytes, launches) == ("MPI_Allreduce", "16384", "3")
    assert 40 < float(us) < 46


def test_pandas(folder: Path) -> None:
    program = python_with("pandas")
    said = run(folder, program, "-c", recipe("pandas") + "\nprint(len(medians))")
    assert said.split()[-1] == "6"


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="no R")
def test_r(folder: Path) -> None:
    has = ["Rscript", "-e", "quit(status = !requireNamespace('RSQLite', quietly = TRUE))"]
    if subprocess.run(has, capture_output=True).returncode:
        pytest.skip("R has no RSQLite")
    assert "MPI_Allreduce" in run(folder, "Rscript", "-e", recipe("R"))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX")
@pytest.mark.parametrize("what", ["verdicts", "winners"])
def test_latex(folder: Path, what: str) -> None:
    """In its oldest encoding, which has no quotation marks of its own."""
    made = folder / "medians.tex"
    words = ("db", "table", what, "--output", made, "--db", folder / "plumbline.db")
    assert plumbline(*words).status == 0
    (folder / "table.tex").write_text(recipe("LaTeX"))
    run(folder, "pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex")
    assert (folder / "table.pdf").read_bytes().startswith(b"%PDF")


def test_duckdb(folder: Path) -> None:
    pytest.importorskip("pyarrow", reason="no Parquet without pyarrow")
    program = python_with("duckdb")
    made = folder / "samples.parquet"
    words = ("db", "table", "samples", "--output", made, "--db", folder / "plumbline.db")
    assert plumbline(*words).status == 0
    query = f"import duckdb; print(duckdb.sql('''{recipe('DuckDB')}''').fetchall())"
    assert "MPI_Allreduce" in run(folder, program, "-c", query)
