#include "typed_blocks.h"

struct typed_common typed_common_draw(struct draw *draw)
{
    static const int densities[] = {0, 15, 60, 100};
    const unsigned long long seed = draw_bits(draw);
    return (struct typed_common){.seed = seed, .density = densities[draw_below(draw, 4)]};
}

/* What goes from rank to rank; in place it is the same in both directions. */
static int elements_between(const struct typed_common *common, int from, int to,
                            struct signature *signature)
{
    const bool turned = common->in_place && from > to;
    struct draw draw =
        draw_from(common->seed, (unsigned)(turned ? to : from), (unsigned)(turned ? from : to));
    *signature = signature_draw(&draw);
    return draw_chance(&draw, common->density) ? 1 + draw_below(&draw, common->most) : 0;
}

/* The library takes no datatype for an empty block, as far as this rank is asked. */
static bool bears_no_type(void)
{
#ifdef MPICH_VERSION
    return true;
#else
    return false;
#endif
}

/* No elements, or elements without data. */
static void empty(struct draw *draw, struct typed_blocks *blocks, int peer)
{
    const bool hollow = draw_chance(draw, 30);
    if (hollow) {
        form_free(&blocks->forms[peer]);
        blocks->forms[peer] = form_hollow();
    }
    blocks->counts[peer] = hollow ? draw_below(draw, 3) : 0;
    blocks->types[peer] = !hollow && bears_no_type() && draw_chance(draw, 50)
                              ? MPI_DATATYPE_NULL
                              : blocks->forms[peer].type;
}

static void place(struct draw *draw, struct typed_blocks *blocks, int p, size_t guard)
{
    int order[TYPED_RANKS];
    long at = 0;
    for (int i = 0; i < p; i++)
        order[i] = i;
    draw_shuffle(draw, order, p);
    for (int i = 0; i < p; i++) {
        const int peer = order[i], count = blocks->counts[peer];
        const struct form *form = &blocks->forms[peer];
        if (count > 0 && form->high > form->low) {
            at = (at - form->low + 7) / 8 * 8; /* aligned */
            blocks->displs[peer] = (int)at;
            at += (count - 1) * form->extent + form->high + draw_below(draw, 9);
        } else {
            blocks->displs[peer] = (int)at;
        }
    }
    const long shift = draw_chance(draw, 50) ? at / 16 * 8 : 0;
    for (int i = 0; i < p; i++)
        blocks->displs[i] -= (int)shift;
    blocks->zero = guard + (size_t)shift;
    blocks->bytes = (size_t)at + 2 * guard;
}

void typed_blocks_make(struct typed_blocks *blocks, const struct typed_common *common, bool sends,
                       int p, int rank, size_t guard, struct draw *own)
{
    for (int i = 0; i < p; i++) {
        struct signature signature;
        const int elements = sends ? elements_between(common, rank, i, &signature)
                                   : elements_between(common, i, rank, &signature);
        blocks->forms[i] = form_draw(own, &signature, false);
        blocks->counts[i] = elements * blocks->forms[i].per;
        blocks->types[i] = blocks->forms[i].type;
        if (elements == 0)
            empty(own, blocks, i);
    }
    place(own, blocks, p, guard);
}

void typed_blocks_free(struct typed_blocks *blocks, int p)
{
    for (int i = 0; i < p; i++)
        form_free(&blocks->forms[i]);
}
