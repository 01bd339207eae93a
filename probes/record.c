#include "record.h"

#include "clock/global.h"
#include "measure/series.h"
#include "measure/types.h"
#include "overlap/bench.h"
#include "pattern/pattern.h"
#include "system/facts.h"
#include "use/use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA 1

void pl_record_silent(struct pl_record *record)
{
    *record = (struct pl_record){0};
    pl_json_start(&record->json, NULL);
}

bool pl_record_open(struct pl_record *record, const char *path)
{
    pl_record_silent(record);
    record->path = strdup(path);
    if (!record->path || asprintf(&record->part, "%s.part", path) < 0) {
        record->part = NULL;
        record->error = ENOMEM;
        return false;
    }
    FILE *file = fopen(record->part, "we");
    if (!file) {
        record->error = errno;
        return false;
    }
    pl_json_start(&record->json, file);
    return true;
}

static void release(struct pl_record *record)
{
    free(record->path);
    free(record->part);
    record->path = record->part = NULL;
}

/* Nothing is to be written any more; the first reason is kept. */
static void stop(struct pl_record *record)
{
    if (!record->error)
        record->error = errno ? errno : EIO;
}

bool pl_record_finish(struct pl_record *record)
{
    FILE *file = record->json.out;
    if (!file)
        return true;
    errno = 0;
    if (fflush(file) != 0 || fsync(fileno(file)) != 0)
        stop(record);
    if (fclose(file) != 0)
        stop(record);
    pl_json_start(&record->json, NULL);
    if (!record->error && rename(record->part, record->path) != 0)
        stop(record);
    release(record);
    return record->error == 0;
}

void pl_record_abandon(struct pl_record *record)
{
    if (record->json.out)
        fclose(record->json.out);
    pl_json_start(&record->json, NULL);
    release(record);
}

/* Lines: `start`, any members, `end`. */
static struct pl_json *start(struct pl_record *record, const char *kind)
{
    pl_json_object(&record->json, NULL);
    pl_json_text(&record->json, "record", kind);
    return &record->json;
}

static void end(struct pl_record *record)
{
    FILE *file = record->json.out;
    pl_json_end(&record->json);
    if (!file)
        return;
    errno = 0;
    fputc('\n', file);
    if (fflush(file) != 0 || ferror(file))
        stop(record);
}

void pl_record_header(struct pl_record *record, const struct pl_plan *plan,
                      const struct pl_record_facts *facts)
{
    if (!record->json.out)
        return;
    const struct pl_placement *placement = facts->placement;
    char library[MPI_MAX_LIBRARY_VERSION_STRING], standard[16];
    pl_library_text(library);
    pl_standard_text(standard);

    struct pl_json *json = start(record, "header");
    pl_json_integer(json, "schema", SCHEMA);
    pl_json_text(json, "run", plan->run);
    pl_json_text(json, "probe", PL_VERSION);
    pl_json_text(json, "library", library);
    pl_json_text(json, "mpi", standard);
    pl_json_integer(json, "nprocs", facts->nprocs);
    pl_json_integer(json, "nodes", placement->nodes);
    pl_json_integer(json, "ppn", placement->ppn);
    pl_json_array(json, "hosts");
    for (int rank = 0; rank < facts->nprocs; rank++)
        if (placement->first[rank] == rank)
            pl_json_text(json, NULL, placement->ranks[rank].host);
    pl_json_end(json);
    pl_json_integer(json, "processing_units", facts->processing_units);
    pl_json_bool(json, "oversubscribed", placement->ppn > facts->processing_units);
    pl_json_array(json, "binding");
    for (int rank = 0; rank < facts->nprocs; rank++)
        pl_json_text(json, NULL, placement->ranks[rank].binding);
    pl_json_end(json);
    pl_json_text(json, "sync", plan->sync->name);
    pl_json_object(json, "clock");
    pl_json_text(json, "name", plan->clock->name);
    pl_json_integer(json, "resolution_ns", facts->clock.resolution_ns);
    pl_json_integer(json, "cost_ns", facts->clock.cost_ns);
    pl_json_bool(json, "shared", plan->clock->shared);
    pl_json_end(json);
    pl_json_unsigned(json, "seed", plan->seed);
    pl_json_integer(json, "blocks", plan->blocks);
    pl_json_integer(json, "warmup", plan->warmup);
    pl_json_integer(json, "rewarm", plan->rewarm);
    pl_json_text(json, "runtime", plan->runtime == PL_RUNTIME_GLOBAL ? "global" : "local");
    pl_json_object(json, "cache");
    pl_json_text(json, "mode", pl_cache_mode_name(facts->cache->mode));
    pl_json_unsigned(json, "bytes", facts->cache->bytes);
    pl_json_end(json);
    pl_json_object(json, "environment");
    pl_environment_json(json);
    pl_json_end(json);
    pl_factors_json(json, facts->factors);
    end(record);
}

void pl_record_config(struct pl_record *record, const struct pl_config *config,
                      const struct pl_config_state *state)
{
    struct pl_json *json = start(record, "config");
    pl_json_text(json, "id", config->id);
    pl_json_bool(json, "in_force", state->in_force);
    pl_json_text(json, "reason", state->reason);
    pl_json_object(json, "knobs");
    for (int i = 0; i < config->knob_count; i++) {
        pl_json_object(json, config->knobs[i].name);
        pl_json_text(json, "wanted", config->knobs[i].value);
        pl_json_text(json, "read", state->read[i]);
        pl_json_end(json);
    }
    pl_json_end(json);
    end(record);
}

void pl_record_case(struct pl_record *record, const struct pl_plan *plan, const struct pl_case *c,
                    int64_t bytes_moved)
{
    struct pl_json *json = start(record, "case");
    pl_json_integer(json, "case", c->id);
    pl_json_text(json, "function", pl_case_function(c));
    pl_json_text(json, "variant", c->variant_name);
    pl_json_text(json, "config", plan->configs[c->config].id);
    pl_json_integer(json, "bytes", c->bytes);
    pl_json_integer(json, "bytes_moved", bytes_moved);
    pl_json_text(json, "type", pl_types[c->type].name);
    pl_json_text(json, "op", pl_ops[c->op].name);
    pl_json_integer(json, "root", c->root);
    pl_json_integer(json, "ranks", c->ranks);
    pl_json_integer(json, "reps", c->reps);
    pl_json_integer(json, "delay_ns", c->delay_ns);
    if (c->calls) {
        pl_json_integer(json, "calls", c->calls);
        pl_json_integer(json, "least", c->least);
        pl_json_integer(json, "mean", c->mean);
    }
    if (c->use)
        pl_json_text(json, "use", c->use->name);
    if (c->by_rank)
        pl_json_integer(json, "by_rank", 1);
    end(record);
}

void pl_record_begin(struct pl_record *record, int case_id)
{
    pl_json_integer(start(record, "begin"), "case", case_id);
    end(record);
}

void pl_record_check(struct pl_record *record, int case_id, const char *outcome, const char *detail)
{
    struct pl_json *json = start(record, "check");
    pl_json_integer(json, "case", case_id);
    pl_json_text(json, "outcome", outcome);
    pl_json_text(json, "detail", detail);
    end(record);
}

void pl_record_order(struct pl_record *record, int block, const struct pl_plan *plan,
                     const int *order, int count)
{
    struct pl_json *json = start(record, "order");
    pl_json_integer(json, "block", block);
    pl_json_array(json, "cases");
    for (int i = 0; i < count; i++)
        pl_json_integer(json, NULL, plan->cases[order[i]].id);
    pl_json_end(json);
    end(record);
}

void pl_record_samples(struct pl_record *record, int case_id, int block,
                       const struct pl_series *series, const struct pl_counters *counters)
{
    const struct pl_sync *scheme = series->start->scheme;
    struct pl_json *json = start(record, "samples");
    pl_json_integer(json, "case", case_id);
    pl_json_integer(json, "block", block);
    pl_json_array(json, "warmup_ns");
    for (int i = 0; i < series->warmup; i++)
        pl_json_integer(json, NULL, series->ns[i]);
    pl_json_end(json);
    pl_json_array(json, "ns");
    for (int i = series->warmup; i < series->warmup + series->count; i++)
        pl_json_integer(json, NULL, series->ns[i]);
    pl_json_end(json);
    pl_json_integer(json, "late", series->late);
    pl_json_integer(json, "overrun", series->overrun);
    pl_json_integer(json, "window_ns",
                    scheme->windows || scheme->arrivals ? series->start->window_ns : 0);
    pl_json_bool(json, "budget_spent", series->budget_spent);
    pl_json_bool(json, "settled", series->settled);
    pl_counters_json(json, counters);
    end(record);
}

void pl_record_rank_samples(struct pl_record *record, int case_id, int block,
                            const struct pl_series *series)
{
    struct pl_json *json = start(record, "rank_samples");
    pl_json_integer(json, "case", case_id);
    pl_json_integer(json, "block", block);
    pl_json_array(json, "ns");
    for (int rank = 0; rank < series->world->size; rank++) {
        const int64_t *ns = series->ranks_ns + (size_t)rank * ((size_t)series->room + 1);
        pl_json_array(json, NULL);
        for (int i = 0; i < series->count; i++)
            pl_json_integer(json, NULL, ns[i]);
        pl_json_end(json);
    }
    pl_json_end(json);
    end(record);
}

void pl_record_nrep(struct pl_record *record, int case_id, int nrep, const char *ended_by,
                    const struct pl_nrep_rule *rule, const double *values)
{
    struct pl_json *json = start(record, "nrep");
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
    end(record);
}

void pl_record_pingpong(struct pl_record *record, int first, int second, const char *pair,
                        const struct pl_pingpong *line, const int64_t *ns)
{
    struct pl_json *json = start(record, "pingpong");
    pl_json_integer(json, "first", first);
    pl_json_integer(json, "second", second);
    pl_json_text(json, "pair", pair);
    pl_json_integer(json, "bytes", line->bytes);
    pl_json_array(json, "round_trip_ns");
    for (int i = 0; i < line->reps; i++)
        pl_json_integer(json, NULL, ns[i]);
    pl_json_end(json);
    end(record);
}

static void record_list(struct pl_json *json, const char *name, const int64_t *ns, int count)
{
    pl_json_array(json, name);
    for (int i = 0; ns && i < count; i++)
        pl_json_integer(json, NULL, ns[i]);
    pl_json_end(json);
}

void pl_record_overlap(struct pl_record *record, const struct pl_overlap *cell, int rank,
                       int64_t sent, int64_t units, const int64_t *ns)
{
    struct pl_json *json = start(record, "overlap");
    const int count = cell->triples;
    pl_json_integer(json, "cell", cell->id);
    pl_json_text(json, "bench", cell->bench->name);
    pl_json_integer(json, "bytes", cell->bytes);
    pl_json_integer(json, "sent", sent);
    pl_json_text(json, "kernel", pl_kernel_names[cell->kernel]);
    pl_json_integer(json, "work_ns", cell->work_ns);
    pl_json_integer(json, "test_ns", cell->test_ns);
    pl_json_integer(json, "units", units);
    pl_json_integer(json, "latencies", cell->bench->latencies);
    pl_json_integer(json, "halves", cell->bench->halves);
    pl_json_integer(json, "rank", rank);
    pl_json_text(json, "function",
                 cell->function == PL_FUNCTION_COUNT ? "" : pl_function_name(cell->function));
    pl_json_integer(json, "requests", cell->requests);
    pl_json_integer(json, "threads", cell->threads);
    pl_json_bool(json, "helper", cell->helper);
    pl_json_bool(json, "spare", cell->spare);
    pl_json_bool(json, "delivered", ns != NULL);
    record_list(json, "communication_ns", ns, count);
    record_list(json, "computation_ns", ns ? ns + count : NULL, count);
    record_list(json, "both_ns", ns ? ns + 2 * count : NULL, count);
    end(record);
}

/* Events from `first` on, those of one repetition; returns the first of the next. */
static int record_repetition(struct pl_json *json, const struct pl_trace *trace, int first)
{
    const struct pl_event *events = &trace->events[first];
    int count = 0;
    while (first + count < trace->count && events[count].triple == events->triple &&
           events[count].part == events->part)
        count++;
    pl_json_array(json, "names");
    for (int i = 0; i < count; i++)
        pl_json_text(json, NULL, events[i].name);
    pl_json_end(json);
    pl_json_array(json, "peers");
    for (int i = 0; i < count; i++)
        pl_json_integer(json, NULL, events[i].peer);
    pl_json_end(json);
    pl_json_array(json, "numbers");
    for (int i = 0; i < count; i++)
        pl_json_integer(json, NULL, events[i].number);
    pl_json_end(json);
    pl_json_array(json, "begin_ns");
    for (int i = 0; i < count; i++)
        pl_json_integer(json, NULL, events[i].begin_ns);
    pl_json_end(json);
    pl_json_array(json, "end_ns");
    for (int i = 0; i < count; i++)
        pl_json_integer(json, NULL, events[i].end_ns);
    pl_json_end(json);
    return first + count;
}

void pl_record_overlap_trace(struct pl_record *record, const struct pl_overlap *cell, int rank,
                             const struct pl_trace *trace)
{
    for (int first = 0; first < trace->count;) {
        struct pl_json *json = start(record, "overlap_trace");
        pl_json_integer(json, "cell", cell->id);
        pl_json_integer(json, "rank", rank);
        pl_json_integer(json, "triple", trace->events[first].triple);
        pl_json_text(json, "part", pl_part_names[trace->events[first].part]);
        first = record_repetition(json, trace, first);
        end(record);
    }
}

void pl_record_overlap_latency(struct pl_record *record, const char *when, const int64_t *ns,
                               int count)
{
    struct pl_json *json = start(record, "overlap_latency");
    pl_json_text(json, "when", when);
    record_list(json, "ns", ns, count);
    end(record);
}

void pl_record_clock_sync(struct pl_record *record, const char *algorithm, int domains,
                          int64_t took_ns)
{
    struct pl_json *json = start(record, "clock_sync");
    pl_json_text(json, "algorithm", algorithm);
    pl_json_integer(json, "domains", domains);
    pl_json_real(json, "seconds", (double)took_ns / 1e9);
    end(record);
}

void pl_record_clock_model(struct pl_record *record, int domain, const char *host, int rank,
                           const struct pl_model *model)
{
    struct pl_json *json = start(record, "clock_model");
    pl_json_integer(json, "domain", domain);
    pl_json_text(json, "host", host);
    pl_json_integer(json, "rank", rank);
    pl_json_integer(json, "origin_ns", model->origin_ns);
    pl_json_integer(json, "offset_ns", model->offset_ns);
    pl_json_real(json, "slope", model->slope);
    end(record);
}

void pl_record_clock_error(struct pl_record *record, const char *when, int64_t since_ns,
                           const struct pl_global_error *errors, int domains)
{
    struct pl_json *json = start(record, "clock_error");
    pl_json_text(json, "when", when);
    pl_json_integer(json, "since_ns", since_ns);
    pl_json_array(json, "errors_ns");
    for (int i = 0; i < domains && errors; i++)
        pl_json_integer(json, NULL, errors[i].error_ns);
    pl_json_end(json);
    pl_json_array(json, "bounds_ns");
    for (int i = 0; i < domains && errors; i++)
        pl_json_integer(json, NULL, errors[i].bound_ns);
    pl_json_end(json);
    end(record);
}

void pl_record_transit(struct pl_record *record, int case_id, int blocks)
{
    struct pl_json *json = start(record, "transit");
    pl_json_integer(json, "case", case_id);
    pl_json_integer(json, "blocks", blocks);
    end(record);
}

void pl_record_refused(struct pl_record *record, int case_id, const char *reason)
{
    struct pl_json *json = start(record, "refused");
    pl_json_integer(json, "case", case_id);
    pl_json_text(json, "reason", reason);
    end(record);
}

void pl_record_load(struct pl_record *record, const struct pl_hosts *hosts,
                    const struct pl_host_load *loads)
{
    if (!record->json.out)
        return;
    struct pl_json *json = start(record, "load");
    pl_json_array(json, "hosts");
    for (int host = 0; host < hosts->count; host++) {
        pl_json_object(json, NULL);
        pl_json_text(json, "host", hosts->names[host]);
        pl_json_real(json, "load_start", loads[host].average_start);
        pl_json_real(json, "load_end", loads[host].average_end);
        pl_json_real(json, "busy_seconds", loads[host].busy);
        pl_json_real(json, "own_seconds", loads[host].own);
        pl_json_real(json, "stolen_seconds", loads[host].stolen);
        pl_json_end(json);
    }
    pl_json_end(json);
    end(record);
}

void pl_record_footer(struct pl_record *record, int cases, const struct pl_spent *spent,
                      int64_t wall_ns)
{
    struct pl_json *json = start(record, "footer");
    pl_json_integer(json, "cases", cases);
    pl_json_integer(json, "timed_ns", spent->timed_ns);
    pl_json_integer(json, "wall_ns", wall_ns);
    pl_json_integer(json, "start_ns", spent->start_ns);
    pl_json_integer(json, "checks_ns", spent->checks_ns);
    pl_json_integer(json, "warmup_ns", spent->warmup_ns);
    end(record);
}
