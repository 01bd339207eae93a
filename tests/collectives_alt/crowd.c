/* Many communicators at the same time, and calls on each of them. usage: crowd COUNT [own|pairs]
 *   own    as many as COUNT are to be left; the application takes what the library has besides
 *   pairs  before the calls on all ranks, COUNT communicators of ranks 0 and 1 with a call each
 * Without: COUNT communicators of all ranks. Prints "ok" or what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int good = 1;

static void ask(MPI_Comm comm)
{
    int p, one = 1, sum = 0;
    MPI_Comm_size(comm, &p);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    good = good && sum == p;
}

/* Copies until there are no more context ids; what is left is `spare`. */
static int take_all(MPI_Comm *copies, int most, int spare)
{
    int made = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (made < most && MPI_Comm_dup(MPI_COMM_WORLD, &copies[made]) == MPI_SUCCESS)
        made++;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < spare && made > 0; i++)
        MPI_Comm_free(&copies[--made]);
    for (int i = 0; i < made; i++)
        MPI_Comm_set_errhandler(copies[i], MPI_ERRORS_ARE_FATAL);
    return made;
}

int main(int argc, char **argv)
{
    enum { MOST = 4096 };
    static MPI_Comm all[MOST];
    int rank, count = atoi(argv[1]);
    const char *way = argc > 2 ? argv[2] : "";
    MPI_Comm part, last;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(way, "own") == 0) {
        count = take_all(all, MOST, count);
    } else if (strcmp(way, "pairs") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &part);
        for (int i = 0; i < count; i++) {
            MPI_Comm_dup(part, &all[i]);
            ask(all[i]);
        }
        MPI_Comm_dup(MPI_COMM_WORLD, &last);
        ask(last);
        ask(last);
        MPI_Comm_free(&part);
    } else {
        for (int i = 0; i < count; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < count; i++)
            ask(all[i]);
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&all[i]);
    if (strcmp(way, "pairs") == 0) {
        ask(last); /* what was decided there stands */
        MPI_Comm_free(&last);
    }
    ask(MPI_COMM_WORLD); /* there is room again */
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf(good ? "ok\n" : "not ok\n");
    MPI_Finalize();
    return !good;
}
