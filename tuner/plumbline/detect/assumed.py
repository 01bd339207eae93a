"""The operator of a reduction of which not all operands were sent. A rank that adds its own term to
what it gets, and hands on the sum, could as well hand on anything: what is left for the term
must be like the terms that were sent."""

from __future__ import annotations

import msgspec
import numpy as np

from plumbline.detect import operators
from plumbline.detect.columns import Indices
from plumbline.detect.combined import Combined
from plumbline.detect.traffic import Traffic

# With so many bits of evidence a chain is a reduction and no pipeline.
ENOUGH = 8.0
# At least this share of the terms must look like the terms that were sent.
MOST = 0.9
# Bits of evidence in the norm of a term: many elements contribute to it, so it counts for more than
# a single element.
BITS_OF_A_NORM = 3.0
# At least this share of the larger values must come from the other rank.
HANDED_ON = 0.1


class Assumed(msgspec.Struct, frozen=True):
    """`bits`: how unlikely it is that contents agree with the operator by chance."""

    name: str
    bits: float


def assumed(traffic: Traffic, whole: Indices, combined: Combined) -> Assumed | None:
    """`whole`: messages that are a rank's own term. None: contents contradict all operators that
    are looked at."""
    if not len(combined):
        return Assumed("", 0.0)
    bits = {
        name: speaking.bits * len(combined.operands.at)
        for name, speaking in operators.partly(traffic, combined).items()
        if speaking.agree.all()
    }
    if bits and operators.handed_on(traffic, combined) >= HANDED_ON:
        name = max(bits, key=lambda operator: bits[operator])
        return Assumed(name, bits[name])
    summed = _sum_bits(traffic, whole, combined)
    return None if summed is None else Assumed("SUM", summed)


def _sum_bits(traffic: Traffic, whole: Indices, combined: Combined) -> float | None:
    """A bit for each term that has the sign of all that were sent, and their size; None: terms
    lie where none was sent."""
    if not len(whole):
        return 0.0
    sent, own_terms = operators.terms(traffic, whole), operators.left(traffic, combined)
    if not sent.size or not own_terms.size:
        return 0.0
    low, high = float(sent.min()), float(sent.max())
    if not operators.exact(traffic, int(combined.messages[0])):
        likely = (own_terms >= low / 2) & (own_terms <= 2 * high)
        return BITS_OF_A_NORM * len(combined) if low > 0 and likely.mean() >= MOST else 0.0
    slack = 1.25 * (high - low) + 0.5 * max(abs(low), abs(high))
    if np.mean((own_terms >= low - slack) & (own_terms <= high + slack)) < MOST:
        return None
    if low <= 0 <= high:
        return 0.0
    same_sign = np.sign(own_terms) == np.sign(low)
    likely = same_sign & (np.abs(own_terms) <= 3 * max(abs(low), abs(high)))
    return float(own_terms.size) if likely.mean() >= MOST else 0.0
