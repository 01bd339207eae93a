#include "clock/global.h"

#include "clock/learn.h"

enum { TAG_WIRE = 30, BURSTS = 16, BURST_EXCHANGES = 25 };

/* The wire under MPI: some ranks of the world, on the communicator of the start schemes. */
struct wire {
    struct pl_wire base; /* the first member: a pl_wire * is a wire * */
    const struct pl_global *global;
    const int *ranks; /* of the world, by rank on the wire */
};

static void wire_send(struct pl_wire *base, int to, const void *data, int bytes)
{
    const struct wire *wire = (const struct wire *)base;
    PMPI_Send(data, bytes, MPI_BYTE, wire->ranks[to], TAG_WIRE, wire->global->world->sync);
}

static void wire_recv(struct pl_wire *base, int from, void *data, int bytes)
{
    const struct wire *wire = (const struct wire *)base;
    PMPI_Recv(data, bytes, MPI_BYTE, wire->ranks[from], TAG_WIRE, wire->global->world->sync,
              MPI_STATUS_IGNORE);
}

static int64_t wire_now_ns(struct pl_wire *base)
{
    return ((const struct wire *)base)->global->clock->now_ns();
}

static void wire_wait_until(struct pl_wire *base, int64_t own_ns)
{
    const struct pl_global *global = ((const struct wire *)base)->global;
    pl_clock_wait(global->clock, own_ns, global->crowded);
}

static struct wire wire_of(const struct pl_global *global, const int *ranks, int size, bool drift)
{
    struct wire wire = {.base = {.size = size,
                                 .drift = drift,
                                 .fit_ns = global->fit_ns,
                                 .send = wire_send,
                                 .recv = wire_recv,
                                 .now_ns = wire_now_ns,
                                 .wait_until = wire_wait_until},
                        .global = global,
                        .ranks = ranks};
    while (ranks[wire.base.rank] != global->world->rank)
        wire.base.rank++;
    return wire;
}

int pl_global_domains(const struct pl_global *global)
{
    return global->clock->shared ? global->nodes->count : global->world->size;
}

int pl_global_leader(const struct pl_global *global, int domain)
{
    return global->clock->shared ? global->nodes->first[domain] : domain;
}

bool pl_global_start_timers(const struct pl_global *global)
{
    const struct pl_clock_nodes *nodes = global->nodes;
    struct pl_calibration calibration = {0};
    if (nodes->first[nodes->of_rank[global->world->rank]] == global->world->rank)
        calibration = pl_clock_calibrate(global->clock);
    pl_clock_nodes_broadcast(nodes, global->world, &calibration, (int)sizeof calibration);
    return !pl_p2p_agree(global->world, !pl_clock_start(global->clock, &calibration));
}

static void learn_among(const struct pl_global *global, const int *ranks, int size, bool drift,
                        struct pl_model *model)
{
    struct wire wire = wire_of(global, ranks, size, drift);
    *model = global->algorithm->learn(&wire.base);
}

void pl_global_learn(struct pl_global *global)
{
    const struct pl_clock_nodes *nodes = global->nodes;
    int node = nodes->of_rank[global->world->rank];
    struct pl_model inside = PL_MODEL_IDENTITY, outside = PL_MODEL_IDENTITY;
    int64_t begin = global->clock->now_ns();

    if (!global->clock->shared)
        learn_among(global, nodes->ranks + nodes->start[node],
                    nodes->start[node + 1] - nodes->start[node], false, &inside);
    /* The others of a node sleep: on a node with more ranks than cores their polling would disturb.
     */
    if (nodes->first[node] == global->world->rank) {
        learn_among(global, nodes->first, nodes->count, true, &outside);
        for (int i = nodes->start[node] + 1; i < nodes->start[node + 1]; i++)
            pl_p2p_wake(global->world, nodes->ranks[i]);
    } else {
        pl_p2p_sleep(global->world, nodes->first[node]);
    }
    pl_clock_nodes_broadcast(nodes, global->world, &outside, (int)sizeof outside);
    global->model = pl_model_merge(&outside, &inside);
    pl_p2p_barrier(global->world);
    global->learnt_ns = global->clock->now_ns();
    global->took_ns = global->learnt_ns - begin;
}

/* The largest deviation among the quarter of the bursts that was disturbed least. */
static int64_t largest_of_good(const struct pl_offset *bursts)
{
    int64_t largest = 0;
    for (int i = 0; i < BURSTS; i++) {
        int better = 0;
        for (int j = 0; j < BURSTS; j++)
            better += bursts[j].bound_ns < bursts[i].bound_ns;
        int64_t size = bursts[i].offset_ns < 0 ? -bursts[i].offset_ns : bursts[i].offset_ns;
        if (better < BURSTS / 4 && size > largest)
            largest = size;
    }
    return largest;
}

/* The deviation lies within bound of offset in every burst, so within all of them at once. */
static int64_t largest_possible(const struct pl_offset *bursts)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int i = 0; i < BURSTS; i++) {
        if (bursts[i].offset_ns - bursts[i].bound_ns > low)
            low = bursts[i].offset_ns - bursts[i].bound_ns;
        if (bursts[i].offset_ns + bursts[i].bound_ns < high)
            high = bursts[i].offset_ns + bursts[i].bound_ns;
    }
    return -low > high ? -low : high;
}

static struct pl_global_error ask(const struct pl_global *global, struct pl_wire *wire)
{
    struct pl_offset bursts[BURSTS];
    for (int i = 0; i < BURSTS; i++)
        bursts[i] = pl_offset_ask(wire, 0, BURST_EXCHANGES, &global->model);
    struct pl_global_error error = {largest_of_good(bursts), largest_possible(bursts)};
    if (error.bound_ns < error.error_ns)
        error.bound_ns = error.error_ns;
    return error;
}

void pl_global_check(const struct pl_global *global, struct pl_global_error *errors)
{
    const struct pl_world *world = global->world;
    struct pl_global_error mine = {0, 0};
    for (int domain = 1; domain < pl_global_domains(global); domain++) {
        int ranks[2] = {0, pl_global_leader(global, domain)};
        if (world->rank == ranks[1]) {
            pl_p2p_sleep(world, 0);
            struct wire wire = wire_of(global, ranks, 2, false);
            mine = ask(global, &wire.base);
        } else if (world->rank == 0) {
            struct wire wire = wire_of(global, ranks, 2, false);
            pl_p2p_wake(world, ranks[1]);
            for (int i = 0; i < BURSTS; i++)
                pl_offset_answer(&wire.base, 1, BURST_EXCHANGES, &PL_MODEL_IDENTITY);
        }
    }
    for (int rank = 1; rank < world->size && world->rank == 0; rank++)
        pl_p2p_wake(world, rank);
    if (world->rank > 0)
        pl_p2p_sleep(world, 0);
    pl_p2p_gather(global->world, &mine, (int)sizeof mine, errors);
}
