/* Partial results of which all operands were sent (detect/operators.py). */
#include "map.h"
#include "traffic.h"

/* By phase: numbers of sets of ranks, each once; `bits` of all sets. */
struct partials {
    const struct pl_rows *phases;
    int64_t ranks, sets;
    const uint64_t *bits;
};

struct parting {
    const struct partials *given;
    struct pl_sets sets;
    uint64_t *rest;
    int64_t *phase_of; /* by set: the last phase that has it */
    struct pl_list whole, left, right, phase;
};

/* Whether the ranks of a set but those of another one come behind these, as numbers; they go into
 * `rest`. */
static bool is_parted(const struct parting *parting, const uint64_t *whole, const uint64_t *left)
{
    const int64_t words = parting->sets.words;
    bool subset = true, equal = true;
    for (int64_t word = 0; word < words; word++) {
        subset &= (left[word] & ~whole[word]) == 0;
        equal &= left[word] == whole[word];
        parting->rest[word] = whole[word] & ~left[word];
    }
    if (!subset || equal)
        return false;
    for (int64_t word = words; word-- > 0;)
        if (left[word] != parting->rest[word])
            return left[word] < parting->rest[word];
    return true;
}

static void part(struct parting *parting, struct pl_store *store, int64_t phase, int64_t set)
{
    const struct pl_rows *phases = parting->given->phases;
    const uint64_t *whole = pl_set(&parting->sets, set);
    int64_t size = 0;
    for (int64_t word = 0; word < parting->sets.words; word++)
        size += __builtin_popcountll(whole[word]);
    if (size < 2)
        return;
    for (int64_t i = phases->first[phase]; i < phases->first[phase + 1]; i++) {
        const int64_t left = phases->at[i];
        if (!is_parted(parting, whole, pl_set(&parting->sets, left)))
            continue;
        const int64_t right = pl_set_find(&parting->sets, parting->rest);
        if (right < 0 || parting->phase_of[right] != phase + 1)
            continue;
        pl_push(store, &parting->phase, phase);
        pl_push(store, &parting->whole, set);
        pl_push(store, &parting->left, left);
        pl_push(store, &parting->right, right);
    }
}

static void part_all(struct pl_answer *answer, const void *pointer)
{
    const struct partials *given = pointer;
    struct pl_store *store = answer->store;
    struct parting *parting = pl_get(store, 1, sizeof *parting);
    parting->given = given;
    pl_sets_begin(store, &parting->sets, given->ranks);
    for (int64_t set = 0; set < given->sets; set++)
        pl_set_add(&parting->sets, given->bits + set * parting->sets.words);
    parting->rest = pl_get(store, (size_t)parting->sets.words, sizeof *parting->rest);
    parting->phase_of = pl_get(store, (size_t)given->sets, sizeof *parting->phase_of);
    for (int64_t phase = 0; phase < given->phases->count; phase++) {
        const int64_t begin = given->phases->first[phase], end = given->phases->first[phase + 1];
        for (int64_t i = begin; i < end; i++)
            parting->phase_of[given->phases->at[i]] = phase + 1;
        for (int64_t i = begin; i < end; i++)
            part(parting, store, phase, given->phases->at[i]);
    }
    pl_answer_list(answer, &parting->phase);
    pl_answer_list(answer, &parting->whole);
    pl_answer_list(answer, &parting->left);
    pl_answer_list(answer, &parting->right);
}

/* Phases, sets, and pairs of sets of the same phase that are each set together. */
PL_ENTRY struct pl_answer *pl_partials(const struct pl_rows *phases, int64_t ranks, int64_t sets,
                                       const uint64_t *bits)
{
    return pl_answered(part_all, &(struct partials){phases, ranks, sets, bits});
}
