#include "operators.h"

#include <string.h>

/* An affine map x -> a x + b; composing maps is associative and not commutative. */
struct map {
    unsigned a, b;
};

static struct map composed(struct map x, struct map y)
{
    return (struct map){x.a * y.a, y.a * x.b + y.b};
}

static struct map added(struct map x, struct map y)
{
    return (struct map){x.a + y.a, x.b + y.b};
}

static struct map first(struct map x, struct map y)
{
    (void)y;
    return x;
}

static const struct form *expected;
static int expected_count, fields;
static const char *complaint;

void operator_expect(const struct operator_drawn *drawn, int count)
{
    int size;
    PMPI_Type_size(drawn->form.type, &size);
    expected = &drawn->form;
    expected_count = count;
    fields = size / (int)sizeof(unsigned);
    complaint = NULL;
}

const char *operator_complaint(void)
{
    return complaint;
}

/* A field alone is a map too: a in the upper half, b in the lower. */
static unsigned over_halves(unsigned x, unsigned y, struct map (*join)(struct map, struct map))
{
    const struct map map =
        join((struct map){x >> 16, x & 0xffff}, (struct map){y >> 16, y & 0xffff});
    return map.a << 16 | (map.b & 0xffff);
}

static void over(const char *in, char *inout, int count, MPI_Datatype type,
                 struct map (*join)(struct map, struct map))
{
    if (count > expected_count)
        complaint = "the operator got more elements than the call has";
    if (type != expected->type)
        complaint = "the operator got another datatype";
    for (int i = 0; i < count; i++, in += expected->extent, inout += expected->extent) {
        unsigned x[FIELDS], y[FIELDS];
        for (int f = 0; f < fields; f++) {
            memcpy(&x[f], in + expected->offsets[f], sizeof x[f]);
            memcpy(&y[f], inout + expected->offsets[f], sizeof y[f]);
        }
        for (int f = 0; f + 1 < fields; f += 2) {
            const struct map map = join((struct map){x[f], x[f + 1]}, (struct map){y[f], y[f + 1]});
            y[f] = map.a;
            y[f + 1] = map.b;
        }
        if (fields == 1)
            y[0] = over_halves(x[0], y[0], join);
        for (int f = 0; f < fields; f++)
            memcpy(inout + expected->offsets[f], &y[f], sizeof y[f]);
    }
}

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    over(in, inout, *count, *type, composed);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    over(in, inout, *count, *type, added);
}

static void keep_first(void *in, void *inout, int *count, MPI_Datatype *type)
{
    over(in, inout, *count, *type, first);
}

static MPI_Op own[3];
static const char *const own_names[3] = {"compose", "add", "first"};

void operators_make(void)
{
    MPI_Op_create(compose, 0, &own[0]);
    MPI_Op_create(add, 1, &own[1]);
    MPI_Op_create(keep_first, 0, &own[2]);
}

void operators_free(void)
{
    for (int i = 0; i < 3; i++)
        MPI_Op_free(&own[i]);
}

struct operator_drawn operator_draw(struct draw *draw)
{
    const struct {
        const char *name;
        MPI_Op op;
        MPI_Datatype type;
    } predefined[] = {
        {"MPI_SUM", MPI_SUM, MPI_UNSIGNED},        {"MPI_SUM", MPI_SUM, MPI_DOUBLE},
        {"MPI_PROD", MPI_PROD, MPI_UNSIGNED},      {"MPI_MAX", MPI_MAX, MPI_SHORT},
        {"MPI_MIN", MPI_MIN, MPI_DOUBLE},          {"MPI_BOR", MPI_BOR, MPI_BYTE},
        {"MPI_BXOR", MPI_BXOR, MPI_UNSIGNED},      {"MPI_LAND", MPI_LAND, MPI_INT},
        {"MPI_MAXLOC", MPI_MAXLOC, MPI_2INT},      {"MPI_MINLOC", MPI_MINLOC, MPI_2INT},
        {"MPI_BAND", MPI_BAND, MPI_UNSIGNED_CHAR},
    };
    if (draw_chance(draw, 40)) {
        const int i = draw_below(draw, (int)(sizeof predefined / sizeof predefined[0]));
        return (struct operator_drawn){.name = predefined[i].name,
                                       .op = predefined[i].op,
                                       .form = form_of(predefined[i].type),
                                       .doubles = predefined[i].type == MPI_DOUBLE};
    }
    const int i = draw_below(draw, 3), sizes[] = {1, 2, 4};
    const struct signature signature = signature_of(MPI_UNSIGNED, sizes[draw_below(draw, 3)]);
    return (struct operator_drawn){
        .name = own_names[i], .op = own[i], .form = form_draw(draw, &signature, true)};
}
