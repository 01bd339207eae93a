"""Optional parts of an installation: extras of pyproject.toml, by the modules that they bring."""

from __future__ import annotations

from importlib.util import find_spec

# The smallest extra that installs each module.
EXTRAS = {
    "anyio": "pages",
    "jinja2": "pages",
    "starlette": "pages",
    "uvicorn": "pages",
    "vl_convert": "pictures",
}


def missing(module: str | None) -> str | None:
    """Return what to say of a module that cannot be imported; None where it is no optional one."""
    extra = EXTRAS.get((module or "").partition(".")[0])
    if extra is None:
        return None
    return (
        f"{extra} are not installed here (no {module}): pip install 'plumbline[{extra}]', or "
        "make install EXTRAS=pages"
    )


def absent() -> dict[str, list[str]]:
    """Extras that are not installed, with the modules that are not there."""
    modules_by_extra: dict[str, list[str]] = {}
    for module, extra in EXTRAS.items():
        if find_spec(module) is None:
            modules_by_extra.setdefault(extra, []).append(module)
    return modules_by_extra
