#include "overlap/trace.h"

#include <stdlib.h>
#include <string.h>

bool pl_trace_open(struct pl_trace *trace, const struct pl_clock *clock, int ranks)
{
    const size_t bytes = PL_TRACE_EVENTS * sizeof *trace->events;
    *trace = (struct pl_trace){.clock = clock, .events = malloc(bytes), .ranks = ranks};
    trace->posted = calloc((size_t)ranks, sizeof *trace->posted);
    if (trace->events)
        memset(trace->events, 0, bytes); /* its pages are there */
    return trace->events && trace->posted;
}

void pl_trace_close(struct pl_trace *trace)
{
    free(trace->events);
    free(trace->posted);
    *trace = (struct pl_trace){0};
}

void pl_trace_enter(struct pl_trace *trace, int triple, int part)
{
    trace->triple = triple;
    trace->part = part;
    trace->expected_count = 0;
    memset(trace->posted, 0, (size_t)trace->ranks * sizeof *trace->posted);
}

static void put(struct pl_trace *trace, const char *name, int peer, int number, int64_t begin_ns,
                int64_t end_ns)
{
    if (trace->count == PL_TRACE_EVENTS)
        return;
    if (trace->count == PL_TRACE_EVENTS - 1)
        name = PL_TRACE_FULL;
    struct pl_event *event = &trace->events[trace->count++];
    *event = (struct pl_event){
        .begin_ns = begin_ns,
        .end_ns = end_ns,
        .peer = peer,
        .number = number,
        .triple = trace->triple,
        .part = trace->part,
    };
    strncat(event->name, name, sizeof event->name - 1);
}

/* `now_ns`: read before the bytes are. */
static void look(struct pl_trace *trace, int64_t now_ns)
{
    for (int i = 0; i < trace->expected_count; i++) {
        struct pl_expected *one = &trace->expected[i];
        if (!*one->byte) {
            one->missed_ns = now_ns;
            continue;
        }
        put(trace, "arrival", one->peer, one->number, one->missed_ns, trace->clock->now_ns());
        memmove(one, one + 1, (size_t)(--trace->expected_count - i) * sizeof *one);
        i--;
    }
}

void pl_trace_add(struct pl_trace *trace, const char *name, int peer, int64_t begin_ns)
{
    int64_t end_ns = trace->clock->now_ns();
    put(trace, name, peer, 0, begin_ns, end_ns);
    look(trace, end_ns);
}

void pl_trace_inside(struct pl_trace *trace, const char *name, int64_t begin_ns)
{
    put(trace, name, -1, 0, begin_ns, trace->clock->now_ns());
}

void pl_trace_expect_byte(struct pl_trace *trace, char *byte, int peer)
{
    int number = trace->posted[peer]++;
    if (trace->expected_count == PL_TRACE_EXPECTED)
        return;
    *byte = 0;
    trace->expected[trace->expected_count++] =
        (struct pl_expected){byte, peer, number, trace->clock->now_ns()};
}

void pl_trace_look(struct pl_trace *trace)
{
    look(trace, trace->clock->now_ns());
}

void pl_trace_globalise(struct pl_trace *trace, const struct pl_model *model)
{
    for (int i = 0; i < trace->count; i++) {
        struct pl_event *event = &trace->events[i];
        event->begin_ns = pl_model_apply(model, event->begin_ns);
        event->end_ns = pl_model_apply(model, event->end_ns);
    }
}

void pl_trace_send(const struct pl_trace *trace, int to, int tag, MPI_Comm comm)
{
    PMPI_Send(trace->events, trace->count * (int)sizeof *trace->events, MPI_BYTE, to, tag, comm);
}

void pl_trace_receive(struct pl_trace *trace, int from, int tag, MPI_Comm comm)
{
    MPI_Status status;
    int bytes;
    PMPI_Recv(trace->events, PL_TRACE_EVENTS * (int)sizeof *trace->events, MPI_BYTE, from, tag,
              comm, &status);
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    trace->count = bytes / (int)sizeof *trace->events;
}
