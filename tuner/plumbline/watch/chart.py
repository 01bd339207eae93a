"""The CUSUM of a cell: its reference, its threshold, and a step of its sums. Arrays, a value a
cell; in scales of the cell.

A sum gathers what lies beyond half of the change that is looked for, where it gathers fastest
(Lorden 1971; Moustakides, Annals of Statistics 14 (1986): no other rule finds it sooner). That
change is as small as the cell's noise lets be found in some canaries, and between SMALLEST and
LARGEST where it can be."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from plumbline.watch.baseline import MIDDLE_ERROR
from plumbline.watch.design import Design
from plumbline.watch.run_length import GAIN, threshold

SMALLEST, LARGEST = math.log(1.05), math.log(1.2)
# References in scales: the reference for the smallest change that about six canaries find, and the
# least reference, because a slightly wrong middle would fill a sum with a smaller one.
PROMPT, LEAST = 1.4, 0.8
# Thresholds are computed for references of multiples of this.
STEP = 0.1

Vector = NDArray[np.float64]


def references(scales: Vector) -> Vector:
    """Half of the change that is looked for, in scales."""
    prompt = np.clip(PROMPT * scales, SMALLEST / 2, LARGEST / 2)
    return np.asarray(np.maximum(prompt / scales, LEAST))


def thresholds(design: Design, references: Vector) -> Vector:
    """Return those for the design's run length, with middles that were learnt a standard error
    wrong. Between multiples of STEP on a straight line, which lies above: thresholds bend
    upwards."""
    error = MIDDLE_ERROR / math.sqrt(design.learning)
    steps = np.maximum((references - error) / STEP, 1.0)
    below = np.floor(steps).astype(int)
    threshold_of_step = {
        multiple: threshold(round(multiple * STEP, 6), design.run_length)
        for multiple in {*below.tolist(), *(below + 1).tolist()}
    }
    low, high = (
        np.array([threshold_of_step[multiple] for multiple in at.tolist()])
        for at in (below, below + 1)
    )
    return np.asarray(low + (steps - below) * (high - low))


def step(sums: Vector, values: Vector, references: Vector) -> Vector:
    """The sums after one more value: no value counts for more than GAIN above its reference."""
    return np.asarray(np.maximum(0.0, sums + np.minimum(values - references, GAIN)))
