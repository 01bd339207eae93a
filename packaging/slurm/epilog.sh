#!/bin/sh
# A look of plumbline watch on the nodes of a user's own job, when that is at its end: for the last
# line of a batch script, `sh epilog.sh watch.toml`. It costs the rest of the job's time, and no
# other nodes. SIGTERM (preemption, the time limit) ends it; what was measured is kept.
set -eu
exec plumbline watch --once "$1"
