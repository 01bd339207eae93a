#include "calls.h"

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64, MEDIUM = 3000, LIBRARY_MOST = 100 };

/* --- what all ranks of the communicator draw alike --- */

struct common {
    struct draw draw;
    int count, root;
    bool in_place, mixed, pairwise;
    unsigned long long counts; /* seed of those by rank */
};

/* Every second call of a function has the next count of a permutation of 0 .. SMALL - 1: none of
 * them is left out for long. */
static int draw_count(struct draw *draw, long serial, int p, bool blocks)
{
    if (serial % 2 == 0)
        return (int)(serial / 2 * 61 % SMALL);
    const int parts = blocks ? p : 1, kind = draw_below(draw, 10);
    if (kind < 2)
        return 0;
    if (kind < 4)
        return p - 1 + draw_below(draw, 3);
    if (kind < 8)
        return draw_below(draw, MEDIUM) / parts;
    return ((1 << (7 + draw_below(draw, 7))) - 1 + draw_below(draw, 3)) / parts;
}

/* Uneven, some empty. */
static int count_of(const struct common *common, unsigned long long index)
{
    struct draw draw = draw_from(common->counts, index, 0);
    const int kind = draw_below(&draw, 8);
    if (kind < 2)
        return 0;
    return kind < 5 ? common->count : draw_below(&draw, common->count + 2);
}

/* From rank to rank in Alltoallv; in place both directions are equal. */
static int count_between(const struct common *common, int from, int to)
{
    const bool turned = common->in_place && from > to;
    return count_of(common,
                    (unsigned long long)((turned ? to : from) * CALL_RANKS + (turned ? from : to)));
}

/* --- memory --- */

/* Blocks in any order with gaps between them; displacements may be negative. */
static void place_blocks(struct draw *draw, struct side *side, int p)
{
    int order[CALL_RANKS], at = -draw_below(draw, 5);
    for (int i = 0; i < p; i++)
        order[i] = i;
    draw_shuffle(draw, order, p);
    side->first = at;
    for (int i = 0; i < p; i++) {
        at += draw_below(draw, 3);
        side->displs[order[i]] = at;
        at += side->counts[order[i]];
    }
    side->elements = at - side->first;
}

/* No data: as no elements, or as elements without data. */
static void empty_out(struct draw *draw, struct side *side, int p)
{
    for (int i = 0; i < p; i++)
        if (side->counts[i] != 0)
            return;
    form_free(&side->form);
    side->form = form_hollow();
    for (int i = 0; i < p; i++)
        side->counts[i] = draw_below(draw, 2);
}

static void *allocated(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* The last guard begins right behind the last byte of data. */
static void fit(struct side *side)
{
    const struct form *form = &side->form;
    long low = 0, high = 0;
    if (side->elements > 0) {
        low = side->first * form->extent + form->low;
        high = (side->first + side->elements - 1) * form->extent + form->high;
        low -= ((low % 16) + 16) % 16;
    }
    side->zero = CALL_GUARD - low;
    side->bytes = 2 * (size_t)CALL_GUARD + (size_t)(high - low);
    if (side->bytes <= side->room)
        return;
    free(side->before);
    free(side->ours);
    free(side->theirs);
    side->room = 2 * side->bytes;
    side->before = allocated(side->room);
    side->ours = allocated(side->room);
    side->theirs = allocated(side->room);
}

static void fill_side(struct side *side, struct draw draw, bool doubles)
{
    draw_fill(&draw, side->before, side->bytes);
    for (size_t at = (size_t)(side->zero % 8); doubles && at + 8 <= side->bytes; at += 8) {
        const double number = draw_below(&draw, 1000); /* sums are exact */
        memcpy(side->before + at, &number, sizeof number);
    }
    memcpy(side->ours, side->before, side->bytes);
    memcpy(side->theirs, side->before, side->bytes);
}

/* --- arguments --- */

static bool is_v(enum pl_function function)
{
    return function == PL_FN_gatherv || function == PL_FN_scatterv ||
           function == PL_FN_allgatherv || function == PL_FN_alltoallv;
}

/* Blocks of all ranks on this side; else a block of this rank, or a vector. */
static bool is_gathered(enum pl_function function, int side)
{
    switch (function) {
    case PL_FN_gather:
    case PL_FN_gatherv:
    case PL_FN_allgather:
    case PL_FN_allgatherv:
        return side == 1;
    case PL_FN_scatter:
    case PL_FN_scatterv:
        return side == 0;
    default:
        return function == PL_FN_alltoall || function == PL_FN_alltoallv;
    }
}

static void measure_moved(struct random_call *call, const struct common *common, struct draw *own,
                          int which)
{
    struct side *side = &call->side[which];
    const int p = call->p, per = side->form.per;
    for (int i = 0; i < p; i++) {
        int count = common->count;
        if (common->pairwise)
            count = which == 0 ? count_between(common, call->rank, i)
                               : count_between(common, i, call->rank);
        else if (is_v(call->function))
            count = count_of(common, (unsigned long long)i);
        side->counts[i] = count * per;
    }
    if (is_v(call->function) && is_gathered(call->function, which)) {
        if (common->pairwise && draw_chance(own, 50))
            empty_out(own, side, p);
        place_blocks(own, side, p);
        return;
    }
    side->first = 0;
    side->elements =
        is_gathered(call->function, which) ? (long)p * side->counts[0] : side->counts[call->rank];
}

static void measure_reduced(struct random_call *call, const struct common *common, int which)
{
    struct side *side = &call->side[which];
    int total = 0;
    const bool scattered =
        call->function == PL_FN_reduce_scatter || call->function == PL_FN_reduce_scatter_block;
    for (int i = 0; i < call->p; i++) {
        side->counts[i] = call->function == PL_FN_reduce_scatter
                              ? count_of(common, (unsigned long long)i)
                              : common->count;
        total += side->counts[i];
    }
    call->vector = scattered ? total : common->count;
    side->first = 0;
    side->elements =
        scattered && which == 1 && !common->in_place ? side->counts[call->rank] : call->vector;
}

/* Arguments that are not significant are garbage. */
static void no_send(struct pl_call *c, const void *sendbuf)
{
    c->sendbuf = sendbuf;
    c->sendcount = -78;
    c->sendcounts = c->sdispls = NULL;
    c->sendtype = MPI_DATATYPE_NULL;
}

static void no_receive(struct pl_call *c, void *recvbuf)
{
    c->recvbuf = recvbuf;
    c->recvcount = -77;
    c->recvcounts = c->rdispls = NULL;
    c->recvtype = MPI_DATATYPE_NULL;
}

static struct pl_call arguments(const struct random_call *call, const struct common *common,
                                MPI_Comm comm, bool ours)
{
    const enum pl_function function = call->function;
    const struct side *send = &call->side[0], *receive = &call->side[1];
    const bool root = call->rank == common->root;
    char *from = (ours ? send->ours : send->theirs) + send->zero;
    char *to = (ours ? receive->ours : receive->theirs) + receive->zero;
    struct pl_call c = {.function = function, .comm = comm, .root = common->root};
    if (function == PL_FN_barrier)
        return c;
    c.sendbuf = from;
    c.recvbuf = to;
    c.recvtype = receive->form.type;
    c.recvcount = receive->counts[call->rank];
    if (pl_reduces(function)) {
        c.op = call->reduction.op;
        if (function == PL_FN_reduce_scatter) {
            c.recvcounts = receive->counts;
            c.recvcount = 0;
        }
        if (common->in_place && (function != PL_FN_reduce || root))
            c.sendbuf = MPI_IN_PLACE;
        return c;
    }
    c.sendtype = send->form.type;
    c.sendcount = send->counts[call->rank];
    if (is_v(function) && is_gathered(function, 0)) {
        c.sendcounts = send->counts;
        c.sdispls = send->displs;
    }
    if (is_v(function) && is_gathered(function, 1)) {
        c.recvcounts = receive->counts;
        c.rdispls = receive->displs;
    }
    const bool gathers = function == PL_FN_gather || function == PL_FN_gatherv;
    const bool scatters = function == PL_FN_scatter || function == PL_FN_scatterv;
    if (function == PL_FN_bcast)
        no_send(&c, NULL);
    else if (gathers && !root)
        no_receive(&c, to);
    else if (scatters && !root)
        no_send(&c, from);
    else if (scatters && common->in_place)
        no_receive(&c, MPI_IN_PLACE);
    else if (common->in_place)
        no_send(&c, MPI_IN_PLACE);
    return c;
}

/* What Open MPI 4.1.4 itself gets wrong (variants.c): the ring Allreduce of large vectors where
 * data do not begin at their address; Allgatherv where ranks have other types for one signature. */
static void spare_the_library(struct random_call *call, struct common *common)
{
    if (call->function == PL_FN_allgatherv)
        common->mixed = false;
    if (call->reduction.form.low != 0 && common->count > LIBRARY_MOST)
        common->count = LIBRARY_MOST;
}

static void describe(struct random_call *call, const struct common *common, unsigned long long seed,
                     long number)
{
    const struct side *send = &call->side[0], *receive = &call->side[1];
    const bool reduces = pl_reduces(call->function);
    snprintf(call->text, sizeof call->text,
             "%s, call %ld of seed %llu: rank %d of %d, count %d, root %d%s%s, %s -> %s",
             pl_function_name(call->function), number, seed, call->rank, call->p, common->count,
             common->root, common->in_place ? ", in place" : "", common->mixed ? ", mixed" : "",
             reduces ? call->reduction.name : send->form.text, receive->form.text);
}

void random_call_make(struct random_call *call, unsigned long long seed, long number,
                      enum pl_function only, int color, MPI_Comm comm)
{
    const int functions = only == PL_FUNCTION_COUNT ? PL_FN_reduce_local : 1;
    MPI_Comm_size(comm, &call->p);
    MPI_Comm_rank(comm, &call->rank);
    call->function = functions == 1 ? only : (enum pl_function)(number % functions);
    struct common common = {.draw = draw_from(seed, (unsigned long long)number, (unsigned)color)};
    struct draw own = draw_from(common.draw.state, 1, (unsigned)call->rank), alike = common.draw;
    common.counts = draw_bits(&common.draw);
    common.pairwise = call->function == PL_FN_alltoallv;
    common.count =
        draw_count(&common.draw, number / functions, call->p, has_blocks(call->function));
    common.root = has_root(call->function) ? draw_below(&common.draw, call->p) : 0;
    common.in_place = has_in_place(call->function) && draw_chance(&common.draw, 30);
    common.mixed = draw_chance(&common.draw, 50);
    struct signature signature = signature_draw(&common.draw);
    call->reduction = (struct operator_drawn){0};
    if (call->function == PL_FN_barrier)
        signature = signature_of(MPI_BYTE, 1);
    if (pl_reduces(call->function))
        call->reduction = operator_draw(&common.draw);
    spare_the_library(call, &common);
    for (int which = 0; which < 2; which++) {
        struct side *side = &call->side[which];
        if (pl_reduces(call->function)) {
            side->form = call->reduction.form;
            side->form.made = false;
            measure_reduced(call, &common, which);
        } else {
            side->form = form_draw(common.mixed ? &own : &alike, &signature, false);
            measure_moved(call, &common, &own, which);
        }
        fit(side);
        fill_side(side, draw_from(own.state, 2, (unsigned)which), call->reduction.doubles);
    }
    call->ours = arguments(call, &common, comm, true);
    call->theirs = arguments(call, &common, comm, false);
    if (pl_reduces(call->function))
        operator_expect(&call->reduction, call->vector);
    describe(call, &common, seed, number);
}

void random_call_end(struct random_call *call)
{
    for (int which = 0; which < 2; which++)
        form_free(&call->side[which].form);
    form_free(&call->reduction.form);
}

void random_call_free(struct random_call *call)
{
    for (int which = 0; which < 2; which++) {
        free(call->side[which].before);
        free(call->side[which].ours);
        free(call->side[which].theirs);
    }
}
