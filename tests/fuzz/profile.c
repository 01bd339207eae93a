/* The reader of profiles: whatever the text is, it is a profile, or an error that says why. */
#include "preload/profile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_profile profile = {0};
    struct pl_profile_error error = {0};
    char *text = malloc(size + 1); /* exact, so that a sanitizer sees a read past the end */
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (pl_profile_parse(text, size, &profile, &error)) {
        pl_profile_fits(&profile, "Open MPI v4.1.4");
        pl_profile_free(&profile);
    } else if (error.what[0] == '\0') {
        abort();
    }
    free(text);
    return 0;
}
