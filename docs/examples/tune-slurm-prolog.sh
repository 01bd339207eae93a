#!/bin/sh
# For administrators, as TaskProlog of slurm.conf: every job of the site has these two variables.
# Slurm adds what is printed as `export NAME=VALUE` to the environment of the job.
echo "export PLUMBLINE_DB=${SITE:-/shared/plumbline}/plumbline.db"
echo "export PLUMBLINE_SPOOL=${SITE:-/shared/plumbline}/spool"
