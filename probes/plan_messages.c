/* The keys of `messages` lines: the steps of a rank; and the rules that need all ranks together. */
#include "plan_parser.h"

#include "measure/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 65536, MOST_BYTES = 1 << 30, MOST_TAG = 32767 };

static const char *const words[] = {
    [PL_STEP_SEND] = "send",     [PL_STEP_SSEND] = "ssend", [PL_STEP_ISEND] = "isend",
    [PL_STEP_ISSEND] = "issend", [PL_STEP_RECV] = "recv",   [PL_STEP_IRECV] = "irecv",
    [PL_STEP_WAIT] = "wait",
};

static bool receives(enum pl_step_kind kind)
{
    return kind == PL_STEP_RECV || kind == PL_STEP_IRECV;
}

static bool begins(enum pl_step_kind kind)
{
    return kind == PL_STEP_ISEND || kind == PL_STEP_ISSEND || kind == PL_STEP_IRECV;
}

static bool no_memory(struct pl_parser *parser)
{
    return pl_refuse(parser, "out of memory; take fewer messages");
}

const struct pl_messages *pl_messages_by_id(const struct pl_plan *plan, const char *id)
{
    for (const struct pl_messages *played = plan->messages; played; played = played->next)
        if (strcmp(played->id, id) == 0)
            return played;
    return NULL;
}

/* The steps that the line is to have; what they belong to is made with its first line. NULL: no
 * memory. */
static struct pl_rank_steps *steps_of_line(struct pl_plan *plan,
                                           const struct pl_messages_line *line)
{
    struct pl_messages *played = (struct pl_messages *)pl_messages_by_id(plan, line->id);
    if (!played) {
        played = calloc(1, sizeof *played);
        if (!played)
            return NULL;
        played->id = line->id;
        played->next = plan->messages;
        plan->messages = played;
    }
    const int ranks = line->rank + 1;
    if (ranks > played->ranks) {
        struct pl_rank_steps *larger =
            realloc(played->of_rank, (size_t)ranks * sizeof *played->of_rank);
        if (!larger)
            return NULL;
        memset(larger + played->ranks, 0, (size_t)(ranks - played->ranks) * sizeof *larger);
        played->of_rank = larger;
        played->ranks = ranks;
    }
    return &played->of_rank[line->rank];
}

/* Reads WORD:PEER:BYTES:TAG or wait:REQUEST; returns where the step ends. NULL: it is another text,
 * or a number is too large. */
static const char *read_step(const char *text, struct pl_step *step)
{
    const size_t length = strcspn(text, ":,");
    const int most[] = {MOST_RANKS - 1, MOST_BYTES, MOST_TAG};
    int kind = PL_STEP_SEND, numbers[3] = {0};
    while (kind <= PL_STEP_WAIT &&
           (strlen(words[kind]) != length || memcmp(words[kind], text, length) != 0))
        kind++;
    if (kind > PL_STEP_WAIT)
        return NULL;
    text += length;
    for (int i = 0; i < (kind == PL_STEP_WAIT ? 1 : 3); i++) {
        const size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;
        const long long number = digits > 0 && digits < 18 ? atoll(text + 1) : -1;
        if (number < 0 || number > most[i])
            return NULL;
        numbers[i] = (int)number;
        text += 1 + digits;
    }
    *step = (struct pl_step){.kind = (enum pl_step_kind)kind,
                             .peer = numbers[0],
                             .bytes = numbers[1],
                             .tag = numbers[2]};
    return *text == '\0' || *text == ',' ? text : NULL;
}

/* Counts a step; false: it waits for a request that was not begun, or was waited for before. */
static bool count_step(struct pl_rank_steps *own, struct pl_step *step, char *waited)
{
    if (step->kind == PL_STEP_WAIT)
        return step->peer < own->request_count && waited[step->peer]++ == 0;
    own->request_count += begins(step->kind);
    if (receives(step->kind)) {
        step->place = own->recv_bytes;
        own->recv_bytes += (size_t)step->bytes;
    } else if ((size_t)step->bytes > own->send_bytes) {
        own->send_bytes = (size_t)step->bytes;
    }
    return true;
}

static bool read_steps(struct pl_parser *parser, struct pl_rank_steps *own, char *waited)
{
    int waits = 0;
    bool good = true;
    const char *text = parser->messages.steps;
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        struct pl_step *step = &own->steps[own->count++];
        end = read_step(text, step);
        if (!end)
            return pl_refuse_key(parser, "steps",
                                 "step %d: write WORD:PEER:BYTES:TAG with send, ssend, isend, "
                                 "issend, recv or irecv, and wait:REQUEST, with commas between",
                                 own->count);
        waits += step->kind == PL_STEP_WAIT;
        good = count_step(own, step, waited) && good;
    }
    return (good && waits == own->request_count) ||
           pl_refuse_key(parser, "steps", "each request is waited for once, after it was begun");
}

static bool finish_messages(struct pl_parser *parser, void *item)
{
    const struct pl_messages_line *line = item;
    struct pl_rank_steps *own = steps_of_line(parser->plan, line);
    size_t room = 1;
    for (const char *at = line->steps; *at; at++)
        room += *at == ',';
    if (!own)
        return no_memory(parser);
    if (own->count)
        return pl_refuse_key(parser, "rank", "the steps of this rank stand twice");
    own->steps = calloc(room, sizeof *own->steps);
    own->requests = calloc(room, sizeof *own->requests);
    char *waited = calloc(room, 1);
    const bool good =
        own->steps && own->requests && waited ? read_steps(parser, own, waited) : no_memory(parser);
    free(waited);
    return good;
}

static const struct pl_key keys[] = {
    {PL_TEXT(struct pl_messages_line, "id", id, PL_NEEDED, NULL)},
    {PL_NUMBER(struct pl_messages_line, "rank", rank, PL_NEEDED, 0, MOST_RANKS - 1)},
    {PL_TEXT(struct pl_messages_line, "steps", steps, PL_NEEDED, NULL)},
    {0},
};

const struct pl_line_kind pl_line_messages = {
    .word = "messages", .keys = keys, .finish = finish_messages};

struct message {
    int source, target, tag, received, bytes;
};

static int by_message(const void *left, const void *right)
{
    const struct message *a = left, *b = right;
    const int difference[] = {a->source - b->source, a->target - b->target, a->tag - b->tag,
                              a->received - b->received};
    for (int i = 0; i < 4; i++)
        if (difference[i])
            return difference[i];
    return 0;
}

/* Both sides of all messages; returns how many there are. */
static int sides_of(const struct pl_messages *played, struct message *sides)
{
    int count = 0;
    for (int rank = 0; rank < played->ranks; rank++)
        for (int i = 0; i < played->of_rank[rank].count; i++) {
            const struct pl_step *step = &played->of_rank[rank].steps[i];
            if (step->kind == PL_STEP_WAIT)
                continue;
            sides[count++] = receives(step->kind)
                                 ? (struct message){step->peer, rank, step->tag, 1, step->bytes}
                                 : (struct message){rank, step->peer, step->tag, 0, step->bytes};
        }
    return count;
}

bool pl_finish_all_messages(struct pl_parser *parser)
{
    bool good = true;
    for (const struct pl_messages *played = parser->plan->messages; played && good;
         played = played->next) {
        size_t room = 2;
        for (int rank = 0; rank < played->ranks; rank++)
            room += (size_t)played->of_rank[rank].count;
        struct message *all = calloc(room, sizeof *all);
        if (!all)
            return no_memory(parser);
        const int count = sides_of(played, all);
        qsort(all, (size_t)count, sizeof *all, by_message);
        all[count] = all[count + 1] = (struct message){.source = -1};
        for (int i = 0; i < count && good; i += 2) {
            const struct message *a = &all[i], *b = &all[i + 1];
            const bool pair = !a->received && b->received && a->source == b->source &&
                              a->target == b->target && a->tag == b->tag && a->bytes == b->bytes;
            if (pair && by_message(b, b + 1) != 0)
                continue;
            parser->messages = (struct pl_messages_line){.id = played->id};
            pl_at(parser, &pl_line_messages, &parser->messages);
            good = pl_refuse_key(parser, "id",
                                 "rank %d to rank %d, tag %d: not one send and one receive of as "
                                 "many bytes",
                                 a->source, a->target, a->tag);
        }
        free(all);
    }
    return good;
}

void pl_messages_free(struct pl_messages *played)
{
    while (played) {
        struct pl_messages *next = played->next;
        for (int rank = 0; rank < played->ranks; rank++) {
            free(played->of_rank[rank].steps);
            free(played->of_rank[rank].requests);
        }
        free(played->of_rank);
        free(played);
        played = next;
    }
}
