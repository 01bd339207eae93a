/* Parts of memory against a byte for each address. Prints what differs. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 6000, TIMES = 40000 };

static int64_t message_of[ROOM], offset_of[ROOM];

static int differs(const struct pl_memory *memory, int64_t start, int64_t end)
{
    int64_t at = start;
    struct pl_memory_place place = pl_memory_from(memory, start);
    for (const struct pl_memory_part *part;
         (part = pl_memory_at(memory, place)) && part->start < end;
         pl_memory_next(memory, &place)) {
        for (; at < end && at < part->start; at++)
            if (message_of[at] != 0)
                return 1;
        for (; at < end && at < part->end; at++)
            if (message_of[at] != part->message || offset_of[at] != part->offset + at - part->start)
                return 1;
    }
    for (; at < end; at++)
        if (message_of[at] != 0)
            return 1;
    return 0;
}

static void work(struct pl_answer *answer, const void *given)
{
    struct pl_memory memory = {0};
    int wrong = 0;
    (void)given;
    srand(7);
    for (int64_t message = 1; message <= TIMES && !wrong; message++) {
        const int64_t start = rand() % (ROOM - 40);
        const int64_t end = start + 1 + rand() % (message % 100 ? 6 : 40);
        pl_memory_write(answer->store, &memory, start, end, message);
        for (int64_t at = start; at < end; at++) {
            message_of[at] = message;
            offset_of[at] = at - start;
        }
        wrong = differs(&memory, start > 20 ? start - 20 : 0, end + 20 < ROOM ? end + 20 : ROOM);
        if (message % 1000 == 0)
            wrong |= differs(&memory, 0, ROOM);
    }
    printf("%s, %d chunks\n", wrong ? "differs" : "the same", memory.count > 8 ? 8 : 0);
}

int main(void)
{
    pl_release(pl_answered(work, NULL));
    return 0;
}
