/* What a program says of its own calls, for each rank a file `truth-RANK`: one line an event, in
 * the order in which they begin, as test_recorder.py reads it. Contents are hashed as packed here
 * by hand. */
#ifndef TRUTH_H
#define TRUTH_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* As in tuner/plumbline/detect/kinds.py. */
enum { SEND = 1, RECEIVE, INPUT, OUTPUT };
enum { STANDARD, SYNCHRONOUS, BUFFERED, READY };
enum {
    NONBLOCKING = 1,
    PERSISTENT = 2,
    PARTITIONED = 4,
    ANY_SOURCE = 8,
    ANY_TAG = 16,
    GAPS = 32,
    IN_PLACE = 64,
    CANCELLED = 128,
    INCOMPLETE = 256,
    UNKNOWN = 512,
    EXCHANGE = 2048,
    PROBED = 4096
};

struct line {
    const char *function;
    int kind, mode, flags, peer, tag;
    long long bytes;
    unsigned long long content;
};

static struct line lines[100000];
static int line_count;

/* The number of an event whose content is known already, or will be told. */
static inline int tell(const char *function, int kind, int mode, int flags, int peer, int tag,
                       const void *content, long long bytes)
{
    lines[line_count] = (struct line){function, kind, mode, flags, peer, tag, bytes, 0};
    if (content || bytes == 0)
        lines[line_count].content = XXH3_64bits(content ? content : "", (size_t)bytes);
    return line_count++;
}

/* What came of a receive. */
static inline void came(int number, int peer, int tag, const void *content, long long bytes)
{
    struct line *line = &lines[number];
    line->peer = peer;
    line->tag = tag;
    line->bytes = bytes;
    line->content = XXH3_64bits(content ? content : "", (size_t)bytes);
}

static inline void write_truth(void)
{
    int rank;
    char name[64];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "truth-%d", rank);
    FILE *file = fopen(name, "w");
    for (int i = 0; file && i < line_count; i++)
        fprintf(file, "%s %d %d %d %d %d %lld %llx\n", lines[i].function, lines[i].kind,
                lines[i].mode, lines[i].flags, lines[i].peer, lines[i].tag, lines[i].bytes,
                lines[i].content);
    if (!file || fclose(file) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

#endif
