"""What is built besides what pyproject.toml says: a wheel carries what `plumbline build` needs, the
C sources with their makefiles, and the search spaces, as plumbline/sources
(docs/administrator.md)."""

import hashlib
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
CARRIED = (
    "cflags.mk",
    "pyproject.toml",  # makefiles read the version there
    "collectives-alt",
    "packaging/needs.sh",
    "packaging/needs.txt",
    "probes",
    "search-spaces",
    "tuner/detection",
)


class BuildWithSources(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:  # which finds all of it in the checkout
            _carry(Path(self.build_lib) / "plumbline" / "sources")


def _carry(target):
    """Programs that are built of it lie under its digest, so that no other version takes them."""
    shutil.rmtree(target, ignore_errors=True)
    digest = hashlib.sha256()
    for name in CARRIED:
        path = ROOT / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                relative = file.relative_to(ROOT)
                digest.update(f"{relative}\n".encode() + file.read_bytes())
                (target / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target / relative)
    (target / "digest").write_text(digest.hexdigest()[:12])


setup(cmdclass={"build_py": BuildWithSources})
