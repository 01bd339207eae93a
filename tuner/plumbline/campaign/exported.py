"""The files of one campaign: written in place, and put in force for its own launches. Decides
nothing about winners but which of them files can hold together."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from plumbline.campaign import proof
from plumbline.core.cell import Target
from plumbline.core.winner import deciding, exported_as
from plumbline.libraries import gate
from plumbline.measure.launches import LaunchStore
from plumbline.search.space.candidates import Candidate, CandidateSpace
from plumbline.search.space.select import Weights, by_benefit
from plumbline.settings import LAYOUT_ALONE
from plumbline.settings.identity import now
from plumbline.settings.toolchain import Toolchain
from plumbline_db import campaigns, started
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.layout import verifies_only
from plumbline_db.records import Campaign, Winner
from plumbline_exporters import plumbline_sh
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.registry import exporters, is_ours, texts, write
from plumbline_exporters.shells import variables

# The folder that a campaign's files go to when nobody names one: beside its database, in a folder
# that no other database writes to. A note in it says whose it is.

_DEFAULT_NAME = "plumbline.db"
NOTE = ".plumbline-campaign"
_BESIDE = ".in-force-"  # folders of files for a part of the winners, while the campaign runs


def folder_beside(database: Path) -> Path:
    """`exports`, or for a database of another name than the default one a folder of its own."""
    name = "exports" if database.name == _DEFAULT_NAME else f"{database.stem}-exports"
    return database.parent / name


def claim_folder(db: Database, database: Path, campaign: Campaign) -> Path:
    """The folder of the campaign's files, made and marked as its own. The same one every time;
    where another database has put files there, one of another name. Raises PlumblineError where
    it cannot be made."""
    note = f"{database.name}: {campaign.id}, started {campaign.started}\n"
    written = {Path(export.path).parent for export in campaigns.exports(db, campaign.id)}
    for number in count(1):
        folder = folder_beside(database) / (
            campaign.id if number == 1 else f"{campaign.id}.{number}"
        )
        try:
            if _is_ours(folder, note, known=folder.absolute() in written):
                return folder
        except OSError as error:
            raise PlumblineError(
                f"cannot write in {folder}: {error.strerror}; name a folder with --output"
            ) from error
    raise AssertionError("unreachable")


def release_folder(folder: Path) -> None:
    """A folder that got no files goes."""
    if {path.name for path in folder.iterdir()} == {NOTE}:
        shutil.rmtree(folder)


def _is_ours(folder: Path, note: str, *, known: bool) -> bool:
    """Return whether the folder is this campaign's; it is made so where it is nobody's."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / NOTE
    if not mark.exists():
        if any(folder.iterdir()) and not known:
            return False
        try:
            with mark.open("x", encoding="utf-8") as file:
                file.write(note)
        except FileExistsError:
            pass
    written = mark.read_text("utf-8")
    if written != note and note.startswith(written):  # a kill came between its name and its text
        mark.write_text(note, encoding="utf-8")
        return True
    return written == note


class ExportedFiles:
    """`folder` is where they go; `site_rules`: the text of a site's rules that are in force.
    `sizes` are the measured sizes by function, with the `weights` of their cells."""

    def __init__(
        self,
        store: LaunchStore,
        toolchain: Toolchain,
        campaign: Campaign,
        folder: Path,
        sizes: Mapping[str, Sequence[int]],
        weights: Weights,
        *,
        unsafe: bool,
        site_rules: str,
    ) -> None:
        self._store = store
        self._toolchain = toolchain
        self._campaign = campaign
        self._folder = folder
        self._sizes = sizes
        self._weights = weights
        self._unsafe = unsafe
        self._site_rules = site_rules
        self._formats = list(exporters(toolchain.family.name))

    def write(self, winners: Sequence[Winner]) -> None:
        """All formats, in place; a file that an earlier export wrote and this one does not goes.
        A campaign that is finished exports the same bytes at any time."""
        db, campaign = self._store.db, self._campaign.id
        bundle = self._bundle(winners)
        written = write(bundle, self._formats)
        for export in written:
            campaigns.put_export(db, campaign, export)
        current = {export.path for export in written}
        for old in campaigns.exports(db, campaign):
            if old.path in current:
                continue
            if Path(old.path).parent == bundle.directory and is_ours(Path(old.path)):
                Path(old.path).unlink()
            campaigns.forget_export(db, campaign, old.path)

    def finish(self, campaign: Campaign, winners: Sequence[Winner]) -> None:
        """The last time, in their own folder, with the record of the finished campaign. One that
        was asked to search nothing leaves no files that others would take for winners."""
        self._campaign = campaign
        for beside in self._folder.glob(f"{_BESIDE}*"):
            shutil.rmtree(beside)
        if winners or not verifies_only(campaign.settings):
            self.write(winners)

    def environment(self, folder: Path | None = None) -> dict[str, str]:
        """Return what sourcing the files, in place or in another `folder`, adds to a clean
        environment."""
        script = (folder or self._folder).absolute() / plumbline_sh.FILE_NAME
        return proof.environment_of(script, self._store.starter.clean_environment())

    def with_winners(self, winners: Sequence[Winner]) -> dict[str, str]:
        """Write files of those that files can hold together, and return what sourcing them adds.
        They lie in a folder of their own until the campaign ends, so that what was put in force
        before stays in force."""
        held = self.together(winners)[0]
        words = repr([exported_as(winner) for winner in held])
        folder = self._folder / f"{_BESIDE}{hashlib.sha256(words.encode()).hexdigest()[:12]}"
        write(self._bundle(held, folder), self._formats)
        return self._in_force(held, folder)

    def put_in_force(self, winners: Sequence[Winner]) -> dict[str, str]:
        """Write the files of these winners in place; return what sourcing them adds."""
        self.write(winners)
        return self._in_force(winners, self._folder)

    def _in_force(self, winners: Sequence[Winner], folder: Path) -> dict[str, str]:
        environment = self.environment(folder)

        def answers(function: str, size: int) -> bool:
            return deciding(winners, Target(function, size)) is not None

        self._store.aside.in_force(environment, answers)
        return environment

    def together(self, winners: Sequence[Winner]) -> tuple[list[Winner], list[tuple[Winner, str]]]:
        """Return the winners that files can hold together, and the other winners: where two want
        different values of what has one, the one that saves more time stays. The others have the
        reason. What keeps files without a winner from being written is an error."""
        with contextlib.suppress(PlumblineError):
            texts(self._bundle(winners), self._formats)
            return list(winners), []
        texts(self._bundle([]), self._formats)
        kept: list[Winner] = []
        refused: list[tuple[Winner, str]] = []
        for winner in by_benefit(winners, self._sizes, self._weights):
            try:
                texts(self._bundle([*kept, winner]), self._formats)
            except PlumblineError as error:
                alone = self._obstacle(winner)
                why = (
                    f"not exportable: {alone}"
                    if alone
                    else f"not exported beside the others: {error}"
                )
                refused.append((winner, why))
            else:
                kept.append(winner)
        return [winner for winner in winners if winner in kept], refused

    def holds_for_process(self, winner: Winner) -> bool:
        """Return whether files can have this configuration only for all calls of a process,
        whatever the communicator."""
        try:
            texts_by_name = variables(self._bundle([winner]))
        except PlumblineError:
            return True
        return any(
            name.endswith(knob) or knob in value
            for knob in winner.configuration
            for name, value in texts_by_name.items()
        )

    def limited(self, space: CandidateSpace, limited_to: str) -> CandidateSpace:
        """Return the space without the library's algorithms of functions for which files could not
        limit them to these ranks, or, where `limited_to` is a layout, without all of them."""
        if limited_to == LAYOUT_ALONE:
            return space.without_knobs(self._sizes)
        return space.without_knobs(
            function
            for function in self._sizes
            for candidate in space.first(function)[:1]
            if candidate.is_knobs and self.holds_for_process(self._winner(function, candidate))
        )

    def _winner(self, function: str, candidate: Candidate) -> Winner:
        """Return a winner that files may have, whatever it gains."""
        return Winner(
            function=function,
            nprocs=self._campaign.nprocs,
            ppn=self._campaign.ppn,
            bytes_from=0,
            bytes_to=max(self._sizes[function]),
            variant=candidate.variant,
            configuration=candidate.configuration.as_dict(),
            search_speedup=1.0,
            speedup=1.0,
            speedup_low=1.0,
            speedup_high=1.0,
            removes=[],
            restrictions=[],
        )

    def _obstacle(self, winner: Winner) -> PlumblineError | None:
        """Return why files cannot hold it, be it the only one."""
        try:
            texts(self._bundle([winner]), self._formats)
        except PlumblineError as error:
            return error
        return None

    def _bundle(self, winners: Sequence[Winner], folder: Path | None = None) -> Bundle:
        return Bundle(
            campaign=self._campaign,
            machine=self._toolchain.machine,
            library=self._toolchain.installation.library,
            winners=list(winners),
            created=self._campaign.finished or now(),
            directory=(folder or self._folder).absolute(),
            refusal=gate.of_space(self._toolchain.space),
            preload_library=self._toolchain.preload,
            unsafe=self._unsafe,
            site_rules=self._site_rules,
            started=started.lines(self._store.db, self._campaign.id),
        )
