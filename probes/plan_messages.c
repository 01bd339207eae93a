/* The keys of `messages` lines: the steps of a rank, and what only all ranks together can tell.
 */
#include "plan_parser.h"

#include "measure/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 65536
#define MOST_BYTES (1 << 30)
#define MOST_TAG 32767

static const struct word {
    const char *name;
    enum pl_step_kind kind;
} words[] = {
    {"send", PL_STEP_SEND},     {"ssend", PL_STEP_SSEND}, {"isend", PL_STEP_ISEND},
    {"issend", PL_STEP_ISSEND}, {"recv", PL_STEP_RECV},   {"irecv", PL_STEP_IRECV},
    {"wait", PL_STEP_WAIT},
};

static bool receives(enum pl_step_kind kind)
{
    return kind == PL_STEP_RECV || kind == PL_STEP_IRECV;
}

static bool begins(enum pl_step_kind kind)
{
    return kind == PL_STEP_ISEND || kind == PL_STEP_ISSEND || kind == PL_STEP_IRECV;
}

static bool take_id(struct pl_parser *parser, const char *value)
{
    parser->messages.id = value;
    return true;
}

static bool take_rank(struct pl_parser *parser, const char *value)
{
    return pl_take_int(parser, value, 0, MOST_RANKS - 1, &parser->messages.rank);
}

static bool take_steps(struct pl_parser *parser, const char *value)
{
    parser->messages.steps = value;
    return true;
}

const struct pl_key pl_messages_keys[] = {
    {.name = "id", .take = take_id, .required = true},
    {.name = "rank", .take = take_rank, .required = true},
    {.name = "steps", .take = take_steps, .required = true},
};
const int pl_messages_key_count = sizeof pl_messages_keys / sizeof *pl_messages_keys;

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

/* What the line belongs to; made with its first line. NULL: no memory. */
static struct pl_messages *messages_of_line(struct pl_parser *parser)
{
    struct pl_messages *played =
        (struct pl_messages *)pl_messages_by_id(parser->plan, parser->messages.id);
    if (!played) {
        played = calloc(1, sizeof *played);
        if (!played)
            return NULL;
        played->id = parser->messages.id;
        played->next = parser->plan->messages;
        parser->plan->messages = played;
    }
    const int ranks = parser->messages.rank + 1;
    if (ranks > played->ranks) {
        struct pl_rank_steps *larger =
            realloc(played->of_rank, (size_t)ranks * sizeof *played->of_rank);
        if (!larger)
            return NULL;
        memset(larger + played->ranks, 0, (size_t)(ranks - played->ranks) * sizeof *larger);
        played->of_rank = larger;
        played->ranks = ranks;
    }
    return played;
}

/* Numbers with colons before them, from `at` to `end`; false: another number of them, or one is too
 * large. */
static bool numbers(const char *at, const char *end, int count, const long long *most, int *found)
{
    for (int i = 0; i < count; i++) {
        long long value = 0;
        if (at == end || *at++ != ':' || at == end || *at == ':')
            return false;
        for (; at < end && *at >= '0' && *at <= '9' && value <= most[i]; at++)
            value = 10 * value + (*at - '0');
        if (value > most[i])
            return false;
        found[i] = (int)value;
    }
    return at == end;
}

/* One step, as text up to `end`. */
static bool read_step(const char *text, const char *end, struct pl_step *step)
{
    const char *colon = memchr(text, ':', (size_t)(end - text));
    if (!colon)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].name);
        int found[3] = {0};
        if ((size_t)(colon - text) != length || memcmp(words[i].name, text, length) != 0)
            continue;
        const long long most[] = {MOST_RANKS - 1, MOST_BYTES, MOST_TAG};
        const int count = words[i].kind == PL_STEP_WAIT ? 1 : 3;
        *step = (struct pl_step){.kind = words[i].kind};
        if (!numbers(colon, end, count, most, found))
            return false;
        step->peer = found[0];
        step->bytes = found[1];
        step->tag = found[2];
        return true;
    }
    return false;
}

/* Every request is waited for once, after it was begun. */
static bool waits_fit(const struct pl_rank_steps *own, char *waited)
{
    int begun = 0, done = 0;
    for (int i = 0; i < own->count; i++) {
        const struct pl_step *step = &own->steps[i];
        if (step->kind == PL_STEP_WAIT) {
            if (step->peer >= begun || waited[step->peer]++)
                return false;
            done++;
        }
        begun += begins(step->kind);
    }
    return begun == done;
}

static void count_bytes(struct pl_rank_steps *own, struct pl_step *step)
{
    own->request_count += begins(step->kind);
    if (receives(step->kind)) {
        step->place = own->recv_bytes;
        own->recv_bytes += (size_t)step->bytes;
    } else if ((size_t)step->bytes > own->send_bytes) {
        own->send_bytes = (size_t)step->bytes;
    }
}

bool pl_finish_messages(struct pl_parser *parser)
{
    const char *text = parser->messages.steps;
    struct pl_messages *played = messages_of_line(parser);
    if (!played)
        return no_memory(parser);
    struct pl_rank_steps *own = &played->of_rank[parser->messages.rank];
    if (own->count)
        return pl_refuse_token(parser, "rank", "…", "the steps of this rank stand twice");
    size_t room = 1;
    for (const char *at = text; *at; at++)
        room += *at == ',';
    own->steps = calloc(room, sizeof *own->steps);
    own->requests = calloc(room, sizeof *own->requests);
    char *waited = calloc(room, 1);
    bool good = own->steps && own->requests && waited ? true : no_memory(parser);
    for (const char *at = text; good && at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const char *comma = strchr(at, ',');
        const char *end = comma ? comma : at + strlen(at);
        if (!read_step(at, end, &own->steps[own->count])) {
            char shown[80];
            snprintf(shown, sizeof shown, "%.*s", end - at < 79 ? (int)(end - at) : 79, at);
            good = pl_refuse_token(parser, "steps", shown,
                                   "write WORD:PEER:BYTES:TAG with send, ssend, isend, issend, "
                                   "recv or irecv, and wait:REQUEST, with commas between");
            break;
        }
        count_bytes(own, &own->steps[own->count++]);
    }
    if (good && !waits_fit(own, waited))
        good = pl_refuse_token(parser, "steps", "wait:…",
                               "each request is waited for once, after it was begun");
    free(waited);
    return good;
}

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

static int messages_of(const struct pl_messages *played, struct message *found)
{
    int count = 0;
    for (int rank = 0; rank < played->ranks; rank++)
        for (int i = 0; i < played->of_rank[rank].count; i++) {
            const struct pl_step *step = &played->of_rank[rank].steps[i];
            const int received = receives(step->kind);
            if (step->kind == PL_STEP_WAIT)
                continue;
            if (found)
                found[count] =
                    (struct message){received ? step->peer : rank, received ? rank : step->peer,
                                     step->tag, received, step->bytes};
            count++;
        }
    return count;
}

bool pl_finish_all_messages(struct pl_parser *parser)
{
    bool good = true;
    for (const struct pl_messages *played = parser->plan->messages; played && good;
         played = played->next) {
        const int count = messages_of(played, NULL);
        struct message *all = malloc(((size_t)count + 2) * sizeof *all);
        if (!all)
            return no_memory(parser);
        messages_of(played, all);
        qsort(all, (size_t)count, sizeof *all, by_message);
        all[count] = (struct message){.source = -1};
        for (int i = 0; i < count && good; i += 2) {
            const struct message *a = &all[i], *b = &all[i + 1];
            const bool pair = !a->received && b->received && a->source == b->source &&
                              a->target == b->target && a->tag == b->tag && a->bytes == b->bytes;
            const bool alone = i + 2 >= count || by_message(b, &all[i + 2]) != 0;
            if (!pair || !alone)
                good = pl_refuse_token(parser, "messages", played->id,
                                       "rank %d to rank %d, tag %d: not one send and one receive "
                                       "of as many bytes",
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
