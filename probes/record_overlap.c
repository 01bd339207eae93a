/* Records of messages beside computation. */
#include "overlap/bench.h"
#include "record.h"

static const char *const part_names[PL_PART_COUNT] = {"communication", "computation", "both"};

void pl_record_overlap(struct pl_record *record, const struct pl_overlap *cell, int rank,
                       int64_t sent, int64_t units, const int64_t *ns)
{
    struct pl_json *json = pl_record_start(record, "overlap");
    const int count = cell->triples;
    pl_json_integer(json, "cell", cell->id);
    pl_plan_echo(json, &pl_line_overlap, cell, "bench", "bytes");
    pl_json_integer(json, "sent", sent);
    pl_plan_echo(json, &pl_line_overlap, cell, "kernel", "test_ns");
    pl_json_integer(json, "units", units);
    pl_json_integer(json, "latencies", cell->bench->latencies);
    pl_json_integer(json, "halves", cell->bench->halves);
    pl_json_integer(json, "rank", rank);
    pl_plan_echo(json, &pl_line_overlap, cell, "function", "spare");
    pl_json_bool(json, "delivered", ns != NULL);
    pl_json_integers(json, "communication_ns", ns, count);
    pl_json_integers(json, "computation_ns", ns ? ns + count : NULL, count);
    pl_json_integers(json, "both_ns", ns ? ns + 2 * count : NULL, count);
    pl_record_end(record);
}

/* Events from `first` on, those of one repetition; returns the first of the next. */
static int record_repetition(struct pl_json *json, const struct pl_trace *trace, int first)
{
    const struct pl_event *events = &trace->events[first];
    int count = 0;
    while (first + count < trace->count && events[count].triple == events->triple &&
           events[count].part == events->part)
        count++;
    PL_JSON_EACH(json, "names", i, count, text, events[i].name);
    PL_JSON_EACH(json, "peers", i, count, integer, events[i].peer);
    PL_JSON_EACH(json, "numbers", i, count, integer, events[i].number);
    PL_JSON_EACH(json, "begin_ns", i, count, integer, events[i].begin_ns);
    PL_JSON_EACH(json, "end_ns", i, count, integer, events[i].end_ns);
    return first + count;
}

void pl_record_overlap_trace(struct pl_record *record, const struct pl_overlap *cell, int rank,
                             const struct pl_trace *trace)
{
    for (int first = 0; first < trace->count;) {
        struct pl_json *json = pl_record_start(record, "overlap_trace");
        pl_json_integer(json, "cell", cell->id);
        pl_json_integer(json, "rank", rank);
        pl_json_integer(json, "triple", trace->events[first].triple);
        pl_json_text(json, "part", part_names[trace->events[first].part]);
        first = record_repetition(json, trace, first);
        pl_record_end(record);
    }
}

void pl_record_overlap_latency(struct pl_record *record, const char *when, const int64_t *ns,
                               int count)
{
    struct pl_json *json = pl_record_start(record, "overlap_latency");
    pl_json_text(json, "when", when);
    pl_json_integers(json, "ns", ns, count);
    pl_record_end(record);
}
