/* Calls whose arguments are almost those of a call before: an argument that decides alternates, or
 * a handle was freed and names something else. Two threads do this at the same time, each on a
 * communicator of its own. Under a profile that puts the canary in the place of Bcasts of 8 bytes,
 * Allgathervs of 16 bytes and Allreduces with operations that commute, exactly those calls must
 * fail. Prints "ok" or what is wrong, and how often the handle of a type and of an operation came
 * back. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 400, THREADS = 2, RANKS = 2 };

struct worker {
    MPI_Comm comm;
    int number, bad, types, ops; /* handles that came back */
    MPI_Datatype last_type;
    MPI_Op last_op;
};

/* 1 if a call was replaced that should not be, or the other way round. */
static int wrong(int rc, int replaced)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(rc, &class);
    return class != (replaced ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_SUCCESS);
}

static int bcasts(struct worker *worker, int round)
{
    static const struct {
        MPI_Datatype type;
        int count, bytes;
    } calls[] = {{MPI_INT, 2, 8},   {MPI_INT, 1, 4},  {MPI_DOUBLE, 1, 8},    {MPI_DOUBLE, 2, 16},
                 {MPI_SHORT, 4, 8}, {MPI_BYTE, 8, 8}, {MPI_LONG_LONG, 1, 8}, {MPI_SHORT, 1, 2}};
    char buffers[2][16] = {{0}};
    int bad = 0;
    for (int i = 0; i < 4; i++) {
        const int one = (round * 7 + i * i + worker->number) % 8;
        const int root = (round / 3 + i) % RANKS;
        bad +=
            wrong(MPI_Bcast(buffers[i % 2], calls[one].count, calls[one].type, root, worker->comm),
                  calls[one].bytes == 8);
    }
    return bad;
}

/* A type of 4 or 8 bytes in the handle of the type before. */
static int types(struct worker *worker, int round)
{
    MPI_Datatype type;
    int buffer[4] = {0}, bad = 0;
    const int length = (round + worker->number) % 2 + 1;
    MPI_Type_contiguous(length, MPI_INT, &type);
    MPI_Type_commit(&type);
    worker->types += type == worker->last_type;
    worker->last_type = type;
    for (int i = 0; i < 2; i++)
        bad += wrong(MPI_Bcast(buffer, 1, type, 0, worker->comm), length == 2);
    MPI_Type_free(&type);
    return bad;
}

static void nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

/* An operation that commutes or not in the handle of the operation before. */
static int operations(struct worker *worker, int round)
{
    MPI_Op op;
    int in = 1, out = 0, bad = 0;
    const int commutes = (round + worker->number) % 2;
    MPI_Op_create(nothing, commutes, &op);
    worker->ops += op == worker->last_op;
    worker->last_op = op;
    for (int i = 0; i < 2; i++)
        bad += wrong(MPI_Allreduce(&in, &out, 1, MPI_INT, op, worker->comm), commutes);
    MPI_Op_free(&op);
    if (round % 4 == 3) /* not always: the next operation shall be asked right after this one */
        bad += wrong(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, worker->comm), 1);
    return bad;
}

/* The same tables with other contents. */
static int tables(struct worker *worker, int round)
{
    static const int shapes[][RANKS] = {{2, 2}, {1, 1}, {1, 3}, {0, 4}, {3, 0}};
    int counts[RANKS], places[RANKS] = {0}, from[4] = {0}, to[4], rank, bad = 0;
    MPI_Comm_rank(worker->comm, &rank);
    for (int i = 0; i < 3; i++) {
        const int *shape = shapes[(round * 3 + i + worker->number) % 5];
        counts[0] = shape[0];
        places[1] = counts[0];
        counts[1] = shape[1];
        bad += wrong(
            MPI_Allgatherv(from, counts[rank], MPI_INT, to, counts, places, MPI_INT, worker->comm),
            counts[0] + counts[1] == 4);
    }
    return bad;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 0; round < ROUNDS; round++)
        worker->bad += bcasts(worker, round) + types(worker, round) + operations(worker, round) +
                       tables(worker, round);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, rank, bad = 0;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i, .last_op = MPI_OP_NULL};
        workers[i].last_type = MPI_DATATYPE_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&workers[i].comm);
        bad += workers[i].bad;
    }
    if (rank == 0)
        printf("%s bad=%d types=%d operations=%d\n", bad ? "not ok" : "ok", bad,
               workers[0].types + workers[1].types, workers[0].ops + workers[1].ops);
    MPI_Finalize();
    return bad > 0;
}
