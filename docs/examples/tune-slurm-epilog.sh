#!/bin/sh
# For administrators, as EpilogSlurmctld of slurm.conf, or hourly from cron: imports what jobs measured.
# It runs as the user who owns the database. Files that were imported may be removed at any time.
# The spool was made by: mkdir -m 1777 /shared/plumbline/spool
SITE=${SITE:-/shared/plumbline}
plumbline db import "$SITE/spool" --db "$SITE/plumbline.db" >>"$SITE/import.log" 2>&1
find "$SITE/spool" -name '*.plumbline' -mtime +30 -delete
exit 0 # a file that cannot be read must not drain a node
