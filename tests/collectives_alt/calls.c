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
    bool in_place, mixed, undisplaced;
    unsigned long long counts; /* seed of those by rank */
    struct typed_common typed; /* of MPI_Alltoallw */
    struct signature signature;
    struct draw alike; /* of datatypes that are the same on all ranks */
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

/* The most edges of graph_random have numbers below this one. */
enum { EDGE_NUMBERS = 128 };

/* Along an edge: those between the same ranks have one number, or are delivered in order. */
static int count_along(const struct common *common, int from, int to, int number)
{
    const int edge = (from * CALL_RANKS + to) * EDGE_NUMBERS + number;
    return count_of(common, (unsigned long long)edge);
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
}

static void get_room(struct side *side)
{
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
           function == PL_FN_allgatherv || function == PL_FN_alltoallv ||
           function == PL_FN_neighbor_allgatherv || function == PL_FN_neighbor_alltoallv;
}

/* Blocks of all ranks, or neighbours, on this side; else a block of this rank, or a vector. */
static bool is_gathered(enum pl_function function, int side)
{
    switch (function) {
    case PL_FN_gather:
    case PL_FN_gatherv:
    case PL_FN_allgather:
    case PL_FN_allgatherv:
    case PL_FN_neighbor_allgather:
    case PL_FN_neighbor_allgatherv:
        return side == 1;
    case PL_FN_scatter:
    case PL_FN_scatterv:
        return side == 0;
    default:
        return function == PL_FN_alltoall || function == PL_FN_alltoallv ||
               function == PL_FN_neighbor_alltoall || function == PL_FN_neighbor_alltoallv;
    }
}

static int places_of(const struct random_call *call, int which)
{
    if (!pl_has_neighbors(call->function))
        return call->p;
    return which == 0 ? call->graph->out : call->graph->in;
}

/* Elements of the signature in block `i` of a side. */
static int elements_in(const struct random_call *call, const struct common *common, int which,
                       int i)
{
    const struct graph *graph = call->graph;
    switch (call->function) {
    case PL_FN_alltoallv:
        return which == 0 ? count_between(common, call->rank, i)
                          : count_between(common, i, call->rank);
    case PL_FN_neighbor_alltoallv:
        return which == 0
                   ? count_along(common, call->rank, graph->destinations[i], graph->out_count[i])
                   : count_along(common, graph->sources[i], call->rank, graph->in_count[i]);
    case PL_FN_neighbor_allgatherv:
        return count_of(common, (unsigned)(which == 0 ? call->rank : graph->sources[i]));
    default:
        return is_v(call->function) ? count_of(common, (unsigned)i) : common->count;
    }
}

/* Elements of the signature in the block of this rank, or in any, where blocks are equal. */
static int own_elements(const struct random_call *call, const struct common *common)
{
    return is_v(call->function) ? count_of(common, (unsigned)call->rank) : common->count;
}

static void measure_moved(struct random_call *call, const struct common *common, struct draw *own,
                          int which)
{
    struct side *side = &call->side[which];
    const enum pl_function function = call->function;
    const bool gathered = is_gathered(function, which);
    const int places = places_of(call, which), per = side->form.per;
    side->own = own_elements(call, common) * per;
    for (int i = 0; i < places; i++)
        side->counts[i] = elements_in(call, common, which, i) * per;
    if (!is_v(function) || !gathered) {
        side->first = 0;
        side->elements = (gathered ? (long)places : 1) * side->own;
        return;
    }
    if ((function == PL_FN_alltoallv || function == PL_FN_neighbor_alltoallv) &&
        draw_chance(own, 50))
        empty_out(own, side, places);
    place_blocks(own, side, places);
}

static void measure_typed(struct random_call *call, const struct common *common, struct draw *own,
                          int which)
{
    struct side *side = &call->side[which];
    struct typed_blocks *typed = &side->typed;
    typed_blocks_make(typed, &common->typed, which == 0, call->p, call->rank, CALL_GUARD, own);
    side->form = (struct form){.text = "types of blocks"};
    side->zero = (long)typed->zero;
    side->bytes = typed->bytes;
    if (common->undisplaced) {
        side->zero += typed->displs[0];
        typed->displs[0] = 0;
    }
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
    side->own = side->counts[call->rank];
    side->elements = scattered && which == 1 && !common->in_place ? side->own : call->vector;
}

static void add_typed(struct pl_call *c, const struct side *send, const struct side *receive,
                      bool in_place)
{
    c->recvcounts = receive->typed.counts;
    c->rdispls = receive->typed.displs;
    c->recvtypes = receive->typed.types;
    if (in_place) {
        c->sendbuf = MPI_IN_PLACE;
        return;
    }
    c->sendcounts = send->typed.counts;
    c->sdispls = send->typed.displs;
    c->sendtypes = send->typed.types;
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
    if (function == PL_FN_alltoallw) {
        add_typed(&c, send, receive, common->in_place);
        return c;
    }
    c.recvtype = receive->form.type;
    c.recvcount = receive->own;
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
    c.sendcount = send->own;
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
 * data do not begin at their address; Allgatherv where ranks have other types for one signature;
 * Alltoallw on one rank, which multiplies displacements by the extent. */
static void spare_the_library(struct random_call *call, struct common *common)
{
    if (call->function == PL_FN_allgatherv)
        common->mixed = false;
    common->undisplaced = call->function == PL_FN_alltoallw && call->p == 1;
    if (call->reduction.form.low != 0 && common->count > LIBRARY_MOST)
        common->count = LIBRARY_MOST;
}

static void describe(struct random_call *call, const struct common *common, unsigned long long seed,
                     long number, const char *where)
{
    const struct form *send = &call->side[0].form, *receive = &call->side[1].form;
    snprintf(call->text, sizeof call->text,
             "%s, call %ld of seed %llu: rank %d of %d, %s, count %d, root %d%s%s, %s -> %s",
             pl_function_name(call->function), number, seed, call->rank, call->p, where,
             common->count, common->root, common->in_place ? ", in place" : "",
             common->mixed ? ", mixed" : "",
             pl_reduces(call->function) ? call->reduction.name : send->text, receive->text);
}

static struct common common_draw(struct random_call *call, const struct call_choice *choice,
                                 long number, int color)
{
    const enum pl_function function = call->function;
    const long serial = number / (choice->only == PL_FUNCTION_COUNT ? CALL_TURN : 1);
    struct common common = {
        .draw = draw_from(choice->seed, (unsigned long long)number, (unsigned)color)};
    common.alike = common.draw;
    common.counts = draw_bits(&common.draw);
    common.count = draw_count(&common.draw, serial, call->p, has_blocks(function));
    common.root = has_root(function) ? draw_below(&common.draw, call->p) : 0;
    common.in_place = has_in_place(function) && draw_chance(&common.draw, 30);
    common.mixed = draw_chance(&common.draw, 50);
    common.signature =
        function == PL_FN_barrier ? signature_of(MPI_BYTE, 1) : signature_draw(&common.draw);
    call->reduction = (struct operator_drawn){0};
    if (pl_reduces(function))
        call->reduction = operator_draw(&common.draw);
    common.typed = typed_common_draw(&common.draw);
    common.typed.in_place = common.in_place;
    spare_the_library(call, &common);
    common.typed.most = common.count + 1;
    return common;
}

static void make_side(struct random_call *call, struct common *common, struct draw *own, int which)
{
    struct side *side = &call->side[which];
    if (call->function == PL_FN_alltoallw) {
        measure_typed(call, common, own, which);
    } else if (pl_reduces(call->function)) {
        side->form = call->reduction.form;
        side->form.made = false;
        measure_reduced(call, common, which);
        fit(side);
    } else {
        side->form = form_draw(common->mixed ? own : &common->alike, &common->signature, false);
        measure_moved(call, common, own, which);
        fit(side);
    }
    get_room(side);
    fill_side(side, draw_from(own->state, 2, (unsigned)which), call->reduction.doubles);
}

enum pl_function call_turn(long number)
{
    const int turn = (int)(number % CALL_TURN);
    return (enum pl_function)(turn < PL_FN_reduce_local ? turn : turn + 1);
}

void random_call_make(struct random_call *call, const struct call_choice *choice, long number,
                      const struct call_group *group)
{
    call->function = choice->only == PL_FUNCTION_COUNT ? call_turn(number) : choice->only;
    const bool neighbors = pl_has_neighbors(call->function);
    const MPI_Comm comm = neighbors ? group->topology.comm : group->comm;
    MPI_Comm_size(comm, &call->p);
    MPI_Comm_rank(comm, &call->rank);
    call->graph = &group->topology.graph;
    struct common common = common_draw(call, choice, number, group->color);
    struct draw own = draw_from(common.alike.state, 1, (unsigned)call->rank);
    for (int which = 0; which < 2; which++)
        make_side(call, &common, &own, which);
    call->ours = arguments(call, &common, comm, true);
    call->theirs = arguments(call, &common, comm, false);
    if (pl_reduces(call->function))
        operator_expect(&call->reduction, call->vector);
    describe(call, &common, choice->seed, number, neighbors ? group->topology.name : "no topology");
}

void random_call_end(struct random_call *call)
{
    for (int which = 0; which < 2; which++) {
        if (call->function == PL_FN_alltoallw)
            typed_blocks_free(&call->side[which].typed, call->p);
        else
            form_free(&call->side[which].form);
    }
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
