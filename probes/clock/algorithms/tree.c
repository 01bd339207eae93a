#include "clock/algorithms/tree.h"

struct pl_model
pl_tree_merged(struct pl_wire *wire, struct pl_model (*learn)(struct pl_wire *wire, int server),
               void (*teach)(struct pl_wire *wire, int client, const struct pl_model *model))
{
    struct pl_model model = PL_MODEL_IDENTITY;
    int bit = 1;

    while (bit < wire->size && !(wire->rank & bit)) {
        if (wire->rank + bit < wire->size)
            teach(wire, wire->rank + bit, &PL_MODEL_IDENTITY);
        bit <<= 1;
    }
    if (wire->rank > 0) {
        struct pl_model parent;
        model = learn(wire, wire->rank - bit);
        wire->recv(wire, wire->rank - bit, &parent, (int)sizeof parent);
        model = pl_model_merge(&parent, &model);
    }
    for (bit >>= 1; bit > 0; bit >>= 1)
        if (wire->rank + bit < wire->size)
            wire->send(wire, wire->rank + bit, &model, (int)sizeof model);
    return model;
}
