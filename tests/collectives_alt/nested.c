/* Allreduces of many sums, on communicators of their own that two threads may call at the same
 * time; under rules that put calls of calls in their place. Prints on rank 0 how many sums were
 * wrong, and how many errors a handler was given and calls returned.
 *
 * usage: nested bytes calls threads */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2 };

static atomic_int handled, returned, wrong;
static int count, calls;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void *work(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    int rank, p;
    int *from = malloc((size_t)count * sizeof *from), *to = malloc((size_t)count * sizeof *to);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    for (int call = 0; from && to && call < calls; call++) {
        for (int i = 0; i < count; i++)
            from[i] = to[i] = (rank + 1) * (i + call);
        const void *operands = call % 2 ? MPI_IN_PLACE : from;
        if (MPI_Allreduce(operands, to, count, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS) {
            returned++;
            continue;
        }
        for (int i = 0; i < count; i++)
            wrong += to[i] != p * (p + 1) / 2 * (i + call);
    }
    free(from);
    free(to);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, rank, threads = argc > 3 ? atoi(argv[3]) : 1;
    MPI_Comm comms[THREADS];
    MPI_Errhandler errhandler;
    pthread_t others[THREADS];
    if (argc < 3 || threads > THREADS)
        return 2;
    count = atoi(argv[1]) / (int)sizeof(int);
    calls = atoi(argv[2]);
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(handler, &errhandler);
    for (int i = 0; i < threads; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], errhandler);
    }
    for (int i = 1; i < threads; i++)
        pthread_create(&others[i], NULL, work, &comms[i]);
    work(&comms[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    if (rank == 0)
        printf("wrong %d handled %d returned %d\n", wrong, handled, returned);
    for (int i = 0; i < threads; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Errhandler_free(&errhandler);
    MPI_Finalize();
    return 0;
}
