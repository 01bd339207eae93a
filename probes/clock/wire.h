/* What a clock synchronisation algorithm has to work with: some processes, each with a clock, and
 * messages between them. Under MPI it is made of point-to-point messages (clock/global.c); the unit
 * tests put simulated clocks and delays in its place. */
#ifndef PL_WIRE_H
#define PL_WIRE_H

#include <stdbool.h>
#include <stdint.h>

struct pl_wire {
    int rank, size;
    bool drift;     /* the clocks may run at different rates: they do not share an oscillator */
    int64_t fit_ns; /* over how long a time a rate is learnt */

    void (*send)(struct pl_wire *wire, int to, const void *data, int bytes);
    void (*recv)(struct pl_wire *wire, int from, void *data, int bytes);
    int64_t (*now_ns)(struct pl_wire *wire);
    void (*wait_until)(struct pl_wire *wire, int64_t own_ns);
};

#endif
