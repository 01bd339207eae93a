/* Events of a recording, as Python has them in memory. */
#ifndef PL_DETECTION_RECORDED_H
#define PL_DETECTION_RECORDED_H

#include "../../probes/recorder/event.h"

/* recording.EVENT */
struct __attribute__((packed)) pl_event {
    int64_t post, start, end;
    int32_t rank;
    int64_t serial;
    uint8_t kind, mode;
    uint32_t flags;
    uint16_t function, thread;
    int32_t comm, peer, tag;
    int64_t sequence;
    int32_t blocks;
    int64_t bytes;
    uint64_t signature;
    uint8_t element, operation;
    uint64_t address;
    int64_t extent;
    uint64_t content, poly;
    double sketch[PL_SKETCH];
    uint8_t payload[PL_PAYLOAD];
    double extremes[PL_EXTREMES];
    int32_t site;
};
_Static_assert(sizeof(struct pl_event) == 276, "recording.EVENT");

struct pl_event_rows {
    int64_t count;
    const struct pl_event *at;
};

#endif
