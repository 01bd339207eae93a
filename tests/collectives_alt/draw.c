#include "draw.h"

#include <stdio.h>
#include <string.h>

/* splitmix64 */
static unsigned long long mixed(unsigned long long z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

struct draw draw_from(unsigned long long seed, unsigned long long what, unsigned long long which)
{
    const unsigned long long step = 0x9e3779b97f4a7c15ULL;
    return (struct draw){mixed(mixed(mixed(seed + step) + what + step) + which + step)};
}

unsigned long long draw_bits(struct draw *draw)
{
    return mixed(draw->state += 0x9e3779b97f4a7c15ULL);
}

int draw_below(struct draw *draw, int bound)
{
    return (int)(draw_bits(draw) % (unsigned)bound);
}

bool draw_chance(struct draw *draw, int percent)
{
    return draw_below(draw, 100) < percent;
}

void draw_shuffle(struct draw *draw, int *values, int size)
{
    for (int i = size - 1; i > 0; i--) {
        const int j = draw_below(draw, i + 1), value = values[i];
        values[i] = values[j];
        values[j] = value;
    }
}

void draw_fill(struct draw *draw, void *memory, size_t bytes)
{
    for (char *to = memory; bytes > 0;) {
        const unsigned long long bits = draw_bits(draw);
        const size_t some = bytes < sizeof bits ? bytes : sizeof bits;
        memcpy(to, &bits, some);
        to += some;
        bytes -= some;
    }
}

/* --- signatures --- */

struct signature signature_of(MPI_Datatype type, int fields)
{
    struct signature signature = {.fields = fields};
    for (int i = 0; i < fields; i++)
        signature.types[i] = type;
    return signature;
}

struct signature signature_draw(struct draw *draw)
{
    const MPI_Datatype types[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    struct signature signature =
        signature_of(types[draw_below(draw, 4)], 1 + draw_below(draw, FIELDS));
    const bool many = draw_chance(draw, 40);
    for (int i = 1; i < signature.fields && many; i++)
        signature.types[i] = types[draw_below(draw, 4)];
    return signature;
}

static bool is_uniform(const struct signature *signature)
{
    for (int i = 1; i < signature->fields; i++)
        if (signature->types[i] != signature->types[0])
            return false;
    return true;
}

/* --- forms --- */

static long size_of(MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    return size;
}

/* In any order, aligned, with gaps, some of them below the address of the element. */
static void place_fields(struct draw *draw, const struct signature *signature, long *offsets)
{
    int order[FIELDS] = {0, 1, 2, 3};
    long at = -8L * draw_below(draw, 3);
    draw_shuffle(draw, order, signature->fields);
    for (int i = 0; i < signature->fields; i++) {
        const long size = size_of(signature->types[order[i]]);
        at += (size - at % size) % size + size * draw_below(draw, 3);
        offsets[order[i]] = at;
        at += size;
    }
}

static void measure(struct form *form)
{
    MPI_Aint lb, span;
    MPI_Type_get_extent(form->type, &lb, &form->extent);
    MPI_Type_get_true_extent(form->type, &form->low, &span);
    form->high = form->low + span;
}

/* Takes the place of the type, which is freed. */
static void replace(struct form *form, MPI_Datatype type)
{
    MPI_Type_free(&form->type);
    form->type = type;
}

static void resize(struct draw *draw, struct form *form)
{
    MPI_Datatype resized;
    measure(form);
    const MPI_Aint lb = form->low - 8 * draw_below(draw, 3);
    const MPI_Aint extent = (form->high - lb + 7) / 8 * 8 + 8 * draw_below(draw, 3);
    MPI_Type_create_resized(form->type, lb, extent, &resized);
    replace(form, resized);
    const size_t used = strlen(form->text);
    snprintf(form->text + used, sizeof form->text - used, " resized(%ld, %ld)", (long)lb,
             (long)extent);
}

enum shape { PLAIN, CONTIGUOUS, VECTOR, INDEXED, STRUCT, SHAPES };

static void make(struct draw *draw, const struct signature *signature, enum shape shape,
                 struct form *form)
{
    static const char *const names[] = {"", "contiguous", "vector", "indexed", "struct"};
    const int fields = signature->fields;
    const long size = size_of(signature->types[0]);
    const int stride = shape == VECTOR ? 1 + draw_below(draw, 3) : 1;
    int ones[FIELDS] = {1, 1, 1, 1}, places[FIELDS] = {0};
    MPI_Aint at[FIELDS] = {0};
    for (int i = 0; i < fields; i++)
        form->offsets[i] = i * stride * size;
    if (shape == INDEXED || shape == STRUCT)
        place_fields(draw, signature, form->offsets);
    for (int i = 0; i < fields; i++) {
        at[i] = form->offsets[i];
        places[i] = (int)(form->offsets[i] / size);
    }
    if (shape == CONTIGUOUS)
        MPI_Type_contiguous(fields, signature->types[0], &form->type);
    else if (shape == VECTOR)
        MPI_Type_vector(fields, 1, stride, signature->types[0], &form->type);
    else if (shape == INDEXED)
        MPI_Type_indexed(fields, ones, places, signature->types[0], &form->type);
    else
        MPI_Type_create_struct(fields, ones, at, signature->types, &form->type);
    snprintf(form->text, sizeof form->text, "%s of %d at %ld %ld %ld %ld", names[shape], fields,
             form->offsets[0], form->offsets[1], form->offsets[2], form->offsets[3]);
    form->made = true;
}

struct form form_of(MPI_Datatype type)
{
    struct form form = {.type = type, .per = 1};
    int length;
    MPI_Type_get_name(type, form.text, &length); /* predefined: short */
    measure(&form);
    return form;
}

struct form form_draw(struct draw *draw, const struct signature *signature, bool whole)
{
    const bool uniform = is_uniform(signature);
    const bool may_be_plain = uniform && (!whole || signature->fields == 1);
    const enum shape shape = uniform ? (enum shape)draw_below(draw, SHAPES) : STRUCT;
    if (shape == PLAIN && may_be_plain) {
        struct form form = form_of(signature->types[0]);
        form.per = signature->fields;
        return form;
    }
    struct form form = {.per = 1};
    make(draw, signature, shape == PLAIN ? CONTIGUOUS : shape, &form);
    if (draw_chance(draw, 50))
        resize(draw, &form);
    if (draw_chance(draw, 10)) {
        MPI_Datatype copy;
        MPI_Type_dup(form.type, &copy);
        replace(&form, copy);
    }
    MPI_Type_commit(&form.type);
    measure(&form);
    return form;
}

struct form form_hollow(void)
{
    struct form form = {.made = true, .per = 1, .text = "nothing"};
    MPI_Type_contiguous(0, MPI_INT, &form.type);
    MPI_Type_commit(&form.type);
    return form;
}

void form_free(struct form *form)
{
    if (form->made)
        MPI_Type_free(&form->type);
    form->made = false;
}
