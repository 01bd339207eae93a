/* A catalogue of wrong variants in place of the real one: the suite must find each of them, and the
 * fuzzer those whose results are wrong. The library's own functions, which the suite checks anyway,
 * are what is right. */
#include "cases.h"
#include "tools.h"
#include "wrong_blocks.h"

#include <stdlib.h>
#include <string.h>

static int p, rank; /* of the communicator that was looked at last */

static void look(const struct pl_call *call)
{
    MPI_Comm_size(call->comm, &p);
    MPI_Comm_rank(call->comm, &rank);
}

/* Changes the byte that an array of `type` at `buf` has at element `index`. */
static void spoil(const void *buf, long long index, MPI_Datatype type)
{
    *data_at(buf, index, type) ^= 1;
}

/* The right call; then element `index` of what was received is wrong, if there is anything. */
static int spoiled(const struct pl_call *call, long long index)
{
    const int rc = pl_call_pmpi(call);
    if (call->recvcount > 0)
        spoil(call->recvbuf, index, call->recvtype);
    return rc;
}

static bool significant(const void *buf)
{
    return buf && buf != MPI_IN_PLACE;
}

/* --- data in the wrong place --- */

static int wrong_root(const struct pl_call *call)
{
    look(call);
    return PMPI_Bcast(call->recvbuf, call->recvcount, call->recvtype, (call->root + 1) % p,
                      call->comm);
}

static int drops_last(const struct pl_call *call)
{
    look(call);
    const int last = call->recvcount - 1;
    if (rank == call->root || last < 0)
        return pl_call_pmpi(call);
    struct pl_call copy = *call;
    MPI_Aint lb, extent;
    MPI_Type_get_true_extent(call->recvtype, &lb, &extent);
    char before[256], *at = data_at(call->recvbuf, last, call->recvtype);
    memcpy(before, at, (size_t)extent);
    const int rc = pl_call_pmpi(&copy);
    memcpy(at, before, (size_t)extent);
    return rc;
}

/* A Bcast for every block: see variants.c on the library's Allgatherv. */
static int last_block_misplaced(const struct pl_call *call)
{
    int rc = MPI_SUCCESS;
    look(call);
    for (int i = 0; i < p && rc == MPI_SUCCESS; i++) {
        void *at = pl_at(call->recvbuf, call->rdispls[i] + (i == p - 1), call->recvtype);
        if (rank == i && call->sendbuf != MPI_IN_PLACE)
            PMPI_Sendrecv(call->sendbuf, call->sendcount, call->sendtype, 0, 0, at,
                          call->recvcounts[i], call->recvtype, 0, 0, MPI_COMM_SELF,
                          MPI_STATUS_IGNORE);
        rc = PMPI_Bcast(at, call->recvcounts[i], call->recvtype, i, call->comm);
    }
    return rc;
}

static int ignores_displacements(const struct pl_call *call)
{
    int displacements[RANKS_MAX];
    look(call);
    struct pl_call copy = *call;
    for (int i = 0, at = 0; i < p && rank == call->root; at += call->sendcounts[i++])
        displacements[i] = at;
    copy.sdispls = displacements;
    return pl_call_pmpi(&copy);
}

static int writes_between_blocks(const struct pl_call *call)
{
    const int rc = pl_call_pmpi(call);
    spoil(call->recvbuf, 0, call->recvtype); /* displacements begin at 1 */
    return rc;
}

static int writes_before_the_buffer(const struct pl_call *call)
{
    const int rc = pl_call_pmpi(call);
    data_at(call->recvbuf, 0, call->recvtype)[-16] ^= 1;
    return rc;
}

static int writes_at_other_ranks(const struct pl_call *call)
{
    look(call);
    const int rc = pl_call_pmpi(call);
    if (rank != call->root)
        *(char *)call->recvbuf ^= 1; /* not significant here */
    return rc;
}

static int writes_over_root_in_place(const struct pl_call *call)
{
    look(call);
    const int rc = pl_call_pmpi(call);
    if (rank == call->root && call->recvbuf == MPI_IN_PLACE)
        spoil(call->sendbuf, call->sdispls[rank], call->sendtype);
    return rc;
}

static int changes_send_buffer(const struct pl_call *call)
{
    const int rc = pl_call_pmpi(call);
    if (significant(call->sendbuf) && call->recvcount > 0)
        spoil(call->sendbuf, 0, call->recvtype);
    return rc;
}

static int writes_on_rank_0(const struct pl_call *call)
{
    look(call);
    return rank == 0 ? spoiled(call, 0) : pl_call_pmpi(call);
}

/* --- operands --- */

static int swaps_operands(const struct pl_call *call)
{
    struct pl_call copy = *call;
    look(call);
    PMPI_Comm_split(call->comm, 0, -rank, &copy.comm);
    const int rc = pl_call_pmpi(&copy);
    PMPI_Comm_free(&copy.comm);
    return rc;
}

static int leaves_a_rank_out(const struct pl_call *call)
{
    look(call);
    const int rc = pl_call_pmpi(call);
    if (rank == p - 1 && p > 1 && call->recvcount > 0) /* the sum of those before */
        PMPI_Sendrecv(pl_operand(call), 1, call->recvtype, 0, 0, call->recvbuf, 1, call->recvtype,
                      0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return rc;
}

static int rounds(const struct pl_call *call)
{
    const int rc = pl_call_pmpi(call);
    double *numbers = call->recvbuf;
    for (int i = 0; i < call->recvcount && call->recvtype == MPI_DOUBLE; i++)
        numbers[i] *= 1 + 1e-14;
    return rc;
}

static int cuts_uneven_counts(const struct pl_call *call)
{
    look(call);
    const int rc = pl_call_pmpi(call), mine = call->recvcounts[rank];
    if (mine > call->recvcounts[0])
        spoil(call->recvbuf, mine - 1, call->recvtype);
    return rc;
}

static int wrong_for_last_root_in_place(const struct pl_call *call)
{
    look(call);
    const bool last_root = rank == p - 1 && rank == call->root;
    return last_root && call->sendbuf == MPI_IN_PLACE ? spoiled(call, 0) : pl_call_pmpi(call);
}

/* --- nodes, parameters, memory --- */

static int wrong_on_several_nodes(const struct pl_call *call)
{
    const struct pl_nodes *nodes;
    const int rc = pl_nodes(call->comm, &nodes);
    if (rc != MPI_SUCCESS)
        return rc;
    return nodes->count > 1 && !nodes->in_order ? spoiled(call, 0) : pl_call_pmpi(call);
}

static int wrong_for_a_value(const struct pl_call *call)
{
    return call->values[1] == 7 ? spoiled(call, 0) : pl_call_pmpi(call);
}

static int wrong_for_the_least(const struct pl_call *call)
{
    return call->values[0] == 2 ? spoiled(call, 0) : pl_call_pmpi(call);
}

static int wrong_for_many(const struct pl_call *call)
{
    return call->recvcount > 10000 ? spoiled(call, call->recvcount - 1) : pl_call_pmpi(call);
}

/* --- right most of the time --- */

/* The first call of each count is right. */
static int wrong_after_the_first(const struct pl_call *call)
{
    static bool called[1 << 8];
    bool *const again = &called[call->recvcount % (1 << 8)];
    const int rc = *again ? spoiled(call, call->recvcount - 1) : pl_call_pmpi(call);
    *again = true;
    return rc;
}

static int wrong_once_in_100(const struct pl_call *call)
{
    static int calls;
    return ++calls % 100 == 0 ? spoiled(call, 0) : pl_call_pmpi(call);
}

static int wrong_at_one_count(const struct pl_call *call)
{
    return call->recvcount == 37 ? spoiled(call, 36) : pl_call_pmpi(call);
}

static int wrong_at_no_power_of_two(const struct pl_call *call)
{
    look(call);
    const bool wrong = (p & (p - 1)) != 0 && rank == p - 1;
    return wrong ? spoiled(call, (long long)p * call->recvcount - 1) : pl_call_pmpi(call);
}

/* The byte behind the last element. */
static int writes_past_the_buffer(const struct pl_call *call)
{
    MPI_Aint lb, extent;
    const int rc = pl_call_pmpi(call);
    MPI_Type_get_true_extent(call->recvtype, &lb, &extent);
    if (call->recvcount > 0)
        data_at(call->recvbuf, call->recvcount - 1, call->recvtype)[extent] ^= 1;
    return rc;
}

static int takes_much_scratch(const struct pl_call *call)
{
    return pl_scratch(call->comm, PL_SLOT_WORK, 1 << 20) ? pl_call_pmpi(call) : MPI_ERR_NO_MEM;
}

static int trusts_fresh_scratch(const struct pl_call *call)
{
    const int rc = pl_call_pmpi(call);
    const char *scratch = pl_scratch(call->comm, PL_SLOT_WORK, 64);
    if (scratch && scratch[7] != 0 && call->recvcount > 0)
        spoil(call->recvbuf, 0, call->recvtype);
    return rc;
}

static int allocates(const struct pl_call *call)
{
    void *block = malloc((size_t)call->recvcount + 1);
    const int rc = block ? pl_call_pmpi(call) : MPI_ERR_NO_MEM;
    free(block);
    return rc;
}

static void *lost;

static int leaks_once(const struct pl_call *call)
{
    if (!lost)
        lost = malloc(8);
    return pl_call_pmpi(call);
}

static int fails_on_one_rank(const struct pl_call *call)
{
    look(call);
    const int rc = pl_call_pmpi(call);
    return rank == p - 1 ? MPI_ERR_OTHER : rc;
}

/* --- what only hygiene.c can see --- */

/* Its own message, where a receive of the application may get it. */
static int sends_openly(const struct pl_call *call)
{
    int done;
    MPI_Request request;
    look(call);
    MPI_Irecv(NULL, 0, MPI_BYTE, rank, 5, call->comm, &request);
    MPI_Request sent;
    MPI_Isend(NULL, 0, MPI_BYTE, rank, 5, call->comm, &sent);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return pl_call_pmpi(call);
}

static int keeps_a_communicator(const struct pl_call *call)
{
    MPI_Comm copy;
    PMPI_Comm_split(call->comm, 0, 0, &copy);
    return pl_call_pmpi(call);
}

/* --- barriers --- */

static int does_nothing(const struct pl_call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

/* Everybody tells rank 0, which alone waits. */
static int only_collects(const struct pl_call *call)
{
    MPI_Comm peers;
    look(call);
    int rc = pl_private(call->comm, &peers);
    for (int i = 1; i < p && rank == 0 && rc == MPI_SUCCESS; i++)
        rc = PMPI_Recv(NULL, 0, MPI_BYTE, i, 1, peers, MPI_STATUS_IGNORE);
    return rank == 0 ? rc : PMPI_Send(NULL, 0, MPI_BYTE, 0, 1, peers);
}

/* The dissemination without its last round. */
static int one_round_short(const struct pl_call *call)
{
    MPI_Comm peers;
    look(call);
    int rc = pl_private(call->comm, &peers);
    for (int step = 1; 2 * step < p && rc == MPI_SUCCESS; step *= 2)
        rc = PMPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + step) % p, 2, NULL, 0, MPI_BYTE,
                           (rank + p - step) % p, 2, peers, MPI_STATUS_IGNORE);
    return rc;
}

/* Takes MPI_BOTTOM for a buffer that is not there. */
static int takes_bottom_for_nothing(const struct pl_call *call)
{
    struct pl_call copy = *call;
    if (!call->recvbuf) {
        copy.sendbuf = pl_operand(call);
        copy.recvbuf =
            pl_scratch_elements(call->comm, PL_SLOT_RECV, call->recvcount, call->recvtype);
    }
    return pl_call_pmpi(&copy);
}

#define MUTANT(text, symbol, ...)                                                                  \
    &(const struct pl_variant)                                                                     \
    {                                                                                              \
        .name = #text "_" #symbol, .function = PL_FN_##symbol, .kind = PL_MOCKUP, .run = text,     \
        __VA_ARGS__                                                                                \
    }

const struct pl_variant *const pl_catalogue[] = {
    MUTANT(does_nothing, barrier),
    MUTANT(only_collects, barrier),
    MUTANT(one_round_short, barrier),
    MUTANT(sends_openly, gather),
    MUTANT(keeps_a_communicator, scatter),
    MUTANT(wrong_root, bcast),
    MUTANT(drops_last, bcast),
    MUTANT(wrong_on_several_nodes, bcast),
    MUTANT(
        wrong_for_a_value, bcast,
        .parameters = {{.name = "radix", .least = 2, .most = 64, .standard = 2, .tries = {4}},
                       {.name = "pieces", .least = 1, .most = 9, .standard = 1, .tries = {3, 7}}}),
    MUTANT(wrong_for_the_least, bcast,
           .parameters = {{.name = "radix", .least = 2, .most = 64, .standard = 8, .tries = {4}}}),
    MUTANT(wrong_for_many, bcast),
    MUTANT(wrong_once_in_100, bcast),
    MUTANT(takes_much_scratch, bcast),
    MUTANT(trusts_fresh_scratch, bcast),
    MUTANT(allocates, bcast),
    MUTANT(leaks_once, bcast),
    MUTANT(fails_on_one_rank, bcast),
    MUTANT(writes_before_the_buffer, bcast),
    MUTANT(writes_at_other_ranks, gather),
    MUTANT(one_block_misplaced, gatherv),
    MUTANT(changes_send_buffer, scatter),
    MUTANT(writes_over_root_in_place, scatterv),
    MUTANT(ignores_displacements, scatterv),
    MUTANT(swaps_blocks, allgather),
    MUTANT(last_block_misplaced, allgatherv),
    MUTANT(wrong_at_no_power_of_two, allgather),
    MUTANT(swaps_blocks, alltoall),
    MUTANT(one_block_misplaced, alltoallv),
    MUTANT(writes_between_blocks, alltoallv),
    MUTANT(takes_much_scratch, alltoallv),
    MUTANT(swaps_operands, allreduce, .restrictions = PL_CONTIGUOUS),
    MUTANT(rounds, allreduce, .restrictions = PL_CONTIGUOUS),
    MUTANT(wrong_after_the_first, allreduce, .restrictions = PL_CONTIGUOUS),
    MUTANT(wrong_at_one_count, allreduce, .restrictions = PL_CONTIGUOUS),
    MUTANT(writes_past_the_buffer, allreduce, .restrictions = PL_CONTIGUOUS),
    MUTANT(wrong_for_last_root_in_place, reduce, .restrictions = PL_CONTIGUOUS),
    MUTANT(cuts_uneven_counts, reduce_scatter, .restrictions = PL_CONTIGUOUS),
    MUTANT(changes_send_buffer, reduce_scatter_block, .restrictions = PL_CONTIGUOUS),
    MUTANT(changes_send_buffer, scan),
    MUTANT(leaves_a_rank_out, scan),
    MUTANT(swaps_operands, scan),
    MUTANT(takes_bottom_for_nothing, scan, .scratch_volumes = 1),
    MUTANT(writes_on_rank_0, exscan),
    MUTANT(sends_from_one_place, alltoallw),
    MUTANT(skips_a_block, alltoallw),
    MUTANT(swaps_blocks, neighbor_allgather),
    MUTANT(one_block_misplaced, neighbor_allgatherv),
    MUTANT(swaps_blocks, neighbor_alltoall),
    MUTANT(one_block_misplaced, neighbor_alltoallv),
    MUTANT(skips_a_block, neighbor_alltoallv),
};
const int pl_catalogue_size = sizeof pl_catalogue / sizeof pl_catalogue[0];
