"""`make fuzz`: each reader for a while, driven by libFuzzer: those in Python through Atheris, those
in C through clang. What is found lies in build/fuzz/found, as the input that does it; it is kept
for ever under tests/fuzz/corpora/READER once it is put right."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import click

from tests.fuzz import in_c

FOLDER = in_c.ROOT / "build" / "fuzz"
_SECONDS_AN_INPUT = 25  # more is a finding: something is worse than linear


@click.command()
@click.argument("readers", nargs=-1)
@click.option("--seconds", default=600, show_default=True, help="For each reader.")
@click.option("--one", hidden=True, help="A reader in Python, in this process.")
def main(readers: tuple[str, ...], seconds: int, one: str | None) -> None:
    """All readers, or those that are named. Exit code 1 if there is a finding."""
    if one is not None:
        _in_this_process(one, seconds)
    from tests.fuzz.readers import READERS

    known = [*in_c.READERS, *READERS]
    unknown = set(readers) - set(known)
    if unknown:
        raise click.UsageError(f"no reader {', '.join(unknown)}; there are {', '.join(known)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = [name for name in readers or known if not _fuzzed(name, seconds)]
    for name in failed:
        click.echo(f"{name}: found something: see above, and {FOLDER / 'found'}", err=True)
    sys.exit(bool(failed))


def _fuzzed(name: str, seconds: int) -> bool:
    click.echo(f"--- {name}", err=True)
    if name in in_c.READERS:
        words = [str(in_c.program(_build(), name, FOLDER / name, clang=True))]
        return subprocess.run([*words, *_options(name, seconds)], check=False).returncode == 0
    words = [sys.executable, "-m", "tests.fuzz", "--one", name, "--seconds", str(seconds)]
    return subprocess.run(words, check=False).returncode == 0


def _options(name: str, seconds: int) -> list[str]:
    """For libFuzzer: where inputs are, and where they go."""
    own, found = FOLDER / "corpora" / name, FOLDER / "found"
    for folder in (own, found):
        folder.mkdir(parents=True, exist_ok=True)
    kept = in_c.HERE / "corpora" / name
    return [
        str(own), *([str(kept)] if kept.is_dir() else []),
        f"-max_total_time={seconds}", f"-timeout={_SECONDS_AN_INPUT}", "-rss_limit_mb=4096",
        "-print_final_stats=1", f"-artifact_prefix={found}/{name}-",
    ]  # fmt: skip


def _build() -> Path:
    words = [str(in_c.ROOT / "probes" / "mpi-id.sh"), "mpicc"]
    found = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    return in_c.ROOT / "build" / found


def _in_this_process(name: str, seconds: int) -> None:
    """Does not return."""
    import atheris

    with atheris.instrument_imports(include=["plumbline", "plumbline_db", "plumbline_exporters"]):
        from tests.fuzz.readers import READERS

    from plumbline_db.errors import PlumblineError

    reader = READERS[name]
    own = FOLDER / "corpora" / name
    own.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(reader.seeds()):
        (own / f"seed-{number}").write_bytes(seed)

    def read(data: bytes) -> None:
        with contextlib.suppress(PlumblineError):
            reader.read(data)

    atheris.Setup([sys.argv[0], *_options(name, seconds)], read)
    atheris.Fuzz()
    sys.exit(0)


if __name__ == "__main__":
    main()
