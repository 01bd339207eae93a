/* Hashes of contents. The polynomial is a dot product with a table of powers, reduced once a block:
 * products are summed in parts. Signed values are made unsigned by an offset, which is taken off a
 * block at once.
 *
 * Compiled twice for x86-64: here for all processors, by hash_avx2.c for those with AVX2. */
#include "hash.h"

#include <stdbool.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifndef PL_HASH
#define PL_HASH pl_hash_plainly
#endif

enum { BLOCK = 512 }; /* values; also the period of the sketch's weights */
enum { LIMBS = 3, LIMB_BITS = 21 };

static const uint64_t base = UINT64_C(0x0A3F51C97E82B46D);

static struct {
    uint64_t powers[BLOCK], step; /* step: base^BLOCK */
    uint64_t sums[BLOCK + 1];     /* of the first so many powers */
    uint64_t limbs[LIMBS][BLOCK]; /* of powers, of LIMB_BITS bits each, the lowest first */
    double first[BLOCK], second[BLOCK];
} table;

static double weight(uint64_t at)
{
    return (double)(pl_mix(at) >> 11) * 0x1p-52 - 1;
}

__attribute__((constructor)) static void fill(void)
{
    uint64_t power = 1;
    for (int i = 0; i < BLOCK; i++) {
        table.powers[i] = power;
        for (int k = 0; k < LIMBS; k++)
            table.limbs[k][i] = power >> (k * LIMB_BITS) & ((1 << LIMB_BITS) - 1);
        table.sums[i + 1] = pl_plus(table.sums[i], power);
        power = pl_times(power, base);
        table.first[i] = weight((uint64_t)i);
        table.second[i] = weight((uint64_t)(BLOCK + i));
    }
    table.step = power;
}

/* Of values from `first`: `offset` is flipped in them. */
#define ONE_BY_ONE(name, type)                                                                     \
    static uint64_t name(const uint8_t *at, int first, int count, uint64_t offset)                 \
    {                                                                                              \
        unsigned __int128 low = 0, high = 0;                                                       \
        for (int i = first; i < count; i++) {                                                      \
            type value;                                                                            \
            memcpy(&value, at + (size_t)i * sizeof value, sizeof value);                           \
            value ^= (type)offset;                                                                 \
            const unsigned __int128 product = (unsigned __int128)value * table.powers[i];          \
            low += (uint64_t)product;                                                              \
            high += (uint64_t)(product >> 64);                                                     \
        }                                                                                          \
        return pl_reduce(low + (high << 3)); /* 2^64 is 2^3 */                                     \
    }

ONE_BY_ONE(rest_1, uint8_t)
ONE_BY_ONE(rest_2, uint16_t)
ONE_BY_ONE(rest_4, uint32_t)
ONE_BY_ONE(rest_8, uint64_t)

#ifdef __AVX2__
/* Four values at a time, in halves of 32 bits: products with limbs of powers have 53 bits, so that
 * all of a block are summed in 64. */
static uint64_t joined(const __m256i sums[LIMBS])
{
    unsigned __int128 total = 0;
    for (int k = 0; k < LIMBS; k++) {
        uint64_t lanes[4];
        memcpy(lanes, &sums[k], sizeof lanes);
        total += (unsigned __int128)(lanes[0] + lanes[1] + lanes[2] + lanes[3]) << (k * LIMB_BITS);
    }
    return pl_reduce(total);
}

static inline __m256i limbs_at(int limb, int at)
{
    return _mm256_loadu_si256((const __m256i *)&table.limbs[limb][at]);
}

static uint64_t fours_4(const uint8_t *at, int count, uint64_t offset)
{
    __m256i sums[LIMBS] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    const __m128i flip = _mm_set1_epi32((int)(uint32_t)offset);
    for (int i = 0; i < count; i += 4) {
        const __m128i given = _mm_loadu_si128((const __m128i *)(at + (size_t)i * 4));
        const __m256i values = _mm256_cvtepu32_epi64(_mm_xor_si128(given, flip));
        for (int k = 0; k < LIMBS; k++)
            sums[k] = _mm256_add_epi64(sums[k], _mm256_mul_epu32(values, limbs_at(k, i)));
    }
    return joined(sums);
}

static uint64_t fours_8(const uint8_t *at, int count, uint64_t offset)
{
    __m256i low[LIMBS] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i high[LIMBS] = {low[0], low[0], low[0]};
    const __m256i flip = _mm256_set1_epi64x((long long)offset);
    for (int i = 0; i < count; i += 4) {
        const __m256i given = _mm256_loadu_si256((const __m256i *)(at + (size_t)i * 8));
        const __m256i values = _mm256_xor_si256(given, flip), upper = _mm256_srli_epi64(values, 32);
        for (int k = 0; k < LIMBS; k++) {
            low[k] = _mm256_add_epi64(low[k], _mm256_mul_epu32(values, limbs_at(k, i)));
            high[k] = _mm256_add_epi64(high[k], _mm256_mul_epu32(upper, limbs_at(k, i)));
        }
    }
    return pl_plus(joined(low), pl_reduce((unsigned __int128)joined(high) << 32));
}
#else
#define fours_4(at, count, offset) 0
#define fours_8(at, count, offset) 0
#endif
#define fours_1(at, count, offset) 0
#define fours_2(at, count, offset) 0

/* So many values are worth the way through `fours`. */
#ifdef __AVX2__
enum { FEW_1 = INT32_MAX, FEW_2 = INT32_MAX, FEW_4 = 16, FEW_8 = 16 };
#else
enum { FEW_1 = INT32_MAX, FEW_2 = INT32_MAX, FEW_4 = INT32_MAX, FEW_8 = INT32_MAX };
#endif

/* One block of at most BLOCK values, with what was flipped in them taken off. */
#define BLOCK_OF(name, width, offset)                                                              \
    static uint64_t name(const uint8_t *at, int count)                                             \
    {                                                                                              \
        const int fours = count < FEW_##width ? 0 : count / 4 * 4;                                 \
        const uint64_t flipped = pl_reduce((unsigned __int128)(offset)*table.sums[count]);         \
        uint64_t total = rest_##width(at, fours, count, offset);                                   \
        if (fours > 0)                                                                             \
            total = pl_plus(total, fours_##width(at, fours, offset));                              \
        return pl_plus(total, flipped ? PL_PRIME - flipped : 0);                                   \
    }

BLOCK_OF(signed_1, 1, UINT8_C(0x80))
BLOCK_OF(signed_2, 2, UINT16_C(0x8000))
BLOCK_OF(signed_4, 4, UINT32_C(0x80000000))
BLOCK_OF(signed_8, 8, UINT64_C(0x8000000000000000))
BLOCK_OF(plain_1, 1, 0)
BLOCK_OF(plain_2, 2, 0)
BLOCK_OF(plain_4, 4, 0)
BLOCK_OF(plain_8, 8, 0)

struct values {
    size_t width;
    uint64_t (*block)(const uint8_t *at, int count);
};

static struct values values_of(enum pl_element element)
{
    switch (element) {
    case PL_INT8:
        return (struct values){1, signed_1};
    case PL_UINT8:
        return (struct values){1, plain_1};
    case PL_INT16:
        return (struct values){2, signed_2};
    case PL_UINT16:
        return (struct values){2, plain_2};
    case PL_INT32:
        return (struct values){4, signed_4};
    case PL_UINT32:
    case PL_FLOAT32:
        return (struct values){4, plain_4};
    case PL_INT64:
        return (struct values){8, signed_8};
    default:
        return (struct values){8, plain_8};
    }
}

/* Of what has been looked at: its polynomial, and the power of the next value. */
struct running {
    uint64_t total, power;
};

/* More of a content, whole blocks unless it is the last. */
static void add_poly(struct running *running, const uint8_t *at, size_t bytes,
                     enum pl_element element)
{
    const struct values values = values_of(element);
    const uint8_t *const end = at + bytes;
    const size_t block_bytes = BLOCK * values.width;
    for (; at + block_bytes <= end; at += block_bytes) {
        running->total = pl_plus(running->total, pl_times(running->power, values.block(at, BLOCK)));
        running->power = pl_times(running->power, table.step);
    }
    const int whole = (int)((size_t)(end - at) / values.width);
    if (at == end)
        return;
    uint64_t rest = values.block(at, whole);
    at += (size_t)whole * values.width;
    if (at < end) { /* the last value is filled up with zeros */
        uint64_t last = 0;
        memcpy(&last, at, (size_t)(end - at));
        rest = pl_plus(rest, pl_reduce((unsigned __int128)last * table.powers[whole]));
    }
    running->total = pl_plus(running->total, pl_times(running->power, rest));
}

enum { LANES = 4, CHAINS = 2, STEP = LANES * CHAINS };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t bits __attribute__((vector_size(LANES * sizeof(int64_t))));

struct sums {
    lanes first[CHAINS], second[CHAINS], size[CHAINS];
};

/* A loop over `count` numbers of `type`, a multiple of STEP and at most BLOCK. */
#define SUMS_OF(name, type)                                                                        \
    static void name(struct sums *sums, const uint8_t *at, size_t count)                           \
    {                                                                                              \
        typedef type few __attribute__((vector_size(LANES * sizeof(type))));                       \
        for (size_t i = 0; i < count; i += STEP) {                                                 \
            for (int chain = 0; chain < CHAINS; chain++) {                                         \
                const size_t place = i + (size_t)chain * LANES;                                    \
                few given;                                                                         \
                lanes first, second;                                                               \
                memcpy(&given, at + place * sizeof(type), sizeof given);                           \
                memcpy(&first, table.first + place, sizeof first);                                 \
                memcpy(&second, table.second + place, sizeof second);                              \
                const lanes numbers = __builtin_convertvector(given, lanes);                       \
                sums->first[chain] += numbers * first;                                             \
                sums->second[chain] += numbers * second;                                           \
                sums->size[chain] += (lanes)((bits)numbers & INT64_MAX);                           \
            }                                                                                      \
        }                                                                                          \
    }

SUMS_OF(sums_of_double, double)
SUMS_OF(sums_of_float, float)

static void add_block(const uint8_t *at, size_t count, bool wide, double factor,
                      double sketch[PL_SKETCH])
{
    const size_t even = count / STEP * STEP, width = wide ? sizeof(double) : sizeof(float);
    struct sums sums = {0};
    (wide ? sums_of_double : sums_of_float)(&sums, at, even);
    double totals[PL_SKETCH] = {0};
    for (int chain = 0; chain < CHAINS; chain++) {
        for (int lane = 0; lane < LANES; lane++) {
            totals[0] += sums.first[chain][lane];
            totals[1] += sums.second[chain][lane];
            totals[2] += sums.size[chain][lane];
        }
    }
    for (size_t i = even; i < count; i++) {
        float narrow;
        double number;
        memcpy(wide ? (void *)&number : &narrow, at + i * width, width);
        number = wide ? number : (double)narrow;
        totals[0] += number * table.first[i];
        totals[1] += number * table.second[i];
        totals[2] += number < 0 ? -number : number;
    }
    sketch[0] += factor * totals[0];
    sketch[1] += factor * totals[1];
    sketch[2] += totals[2];
}

/* The same; `before`: bytes that came before. */
static void add_sketch(const uint8_t *at, size_t bytes, size_t before, enum pl_element element,
                       double sketch[PL_SKETCH])
{
    const bool wide = element == PL_FLOAT64 || element == PL_COMPLEX128;
    if (!wide && element != PL_FLOAT32 && element != PL_COMPLEX64)
        return;
    const size_t width = wide ? sizeof(double) : sizeof(float), count = bytes / width;
    for (size_t i = 0; i < count; i += BLOCK) {
        const uint64_t block = before / width / BLOCK + i / BLOCK;
        const double factor = 0.5 + (double)(pl_mix(~block) >> 11) * 0x1p-54;
        add_block(at + i * width, count - i < BLOCK ? count - i : BLOCK, wide, factor, sketch);
    }
}

enum { CLASSES = PL_EXTREMES / 2, VECTOR_BYTES = 32, VECTORS = 4 };

/* Number by number in several vectors at a time, whose lanes are folded into classes at the end. */
#define EXTREMES_OF(name, type)                                                                    \
    static void name(const uint8_t *at, size_t count, double extremes[PL_EXTREMES])                \
    {                                                                                              \
        typedef type vector __attribute__((vector_size(VECTOR_BYTES)));                            \
        typedef __typeof__((vector){0} > (vector){0}) mask;                                        \
        enum { LANE_COUNT = VECTOR_BYTES / sizeof(type), SPAN = VECTORS * LANE_COUNT };            \
        vector largest[VECTORS], smallest[VECTORS], given;                                         \
        type most[CLASSES], least[CLASSES];                                                        \
        size_t i = 0;                                                                              \
        memcpy(most, at, sizeof most);                                                             \
        memcpy(least, at, sizeof least);                                                           \
        if (count >= SPAN) {                                                                       \
            memcpy(largest, at, sizeof largest);                                                   \
            memcpy(smallest, at, sizeof smallest);                                                 \
            for (i = SPAN; i + SPAN <= count; i += SPAN) {                                         \
                for (int k = 0; k < VECTORS; k++) {                                                \
                    memcpy(&given, at + (i + (size_t)k * LANE_COUNT) * sizeof(type),               \
                           sizeof given);                                                          \
                    const mask more = given > largest[k], less = given < smallest[k];              \
                    largest[k] = (vector)(((mask)given & more) | ((mask)largest[k] & ~more));      \
                    smallest[k] = (vector)(((mask)given & less) | ((mask)smallest[k] & ~less));    \
                }                                                                                  \
            }                                                                                      \
            for (int k = 0; k < SPAN; k++) {                                                       \
                const type high = largest[k / LANE_COUNT][k % LANE_COUNT];                         \
                const type low = smallest[k / LANE_COUNT][k % LANE_COUNT];                         \
                type *top = &most[k % CLASSES], *bottom = &least[k % CLASSES];                     \
                *top = high > *top ? high : *top;                                                  \
                *bottom = low < *bottom ? low : *bottom;                                           \
            }                                                                                      \
        }                                                                                          \
        for (; i < count; i++) {                                                                   \
            type number, *top = &most[i % CLASSES], *bottom = &least[i % CLASSES];                 \
            memcpy(&number, at + i * sizeof(type), sizeof number);                                 \
            *top = number > *top ? number : *top;                                                  \
            *bottom = number < *bottom ? number : *bottom;                                         \
        }                                                                                          \
        for (int k = 0; k < CLASSES; k++) {                                                        \
            extremes[k] = (double)most[k];                                                         \
            extremes[CLASSES + k] = (double)least[k];                                              \
        }                                                                                          \
    }

EXTREMES_OF(of_int8, int8_t)
EXTREMES_OF(of_uint8, uint8_t)
EXTREMES_OF(of_int16, int16_t)
EXTREMES_OF(of_uint16, uint16_t)
EXTREMES_OF(of_int32, int32_t)
EXTREMES_OF(of_uint32, uint32_t)
EXTREMES_OF(of_int64, int64_t)
EXTREMES_OF(of_uint64, uint64_t)
EXTREMES_OF(of_float32, float)
EXTREMES_OF(of_float64, double)

static const struct {
    size_t width;
    void (*of)(const uint8_t *at, size_t count, double extremes[PL_EXTREMES]);
} ordered[] = {
    [PL_INT8] = {1, of_int8},       [PL_UINT8] = {1, of_uint8},   [PL_INT16] = {2, of_int16},
    [PL_UINT16] = {2, of_uint16},   [PL_INT32] = {4, of_int32},   [PL_UINT32] = {4, of_uint32},
    [PL_INT64] = {8, of_int64},     [PL_UINT64] = {8, of_uint64}, [PL_FLOAT32] = {4, of_float32},
    [PL_FLOAT64] = {8, of_float64},
};

/* The same: extremes of what came `before` are there already. */
static void add_extremes(const uint8_t *at, size_t bytes, size_t before, enum pl_element element,
                         double extremes[PL_EXTREMES])
{
    if (element > PL_FLOAT64 || !ordered[element].of)
        return;
    double own[PL_EXTREMES];
    const size_t count = bytes / ordered[element].width;
    if (count < CLASSES) /* the last few numbers of many are their own piece */
        return;
    ordered[element].of(at, count, own);
    for (int k = 0; k < CLASSES; k++) {
        const double most = own[k], least = own[CLASSES + k];
        extremes[k] = before && extremes[k] > most ? extremes[k] : most;
        extremes[CLASSES + k] =
            before && extremes[CLASSES + k] < least ? extremes[CLASSES + k] : least;
    }
}

/* A content is gone through in pieces that stay in a cache until all have looked at them. The last
 * one is not shorter than the others. */
enum { PIECE_BYTES = 1 << 16 };

static void hash_pieces(struct pl_slot *slot, const uint8_t *content, size_t bytes)
{
    const enum pl_element element = (enum pl_element)slot->element;
    struct running running = {0, 1};
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (size_t at = 0, size; at < bytes; at += size) {
        size = bytes - at < 2 * PIECE_BYTES ? bytes - at : PIECE_BYTES;
        XXH3_64bits_update(&state, content + at, size);
        add_poly(&running, content + at, size, element);
        add_sketch(content + at, size, at, element, slot->sketch);
        add_extremes(content + at, size, at, element, slot->extremes);
    }
    slot->content = XXH3_64bits_digest(&state);
    slot->poly = running.total;
}

void PL_HASH(struct pl_slot *slot, const void *content, size_t bytes)
{
    const enum pl_element element = (enum pl_element)slot->element;
    memset(slot->sketch, 0, sizeof slot->sketch);
    memset(slot->payload, 0, PL_PAYLOAD); /* or extremes */
    if (bytes >= 2 * PIECE_BYTES) {
        hash_pieces(slot, content, bytes);
        return;
    }
    struct running running = {0, 1};
    slot->content = XXH3_64bits(content, bytes);
    add_poly(&running, content, bytes, element);
    slot->poly = running.total;
    add_sketch(content, bytes, 0, element, slot->sketch);
    if (bytes > PL_PAYLOAD)
        add_extremes(content, bytes, 0, element, slot->extremes);
    else if (bytes > 0)
        memcpy(slot->payload, content, bytes);
}
