"""The residual error of clock synchronisations over a minute, on two hosts in namespaces of which
the second has a clock that runs at another rate. Both read the counter of this machine, so that the
error of a model is known exactly at any time after it was learnt.

    python -m tests.bench.clocks [--ppm 20] [--fit 500] [--picture clock-error.svg]"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from plumbline.system import chart
from plumbline_db.probe_records import ClockError, ClockModel
from tests.hosts import Hosts, hosts, shifts_are_possible
from tests.probes.launch import Launch, Probe, build_folder

HERE = Path(__file__).parents[1] / "probes"
ALGORITHMS = ("hca3", "hca", "hca:paper", "jk", "jk:paper", "netgauge", "netgauge:paper", "skampi")
SECONDS = range(61)


def errors_us(launch: Launch, shift_seconds: int, ppm: float) -> list[float]:
    """Return how far the global clock of the second host is from that of the first, in µs, at each
    of SECONDS after the synchronisation. A model without a slope does not say when it was learnt:
    there the error that the launch has measured grows with the drift."""
    model = launch.of(ClockModel)[1]
    if model.slope == 0:
        (start, *_) = launch.of(ClockError)
        return [start.errors_ns[1] / 1e3 + ppm * second for second in SECONDS]
    rate = 1 + ppm * 1e-6
    errors = []
    for second in SECONDS:
        local_ns = model.origin_ns + second * 1_000_000_000
        # local = rate * (true + shift); both terms stand at 10^15 and more.
        behind_ns = local_ns - round(local_ns * (ppm * 1e-6) / rate) - shift_seconds * 1_000_000_000
        told_ns = local_ns + model.offset_ns + model.slope * (local_ns - model.origin_ns)
        errors.append((told_ns - behind_ns) / 1e3)
    return errors


def measured(two: Hosts, probe: Probe, preload: Path, algorithm: str, asked: Any) -> list[float]:
    plan = probe.write(
        f"set blocks=1 runtime=global clock_sync={algorithm} clock_fit_ms={asked.fit}\n"
        "case id=0 function=MPI_Reduce_local bytes=8 reps=5\n"
    )
    out = probe.folder / "records.ndjson"
    out.unlink(missing_ok=True)
    environment = {
        "LD_PRELOAD": str(preload),
        "PLUMBLINE_TEST_DRIFT": f"{two.names[1]}:{asked.ppm}",
    }
    words = [str(probe.binary), "--plan", str(plan), "--out", str(out)]
    launch = probe.start(two.command(1, words, environment), out)
    return errors_us(launch, two.shift_seconds[1], asked.ppm)


def picture(errors: dict[str, list[float]], ppm: float) -> dict[str, Any]:
    rows = [
        {"algorithm": name, "seconds": second, "error": abs(error)}
        for name, every in errors.items()
        for second, error in zip(SECONDS, every, strict=True)
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"Two hosts, clocks {ppm:g} ppm apart",
        "width": 420,
        "height": 260,
        "data": {"values": rows},
        "mark": "line",
        "encoding": {
            "x": {"field": "seconds", "type": "quantitative", "title": "s after synchronisation"},
            "y": {
                "field": "error",
                "type": "quantitative",
                "scale": {"type": "symlog", "constant": 0.1},
                "title": "residual error, µs",
            },
            "color": {"field": "algorithm", "type": "nominal", "sort": list(errors)},
            "strokeDash": {"field": "algorithm", "type": "nominal", "sort": list(errors)},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ppm", type=float, default=20)
    parser.add_argument(
        "--fit", type=int, default=500, help="milliseconds over which drift is learnt"
    )
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        preload = folder / "libdrifting.so"
        words = ["mpicc", "-O1", "-shared", "-fPIC", "-o", str(preload)]
        subprocess.run([*words, str(HERE / "drifting.c"), "-ldl"], check=True)
        probe = Probe(build_folder() / "probe", folder, preload)
        shift = 1000 if shifts_are_possible() else 0
        with hosts(folder, 2, shift) as two:
            errors = {name: measured(two, probe, preload, name, asked) for name in ALGORITHMS}
    for algorithm, every in errors.items():
        at = ", ".join(f"{every[second]:.2f} µs after {second} s" for second in (0, 1, 10, 60))
        print(f"{algorithm:<15} {at}")
    if asked.picture is not None:
        asked.picture.write_text(chart.render(picture(errors, asked.ppm)), encoding="utf-8")


if __name__ == "__main__":
    main()
