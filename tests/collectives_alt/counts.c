/* What becomes of calls whose ranks have other counts, under a profile whose rules name the canary:
 * a replaced call fails. Prints "NAME replaced" or "NAME left"; "NAME split" where ranks differ. */
#include <mpi.h>
#include <stdio.h>

enum { MOST = 8, ROOM = 1 << 16 };
static int rank, ranks, counts[MOST], displs[MOST];
static char in[ROOM], out[ROOM];

static void say(const char *function, const char *name, int rc)
{
    int class = MPI_SUCCESS, answers[2];
    MPI_Error_class(rc, &class);
    const int mine = class == MPI_ERR_UNSUPPORTED_OPERATION ? 1 : class == MPI_SUCCESS ? 2 : 4;
    const int two[2] = {mine, -mine};
    MPI_Allreduce(two, answers, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s %s\n", function, name,
               answers[0] != -answers[1] ? "split"
               : answers[0] == 1         ? "replaced"
               : answers[0] == 2         ? "left"
                                         : "failed");
}

/* `counts` in elements of `type`. */
static void call(const char *name, MPI_Datatype type)
{
    for (int i = 1; i < ranks; i++)
        displs[i] = displs[i - 1] + counts[i - 1];
    say("Allgatherv", name,
        MPI_Allgatherv(in, counts[rank], type, out, counts, displs, type, MPI_COMM_WORLD));
}

static void reduce(const char *name, MPI_Datatype type, MPI_Op op)
{
    say("Reduce_scatter", name, MPI_Reduce_scatter(in, out, counts, type, op, MPI_COMM_WORLD));
}

static void set(int first, int middle, int last)
{
    for (int i = 0; i < ranks; i++)
        counts[i] = i == 0 ? first : i == ranks - 1 ? last : middle;
}

static void bytes(const char *name)
{
    call(name, MPI_BYTE);
    reduce(name, MPI_BYTE, MPI_BOR);
}

static void first(void *from, void *inout, int *count, MPI_Datatype *type)
{
    (void)from;
    (void)inout;
    (void)count;
    (void)type;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 2;
         turn++) { /* the sum stays, and so does much of the last decision */
        set(1000, 1000, 1000);
        bytes("equal");
        set(1000, 1000, 1000);
        bytes("again");
        counts[1]++; /* of 3 ranks: an odd volume, shared as evenly as it can be */
        bytes("odd");
        set(500, 1000, 1500);
        bytes("growing");
        set(1000, 1000, 1000);
        bytes("equal");
        set(0, 0, 1000 * ranks);
        bytes("last");
        set(1500, 0, 1500);
        bytes("half");
    }
    /* Elements of 8 bytes on even ranks, and as many bytes on odd ones. */
    const int width = rank % 2 ? 8 : 1;
    const MPI_Datatype type = rank % 2 ? MPI_BYTE : MPI_DOUBLE;
    set(100 * width, 102 * width, 100 * width);
    call("mixed", type);
    set(100 * width, 103 * width, 100 * width);
    call("mixed odd", type);

    MPI_Datatype three;
    MPI_Op user;
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Op_create(first, 1, &user);
    set(100, 101, 100);
    call("derived", three);
    reduce("derived", three, user);
    set(100, 102, 100);
    call("derived odd", three);
    reduce("derived odd", three, user);
    MPI_Op_free(&user);
    MPI_Type_free(&three);
    MPI_Finalize();
    return 0;
}
