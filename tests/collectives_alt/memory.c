/* The cap of a profile: after each call no communicator keeps more scratch memory than that, and
 * what needs more is left to the library. Linked with the sources of the preload library, to look
 * at what is kept. usage: memory CAP */
#include "preload/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pl_function_state *bcast = &pl_state.functions[PL_FN_bcast];

enum { MOST = 1 << 17, BLOCK = 64 };

/* Variants with different slots, each within the cap where it is called alone. Returns whether the
 * results are right. */
static int alternate(size_t cap, int rank, int p, size_t *largest)
{
    int good = 1;
    for (int step = 0; step < 8; step++) {
        const int volumes = step % 2 ? 2 : 3; /* of scratch: allgather_bruck, alltoall_bruck */
        const size_t words = 4096 + 256 * (size_t)p, all = cap / (size_t)volumes;
        const int block = all > words + 64 ? (int)((all - words) / (size_t)p) : 1;
        char *mine = malloc((size_t)block * (size_t)p), *out = malloc((size_t)block * (size_t)p);
        memset(mine, rank + step, (size_t)block * (size_t)p);
        memset(out, -1, (size_t)block * (size_t)p);
        if (step % 2)
            MPI_Allgather(mine, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
        else
            MPI_Alltoall(mine, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
        for (int i = 0; i < p; i++)
            good = good && out[i * block] == i + step && out[(i + 1) * block - 1] == i + step;
        const size_t kept = pl_scratch_kept(MPI_COMM_WORLD);
        *largest = kept > *largest ? kept : *largest;
        free(out);
        free(mine);
    }
    return good;
}

int main(int argc, char **argv)
{
    int rank, p, good = 1;
    size_t largest = 0;
    long long left = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const size_t cap = (size_t)atoll(argv[1]);
    char *buffer = malloc(2 * MOST);
    /* Up and down, contiguous and packed, so that blocks of several slots are kept. */
    MPI_Datatype gaps;
    MPI_Type_vector(BLOCK, 1, 2, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    for (int step = 0; step < 40; step++) {
        const int bytes = step % 2 ? MOST >> (step / 4) : BLOCK << (step / 4);
        const int count = bytes / BLOCK, end = count * (2 * BLOCK - 1) - 1;
        memset(buffer, rank == 0 ? step : -1, 2 * MOST);
        if (step % 4 > 1)
            MPI_Bcast(buffer, count, gaps, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        good = good && buffer[0] == step && buffer[step % 4 > 1 ? end : bytes - 1] == step;
        const size_t kept = pl_scratch_kept(MPI_COMM_WORLD);
        largest = kept > largest ? kept : largest;
    }
    left = atomic_load(&bcast->calls) - atomic_load(&bcast->replaced);
    MPI_Type_free(&gaps);
    free(buffer);
    if (cap <= 1 << 20)
        good = alternate(cap, rank, p, &largest) && good;
    good = good && largest <= cap;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s largest=%zu replaced=%lld left=%lld others=%lld\n", good ? "ok" : "not ok",
               largest, atomic_load(&bcast->replaced), left,
               atomic_load(&pl_state.functions[PL_FN_alltoall].replaced) +
                   atomic_load(&pl_state.functions[PL_FN_allgather].replaced));
    MPI_Finalize();
    return !good;
}
