#!/bin/bash
#PBS -N application
#PBS -l select=1:ncpus=4:mpiprocs=4
#PBS -l walltime=01:00:00

cd "$PBS_O_WORKDIR" || exit 1
plumbline run --tune 2m -- mpirun -np 4 ./application
