/* The keys of `overlap` lines, and the rules that need the whole line. */
#include "plan_parser.h"

#include "overlap/delivery.h"

#include <limits.h>

#define MOST_NS (INT64_C(60) * 1000000000)
#define MOST_MIB INT64_C(4096) /* that go out of rank 0, or come in */

static bool take_function(struct pl_parser *parser, void *item, const char *value)
{
    struct pl_overlap *cell = item;
    cell->function = pl_function_by_name(value);
    return pl_is_measured(cell->function) ||
           pl_refuse(parser, "no such function; 'probe --list' names them (functions)");
}

static const struct pl_key keys[] = {
    {PL_NUMBER(struct pl_overlap, "id", id, PL_NEEDED, 0, INT_MAX)},
    {PL_ENTRY(struct pl_overlap, "bench", bench, PL_NEEDED, PL_LIST_OVERLAPS)},
    {PL_NUMBER(struct pl_overlap, "bytes", bytes, PL_NEEDED, 0, 1 << 30)},
    {PL_INDEX(struct pl_overlap, "kernel", kernel, PL_NEEDED, PL_LIST_KERNELS)},
    {PL_NUMBER(struct pl_overlap, "work_ns", work_ns, PL_NEEDED, 0, MOST_NS)},
    {PL_NUMBER(struct pl_overlap, "test_ns", test_ns, PL_NEEDED, 0, MOST_NS)},
    {PL_TEXT(struct pl_overlap, "function", function_name, 0, take_function)},
    {PL_NUMBER(struct pl_overlap, "requests", requests, PL_NEEDED, 1, 1024)},
    {PL_NUMBER(struct pl_overlap, "threads", threads, 0, 0, 1024)},
    {PL_NUMBER(struct pl_overlap, "helper", helper, 0, 0, 1)},
    {PL_NUMBER(struct pl_overlap, "spare", spare, 0, 0, 1)},
    {PL_NUMBER(struct pl_overlap, "traced", traced, 0, 0, 100)},
    {PL_NUMBER(struct pl_overlap, "triples", triples, PL_NEEDED, 1, 100000)},
    {0},
};

/* Ranks are 2 where it is not known how many there are. */
static bool fits_memory(struct pl_parser *parser, const struct pl_overlap *cell)
{
    const int blocks = pl_delivery_blocks(cell->bench, 0, parser->nprocs > 0 ? parser->nprocs : 2);
    const int64_t mib = (int64_t)cell->bytes * cell->requests / (1 << 20) * blocks;
    return mib <= MOST_MIB ||
           pl_refuse_key(parser, "bytes",
                         "with %d requests to each peer rank 0 needs %lld MiB for them, more than "
                         "%lld; write fewer bytes or requests",
                         cell->requests, (long long)mib, (long long)MOST_MIB);
}

static bool finish_overlap(struct pl_parser *parser, void *item)
{
    struct pl_overlap *cell = item;
    const struct pl_overlap *all = parser->plan->overlaps;
    const struct pl_bench *bench = cell->bench;
    const bool collective = bench == &pl_overlap_collective, calls = cell->function_name;
    const bool multiple = bench->threads && bench->level == MPI_THREAD_MULTIPLE;
    bool mixed = false;
    for (const struct pl_overlap *before = all; before < cell; before++)
        mixed |= before->helper && cell->helper && before->spare != cell->spare;
    if (!calls)
        cell->function = PL_FUNCTION_COUNT;
    if (calls && !collective)
        return pl_refuse_key(parser, "function",
                             "%s calls none; write bench=collective, or leave it out", bench->name);
    const struct pl_line_rule rules[] = {
        {parser->nprocs == 1, "bench", "overlap needs two ranks"},
        {all->bench->players != bench->players, "bench",
         "not all ranks that take part in it do so in the first one; put it into a plan of its "
         "own"},
        {cell->traced > 0 && cell->threads > 0, "traced",
         "events are recorded of one thread a rank; leave it out"},
        {collective && !calls, "bench",
         "add function=MPI_Bcast or the like: the blocking form of what is begun"},
        {cell->function == PL_FN_reduce_local, "function", "it has no non-blocking form"},
        {cell->function == PL_FN_barrier && cell->bytes > 0, "function",
         "it moves no data; write bytes=0"},
        {collective && cell->requests > 1, "bench",
         "it begins one operation at a time; write requests=1"},
        {cell->threads > 0 && !bench->threads, "bench", "it has no threads"},
        {cell->requests > 1 && bench->threads, "bench", "it has no requests but its own"},
        {cell->test_ns > 0 && bench->threads && bench->level == MPI_THREAD_FUNNELED, "bench",
         "it tests for no message: no test_ns"},
        {bench->threads && bench != &pl_overlap_load && cell->threads == 0, "bench",
         "say how many threads"},
        {cell->spare && bench->threads, "bench",
         "its threads take the spare units; leave out spare"},
        {cell->spare && !cell->helper, "spare", "it says where a helper runs; write helper=1 too"},
        {mixed, "spare", "helpers of one plan are all spare or none"},
    };
    if (!PL_OBEYS(parser, rules))
        return false;
    if (multiple)
        cell->requests = cell->threads; /* a message each */
    return fits_memory(parser, cell);
}

const struct pl_line_kind pl_line_overlap = {
    .word = "overlap",
    .keys = keys,
    PL_ITEMS(overlaps, overlap_count, struct pl_overlap),
    .unique = true,
    .finish = finish_overlap,
};
