"""The catalogue of variants, and the best of them, as tables for people and for pages."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from plumbline.results.best import BestOfCell, FastestOfSide
from plumbline.settings.toolchain import Variant

from . import common

VARIANT_COLUMNS = (
    "variant",
    "kind",
    "parameters (worth a try)",
    "not for",
    "scratch",
    "what it is",
)
CELL_COLUMNS = (
    "function",
    "ranks",
    "bytes",
    "default µs",
    "library's best",
    "µs",
    "over default",
    "our best",
    "µs",
    "over default",
    "ours over library's best",
)


def _scratch_of(variant: Variant) -> str:
    if variant.scratch_volumes < 0:
        return "(p + 1) n"
    return f"{variant.scratch_volumes} n" if variant.scratch_volumes else ""


def _columns_of_variant(variant: Variant) -> list[str]:
    parameters = ", ".join(
        f"{parameter.name}={parameter.standard} ({', '.join(map(str, parameter.tries))})"
        for parameter in variant.parameters
    )
    return [
        variant.name,
        variant.kind,
        parameters,
        ", ".join(variant.restrictions),
        _scratch_of(variant),
        variant.summary,
    ]


def catalogue(variants: Sequence[Variant]) -> Table:
    names = ("function", *VARIANT_COLUMNS)
    table = common.table(*names, left=names)
    previous = ""
    for variant in sorted(variants, key=lambda variant_listed: variant_listed.function):
        table.add_row(
            "" if variant.function == previous else variant.function, *_columns_of_variant(variant)
        )
        previous = variant.function
    return table


def catalogue_page(variants: Sequence[Variant]) -> str:
    lines = []
    for function in dict.fromkeys(variant.function for variant in variants):
        lines += ["", f"### {function}", *_markdown_head(VARIANT_COLUMNS)]
        lines += [
            _markdown_row(_columns_of_variant(variant))
            for variant in variants
            if variant.function == function
        ]
    return "\n".join(lines[1:])


def _columns_of_cell(cell: BestOfCell) -> list[str]:
    def side(fastest: FastestOfSide | None) -> list[str]:
        if fastest is None:
            return ["none", "", ""]
        return [
            _short(fastest.name),
            f"{1e6 * fastest.seconds:.2f}",
            common.ratio_words(fastest.ratio),
        ]

    return [
        cell.function,
        str(cell.nprocs),
        str(cell.bytes),
        f"{1e6 * cell.default_seconds:.2f}",
        *side(cell.library),
        *side(cell.ours),
        common.ratio_words(cell.ours_over_library),
    ]


def cells(measured: Sequence[BestOfCell]) -> Table:
    table = common.table(*CELL_COLUMNS, left=("library's best", "our best"))
    for cell in measured:
        table.add_row(*_columns_of_cell(cell))
    return table


def cells_page(measured: Sequence[BestOfCell]) -> str:
    return "\n".join(
        [
            *_markdown_head(CELL_COLUMNS),
            *(_markdown_row(_columns_of_cell(cell)) for cell in measured),
        ]
    )


def _markdown_head(names: Sequence[str]) -> list[str]:
    return [_markdown_row(names), "|" + "---|" * len(names)]


def _markdown_row(words: Sequence[str]) -> str:
    return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"


def _short(name: str) -> str:
    """A configuration without what the names of its knobs have in common."""
    knobs = [word.partition("=") for word in name.split() if "=" in word and ":" not in word]
    shared = min((knob for knob, _, _ in knobs), key=len, default="")
    words = [f"{knob.removeprefix(shared).strip('_')}={value}" for knob, _, value in knobs]
    return " ".join(word.removeprefix("=") for word in words) or name
