/* The keys of `overlap` lines. */
#include "plan_parser.h"

#include "overlap/delivery.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MOST_NS (INT64_C(60) * 1000000000)
#define MOST_MIB INT64_C(4096) /* that go out of rank 0, or come in */

static struct pl_overlap *last(struct pl_parser *parser)
{
    return &parser->plan->overlaps[parser->plan->overlap_count - 1];
}

static bool take_bench(struct pl_parser *parser, const char *value)
{
    last(parser)->bench = pl_bench_by_name(value);
    return last(parser)->bench ||
           pl_refuse(parser, "no such benchmark; 'probe --list' names them (overlaps)");
}

static bool take_kernel(struct pl_parser *parser, const char *value)
{
    for (int kernel = 0; kernel < PL_KERNEL_COUNT; kernel++)
        if (strcmp(pl_kernel_names[kernel], value) == 0) {
            last(parser)->kernel = (enum pl_kernel)kernel;
            return true;
        }
    return pl_refuse(parser, "write 'registers' or 'memory'");
}

static bool take_function(struct pl_parser *parser, const char *value)
{
    last(parser)->function = pl_function_by_name(value);
    return pl_is_measured(last(parser)->function) ||
           pl_refuse(parser, "no such function; 'probe --list' names them");
}

const struct pl_key pl_overlap_keys[] = {
    {PL_NUMBER("id", struct pl_overlap, id, 0, INT_MAX), .required = true},
    {.name = "bench", .take = take_bench, .required = true},
    {PL_NUMBER("bytes", struct pl_overlap, bytes, 0, 1 << 30), .required = true},
    {PL_NUMBER("work_ns", struct pl_overlap, work_ns, 0, MOST_NS), .required = true},
    {.name = "kernel", .take = take_kernel, .required = true},
    {PL_NUMBER("test_ns", struct pl_overlap, test_ns, 0, MOST_NS), .required = true},
    {.name = "function", .take = take_function},
    {PL_NUMBER("requests", struct pl_overlap, requests, 1, 1024), .required = true},
    {PL_NUMBER("threads", struct pl_overlap, threads, 0, 1024)},
    {PL_NUMBER("helper", struct pl_overlap, helper, 0, 1)},
    {PL_NUMBER("spare", struct pl_overlap, spare, 0, 1)},
    {PL_NUMBER("traced", struct pl_overlap, traced, 0, 100)},
    {PL_NUMBER("triples", struct pl_overlap, triples, 1, 100000), .required = true},
};
const int pl_overlap_key_count = sizeof pl_overlap_keys / sizeof *pl_overlap_keys;

/* The function of a collective benchmark, and what only others take. */
static bool finish_collective(struct pl_parser *parser, const struct pl_overlap *o)
{
    const bool given = o->function < PL_FUNCTION_COUNT;
    const char *name = pl_function_name(o->function);
    if (o->bench != &pl_overlap_collective)
        return !given || pl_refuse_token(parser, "function", name,
                                         "%s calls none; write bench=collective, or leave it out",
                                         o->bench->name);
    if (!given)
        return pl_refuse_token(parser, "bench", o->bench->name,
                               "add function=MPI_Bcast or the like: the blocking form of what is "
                               "begun");
    if (o->function == PL_FN_reduce_local)
        return pl_refuse_token(parser, "function", name, "it has no non-blocking form");
    if (o->function == PL_FN_barrier && o->bytes > 0)
        return pl_refuse_token(parser, "function", name, "it moves no data; write bytes=0");
    return o->requests == 1 ||
           pl_refuse_token(parser, "bench", o->bench->name,
                           "it begins one operation at a time; write requests=1");
}

/* Ranks are 2 where it is not known how many there are. */
static bool finish_memory(struct pl_parser *parser, const struct pl_overlap *o)
{
    const int blocks = pl_delivery_blocks(o->bench, 0, parser->nprocs > 0 ? parser->nprocs : 2);
    const int64_t mib = (int64_t)o->bytes * o->requests / (1 << 20) * blocks;
    if (mib <= MOST_MIB)
        return true;
    char bytes[16];
    snprintf(bytes, sizeof bytes, "%d", o->bytes);
    return pl_refuse_token(parser, "bytes", bytes,
                           "with %d requests to each peer rank 0 needs %lld MiB for them, more "
                           "than %lld; write fewer bytes or requests",
                           o->requests, (long long)mib, (long long)MOST_MIB);
}

/* Of the benchmark's threads and of the helper. */
static bool finish_threads(struct pl_parser *parser, struct pl_overlap *cell)
{
    const struct pl_bench *bench = cell->bench;
    const struct pl_overlap *all = parser->plan->overlaps;
    if (cell->threads > 0 && !bench->threads)
        return pl_refuse_token(parser, "bench", bench->name, "it has no threads");
    if (bench->threads && cell->requests > 1)
        return pl_refuse_token(parser, "bench", bench->name, "it has no requests but its own");
    if (bench->threads && bench->level == MPI_THREAD_FUNNELED && cell->test_ns > 0)
        return pl_refuse_token(parser, "bench", bench->name, "it tests for no message: no test_ns");
    if (bench->threads && bench != &pl_overlap_load && cell->threads == 0)
        return pl_refuse_token(parser, "bench", bench->name, "say how many threads");
    if (bench->threads && bench->level == MPI_THREAD_MULTIPLE)
        cell->requests = cell->threads; /* a message each */
    if (cell->spare && bench->threads)
        return pl_refuse_token(parser, "bench", bench->name,
                               "its threads take the spare units; leave out spare");
    if (cell->spare && !cell->helper)
        return pl_refuse(parser, "spare=1 says where a helper runs; write helper=1 too");
    for (const struct pl_overlap *other = all; other < cell; other++)
        if (other->helper && cell->helper && other->spare != cell->spare)
            return pl_refuse(parser, "helpers of one plan are all spare or none");
    return true;
}

bool pl_finish_overlap(struct pl_parser *parser)
{
    const struct pl_overlap *all = parser->plan->overlaps;
    int count = parser->plan->overlap_count - 1;
    if (parser->nprocs == 1)
        return pl_refuse(parser, "overlap needs two ranks");
    if (all[0].bench->players != all[count].bench->players)
        return pl_refuse_token(parser, "bench", all[count].bench->name,
                               "not all ranks that take part in %s do so in the first one; put it "
                               "into a plan of its own",
                               all[count].bench->name);
    if (all[count].traced > 0 && all[count].threads > 0)
        return pl_refuse(parser, "events are recorded of one thread a rank; leave out traced");
    if (!finish_collective(parser, &all[count]) || !finish_threads(parser, last(parser)) ||
        !finish_memory(parser, &all[count]))
        return false;
    for (int i = 0; i < count; i++)
        if (all[i].id == all[count].id) {
            char id[16];
            snprintf(id, sizeof id, "%d", all[count].id);
            return pl_refuse_token(parser, "id", id, "line %d has the same id; choose another",
                                   all[i].line);
        }
    return true;
}
