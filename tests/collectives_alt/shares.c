/* Programs under libplumbline.so whose profile puts variants in shared memory in the place of
 * MPI_Barrier, MPI_Bcast and MPI_Allreduce. Usage: shares what
 *
 * progress  a message that needs both ranks is on its way while one of them is in a Bcast already
 * many      more communicators than may share memory, twice; prints how many did
 * fork      a child that ends at once between two calls
 * threads   two threads, each on a communicator of its own
 * abort     rank 1 calls MPI_Abort while the others are in a Barrier
 * dies      rank 1 is killed while the others are in a Barrier
 *
 * Prints "ok" where the results are right. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 1 << 22, MANY = 100, CALLS = 500, THREADS = 2 };

static int p, rank, wrong;

static void sum(MPI_Comm comm)
{
    int one = rank + 1, all = 0, size;
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
    wrong += all != size * (size + 1) / 2;
}

/* Rank 1 must receive before it enters the Bcast in which rank 0 waits for it. */
static void progress(void)
{
    static char large[LARGE];
    int value = rank;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int round = 0; round < 20; round++) {
        if (rank == 0)
            MPI_Isend(large, LARGE, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        if (rank == 1) {
            usleep(1000);
            MPI_Recv(large, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
        wrong += value != 1;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static int count_shared(void)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:plumbline") != NULL;
    if (maps)
        fclose(maps);
    return count;
}

static void many(void)
{
    MPI_Comm comms[MANY];
    int shared[2], left[2];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
            sum(comms[i]);
        }
        for (int i = 0; i < MANY; i++)
            sum(comms[i]);
        shared[round] = count_shared();
        for (int i = 0; i < MANY; i++)
            MPI_Comm_free(&comms[i]);
        left[round] = count_shared();
    }
    if (rank == 0)
        printf("shared=%d,%d left=%d,%d\n", shared[0], shared[1], left[0], left[1]);
}

static void with_child(void)
{
    sum(MPI_COMM_WORLD);
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status = 1;
    waitpid(child, &status, 0);
    wrong += status != 0;
    for (int i = 0; i < CALLS; i++)
        sum(MPI_COMM_WORLD);
}

static void *work(void *argument)
{
    MPI_Comm *comm = argument;
    for (int i = 0; i < CALLS; i++) {
        int value = rank == i % p ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, i % p, *comm);
        MPI_Barrier(*comm);
        if (value != i)
            abort();
    }
    return NULL;
}

static void threads(void)
{
    pthread_t started[THREADS];
    MPI_Comm comms[THREADS];
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&started[i], NULL, work, &comms[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(started[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
}

int main(int argc, char **argv)
{
    int level;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &level);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "progress") == 0)
        progress();
    if (strcmp(what, "many") == 0)
        many();
    if (strcmp(what, "fork") == 0)
        with_child();
    if (strcmp(what, "threads") == 0)
        threads();
    if (rank == 1 && (strcmp(what, "abort") == 0 || strcmp(what, "dies") == 0)) {
        usleep(100000);
        if (strcmp(what, "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 7);
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        puts(wrong ? "not ok" : "ok");
    MPI_Finalize();
    return wrong > 0;
}
