/* Calls that move nothing, under the preload library: ranks write the empty signature as no
 * elements of 4 GiB, as no integers, or as elements of size 0, and all must decide alike and wait
 * for the same messages. Prints "ok" when the last call, which moves something, was right.
 * Needs two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64, FORMS = 3 };

struct form {
    int count, counts[MOST];
    MPI_Datatype type;
};

int main(int argc, char **argv)
{
    int rank, p, size, displs[MOST] = {0};
    char out[8], in[8];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype huge, none;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &p);
    MPI_Type_contiguous(1 << 30, MPI_INT, &huge);
    MPI_Type_commit(&huge);
    MPI_Type_size(huge, &size);
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    struct form forms[FORMS] = {{.type = MPI_INT}, {.type = huge}, {.count = 1, .type = none}};
    for (int i = 0; i < p; i++)
        forms[2].counts[i] = 1;
    memset(out, 1, sizeof out);
    memset(in, 1, sizeof in);
    for (int turn = 0; turn < FORMS * FORMS; turn++) {
        const struct form *s = &forms[(rank + turn) % FORMS],
                          *r = &forms[(rank + turn / 3) % FORMS];
        for (int root = 0; root < p; root += p - 1) {
            MPI_Bcast(in, r->count, r->type, root, world);
            MPI_Gather(out, s->count, s->type, in, r->count, r->type, root, world);
            MPI_Gatherv(out, s->count, s->type, in, r->counts, displs, r->type, root, world);
            MPI_Scatter(out, s->count, s->type, in, r->count, r->type, root, world);
            MPI_Scatterv(out, s->counts, displs, s->type, in, r->count, r->type, root, world);
        }
        MPI_Allgather(out, s->count, s->type, in, r->count, r->type, world);
        MPI_Allgather(MPI_IN_PLACE, 0, s->type, in, r->count, r->type, world);
        MPI_Allgatherv(out, s->count, s->type, in, r->counts, displs, r->type, world);
        MPI_Alltoall(out, s->count, s->type, in, r->count, r->type, world);
        MPI_Alltoall(MPI_IN_PLACE, 0, s->type, in, r->count, r->type, world);
        MPI_Alltoallv(out, s->counts, displs, s->type, in, r->counts, displs, r->type, world);
    }
    int good = size == MPI_UNDEFINED, sum = 0;
    for (size_t i = 0; i < sizeof in; i++)
        good = good && in[i] == 1;
    MPI_Allreduce(&good, &sum, 1, MPI_INT, MPI_SUM, world);
    if (rank == 0)
        printf("%s\n", sum == p ? "ok" : "not ok");
    MPI_Type_free(&huge);
    MPI_Type_free(&none);
    MPI_Finalize();
    return sum != p;
}
