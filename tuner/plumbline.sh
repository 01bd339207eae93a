#!/bin/sh
# `plumbline` of an installed tree. Finds its own prefix, so that the tree can be moved.
prefix=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." && pwd) || exit 1
exec "${PLUMBLINE_PYTHON:-python3}" -I -c '
import sys
sys.path.insert(0, sys.argv.pop(1))
sys.argv[0] = sys.argv.pop(1)
from plumbline.cli import main
main()' "$prefix/lib/plumbline/python" "$0" "$@"
