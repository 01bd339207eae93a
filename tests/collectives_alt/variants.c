/* Every variant of the catalogue against the library's own function, on the same random data.
 *
 * A variant runs with the standard values of its parameters, with each value worth a search, and,
 * on few elements, with the least and the largest. Each of them, and the library's own function
 * ("default"), gets areas of equal content; afterwards the areas must be what expected.h says from
 * the first guard byte to the last: results, gaps of derived types, memory around, and send
 * buffers. Scratch memory must stay below its bound, a call that is repeated must take none, and at
 * the end nothing may be left. Prints one line a variant, "ok NAME CASES refused=R specs=S", or
 * "not ok" lines that name the case.
 *
 * usage: variants [--full] [--every N] [--large] [NAME …]
 *   --full     all combinations of the factors (design.h), not only every pair of values
 *   --every N  one combination in N
 *   --large    only 2^20 elements: one vector, or all blocks together; one root, one layout, and
 *              what ranks write in different layouts
 *   NAME       a variant, or a function (MPI_Bcast); all without */
#include "accounts.h"
#include "barrier.h"
#include "expected.h"
#include "nodes.h"
#include "subjects.h"
#include "tools.h"
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORTS = 5, REPEAT = 8, MANY = 100, LARGE = 1 << 20 };

struct options {
    bool full, large;
    int every, names;
    char **name;
};

static struct area start[2], work[2], expected;
static unsigned long long serial;

static void report(struct subject *subject, const struct setting *s, const char *what)
{
    char text[400];
    if (++subject->failures > REPORTS)
        return;
    printf("not ok %s\n", case_text(text, sizeof text, subject, s, what));
    fflush(stdout);
}

static bool same_on_all(long long value, MPI_Comm comm)
{
    long long both[2] = {value, -value};
    PMPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_LONG_LONG, MPI_MAX, comm);
    return both[0] == -both[1];
}

/* The data of a reduction's type does not begin at its address. */
static bool starts_elsewhere(const struct setting *s)
{
    return s->layout == LAYOUT_SHIFTED || s->layout == LAYOUT_SENT || s->layout == LAYOUT_RECEIVED;
}

/* The obstacles that must be found. */
static unsigned refusal(const struct pl_variant *variant, const struct setting *s)
{
    unsigned found = 0;
    if (s->operation && !s->operation->commutative)
        found |= PL_COMMUTATIVE;
    if (s->operation && !s->operation->own)
        found |= PL_BUILTIN_OP;
    if (s->operation && (s->layout == LAYOUT_VECTOR || starts_elsewhere(s)))
        found |= PL_CONTIGUOUS;
    if (s->operation && s->layout >= LAYOUT_PAIR)
        found |= PL_BUILTIN_TYPE;
    if (s->in_place)
        found |= PL_NO_IN_PLACE;
    const struct pl_nodes *nodes;
    if ((variant->restrictions & PL_ONE_NODE) && pl_nodes(s->comm, &nodes) == MPI_SUCCESS &&
        nodes->count > 1)
        found |= PL_ONE_NODE;
    return found & variant->restrictions;
}

#ifdef MPICH_VERSION
/* What MPICH 5.0.2 gets wrong when the data of a type does not start at its address. Seen with
 * plain calls of it on 2 ranks, on areas that fit to the byte. After some calls on a
 * communicator, Allreduce and Reduce of operations that commute go through memory shared by the
 * ranks: Allreduce writes outside of it, Reduce frees an address that it was never given; both
 * crash. With MPIR_CVAR_{ALLREDUCE,REDUCE}_POSIX_INTRA_ALGORITHM=mpir neither does, and Reduce
 * of a negative lower bound does not with 1000 elements or more. Reduce_scatter and
 * Reduce_scatter_block of operations that do not commute are wrong from the first call, and write
 * and read behind their own memory. */
static bool breaks_mpich(enum pl_function function, const struct setting *s)
{
    if (!s->operation || !starts_elsewhere(s) || s->count == 0)
        return false;
    switch (function) {
    case PL_FN_allreduce:
        return s->operation->commutative;
    case PL_FN_reduce:
        return s->operation->commutative && (s->count <= MANY || s->layout != LAYOUT_SHIFTED);
    case PL_FN_reduce_scatter:
    case PL_FN_reduce_scatter_block:
        return !s->operation->commutative;
    default:
        return false;
    }
}
#endif

/* What the library itself gets wrong. Open MPI 4.1.4: the ring Allreduce that it takes for large
 * vectors writes outside its buffers when the type's lower bound is not 0, and destroys the heap;
 * Allgatherv chooses by receive counts times the size of the send type, so that ranks with other
 * types for the same signature choose differently, and hang; Reduce into MPI_BOTTOM is
 * wrong in several ways, with and without MPI_IN_PLACE. */
static bool breaks_the_library(const struct subject *subject, const struct setting *s)
{
    const struct pl_variant *variant = subject->spec.variant;
    if (variant->kind != PL_DEFAULT)
        return false;
#ifdef MPICH_VERSION
    return breaks_mpich(variant->function, s);
#else
    return (variant->function == PL_FN_allreduce && starts_elsewhere(s) && s->count > MANY) ||
           (variant->function == PL_FN_reduce && s->layout == LAYOUT_RECEIVED) ||
           (variant->function == PL_FN_allgatherv && s->layout == MIXED && s->count > 1);
#endif
}

static void check_scratch(struct subject *subject, const struct setting *s,
                          const struct pl_call *call, long long volume, int p)
{
    const struct pl_variant *variant = subject->spec.variant;
    const size_t kept = pl_scratch_kept(s->comm);
    if (volume == PL_LOCAL_VOLUME && variant->scratch_volumes > 0)
        return; /* no rank could say */
    if (kept > pl_scratch_bound(variant, call, volume < 0 ? 0 : volume, p))
        report(subject, s, "scratch above its bound");
}

/* An operation must not be handed more elements at once than the program passed. Variants that are
 * made of messages hand it just these, or whole blocks of Reduce_scatter; what a mock-up calls may
 * cut them. */
static bool regroups(const struct subject *subject, const struct setting *s,
                     const struct pl_call *call, int p)
{
    const enum pl_kind kind = subject->spec.variant->kind;
    int passed = call->function == PL_FN_reduce_scatter_block ? p * s->count : s->count;
    if (call->function == PL_FN_reduce_scatter)
        passed = pl_first(call->recvcounts, p);
    if (kind != PL_DEFAULT && kind != PL_MOCKUP && !has_blocks(call->function) &&
        operated.most > 0 && operated.least < passed)
        return true;
    return operated.most > passed;
}

static void run_once(struct subject *subject, const struct setting *s, const struct pl_call *call)
{
    int p;
    MPI_Comm_size(s->comm, &p);
    operated = (struct operated){0};
    for (int side = 0; side < 2; side++)
        area_copy(&work[side], &start[side]);
    if (pl_spec_run(&subject->spec, call) != MPI_SUCCESS)
        report(subject, s, "error");
    if (s->operation && regroups(subject, s, call, p))
        report(subject, s, "operation on other elements than passed");
    forget_undefined(call);
    if (!areas_equal(&expected, &work[1], !s->operation || s->operation->exact, p))
        report(subject, s, "wrong result");
    if (!areas_equal(&start[0], &work[0], true, 0))
        report(subject, s, "send buffer changed");
}

/* Scratch is fresh in every other row; in the others it holds what variants before have left. */
static void check(struct subject *subject, const struct setting *s, const struct pl_call *call,
                  long long volume)
{
    int p;
    MPI_Comm_size(s->comm, &p);
    const unsigned refuse = refusal(subject->spec.variant, s);
    if (pl_variant_obstacles(subject->spec.variant, call) != refuse)
        report(subject, s, "wrong obstacles");
    if (refuse) {
        subject->refused++;
        return;
    }
    watch(subject, s);
    const bool fresh = s->serial % 2;
    if (fresh)
        pl_scratch_release(s->comm);
    subject->cases++;
    if (call->function == PL_FN_barrier) {
        const char *wrong = barrier_check(&subject->spec, s);
        if (wrong)
            report(subject, s, wrong);
    } else {
        run_once(subject, s, call);
    }
    if (fresh)
        check_scratch(subject, s, call, volume, p);
    if (s->serial % REPEAT == 0 && call->function != PL_FN_barrier) {
        const long taken = accounts_taken();
        run_once(subject, s, call);
        if (accounts_taken() != taken)
            report(subject, s, "memory allocated in a repeated call");
    }
}

static void check_setting(struct subjects *subjects, struct setting *s)
{
    const enum pl_function function = subjects->function;
    struct tables tables;
    int p, rank;
    MPI_Comm_size(s->comm, &p);
    MPI_Comm_rank(s->comm, &rank);
    s->serial = serial;
    for (int side = 0; side < 2; side++) {
        area_fit(&start[side], function, s);
        area_fit(&work[side], function, s);
        area_fill(&start[side], s, rank, side);
    }
    layouts_put(work[0].memory + GUARD, work[1].memory + GUARD);
    watch(&subjects->subject[0], s);
    expect(function, s, start, &expected);
    const struct pl_call call = call_for(function, s, rank, &tables, work);
    const long long volume = pl_volume(&call);
    if (!same_on_all(volume, s->comm) || volume == PL_NO_VOLUME)
        report(&subjects->subject[0], s, "volume differs between ranks");
    for (int i = 0; i < subjects->size; i++)
        if (!(subjects->subject[i].few_elements && s->count > MANY) &&
            !breaks_the_library(&subjects->subject[i], s))
            check(&subjects->subject[i], s, &call, volume);
}

static void check_function(struct subjects *subjects, const struct group *groups, int group_count,
                           const struct options *options)
{
    const enum pl_function function = subjects->function;
    if (options->large) {
        int p;
        MPI_Comm_size(MPI_COMM_WORLD, &p);
        struct setting s = {.comm = groups[0].comm,
                            .comm_name = groups[0].name,
                            .count = has_blocks(function) ? LARGE / p + 1 : LARGE,
                            .layout = LAYOUT_INT,
                            .root = p / 2};
        int operations;
        if (pl_reduces(function))
            s.operation = &operations_for(LAYOUT_INT, &operations)[0];
        serial++;
        if (function != PL_FN_barrier)
            check_setting(subjects, &s);
        if (function != PL_FN_barrier && !pl_reduces(function)) {
            serial++;
            s.layout = MIXED;
            s.count = s.count / 8 + 3; /* elements of up to 20 bytes, in odd numbers */
            check_setting(subjects, &s);
        }
        return;
    }
    struct design design = design_make(function, groups, group_count, options->full);
    for (int i = 0; i < design.size; i += options->every) {
        struct setting s = design_setting(function, groups, design.rows[i]);
        serial++;
        check_setting(subjects, &s);
    }
    design_free(&design);
}

static struct options options_of(int argc, char **argv)
{
    struct options options = {.every = 1};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--full") == 0) {
            options.full = true;
        } else if (strcmp(argv[i], "--large") == 0) {
            options.large = true;
        } else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0) {
            options.every = atoi(argv[++i]);
        } else {
            fprintf(stderr, "variants: unknown option %s\n", argv[i]);
            exit(2);
        }
    }
    options.names = argc - i;
    options.name = argv + i;
    return options;
}

int main(int argc, char **argv)
{
    int rank;
    struct group groups[GROUPS_MAX];
    const struct options options = options_of(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    layouts_make();
    barrier_prepare();
    const int group_count = groups_make(groups);
    long failures = 0;
    for (int f = 0; f <= PL_FN_reduce_local; f++) { /* neighbours: neighbors.c */
        struct subjects subjects =
            subjects_make((enum pl_function)f, options.names, options.name, options.large);
        if (subjects.size > 0)
            check_function(&subjects, groups, group_count, &options);
        failures += subjects_print(&subjects, rank == 0);
        subjects_free(&subjects);
    }
    watch_end();
    groups_free(groups, group_count);
    barrier_finish();
    layouts_free();
    for (int side = 0; side < 2; side++) {
        area_free(&start[side]);
        area_free(&work[side]);
    }
    area_free(&expected);
    expected_free();
    const long mine = accounts_open();
    long open = 0;
    PMPI_Allreduce(&mine, &open, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s left: %ld blocks of memory on all ranks\n", open ? "not ok" : "ok", open);
    MPI_Finalize();
    return failures > 0 || open != 0;
}
