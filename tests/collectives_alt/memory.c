/* The cap of a profile: after each call no communicator keeps more scratch memory than that, and
 * what needs more is left to the library. Linked with the sources of the preload library, to look
 * at what is kept. usage: memory CAP */
#include "preload/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pl_function_state *bcast = &pl_state.functions[PL_FN_bcast];

int main(int argc, char **argv)
{
    enum { MOST = 1 << 17, BLOCK = 64 };
    int rank, good = 1;
    size_t largest = 0;
    long long left = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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
    good = good && largest <= cap;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s largest=%zu replaced=%lld left=%lld\n", good ? "ok" : "not ok", largest,
               atomic_load(&bcast->replaced), left);
    MPI_Finalize();
    return !good;
}
