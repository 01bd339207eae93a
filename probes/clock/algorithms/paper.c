#include "clock/algorithms/paper.h"

#include <stdlib.h>

/* Each exchange is a word of the client, whether there will be more, and the server's time. */
struct trip {
    int64_t begin_ns, end_ns; /* own time */
    int64_t server_ns;
};

static struct trip exchange(struct pl_wire *wire, int server, bool more)
{
    const int64_t word = more;
    struct trip trip = {.begin_ns = wire->now_ns(wire)};
    wire->send(wire, server, &word, (int)sizeof word);
    wire->recv(wire, server, &trip.server_ns, (int)sizeof trip.server_ns);
    trip.end_ns = wire->now_ns(wire);
    return trip;
}

static void answer(struct pl_wire *wire, int client)
{
    int64_t more = 1;
    while (more) {
        wire->recv(wire, client, &more, (int)sizeof more);
        int64_t now_ns = wire->now_ns(wire);
        wire->send(wire, client, &now_ns, (int)sizeof now_ns);
    }
}

static int by_value(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int64_t median(int64_t *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static int64_t round_trip(struct pl_wire *wire, int server)
{
    int64_t trips_ns[PL_PAPER_TRIPS];
    for (int i = 0; i < PL_PAPER_TRIPS; i++) {
        struct trip trip = exchange(wire, server, true);
        trips_ns[i] = trip.end_ns - trip.begin_ns;
    }
    return median(trips_ns, PL_PAPER_TRIPS);
}

struct point {
    int64_t at_ns, offset_ns;
};

/* `last`: the server stops after it. */
static struct point point(struct pl_wire *wire, int server, int exchanges, int64_t trip_ns,
                          bool last)
{
    int64_t offsets_ns[PL_PAPER_TRIPS], begin_ns = wire->now_ns(wire), end_ns = begin_ns;
    for (int i = 0; i < exchanges; i++) {
        struct trip trip = exchange(wire, server, !last || i < exchanges - 1);
        offsets_ns[i] = trip.server_ns + trip_ns / 2 - trip.end_ns;
        end_ns = trip.end_ns;
    }
    return (struct point){begin_ns + (end_ns - begin_ns) / 2, median(offsets_ns, exchanges)};
}

static struct pl_model least_squares(const struct point *points, int count)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        x += (double)(points[i].at_ns - points[0].at_ns) / count;
        y += (double)(points[i].offset_ns - points[0].offset_ns) / count;
    }
    for (int i = 0; i < count; i++) {
        double dx = (double)(points[i].at_ns - points[0].at_ns) - x;
        xx += dx * dx;
        xy += dx * ((double)(points[i].offset_ns - points[0].offset_ns) - y);
    }
    return (struct pl_model){points[0].at_ns + (int64_t)x, points[0].offset_ns + (int64_t)y,
                             xx > 0 ? xy / xx : 0};
}

struct pl_model pl_paper_line(struct pl_wire *wire, int server)
{
    struct point points[PL_PAPER_POINTS];
    const int64_t trip_ns = round_trip(wire, server), start_ns = wire->now_ns(wire);
    for (int i = 0; i < PL_PAPER_POINTS; i++) {
        wire->wait_until(wire, start_ns + wire->fit_ns * i / (PL_PAPER_POINTS - 1));
        points[i] = point(wire, server, PL_PAPER_EXCHANGES, trip_ns, i == PL_PAPER_POINTS - 1);
    }
    return least_squares(points, PL_PAPER_POINTS);
}

struct pl_model pl_paper_intercept(struct pl_wire *wire, int server)
{
    const int64_t trip_ns = round_trip(wire, server);
    struct point one = point(wire, server, PL_PAPER_TRIPS, trip_ns, true);
    return (struct pl_model){one.at_ns, one.offset_ns, 0};
}

struct pl_model pl_paper_shortest(struct pl_wire *wire, int server)
{
    struct trip shortest = exchange(wire, server, true);
    for (int since = 0; since < PL_PAPER_TRIPS; since++) {
        struct trip trip = exchange(wire, server, true);
        if (trip.end_ns - trip.begin_ns < shortest.end_ns - shortest.begin_ns) {
            shortest = trip;
            since = 0;
        }
    }
    exchange(wire, server, false);
    int64_t middle_ns = shortest.begin_ns + (shortest.end_ns - shortest.begin_ns) / 2;
    return (struct pl_model){middle_ns, shortest.server_ns - middle_ns, 0};
}

void pl_paper_teach_line(struct pl_wire *wire, int client, const struct pl_model *model)
{
    (void)model; /* the timer itself: models are merged afterwards */
    answer(wire, client);
}

void pl_paper_teach_intercept(struct pl_wire *wire, int client, const struct pl_model *model)
{
    pl_paper_teach_line(wire, client, model);
}

void pl_paper_teach_shortest(struct pl_wire *wire, int client, const struct pl_model *model)
{
    pl_paper_teach_line(wire, client, model);
}
