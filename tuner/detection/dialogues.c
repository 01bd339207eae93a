/* Roots that answer a rank before they have heard of all: a master and his workers
 * (detect/operators.py). */
#include "map.h"
#include "traffic.h"

/* `phases`: messages of each; `sent_by`: messages of each rank, in the order of sends. */
struct dialogues {
    const struct pl_traffic *traffic;
    const struct pl_rows *phases, *sent_by;
};

struct talking {
    const struct dialogues *given;
    int64_t *got, *heard; /* by rank: messages to it; when the root received its message */
};

/* The rank that the most messages of a phase go to, and of several the first one. */
static int64_t root_of(const struct talking *talking, int64_t begin, int64_t end)
{
    const int64_t *at = talking->given->phases->at, *target = talking->given->traffic->target;
    for (int64_t i = begin; i < end; i++)
        talking->got[target[at[i]]]++;
    int64_t root = target[at[begin]];
    for (int64_t i = begin; i < end; i++)
        if (talking->got[target[at[i]]] > talking->got[root])
            root = target[at[i]];
    for (int64_t i = begin; i < end; i++)
        talking->got[target[at[i]]] = 0;
    return root;
}

static bool answers(const struct talking *talking, int64_t root, int64_t first, int64_t last)
{
    const struct pl_traffic *traffic = talking->given->traffic;
    const struct pl_rows *sent_by = talking->given->sent_by;
    int64_t low = sent_by->first[root], high = sent_by->first[root + 1];
    const int64_t end = high;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (traffic->sent[sent_by->at[middle]] <= first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && traffic->sent[sent_by->at[low]] <= last; low++) {
        const int64_t message = sent_by->at[low];
        const int64_t heard = talking->heard[traffic->target[message]];
        if (heard >= 0 && heard < traffic->sent[message])
            return true;
    }
    return false;
}

static void talk(struct pl_answer *answer, const void *pointer)
{
    const struct dialogues *given = pointer;
    const struct pl_traffic *traffic = given->traffic;
    const struct pl_rows *phases = given->phases;
    struct pl_store *store = answer->store;
    struct talking *talking = pl_get(store, 1, sizeof *talking);
    talking->given = given;
    talking->got = pl_get(store, (size_t)traffic->ranks, sizeof *talking->got);
    talking->heard = pl_get(store, (size_t)traffic->ranks, sizeof *talking->heard);
    for (int64_t rank = 0; rank < traffic->ranks; rank++)
        talking->heard[rank] = -1;
    int64_t *found = pl_get(store, (size_t)phases->count, sizeof *found);
    for (int64_t phase = 0; phase < phases->count; phase++) {
        const int64_t begin = phases->first[phase], end = phases->first[phase + 1];
        const int64_t root = root_of(talking, begin, end);
        int64_t first = INT64_MAX, last = -1;
        for (int64_t i = begin; i < end; i++) {
            const int64_t message = phases->at[i], received = traffic->received[message];
            if (traffic->target[message] != root)
                continue;
            talking->heard[traffic->source[message]] = received;
            first = received < first ? received : first;
            last = received > last ? received : last;
        }
        found[phase] = answers(talking, root, first, last);
        for (int64_t i = begin; i < end; i++)
            talking->heard[traffic->source[phases->at[i]]] = -1;
    }
    pl_answer_with(answer, found, phases->count);
}

/* By phase: whether it is one. */
PL_ENTRY struct pl_answer *pl_dialogues(const struct pl_traffic *traffic,
                                        const struct pl_rows *phases, const struct pl_rows *sent_by)
{
    return pl_answered(talk, &(struct dialogues){traffic, phases, sent_by});
}
