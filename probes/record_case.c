/* Records of what is timed: cases, their checks and samples; round trips of messages. */
#include "measure/rounds.h"
#include "record.h"

void pl_record_case(struct pl_record *record, const struct pl_case *c, int64_t bytes_moved)
{
    struct pl_json *json = pl_record_start(record, "case");
    pl_json_integer(json, "case", c->id);
    pl_plan_echo(json, &pl_line_case, c, "function", "bytes");
    pl_json_integer(json, "bytes_moved", bytes_moved);
    pl_plan_echo(json, &pl_line_case, c, "type", "delay_ns");
    if (c->calls)
        pl_plan_echo(json, &pl_line_case, c, "calls", "mean");
    pl_plan_echo(json, &pl_line_case, c, "counts", "by_rank");
    pl_record_end(record);
}

void pl_record_begin(struct pl_record *record, int case_id)
{
    pl_json_integer(pl_record_start(record, "begin"), "case", case_id);
    pl_record_end(record);
}

void pl_record_check(struct pl_record *record, int case_id, const char *outcome, const char *detail)
{
    struct pl_json *json = pl_record_start(record, "check");
    pl_json_integer(json, "case", case_id);
    pl_json_text(json, "outcome", outcome);
    pl_json_text(json, "detail", detail);
    pl_record_end(record);
}

void pl_record_order(struct pl_record *record, int block, const struct pl_plan *plan,
                     const int *order, int count)
{
    struct pl_json *json = pl_record_start(record, "order");
    pl_json_integer(json, "block", block);
    PL_JSON_EACH(json, "cases", i, count, integer, plan->cases[order[i]].id);
    pl_record_end(record);
}

/* Blocks that are all as most are stay out. */
#define UNUSUAL(json, tally, write, field, usual)                                                  \
    do {                                                                                           \
        bool differs = false;                                                                      \
        for (int i = 0; i < (tally)->blocks && !differs; i++)                                      \
            differs = (tally)->notes[i].field != (usual);                                          \
        if (!differs)                                                                              \
            break;                                                                                 \
        pl_json_array(json, #field);                                                               \
        for (int i = 0; i < (tally)->blocks; i++)                                                  \
            write(json, NULL, (tally)->notes[i].field);                                            \
        pl_json_end(json);                                                                         \
    } while (0)

void pl_record_samples(struct pl_record *record, int case_id, const struct pl_tally *tally,
                       const struct pl_counters *counters)
{
    struct pl_json *json = pl_record_start(record, "samples");
    pl_json_integer(json, "case", case_id);
    PL_JSON_EACH(json, "blocks", i, tally->blocks, integer, tally->notes[i].block);
    PL_JSON_EACH(json, "warmups", i, tally->blocks, integer, tally->notes[i].warmups);
    PL_JSON_EACH(json, "samples", i, tally->blocks, integer, tally->notes[i].samples);
    pl_json_integers(json, "warmup_ns", tally->warmup.ns, tally->warmup.count);
    pl_json_integers(json, "ns", tally->samples.ns, tally->samples.count);
    UNUSUAL(json, tally, pl_json_integer, late, 0);
    UNUSUAL(json, tally, pl_json_integer, overrun, 0);
    UNUSUAL(json, tally, pl_json_integer, window_ns, 0);
    UNUSUAL(json, tally, pl_json_bool, budget_spent, false);
    UNUSUAL(json, tally, pl_json_bool, settled, true);
    pl_json_object(json, "counts");
    for (int i = 0; i < PL_COUNTERS; i++)
        if (counters->counted[i])
            PL_JSON_EACH(json, pl_counter_name(i), j, tally->blocks, integer,
                         tally->notes[j].counts[i]);
    pl_json_end(json);
    pl_record_end(record);
}

void pl_record_rank_samples(struct pl_record *record, int case_id, int block,
                            const struct pl_series *series)
{
    struct pl_json *json = pl_record_start(record, "rank_samples");
    pl_json_integer(json, "case", case_id);
    pl_json_integer(json, "block", block);
    pl_json_array(json, "ns");
    for (int rank = 0; rank < series->world->size; rank++) {
        const int64_t *ns = series->ranks_ns + (size_t)rank * ((size_t)series->room + 1);
        pl_json_integers(json, NULL, ns, series->count);
    }
    pl_json_end(json);
    pl_record_end(record);
}

void pl_record_nrep(struct pl_record *record, int case_id, int nrep, const char *ended_by,
                    const struct pl_nrep_rule *rule, const double *values)
{
    struct pl_json *json = pl_record_start(record, "nrep");
    pl_json_integer(json, "case", case_id);
    pl_json_integer(json, "nrep", nrep);
    pl_json_text(json, "ended_by", ended_by);
    pl_json_array(json, "criteria");
    for (int i = 0; i < rule->count; i++) {
        pl_json_object(json, NULL);
        pl_json_text(json, "name", rule->conditions[i].criterion->name);
        pl_json_real(json, "threshold", rule->conditions[i].threshold);
        pl_json_real(json, "value", values[i]);
        pl_json_end(json);
    }
    pl_json_end(json);
    pl_record_end(record);
}

void pl_record_pingpong(struct pl_record *record, int first, int second, const char *pair,
                        const struct pl_pingpong *line, const int64_t *ns)
{
    struct pl_json *json = pl_record_start(record, "pingpong");
    pl_json_integer(json, "first", first);
    pl_json_integer(json, "second", second);
    pl_json_text(json, "pair", pair);
    pl_plan_echo(json, &pl_line_pingpong, line, "bytes", "bytes");
    pl_json_integers(json, "round_trip_ns", ns, line->reps);
    pl_record_end(record);
}

void pl_record_transit(struct pl_record *record, int case_id, int blocks)
{
    struct pl_json *json = pl_record_start(record, "transit");
    pl_json_integer(json, "case", case_id);
    pl_json_integer(json, "blocks", blocks);
    pl_record_end(record);
}

void pl_record_refused(struct pl_record *record, int case_id, const char *reason)
{
    struct pl_json *json = pl_record_start(record, "refused");
    pl_json_integer(json, "case", case_id);
    pl_json_text(json, "reason", reason);
    pl_record_end(record);
}
