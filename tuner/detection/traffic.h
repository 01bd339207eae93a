/* Messages as they are analysed, a column each: detect/traffic.py says what they are. */
#ifndef PL_DETECTION_TRAFFIC_H
#define PL_DETECTION_TRAFFIC_H

#include <stdint.h>

enum { PL_KEPT_BYTES = 64 }; /* of a message that are kept as they are: recording.PAYLOAD */

/* `payload`: in each of the recording's events, of so many bytes, where what is kept begins. */
struct pl_traffic {
    int64_t count, ranks, event_bytes, payload;
    const int64_t *source, *target, *comm, *tag, *bytes, *kind, *content, *element;
    const int64_t *from_address, *to_address, *from_gaps, *to_gaps, *send_site, *receive_site;
    const int64_t *poly, *sent, *received, *sent_as, *points, *send_event, *width;
    const uint8_t *events, *crossed;
};

/* PL_KEPT_BYTES of a message that is no longer: its bytes, then zeros. */
static inline const uint8_t *pl_payload(const struct pl_traffic *traffic, int64_t message)
{
    return traffic->events + traffic->send_event[message] * traffic->event_bytes + traffic->payload;
}

/* Numbers by owner: those of owner i begin at first[i] and end before first[i + 1]. */
struct pl_rows {
    int64_t count;
    const int64_t *first, *at;
};

/* What messages carry: triples (item, first byte, end). Several messages may share theirs. */
struct pl_parts {
    const int64_t *first, *count, *at;
};

#endif
