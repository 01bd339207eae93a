/* Jones and Koenig: every process fits a line to offsets measured against the root itself (Clock
 * synchronization in high-end computing environments: a strategy for minimizing clock variance at
 * runtime, Concurrency and Computation 25, 2013). The most direct and, with p - 1 clients of one
 * server, the one that scales least. The clients take turns at each fit point, so that all lines
 * cover the same time. */
#include "clock/algorithms/algorithms.h"
#include "clock/learn.h"

static struct pl_model learn(struct pl_wire *wire)
{
    if (wire->rank > 0)
        return pl_learn(wire, 0);
    for (int client = 1; client < wire->size; client++) {
        if (wire->drift)
            pl_teach_start(wire, client);
        else
            pl_teach_offset(wire, client, &PL_MODEL_IDENTITY);
    }
    for (int i = 0; i < PL_FIT_POINTS && wire->drift; i++)
        for (int client = 1; client < wire->size; client++)
            pl_teach_point(wire, client, &PL_MODEL_IDENTITY);
    return PL_MODEL_IDENTITY;
}

const struct pl_clock_sync pl_clock_sync_jk = {
    .name = "jk",
    .summary = "lines fitted against the root, p - 1 clients",
    .learn = learn,
};
