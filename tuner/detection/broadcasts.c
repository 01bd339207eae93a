/* Which ranks may have been the root of a broadcast, and what is none (detect/provenance.py). */
#include "atoms.h"
#include "map.h"

enum { BESIDE = 4 }; /* so many others may come and go for each message while a rank hands it on */

/* By spread: its origin, group and messages, in the order of sends, and where it is one atom the
 * messages of that (else none) and all that carried the same content. */
struct broadcasts {
    const struct pl_traffic *traffic;
    const struct pl_rows *groups;
    const int64_t *origin, *group, *bytes;
    const struct pl_rows *own, *all;
    bool patient;
};

struct rooting {
    struct pl_store *store;
    const struct broadcasts *given;
    struct pl_list senders, touched;
    int64_t *since, *low, *high, *count, *got; /* by rank */
};

/* Whether each rank handed it to one other, and the last one back to where it began. */
static bool came_round(const struct rooting *rooting, int64_t spread)
{
    const struct pl_traffic *traffic = rooting->given->traffic;
    const struct pl_rows *own = rooting->given->own;
    int64_t at = rooting->given->origin[spread];
    for (int64_t i = own->first[spread]; i < own->first[spread + 1]; i++) {
        if (traffic->source[own->at[i]] != at)
            return false;
        at = traffic->target[own->at[i]];
    }
    return at == rooting->given->origin[spread] && own->first[spread + 1] - own->first[spread] > 2;
}

/* Whether a rank does many other things between sending a content to one and to the next. Of
 * several atoms, what comes to a rank that has all of it already is something else. */
static bool takes_long(struct rooting *rooting, const struct pl_rows *own, int64_t spread)
{
    const struct pl_traffic *traffic = rooting->given->traffic;
    const bool several = own == rooting->given->all;
    rooting->touched.count = 0;
    for (int64_t i = own->first[spread]; i < own->first[spread + 1]; i++)
        rooting->got[traffic->target[own->at[i]]] = 0;
    for (int64_t i = own->first[spread]; i < own->first[spread + 1]; i++) {
        const int64_t message = own->at[i], rank = traffic->source[message];
        const int64_t place = traffic->sent_as[message];
        int64_t *got = &rooting->got[traffic->target[message]];
        if (several && *got >= rooting->given->bytes[spread])
            continue;
        *got += traffic->bytes[message];
        if (!rooting->count[rank]++) {
            pl_push(rooting->store, &rooting->touched, rank);
            rooting->low[rank] = rooting->high[rank] = place;
        }
        if (place < rooting->low[rank])
            rooting->low[rank] = place;
        if (place > rooting->high[rank])
            rooting->high[rank] = place;
    }
    bool is_long = false;
    for (int64_t i = 0; i < rooting->touched.count; i++) {
        const int64_t rank = rooting->touched.at[i];
        is_long |=
            rooting->high[rank] - rooting->low[rank] > BESIDE * rooting->count[rank] + 2 * BESIDE;
        rooting->count[rank] = 0;
    }
    return is_long;
}

/* Whether all of the group had it in the end, if `start` had it first. */
static bool reaches_all(struct rooting *rooting, int64_t spread, int64_t start)
{
    const struct pl_traffic *traffic = rooting->given->traffic;
    const struct pl_rows *all = rooting->given->all, *groups = rooting->given->groups;
    rooting->touched.count = 0;
    pl_push(rooting->store, &rooting->touched, start);
    rooting->since[start] = -1;
    for (int64_t i = all->first[spread]; i < all->first[spread + 1]; i++) {
        const int64_t message = all->at[i], target = traffic->target[message];
        if (rooting->since[traffic->source[message]] > traffic->sent[message])
            continue;
        if (rooting->since[target] == INT64_MAX)
            pl_push(rooting->store, &rooting->touched, target);
        if (traffic->received[message] < rooting->since[target])
            rooting->since[target] = traffic->received[message];
    }
    const int64_t group = rooting->given->group[spread];
    bool everybody = true;
    for (int64_t i = groups->first[group]; i < groups->first[group + 1]; i++)
        everybody &= rooting->since[groups->at[i]] != INT64_MAX;
    for (int64_t i = 0; i < rooting->touched.count; i++)
        rooting->since[rooting->touched.at[i]] = INT64_MAX;
    return everybody;
}

/* All ranks from which the content reached all others, the origin first. */
static void find_roots(struct rooting *rooting, int64_t spread, struct pl_list *roots)
{
    const struct broadcasts *given = rooting->given;
    struct pl_list *senders = &rooting->senders;
    senders->count = 0;
    pl_push(rooting->store, senders, given->origin[spread]);
    for (int64_t i = given->all->first[spread]; i < given->all->first[spread + 1]; i++) {
        const int64_t rank = given->traffic->source[given->all->at[i]];
        bool known = false;
        for (int64_t j = 0; j < senders->count && !known; j++)
            known = senders->at[j] == rank;
        if (!known)
            pl_push(rooting->store, senders, rank);
    }
    const int64_t before = roots->count;
    for (int64_t i = 0; i < senders->count; i++)
        if (reaches_all(rooting, spread, senders->at[i]))
            pl_push(rooting->store, roots, senders->at[i]);
    if (roots->count == before)
        pl_push(rooting->store, roots, given->origin[spread]);
}

static void find_all(struct pl_answer *answer, const void *pointer)
{
    const struct broadcasts *given = pointer;
    struct pl_store *store = answer->store;
    struct rooting *rooting = pl_get(store, 1, sizeof *rooting);
    rooting->store = store;
    rooting->given = given;
    const size_t ranks = (size_t)given->traffic->ranks;
    rooting->since = pl_get(store, ranks, sizeof *rooting->since);
    rooting->low = pl_get(store, ranks, sizeof *rooting->low);
    rooting->high = pl_get(store, ranks, sizeof *rooting->high);
    rooting->count = pl_get(store, ranks, sizeof *rooting->count);
    rooting->got = pl_get(store, ranks, sizeof *rooting->got);
    for (size_t rank = 0; rank < ranks; rank++)
        rooting->since[rank] = INT64_MAX;
    struct pl_list first = {0}, roots = {0};
    pl_push(store, &first, 0);
    for (int64_t spread = 0; spread < given->own->count; spread++) {
        const int64_t group = given->group[spread];
        const int64_t size = given->groups->first[group + 1] - given->groups->first[group];
        const int64_t messages = given->all->first[spread + 1] - given->all->first[spread];
        const bool is_one = given->own->first[spread] < given->own->first[spread + 1];
        const bool is_long = (is_one || !given->patient) &&
                             takes_long(rooting, is_one ? given->own : given->all, spread);
        const bool is_none = is_long || (is_one && came_round(rooting, spread));
        if (!is_none && is_one && messages >= size)
            find_roots(rooting, spread, &roots);
        else if (!is_none)
            pl_push(store, &roots, given->origin[spread]);
        pl_push(store, &first, roots.count);
    }
    pl_answer_list(answer, &first);
    pl_answer_list(answer, &roots);
}

/* Roots by spread; none of what is no broadcast: a token that went round, or a content that a rank
 * hands on over a long while (`patient`: several atoms together may take long). */
PL_ENTRY struct pl_answer *pl_roots(const struct pl_traffic *traffic, const struct pl_rows *groups,
                                    const int64_t *origin, const int64_t *group,
                                    const int64_t *bytes, const struct pl_rows *own,
                                    const struct pl_rows *all, int64_t patient)
{
    return pl_answered(find_all, &(struct broadcasts){traffic, groups, origin, group, bytes, own,
                                                      all, patient != 0});
}
