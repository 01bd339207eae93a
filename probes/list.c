#include "measure/run.h"

#include "clock/clock.h"
#include "json.h"
#include "measure/forms.h"
#include "names.h"
#include "pattern/pattern.h"
#include "restrictions.h"
#include "simulated.h"
#include "variant.h"

static const char *const kind_names[] = {[PL_DEFAULT] = "default",
                                         [PL_MOCKUP] = "mockup",
                                         [PL_ALGORITHM] = "algorithm",
                                         [PL_NAIVE] = "naive"};

/* The entries of a list that can be used here, with their summaries where the list has them. */
static void list_names(struct pl_json *json, enum pl_list list)
{
    pl_json_array(json, pl_names[list].listed);
    for (int i = 0; i < *pl_names[list].count; i++) {
        const char *const *name = pl_names_entry(list, i);
        if (list == PL_LIST_CLOCKS && pl_clock_missing(pl_clocks[i]))
            continue;
        if (pl_names[list].summaries) {
            pl_json_object(json, NULL);
            pl_json_text(json, "name", name[0]);
            pl_json_text(json, "summary", name[1]);
            pl_json_end(json);
        } else
            pl_json_text(json, NULL, name[0]);
    }
    pl_json_end(json);
}

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
        if (!PL_SIMULATED || !(pl_catalogue[i]->restrictions & PL_ONE_NODE)) /* nothing is shared */
            list_variant(json, pl_catalogue[i]);
    pl_json_end(json);
    for (enum pl_list list = 0; list < PL_LISTS; list++)
        if (pl_names[list].listed)
            list_names(json, list);
    pl_json_array(json, "patterns");
    for (int i = 0; i < pl_pattern_count; i++)
        list_pattern(json, pl_patterns[i]);
    pl_json_end(json);
    pl_json_end(json);
    fputc('\n', out);
}
