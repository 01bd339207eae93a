"""The same question, measured now: the library's own call, the tuned one and all that is made by
hand, naive versions too, in the same launches. Nothing of it is kept."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.core.cell import Target
from plumbline.core.plan import Data, measurable
from plumbline.measure.launches import Progress
from plumbline.results import advice, best
from plumbline.results.advice import Answer, CallChoice, Rival
from plumbline.results.advice_stored import AdviceQuestion, Advised
from plumbline.results.best import BestOfCell, FastestOfSide
from plumbline.search.space.candidates import Candidate, CandidateSpace
from plumbline.settings import Settings, campaign_file, identity
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db.errors import UsageError
from plumbline_db.records import EVERY_FUNCTION, Winner


class RacedAdvice(msgspec.Struct, frozen=True):
    """`library`: the one that was measured; `candidates`: so many raced, in so many launches;
    `left_out`: why the tuned one did not ('': it did, or there is none)."""

    answer: Answer
    library: str
    candidates: int
    launches: int
    left_out: str


def race(advised: Advised, prefix: Path | None, progress: Progress | None = None) -> RacedAdvice:
    """On the installation under `prefix` (None: the one that is found), as the campaign there had
    its ranks. Raises UsageError for a function that the probe does not know, or has no variant of,
    or a size that cannot be measured."""
    question = advised.question
    toolchain, settings, winner = _here(advised, prefix)
    _require(toolchain, question, settings.cases.data)
    simulated = settings.ranks.simulate is not None
    tuned, left_out = _tuned(toolchain, settings, winner, question.function)
    own_variants = [
        Candidate(variant=spec)
        for variant in toolchain.catalogue.variants
        if variant.function == question.function
        for spec in variant.specs(question.bytes, question.nprocs)
    ]
    field = best.Contenders(tuned, [variant for variant in own_variants if variant not in tuned])
    fields = {Target(question.function, question.bytes): field}
    (cell,) = best.race(toolchain, settings, fields, progress=progress)
    first, finals = best.launches(settings)
    library = toolchain.installation.library.version_string
    answer = answer_of(cell, finals, exact=simulated)
    return RacedAdvice(answer, library, cell.candidates, first + finals, left_out)


def _here(advised: Advised, prefix: Path | None) -> tuple[Toolchain, Settings, Winner | None]:
    """Return what is installed, the settings of the campaign of it that is known, and its
    winner."""
    asked_settings = campaign_file.load(None, {"nprocs": advised.question.nprocs})
    toolchain = find_toolchain(prefix, settings=asked_settings)
    installed = (toolchain.machine.id, toolchain.installation.library.fingerprint)
    for place_advice in advised.known:
        if (place_advice.machine.id, place_advice.library.fingerprint) == installed:
            settings = identity.to_start(place_advice.campaign)
            return find_toolchain(prefix, settings=settings), settings, place_advice.winner
    return toolchain, asked_settings, None


def _require(toolchain: Toolchain, question: AdviceQuestion, data: Data) -> None:
    functions = {variant.function for variant in toolchain.catalogue.variants}
    if question.function not in functions:
        listed = ", ".join(sorted(functions))
        raise UsageError(f"{question.function} cannot be raced; these functions can: {listed}")
    sizes = measurable(question.function, [question.bytes], question.nprocs, data)
    if question.bytes not in sizes:
        raise UsageError(
            f"{question.function} cannot be measured at {question.bytes} B on {question.nprocs} "
            f"ranks with {data.of(question.function).type}: take whole elements, one or more in "
            "each block"
        )


def _tuned(
    toolchain: Toolchain, settings: Settings, winner: Winner | None, function: str
) -> tuple[list[Candidate], str]:
    if winner is None:
        return [], ""
    if winner.function == EVERY_FUNCTION:
        return [], "it applies to the whole process, and can only be active from its start"
    candidate = Candidate.of_winner(winner)
    space = CandidateSpace(toolchain, settings.ranks.nprocs, unsafe=True)
    if why := space.refusal(winner):
        return [], f"it {why}"
    if space.is_cold(function, candidate):
        return [], "this library takes it only when a launch starts"
    return [candidate], ""


def answer_of(cell: BestOfCell, launches: int, *, exact: bool) -> Answer:
    """`launches`: in which the front runners met."""
    own = CallChoice(
        "library", "its own call", cell.default_seconds, launches, None, None, None, ""
    )
    tuned = None if cell.library is None else _choice("tuned", cell.library, launches)
    choices = [own, *([tuned] if tuned else [])]
    rival = None
    if cell.ours is not None and cell.ours.ratio is not None:
        choices.append(_choice("hand-made", cell.ours, launches))
        faster = advice.surely(cell.ours.ratio, exact=exact)
        rival = Rival(cell.ours.name, cell.ours.ratio, faster)
    way, why = advice.choose(tuned, rival, cell.ours_over_library, exact=exact)
    return Answer(way, why, choices)


def _choice(way: advice.Way, side: FastestOfSide, launches: int) -> CallChoice:
    numbers = advice.numbers_of(side.ratio)
    return CallChoice(way, side.name, side.seconds, launches, *numbers, "same launches, now")
