#include "overlap/overlap.h"

#include "measure/random.h"
#include "overlap/collective.h"
#include "overlap/delivery.h"
#include "overlap/layout.h"
#include "overlap/threads.h"
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

bool pl_plan_is_traced(const struct pl_plan *plan)
{
    for (int i = 0; i < plan->overlap_count; i++)
        if (plan->overlaps[i].traced > 0)
            return true;
    return false;
}

enum { WARM = 2, LATENCIES = 200 };
enum { AREA_CACHES = 4, LEAST_AREA = 64 << 20 };

struct field {
    const struct pl_plan *plan;
    const struct pl_world *world;
    struct pl_record *record;
    const struct pl_global *global;
    enum pl_players players;
    MPI_Comm comm;
    struct pl_work work;
    struct pl_threads threads;
    char *out, *in;
    MPI_Request *pending;
    struct pl_collective collective;
    int64_t *ns; /* of the three parts, one after the other */
    int *order;
    struct pl_trace trace; /* where cells are traced */
    int64_t timed_ns;
};

static bool plays(const struct field *field, int rank)
{
    return field->players != PL_PAIR || rank == 0 || rank == field->world->size - 1;
}

static bool is_active(const struct field *field, int rank)
{
    return field->players == PL_ALL_ACTIVE || rank == 0;
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

/* Two areas of so many bytes, here and on another rank: a process that touches more than there is
 * is killed without a word. */
static bool fits(size_t bytes)
{
    return bytes / (size_t)sysconf(_SC_PAGESIZE) <= (size_t)sysconf(_SC_PHYS_PAGES) / 4;
}

static void *allocate(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes / page + 1) * page;
    void *memory = aligned_alloc(page, size);
    return memory ? memset(memory, 0, size) : NULL;
}

/* Bytes of the blocks of a cell, going out or coming in. */
static size_t room(const struct field *field, const struct pl_overlap *cell)
{
    struct pl_message message = pl_message_of(cell->bench->layout, cell->bytes);
    size_t bytes = message.extent * (size_t)cell->requests *
                   (size_t)pl_delivery_blocks(cell->bench, field->world->rank, field->world->size);
    pl_message_free(&message);
    return cell->bench->fill ? 0 : bytes;
}

/* Memory for the largest cell, and the work calibrated; on those who play only. */
static bool prepare(struct field *field)
{
    const struct pl_plan *plan = field->plan;
    bool wanted[PL_KERNEL_COUNT] = {false};
    size_t bytes = 0, triples = 0, pending = 0;
    for (int i = 0; i < plan->overlap_count; i++) {
        const struct pl_overlap *cell = &plan->overlaps[i];
        bytes = room(field, cell) > bytes ? room(field, cell) : bytes;
        triples = (size_t)cell->triples > triples ? (size_t)cell->triples : triples;
        pending = (size_t)cell->requests > pending ? (size_t)cell->requests : pending;
        wanted[cell->kernel] = true;
    }
    if (!fits(bytes))
        return false;
    field->out = allocate(bytes);
    field->in = allocate(bytes);
    /* To every rank, and from it. */
    field->pending = calloc(2 * pending * (size_t)field->world->size, sizeof *field->pending);
    field->ns = calloc(triples * PL_PART_COUNT, sizeof *field->ns);
    field->order = calloc((size_t)plan->overlap_count, sizeof *field->order);
    if (pl_plan_is_traced(plan) && !pl_trace_open(&field->trace, plan->clock, field->world->size))
        return false;
    return field->out && field->in && field->pending && field->ns && field->order &&
           pl_work_open(&field->work, plan->clock, wanted, area_bytes());
}

static void release(struct field *field)
{
    if (field->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&field->comm);
    pl_threads_close(&field->threads);
    pl_work_close(&field->work);
    pl_trace_close(&field->trace);
    pl_collective_close(&field->collective);
    free(field->out);
    free(field->in);
    free(field->pending);
    free(field->ns);
    free(field->order);
}

/* All sides do as much: what rank 0 has calibrated. */
static int64_t agreed_units(const struct field *field, enum pl_kernel kernel, int64_t ns)
{
    int64_t units = 0;
    if (field->world->rank > 0) {
        PMPI_Recv(&units, 1, MPI_INT64_T, 0, PL_TAG_READY, field->comm, MPI_STATUS_IGNORE);
        return units;
    }
    units = pl_work_units(&field->work, kernel, ns);
    for (int rank = 1; rank < field->world->size; rank++)
        if (plays(field, rank))
            PMPI_Send(&units, 1, MPI_INT64_T, rank, PL_TAG_READY, field->comm);
    return units;
}

static int64_t play_alone(const struct field *field, const struct pl_bench *bench,
                          const struct pl_exchange *exchange)
{
    bool active = is_active(field, exchange->rank);
    if (field->players == PL_ALL_ACTIVE)
        pl_p2p_barrier(field->world);
    if (exchange->part == PL_PART_COMPUTATION && bench->computation)
        return bench->computation(exchange);
    if (exchange->part == PL_PART_COMPUTATION) {
        if (!active)
            return 0;
        int64_t begin = exchange->clock->now_ns();
        pl_compute(exchange, NULL, 0);
        return exchange->clock->now_ns() - begin;
    }
    if (active)
        return bench->active(exchange);
    bench->passive(exchange);
    return 0;
}

/* With the helper, where the cell has one. */
static int64_t play(const struct field *field, const struct pl_overlap *cell,
                    const struct pl_exchange *exchange)
{
    bool helped = cell->helper && exchange->part == PL_PART_BOTH;
    if (helped)
        pl_threads_help(&field->threads);
    int64_t ns = play_alone(field, cell->bench, exchange);
    if (helped)
        pl_threads_rest(&field->threads);
    return ns;
}

/* Before anything is timed: whether the data that come are those that were sent, on all ranks. */
static bool delivers(const struct field *field, const struct pl_overlap *cell,
                     struct pl_exchange *exchange)
{
    const struct pl_bench *bench = cell->bench;
    const enum pl_part parts[] = {PL_PART_COMMUNICATION, PL_PART_BOTH};
    int good = 1, theirs = 1;
    for (int i = 0; i < 2; i++) {
        exchange->part = parts[i];
        if (bench->fill)
            bench->fill(exchange);
        else
            pl_delivery_fill(bench, exchange);
        play(field, cell, exchange);
        good = good && (bench->holds ? bench->holds(exchange) : pl_delivery_holds(bench, exchange));
    }
    if (exchange->rank > 0) {
        PMPI_Send(&good, 1, MPI_INT, 0, PL_TAG_DONE, exchange->comm);
        PMPI_Recv(&good, 1, MPI_INT, 0, PL_TAG_DONE, exchange->comm, MPI_STATUS_IGNORE);
        return good;
    }
    for (int rank = 1; rank < exchange->size; rank++)
        if (plays(field, rank)) {
            PMPI_Recv(&theirs, 1, MPI_INT, rank, PL_TAG_DONE, exchange->comm, MPI_STATUS_IGNORE);
            good = good && theirs;
        }
    for (int rank = 1; rank < exchange->size; rank++)
        if (plays(field, rank))
            PMPI_Send(&good, 1, MPI_INT, rank, PL_TAG_DONE, exchange->comm);
    return good;
}

/* A record for every rank that has taken its time; rank 0 writes them. */
static void record_times(struct field *field, const struct pl_overlap *cell,
                         const struct pl_exchange *exchange, int64_t sent, bool good)
{
    const int count = good ? cell->triples * PL_PART_COUNT : 0;
    if (exchange->rank > 0) {
        if (is_active(field, exchange->rank))
            PMPI_Send(field->ns, count, MPI_INT64_T, 0, PL_TAG_DONE, exchange->comm);
        return;
    }
    for (int rank = 0; rank < exchange->size; rank++) {
        if (!is_active(field, rank))
            continue;
        if (rank > 0)
            PMPI_Recv(field->ns, count, MPI_INT64_T, rank, PL_TAG_DONE, exchange->comm,
                      MPI_STATUS_IGNORE);
        pl_record_overlap(field->record, cell, rank, sent, exchange->units,
                          good ? field->ns : NULL);
    }
}

/* A record for every rank and repetition with events; rank 0 writes them. */
static void record_trace(struct field *field, const struct pl_overlap *cell,
                         const struct pl_exchange *exchange)
{
    pl_trace_globalise(&field->trace, &field->global->model);
    if (exchange->rank > 0)
        pl_trace_send(&field->trace, 0, PL_TAG_DONE, exchange->comm);
    for (int rank = 0; exchange->rank == 0 && rank < exchange->size; rank++) {
        if (!plays(field, rank))
            continue;
        if (rank > 0)
            pl_trace_receive(&field->trace, rank, PL_TAG_DONE, exchange->comm);
        pl_record_overlap_trace(field->record, cell, rank, &field->trace);
    }
    field->trace.count = 0;
}

static void run_cell(struct field *field, const struct pl_overlap *cell)
{
    const struct pl_plan *plan = field->plan;
    const struct pl_world *world = field->world;
    struct pl_message message = pl_message_of(cell->bench->layout, cell->bytes);
    struct pl_exchange exchange = {.comm = field->comm,
                                   .rank = world->rank,
                                   .size = world->size,
                                   .peer = world->rank == 0 ? world->size - 1 : 0,
                                   .type = message.type,
                                   .count = message.count,
                                   .extent = message.extent,
                                   .last = pl_layout_last(cell->bench->layout, message.extent),
                                   .requests = cell->requests,
                                   .out = field->out,
                                   .in = field->in,
                                   .pending = field->pending,
                                   .clock = plan->clock,
                                   .work = &field->work,
                                   .kernel = cell->kernel,
                                   .seed = plan->seed + (uint64_t)cell->id,
                                   .collective = &field->collective,
                                   .pool = field->threads.pool,
                                   .threads = cell->threads};
    exchange.units = agreed_units(field, cell->kernel, cell->work_ns);
    exchange.test_units = agreed_units(field, cell->kernel, cell->test_ns);
    exchange.look_units = agreed_units(field, cell->kernel, PL_TRACE_LOOK_NS);
    int64_t sent = message.bytes;
    if (cell->bench == &pl_overlap_collective)
        sent = pl_collective_set(&field->collective, cell, field->comm);
    bool good = delivers(field, cell, &exchange);
    /* Equal on all sides: they are in the same part at the same time. */
    struct pl_random random = pl_random_stream(plan->seed, UINT64_MAX - 2, (uint64_t)cell->id);
    for (int triple = -WARM; good && triple < cell->triples; triple++) {
        int parts[PL_PART_COUNT] = {PL_PART_COMMUNICATION, PL_PART_COMPUTATION, PL_PART_BOTH};
        pl_random_shuffle(&random, parts, PL_PART_COUNT);
        if (triple >= cell->triples - cell->traced)
            exchange.trace = &field->trace;
        for (int i = 0; i < PL_PART_COUNT; i++) {
            exchange.part = (enum pl_part)parts[i];
            if (exchange.trace)
                pl_trace_enter(exchange.trace, triple, parts[i]);
            pl_trace_of_calls = exchange.trace;
            int64_t ns = play(field, cell, &exchange);
            pl_trace_of_calls = NULL;
            field->timed_ns += ns;
            if (triple >= 0)
                field->ns[parts[i] * cell->triples + triple] = ns;
        }
    }
    record_times(field, cell, &exchange, sent, good);
    if (cell->traced > 0)
        record_trace(field, cell, &exchange);
    pl_message_free(&message);
}

/* Half the round trips of an empty message between rank 0 and the last rank. */
static void latencies(struct field *field, const char *when)
{
    int64_t ns[LATENCIES];
    const int rank = field->world->rank, last = field->world->size - 1;
    struct pl_exchange exchange = {.comm = field->comm, .peer = rank == 0 ? last : 0};
    for (int i = -WARM; i < LATENCIES && (rank == 0 || rank == last); i++) {
        int64_t begin = field->plan->clock->now_ns();
        if (rank == 0) {
            pl_signal(&exchange, PL_TAG_DATA);
            pl_await(&exchange, PL_TAG_DATA);
            if (i >= 0)
                ns[i] = (field->plan->clock->now_ns() - begin) / 2;
        } else {
            pl_await(&exchange, PL_TAG_DATA);
            pl_signal(&exchange, PL_TAG_DATA);
        }
    }
    if (rank == 0)
        pl_record_overlap_latency(field->record, when, ns, LATENCIES);
}

static void run_cells(struct field *field)
{
    const struct pl_plan *plan = field->plan;
    struct pl_random random = pl_random_stream(plan->seed, UINT64_MAX - 2, UINT64_MAX);
    for (int i = 0; i < plan->overlap_count; i++)
        field->order[i] = i;
    pl_random_shuffle(&random, field->order, plan->overlap_count);
    latencies(field, "start");
    for (int i = 0; i < plan->overlap_count; i++)
        run_cell(field, &plan->overlaps[field->order[i]]);
    latencies(field, "end");
}

const char *pl_overlap_run(const struct pl_plan *plan, const struct pl_world *world,
                           struct pl_record *record, const struct pl_global *global,
                           int64_t *timed_ns)
{
    if (plan->overlap_count == 0)
        return NULL;
    struct field field = {.plan = plan,
                          .world = world,
                          .record = record,
                          .global = global,
                          .players = plan->overlaps[0].bench->players,
                          .comm = MPI_COMM_NULL};
    if (PL_SIMULATED)
        return "computation takes no time on a simulated machine, and cannot overlap";
    if (world->size < 2)
        return "overlap needs two ranks; start more";
    bool awake = plays(&field, world->rank);
    bool good = !awake || prepare(&field);
    if (field.players == PL_ALL_ACTIVE)
        good = pl_collective_open(&field.collective, plan, world) && good;
    const char *failure = NULL;
    if (pl_p2p_agree(world, !good)) {
        failure = "out of memory for the messages of overlap cells; ask for fewer bytes";
    } else if (!(failure = pl_threads_open(&field.threads, plan, world, awake, &field.work))) {
        PMPI_Comm_dup(world->comm, &field.comm);
        PMPI_Comm_set_errhandler(field.comm, MPI_ERRORS_ARE_FATAL);
        if (awake)
            run_cells(&field);
        else
            pl_p2p_sleep(world, 0);
        for (int rank = 1; world->rank == 0 && rank < world->size; rank++)
            if (!plays(&field, rank))
                pl_p2p_wake(world, rank);
        *timed_ns += field.timed_ns;
    }
    release(&field);
    return failure;
}
