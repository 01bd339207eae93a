#include "system/factors.h"

#include "simulated.h"
#include "system/sysfile.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    pl_factor_reader *read;
} table[] = {
#define PL_FACTOR(name) {#name, pl_factor_##name},
#include "system/factors.def"
#undef PL_FACTOR
};
enum { COUNT = sizeof table / sizeof *table };
const int pl_factor_count = COUNT;

bool pl_factors_gather(struct pl_factors *factors, const struct pl_world *world,
                       const struct pl_hosts *hosts, const struct pl_factor_context *context)
{
    size_t bytes = COUNT * sizeof *factors->readings;
    size_t blocks = world->rank == 0 ? (size_t)hosts->count : 1;
    struct pl_reading *readings = hosts->reads ? calloc(blocks, bytes) : NULL;

    *factors = (struct pl_factors){0};
    if (pl_p2p_agree(world, hosts->reads && !readings)) {
        free(readings);
        return false;
    }
    for (int i = 0; hosts->reads && i < COUNT; i++)
        if (PL_SIMULATED)
            snprintf(readings[i].missing, sizeof readings[i].missing, PL_SIMULATED_WHY);
        else
            table[i].read(context, &readings[i]);
    for (int host = 1; host < hosts->count; host++) {
        /* Rank 0 receives into the place of the host, the host sends its own. */
        struct pl_reading *place = world->rank == 0 ? readings + (size_t)host * COUNT : readings;
        pl_p2p_fetch(world, hosts->readers[host], place, (int)bytes);
    }
    if (world->rank == 0)
        *factors = (struct pl_factors){hosts->count, readings, hosts->names};
    else
        free(readings);
    return true;
}

/* "reason", or "host, host: reason; host: reason" where not all hosts say the same. */
static void missing_text(const struct pl_factors *factors, int factor, char *text, size_t size)
{
    struct pl_words reasons = {0};
    int silent = 0;
    for (int host = 0; host < factors->hosts; host++) {
        const struct pl_reading *reading = &factors->readings[host * COUNT + factor];
        if (reading->missing[0])
            pl_words_add(&reasons, reading->missing);
        else
            silent++;
    }
    text[0] = '\0';
    if (reasons.count == 1 && silent == 0) {
        snprintf(text, size, "%s", reasons.word[0]);
        return;
    }
    size_t used = 0;
    for (int i = 0; i < reasons.count; i++) {
        const char *before = i ? "; " : "";
        for (int host = 0; host < factors->hosts && used < size; host++) {
            if (strcmp(factors->readings[host * COUNT + factor].missing, reasons.word[i]) != 0)
                continue;
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", before, factors->names[host]);
            before = ", ";
        }
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, ": %s", reasons.word[i]);
    }
}

void pl_factors_json(struct pl_json *json, const struct pl_factors *factors)
{
    char missing[1024];
    if (!json->out)
        return;
    pl_json_array(json, "factors");
    for (int factor = 0; factor < COUNT; factor++) {
        const char *last = "";
        pl_json_object(json, NULL);
        pl_json_text(json, "name", table[factor].name);
        pl_json_array(json, "values");
        /* Least value above the last one, until there is none: in order, each once. */
        for (;;) {
            const char *next = NULL;
            for (int host = 0; host < factors->hosts; host++) {
                const char *value = factors->readings[host * COUNT + factor].value;
                if (strcmp(value, last) > 0 && (!next || strcmp(value, next) < 0))
                    next = value;
            }
            if (!next)
                break;
            pl_json_text(json, NULL, next);
            last = next;
        }
        pl_json_end(json);
        missing_text(factors, factor, missing, sizeof missing);
        pl_json_text(json, "missing", missing);
        pl_json_end(json);
    }
    pl_json_end(json);
}

void pl_factors_free(struct pl_factors *factors)
{
    free(factors->readings);
    *factors = (struct pl_factors){0};
}
