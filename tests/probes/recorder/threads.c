/* Two threads a rank that send to the same one on their own tags, and on a tag that both use. */
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

enum { TIMES = 500 };

static int partner;

static void *work(void *tag)
{
    int value[2], got[2], own = *(int *)tag;
    for (int i = 0; i < TIMES; i++) {
        MPI_Request request;
        value[0] = own, value[1] = i;
        MPI_Irecv(got, 2, MPI_INT, partner, own, MPI_COMM_WORLD, &request);
        MPI_Send(value, 2, MPI_INT, partner, own, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (got[0] != own || got[1] != i)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Sendrecv(value, 2, MPI_INT, partner, 9, got, 2, MPI_INT, partner, 9, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level, rank, tags[2] = {1, 2};
    pthread_t other;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    partner = rank ^ 1;
    if (level == MPI_THREAD_MULTIPLE) {
        pthread_create(&other, NULL, work, &tags[0]);
        work(&tags[1]);
        pthread_join(other, NULL);
    }
    MPI_Finalize();
    return level == MPI_THREAD_MULTIPLE ? 0 : 77;
}
