/* Records of the global clock. */
#include "clock/global.h"
#include "record.h"

void pl_record_clock_sync(struct pl_record *record, const char *algorithm, int domains,
                          int64_t took_ns)
{
    struct pl_json *json = pl_record_start(record, "clock_sync");
    pl_json_text(json, "algorithm", algorithm);
    pl_json_integer(json, "domains", domains);
    pl_json_real(json, "seconds", (double)took_ns / 1e9);
    pl_record_end(record);
}

void pl_record_clock_model(struct pl_record *record, int domain, const char *host, int rank,
                           const struct pl_model *model)
{
    struct pl_json *json = pl_record_start(record, "clock_model");
    pl_json_integer(json, "domain", domain);
    pl_json_text(json, "host", host);
    pl_json_integer(json, "rank", rank);
    pl_json_integer(json, "origin_ns", model->origin_ns);
    pl_json_integer(json, "offset_ns", model->offset_ns);
    pl_json_real(json, "slope", model->slope);
    pl_record_end(record);
}

void pl_record_clock_error(struct pl_record *record, const char *when, int64_t since_ns,
                           const struct pl_global_error *errors, int domains)
{
    struct pl_json *json = pl_record_start(record, "clock_error");
    pl_json_text(json, "when", when);
    pl_json_integer(json, "since_ns", since_ns);
    PL_JSON_EACH(json, "errors_ns", i, errors ? domains : 0, integer, errors[i].error_ns);
    PL_JSON_EACH(json, "bounds_ns", i, errors ? domains : 0, integer, errors[i].bound_ns);
    pl_record_end(record);
}
