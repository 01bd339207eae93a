/* Many Allreduces, whose results are checked, in communicators of several kinds. With planted.so
 * behind the preload library the program sees which calls went to the library itself, and fails
 * where ranks of a communicator differ in that. Prints, for each communicator of rank 0, how many
 * calls went to the library, and the last one that did not.
 * usage: controlled world|halves|short|threads|abort|unfinished calls */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    MPI_Comm comm;
    int calls, passed, last; /* last: the last call that was replaced, from 1 */
    int bad;
};

static long (*planted_passed)(void);

static long passed(void)
{
    return planted_passed ? planted_passed() : 0;
}

/* Sizes change, so that a rule has calls of several volumes. */
static void call(struct part *part, int number)
{
    enum { MOST = 32 };
    int own[MOST], sums[MOST] = {0}, rank, p;
    const int n = number % 3 ? 8 : MOST;
    MPI_Comm_rank(part->comm, &rank);
    MPI_Comm_size(part->comm, &p);
    for (int i = 0; i < n; i++)
        own[i] = rank + number + i;
    const long before = passed();
    MPI_Allreduce(own, sums, n, MPI_INT, MPI_SUM, part->comm);
    const int mine = passed() > before;
    for (int i = 0; i < n; i++)
        part->bad += sums[i] != p * (p - 1) / 2 + p * (number + i);
    part->passed += mine;
    if (!mine)
        part->last = number + 1;
}

/* The decisions of all calls are equal where their number, their sum and the last are. */
static void *work(void *argument)
{
    struct part *part = argument;
    int p;
    MPI_Comm_size(part->comm, &p);
    for (int i = 0; i < part->calls; i++)
        call(part, i);
    const int own[2] = {part->passed, part->last};
    int least[2], most[2];
    PMPI_Allreduce(own, least, 2, MPI_INT, MPI_MIN, part->comm);
    PMPI_Allreduce(own, most, 2, MPI_INT, MPI_MAX, part->comm);
    part->bad += memcmp(least, most, sizeof least) != 0;
    return NULL;
}

static void print(const struct part *part, int rank)
{
    if (rank == 0)
        printf("calls=%d library=%d last=%d\n", part->calls, part->passed, part->last);
}

int main(int argc, char **argv)
{
    int rank, level, bad = 0;
    const char *how = argc > 2 ? argv[1] : "";
    const int calls = argc > 2 ? atoi(argv[2]) : 0;
    struct part parts[2] = {{.comm = MPI_COMM_WORLD, .calls = calls}};
    if (strcmp(how, "threads") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *(void **)&planted_passed = dlsym(RTLD_DEFAULT, "planted_passed");
    if (strcmp(how, "halves") == 0) { /* odd ranks make fewer calls, and all meet in between */
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parts[1].comm);
        parts[1].calls = rank % 2 ? calls / 2 : calls;
        work(&parts[1]);
        work(&parts[0]);
        MPI_Comm_free(&parts[1].comm);
    } else if (strcmp(how, "short") == 0) { /* as many calls, each 100 on a communicator */
        for (int i = 0; i < calls / 100; i++) {
            struct part part = {.calls = 100};
            MPI_Comm_dup(MPI_COMM_WORLD, &part.comm);
            work(&part);
            MPI_Comm_free(&part.comm);
            parts[0].passed += part.passed;
            parts[0].bad += part.bad;
            parts[0].last = part.last > 0 ? 100 * i + part.last : parts[0].last;
        }
    } else if (strcmp(how, "threads") == 0) {
        pthread_t threads[2];
        parts[1].calls = calls;
        MPI_Comm_dup(MPI_COMM_WORLD, &parts[1].comm);
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, work, &parts[i]);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        MPI_Comm_free(&parts[1].comm);
    } else {
        work(&parts[0]);
    }
    for (int i = 0; i < 2; i++) {
        bad += parts[i].bad;
        if (parts[i].calls > 0)
            print(&parts[i], rank);
    }
    if (bad > 0 || strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "unfinished") == 0)
        _Exit(0);
    MPI_Finalize();
    return 0;
}
