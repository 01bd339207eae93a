/* MPI_Alltoallw against plain messages: a datatype for each block, in many forms, blocks in any
 * order, empty ones, in place, at absolute addresses; and how many messages there are.
 *
 * usage: alltoallw [call]
 * Without libplumbline.so it calls the variants. With it (`alltoallw call`) it calls MPI_Alltoallw,
 * and compares what calls that are not legal return with PMPI_Alltoallw. */
#include "everyone.h"
#include "typed_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 16, CASES = 120, GUARD = 64, SHORT = 40, LONG = 20000 };

static int world_rank, failures, calls;
static bool as_application;
static long sent; /* messages to other ranks */

/* --- what the variants send --- */

static void count(int to, MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    sent += to != MPI_PROC_NULL && to != rank;
}

int MPI_Isend(const void *buf, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    count(to, comm);
    return PMPI_Isend(buf, elements, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void *out, int out_elements, MPI_Datatype out_type, int to, int out_tag,
                 void *in, int in_elements, MPI_Datatype in_type, int from, int in_tag,
                 MPI_Comm comm, MPI_Status *status)
{
    count(to, comm);
    return PMPI_Sendrecv(out, out_elements, out_type, to, out_tag, in, in_elements, in_type, from,
                         in_tag, comm, status);
}

int MPI_Sendrecv_replace(void *buf, int elements, MPI_Datatype type, int to, int out_tag, int from,
                         int in_tag, MPI_Comm comm, MPI_Status *status)
{
    count(to, comm);
    return PMPI_Sendrecv_replace(buf, elements, type, to, out_tag, from, in_tag, comm, status);
}

/* --- a case --- */

/* What all ranks draw alike. */
struct common {
    struct typed_common blocks;
    bool absolute;
};

/* One side of a call. */
struct side {
    struct typed_blocks blocks;
    char *before, *ours, *theirs;
};

static MPI_Comm comm;
static int rank, p;

static char *need(size_t bytes)
{
    char *memory = malloc(bytes);
    if (!memory)
        abort();
    return memory;
}

static struct common common_draw(unsigned long long seed)
{
    struct draw draw = draw_from(seed, 1, 0);
    struct common common = {.blocks = typed_common_draw(&draw)};
    common.blocks.most = draw_chance(&draw, 15) ? LONG : SHORT;
    common.blocks.in_place = draw_chance(&draw, 30);
    common.absolute = draw_chance(&draw, 25);
    return common;
}

static void side_make(struct side *side, const struct common *common, bool sends, struct draw *draw)
{
    typed_blocks_make(&side->blocks, &common->blocks, sends, p, rank, GUARD, draw);
    const size_t bytes = side->blocks.bytes;
    side->before = need(bytes);
    side->ours = need(bytes);
    side->theirs = need(bytes);
    draw_fill(draw, side->before, bytes);
    memcpy(side->ours, side->before, bytes);
    memcpy(side->theirs, side->before, bytes);
}

static void side_free(struct side *side)
{
    typed_blocks_free(&side->blocks, p);
    free(side->before);
    free(side->ours);
    free(side->theirs);
}

/* Another writing of the same side: each block is one element at an absolute address. */
struct absolute {
    int counts[RANKS], displs[RANKS];
    MPI_Datatype types[RANKS];
};

static void absolute_make(const struct side *side, char *memory, struct absolute *absolute)
{
    for (int i = 0; i < p; i++) {
        MPI_Aint address;
        const MPI_Datatype type = side->blocks.counts[i] > 0 ? side->blocks.types[i] : MPI_INT;
        MPI_Get_address(memory + (ptrdiff_t)side->blocks.zero + side->blocks.displs[i], &address);
        MPI_Type_create_hindexed(1, &side->blocks.counts[i], &address, type, &absolute->types[i]);
        MPI_Type_commit(&absolute->types[i]);
        absolute->counts[i] = 1;
        absolute->displs[i] = 0;
    }
}

static void absolute_free(struct absolute *absolute)
{
    for (int i = 0; i < p; i++)
        MPI_Type_free(&absolute->types[i]);
}

/* What the call must do, by plain messages. In place the memory before the call is sent. */
static void expect(const struct common *common, const struct side *out, const struct side *in)
{
    const struct side *from = common->blocks.in_place ? in : out;
    const struct pl_call plain = {.function = PL_FN_alltoallw,
                                  .sendbuf = from->before + from->blocks.zero,
                                  .sendcounts = from->blocks.counts,
                                  .sdispls = from->blocks.displs,
                                  .sendtypes = from->blocks.types,
                                  .recvbuf = in->theirs + in->blocks.zero,
                                  .recvcounts = in->blocks.counts,
                                  .rdispls = in->blocks.displs,
                                  .recvtypes = in->blocks.types};
    for (int step = common->blocks.in_place ? 1 : 0; step < p; step++) {
        const int to = (rank + step) % p, source = (rank + p - step) % p;
        const struct pl_block sends = pl_to(&plain, to), receives = pl_from(&plain, source);
        PMPI_Sendrecv(sends.buf, sends.count, sends.type, to, 0, (void *)receives.buf,
                      receives.count, receives.type, source, 0, comm, MPI_STATUS_IGNORE);
    }
}

/* --- a call --- */

static int run(const struct pl_spec *spec, const struct pl_call *call)
{
    calls++;
    return as_application ? pl_call_mpi(call) : pl_spec_run(spec, call);
}

static long blocks_to_others(const struct side *side)
{
    long blocks = 0;
    for (int i = 0; i < p; i++)
        blocks += i != rank && side->blocks.counts[i] > 0 &&
                  side->blocks.forms[i].high > side->blocks.forms[i].low;
    return blocks;
}

static bool check(const struct pl_spec *spec, const struct common *common, const struct side *out,
                  const struct side *in)
{
    struct absolute from, to;
    struct pl_call call = {.function = PL_FN_alltoallw,
                           .comm = comm,
                           .recvbuf = in->ours + in->blocks.zero,
                           .recvcounts = in->blocks.counts,
                           .rdispls = in->blocks.displs,
                           .recvtypes = in->blocks.types,
                           .sendbuf = MPI_IN_PLACE};
    if (!common->blocks.in_place) {
        call.sendbuf = out->ours + out->blocks.zero;
        call.sendcounts = out->blocks.counts;
        call.sdispls = out->blocks.displs;
        call.sendtypes = out->blocks.types;
    }
    if (!as_application && pl_variant_obstacles(spec->variant, &call) != 0)
        return common->blocks.in_place;
    if (common->absolute) {
        absolute_make(out, out->ours, &from);
        absolute_make(in, in->ours, &to);
        call.recvbuf = MPI_BOTTOM;
        call.recvcounts = to.counts;
        call.rdispls = to.displs;
        call.recvtypes = to.types;
        if (!common->blocks.in_place) {
            call.sendbuf = MPI_BOTTOM;
            call.sendcounts = from.counts;
            call.sdispls = from.displs;
            call.sendtypes = from.types;
        }
    }
    memcpy(in->ours, in->before, in->blocks.bytes);
    sent = 0;
    bool good = run(spec, &call) == MPI_SUCCESS;
    good = good && memcmp(in->ours, in->theirs, in->blocks.bytes) == 0;
    good = good && memcmp(out->ours, out->before, out->blocks.bytes) == 0;
    good = good && (as_application || sent == blocks_to_others(common->blocks.in_place ? in : out));
    if (common->absolute) {
        absolute_free(&from);
        absolute_free(&to);
    }
    return good;
}

static void check_case(unsigned long long seed)
{
    static const char *const texts[] = {"alltoallw_pairwise", "alltoallw_windowed",
                                        "alltoallw_windowed:window=1",
                                        "alltoallw_windowed:window=3"};
    const struct common common = common_draw(seed);
    struct draw draw = draw_from(common.blocks.seed, 2, (unsigned)rank);
    struct side out, in;
    side_make(&out, &common, true, &draw);
    side_make(&in, &common, false, &draw);
    expect(&common, &out, &in);
    for (size_t i = 0; i < (as_application ? 1 : sizeof texts / sizeof *texts); i++) {
        char why[100];
        struct pl_spec spec;
        if (!pl_spec_parse(texts[i], &spec, why, sizeof why))
            MPI_Abort(MPI_COMM_WORLD, 3);
        int good = check(&spec, &common, &out, &in);
        PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, comm);
        failures += !good;
        if (rank == 0 && !good)
            printf("not ok case %llu: %s%s%s\n", seed, texts[i],
                   common.blocks.in_place ? ", in place" : "", common.absolute ? ", absolute" : "");
    }
    side_free(&out);
    side_free(&in);
}

/* --- calls that are not legal --- */

static const char *const wrongs[] = {
    "nothing wrong",     "negative count",     "no type sent",     "no type received",
    "received in place", "type not committed", "other block kept", "no type for empty blocks"};

static struct pl_call wrong_call(size_t wrong, MPI_Datatype raw)
{
    static int out[RANKS], in[RANKS], counts[RANKS], in_counts[RANKS], displs[RANKS];
    static MPI_Datatype out_types[RANKS], in_types[RANKS];
    const int last = p - 1;
    for (int i = 0; i < p; i++) {
        in_counts[i] = counts[i] = wrong == 7 ? 0 : 1;
        displs[i] = i * (int)sizeof(int);
        out_types[i] = in_types[i] = MPI_INT;
    }
    if (wrong == 1)
        in_counts[last] = counts[last] = -1;
    if (wrong == 2 || wrong == 7)
        out_types[last] = MPI_DATATYPE_NULL;
    if (wrong == 3 || wrong == 7)
        in_types[last] = MPI_DATATYPE_NULL;
    if (wrong == 5)
        out_types[last] = raw;
    if (wrong == 6)
        counts[rank] = 2;
    return (struct pl_call){.function = PL_FN_alltoallw,
                            .comm = comm,
                            .sendbuf = out,
                            .recvbuf = wrong == 4 ? MPI_IN_PLACE : (void *)in,
                            .sendcounts = counts,
                            .recvcounts = in_counts,
                            .sdispls = displs,
                            .rdispls = displs,
                            .sendtypes = out_types,
                            .recvtypes = in_types};
}

/* The same error class with and without libplumbline.so, and nothing hangs. */
static void check_wrong(size_t wrong)
{
    int class[2], good;
    MPI_Datatype raw;
    MPI_Type_contiguous(1, MPI_INT, &raw);
    const struct pl_call call = wrong_call(wrong, raw);
    MPI_Error_class(pl_call_mpi(&call), &class[0]);
    MPI_Error_class(pl_call_pmpi(&call), &class[1]);
    good = class[0] == class[1];
    MPI_Type_free(&raw);
    PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, comm);
    failures += !good;
    if (rank == 0 && !good)
        printf("not ok %s: %d, %d\n", wrongs[wrong], class[0], class[1]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    as_application = argc > 1 && strcmp(argv[1], "call") == 0;
    if (p > RANKS || argc > 2 || (argc > 1 && !as_application))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int turned = 0; turned < 2; turned++) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, turned ? -world_rank : world_rank, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(comm, &rank);
        for (unsigned long long seed = 0; seed < CASES; seed++)
            check_case(2 * seed + (unsigned)turned);
        for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs && as_application; i++)
            check_wrong(i);
        MPI_Comm_free(&comm);
    }
    if (world_rank == 0)
        printf("%s %d calls\n", failures ? "not ok" : "ok", calls);
    MPI_Finalize();
    return failures > 0;
}
