/* Every variant of the catalogue against the library's own function, on the same random data.
 *
 * Both get areas of equal content; afterwards the areas must be equal from the first guard byte to
 * the last: results, gaps of derived types, memory around, and send buffers. Prints one line a
 * variant, "ok NAME CASES refused=R", or "not ok" lines that name the case.
 * usage: variants [NAME …] */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BIG = 1000 };

static struct area areas[2][2]; /* [reference, variant][send, receive] */
static int world_rank;
static long failures, cases, refused;
static unsigned long long seed;

static void make_areas(size_t bytes, enum base base)
{
    for (int i = 0; i < 4; i++) {
        struct area *area = &areas[i / 2][i % 2];
        area->memory = realloc(area->memory, bytes);
        area->bytes = bytes;
        if (!area->memory)
            MPI_Abort(MPI_COMM_WORLD, 1);
        fill(area->memory, bytes, base, seed * 64 + (unsigned)world_rank * 2 + (unsigned)(i % 2));
    }
}

static void report(const struct pl_variant *variant, const struct setting *s, const char *what)
{
    if (++failures > 20)
        return;
    int rank, p;
    MPI_Comm_rank(s->comm, &rank);
    MPI_Comm_size(s->comm, &p);
    printf("not ok %s: %s on rank %d of %d (%s) count=%d layout=%s op=%s root=%d in_place=%d\n",
           variant->name, what, rank, p, s->comm_name, s->count,
           s->layout == MIXED ? "mixed" : layouts[s->layout].name,
           s->operation ? s->operation->name : "none", s->root, s->in_place);
    fflush(stdout);
}

static bool same_on_all(long long value, MPI_Comm comm)
{
    long long both[2] = {value, -value};
    PMPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_LONG_LONG, MPI_MAX, comm);
    return both[0] == -both[1];
}

/* The obstacles that must be found. */
static unsigned refusal(const struct pl_variant *variant, const struct setting *s)
{
    unsigned expected = 0;
    if (s->operation && !s->operation->commutative)
        expected |= PL_COMMUTATIVE;
    if (s->layout == LAYOUT_VECTOR || s->layout == LAYOUT_SHIFTED)
        expected |= PL_CONTIGUOUS;
    return expected & variant->restrictions;
}

static void check(const struct pl_variant *variant, const struct setting *s)
{
    int p, rank, counts[2][64];
    MPI_Comm_size(s->comm, &p);
    MPI_Comm_rank(s->comm, &rank);
    seed++;
    const int widest = 20; /* bytes: the largest extent of a layout */
    const enum base base = s->layout == MIXED ? BASE_INT : layouts[s->layout].base;
    make_areas(2 * GUARD + (size_t)p * (size_t)(s->count + 1) * widest, base);

    const struct pl_call reference = call_for(variant->function, s, counts[0], areas[0]);
    const struct pl_call call = call_for(variant->function, s, counts[1], areas[1]);
    const unsigned refuse = refusal(variant, s);
    if (!same_on_all(pl_volume(&call), s->comm) || pl_volume(&call) < 0)
        report(variant, s, "volume differs between ranks");
    if (pl_variant_obstacles(variant, &call) != refuse)
        report(variant, s, "wrong obstacles");
    if (refuse) {
        refused++;
        return;
    }
    if (pl_call_pmpi(&reference) != MPI_SUCCESS)
        report(variant, s, "the library's own call failed");
    const struct pl_spec spec = pl_spec_of(variant);
    if (pl_spec_run(&spec, &call) != MPI_SUCCESS)
        report(variant, s, "error");
    forget_undefined(&reference, &areas[0][1]);
    forget_undefined(&call, &areas[1][1]);
    const bool exact = !s->operation || s->operation->exact;
    if (!areas_equal(&areas[0][1], &areas[1][1], exact))
        report(variant, s, "wrong result");
    if (!areas_equal(&areas[0][0], &areas[1][0], true))
        report(variant, s, "send buffer changed");
    cases++;
}

static void check_operations(const struct pl_variant *variant, struct setting *s)
{
    const bool reduces =
        variant->function == PL_FN_reduce || variant->function == PL_FN_allreduce ||
        variant->function == PL_FN_reduce_scatter ||
        variant->function == PL_FN_reduce_scatter_block || variant->function == PL_FN_scan;
    int operations = 0;
    s->operation = NULL;
    if (reduces && s->layout == MIXED)
        return;
    const struct operation *table = reduces ? operations_for(s->layout, &operations) : NULL;
    for (int i = 0; i < (reduces ? operations : 1); i++) {
        s->operation = reduces ? &table[i] : NULL;
        for (int in_place = 0; in_place < (variant->function == PL_FN_bcast ? 1 : 2); in_place++) {
            s->in_place = in_place;
            check(variant, s);
        }
    }
}

/* All roots for small counts; the largest count with two layouts, from one root. With many ranks
 * every other count. */
static void check_variant(const struct pl_variant *variant, MPI_Comm comm, const char *comm_name)
{
    int p;
    MPI_Comm_size(comm, &p);
    const int counts[] = {0, 1, p - 1, p + 1, 37, 10007};
    const bool rooted = variant->function == PL_FN_bcast || variant->function == PL_FN_gather ||
                        variant->function == PL_FN_scatter || variant->function == PL_FN_reduce;
    struct setting s = {.comm = comm, .comm_name = comm_name};
    for (int c = p > 5; c<6; c += p> 5 ? 2 : 1) {
        s.count = counts[c];
        for (s.layout = 0; s.layout <= MIXED; s.layout++) {
            const bool big = s.count > BIG;
            if (big && s.layout != LAYOUT_DOUBLE && s.layout != LAYOUT_SHIFTED)
                continue;
            const int first = big ? p / 2 : 0, last = rooted && !big ? p - 1 : first;
            for (s.root = first; s.root <= last; s.root++)
                check_operations(variant, &s);
        }
    }
}

int main(int argc, char **argv)
{
    int p;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    layouts_make();

    MPI_Comm reversed, parity;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &parity);
    long all_failures = 0;
    for (int i = 0; i < pl_catalogue_size; i++) {
        const struct pl_variant *variant = pl_catalogue[i];
        bool wanted = argc == 1;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], variant->name) == 0;
        if (!wanted)
            continue;
        failures = cases = refused = 0;
        check_variant(variant, MPI_COMM_WORLD, "world");
        if (p > 2) {
            check_variant(variant, reversed, "reversed");
            check_variant(variant, parity, "parity");
        }
        long total = 0;
        PMPI_Allreduce(&failures, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        all_failures += total;
        if (world_rank == 0)
            printf("%s %s %ld refused=%ld\n", total ? "not ok" : "ok", variant->name, cases,
                   refused);
        fflush(stdout);
    }
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&parity);
    layouts_free();
    for (int i = 0; i < 4; i++)
        free(areas[i / 2][i % 2].memory);
    MPI_Finalize();
    return all_failures > 0;
}
