#include "measure/trial.h"

#include "measure/circumstance.h"
#include "measure/forms.h"
#include "measure/types.h"

#include <math.h>
#include <stdio.h>

/* Every eighth call is special (circumstance.h): all others are of the kind that each rule of this
 * volume is for. */
enum { SPECIAL = 8 };
/* Trials of at least MANY calls make so many more of each function that nobody checks, of all
 * ranks' data in one of them at most so much: a process is to make tens of thousands. */
enum { MANY = 1000, UNCHECKED = 21000, MOST_UNCHECKED_BYTES = 65536 };

static bool is_special(int number)
{
    return number % SPECIAL == SPECIAL - 1;
}

/* Half of these on a logarithmic scale from `least`. */
static long long between(struct pl_random *random, long long least, long long span, bool even)
{
    const double at = pl_random_unit(random);
    return even ? least + (long long)(at * (double)(span + 1))
                : least + (long long)pow((double)(span + 1), at) - 1;
}

/* The volume of a call: of every count in turn, where there are calls for all; else the ends, and
 * draws from between them. As many as c->mean allows are from the whole range, the others up to
 * that, and so are those of all special calls. */
static long long draw_bytes(struct pl_random *random, const struct pl_case *c, int ranks,
                            int number)
{
    const size_t size = pl_types[c->type].size;
    const long long whole = c->bytes - c->least;
    const long long step =
        pl_shape_of(c->function, 1, size, (struct pl_shares){.nprocs = ranks}, 0, 0).total *
        (long long)size; /* Barrier: 0 */
    const int turn = number - number / SPECIAL, turns = c->calls - c->calls / SPECIAL;

    if (step == 0)
        return c->bytes;
    if (is_special(number))
        return between(random, c->least, c->mean - c->least, false);
    if (whole / step < turns)
        return c->least + turn % (whole / step + 1) * step;
    if (number < 2)
        return number == 0 ? c->least : c->bytes;
    const bool wide = pl_random_unit(random) * (double)c->bytes < (double)c->mean;
    return between(random, c->least, wide ? whole : c->mean - c->least, number % 2 == 0);
}

/* The last rank is the root of every fourth call. */
static int draw_root(struct pl_random *random, const struct pl_case *c, int ranks, int number)
{
    if (!pl_function_has_root(c->function))
        return c->root;
    return number % 4 == 1 ? ranks - 1 : (int)pl_random_below(random, (uint64_t)ranks);
}

/* The trials of MANY calls of the function. */
static int trials_of(const struct pl_plan *plan, enum pl_function function)
{
    int count = 0;
    for (int i = 0; i < plan->case_count; i++)
        count += plan->cases[i].function == function && plan->cases[i].calls >= MANY;
    return count;
}

/* How many calls that nobody checks stand before a call where there are to be `all` before those of
 * the case: a drawn number, so that no period of an error is missed. */
static int draw_unchecked(struct pl_random *random, const struct pl_case *c, int all)
{
    if (c->calls < MANY)
        return 0;
    const uint64_t mean = (uint64_t)(all / c->calls) + 1;
    return (int)pl_random_below(random, 2 * mean + 1);
}

/* `count` small ones in a row. Returns an MPI error. */
static int call_unchecked(const struct pl_case *c, const struct pl_place *place,
                          const struct pl_buffers *buffers, int number, int count)
{
    struct pl_arguments arguments;
    struct pl_case one = *c;
    int rc = MPI_SUCCESS;
    one.bytes = c->least;
    one.root = pl_function_has_root(c->function) ? number % place->world->size : c->root;
    pl_arguments_set(&arguments, &one, place->world, buffers, place->comm);
    if (arguments.shape.total * (long long)pl_types[c->type].size * place->world->size >
            MOST_UNCHECKED_BYTES ||
        (c->variant && pl_variant_obstacles(c->variant, &arguments.call)))
        return MPI_SUCCESS;
    pl_config_enter(place->config);
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        rc = c->run(&arguments.call);
    pl_persistent_end();
    pl_config_leave(place->config);
    return rc;
}

/* One call in its circumstances, which `text` tells. */
static enum pl_outcome call_checked(const struct pl_case *one, struct pl_circumstance *drawn,
                                    const struct pl_place *place, struct pl_buffers *buffers,
                                    uint64_t seed, char said[PL_SAID], char text[PL_SAID])
{
    struct pl_arguments arguments;
    enum pl_outcome outcome = PL_ERROR;
    pl_arguments_set(&arguments, one, place->world, buffers, place->comm);
    pl_circumstance_operate(drawn, &arguments);
    int rc = pl_check_refer(&arguments, one, place, buffers, seed);
    snprintf(said, PL_SAID, "the library itself failed");
    if (rc == MPI_SUCCESS)
        rc = pl_circumstance_apply(drawn, &arguments, one, place->world, buffers);
    if (rc == MPI_SUCCESS)
        outcome = one->variant && pl_variant_obstacles(one->variant, &arguments.call)
                      ? PL_OK /* on all ranks: no call to be wrong */
                      : pl_check_call(&arguments, one, place, buffers, seed, said, PL_SAID);
    pl_circumstance_text(drawn, text, PL_SAID);
    pl_circumstance_end(drawn);
    return outcome;
}

enum pl_outcome pl_trial(const struct pl_timing *timing, const struct pl_case *c, int group,
                         uint64_t seed, struct pl_finding *finding)
{
    const struct pl_groups *groups = timing->groups;
    const struct pl_config_state *config = &timing->configs[c->config];
    struct pl_buffers *buffers = timing->buffers;
    struct pl_place places[PL_COMPANIES];
    const int sharing = trials_of(timing->plan, c->function);
    const int unchecked = sharing > 0 ? UNCHECKED / sharing : 0;
    const struct pl_world *world = &groups->group[group].world;
    struct pl_random random = pl_random_stream(seed, UINT64_MAX, (uint64_t)c->id);
    char detail[sizeof finding->detail - 24] = "", said[PL_SAID], text[PL_SAID];
    enum pl_outcome worst = PL_OK;

    for (int i = 0; i < PL_COMPANIES; i++) {
        const int index = group == 0 ? groups->company[i] : group;
        const struct pl_group *of = &groups->group[index];
        places[i] = (struct pl_place){config, config->comms[index], of->comm, &of->world};
    }
    buffers->referred = NULL;
    pl_operators_open();
    for (int i = 0; i < c->calls; i++) {
        struct pl_case one = *c;
        uint64_t fresh = pl_random_next(&random);
        struct pl_random own = pl_random_stream(fresh, (uint64_t)world->rank, 2);
        struct pl_circumstance drawn = pl_circumstance_draw(&random, &own, c, is_special(i));
        if (group > 0) /* fewer ranks have one communicator */
            drawn.company = PL_ALL;
        const struct pl_place *place = &places[drawn.company];
        one.bytes = draw_bytes(&random, c, world->size, i);
        one.root = draw_root(&random, c, place->world->size, i);
        one.counts = drawn.counts;
        if (drawn.company == PL_HALF) /* the halves must not know each other's data */
            fresh += (uint64_t)groups->group[groups->company[PL_HALF]].part;
        enum pl_outcome outcome = PL_ERROR;
        *text = '\0';
        if (call_unchecked(c, &places[PL_ALL], buffers, i, draw_unchecked(&random, c, unchecked)) !=
            MPI_SUCCESS)
            snprintf(said, sizeof said, "a call before it failed");
        else
            outcome = call_checked(&one, &drawn, place, buffers, fresh, said, text);
        if (outcome > worst) {
            worst = outcome;
            snprintf(detail, sizeof detail, "call %d of %d, %lld B, root %d%s: %s", i + 1, c->calls,
                     one.bytes, one.root, text, said);
        }
    }
    pl_operators_close();
    return pl_check_conclude(worst, world, detail, finding);
}
