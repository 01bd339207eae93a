#!/bin/bash
#SBATCH --job-name=application
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --time=01:00:00

# Where the site has a database, it says so by PLUMBLINE_DB and PLUMBLINE_SPOOL (tune-slurm-prolog.sh).
plumbline run --tune 2m -- mpirun -np "$SLURM_NTASKS" ${APPLICATION:-./application}
