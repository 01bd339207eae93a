/* The reader of plans: whatever the text is, it is a plan, or an error that says why. */
#include "plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int nprocs = 0; nprocs <= 4; nprocs += 4) {
        struct pl_plan plan = {0};
        struct pl_plan_error error = {0};
        char *text = malloc(size + 1); /* exact, so that a sanitizer sees a read past the end */
        if (size > 0)
            memcpy(text, data, size);
        if (!pl_plan_parse(&plan, text, size, nprocs, &error) && error.why[0] == '\0')
            abort();
        pl_plan_free(&plan);
    }
    return 0;
}
