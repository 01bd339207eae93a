"""Signals end a command once, and cut nothing short that is on its way out."""

from __future__ import annotations

import signal
import threading

import pytest

from plumbline.system import ending

ALL = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ALL)
def test_each_raises_where_the_main_thread_is(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with ending.by_signals():
        with pytest.raises(ending.Ended) as raised:
            signal.raise_signal(number)
        assert raised.value.signal == number
        assert raised.value.by_hand == (number == signal.SIGINT)
        assert isinstance(raised.value, KeyboardInterrupt)  # what others know to let through
        assert not ending.in_haste()
    assert signal.getsignal(number) == before


def test_the_second_is_only_told_and_the_third_raises() -> None:
    with ending.by_signals():
        with pytest.raises(ending.Ended):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert ending.in_haste()
        with pytest.raises(ending.Ended):
            signal.raise_signal(signal.SIGINT)
    with ending.by_signals():
        assert not ending.in_haste()


def test_what_is_held_comes_at_the_end_of_the_block() -> None:
    passed = []
    with ending.by_signals(), pytest.raises(ending.Ended):
        with ending.held():
            signal.raise_signal(signal.SIGTERM)
            passed.append("inside")
        passed.append("after")
    assert passed == ["inside"]


def test_what_this_process_was_started_to_ignore_is_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending.by_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_are_not_asked() -> None:
    done = []

    def work() -> None:
        with ending.by_signals(), ending.held():
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
