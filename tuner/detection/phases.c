/* Whose contribution is known where, message by message, and when it is everybody's
 * (detect/provenance.py). Sets of ranks are by place in the group. */
#include "phases.h"

#include "map.h"

#include <string.h>

/* One time that it went round. `complete`: places of ranks that know everybody's contribution are
 * bits; `overlaps`: somebody was told of one contribution twice; `crossed`: messages that are one
 * half of an exchange; `last`: the last place that is complete. */
struct phase {
    int64_t messages, overlaps, crossed, last;
};

struct knowing {
    struct pl_store *store;
    const struct pl_class *given;
    enum pl_way way;
    bool rooted;
    int64_t words;
    int64_t *place; /* by rank: its place in the group */
    int64_t *now;   /* by place: its phase */
    uint64_t *known, *full;
    struct {
        int64_t phase, set;
    } * stamps; /* by place in the class: of its send, the phase from 1 on; 0: none */
    struct phase *phases;
    uint64_t *complete;
    int64_t phases_count, phases_room;
    struct pl_map types; /* phase, source and target, call site */
    struct pl_sets sets;
    struct pl_list message, phase, set; /* in the order of receives */
    int64_t *first, *told, *told_set;   /* the same by phase */
    uint8_t *good;                      /* by phase */
};

static uint64_t *known_by(const struct knowing *knowing, int64_t place)
{
    return knowing->known + place * knowing->words;
}

static bool is_full(const struct knowing *knowing, const uint64_t *bits)
{
    return memcmp(bits, knowing->full, (size_t)knowing->words * sizeof *bits) == 0;
}

static void forget(struct knowing *knowing, int64_t place)
{
    memset(known_by(knowing, place), 0, (size_t)knowing->words * sizeof(uint64_t));
    pl_put(known_by(knowing, place), place);
}

static void next_phase(struct knowing *knowing, int64_t place)
{
    knowing->now[place]++;
    forget(knowing, place);
}

static void require(struct knowing *knowing, int64_t number)
{
    const size_t words = (size_t)knowing->words;
    while (knowing->phases_count <= number) {
        if (knowing->phases_count == knowing->phases_room) {
            const int64_t room = knowing->phases_room ? 2 * knowing->phases_room : 16;
            knowing->phases =
                pl_grown(knowing->store, knowing->phases, (size_t)room * sizeof *knowing->phases);
            knowing->complete = pl_grown(knowing->store, knowing->complete,
                                         (size_t)room * words * sizeof *knowing->complete);
            knowing->phases_room = room;
        }
        knowing->phases[knowing->phases_count] = (struct phase){0};
        memset(knowing->complete + (size_t)knowing->phases_count * words, 0,
               words * sizeof *knowing->complete);
        knowing->phases_count++;
    }
}

static void send(struct knowing *knowing, int64_t at)
{
    const int64_t message = knowing->given->messages[at];
    const int64_t place = knowing->place[knowing->given->traffic->source[message]];
    if (knowing->rooted && is_full(knowing, known_by(knowing, place)))
        next_phase(knowing, place);
    knowing->stamps[at].phase = knowing->now[place] + 1;
    knowing->stamps[at].set = pl_set_add(&knowing->sets, known_by(knowing, place));
    if (knowing->rooted)
        next_phase(knowing, place);
}

/* Whether a phase has had no message of these ranks from this call site. */
static bool is_first(struct knowing *knowing, int64_t number, int64_t message, bool add)
{
    const struct pl_traffic *traffic = knowing->given->traffic;
    const int64_t ranks = traffic->source[message] * traffic->ranks + traffic->target[message];
    const int64_t key[] = {number, ranks, traffic->send_site[message]};
    if (!add)
        return !pl_map_find(&knowing->types, key);
    bool is_new;
    pl_map_add(&knowing->types, key, 0, &is_new);
    return is_new;
}

static void add(struct knowing *knowing, int64_t number, int64_t message, int64_t set)
{
    require(knowing, number);
    knowing->phases[number].messages++;
    knowing->phases[number].crossed += knowing->given->traffic->crossed[message];
    pl_push(knowing->store, &knowing->message, message);
    pl_push(knowing->store, &knowing->phase, number);
    pl_push(knowing->store, &knowing->set, set);
    if (!knowing->rooted)
        is_first(knowing, number, message, true);
}

/* A rank of a rooted phase is told something: as long as it has not sent, of the phase that it is
 * in, or of a later one where it has been told nothing yet. */
static void wait(struct knowing *knowing, int64_t place, int64_t number)
{
    if (number < knowing->now[place]) {
        require(knowing, number);
        knowing->phases[number].overlaps = 1;
    } else if (number > knowing->now[place]) {
        uint64_t *known = known_by(knowing, place);
        int64_t count = 0;
        for (int64_t word = 0; word < knowing->words; word++)
            count += __builtin_popcountll(known[word]);
        if (count != 1 || !pl_has(known, place)) {
            require(knowing, knowing->now[place]);
            knowing->phases[knowing->now[place]].overlaps = 1;
        }
        knowing->now[place] = number;
        forget(knowing, place);
    }
}

/* What is told of, where sender and receiver are in different phases. */
static int64_t told_now(struct knowing *knowing, int64_t message, int64_t place, int64_t number,
                        int64_t set)
{
    const int64_t now = knowing->now[place];
    if (number == now)
        return set;
    if (number > now)
        return pl_set_add(&knowing->sets, knowing->full);
    uint64_t *bits = pl_get(knowing->store, (size_t)knowing->words, sizeof *bits);
    /* Its sender may be done with the last phase, and have come to this one. */
    if (number == now - 1 && is_full(knowing, pl_set(&knowing->sets, set)))
        pl_put(bits, knowing->place[knowing->given->traffic->source[message]]);
    const int64_t told = pl_set_add(&knowing->sets, bits);
    pl_give_back(bits);
    return told;
}

/* A rank hears of what is in a set. */
static void learn(struct knowing *knowing, int64_t place, int64_t number, int64_t set)
{
    uint64_t *known = known_by(knowing, place);
    const uint64_t *told = pl_set(&knowing->sets, set);
    bool some = false, all = true;
    for (int64_t word = 0; word < knowing->words; word++) {
        some |= (known[word] & told[word]) != 0;
        all &= (known[word] & ~told[word]) == 0;
    }
    knowing->phases[number].overlaps |= is_full(knowing, told) ? some && !all : some;
    for (int64_t word = 0; word < knowing->words; word++)
        known[word] |= told[word];
    if (is_full(knowing, known))
        pl_put(knowing->complete + number * knowing->words, place);
}

static void receive(struct knowing *knowing, int64_t at)
{
    const int64_t message = knowing->given->messages[at];
    const int64_t place = knowing->place[knowing->given->traffic->target[message]];
    int64_t number = knowing->stamps[at].phase - 1, set = knowing->stamps[at].set;
    if (number < 0)
        return; /* clocks of threads: received before it was sent */
    if (is_full(knowing, known_by(knowing, place))) {
        /* It tells a rank what it knows already, and is no repetition: the last one of a ring that
         * goes round twice. */
        if (!knowing->rooted && number == knowing->now[place] &&
            is_full(knowing, pl_set(&knowing->sets, set)) &&
            is_first(knowing, number, message, false)) {
            add(knowing, number, message, set);
            return;
        }
        next_phase(knowing, place);
    }
    if (knowing->rooted) {
        wait(knowing, place, number);
    } else {
        set = told_now(knowing, message, place, number, set);
        number = knowing->now[place];
    }
    add(knowing, number, message, set);
    learn(knowing, place, number, set);
}

static void begin(struct knowing *knowing, struct pl_store *store, const struct pl_class *given,
                  enum pl_way way)
{
    const size_t size = (size_t)given->size;
    *knowing = (struct knowing){.store = store, .given = given, .way = way};
    knowing->rooted = way == PL_TREE;
    knowing->words = pl_words(given->size);
    knowing->place = pl_get(store, (size_t)given->traffic->ranks, sizeof *knowing->place);
    knowing->now = pl_get(store, size, sizeof *knowing->now);
    knowing->known = pl_get(store, size * (size_t)knowing->words, sizeof *knowing->known);
    knowing->full = pl_get(store, (size_t)knowing->words, sizeof *knowing->full);
    pl_map_begin(store, &knowing->types, 3);
    knowing->stamps = pl_get(store, (size_t)given->count, sizeof *knowing->stamps);
    pl_sets_begin(store, &knowing->sets, given->size);
    for (int64_t place = 0; place < given->size; place++) {
        knowing->place[given->group[place]] = place;
        pl_put(knowing->full, place);
        forget(knowing, place);
    }
}

static void end(struct knowing *knowing)
{
    pl_map_end(&knowing->types);
    void *const pieces[] = {
        knowing->place,      knowing->now,        knowing->known,    knowing->full,
        knowing->stamps,     knowing->phases,     knowing->complete, knowing->sets.bits,
        knowing->sets.place, knowing->message.at, knowing->phase.at, knowing->set.at,
        knowing->first,      knowing->told,       knowing->told_set, knowing->good};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        pl_give_back(pieces[i]);
}

/* Messages by phase, in the order of their receives. */
static void sort_by_phase(struct knowing *knowing)
{
    struct pl_store *store = knowing->store;
    const int64_t count = knowing->message.count;
    int64_t *first = pl_get(store, (size_t)knowing->phases_count + 2, sizeof *first);
    knowing->told = pl_get(store, (size_t)count, sizeof *knowing->told);
    knowing->told_set = pl_get(store, (size_t)count, sizeof *knowing->told_set);
    for (int64_t i = 0; i < knowing->phases_count; i++)
        first[i + 2] = first[i + 1] + knowing->phases[i].messages;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = first[knowing->phase.at[i] + 1]++;
        knowing->told[at] = knowing->message.at[i];
        knowing->told_set[at] = knowing->set.at[i];
    }
    knowing->first = first;
}

/* How many ranks know everything; sets the last of them. */
static int64_t complete_in(struct knowing *knowing, int64_t number)
{
    int64_t count = 0;
    knowing->phases[number].last = -1;
    for (int64_t place = 0; place < knowing->given->size; place++)
        if (pl_has(knowing->complete + number * knowing->words, place)) {
            count++;
            knowing->phases[number].last = place;
        }
    return count;
}

/* Whether each rank sends less, the more it knows. */
static bool shrinks(struct knowing *knowing, int64_t number)
{
    const struct pl_traffic *traffic = knowing->given->traffic;
    const int64_t count = knowing->phases[number].messages;
    int64_t *sent = pl_get(knowing->store, (size_t)count, sizeof *sent);
    int64_t *bytes = pl_get(knowing->store, (size_t)knowing->given->size, sizeof *bytes);
    memcpy(sent, knowing->told + knowing->first[number], (size_t)count * sizeof *sent);
    pl_sort(sent, count);
    bool found = true;
    for (int64_t i = 0; i < count; i++) {
        int64_t *last = &bytes[knowing->place[traffic->source[sent[i]]]];
        found &= !*last || traffic->bytes[sent[i]] < *last;
        *last = traffic->bytes[sent[i]];
    }
    pl_give_back(bytes);
    pl_give_back(sent);
    return found;
}

/* Steps of recursive halving. */
static int64_t steps(int64_t size)
{
    int64_t found = 0;
    while ((INT64_C(1) << found) < size)
        found++;
    return found;
}

static bool is_good(struct knowing *knowing, int64_t number)
{
    const int64_t complete = complete_in(knowing, number), size = knowing->given->size;
    const struct phase *phase = &knowing->phases[number];
    switch (knowing->way) {
    case PL_TREE: /* else it is the one side of exchanges */
        return phase->messages == size - 1 && complete && !phase->overlaps &&
               2 * phase->crossed <= phase->messages;
    case PL_WHOLE:
        return complete == size && phase->messages >= size;
    case PL_HALVING:
        return complete == size && !phase->overlaps &&
               phase->messages <= (steps(size) + 2) * size && shrinks(knowing, number);
    case PL_BARRIER:
        break;
    }
    return complete == size;
}

/* Whether ranks that know of the same contributions send different things in a good phase: looked
 * at among what was received before a place in the order of points. */
static bool contradicts(const struct knowing *knowing, int64_t before)
{
    const struct pl_traffic *traffic = knowing->given->traffic;
    const size_t sets = (size_t)knowing->sets.count;
    int64_t *content = pl_get(knowing->store, sets, sizeof *content);
    int64_t *phase = pl_get(knowing->store, sets, sizeof *phase); /* the last one with it, from 1 */
    bool found = false;
    for (int64_t i = 0; i < knowing->phases_count && !found; i++) {
        if (!knowing->good[i])
            continue;
        for (int64_t at = knowing->first[i]; at < knowing->first[i + 1]; at++) {
            const int64_t message = knowing->told[at], set = knowing->told_set[at];
            if (traffic->received[message] >= before)
                continue;
            found |= phase[set] == i + 1 && content[set] != traffic->content[message];
            phase[set] = i + 1;
            content[set] = traffic->content[message];
        }
    }
    pl_give_back(phase);
    pl_give_back(content);
    return found;
}

/* So many messages a rank are looked at first. A class is explained where at least this share of it
 * is in good phases; it is given up early that does not begin with half as many. */
enum { FIRST_LOOK = 32, PERCENT = 50 };

/* Follows the first messages of a class; whether enough of them are in good phases, and nothing
 * contradicts these. */
static bool follow(struct knowing *knowing, int64_t count)
{
    const struct pl_class *given = knowing->given;
    for (int64_t i = 0; i < 2 * given->count; i++) {
        const int64_t point = given->points[i];
        if (point < count)
            send(knowing, point);
        else if (point >= given->count && point < given->count + count)
            receive(knowing, point - given->count);
    }
    sort_by_phase(knowing);
    knowing->good = pl_get(knowing->store, (size_t)knowing->phases_count, 1);
    int64_t messages = 0;
    for (int64_t i = 0; i < knowing->phases_count; i++)
        if ((knowing->good[i] = is_good(knowing, i)))
            messages += knowing->phases[i].messages;
    const bool is_all = count == given->count;
    if (!messages || 100 * messages < (is_all ? PERCENT : PERCENT / 2) * count)
        return false;
    /* What is sent later may come in between from there on. */
    const int64_t end = is_all ? INT64_MAX : given->traffic->sent[given->messages[count]];
    return knowing->way != PL_WHOLE || !contradicts(knowing, end);
}

/* Barriers are looked at as a whole. */
int64_t pl_looked_at_first(int64_t count, int64_t size, enum pl_way way)
{
    return way == PL_BARRIER || count < FIRST_LOOK * size ? count : FIRST_LOOK * size;
}

bool pl_begins_well(struct pl_store *store, const struct pl_class *given, enum pl_way way)
{
    struct knowing knowing;
    begin(&knowing, store, given, way);
    const bool found = follow(&knowing, pl_looked_at_first(given->count, given->size, way));
    end(&knowing);
    return found;
}

static void answer_good(struct pl_answer *answer, const struct knowing *knowing)
{
    struct pl_list rows[5] = {{0}}; /* first, message, set; overlaps, last */
    pl_push(answer->store, &rows[0], 0);
    for (int64_t i = 0; i < knowing->phases_count; i++) {
        if (!knowing->good[i])
            continue;
        for (int64_t at = knowing->first[i]; at < knowing->first[i + 1]; at++) {
            pl_push(answer->store, &rows[1], knowing->told[at]);
            pl_push(answer->store, &rows[2], knowing->told_set[at]);
        }
        pl_push(answer->store, &rows[0], rows[1].count);
        pl_push(answer->store, &rows[3], knowing->phases[i].overlaps);
        pl_push(answer->store, &rows[4], knowing->phases[i].last);
    }
    for (int i = 0; i < 5; i++)
        pl_answer_list(answer, &rows[i]);
}

static void answer_sets(struct pl_answer *answer, const struct pl_sets *sets)
{
    int64_t *sizes = pl_get(answer->store, (size_t)sets->count, sizeof *sizes);
    for (int64_t set = 0; set < sets->count; set++)
        for (int64_t word = 0; word < sets->words; word++)
            sizes[set] += __builtin_popcountll(pl_set(sets, set)[word]);
    pl_answer_with(answer, sizes, sets->count);
    pl_answer_with(answer, (const int64_t *)sets->bits, sets->count * sets->words);
}

struct asked {
    struct pl_class class;
    enum pl_way way;
};

static void know(struct pl_answer *answer, const void *pointer)
{
    const struct asked *asked = pointer;
    const struct pl_class *class = &asked->class;
    if (pl_looked_at_first(class->count, class->size, asked->way) < class->count &&
        !pl_begins_well(answer->store, class, asked->way))
        return;
    struct knowing *knowing = pl_get(answer->store, 1, sizeof *knowing);
    begin(knowing, answer->store, class, asked->way);
    if (!follow(knowing, class->count))
        return;
    answer_good(answer, knowing);
    answer_sets(answer, &knowing->sets);
}

/* The good phases of a class, where they explain it; no columns: they do not. First ones and
 * messages that were received, in that order; by message the number of the set of ranks whose
 * contribution it was; by phase whether somebody was told of one contribution twice, and the last
 * place in the group that knows everything; sizes and bits of the sets. Of a tree each rank but
 * the root sends once, when it has what it waits for; else a phase ends for a rank when it knows of
 * all others, and what it sends then only tells those that do not. */
PL_ENTRY struct pl_answer *pl_phases(const struct pl_traffic *traffic, const int64_t *messages,
                                     const int64_t *points, int64_t count, const int64_t *group,
                                     int64_t size, int64_t way)
{
    const struct pl_class class = {traffic, messages, points, count, group, size};
    return pl_answered(know, &(struct asked){class, (enum pl_way)way});
}
