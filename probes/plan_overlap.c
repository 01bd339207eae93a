/* The keys of `overlap` lines. */
#include "plan_parser.h"

#include "overlap/bench.h"

#include <stdio.h>
#include <string.h>

#define MOST_NS (INT64_C(60) * 1000000000)

static struct pl_overlap *last(struct pl_parser *parser)
{
    return &parser->plan->overlaps[parser->plan->overlap_count - 1];
}

static bool take_id(struct pl_parser *parser, const char *value)
{
    return pl_take_count(parser, value, 0, &last(parser)->id);
}

static bool take_bench(struct pl_parser *parser, const char *value)
{
    last(parser)->bench = pl_bench_by_name(value);
    return last(parser)->bench ||
           pl_refuse(parser, "no such benchmark; 'probe --list' names them (overlaps)");
}

static bool take_bytes(struct pl_parser *parser, const char *value)
{
    return pl_take_int(parser, value, 0, 1 << 30, &last(parser)->bytes);
}

static bool take_ns(struct pl_parser *parser, const char *value, int64_t *ns)
{
    uint64_t number;
    if (!pl_take_number(parser, value, 0, MOST_NS, &number))
        return false;
    *ns = (int64_t)number;
    return true;
}

static bool take_work(struct pl_parser *parser, const char *value)
{
    return take_ns(parser, value, &last(parser)->work_ns);
}

static bool take_test(struct pl_parser *parser, const char *value)
{
    return take_ns(parser, value, &last(parser)->test_ns);
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
    return last(parser)->function < PL_FUNCTION_COUNT ||
           pl_refuse(parser, "no such function; 'probe --list' names them");
}

static bool take_requests(struct pl_parser *parser, const char *value)
{
    return pl_take_int(parser, value, 1, 1024, &last(parser)->requests);
}

static bool take_threads(struct pl_parser *parser, const char *value)
{
    return pl_take_int(parser, value, 0, 1024, &last(parser)->threads);
}

static bool take_switch(struct pl_parser *parser, const char *value, bool *on)
{
    int number;
    if (!pl_take_int(parser, value, 0, 1, &number))
        return false;
    *on = number;
    return true;
}

static bool take_helper(struct pl_parser *parser, const char *value)
{
    return take_switch(parser, value, &last(parser)->helper);
}

static bool take_spare(struct pl_parser *parser, const char *value)
{
    return take_switch(parser, value, &last(parser)->spare);
}

static bool take_traced(struct pl_parser *parser, const char *value)
{
    return pl_take_int(parser, value, 0, 100, &last(parser)->traced);
}

static bool take_triples(struct pl_parser *parser, const char *value)
{
    return pl_take_int(parser, value, 1, 100000, &last(parser)->triples);
}

const struct pl_key pl_overlap_keys[] = {
    {"id", take_id, true},
    {"bench", take_bench, true},
    {"bytes", take_bytes, true},
    {"work_ns", take_work, true},
    {"kernel", take_kernel, false},
    {"test_ns", take_test, false},
    {"function", take_function, false},
    {"requests", take_requests, false},
    {"threads", take_threads, false},
    {"helper", take_helper, false},
    {"spare", take_spare, false},
    {"traced", take_traced, false},
    {"triples", take_triples, false},
};
const int pl_overlap_key_count = sizeof pl_overlap_keys / sizeof *pl_overlap_keys;

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
        return pl_refuse_token(parser, "bench", bench->name, "its messages block: no test_ns");
    if (bench->threads && bench->level == MPI_THREAD_MULTIPLE) {
        if (cell->threads == 0)
            return pl_refuse_token(parser, "bench", bench->name, "say how many threads");
        cell->requests = cell->threads; /* a message each */
    }
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
    for (int i = 0; i < count; i++)
        if (all[i].id == all[count].id) {
            char id[16];
            snprintf(id, sizeof id, "%d", all[count].id);
            return pl_refuse_token(parser, "id", id, "line %d has the same id; choose another",
                                   all[i].line);
        }
    return finish_threads(parser, last(parser));
}
