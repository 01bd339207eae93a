"""Whether processes may read each other's memory here (CMA)."""

from __future__ import annotations

import subprocess
import sys

READ = """
import ctypes, sys
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
into = ctypes.create_string_buffer(8)
mine, theirs = Part(ctypes.addressof(into), 8), Part(int(sys.argv[2]), 8)
call = ctypes.CDLL(None, use_errno=True).process_vm_readv
sys.exit(call(int(sys.argv[1]), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0) != 8)
"""
OFFER = """
import ctypes, sys
mine = ctypes.create_string_buffer(8)
print(ctypes.addressof(mine), flush=True)
sys.stdin.read()
"""


def memory_can_be_read() -> bool:
    """One process reads from another that is not its child, as ranks do."""
    words = [sys.executable, "-c", OFFER]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as offering:
        assert offering.stdout is not None
        address = offering.stdout.readline().strip()
        reader = [sys.executable, "-c", READ, str(offering.pid), address]
        done = subprocess.run(reader, capture_output=True, check=False, timeout=20)
        offering.terminate()
    return done.returncode == 0
