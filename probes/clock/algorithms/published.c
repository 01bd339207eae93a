/* Three algorithms as Hunold and Carpen-Amarie (TPDS 2016, section 3.2.1) compare them, with what
 * their sources do between two processes (paper.h). `jk`: the clients are served one after the
 * other, each over the whole time of its line. `hca`: slopes merged along a tree, intercepts from
 * the root. `netgauge`: offsets summed along a tree. */
#include "clock/algorithms/algorithms.h"
#include "clock/algorithms/paper.h"
#include "clock/algorithms/tree.h"

static struct pl_model learn_jk(struct pl_wire *wire)
{
    if (wire->rank > 0)
        return pl_paper_line(wire, 0);
    for (int client = 1; client < wire->size; client++)
        pl_paper_teach_line(wire, client, &PL_MODEL_IDENTITY);
    return PL_MODEL_IDENTITY;
}

static struct pl_model learn_hca(struct pl_wire *wire)
{
    struct pl_model model = pl_tree_merged(wire, pl_paper_line, pl_paper_teach_line);
    for (int client = 1; client < wire->size && wire->rank == 0; client++)
        pl_paper_teach_intercept(wire, client, &PL_MODEL_IDENTITY);
    if (wire->rank > 0) {
        struct pl_model intercept = pl_paper_intercept(wire, 0);
        model.origin_ns = intercept.origin_ns;
        model.offset_ns = intercept.offset_ns;
    }
    return model;
}

static struct pl_model learn_netgauge(struct pl_wire *wire)
{
    return pl_tree_merged(wire, pl_paper_shortest, pl_paper_teach_shortest);
}

const struct pl_clock_sync pl_clock_sync_jk_paper = {
    .name = "jk:paper",
    .summary = "as published: least squares through medians, one client after the other",
    .learn = learn_jk,
};

const struct pl_clock_sync pl_clock_sync_hca_paper = {
    .name = "hca:paper",
    .summary = "as published: least squares through medians along a tree, intercepts from the root",
    .learn = learn_hca,
};

const struct pl_clock_sync pl_clock_sync_netgauge_paper = {
    .name = "netgauge:paper",
    .summary = "as published: offsets of the shortest round trips along a tree; no drift",
    .learn = learn_netgauge,
};
