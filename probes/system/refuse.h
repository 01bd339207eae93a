/* Functions inside the library that refuse: the canary of algorithms that a library takes, or does
 * not take, without a word. PLUMBLINE_REFUSES names them, with commas between; from open to close
 * each returns MPI_ERR_OTHER at once, so that the calls that come to it fail, and no others. */
#ifndef PL_REFUSE_H
#define PL_REFUSE_H

#include <stddef.h>

enum { PL_REFUSE_MOST = 4, PL_REFUSE_BYTES = 16 };

struct pl_refusals {
    int count;
    struct {
        unsigned char *at;
        unsigned char own[PL_REFUSE_BYTES];
    } function[PL_REFUSE_MOST];
};

/* NULL, or why it cannot be done here: then nothing refuses. Linux on x86-64 and AArch64. */
const char *pl_refuse_open(struct pl_refusals *refusals);
void pl_refuse_close(struct pl_refusals *refusals);

#endif
