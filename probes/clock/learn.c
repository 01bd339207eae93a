/* A ping-pong in which every message carries the time at which it left. Forth and back, the least
 * difference between arrival and departure is kept: what the ways took at their fastest, plus and
 * minus the offset. Half their difference is the offset if both ways were equally fast at their
 * fastest; half their sum bounds how far off that is. The least of each way is SKaMPI's estimate
 * (Worsch, Reussner and Augustin, On benchmarking collective MPI operations, EuroPVM/MPI 2002); the
 * stamps of both sides leave the server's own time out of it, as NTP does (Mills, Internet time
 * synchronization, IEEE Transactions on Communications 39, 1991). */
#include "clock/learn.h"

struct ping {
    int64_t left_ns;
};

struct pong {
    int64_t left_ns;
    int64_t forth_ns; /* least difference on the way to the server so far */
};

struct pl_offset pl_offset_ask(struct pl_wire *wire, int server, int exchanges,
                               const struct pl_model *own)
{
    struct pong pong = {0, 0};
    int64_t least = INT64_MAX, begin = wire->now_ns(wire), end = begin;
    for (int i = 0; i < exchanges; i++) {
        struct ping ping = {pl_model_apply(own, wire->now_ns(wire))};
        wire->send(wire, server, &ping, (int)sizeof ping);
        wire->recv(wire, server, &pong, (int)sizeof pong);
        end = wire->now_ns(wire);
        int64_t back = pl_model_apply(own, end) - pong.left_ns;
        if (back < least)
            least = back;
    }
    return (struct pl_offset){.at_ns = begin + (end - begin) / 2,
                              .offset_ns = (pong.forth_ns - least) / 2,
                              .bound_ns = (pong.forth_ns + least + 1) / 2};
}

void pl_offset_answer(struct pl_wire *wire, int client, int exchanges, const struct pl_model *model)
{
    struct pong pong = {0, INT64_MAX};
    for (int i = 0; i < exchanges; i++) {
        struct ping ping;
        wire->recv(wire, client, &ping, (int)sizeof ping);
        int64_t forth = pl_model_apply(model, wire->now_ns(wire)) - ping.left_ns;
        if (forth < pong.forth_ns)
            pong.forth_ns = forth;
        pong.left_ns = pl_model_apply(model, wire->now_ns(wire));
        wire->send(wire, client, &pong, (int)sizeof pong);
    }
}

struct pl_model pl_learn_offset(struct pl_wire *wire, int server)
{
    struct pl_offset offset = pl_offset_ask(wire, server, PL_OFFSET_EXCHANGES, &PL_MODEL_IDENTITY);
    return (struct pl_model){offset.at_ns, offset.offset_ns, 0};
}

void pl_teach_offset(struct pl_wire *wire, int client, const struct pl_model *model)
{
    pl_offset_answer(wire, client, PL_OFFSET_EXCHANGES, model);
}

/* The server may be busy with others until the first exchange comes back; the time over which the
 * line is learnt begins after that. */
struct pl_model pl_learn(struct pl_wire *wire, int server)
{
    struct pl_offset points[PL_FIT_POINTS];
    if (!wire->drift)
        return pl_learn_offset(wire, server);
    pl_offset_ask(wire, server, 1, &PL_MODEL_IDENTITY);
    int64_t start = wire->now_ns(wire);
    for (int i = 0; i < PL_FIT_POINTS; i++) {
        wire->wait_until(wire, start + wire->fit_ns * i / (PL_FIT_POINTS - 1));
        points[i] = pl_offset_ask(wire, server, PL_FIT_EXCHANGES, &PL_MODEL_IDENTITY);
    }
    return pl_fit_line(points, PL_FIT_POINTS).model;
}

void pl_teach_start(struct pl_wire *wire, int client)
{
    pl_offset_answer(wire, client, 1, &PL_MODEL_IDENTITY);
}

void pl_teach_point(struct pl_wire *wire, int client, const struct pl_model *model)
{
    pl_offset_answer(wire, client, PL_FIT_EXCHANGES, model);
}

void pl_teach(struct pl_wire *wire, int client, const struct pl_model *model)
{
    if (!wire->drift) {
        pl_teach_offset(wire, client, model);
        return;
    }
    pl_teach_start(wire, client);
    for (int i = 0; i < PL_FIT_POINTS; i++)
        pl_teach_point(wire, client, model);
}
