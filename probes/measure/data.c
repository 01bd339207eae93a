/* What random data each operation gets, so that its result shows every contribution.
 *
 * p random words under OR are all ones long before p is large, and p random truth values under AND
 * are false: a variant that loses ranks would pass. The data are therefore as sparse as p asks for.
 * Floating sums have operands in [1, 2), so that magnitudes add up and a lost operand is larger
 * than the bound for up to 2300 ranks in float; products have operands within 1/64 of one, never
 * nearer than 1/128, so that repeated products (Reduce_local) stay in range for 5000 repetitions in
 * float. */
#include "measure/data.h"

#include "measure/types.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Each bit set with probability 2^-k, the first such value not above 1/p. */
static uint64_t sparse_bits(struct pl_random *random, int nprocs)
{
    uint64_t bits = pl_random_next(random);
    for (long long ranks = 2; ranks < nprocs; ranks *= 2)
        bits &= pl_random_next(random);
    return bits;
}

static bool one_in(struct pl_random *random, int nprocs)
{
    return pl_random_below(random, nprocs > 2 ? (uint64_t)nprocs : 2) == 0;
}

/* A truth value as an integer: 0, or any other bits that fit the type. */
static uint64_t truth(struct pl_random *random, bool value, bool only_one)
{
    return !value ? 0 : only_one ? 1 : (pl_random_next(random) | 1);
}

/* One element of a rule that looks at elements, not at bits. */
static uint64_t integer(struct pl_random *random, enum pl_rule_of_data rule, int nprocs,
                        bool only_one)
{
    switch (rule) {
    case PL_RULE_ALL_TRUE:
        return truth(random, !one_in(random, nprocs), only_one);
    case PL_RULE_ANY_TRUE:
        return truth(random, one_in(random, nprocs), only_one);
    case PL_RULE_HALF_TRUE:
        return truth(random, one_in(random, 2), only_one);
    default:
        return pl_random_next(random) | 1; /* a product of odd numbers never becomes zero */
    }
}

static double real(struct pl_random *random, enum pl_rule_of_data rule)
{
    if (rule == PL_RULE_PRODUCT) {
        double factor = 1.0 + 0x1p-7 * (1.0 + pl_random_unit(random));
        return pl_random_next(random) & 1 ? factor : 1.0 / factor;
    }
    double value = 1.0 + pl_random_unit(random);
    return rule == PL_RULE_ANY && (pl_random_next(random) & 1) ? -value : value;
}

/* One word of a rule that looks at bits, whatever element they belong to. */
static inline uint64_t word_of_bits(struct pl_random *random, enum pl_rule_of_data rule, int nprocs)
{
    switch (rule) {
    case PL_RULE_ALL_BITS:
        return ~sparse_bits(random, nprocs);
    case PL_RULE_ANY_BIT:
        return sparse_bits(random, nprocs);
    default:
        return pl_random_next(random);
    }
}

/* Most of a check's time is here and in the two loops below. */
static void fill_bits(unsigned char *at, size_t bytes, enum pl_rule_of_data rule, int nprocs,
                      struct pl_random random)
{
    const size_t words = bytes / sizeof(uint64_t), rest = bytes % sizeof(uint64_t);
    const bool any = rule != PL_RULE_ALL_BITS && rule != PL_RULE_ANY_BIT;
    for (size_t i = 0; i < words; i++) {
        const uint64_t word = any ? pl_random_next(&random) : word_of_bits(&random, rule, nprocs);
        memcpy(at + i * sizeof word, &word, sizeof word);
    }
    if (rest > 0) {
        const uint64_t word = word_of_bits(&random, rule, nprocs);
        memcpy(at + words * sizeof word, &word, rest);
    }
}

/* Sums of floating values are most of what is reduced: operands in [1, 2) are random bits under the
 * exponent of 1. */
static void fill_sums(unsigned char *at, size_t elements, enum pl_kind_of_type kind,
                      struct pl_random random)
{
    for (size_t i = 0; i < elements; i++) {
        const uint64_t word = pl_random_next(&random);
        const uint64_t value = (word >> 12) | UINT64_C(0x3FF0000000000000);
        const uint32_t single = (uint32_t)(word >> 41) | UINT32_C(0x3F800000);
        if (kind == PL_KIND_DOUBLE)
            memcpy(at + i * sizeof value, &value, sizeof value);
        else
            memcpy(at + i * sizeof single, &single, sizeof single);
    }
}

/* The low `size` bytes of a word, whichever end comes first on this machine. */
static void store_integer(unsigned char *at, uint64_t word, size_t size)
{
    uint8_t w8 = (uint8_t)word;
    uint16_t w16 = (uint16_t)word;
    uint32_t w32 = (uint32_t)word;
    switch (size) {
    case 1:
        memcpy(at, &w8, size);
        break;
    case 2:
        memcpy(at, &w16, size);
        break;
    case 4:
        memcpy(at, &w32, size);
        break;
    default:
        memcpy(at, &word, sizeof word);
    }
}

void pl_data_fill(void *buffer, size_t elements, int type, int op, int nprocs,
                  struct pl_random random)
{
    const struct pl_type *t = &pl_types[type];
    enum pl_rule_of_data rule = op < 0 ? PL_RULE_ANY : pl_ops[op].rule;
    bool only_one = t->kind == PL_KIND_LOGICAL;
    bool bits = t->kind == PL_KIND_BYTE || t->kind == PL_KIND_INTEGER;
    bool by_element = rule == PL_RULE_PRODUCT || rule == PL_RULE_ALL_TRUE ||
                      rule == PL_RULE_ANY_TRUE || rule == PL_RULE_HALF_TRUE;
    if (op < 0 || (bits && !by_element)) {
        fill_bits(buffer, elements * t->size, rule, nprocs, random);
        return;
    }
    if (rule == PL_RULE_SUM && (t->kind == PL_KIND_DOUBLE || t->kind == PL_KIND_FLOAT)) {
        fill_sums(buffer, elements, t->kind, random);
        return;
    }
    unsigned char *at = buffer;
    for (size_t i = 0; i < elements; i++, at += t->size) {
        double value;
        float single;
        switch (t->kind) {
        case PL_KIND_FLOAT:
            single = (float)real(&random, rule);
            memcpy(at, &single, sizeof single);
            break;
        case PL_KIND_DOUBLE:
            value = real(&random, rule);
            memcpy(at, &value, sizeof value);
            break;
        default:
            store_integer(at, integer(&random, rule, nprocs, only_one), t->size);
        }
    }
}

static double element(const void *buffer, size_t index, enum pl_kind_of_type kind)
{
    if (kind == PL_KIND_DOUBLE)
        return ((const double *)buffer)[index];
    return ((const float *)buffer)[index];
}

size_t pl_data_compare(const void *got, const void *wanted, size_t elements, int type, int op,
                       int nprocs)
{
    const struct pl_type *t = &pl_types[type];
    bool rounded = op >= 0 && (t->kind == PL_KIND_FLOAT || t->kind == PL_KIND_DOUBLE) &&
                   (pl_ops[op].rule == PL_RULE_SUM || pl_ops[op].rule == PL_RULE_PRODUCT);
    if (elements == 0 || memcmp(got, wanted, elements * t->size) == 0)
        return elements;

    double unit = (t->kind == PL_KIND_FLOAT ? (double)FLT_EPSILON : DBL_EPSILON) / 2;
    double k = nprocs * unit; /* one more than p - 1: the rounded result stands for the exact one */
    double bound = 2 * k / (1 - k);
    for (size_t i = 0; i < elements; i++) {
        const unsigned char *a = got, *b = wanted;
        if (memcmp(a + i * t->size, b + i * t->size, t->size) == 0)
            continue;
        if (!rounded)
            return i;
        double x = element(got, i, t->kind), y = element(wanted, i, t->kind);
        if (!(fabs(x - y) <= bound * fabs(y))) /* a NaN fails, too */
            return i;
    }
    return elements;
}
