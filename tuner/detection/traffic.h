/* Messages as they are analysed, a column each: detect/traffic.py says what they are. */
#ifndef PL_DETECTION_TRAFFIC_H
#define PL_DETECTION_TRAFFIC_H

#include <stdint.h>

enum { PL_KEPT_BYTES = 64 }; /* of a message that are kept as they are: recording.PAYLOAD */

struct pl_traffic {
    int64_t count, ranks;
    const int64_t *source, *target, *comm, *tag, *bytes, *kind, *content, *element, *width;
    const int64_t *from_address, *to_address, *from_gaps, *to_gaps, *send_site, *receive_site;
    const int64_t *sent, *received, *points, *sent_as, *poly;
    const uint8_t *payload; /* PL_KEPT_BYTES a message */
};

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
