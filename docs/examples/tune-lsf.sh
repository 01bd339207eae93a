#!/bin/bash
#BSUB -J application
#BSUB -n 4
#BSUB -R "span[hosts=1]"
#BSUB -W 60

plumbline run --tune 2m -- mpirun -np 4 ./application
