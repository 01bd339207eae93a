/* Which calls of a rule the library computes for comparison, and what the comparison says.
 *
 * A hash of the seed, the rule, the communicator and the number of the block decides, so all ranks
 * agree without a message. The first call of a block is not timed: code and caches of its side are
 * cold. Times are cut off at twice what one call in ten exceeds, so that a rank that was not
 * running for a while does not hide a difference; what is cut off is decided before the side of a
 * block is.
 *
 * The interval is the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and
 * Ramdas (Annals of Statistics 52, 2024, theorem 2.2; a normal mixture, after Robbins 1970) for a
 * difference of means under random assignment. It is valid at all looks together. Times of ranks
 * are not independent: the mean of the ranks' standard errors is an upper bound of the standard
 * error of their mean. */
#include "control.h"
#include "preload.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 4, CALLS_BETWEEN_CHECKS = 1000, LEAST_BLOCKS = 16 };
enum { FIRST_CHECK = 128, LAST_EARLY_CHECK = 512 };
enum { TIMED_SHARES = 3 }; /* so many times as many calls are timed as go to the library */
/* So many first calls of a rule are all timed, so that a slower rule is found at once. */
static const double EARLY_CALLS = 1000;
static const double WIDE = 1 - PL_CONFIDENCE;
/* The interval is narrowest, for its number of blocks, after so many of them. */
static const double TUNED_FOR = 500;

/* What this process knows of a rule, on all communicators. */
struct ledger {
    double blocks[2], sum[2], squares[2]; /* of the means of blocks: replaced, library */
    double middles;
    struct pl_usual usual[PL_OCTAVES]; /* of the communicator that ended a block last */
    atomic_llong controlled;
    atomic_llong off_at; /* -1: never */
};

static struct {
    struct ledger *ledgers; /* in the order of pl_state.rules */
    struct pl_outcome *outcomes;
    pthread_mutex_t lock;
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Digits with a point, whatever the language is; negative where that is not all. */
static double number_in(const char *text)
{
    double value = 0, unit = 1;
    const size_t digits = strspn(text, "0123456789");
    const char *point = text + digits;
    if (digits == 0 || strlen(text) > 12 || (*point && *point != '.'))
        return -1;
    for (const char *at = text; at < point; at++)
        value = 10 * value + (*at - '0');
    if (*point && (point[1] == '\0' || point[1 + strspn(point + 1, "0123456789")] != '\0'))
        return -1;
    for (const char *at = point; *point && *++at;)
        value += (unit /= 10) * (*at - '0');
    return value;
}

void pl_control_read(void)
{
    const char *text = getenv("PLUMBLINE_CONTROL");
    if (!text || !*text)
        return;
    const double share = number_in(text);
    if (share > 0 && share <= 0.5) {
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        pl_state.share = share;
        pl_state.seed = (uint32_t)at.tv_nsec ^ (uint32_t)at.tv_sec << 20;
    } else {
        fprintf(stderr,
                "plumbline: PLUMBLINE_CONTROL is '%.40s', and must be a share of calls above 0, at "
                "most 0.5, as 0.02; no calls are compared\n",
                text);
    }
}

bool pl_control_begin(void)
{
    book.ledgers = calloc((size_t)pl_state.profile.count + 1, sizeof *book.ledgers);
    for (int i = 0; book.ledgers && i < pl_state.profile.count; i++)
        atomic_init(&book.ledgers[i].off_at, -1);
    return book.ledgers != NULL;
}

static struct ledger *ledger_of(const struct pl_active_rule *rule)
{
    return &book.ledgers[rule - pl_state.rules];
}

static void lock(void)
{
    if (pl_state.threads)
        pthread_mutex_lock(&book.lock);
}

static void unlock(void)
{
    if (pl_state.threads)
        pthread_mutex_unlock(&book.lock);
}

/* --- what is decided --- */

/* A number below 2^32 (the finalizer of splitmix64). */
static uint64_t draw(long long rule, uint32_t salt, uint32_t block)
{
    uint64_t x = ((uint64_t)(pl_state.seed ^ salt * UINT32_C(0x9e3779b1)) << 32 | block) +
                 (uint64_t)(rule + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) >> 32;
}

/* The share falls with the calls of the rule. Of the timed blocks the same part is the library's at
 * all times, so that drift does not look like a difference of the sides. */
static enum pl_side side_of(const struct pl_option *option, uint64_t block)
{
    const struct pl_control *control = option->control;
    const long long rule = option->rule - pl_state.rules;
    const double calls = control->before + (double)(block * BLOCK),
                 early = EARLY_CALLS / fmax(calls, EARLY_CALLS) / (1 + TIMED_SHARES),
                 share = fmax(pl_state.share, early),
                 at = (double)draw(rule, control->salt, (uint32_t)block) / 0x1p32;
    return at < share ? PL_LIBRARY : at < (1 + TIMED_SHARES) * share ? PL_TIMED : PL_UNTIMED;
}

/* Checks are at 0, at three powers of two, and at thousands. */
static uint64_t check_after(uint64_t calls)
{
    uint64_t next = FIRST_CHECK;
    if (calls >= LAST_EARLY_CHECK)
        return (calls / CALLS_BETWEEN_CHECKS + 1) * CALLS_BETWEEN_CHECKS;
    while (next <= calls)
        next *= 2;
    return next;
}

static bool is_check(uint64_t calls)
{
    return calls == 0 || check_after(calls - 1) == calls;
}

/* How much longer a replaced call takes, and half of the interval's width; in nanoseconds. False
 * while there are too few blocks. */
static bool difference(const struct ledger *ledger, double *longer, double *half)
{
    double mean[2], variance = 0;
    for (int i = 0; i < 2; i++) {
        const double n = ledger->blocks[i];
        if (n < LEAST_BLOCKS)
            return false;
        mean[i] = ledger->sum[i] / n;
        variance += fmax(ledger->squares[i] - n * mean[i] * mean[i], 0) / (n - 1) / n;
    }
    const double wide = -2 * log(WIDE), tuned = (wide + log(wide + 1)) / TUNED_FOR;
    const double t = (ledger->blocks[0] + ledger->blocks[1]) * tuned;
    *longer = mean[0] - mean[1];
    *half = sqrt(variance * 2 * (t + 1) / t * log(sqrt(t + 1) / WIDE));
    return true;
}

/* Of the application, in this process. */
static long long calls_of(const struct pl_active_rule *rule)
{
    return atomic_load(&rule->replaced) + atomic_load(&ledger_of(rule)->controlled);
}

static void switch_off(struct pl_option *option)
{
    long long never = -1;
    option->control->off = true;
    option->plain = 0;
    atomic_compare_exchange_strong(&ledger_of(option->rule)->off_at, &never,
                                   calls_of(option->rule));
}

enum { MEASURED, LONGER, HALF, OFF, CALLS, FIELDS, AT_ONCE = 32 };

/* Sums of integers are the same on all ranks, in whatever order they are made. */
static long long fixed(double ns)
{
    const double most = 1e12;
    return (long long)(fmin(fmax(ns, -most), most) * 1024);
}

/* Rules that other communicators switched off on some of the ranks are switched off here, too. A
 * sum that failed changes nothing: the application's own call comes next, and reports it. */
static void agree(MPI_Comm comm, int ranks, struct pl_option **options, int count)
{
    long long sums[AT_ONCE][FIELDS] = {{0}};
    lock();
    for (int i = 0; i < count; i++) {
        const struct ledger *ledger = ledger_of(options[i]->rule);
        double longer = 0, half = 0;
        sums[i][MEASURED] = difference(ledger, &longer, &half);
        sums[i][LONGER] = fixed(longer);
        sums[i][HALF] = fixed(half);
        sums[i][OFF] = atomic_load(&ledger->off_at) >= 0;
        sums[i][CALLS] = calls_of(options[i]->rule);
    }
    unlock();
    if (PMPI_Allreduce(MPI_IN_PLACE, sums, count * FIELDS, MPI_LONG_LONG, MPI_SUM, comm) !=
        MPI_SUCCESS)
        return;
    for (int i = 0; i < count; i++) {
        if (options[i]->control->calls == 0) {
            options[i]->control->salt = (uint32_t)sums[i][CALLS];
            options[i]->control->before = (double)sums[i][CALLS] / ranks;
        }
        if (sums[i][OFF] > 0 || (sums[i][MEASURED] > 0 && sums[i][LONGER] > sums[i][HALF]))
            switch_off(options[i]);
    }
}

/* All ranks have made the same calls here, so they look at the same rules. */
static void check(MPI_Comm comm, struct pl_comm_state *comm_state)
{
    struct pl_option *options[AT_ONCE];
    int count = 0;
    for (int f = 0; f < PL_FUNCTION_COUNT; f++) {
        const struct pl_choice *choice = &comm_state->choices[f];
        for (int i = 0; i < choice->count; i++) {
            struct pl_option *option = &choice->options[i];
            if (!option->control || !option->control->begun || option->control->off || option->left)
                continue;
            options[count++] = option;
            if (count == AT_ONCE) {
                agree(comm, comm_state->p, options, count);
                count = 0;
            }
        }
    }
    if (count > 0)
        agree(comm, comm_state->p, options, count);
}

/* Other communicators know times of such calls. */
static void begin_with(struct pl_control *control, const struct ledger *ledger)
{
    lock();
    memcpy(control->usual, ledger->usual, sizeof control->usual);
    unlock();
    for (int i = 0; i < PL_OCTAVES; i++)
        control->usual[i].block = 0;
    control->begun = true;
}

/* Begins a block, or blocks that are not timed, as far as the next check; their calls are counted
 * beforehand. */
static void begin_block(struct pl_option *option)
{
    struct pl_control *control = option->control;
    const uint64_t block = control->calls / BLOCK, end = check_after(control->calls) / BLOCK;
    uint64_t next = block;
    while (next < end && (control->side = side_of(option, next)) == PL_UNTIMED)
        next++;
    if (next > block) {
        control->side = PL_UNTIMED;
        control->calls += (next - block) * BLOCK;
        option->plain = (uint32_t)((next - block) * BLOCK - 1);
        return;
    }
    control->calls++;
    control->timed = 0;
    control->sum = control->middles = 0;
}

enum pl_side pl_control_next(MPI_Comm comm, struct pl_comm_state *comm_state,
                             struct pl_option *option)
{
    struct pl_control *control = option->control;
    if (!control->begun)
        begin_with(control, ledger_of(option->rule));
    if (!control->off && is_check(control->calls))
        check(comm, comm_state);
    if (control->off)
        return PL_OFF;
    if (control->calls % BLOCK == 0)
        begin_block(option);
    else
        control->calls++;
    if (control->side == PL_LIBRARY)
        pl_count(pl_state.threads, &ledger_of(option->rule)->controlled, 1);
    return control->side;
}

/* --- what is measured --- */

bool pl_control_times(const struct pl_control *control)
{
    return control->side != PL_UNTIMED && control->calls % BLOCK != 1;
}

static void end_block(const struct pl_option *option, int octave)
{
    struct pl_control *control = option->control;
    const int side = control->side == PL_LIBRARY;
    if (control->timed == 0)
        return;
    const double mean = control->sum / control->timed;
    struct ledger *ledger = ledger_of(option->rule);
    lock();
    ledger->blocks[side]++;
    ledger->sum[side] += mean;
    ledger->squares[side] += mean * mean;
    ledger->middles += control->middles / control->timed;
    ledger->usual[octave] = control->usual[octave];
    unlock();
}

/* Steps up and down that balance where one time in ten is above the limit, and every second one
 * above the middle. */
static void follow(struct pl_usual *usual, float ns)
{
    if (usual->next_limit == 0)
        *usual = (struct pl_usual){.next_limit = 2 * ns, .next_middle = ns};
    usual->next_limit *= ns > usual->next_limit ? 1.1f : 0.9895f;
    usual->next_middle *= ns > usual->next_middle ? 1.02f : 1 / 1.02f;
}

void pl_control_took(struct pl_option *option, long long bytes, int64_t ns)
{
    struct pl_control *control = option->control;
    const uint32_t block = (uint32_t)((control->calls - 1) / BLOCK) + 1;
    const float took = ns > 1 ? (float)ns : 1;
    const int octave = 63 - __builtin_clzll((unsigned long long)bytes | 1);
    struct pl_usual *usual = &control->usual[octave];
    if (usual->block != block) {
        usual->block = block;
        usual->limit = usual->next_limit;
        usual->middle = usual->next_middle;
    }
    if (usual->limit > 0) {
        control->timed++;
        control->sum += (took < 2 * usual->limit ? took : 2 * usual->limit) - usual->middle;
        control->middles += usual->middle;
    }
    follow(usual, took);
    if (control->calls % BLOCK == 0)
        end_block(option, octave);
}

/* --- what comes of it --- */

enum { RANKS, REPLACED, CONTROLLED, KNOWN, REPLACED_NS, LIBRARY_NS, SAVING, WIDTH, SUMS };

static void sum_up(int rule, double *sums)
{
    const struct ledger *ledger = &book.ledgers[rule];
    const double replaced = (double)atomic_load(&pl_state.rules[rule].replaced),
                 controlled = (double)atomic_load(&ledger->controlled);
    double longer, half;
    sums[RANKS] = replaced + controlled > 0;
    sums[REPLACED] = replaced;
    sums[CONTROLLED] = controlled;
    if (!difference(ledger, &longer, &half))
        return;
    const double middle = ledger->middles / (ledger->blocks[0] + ledger->blocks[1]);
    sums[KNOWN] = 1;
    /* Of few blocks, whose middles differ, an estimate may lie below. */
    sums[REPLACED_NS] = fmax(middle + ledger->sum[0] / ledger->blocks[0], 0);
    sums[LIBRARY_NS] = fmax(middle + ledger->sum[1] / ledger->blocks[1], 0);
    sums[SAVING] = -1e-9 * replaced * longer;
    sums[WIDTH] = 1e-9 * replaced * half;
}

static struct pl_outcome outcome_of(const double *sums, long long off_at)
{
    const double known = fmax(sums[KNOWN], 1), ranks = fmax(sums[RANKS], 1);
    return (struct pl_outcome){.ranks = (int)sums[RANKS],
                               .replaced = sums[REPLACED] / ranks,
                               .controlled = sums[CONTROLLED] / ranks,
                               .measured = sums[KNOWN] > 0,
                               .compared = (sums[REPLACED] + sums[CONTROLLED]) / ranks,
                               .replaced_ns = sums[REPLACED_NS] / known,
                               .library_ns = sums[LIBRARY_NS] / known,
                               .saving = sums[SAVING] / known,
                               .half = sums[WIDTH] / known,
                               .off_at = off_at == LLONG_MAX ? -1 : off_at};
}

const struct pl_outcome *pl_control_end(void)
{
    int rank = -1;
    bool whole = true;
    if (pl_state.share == 0)
        return NULL;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        book.outcomes = calloc((size_t)pl_state.profile.count + 1, sizeof *book.outcomes);
    for (int from = 0; from < pl_state.profile.count; from += AT_ONCE) {
        const int count =
            pl_state.profile.count - from < AT_ONCE ? pl_state.profile.count - from : AT_ONCE;
        double own[AT_ONCE][SUMS] = {{0}}, all[AT_ONCE][SUMS];
        long long off_at[AT_ONCE], first[AT_ONCE];
        for (int i = 0; i < count; i++) {
            sum_up(from + i, own[i]);
            const long long at = atomic_load(&book.ledgers[from + i].off_at);
            off_at[i] = at < 0 ? LLONG_MAX : at;
        }
        whole = PMPI_Reduce(own, all, count * SUMS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD) ==
                    MPI_SUCCESS &&
                PMPI_Reduce(off_at, first, count, MPI_LONG_LONG, MPI_MIN, 0, MPI_COMM_WORLD) ==
                    MPI_SUCCESS &&
                whole;
        for (int i = 0; whole && book.outcomes && i < count; i++)
            book.outcomes[from + i] = outcome_of(all[i], first[i]);
    }
    return whole ? book.outcomes : NULL;
}
