/* Factors: what run times depend on and the plan does not say. Every host reads its own; what
 * cannot be had is said with its reason. One line a factor in factors.def; readers by subject in
 * factor_*.c. */
#ifndef PL_FACTORS_H
#define PL_FACTORS_H

#include "json.h"
#include "measure/counters.h"
#include "system/hosts.h"
#include "system/sysfile.h"

struct pl_factor_context {
    const struct pl_counters *counters;
};

typedef void pl_factor_reader(const struct pl_factor_context *context, struct pl_reading *reading);
#define PL_FACTOR(name) pl_factor_reader pl_factor_##name;
#include "system/factors.def"
#undef PL_FACTOR

/* Defines one: PL_READER(name) { … }. */
#define PL_READER(name)                                                                            \
    void pl_factor_##name(const struct pl_factor_context *context __attribute__((unused)),         \
                          struct pl_reading *reading)
/* Those that read one line of a file, or print one value. */
#define PL_LINE_READER(name, path, why)                                                            \
    PL_READER(name)                                                                                \
    {                                                                                              \
        pl_reading_line(reading, path, why);                                                       \
    }
#define PL_VALUE_READER(name, ...)                                                                 \
    PL_READER(name)                                                                                \
    {                                                                                              \
        snprintf(reading->value, sizeof reading->value, __VA_ARGS__);                              \
    }

/* On rank 0: readings[host * pl_factor_count + factor]; elsewhere NULL. */
struct pl_factors {
    int hosts;
    struct pl_reading *readings;
    char (*names)[MPI_MAX_PROCESSOR_NAME]; /* of the hosts; not owned */
};
extern const int pl_factor_count;

/* Collective. False: some rank is out of memory. */
bool pl_factors_gather(struct pl_factors *factors, const struct pl_world *world,
                       const struct pl_hosts *hosts, const struct pl_factor_context *context);
/* The array "factors": name, distinct values over hosts in order, and why they are missing. */
void pl_factors_json(struct pl_json *json, const struct pl_factors *factors);
void pl_factors_free(struct pl_factors *factors);

#endif
