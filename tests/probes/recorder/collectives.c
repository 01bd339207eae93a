/* Every collective that is recorded, in each form that the library has, with what each rank gave
 * and got. */
#include "truth.h"

/* Persistent ones are of MPI 4, and in Open MPI 5; functions with MPI_Count of MPI 4. */
enum { PLAIN, WITH_REQUEST, PERSISTENTLY, LARGE, LARGE_PERSISTENTLY };
#if MPI_VERSION >= 4
enum { FORMS = LARGE_PERSISTENTLY + 1 };
#define LARGE_TOO(...) __VA_ARGS__
#define PERSISTENT_TOO(...) __VA_ARGS__
#elif defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5
enum { FORMS = PERSISTENTLY + 1 };
#define LARGE_TOO(...)
#define PERSISTENT_TOO(...) __VA_ARGS__
#else
enum { FORMS = WITH_REQUEST + 1 };
#define LARGE_TOO(...)
#define PERSISTENT_TOO(...)
#endif

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

/* One call; a persistent one is started and freed. */
#define ONCE(Name, end, ...)                                                                       \
    (MPI_##Name##_init##end(__VA_ARGS__, MPI_INFO_NULL, &request), MPI_Start(&request),            \
     MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_Request_free(&request))
#define SAME(Name, name, ...)                                                                      \
    do {                                                                                           \
        if (form == PLAIN)                                                                         \
            MPI_##Name(__VA_ARGS__);                                                               \
        if (form == WITH_REQUEST)                                                                  \
            MPI_I##name(__VA_ARGS__, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);             \
        PERSISTENT_TOO(if (form == PERSISTENTLY) ONCE(Name, , __VA_ARGS__);)                       \
    } while (0)
#define EITHER(Name, name, ...)                                                                    \
    do {                                                                                           \
        SAME(Name, name, __VA_ARGS__);                                                             \
        LARGE_TOO(if (form == LARGE) MPI_##Name##_c(__VA_ARGS__);                                  \
                  if (form == LARGE_PERSISTENTLY) ONCE(Name, _c, __VA_ARGS__);)                    \
    } while (0)
#define NAME(Name, name)                                                                           \
    (form == WITH_REQUEST                                 ? "MPI_I" #name                          \
     : form == PERSISTENTLY || form == LARGE_PERSISTENTLY ? "MPI_" #Name "_init"                   \
                                                          : "MPI_" #Name)

static int flags_of(int form)
{
    const int persistent = form == PERSISTENTLY || form == LARGE_PERSISTENTLY ? PERSISTENT : 0;
    return persistent | (persistent || form == WITH_REQUEST ? NONBLOCKING : 0);
}

static void rooted(int root, int form)
{
    const int flags = flags_of(form), is_root = rank == root;
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
    SAME(Gatherv, gatherv, out, 2, MPI_INT, whole, counts, displs, MPI_INT, root, comm);
    LARGE_TOO(MPI_Count wide[64]; MPI_Aint places[64];
              for (int r = 0; r < p; r++) wide[r] = counts[r], places[r] = displs[r];
              if (form == LARGE)
                  MPI_Gatherv_c(out, 2, MPI_INT, whole, wide, places, MPI_INT, root, comm);
              if (form == LARGE_PERSISTENTLY)
                  ONCE(Gatherv, _c, out, 2, MPI_INT, whole, wide, places, MPI_INT, root, comm);)
    told(NAME(Scatter, scatter), flags, root, of(root, 2 * p), is_root ? 2 * p : 0);
    for (int i = 0; i < 2; i++)
        values[i] = 100 * root + 2 * rank + i;
    got(NAME(Scatter, scatter), flags, root, values, 2);
    EITHER(Scatter, scatter, out, 2, MPI_INT, in, 2, MPI_INT, root, comm);
    told(NAME(Reduce, reduce), flags, root, of(rank, 5), 5);
    got(NAME(Reduce, reduce), flags, root, summed(p, 5), is_root ? 5 : 0);
    EITHER(Reduce, reduce, out, in, 5, MPI_INT, MPI_SUM, root, comm);
}

static void on_all(int form)
{
    const int flags = flags_of(form);
    MPI_Request request;
    MPI_Comm comm = MPI_COMM_WORLD;
    if (form <= PERSISTENTLY) { /* there is nothing large about it */
        told(NAME(Barrier, barrier), flags, -1, NULL, 0);
        got(NAME(Barrier, barrier), flags, -1, NULL, 0);
        SAME(Barrier, barrier, comm);
    }
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

PERSISTENT_TOO(
    /* Two at once, each with another content at each start; their type is gone by then. */
    static void started_again(void) {
        const char *name = "MPI_Bcast_init";
        MPI_Request requests[2];
        MPI_Datatype pair;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        for (int i = 0; i < 2; i++)
            MPI_Bcast_init(out + 20 * i, 3, pair, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        MPI_Type_free(&pair);
        for (int turn = 0; turn < 3; turn++) {
            for (int i = 0; i < 40; i++)
                out[i] = 100 * rank + 10 * turn + i;
            for (int i = 0; i < 2; i++) {
                for (int k = 0; k < 6; k++)
                    values[k] = 100 * i + 10 * turn + 20 * i + k;
                told(name, NONBLOCKING | PERSISTENT, i, values, rank == i ? 6 : 0);
                got(name, NONBLOCKING | PERSISTENT, i, values, 6);
            }
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < 2; i++)
            MPI_Request_free(&requests[i]);
    })

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (int form = 0; form < FORMS; form++) {
        for (int root = 0; root < p; root++)
            rooted(root, form);
        on_all(form);
    }
    PERSISTENT_TOO(started_again();)
    write_truth();
    MPI_Finalize();
    return 0;
}
