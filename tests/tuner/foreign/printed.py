"""What other programs print, in short, with every kind of line that they have."""

from __future__ import annotations

OSU = """
# OSU MPI Allreduce Latency Test v5.3
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       2.50              2.00              3.00        1000
8                       2.75              2.25              3.25        1000

# OSU MPI Gather Latency Test v5.3
# Size       Avg Latency(us)
8                       1.00
16                      1.50
# OSU MPI Barrier Latency Test v5.3
# Avg Latency(us)
             3.25
# OSU MPI Non-blocking Broadcast Latency Test v5.3
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)        Overlap(%)
1                       5.50              2.00              0.25              0.00             95.00
# OSU MPI Latency Test v5.3
# Size          Latency (us)
0                       0.25
8                       0.30
# OSU MPI Bandwidth Test v5.3
# Size      Bandwidth (MB/s)
1                       4.00
"""

IMB = """#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#------------------------------------------------------------
# Date                  : Tue Nov 24 10:40:18 2026
# MPI Version           : 3.1
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_FLOAT
# MPI_Op                         :   MPI_SUM

# List of Benchmarks to run:

# PingPong
# Gather
# Barrier

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.34         0.00
            8         1000         0.36        22.10

#----------------------------------------------------------------
# Benchmarking Gather
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.50         0.60         0.55
#----------------------------------------------------------------
# Benchmarking Gather
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.70         0.90         0.80
           16          500         0.75         0.95         0.85

# Benchmarking Barrier
# #processes = 4
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         2.39         2.41         2.40


# All processes entering MPI_Finalize

"""

SKAMPI = """# SKaMPI Version 5.0 rev. 191

begin result "MPI_Bcast-nodes-length"
nodes= 2 count= 1        4       6.6       0.1       54       3.1       6.6
nodes= 4 count= 1        4       8.5       0.2       32       3.1       6.6  7.0  8.0
nodes= 4 count= 2        8       9.5       0.2       32       3.1       6.6  7.0  8.0
end result "MPI_Bcast-nodes-length"
# duration = 0.03 sec

begin result "MPI_Barrier-nodes"
nodes= 4       5.5       0.1       16       3.1       6.6
end result "MPI_Barrier-nodes"
begin result "Pingpong_Send_Recv"
count= 1        4       0.5       0.0       8       0.5       0.5
end result "Pingpong_Send_Recv"
"""

REPROMPI = """#Command-line arguments:  ./mpibenchmark --calls-list=MPI_Allreduce --nrep=10 --summary
#@operation=MPI_BOR
#@datatype=MPI_BYTE
#@datatype_extent_bytes=1
#@reproMPIcommitSHA1=0123456789abcdef
#@nprocs=4
#@sync=MPI_Barrier
#@nrep=10
              test        count total_nrep valid_nrep       mean_sec     median_sec        min_sec        max_sec
     MPI_Allreduce            1         10         10   0.0000038767   0.0000027941   0.0000022941   0.0000097081
     MPI_Allreduce           10         10          8   0.0000033106   0.0000030460   0.0000028401   0.0000047381
"""  # noqa: E501

REPROMPI_RAW = """#@nprocs=4
#@sync=MPI_Barrier
#@datatype_extent_bytes=4
           test       nrep      count     runtime_sec
     MPI_Gather          0          2    0.0000030000
     MPI_Gather          1          2    0.0000050000
     MPI_Gather          2          2    0.0000040000
"""

MADMPI = """# MadMPI benchmark version 2.1
# bench: mpi_bench_sendrecv begin
# size  |  latency     |   10^6 B/s   |   MB/s   |  median  | q1 | q3 | d1 | d9 | avg | max
      0        0.500         0.000         0.000     0.600   0.55   0.65   0.52   0.70   0.61   2.00
      8        0.550        14.545        13.871     0.650   0.60   0.70   0.56   0.75   0.66   2.10
# bench: mpi_bench_sendrecv end
"""

MPIP = """@ mpiP
@ Command : ./app -n 100
@ Version                  : 3.5.0
@ Start time               : 2026 11 24 10:40:18
@ MPI Task Assignment      : 0 node1
@ MPI Task Assignment      : 1 node1
@ MPI Task Assignment      : 2 node2
@ MPI Task Assignment      : 3 node2

---------------------------------------------------------------------------
@--- MPI Time (seconds) ---------------------------------------------------
---------------------------------------------------------------------------
Task    AppTime    MPITime     MPI%
   0         10          2    20.00
   1         11          2    18.00
   *         42          8    19.00
---------------------------------------------------------------------------
@--- Callsites: 3 ---------------------------------------------------------
---------------------------------------------------------------------------
 ID Lev File/Address        Line Parent_Funct             MPI_Call
  1   0 main.c               40 main                     Allreduce
  2   0 main.c               41 main                     Gather
  3   0 main.c               42 main                     Send
---------------------------------------------------------------------------
@--- Callsite Time statistics (all, milliseconds): 12 ---------------------
---------------------------------------------------------------------------
Name              Site Rank  Count      Max     Mean      Min   App%   MPI%
Allreduce            1    0    100     0.50     0.20     0.01   1.00   5.00
Allreduce            1    1    100     0.50     0.10     0.02   1.00   5.00
Allreduce            1    2    100     0.50     0.10     0.01   1.00   5.00
Allreduce            1    3    100     0.50     0.10     0.01   1.00   5.00
Allreduce            1    *    400     0.50     0.12     0.01   1.00   5.00
Gather               2    0     10     1.00     0.50     0.10   1.00   5.00
Gather               2    1     10     1.00     0.50     0.10   1.00   5.00
Gather               2    2     10     1.00     0.50     0.10   1.00   5.00
Gather               2    3     10     1.00     0.50     0.10   1.00   5.00
Send                 3    0      5     1.00     0.50     0.10   1.00   5.00
---------------------------------------------------------------------------
@--- Callsite Message Sent statistics (all, sent bytes) -------------------
---------------------------------------------------------------------------
Name              Site Rank   Count       Max      Mean       Min       Sum
Allreduce            1    0     100       800       800       800     8e+04
Allreduce            1    1     100       800       800       800     8e+04
Gather               2    0      10        16        16        16       160
Send                 3    0       5        16        16        16        80
"""
