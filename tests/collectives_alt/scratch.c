/* What all communicators of a process keep together stays below the cap of a profile; those that
 * were called least recently give back theirs. Linked with the sources of the preload library, to
 * look at what is kept. usage: scratch CAP (room for 2 vectors of 64 KiB or more) */
#include "preload/preload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMMUNICATORS = 24, ELEMENTS = 1 << 14, ROUNDS = 3, THREADS = 2 };

static size_t cap;

/* Whether the result is right. */
static int ask(MPI_Comm comm, int value)
{
    static _Thread_local int vector[ELEMENTS];
    int p, good = 1;
    MPI_Comm_size(comm, &p);
    for (int i = 0; i < ELEMENTS; i++)
        vector[i] = value + i;
    MPI_Allreduce(MPI_IN_PLACE, vector, ELEMENTS, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < ELEMENTS; i++)
        good = good && vector[i] == p * (value + i);
    return good;
}

static int in_turn(void)
{
    MPI_Comm all[COMMUNICATORS];
    int good = 1;
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < COMMUNICATORS; i++) {
            good = good && ask(all[i], round) && ask(all[0], i);
            good = good && pl_scratch_held() <= cap && pl_scratch_kept(all[i]) > 0;
        }
    /* Called again and again; long ago; last. */
    good = good && pl_scratch_kept(all[0]) > 0 && pl_scratch_kept(all[1]) == 0 &&
           pl_scratch_kept(all[COMMUNICATORS - 1]) > 0;
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_free(&all[i]);
    return good && pl_scratch_held() == 0 && pl_private_made() == 0;
}

static void *work(void *argument)
{
    MPI_Comm *base = argument, all[COMMUNICATORS];
    long good = 1;
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_dup(*base, &all[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < COMMUNICATORS; i++)
            good = good && ask(all[i], i);
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_free(&all[i]);
    return (void *)good;
}

static int at_the_same_time(void)
{
    pthread_t threads[THREADS];
    MPI_Comm base[THREADS];
    int good = 1;
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &base[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &base[i]);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        good = good && result;
        MPI_Comm_free(&base[i]);
    }
    return good && pl_scratch_held() == 0;
}

int main(int argc, char **argv)
{
    int level, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cap = (size_t)atoll(argv[1]);
    int good[2] = {in_turn(), level < MPI_THREAD_MULTIPLE || at_the_same_time()};
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : good, good, 2, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
    const struct pl_function_state *state = &pl_state.functions[PL_FN_allreduce];
    if (rank == 0)
        printf("in turn %d at the same time %d left %lld\n", good[0], good[1],
               atomic_load(&state->calls) - atomic_load(&state->replaced));
    MPI_Finalize();
    return 0;
}
