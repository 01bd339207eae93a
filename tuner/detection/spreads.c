/* Atoms that lie side by side, at their origin or where they arrive, and reached the same ranks:
 * the data of one broadcast (detect/provenance.py). */
#include "atoms.h"
#include "map.h"

#include <string.h>

enum {
    MOST_SEGMENTS = 1024, /* of a broadcast are looked at together */
    BESIDE = 4,           /* so many other things may be done beside each of their messages */
};

struct spreads {
    const struct pl_traffic *traffic;
    const struct pl_parts *parts;
    const struct pl_atoms *atoms;
    const struct pl_rows *alike;
};

struct joining {
    struct pl_store *store;
    const struct spreads *given;
    struct pl_list first, atoms;               /* the answer: atoms by spread */
    struct pl_list place, order, run, ways[2]; /* of the epoch that is looked at */
    struct pl_map starts;
};

static int64_t first_message(const struct pl_atoms *atoms, int64_t atom)
{
    return atoms->messages.at[atoms->messages.first[atom]];
}

/* Pairs of ranks that an atom went between, each once. */
static void find_ways(struct joining *joining, int64_t atom, struct pl_list *ways)
{
    const struct pl_traffic *traffic = joining->given->traffic;
    const struct pl_rows *messages = &joining->given->atoms->messages;
    ways->count = 0;
    for (int64_t i = messages->first[atom]; i < messages->first[atom + 1]; i++) {
        const int64_t message = messages->at[i];
        pl_push(joining->store, ways,
                traffic->source[message] * traffic->ranks + traffic->target[message]);
    }
    pl_unique(ways);
}

/* Whether neighbouring atoms are of one broadcast: they took different ways (scatter and
 * allgather), or set out from one call site (segments). */
static bool belong(struct joining *joining, int64_t left, int64_t right)
{
    const struct pl_atoms *atoms = joining->given->atoms;
    const int64_t *site = joining->given->traffic->send_site;
    if (atoms->item[left] == atoms->item[right] ||
        site[first_message(atoms, left)] == site[first_message(atoms, right)])
        return true;
    struct pl_list *ways = joining->ways;
    find_ways(joining, left, &ways[0]);
    find_ways(joining, right, &ways[1]);
    return ways[0].count != ways[1].count ||
           memcmp(ways[0].at, ways[1].at, (size_t)ways[0].count * sizeof *ways[0].at) != 0;
}

static int64_t run_of(struct pl_list *run, int64_t at)
{
    while (run->at[at] != at)
        at = run->at[at] = run->at[run->at[at]];
    return at;
}

static int64_t distance(int64_t left, int64_t right)
{
    return left < right ? right - left : left - right;
}

/* Whether their origin sends both in one go: what arrives beside something older is not of it. */
static bool in_one_go(const struct joining *joining, int64_t left, int64_t right)
{
    const struct pl_atoms *atoms = joining->given->atoms;
    const int64_t *sent_as = joining->given->traffic->sent_as;
    const int64_t *first = atoms->messages.first;
    const int64_t messages = first[left + 1] - first[left] + first[right + 1] - first[right];
    return distance(sent_as[first_message(atoms, left)], sent_as[first_message(atoms, right)]) <=
           BESIDE * messages + 2 * BESIDE;
}

/* The one of an epoch that begins at an address; of several, as the place was used again, the one
 * that set out next to `beside`. `order`: by address. -1: there is none. */
static int64_t beginning_at(const int64_t *place, const int64_t *order, int64_t count,
                            int64_t address, int64_t beside)
{
    int64_t low = 0, high = count, found = -1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (place[order[middle]] < address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && place[order[low]] == address; low++)
        if (found < 0 || distance(order[low], beside) < distance(found, beside))
            found = order[low];
    return found;
}

/* Joins those of an epoch that lie side by side at the addresses in `place`, which are those of
 * their origin, or where they are `arriving`. */
static void join_neighbours(struct joining *joining, const int64_t *epoch, int64_t count,
                            bool arriving)
{
    const struct pl_atoms *atoms = joining->given->atoms;
    const int64_t *place = joining->place.at;
    int64_t *order = joining->order.at;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i;
        for (; at && place[order[at - 1]] > place[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int64_t left = 0; left < count; left++) {
        const int64_t bytes = atoms->high[epoch[left]] - atoms->low[epoch[left]];
        const int64_t right = beginning_at(place, order, count, place[left] + bytes, left);
        if (right >= 0 && belong(joining, epoch[left], epoch[right]) &&
            (!arriving || in_one_go(joining, epoch[left], epoch[right])))
            joining->run.at[run_of(&joining->run, right)] = run_of(&joining->run, left);
    }
}

/* A spread for each run, by its first atom. */
static void add_runs(struct joining *joining, const int64_t *epoch, int64_t count)
{
    int64_t *number = joining->place.at, *size = joining->order.at, runs = 0;
    for (int64_t i = 0; i < count; i++)
        number[i] = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t *mine = &number[run_of(&joining->run, i)];
        if (*mine < 0) {
            *mine = runs;
            size[runs++] = 0;
        }
        size[*mine]++;
    }
    int64_t begin = joining->atoms.count;
    for (int64_t i = 0; i < count; i++)
        pl_push(joining->store, &joining->atoms, 0);
    for (int64_t run = 0; run < runs; run++) {
        const int64_t next = begin;
        begin += size[run];
        size[run] = next;
        pl_push(joining->store, &joining->first, begin);
    }
    for (int64_t i = 0; i < count; i++)
        joining->atoms.at[size[number[run_of(&joining->run, i)]]++] = epoch[i];
}

static void add_epoch(struct joining *joining, const int64_t *epoch, int64_t count)
{
    const struct spreads *given = joining->given;
    const struct pl_atoms *atoms = given->atoms;
    struct pl_list *place = &joining->place, *order = &joining->order, *run = &joining->run;
    place->count = order->count = run->count = 0;
    for (int64_t i = 0; i < count; i++) {
        pl_push(joining->store, place, atoms->address[epoch[i]]);
        pl_push(joining->store, order, i);
        pl_push(joining->store, run, i);
    }
    if (count > 1) {
        join_neighbours(joining, epoch, count, false);
        const int64_t *members = atoms->groups.at + atoms->groups.first[atoms->group[*epoch]];
        const int64_t reference = members[members[0] == atoms->origin[*epoch]];
        for (int64_t i = 0; i < count; i++) {
            const int64_t message = pl_last_to(given->traffic, atoms, epoch[i], reference);
            place->at[i] = pl_arrival(given->traffic, given->parts, atoms, epoch[i], message);
        }
        join_neighbours(joining, epoch, count, true);
    }
    add_runs(joining, epoch, count);
}

/* Where an epoch ends that would end before `at`: what sets out in one message stays together. */
static int64_t with_its_message(const struct spreads *given, int64_t begin, int64_t at, int64_t end)
{
    const int64_t *atom = given->alike->at;
    int64_t first = at;
    while (at < end && first > begin &&
           first_message(given->atoms, atom[first - 1]) == first_message(given->atoms, atom[at]))
        first--;
    return first > begin ? first : at;
}

/* Where it ends so that what its origin sends in one go stays together: some of what the next epoch
 * is made of may be sent before the address that comes again. It is not what comes again itself. */
static int64_t with_its_go(const struct spreads *given, int64_t begin, int64_t at, int64_t end)
{
    const int64_t *atom = given->alike->at, *sent_as = given->traffic->sent_as;
    const int64_t *address = given->atoms->address;
    int64_t first = at;
    while (at < end && first > begin &&
           distance(sent_as[first_message(given->atoms, atom[first - 1])],
                    sent_as[first_message(given->atoms, atom[first])]) <= 2 * BESIDE)
        first--;
    for (int64_t i = first; i < at; i++)
        for (int64_t j = at; j < end && j < 2 * at - begin; j++)
            if (address[atom[i]] == address[atom[j]])
                return at;
    return first > begin ? first : at;
}

/* Messages by spread, each once. */
static void answer_messages(struct pl_answer *answer, struct joining *joining)
{
    const struct pl_rows *of_atom = &joining->given->atoms->messages;
    struct pl_list first = {0}, messages = {0}, own = {0};
    pl_push(answer->store, &first, 0);
    for (int64_t spread = 0; spread + 1 < joining->first.count; spread++) {
        own.count = 0;
        for (int64_t i = joining->first.at[spread]; i < joining->first.at[spread + 1]; i++) {
            const int64_t atom = joining->atoms.at[i];
            for (int64_t j = of_atom->first[atom]; j < of_atom->first[atom + 1]; j++)
                pl_push(answer->store, &own, of_atom->at[j]);
        }
        pl_unique(&own);
        for (int64_t i = 0; i < own.count; i++)
            pl_push(answer->store, &messages, own.at[i]);
        pl_push(answer->store, &first, messages.count);
    }
    pl_answer_list(answer, &first);
    pl_answer_list(answer, &messages);
}

static void join_all(struct pl_answer *answer, const void *pointer)
{
    const struct spreads *given = pointer;
    struct joining *joining = pl_get(answer->store, 1, sizeof *joining);
    joining->store = answer->store;
    joining->given = given;
    pl_map_begin(answer->store, &joining->starts, 1);
    pl_push(answer->store, &joining->first, 0);
    for (int64_t row = 0; row < given->alike->count; row++) {
        const int64_t end = given->alike->first[row + 1];
        /* An epoch: no address comes twice in it. */
        for (int64_t begin = given->alike->first[row], at = begin; at < end; begin = at) {
            pl_map_clear(&joining->starts);
            for (; at < end && at - begin < MOST_SEGMENTS; at++) {
                bool is_new;
                pl_map_add(&joining->starts, &given->atoms->address[given->alike->at[at]], 0,
                           &is_new);
                if (!is_new)
                    break;
            }
            at = with_its_message(given, begin, at, end);
            at = with_its_go(given, begin, at, end);
            add_epoch(joining, given->alike->at + begin, at - begin);
        }
    }
    pl_answer_list(answer, &joining->first);
    pl_answer_list(answer, &joining->atoms);
    answer_messages(answer, joining);
}

/* Atoms and messages by spread. `alike`: atoms of one origin, communicator and group, in the order
 * of sends. */
PL_ENTRY struct pl_answer *pl_spreads(const struct pl_traffic *traffic,
                                      const struct pl_parts *parts, const struct pl_atoms *atoms,
                                      const struct pl_rows *alike)
{
    return pl_answered(join_all, &(struct spreads){traffic, parts, atoms, alike});
}
