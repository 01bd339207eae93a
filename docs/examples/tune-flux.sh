#!/bin/bash
#flux: --job-name=application
#flux: --nodes=1
#flux: --nslots=4
#flux: --time-limit=60m

plumbline run --tune 2m -- mpirun -np 4 ./application
