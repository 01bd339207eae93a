#include "overlap/overlap.h"

#include "measure/random.h"
#include "overlap/layout.h"
#include "simulated.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct pl_bench *const pl_benches[] = {
#define PL_OVERLAP(name) &pl_overlap_##name,
#include "overlap/benches.def"
#undef PL_OVERLAP
};
const int pl_bench_count = sizeof pl_benches / sizeof *pl_benches;

const struct pl_bench *pl_bench_by_name(const char *name)
{
    for (int i = 0; i < pl_bench_count; i++)
        if (strcmp(pl_benches[i]->name, name) == 0)
            return pl_benches[i];
    return NULL;
}

enum { WARM = 2, LATENCIES = 200 };
enum { AREA_CACHES = 4, LEAST_AREA = 64 << 20 };

struct field {
    const struct pl_plan *plan;
    const struct pl_world *world;
    struct pl_record *record;
    MPI_Comm comm;
    struct pl_work work;
    char *out, *in;
    int64_t *ns; /* of the three parts, one after the other */
    int *order;
    int64_t timed_ns;
};

static bool is_active(const struct field *field)
{
    return field->world->rank == 0;
}

static size_t area_bytes(void)
{
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t several = cache > 0 ? (size_t)cache * AREA_CACHES : 0;
    size_t least = LEAST_AREA, pages = (size_t)sysconf(_SC_PHYS_PAGES);
    size_t most = pages / 16 * (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = several > least ? several : least;
    return bytes < most ? bytes : most;
}

static void *allocate(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes / page + 1) * page;
    void *memory = aligned_alloc(page, size);
    return memory ? memset(memory, 0, size) : NULL;
}

/* Memory for the largest cell, and the work calibrated; on the two sides only. */
static bool prepare(struct field *field)
{
    const struct pl_plan *plan = field->plan;
    bool wanted[PL_KERNEL_COUNT] = {false};
    size_t bytes = 0, triples = 0;
    for (int i = 0; i < plan->overlap_count; i++) {
        const struct pl_overlap *cell = &plan->overlaps[i];
        struct pl_message message = pl_message_of(cell->bench->layout, cell->bytes);
        bytes = message.extent > bytes ? message.extent : bytes;
        triples = (size_t)cell->triples > triples ? (size_t)cell->triples : triples;
        wanted[cell->kernel] = true;
        pl_message_free(&message);
    }
    field->out = allocate(bytes);
    field->in = allocate(bytes);
    field->ns = calloc(triples * PL_PART_COUNT, sizeof *field->ns);
    field->order = calloc((size_t)plan->overlap_count, sizeof *field->order);
    return field->out && field->in && field->ns && field->order &&
           pl_work_open(&field->work, plan->clock, wanted, area_bytes());
}

static void release(struct field *field)
{
    if (field->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&field->comm);
    pl_work_close(&field->work);
    free(field->out);
    free(field->in);
    free(field->ns);
    free(field->order);
}

/* Both sides do as much: what the active one has calibrated. */
static int64_t agreed_units(const struct field *field, enum pl_kernel kernel, int64_t ns, int peer)
{
    int64_t units = is_active(field) ? pl_work_units(&field->work, kernel, ns) : 0;
    if (is_active(field))
        PMPI_Send(&units, 1, MPI_INT64_T, peer, PL_TAG_READY, field->comm);
    else
        PMPI_Recv(&units, 1, MPI_INT64_T, peer, PL_TAG_READY, field->comm, MPI_STATUS_IGNORE);
    return units;
}

static int64_t play(const struct field *field, const struct pl_bench *bench,
                    const struct pl_round *round)
{
    if (round->part == PL_PART_COMPUTATION) {
        if (!is_active(field))
            return 0;
        int64_t begin = round->clock->now_ns();
        pl_compute(round, NULL);
        return round->clock->now_ns() - begin;
    }
    if (is_active(field))
        return bench->active(round);
    bench->passive(round);
    return 0;
}

/* Before anything is timed: whether the data that come are those that were sent. */
static bool delivers(const struct field *field, const struct pl_overlap *cell,
                     struct pl_round *round, size_t extent)
{
    const struct pl_bench *bench = cell->bench;
    const uint64_t seed = field->plan->seed + (uint64_t)cell->id;
    bool comes = is_active(field) ? bench->to_active : bench->to_passive, good = true;
    for (int part = 0; part < PL_PART_COUNT; part++) {
        pl_layout_fill(bench->layout, field->out, extent, seed);
        memset(field->in, 0, extent);
        round->part = (enum pl_part)part;
        play(field, bench, round);
        if (comes && part != PL_PART_COMPUTATION)
            good = good && pl_layout_holds(bench->layout, field->in, extent, seed);
    }
    int mine = good, theirs;
    PMPI_Sendrecv(&mine, 1, MPI_INT, round->peer, PL_TAG_DONE, &theirs, 1, MPI_INT, round->peer,
                  PL_TAG_DONE, field->comm, MPI_STATUS_IGNORE);
    return mine && theirs;
}

static void run_cell(struct field *field, const struct pl_overlap *cell, int peer)
{
    const struct pl_plan *plan = field->plan;
    struct pl_message message = pl_message_of(cell->bench->layout, cell->bytes);
    struct pl_round round = {.comm = field->comm,
                             .peer = peer,
                             .type = message.type,
                             .count = message.count,
                             .out = field->out,
                             .in = field->in,
                             .clock = plan->clock,
                             .work = &field->work,
                             .kernel = cell->kernel};
    round.units = agreed_units(field, cell->kernel, cell->work_ns, peer);
    round.test_units = agreed_units(field, cell->kernel, cell->test_ns, peer);
    bool good = delivers(field, cell, &round, message.extent);
    /* Equal on both sides: they are in the same part at the same time. */
    struct pl_random random = pl_random_stream(plan->seed, UINT64_MAX - 2, (uint64_t)cell->id);
    for (int triple = -WARM; good && triple < cell->triples; triple++) {
        int parts[PL_PART_COUNT] = {PL_PART_COMMUNICATION, PL_PART_COMPUTATION, PL_PART_BOTH};
        pl_random_shuffle(&random, parts, PL_PART_COUNT);
        for (int i = 0; i < PL_PART_COUNT; i++) {
            round.part = (enum pl_part)parts[i];
            int64_t ns = play(field, cell->bench, &round);
            field->timed_ns += ns;
            if (triple >= 0)
                field->ns[parts[i] * cell->triples + triple] = ns;
        }
    }
    if (is_active(field))
        pl_record_overlap(field->record, cell, message.bytes, round.units, good,
                          good ? field->ns : NULL);
    pl_message_free(&message);
}

/* Half the round trips of an empty message. */
static void latencies(struct field *field, const char *when, int peer)
{
    int64_t ns[LATENCIES];
    struct pl_round round = {.comm = field->comm, .peer = peer};
    for (int i = -WARM; i < LATENCIES; i++) {
        int64_t begin = field->plan->clock->now_ns();
        if (is_active(field)) {
            pl_signal(&round, PL_TAG_DATA);
            pl_await(&round, PL_TAG_DATA);
            if (i >= 0)
                ns[i] = (field->plan->clock->now_ns() - begin) / 2;
        } else {
            pl_await(&round, PL_TAG_DATA);
            pl_signal(&round, PL_TAG_DATA);
        }
    }
    if (is_active(field))
        pl_record_overlap_latency(field->record, when, ns, LATENCIES);
}

static void run_cells(struct field *field)
{
    const struct pl_plan *plan = field->plan;
    int peer = is_active(field) ? field->world->size - 1 : 0;
    struct pl_random random = pl_random_stream(plan->seed, UINT64_MAX - 2, UINT64_MAX);
    for (int i = 0; i < plan->overlap_count; i++)
        field->order[i] = i;
    pl_random_shuffle(&random, field->order, plan->overlap_count);
    latencies(field, "start", peer);
    for (int i = 0; i < plan->overlap_count; i++)
        run_cell(field, &plan->overlaps[field->order[i]], peer);
    latencies(field, "end", peer);
}

const char *pl_overlap_run(const struct pl_plan *plan, const struct pl_world *world,
                           struct pl_record *record, int64_t *timed_ns)
{
    struct field field = {.plan = plan, .world = world, .record = record, .comm = MPI_COMM_NULL};
    if (plan->overlap_count == 0)
        return NULL;
    if (PL_SIMULATED)
        return "computation takes no time on a simulated machine, and cannot overlap";
    if (world->size < 2)
        return "overlap needs two ranks; start more";
    bool plays = is_active(&field) || world->rank == world->size - 1;
    bool good = !plays || prepare(&field);
    const char *failure = NULL;
    if (pl_p2p_agree(world, !good)) {
        failure = "out of memory for the messages of overlap cells; ask for fewer bytes";
    } else {
        PMPI_Comm_dup(MPI_COMM_WORLD, &field.comm);
        PMPI_Comm_set_errhandler(field.comm, MPI_ERRORS_ARE_FATAL);
        if (plays)
            run_cells(&field);
        if (!plays)
            pl_p2p_sleep(world, 0);
        for (int rank = 1; world->rank == 0 && rank < world->size - 1; rank++)
            pl_p2p_wake(world, rank);
        *timed_ns += field.timed_ns;
    }
    release(&field);
    return failure;
}
