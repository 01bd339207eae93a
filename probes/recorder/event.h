/* The file of one rank: a `struct pl_record_header`, and from PL_FIRST_SLOT slots of one size.
 * A slot holds an event, or a piece of what events refer to: members of a communicator, frames of a
 * call site, the path of a module. tuner/plumbline/detect/read.py reads it; kinds.py has the same
 * numbers. All is in the order of bytes of the machine. */
#ifndef PL_RECORDER_EVENT_H
#define PL_RECORDER_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

enum { PL_PAYLOAD = 64, PL_FIRST_SLOT = 8192, PL_SKETCH = 3, PL_EXTREMES = 8, PL_FRAMES = 8 };

enum pl_kind {
    PL_UNUSED = 0, /* or not whole: the process ended while it was written */
    PL_SEND = 1,
    PL_RECEIVE = 2,
    PL_INPUT = 3,
    PL_OUTPUT = 4,
    PL_PIECE = 16
};

enum pl_mode { PL_STANDARD, PL_SYNCHRONOUS, PL_BUFFERED, PL_READY };

enum pl_flag {
    PL_NONBLOCKING = 1,
    PL_PERSISTENT = 2,
    PL_PARTITIONED = 4,
    PL_ANY_SOURCE = 8,
    PL_ANY_TAG = 16,
    PL_NOT_CONTIGUOUS = 32,
    PL_IN_PLACE = 64,
    PL_CANCELLED = 128,
    PL_INCOMPLETE = 256,
    PL_UNKNOWN_CONTENT = 512,
    PL_FAILED = 1024,
    PL_EXCHANGE = 2048,
    PL_MATCHED_PROBE = 4096,
    PL_NEIGHBOURS = 8192
};

enum pl_element {
    PL_MIXED,
    PL_INT8,
    PL_UINT8,
    PL_INT16,
    PL_UINT16,
    PL_INT32,
    PL_UINT32,
    PL_INT64,
    PL_UINT64,
    PL_FLOAT32,
    PL_FLOAT64,
    PL_COMPLEX64,
    PL_COMPLEX128,
    PL_LOGICAL,
    PL_CHARACTER,
    PL_BYTE,
    PL_FLOAT32_INT32,
    PL_FLOAT64_INT32,
    PL_INT64_INT32,
    PL_INT32_INT32,
    PL_INT16_INT32,
    PL_FLOAT32_FLOAT32,
    PL_FLOAT64_FLOAT64
};

/* Of a piece, `function` is one of these, `site` what it is a piece of, `extent` the byte of it
 * that the piece begins with, `bytes` how many there are in all. */
enum pl_table {
    PL_MEMBERS = 1, /* int32_t world ranks of a communicator; `tag`: its number among its like */
    PL_REMOTE = 2,  /* the same of an inter-communicator's other group */
    PL_STACK = 3,   /* uint64_t: module << 48 | address in its file, innermost frame first */
    PL_MODULE = 4   /* path */
};

struct pl_slot {
    int64_t post, start, end; /* ns of this host's clock */
    uint64_t address;
    int64_t extent, bytes;
    uint64_t content, poly, signature;
    double sketch[PL_SKETCH];
    int32_t peer; /* in the communicator; -1: any, none */
    int32_t tag;
    int32_t comm, site;
    uint32_t flags;
    uint16_t function;
    uint8_t mode;
    _Atomic uint8_t kind; /* written last */
    uint8_t element, operation;
    uint16_t thread;
    int32_t blocks;
    union {
        uint8_t payload[PL_PAYLOAD];
        double extremes[PL_EXTREMES];
        uint64_t frames[PL_FRAMES];
    };
};
_Static_assert(sizeof(struct pl_slot) == 192, "three cache lines");

/* This rank's clock against rank 0's: theirs - ours, from the fastest of several round trips. */
struct pl_clock_offset {
    int64_t at, offset, round_trip; /* round_trip 0: not measured */
};

enum { PL_NAME = 32, PL_FUNCTION_NAMES = 128, PL_CPU_WORDS = 16 };

struct pl_record_header {
    char magic[8];
    uint32_t one, header_bytes, slot_bytes, first_slot; /* one: in the order of bytes here */
    int32_t rank, nprocs;
    int64_t job;   /* equal on all ranks */
    int64_t limit; /* slots that there may be */
    int64_t begin, end;
    struct pl_clock_offset at_begin, at_end;
    _Atomic int64_t used, lost; /* used: may pass the limit; lost: events */
    int32_t finished, functions;
    char boot[40]; /* equal where ranks have one clock */
    char host[64], library[256];
    uint64_t cpus[PL_CPU_WORDS]; /* units that the rank may run on, a bit each; 0: not known */
    char names[PL_FUNCTION_NAMES][PL_NAME];
};
_Static_assert(sizeof(struct pl_record_header) <= PL_FIRST_SLOT, "the header ends before slots");

#endif
