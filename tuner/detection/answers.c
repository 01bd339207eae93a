/* Messages that are answered at once, by something of the receiver's own (detect/answers.py). */
#include "map.h"
#include "traffic.h"

/* `own`: by message, whether all of it is its sender's. */
struct answers {
    const struct pl_traffic *traffic;
    const int64_t *own;
};

static void find(struct pl_answer *answer, const void *pointer)
{
    const struct answers *given = pointer;
    const struct pl_traffic *traffic = given->traffic;
    int64_t *answered = pl_get(answer->store, (size_t)traffic->count, sizeof *answered);
    /* By class and rank: the message that it last sent or received. */
    struct pl_map last;
    pl_map_begin(answer->store, &last, 3);
    for (int64_t i = 0; i < 2 * traffic->count; i++) {
        const int64_t message = traffic->points[i] / 2;
        const int64_t rank =
            traffic->points[i] % 2 ? traffic->target[message] : traffic->source[message];
        const int64_t key[] = {traffic->comm[message] * traffic->ranks + rank,
                               traffic->tag[message], traffic->kind[message]};
        bool is_new;
        int64_t *before = pl_map_add(&last, key, -1, &is_new);
        if (!is_new && traffic->source[*before] == rank && traffic->target[message] == rank &&
            traffic->source[message] == traffic->target[*before] && given->own[message])
            answered[*before] = 1;
        *before = message;
    }
    pl_answer_with(answer, answered, traffic->count);
}

/* By message: whether its sender's next thing of its class is to receive from its receiver. */
PL_ENTRY struct pl_answer *pl_answered_at_once(const struct pl_traffic *traffic, const int64_t *own)
{
    return pl_answered(find, &(struct answers){traffic, own});
}
