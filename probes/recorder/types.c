/* What is known of a datatype: where its bytes lie, of which kind its elements are, and the hash of
 * its signature. Found once: for predefined types in a table, for others in an attribute, which
 * dies with the type. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 256 };

static struct {
    int key;
    struct {
        MPI_Datatype type;
        bool taken;
        struct pl_datatype known;
    } named[PLACES];
} all = {.key = MPI_KEYVAL_INVALID};

static const uint64_t signature_base = UINT64_C(0x1357A3C9E2B4D687) & PL_PRIME;

static unsigned place_of(MPI_Datatype type)
{
    return (unsigned)(pl_mix((uint64_t)PL_KEY(type)) % PLACES);
}

static void add_named(MPI_Datatype type, enum pl_element element)
{
    int size;
    MPI_Aint lb, extent, true_lb, true_extent;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size == 0)
        return;
    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    unsigned at = place_of(type);
    while (all.named[at].taken && all.named[at].type != type)
        at = (at + 1) % PLACES;
    if (all.named[at].taken)
        return;
    all.named[at].taken = true;
    all.named[at].type = type;
    const uint64_t code = (uint64_t)element | (uint64_t)size << 8;
    all.named[at].known = (struct pl_datatype){.size = size,
                                               .extent = extent,
                                               .true_lb = true_lb,
                                               .true_extent = true_extent,
                                               .dense = size == extent,
                                               .named = true,
                                               .element = (uint8_t)element,
                                               .signature = pl_mix(code) & (PL_PRIME >> 1),
                                               .step = signature_base,
                                               .basic = 1};
}

static void add_integer(MPI_Datatype type, bool with_sign)
{
    int size = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS)
        return;
    const int element = size == 1   ? PL_INT8
                        : size == 2 ? PL_INT16
                        : size == 4 ? PL_INT32
                                    : PL_INT64;
    add_named(type, size == 16 ? PL_MIXED : (enum pl_element)(element + !with_sign));
}

static void add_by_size(MPI_Datatype type, int half, enum pl_element small, enum pl_element large)
{
    int size = 0;
    if (type != MPI_DATATYPE_NULL && PMPI_Type_size(type, &size) == MPI_SUCCESS)
        add_named(type, size == half ? small : size == 2 * half ? large : PL_MIXED);
}

static void add_c(void)
{
    const MPI_Datatype with_sign[] = {MPI_SIGNED_CHAR, MPI_SHORT,  MPI_INT,     MPI_LONG,
                                      MPI_LONG_LONG,   MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
                                      MPI_INT64_T,     MPI_AINT,   MPI_OFFSET,  MPI_COUNT};
    const MPI_Datatype without[] = {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,     MPI_UNSIGNED,
                                    MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
                                    MPI_UINT16_T,      MPI_UINT32_T,           MPI_UINT64_T};
    for (size_t i = 0; i < sizeof with_sign / sizeof *with_sign; i++)
        add_integer(with_sign[i], true);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        add_integer(without[i], false);
    add_named(MPI_FLOAT, PL_FLOAT32);
    add_named(MPI_DOUBLE, PL_FLOAT64);
    add_named(MPI_LONG_DOUBLE, PL_MIXED);
    add_named(MPI_C_FLOAT_COMPLEX, PL_COMPLEX64);
    add_named(MPI_C_DOUBLE_COMPLEX, PL_COMPLEX128);
    add_named(MPI_C_BOOL, PL_LOGICAL);
    add_named(MPI_CHAR, PL_CHARACTER);
    add_named(MPI_WCHAR, PL_MIXED);
    add_named(MPI_BYTE, PL_BYTE);
    add_named(MPI_PACKED, PL_BYTE);
    add_named(MPI_FLOAT_INT, PL_FLOAT32_INT32);
    add_named(MPI_DOUBLE_INT, PL_FLOAT64_INT32);
    add_named(MPI_LONG_INT, PL_INT64_INT32);
    add_named(MPI_2INT, PL_INT32_INT32);
    add_named(MPI_SHORT_INT, PL_INT16_INT32);
}

static void add_fortran(void)
{
    add_integer(MPI_INTEGER, true);
#ifdef MPI_INTEGER1
    add_integer(MPI_INTEGER1, true);
    add_integer(MPI_INTEGER2, true);
    add_integer(MPI_INTEGER4, true);
    add_integer(MPI_INTEGER8, true);
#endif
    add_by_size(MPI_REAL, 4, PL_FLOAT32, PL_FLOAT64);
    add_by_size(MPI_DOUBLE_PRECISION, 4, PL_FLOAT32, PL_FLOAT64);
    add_by_size(MPI_COMPLEX, 8, PL_COMPLEX64, PL_COMPLEX128);
    add_by_size(MPI_DOUBLE_COMPLEX, 8, PL_COMPLEX64, PL_COMPLEX128);
#ifdef MPI_REAL4
    add_by_size(MPI_REAL4, 4, PL_FLOAT32, PL_FLOAT64);
    add_by_size(MPI_REAL8, 4, PL_FLOAT32, PL_FLOAT64);
    add_by_size(MPI_COMPLEX8, 8, PL_COMPLEX64, PL_COMPLEX128);
    add_by_size(MPI_COMPLEX16, 8, PL_COMPLEX64, PL_COMPLEX128);
#endif
    add_named(MPI_LOGICAL, PL_LOGICAL);
    add_named(MPI_CHARACTER, PL_CHARACTER);
    add_named(MPI_2REAL, PL_FLOAT32_FLOAT32);
    add_named(MPI_2DOUBLE_PRECISION, PL_FLOAT64_FLOAT64);
    add_named(MPI_2INTEGER, PL_INT32_INT32);
}

/* In attributes of a type and of its duplicates. */
struct shared {
    struct pl_datatype known;
    atomic_int holders;
};

static int copy(MPI_Datatype type, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)type;
    (void)key;
    (void)extra;
    atomic_fetch_add(&((struct shared *)value)->holders, 1);
    *(void **)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int gone(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)extra;
    if (atomic_fetch_sub(&((struct shared *)value)->holders, 1) == 1)
        free(value);
    return MPI_SUCCESS;
}

/* Elements of `part`, `count` of them from byte `at`, behind what `whole` has so far. */
static void append(struct pl_datatype *whole, const struct pl_datatype *part, int64_t count,
                   int64_t at)
{
    if (count == 0 || part->size == 0)
        return;
    whole->dense = whole->dense && part->dense && at == whole->size;
    if (whole->size == 0)
        whole->element = part->element;
    else if (whole->element != part->element || whole->element == PL_MIXED)
        whole->element = PL_MIXED;
    uint64_t step = part->step, signature = part->signature;
    for (int64_t left = count; left > 0; left >>= 1) { /* so many of them, by halves */
        if (left & 1) {
            whole->signature = pl_plus(pl_times(whole->signature, step), signature);
            whole->step = pl_times(whole->step, step);
        }
        signature = pl_plus(pl_times(signature, step), signature);
        step = pl_times(step, step);
    }
    whole->basic += part->basic * count;
    whole->size += part->size * count;
}

struct contents {
    int combiner;
    int *numbers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
    int number_count, address_count, type_count;
};

static const struct pl_datatype *look_into(MPI_Datatype type, struct pl_datatype *room);

/* Blocks of `part`: false where the combiner is not known here. */
static bool append_blocks(struct pl_datatype *whole, const struct contents *contents)
{
    const int *n = contents->numbers;
    const MPI_Aint *at = contents->addresses;
    struct pl_datatype room;
    const struct pl_datatype *part = look_into(contents->types[0], &room);
    if (!part)
        return false;
    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        append(whole, part, 1, 0);
        return true;
    case MPI_COMBINER_CONTIGUOUS:
        append(whole, part, n[0], 0);
        return true;
    case MPI_COMBINER_VECTOR:
        for (int i = 0; i < n[0]; i++)
            append(whole, part, n[1], (int64_t)i * n[2] * part->extent);
        return true;
    case MPI_COMBINER_HVECTOR:
        for (int i = 0; i < n[0]; i++)
            append(whole, part, n[1], (int64_t)i * at[0]);
        return true;
    case MPI_COMBINER_INDEXED:
        for (int i = 0; i < n[0]; i++)
            append(whole, part, n[1 + i], n[1 + n[0] + i] * part->extent);
        return true;
    case MPI_COMBINER_HINDEXED:
        for (int i = 0; i < n[0]; i++)
            append(whole, part, n[1 + i], at[i]);
        return true;
    case MPI_COMBINER_INDEXED_BLOCK:
        for (int i = 0; i < n[0]; i++)
            append(whole, part, n[1], n[2 + i] * part->extent);
        return true;
    case MPI_COMBINER_HINDEXED_BLOCK:
        for (int i = 0; i < n[0]; i++)
            append(whole, part, n[1], at[i]);
        return true;
    case MPI_COMBINER_STRUCT:
        append(whole, part, n[1], at[0]);
        for (int i = 1; i < n[0]; i++) {
            if (!(part = look_into(contents->types[i], &room)))
                return false;
            append(whole, part, n[1 + i], at[i]);
        }
        return true;
    case MPI_COMBINER_SUBARRAY: { /* the order of elements in it is theirs in memory */
        int64_t count = 1;
        for (int i = 0; i < n[0]; i++)
            count *= n[1 + n[0] + i];
        append(whole, part, count, -1);
        return true;
    }
    default:
        return false;
    }
}

static bool is_named(MPI_Datatype type)
{
    int numbers, addresses, types, combiner;
    PMPI_Type_get_envelope(type, &numbers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

static bool open_up(MPI_Datatype type, struct contents *contents)
{
    PMPI_Type_get_envelope(type, &contents->number_count, &contents->address_count,
                           &contents->type_count, &contents->combiner);
    if (contents->combiner == MPI_COMBINER_NAMED || contents->type_count == 0)
        return false;
    contents->numbers = calloc((size_t)contents->number_count + 1, sizeof *contents->numbers);
    contents->addresses = calloc((size_t)contents->address_count + 1, sizeof *contents->addresses);
    contents->types = calloc((size_t)contents->type_count + 1, sizeof *contents->types);
    return contents->numbers && contents->addresses && contents->types &&
           PMPI_Type_get_contents(type, contents->number_count, contents->address_count,
                                  contents->type_count, contents->numbers, contents->addresses,
                                  contents->types) == MPI_SUCCESS;
}

static void close_up(struct contents *contents, bool opened)
{
    for (int i = 0; opened && i < contents->type_count; i++)
        if (!is_named(contents->types[i]))
            PMPI_Type_free(&contents->types[i]);
    free(contents->numbers);
    free(contents->addresses);
    free(contents->types);
}

static const struct pl_datatype *named(MPI_Datatype type)
{
    for (unsigned at = place_of(type); all.named[at].taken; at = (at + 1) % PLACES)
        if (all.named[at].type == type)
            return &all.named[at].known;
    return NULL;
}

/* Of any type, into `room`; of one that cannot be looked into, size and place alone. */
static const struct pl_datatype *look_into(MPI_Datatype type, struct pl_datatype *room)
{
    const struct pl_datatype *known = named(type);
    if (known)
        return known;
    MPI_Count size;
    MPI_Aint lb, extent, true_lb, true_extent;
    struct contents contents = {0};
    *room = (struct pl_datatype){.dense = true, .step = 1};
    const bool opened = open_up(type, &contents);
    if (!opened || !append_blocks(room, &contents))
        *room = (struct pl_datatype){.element = PL_MIXED};
    close_up(&contents, opened);
    PMPI_Type_size_x(type, &size);
    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    if (room->size != size) /* could not be looked into */
        room->dense = false, room->element = PL_MIXED, room->signature = 0;
    room->size = size;
    room->extent = extent;
    room->true_lb = true_lb;
    room->true_extent = true_extent;
    room->dense = room->dense && size == true_extent && size == extent && true_lb == 0;
    return room;
}

const struct pl_datatype *pl_type_of(MPI_Datatype type)
{
    const struct pl_datatype *known = named(type);
    struct shared *derived = NULL;
    int flag = 0;
    if (known || type == MPI_DATATYPE_NULL)
        return known;
    PMPI_Type_get_attr(type, all.key, &derived, &flag);
    if (flag)
        return &derived->known;
    derived = calloc(1, sizeof *derived);
    if (!derived)
        return NULL;
    const struct pl_datatype *found = look_into(type, &derived->known);
    if (found != &derived->known)
        derived->known = *found;
    derived->holders = 1;
    PMPI_Type_set_attr(type, all.key, derived);
    return &derived->known;
}

uint64_t pl_signature(const struct pl_datatype *type, int64_t count)
{
    struct pl_datatype whole = {.step = 1};
    if (type->element != PL_MIXED && type->basic > 0) /* equal however they are put together */
        return pl_mix((uint64_t)type->element ^ pl_mix((uint64_t)(type->basic * count)));
    append(&whole, type, count, 0);
    return whole.signature;
}

void pl_types_begin(void)
{
    PMPI_Type_create_keyval(copy, gone, &all.key, NULL);
    add_c();
    add_fortran();
}
