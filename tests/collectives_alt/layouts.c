#include "layouts.h"

#include <stdint.h>
#include <string.h>

struct layout layouts[LAYOUTS] = {
    [LAYOUT_BYTE] = {.name = "byte", .base = BASE_BYTE, .ints = {-1, -1}},
    [LAYOUT_INT] = {.name = "int", .base = BASE_INT, .ints = {-1, -1}},
    [LAYOUT_DOUBLE] = {.name = "double", .base = BASE_DOUBLE, .ints = {-1, -1}},
    [LAYOUT_PAIR] = {.name = "pair", .base = BASE_INT, .ints = {0, 4}},
    [LAYOUT_VECTOR] = {.name = "vector", .base = BASE_INT, .ints = {0, 8}},
    [LAYOUT_SHIFTED] = {.name = "shifted", .base = BASE_INT, .ints = {-4, 4}},
    [LAYOUT_SWAPPED] = {.name = "swapped", .base = BASE_INT, .ints = {4, 0}},
    [LAYOUT_SENT] = {.name = "bottom", .base = BASE_INT, .ints = {0, 4}},
    [LAYOUT_RECEIVED] = {.name = "at_bottom", .base = BASE_INT, .ints = {0, 4}},
};

struct operated operated;

static void note(int count)
{
    operated.least = operated.most == 0 || count < operated.least ? count : operated.least;
    operated.most = count > operated.most ? count : operated.most;
}

/* An affine map x -> a x + b; composing maps is associative and not commutative. */
struct map {
    unsigned a, b;
};

static struct map compose(struct map first, struct map second)
{
    return (struct map){first.a * second.a, second.a * first.b + second.b};
}

/* Integers, not pointers: MPI_BOTTOM is no array. */
static char *element_at(const void *buffer, const struct layout *layout)
{
    return (char *)((intptr_t)buffer + (intptr_t)layout->origin);
}

void *layout_buffer(int layout, char *place)
{
    return (void *)((intptr_t)place - (intptr_t)layouts[layout].origin);
}

static const struct layout *layout_of(MPI_Datatype type)
{
    for (int i = 0; i < LAYOUTS; i++)
        if (layouts[i].type == type)
            return &layouts[i];
    return NULL;
}

/* inout = in + inout, or inout = in composed with inout, pair by pair. */
static void over_pairs(const void *from, void *into, int count, MPI_Datatype type, bool composing)
{
    const struct layout *layout = layout_of(type);
    const char *in = element_at(from, layout);
    char *inout = element_at(into, layout);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    note(count);
    for (int i = 0; i < count; i++, in += extent, inout += extent) {
        struct map x, y;
        memcpy(&x.a, in + layout->ints[0], sizeof x.a);
        memcpy(&x.b, in + layout->ints[1], sizeof x.b);
        memcpy(&y.a, inout + layout->ints[0], sizeof y.a);
        memcpy(&y.b, inout + layout->ints[1], sizeof y.b);
        y = composing ? compose(x, y) : (struct map){x.a + y.a, x.b + y.b};
        memcpy(inout + layout->ints[0], &y.a, sizeof y.a);
        memcpy(inout + layout->ints[1], &y.b, sizeof y.b);
    }
}

static void add_pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
    over_pairs(in, inout, *count, *type, false);
}

static void compose_pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
    over_pairs(in, inout, *count, *type, true);
}

/* The same maps in one integer: a in the upper half, b in the lower. */
static void compose_halves(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    const unsigned *x = in;
    unsigned *y = inout;
    note(*count);
    for (int i = 0; i < *count; i++) {
        const struct map map =
            compose((struct map){x[i] >> 16, x[i]}, (struct map){y[i] >> 16, y[i]});
        y[i] = map.a << 16 | (map.b & 0xffff);
    }
}

static struct operation byte_ops[] = {{"BOR", true, true, true, MPI_OP_NULL},
                                      {"BAND", true, true, true, MPI_OP_NULL}};
static struct operation int_ops[] = {{"SUM", true, true, true, MPI_OP_NULL},
                                     {"MAX", true, true, true, MPI_OP_NULL},
                                     {"compose", false, true, false, MPI_OP_NULL}};
static struct operation double_ops[] = {{"SUM", true, false, true, MPI_OP_NULL},
                                        {"MAX", true, true, true, MPI_OP_NULL}};
static struct operation pair_ops[] = {{"add", true, true, false, MPI_OP_NULL},
                                      {"compose", false, true, false, MPI_OP_NULL}};

const struct operation *operations_for(int layout, int *count)
{
    switch (layout) {
    case LAYOUT_BYTE:
        *count = 2;
        return byte_ops;
    case LAYOUT_INT:
        *count = 3;
        return int_ops;
    case LAYOUT_DOUBLE:
        *count = 2;
        return double_ops;
    default:
        *count = 2;
        return pair_ops;
    }
}

/* Without another lower bound than that address. */
static void put(struct layout *layout, char *origin)
{
    const MPI_Aint place = (MPI_Aint)origin;
    const int two = 2;
    layout->origin = origin;
    MPI_Type_create_hindexed(1, &two, &place, MPI_INT, &layout->type);
    MPI_Type_commit(&layout->type);
}

void layouts_put(char *sent, char *received)
{
    MPI_Type_free(&layouts[LAYOUT_SENT].type);
    MPI_Type_free(&layouts[LAYOUT_RECEIVED].type);
    put(&layouts[LAYOUT_SENT], sent);
    put(&layouts[LAYOUT_RECEIVED], received);
}

static MPI_Datatype pair_type(const struct layout *layout, MPI_Aint lb, MPI_Aint extent)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {layout->ints[0], layout->ints[1]};
    MPI_Datatype whole, type;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &whole);
    MPI_Type_create_resized(whole, lb, extent, &type);
    MPI_Type_free(&whole);
    MPI_Type_commit(&type);
    return type;
}

void layouts_make(void)
{
    layouts[LAYOUT_BYTE].type = MPI_BYTE;
    layouts[LAYOUT_INT].type = MPI_INT;
    layouts[LAYOUT_DOUBLE].type = MPI_DOUBLE;
    MPI_Type_contiguous(2, MPI_INT, &layouts[LAYOUT_PAIR].type);
    MPI_Type_commit(&layouts[LAYOUT_PAIR].type);
    MPI_Type_vector(2, 1, 2, MPI_INT, &layouts[LAYOUT_VECTOR].type);
    MPI_Type_commit(&layouts[LAYOUT_VECTOR].type);
    layouts[LAYOUT_SHIFTED].type = pair_type(&layouts[LAYOUT_SHIFTED], -8, 20);
    layouts[LAYOUT_SWAPPED].type = pair_type(&layouts[LAYOUT_SWAPPED], 0, 8);

    put(&layouts[LAYOUT_SENT], NULL);
    put(&layouts[LAYOUT_RECEIVED], NULL);

    byte_ops[0].op = MPI_BOR;
    byte_ops[1].op = MPI_BAND;
    int_ops[0].op = double_ops[0].op = MPI_SUM;
    int_ops[1].op = double_ops[1].op = MPI_MAX;
    MPI_Op_create(compose_halves, 0, &int_ops[2].op);
    MPI_Op_create(add_pairs, 1, &pair_ops[0].op);
    MPI_Op_create(compose_pairs, 0, &pair_ops[1].op);
}

void layouts_free(void)
{
    for (int i = LAYOUT_PAIR; i < LAYOUTS; i++)
        MPI_Type_free(&layouts[i].type);
    MPI_Op_free(&int_ops[2].op);
    MPI_Op_free(&pair_ops[0].op);
    MPI_Op_free(&pair_ops[1].op);
}

/* splitmix64 */
static unsigned long long next(unsigned long long *state)
{
    unsigned long long z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

void fill(void *memory, size_t bytes, enum base base, unsigned long long seed)
{
    char *to = memory;
    unsigned long long state = seed;
    for (size_t at = 0; at < bytes; at += 8) {
        const unsigned long long bits = next(&state);
        unsigned long long word = bits;
        if (base == BASE_INT) /* small enough for sums that no rank count can overflow */
            word = bits & 0x007fffff007fffffULL;
        double number = 0.5 + (double)(bits >> 12) / 4503599627370496.0;
        if (base == BASE_DOUBLE)
            memcpy(&word, &number, sizeof word);
        memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}
