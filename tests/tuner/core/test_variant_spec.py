"""Names of variants with parameters."""

from __future__ import annotations

import pytest

from plumbline.core.configuration import VariantSpec, variant_name


@pytest.mark.parametrize("text", ["bcast_chain", "bcast_chain:fan_out=2", "a:b=1,c=2", "default"])
def test_there_and_back(text: str) -> None:
    assert str(VariantSpec.parse(text)) == text


def test_parts() -> None:
    found = VariantSpec.parse("bcast_chain:segment_bytes=8192,fan_out=2")
    assert found.name == "bcast_chain" == variant_name(str(found))
    assert found.parameters == {"segment_bytes": "8192", "fan_out": "2"}
    assert variant_name("bcast_chain") == "bcast_chain"
