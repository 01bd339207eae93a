/* Every collective that is recorded, blocking and with a request, with what each rank gave and got.
 */
#include "truth.h"

static int rank, p;
static int out[64], in[64], whole[64], values[64];

/* Of rank r: r·100, r·100 + 1, … */
static const int *of(int r, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = 100 * r + i;
    return values;
}

static const int *summed(int ranks, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = 100 * ranks * (ranks - 1) / 2 + ranks * i;
    return values;
}

/* The k-th pair of all ranks behind each other. */
static const int *all_pairs(int k)
{
    for (int r = 0; r < p; r++)
        for (int i = 0; i < 2; i++)
            values[2 * r + i] = 100 * r + 2 * k + i;
    return values;
}

static void told(const char *name, int flags, int root, const int *input, int inputs)
{
    tell(name, INPUT, STANDARD, flags, root, -1, input, 4LL * inputs);
}

static void got(const char *name, int flags, int root, const int *output, int outputs)
{
    tell(name, OUTPUT, STANDARD, flags, root, -1, output, 4LL * outputs);
}

#define EITHER(Name, name, ...)                                                                    \
    (request_too ? (MPI_I##name(__VA_ARGS__, &request), MPI_Wait(&request, MPI_STATUS_IGNORE))     \
                 : MPI_##Name(__VA_ARGS__))
#define NAME(Name, name) (request_too ? "MPI_I" #name : "MPI_" #Name)

static void rooted(int root, int request_too)
{
    const int flags = request_too ? NONBLOCKING : 0, is_root = rank == root;
    int counts[64], displs[64];
    MPI_Request request;
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int i = 0; i < 64; i++)
        out[i] = 100 * rank + i;
    for (int r = 0; r < p; r++)
        counts[r] = 2, displs[r] = 3 * r;

    told(NAME(Bcast, bcast), flags, root, of(root, 20), is_root ? 20 : 0);
    got(NAME(Bcast, bcast), flags, root, of(root, 20), 20);
    if (is_root)
        EITHER(Bcast, bcast, out, 20, MPI_INT, root, comm);
    else
        EITHER(Bcast, bcast, in, 20, MPI_INT, root, comm);
    told(NAME(Gather, gather), flags, root, of(rank, 2), 2);
    got(NAME(Gather, gather), flags, root, all_pairs(0), is_root ? 2 * p : 0);
    EITHER(Gather, gather, out, 2, MPI_INT, whole, 2, MPI_INT, root, comm);
    told(NAME(Gatherv, gatherv), flags, root, of(rank, 2), 2);
    got(NAME(Gatherv, gatherv), flags | (is_root ? GAPS : 0), root, all_pairs(0),
        is_root ? 2 * p : 0);
    EITHER(Gatherv, gatherv, out, 2, MPI_INT, whole, counts, displs, MPI_INT, root, comm);
    told(NAME(Scatter, scatter), flags, root, of(root, 2 * p), is_root ? 2 * p : 0);
    for (int i = 0; i < 2; i++)
        values[i] = 100 * root + 2 * rank + i;
    got(NAME(Scatter, scatter), flags, root, values, 2);
    EITHER(Scatter, scatter, out, 2, MPI_INT, in, 2, MPI_INT, root, comm);
    told(NAME(Reduce, reduce), flags, root, of(rank, 5), 5);
    got(NAME(Reduce, reduce), flags, root, summed(p, 5), is_root ? 5 : 0);
    EITHER(Reduce, reduce, out, in, 5, MPI_INT, MPI_SUM, root, comm);
}

static void on_all(int request_too)
{
    const int flags = request_too ? NONBLOCKING : 0;
    MPI_Request request;
    MPI_Comm comm = MPI_COMM_WORLD;
    told(request_too ? "MPI_Ibarrier" : "MPI_Barrier", flags, -1, NULL, 0);
    got(request_too ? "MPI_Ibarrier" : "MPI_Barrier", flags, -1, NULL, 0);
    if (request_too)
        MPI_Ibarrier(comm, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        MPI_Barrier(comm);
    told(NAME(Allgather, allgather), flags, -1, of(rank, 2), 2);
    got(NAME(Allgather, allgather), flags, -1, all_pairs(0), 2 * p);
    EITHER(Allgather, allgather, out, 2, MPI_INT, whole, 2, MPI_INT, comm);
    told(NAME(Allgather, allgather), flags | IN_PLACE, -1, of(rank, 2), 2);
    got(NAME(Allgather, allgather), flags | IN_PLACE, -1, all_pairs(0), 2 * p);
    EITHER(Allgather, allgather, MPI_IN_PLACE, 0, MPI_INT, whole, 2, MPI_INT, comm);
    told(NAME(Alltoall, alltoall), flags, -1, of(rank, 2 * p), 2 * p);
    got(NAME(Alltoall, alltoall), flags, -1, all_pairs(rank), 2 * p);
    EITHER(Alltoall, alltoall, out, 2, MPI_INT, whole, 2, MPI_INT, comm);
    told(NAME(Allreduce, allreduce), flags, -1, of(rank, 5), 5);
    got(NAME(Allreduce, allreduce), flags, -1, summed(p, 5), 5);
    EITHER(Allreduce, allreduce, out, in, 5, MPI_INT, MPI_SUM, comm);
    told(NAME(Scan, scan), flags, -1, of(rank, 5), 5);
    got(NAME(Scan, scan), flags, -1, summed(rank + 1, 5), 5);
    EITHER(Scan, scan, out, in, 5, MPI_INT, MPI_SUM, comm);
    told(NAME(Exscan, exscan), flags, -1, of(rank, 5), 5);
    got(NAME(Exscan, exscan), flags, -1, summed(rank, 5), rank ? 5 : 0);
    EITHER(Exscan, exscan, out, in, 5, MPI_INT, MPI_SUM, comm);
    told(NAME(Reduce_scatter_block, reduce_scatter_block), flags, -1, of(rank, 2 * p), 2 * p);
    summed(p, 2 * p);
    got(NAME(Reduce_scatter_block, reduce_scatter_block), flags, -1, values + 2 * rank, 2);
    EITHER(Reduce_scatter_block, reduce_scatter_block, out, in, 2, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (int request_too = 0; request_too < 2; request_too++) {
        for (int root = 0; root < p; root++)
            rooted(root, request_too);
        on_all(request_too);
    }
    write_truth();
    MPI_Finalize();
    return 0;
}
