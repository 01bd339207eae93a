/* Communicators that come and go, whose handles are used again, in two threads at a time. Under a
 * profile that puts the canary in the place of MPI_Allreduce on 2 ranks, exactly those calls must
 * fail. Prints "ok" or what is wrong, and how often a handle came back with another size. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 60, THREADS = 2 };

struct worker {
    MPI_Comm base;
    int number, bad, reused;
};

/* 0 if a call on `size` ranks was answered as it should be. */
static int ask(MPI_Comm comm, int size)
{
    int one = 1, sum = 0, class = MPI_SUCCESS;
    MPI_Error_class(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), &class);
    return size == 2 ? class != MPI_ERR_UNSUPPORTED_OPERATION : class != MPI_SUCCESS || sum != size;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    MPI_Comm before = MPI_COMM_NULL;
    int rank, p;
    MPI_Comm_rank(worker->base, &rank);
    MPI_Comm_size(worker->base, &p);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        const int pairs = round % 2;
        MPI_Comm_split(worker->base, pairs ? rank / 2 : 0, rank, &comm);
        worker->reused += comm == before;
        before = comm;
        for (int i = 0; i < 3; i++)
            worker->bad += ask(comm, pairs ? 2 : p);
        if (round % 4 == 3) /* not always: the next one shall be asked right after this one */
            worker->bad += ask(worker->base, p);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level, rank, totals[2] = {0};
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].base);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        totals[0] += workers[i].bad;
        totals[1] += workers[i].reused;
        MPI_Comm_free(&workers[i].base);
    }
    MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s level=%d bad=%d reused=%d\n",
               level == MPI_THREAD_MULTIPLE && totals[0] == 0 ? "ok" : "not ok", level, totals[0],
               totals[1]);
    MPI_Finalize();
    return totals[0] > 0;
}
