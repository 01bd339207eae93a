"""Output of PICO and ReFrame, and tables of OSU and IMB of kinds that are easily confused."""

from __future__ import annotations

PICO = """collective_type,array_dim,buffer_size,algo_name,datatype,mean,median,std,min,max,nnodes,tasks_per_node,n_iter,iqr,system,timestamp,test_id,MPI_Op,gpu_awareness,gpu_lib,mpi_lib,mpi_lib_version
ALLREDUCE,8,32,ring_ompi,int32,2500.0,2400.0,10.0,2000,4000,8,2,100,5.0,a,2025_03_12,0,MPI_SUM,no,null,OMPI,4.1.6
ALLREDUCE,16,64,ring_ompi,int32,2600.0,2450.0,10.0,2100,4100,8,2,100,5.0,a,2025_03_12,0,MPI_SUM,no,null,OMPI,4.1.6
ALLREDUCE,8,32,bine_lat,int32,1500.0,1400.0,10.0,1000,3000,8,2,100,5.0,a,2025_03_12,0,MPI_SUM,no,null,OMPI,4.1.6
ALLGATHER,8,32,ring_ompi,int32,3500.0,3400.0,10.0,3000,5000,8,1,100,5.0,a,2025_03_12,1,null,no,null,OMPI,4.1.6
ALLGATHER,8,32,ring_ompi
"""  # noqa: E501

PICO_SINGLE = "highest,rank0,rank1\n2000,1900,2000\n2100,2100,2000\n"

REFRAME = """result|job_completion_time|descr|environ|num_tasks|system|partition|unique_name|latency_value|latency_unit|latency_ref|latency_lower_thres|latency_upper_thres|bw_value|bw_unit|bw_ref|bw_lower_thres|bw_upper_thres
pass|2025-03-01T10:00:00+00:00|latency|gnu|2|a|cpu|osu_latency|1.25|us|1.2|-0.1|0.1|24000|MB/s|0|null|null
pass|2025-03-02T10:00:00+00:00|latency|gnu|2|a|cpu|osu_latency|1.5|us|1.2|-0.1|0.1|23000|MB/s|0|null|null
fail|2025-03-03T10:00:00+00:00|latency|gnu|2|a|cpu|osu_latency|9.5|us|1.2|-0.1|0.1|100|MB/s|0|null|null
pass|2025-03-01T10:00:00+00:00|latency|intel|2|a|cpu|osu_latency|2.5|us|1.2|-0.1|0.1|24000|MB/s|0|null|null
"""  # noqa: E501

REFRAME_OLD = """2022-05-01T10:00:00|reframe 3.10.1|osu_allreduce on a:cpu using gnu|jobid=17|num_tasks=8|latency=3.25|ref=3.0 (l=-0.1, u=0.1)|us
2022-05-01T10:00:00|reframe 3.10.1|osu_bw on a:cpu using gnu|jobid=18|num_tasks=2|bandwidth=24000.0|ref=0 (l=None, u=None)|MB/s
"""  # noqa: E501


def osu(title: str, *rows: str, comments: str = "", header: str = "") -> str:
    """Return a table as OSU prints it."""
    header = header or "# Size       Avg Latency(us)"
    lines = [f"# OSU {title} Test v7.4", *([comments] if comments else []), header, *rows]
    return "\n" + "\n".join(lines) + "\n"


def row(size: int, *values: object) -> str:
    return f"{size:<10}" + "".join(f"{value:>18}" for value in values)


def imb(*sections: str, version: str = "2021.7", call: str = "IMB-MPI1 Allreduce") -> str:
    """Return an output as IMB prints it."""
    head = (
        f"#    Intel(R) MPI Benchmarks {version}, MPI-1 part\n# Date   : Tue Nov 24 10:40:18 2026\n"
        f"\n# Calling sequence was: \n\n# {call}\n\n# MPI_Datatype  :   MPI_BYTE \n"
        "# MPI_Datatype for reductions    :   MPI_FLOAT\n# MPI_Op        :   MPI_SUM  \n"
    )
    return head + "".join(sections) + "\n\n# All processes entering MPI_Finalize\n\n"


def section(name: str, columns: str, *rows: str, about: str = "# #processes = 4") -> str:
    names = "".join(f"{name:>13}" for name in columns.split())
    numbers = "\n".join("".join(f"{word:>13}" for word in line.split()) for line in rows)
    line = "#" + "-" * 60
    return f"\n{line}\n# Benchmarking {name} \n{about} \n{line}\n{names}\n{numbers}\n"
