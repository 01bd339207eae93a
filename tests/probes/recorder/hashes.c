/* Reads contents (element, bytes as 32 bits, content) and prints what each hash says of them: of
 * the code for all processors, then of that which this one has. */
#include "recorder/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print(pl_hash_function *hash, uint8_t element, const void *content, size_t bytes)
{
    struct pl_slot slot = {.element = element};
    hash(&slot, content, bytes);
    printf("%" PRIu64 " %" PRIu64, slot.content, slot.poly);
    for (int i = 0; i < PL_SKETCH; i++)
        printf(" %.17g", slot.sketch[i]);
    for (int i = 0; i < PL_EXTREMES; i++)
        printf(" %.17g", bytes > PL_PAYLOAD ? slot.extremes[i] : 0.0);
    printf("\n");
}

int main(void)
{
    uint8_t element;
    uint32_t bytes;
    while (fread(&element, 1, 1, stdin) == 1 && fread(&bytes, sizeof bytes, 1, stdin) == 1) {
        char *content = malloc((size_t)bytes + 1);
        if (!content || fread(content, 1, bytes, stdin) != bytes)
            return 1;
        print(pl_hash_plainly, element, content, bytes);
        print(pl_hash, element, content, bytes);
        free(content);
    }
    return 0;
}
