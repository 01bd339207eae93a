"""Write matrix.txt: the pattern of a symmetric sparse matrix.

Points lie at random in a cube, and each has entries for all points nearer than RADIUS, as on a
coarse level of algebraic multigrid. Points are numbered along a Z-order curve, so that neighbours
have near numbers, as after partitioning. `python matrix.py` beside matrix.txt makes the same file.
"""

from __future__ import annotations

import random
from pathlib import Path

POINTS, RADIUS, SEED = 1024, 0.16, 43


def z_order(point: tuple[float, ...]) -> int:
    """Return the place of a point of the unit cube on a curve through 1024^3 cells."""
    cells = [int(coordinate * 1024) for coordinate in point]
    return sum(
        (cell >> bit & 1) << (3 * bit + d) for bit in range(10) for d, cell in enumerate(cells)
    )


def main() -> None:
    draw = random.Random(SEED)
    points = sorted((tuple(draw.random() for _ in range(3)) for _ in range(POINTS)), key=z_order)
    lines = [f"{POINTS} rows"]
    for i, one in enumerate(points):
        near = [
            j
            for j in range(i + 1, POINTS)
            if sum((a - b) ** 2 for a, b in zip(one, points[j], strict=True)) < RADIUS**2
        ]
        lines.append(" ".join(map(str, near)))
    Path(__file__).with_name("matrix.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
