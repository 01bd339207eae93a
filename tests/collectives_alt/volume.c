/* pl_volume and pl_variant_obstacles: the number of docs/plan-and-records.md, out of arguments that
 * are significant on the rank alone. TAP on every rank. */
#include "../check.h"
#include "tools.h"

#include <limits.h>

static int rank, p;

static long long volume_on(MPI_Comm comm, enum pl_function function, struct pl_call call)
{
    call.function = function;
    call.comm = comm;
    return pl_volume(&call);
}

static long long volume(enum pl_function function, struct pl_call call)
{
    return volume_on(MPI_COMM_WORLD, function, call);
}

static void vectors(void)
{
    const struct pl_call call = {.recvcount = 7, .recvtype = MPI_DOUBLE};
    CHECK(volume(PL_FN_bcast, call) == 56);
    CHECK(volume(PL_FN_reduce, call) == 56);
    CHECK(volume(PL_FN_allreduce, call) == 56);
    CHECK(volume(PL_FN_scan, call) == 56);
    CHECK(volume(PL_FN_exscan, call) == 56);
    CHECK(volume(PL_FN_reduce_local, call) == 56);
    CHECK(volume(PL_FN_barrier, (struct pl_call){0}) == 0);
}

static void blocks(void)
{
    const struct pl_call receives = {.sendbuf = MPI_IN_PLACE,
                                     .sendcount = -5,
                                     .sendtype = MPI_DATATYPE_NULL,
                                     .recvcount = 3,
                                     .recvtype = MPI_INT};
    const struct pl_call sends = {
        .sendcount = 6, .sendtype = MPI_SHORT, .recvcount = -5, .recvtype = MPI_DATATYPE_NULL};
    for (int root = 0; root < p; root++) {
        struct pl_call gather = rank == root ? receives : sends;
        struct pl_call scatter = rank == root ? sends : receives;
        gather.root = scatter.root = root;
        CHECK(volume(PL_FN_gather, gather) == 12 * p);
        CHECK(volume(PL_FN_scatter, scatter) == 12 * p);
    }
    CHECK(volume(PL_FN_allgather, receives) == 12 * p);
    CHECK(volume(PL_FN_alltoall, receives) == 12 * p);
    CHECK(volume(PL_FN_reduce_scatter_block, receives) == 12 * p);
    int counts[64];
    for (int i = 0; i < p; i++)
        counts[i] = i;
    const struct pl_call uneven = {.recvcounts = counts, .recvtype = MPI_INT};
    CHECK(volume(PL_FN_allgatherv, uneven) == 4 * p * (p - 1) / 2);
    CHECK(volume(PL_FN_reduce_scatter, uneven) == 4 * p * (p - 1) / 2);
    counts[p - 1] = -1;
    CHECK(volume(PL_FN_reduce_scatter, uneven) == -1);
}

static void no_volume(void)
{
    const struct pl_call call = {.recvcount = 1, .recvtype = MPI_INT};
    CHECK(volume(PL_FN_gatherv, call) == PL_LOCAL_VOLUME);
    CHECK(volume(PL_FN_scatterv, call) == PL_LOCAL_VOLUME);
    CHECK(volume(PL_FN_alltoallv, call) == PL_LOCAL_VOLUME);
    struct pl_call bad = call;
    bad.root = p;
    CHECK(volume(PL_FN_bcast, bad) == -1);
    bad.root = -1;
    CHECK(volume(PL_FN_bcast, bad) == -1);
    bad = call;
    bad.recvcount = -1;
    CHECK(volume(PL_FN_bcast, bad) == -1);
    bad = call;
    bad.recvtype = MPI_DATATYPE_NULL;
    CHECK(volume(PL_FN_allreduce, bad) == -1);
    CHECK(volume_on(MPI_COMM_NULL, PL_FN_allreduce, call) == -1);
}

/* The last volume that still fits with padding to p equal blocks, and the first that does not. */
static void limits(void)
{
    struct pl_call call = {.recvcount = INT_MAX - p, .recvtype = MPI_BYTE};
    CHECK(volume(PL_FN_bcast, call) == INT_MAX - p);
    CHECK(volume(PL_FN_allgather, call) == (p == 1 ? INT_MAX - 1 : -1));
    call.recvcount++;
    CHECK(volume(PL_FN_bcast, call) == -1);
    call.recvcount = (INT_MAX - p) / 8;
    call.recvtype = MPI_DOUBLE;
    CHECK(volume(PL_FN_allreduce, call) == (INT_MAX - p) / 8 * 8);
    call.recvcount++;
    CHECK(volume(PL_FN_allreduce, call) == -1);
    call.recvcount = INT_MAX;
    CHECK(volume(PL_FN_allreduce, call) == -1);
}

/* Types past INT_MAX bytes and of none. Elsewhere than in reductions another rank may write the
 * same empty signature by another type. */
static void empty(void)
{
    MPI_Datatype huge, none, wide;
    MPI_Type_contiguous(1 << 30, MPI_INT, &huge);
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_create_resized(none, 0, 1 << 20, &wide);
    struct pl_call call = {.sendtype = huge, .recvtype = huge};
    for (int i = 0; i < 2; i++) {
        CHECK(volume(PL_FN_bcast, call) == 0);
        CHECK(volume(PL_FN_gather, call) == 0);
        CHECK(volume(PL_FN_scatter, call) == 0);
        CHECK(volume(PL_FN_allgather, call) == 0);
        CHECK(volume(PL_FN_alltoall, call) == 0);
        CHECK(volume(PL_FN_allreduce, call) == 0);
        call.sendtype = call.recvtype = wide;
    }
    call.recvcount = 3;
    CHECK(volume(PL_FN_bcast, call) == 0);
    CHECK(volume(PL_FN_allreduce, call) == -1);
    CHECK(volume(PL_FN_reduce_scatter_block, call) == -1);
    call.recvtype = huge;
    CHECK(volume(PL_FN_bcast, call) == -1);
    CHECK(volume(PL_FN_allreduce, call) == -1);
    CHECK(pl_scratch_elements(MPI_COMM_WORLD, PL_SLOT_SEND, 0, huge) != NULL);
    CHECK(pl_scratch_kept(MPI_COMM_WORLD) < 4096);
    MPI_Type_free(&wide);
    MPI_Type_free(&none);
    MPI_Type_free(&huge);
}

static void nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

static void obstacles(void)
{
    const struct pl_variant any = {.function = PL_FN_reduce};
    const struct pl_variant strict = {.function = PL_FN_reduce, .restrictions = 15 | PL_BUILTIN_OP};
    MPI_Op commuting, ordered;
    MPI_Op_create(nothing, 1, &commuting);
    MPI_Op_create(nothing, 0, &ordered);
    MPI_Datatype pair, gap;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
    struct pl_call call = {.function = PL_FN_reduce,
                           .recvcount = 1,
                           .recvtype = MPI_INT,
                           .op = MPI_SUM,
                           .comm = MPI_COMM_WORLD};
    CHECK(pl_variant_obstacles(&strict, &call) == 0);
    call.op = commuting;
    CHECK(pl_variant_obstacles(&strict, &call) == PL_BUILTIN_OP);
    call.op = ordered;
    CHECK(pl_variant_obstacles(&strict, &call) == (PL_BUILTIN_OP | PL_COMMUTATIVE));
    CHECK(pl_variant_obstacles(&any, &call) == 0);
    call.op = MPI_SUM;
    call.recvtype = pair;
    CHECK(pl_variant_obstacles(&strict, &call) == PL_BUILTIN_TYPE);
    call.recvtype = gap;
    CHECK(pl_variant_obstacles(&strict, &call) == (PL_BUILTIN_TYPE | PL_CONTIGUOUS));
    call.recvtype = MPI_DOUBLE_INT; /* predefined, with a gap */
    CHECK(pl_variant_obstacles(&strict, &call) == PL_CONTIGUOUS);
    call.sendbuf = MPI_IN_PLACE;
    CHECK(pl_variant_obstacles(&strict, &call) == (PL_CONTIGUOUS | PL_NO_IN_PLACE));
    CHECK(pl_variant_obstacles(&any, &call) == 0);
    call.op = MPI_OP_NULL;
    CHECK(pl_variant_obstacles(&any, &call) == PL_NOT_COUNTED);
    call.op = MPI_SUM;
    call.function = PL_FN_allreduce;
    CHECK(pl_variant_obstacles(&any, &call) == PL_NOT_COUNTED);
    MPI_Op_free(&commuting);
    MPI_Op_free(&ordered);
    MPI_Type_free(&pair);
    MPI_Type_free(&gap);
}

static void inter_communicator(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
    const struct pl_call call = {.recvcount = 1, .recvtype = MPI_INT};
    CHECK(volume_on(both, PL_FN_allreduce, call) == -1);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    vectors();
    blocks();
    no_volume();
    limits();
    empty();
    obstacles();
    if (p > 1)
        inter_communicator();
    MPI_Finalize();
    return check_done();
}
