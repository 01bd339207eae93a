#include "measure/run.h"

#include "clock/algorithms/algorithms.h"
#include "clock/clock.h"
#include "json.h"
#include "measure/cache.h"
#include "measure/forms.h"
#include "measure/plain.h"
#include "measure/shape.h"
#include "measure/types.h"
#include "nrep/nrep.h"
#include "overlap/bench.h"
#include "pattern/pattern.h"
#include "restrictions.h"
#include "sync/sync.h"
#include "use/use.h"
#include "variant.h"

static const char *const kind_names[] = {[PL_DEFAULT] = "default",
                                         [PL_MOCKUP] = "mockup",
                                         [PL_ALGORITHM] = "algorithm",
                                         [PL_NAIVE] = "naive"};

/* What has a name and a summary. */
#define LIST(json, key, count, all)                                                                \
    do {                                                                                           \
        pl_json_array(json, key);                                                                  \
        for (int i = 0; i < (count); i++) {                                                        \
            pl_json_object(json, NULL);                                                            \
            pl_json_text(json, "name", (all)[i]->name);                                            \
            pl_json_text(json, "summary", (all)[i]->summary);                                      \
            pl_json_end(json);                                                                     \
        }                                                                                          \
        pl_json_end(json);                                                                         \
    } while (0)

static void list_parameter(struct pl_json *json, const struct pl_parameter *parameter)
{
    const int most = sizeof parameter->tries / sizeof parameter->tries[0];
    pl_json_object(json, NULL);
    pl_json_text(json, "name", parameter->name);
    pl_json_integer(json, "least", parameter->least);
    pl_json_integer(json, "most", parameter->most);
    pl_json_integer(json, "standard", parameter->standard);
    pl_json_array(json, "tries");
    for (int i = 0; i < most && parameter->tries[i]; i++)
        pl_json_integer(json, NULL, parameter->tries[i]);
    pl_json_end(json);
    pl_json_text(json, "summary", parameter->summary);
    pl_json_end(json);
}

static void list_variant(struct pl_json *json, const struct pl_variant *variant)
{
    pl_json_object(json, NULL);
    pl_json_text(json, "name", variant->name);
    pl_json_text(json, "function", pl_function_name(variant->function));
    pl_json_text(json, "kind", kind_names[variant->kind]);
    pl_json_array(json, "restrictions");
    for (int i = 0; i < pl_restriction_count; i++)
        if (variant->restrictions & pl_restriction_names[i].restriction)
            pl_json_text(json, NULL, pl_restriction_names[i].name);
    pl_json_end(json);
    pl_json_array(json, "parameters");
    for (int i = 0; i < PL_PARAMETERS_MAX && variant->parameters[i].name; i++)
        list_parameter(json, &variant->parameters[i]);
    pl_json_end(json);
    pl_json_integer(json, "scratch_volumes", variant->scratch_volumes);
    pl_json_integer(json, "least_ranks", variant->least_ranks);
    pl_json_bool(json, "deployable", pl_deployable(variant));
    pl_json_text(json, "summary", variant->summary);
    pl_json_end(json);
}

static void list_pattern(struct pl_json *json, const struct pl_pattern *pattern)
{
    pl_json_object(json, NULL);
    pl_json_text(json, "name", pattern->name);
    pl_json_text(json, "summary", pattern->summary);
    pl_json_integer(json, "least_ranks", pattern->least_ranks);
    pl_json_array(json, "operations");
    for (int i = 0; i < pl_operation_count; i++) {
        if (pl_operations[i]->pattern != pattern)
            continue;
        pl_json_object(json, NULL);
        pl_json_text(json, "name", pl_operations[i]->name);
        pl_json_text(json, "summary", pl_operations[i]->summary);
        pl_json_bool(json, "data", pl_operations[i]->landing != PL_LANDS_NOTHING);
        pl_json_end(json);
    }
    pl_json_end(json);
    pl_json_end(json);
}

/* In a simulation nothing can be shared. */
#ifdef SMPI_H
enum { PL_SIMULATED = 1 };
#else
enum { PL_SIMULATED = 0 };
#endif

void pl_list(FILE *out)
{
    struct pl_json all, *json = &all;
    pl_json_start(json, out);
    pl_json_object(json, NULL);
    pl_json_text(json, "probe", PL_VERSION);
    pl_json_array(json, "functions");
    for (int i = 0; i < PL_FUNCTION_COUNT; i++) {
        if (!pl_is_measured((enum pl_function)i))
            continue;
        pl_json_object(json, NULL);
        pl_json_text(json, "name", pl_function_name((enum pl_function)i));
        pl_json_end(json);
    }
    pl_json_end(json);
    pl_json_array(json, "forms");
    const struct pl_form *form;
    for (int i = 0; (form = pl_form_at(i)); i++) {
        pl_json_object(json, NULL);
        pl_json_text(json, "name", form->name);
        pl_json_text(json, "function", pl_function_name(form->function));
        pl_json_text(json, "blocking", form->blocking);
        pl_json_end(json);
    }
    pl_json_end(json);
    pl_json_array(json, "variants");
    for (int i = 0; i < pl_catalogue_size; i++)
        if (!PL_SIMULATED || !(pl_catalogue[i]->restrictions & PL_ONE_NODE))
            list_variant(json, pl_catalogue[i]);
    pl_json_end(json);
    PL_JSON_EACH(json, "types", i, pl_type_count, text, pl_types[i].name);
    PL_JSON_EACH(json, "ops", i, pl_op_count, text, pl_ops[i].name);
    PL_JSON_EACH(json, "counts", i, PL_COUNTS, text, pl_counts_names[i]);
    PL_JSON_EACH(json, "syncs", i, pl_sync_count, text, pl_syncs[i]->name);
    LIST(json, "uses", pl_use_count, pl_uses);
    pl_json_array(json, "patterns");
    for (int i = 0; i < pl_pattern_count; i++)
        list_pattern(json, pl_patterns[i]);
    pl_json_end(json);
    pl_json_array(json, "clocks");
    for (int i = 0; i < pl_clock_count; i++)
        if (!pl_clock_missing(pl_clocks[i]))
            pl_json_text(json, NULL, pl_clocks[i]->name);
    pl_json_end(json);
    PL_JSON_EACH(json, "clock_syncs", i, pl_clock_sync_count, text, pl_clock_syncs[i]->name);
    PL_JSON_EACH(json, "plain", i, pl_plain_count, text, pl_plains[i]->name);
    PL_JSON_EACH(json, "criteria", i, pl_criterion_count, text, pl_criteria[i]->name);
    LIST(json, "overlaps", pl_bench_count, pl_benches);
    PL_JSON_EACH(json, "kernels", kernel, PL_KERNEL_COUNT, text, pl_kernel_names[kernel]);
    pl_json_array(json, "caches");
    for (int mode = PL_CACHE_WARM; mode <= PL_CACHE_OVERWRITE; mode++)
        pl_json_text(json, NULL, pl_cache_mode_name((enum pl_cache_mode)mode));
    pl_json_end(json);
    pl_json_end(json);
    fputc('\n', out);
}
