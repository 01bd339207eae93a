"""What `plumbline watch --status` says of cells: which ones are too noisy."""

from __future__ import annotations

import msgspec

from plumbline.cli import watch
from plumbline.daemon import status
from plumbline.watch.chart import Baseline, CellState, largest_scale
from plumbline_db import watching
from plumbline_db.watching import Watch
from tests.tuner.daemon.watching import Site


def test_cells_in_which_ten_per_cent_do_not_show_are_named(site: Site) -> None:
    """Canaries of two launches; cells 0.99, 1.5 and 3 times as wide as can be seen."""
    site.canaries(1)
    db, id = site.db, site.campaign.id
    most = largest_scale(site.configuration.design)
    cells = [cell for cell in watching.cells(db, id) if cell.role != "reference"][:3]
    with db.transaction():
        for cell, times in zip(cells, (0.99, 1.5, 3.0), strict=True):
            state = CellState(baseline=Baseline(0.0, times * most, 72))
            text = msgspec.json.encode(state).decode()
            watching.put_cells(db, [msgspec.structs.replace(cell, state=text)])
    words = ("wait", "", "", "", "", "", "{}", "")
    watching.put(db, Watch("d", "running", 7, "node1", "s", "t", *words))
    found = status.read(db.path, site.clock())
    (told,) = found.campaigns
    _, wide, widest = cells
    assert [(one.function, one.bytes, one.launches) for one in told.noisy] == [
        (widest.function, widest.bytes, 18),
        (wide.function, wide.bytes, 5),
    ]
    lines = [str(line) for line in watch.of_status(found) if isinstance(line, str)]
    assert any("10 % are not found in time in 2 cells of" in line for line in lines)
