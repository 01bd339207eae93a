/* Streams of calls of the variants in shared memory, with ranks that are late at random, so that
 * some run ahead of others and the rings are gone round many times: any function, sizes around
 * those at which a call takes another way, any root, in place or not, on three communicators in
 * turn. Results are compared with the library's, and what is behind the buffers must stay as it is.
 *
 * Usage: shared rounds seed. Prints "ok" with the number of calls and of the functions called. */
#include "shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 1 << 16, COMMS = 3, GUARD = 0x5a };

static int p, rank, wrong;
static unsigned state;
static char from[16 * MOST], to[16 * MOST], expected[16 * MOST];
static int counts[16];

static int draw(int below)
{
    state = state * 1103515245u + 12345u;
    return (int)(state >> 8) % below;
}

/* Elements of a block or a vector. */
static int draw_count(void)
{
    static const int near[] = {0, 1, 3, 11, 12, 13, 64, 500, 2047, 4095, 4096, 4097, 9000};
    return near[draw(sizeof near / sizeof *near)];
}

static const struct pl_variant *draw_variant(void)
{
    for (;;) {
        const struct pl_variant *one = pl_catalogue[draw(pl_catalogue_size)];
        if (one->restrictions & PL_ONE_NODE)
            return one;
    }
}

static struct pl_call draw_call(const struct pl_variant *variant, MPI_Comm comm)
{
    struct pl_call call = {.function = variant->function, .comm = comm, .root = draw(p)};
    const int count = draw_count() / (draw(3) ? p : 1);
    const bool in_place = draw(3) == 0;
    const bool root = call.root == rank;
    call.sendbuf = from;
    call.recvbuf = to;
    call.sendcount = call.recvcount = count;
    call.sendtype = call.recvtype = MPI_INT;
    call.op = pl_reduces(call.function) ? MPI_SUM : MPI_OP_NULL;
    if (call.function == PL_FN_reduce_scatter) {
        for (int i = 0; i < p; i++)
            counts[i] = draw(3) ? count : draw(2 * count + 1);
        call.recvcounts = counts;
    }
    if (call.function == PL_FN_bcast)
        call.sendbuf = NULL;
    else if (in_place && call.function == PL_FN_scatter && root)
        call.recvbuf = MPI_IN_PLACE;
    else if (in_place && call.function != PL_FN_scatter &&
             ((call.function != PL_FN_reduce && call.function != PL_FN_gather) || root))
        call.sendbuf = MPI_IN_PLACE;
    return call;
}

static void fill(char *buf, int seed)
{
    int *values = (int *)buf;
    for (size_t i = 0; i < sizeof from / sizeof *values; i++)
        values[i] = (int)(i * 7 + (unsigned)seed * 131u + (unsigned)rank * 1009u) % 100003;
}

static void report(const struct pl_variant *variant, const struct pl_call *call)
{
    wrong++;
    fprintf(stderr, "%s: wrong on rank %d of %d: count %d root %d%s\n", variant->name, rank, p,
            call->recvcount, call->root, call->sendbuf == MPI_IN_PLACE ? " in place" : "");
}

static void compare(MPI_Comm comm, int round)
{
    const struct pl_variant *variant = draw_variant();
    struct pl_call call = draw_call(variant, comm);
    fill(from, round);
    fill(to, round + 1);
    struct pl_call library = call;
    if (call.recvbuf == to)
        library.recvbuf = expected;
    memcpy(expected, to, sizeof expected);
    pl_call_pmpi(&library);
    if (rank == draw(p) && draw(8) == 0)
        usleep((useconds_t)draw(300));
    if (variant->run(&call) != MPI_SUCCESS || memcmp(expected, to, sizeof expected) != 0)
        report(variant, &call);
}

/* Nobody waits for the library's calls here: only the own ones let ranks run ahead. */
static void stream(MPI_Comm comm)
{
    const struct pl_variant *variant = pl_variant_by_name("bcast_shared_memory");
    const int count = draw_count(), calls = 20 + draw(400), root = draw(p);
    int *values = (int *)to;
    for (int i = 0; i < calls; i++) {
        const struct pl_call call = {.function = PL_FN_bcast,
                                     .comm = comm,
                                     .recvbuf = to,
                                     .recvcount = count,
                                     .recvtype = MPI_INT,
                                     .root = root};
        for (int j = 0; rank == root && j < count; j++)
            values[j] = i + j;
        if (rank != root && draw(50) == 0)
            usleep((useconds_t)draw(200));
        if (variant->run(&call) != MPI_SUCCESS || (count > 0 && values[count - 1] != i + count - 1))
            report(variant, &call);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comms[COMMS];
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rounds = argc > 2 ? atoi(argv[1]) : 0;
    if (p > 16)
        MPI_Abort(MPI_COMM_WORLD, 2);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    for (int round = 0; round < rounds; round++) {
        /* Each rank draws the same, but for its delays. */
        state = (unsigned)atoi(argv[2]) * 7919u + (unsigned)round;
        MPI_Comm comm = comms[draw(COMMS)];
        if (round % 20 == 19)
            stream(comm);
        else
            compare(comm, round);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s rounds=%d wrong=%d\n", wrong ? "not ok" : "ok", rounds, wrong);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    pl_kept_forget(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong > 0;
}
