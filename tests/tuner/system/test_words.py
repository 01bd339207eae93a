"""Numbers of things."""

from plumbline.system.words import counted


def test_one_thing_is_no_plural() -> None:
    assert counted(1, "launch") == "1 launch" and counted(0, "launch") == "0 launches"
    assert counted(1, "processing unit") == "1 processing unit"
    assert counted(2, "processing unit") == "2 processing units"
