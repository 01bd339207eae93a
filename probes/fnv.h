/* A hash of bytes. */
#ifndef PL_FNV_H
#define PL_FNV_H

#include <stddef.h>
#include <stdint.h>

#define PL_FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* FNV-1a, 64 bits, of what `value` is the hash of and these bytes. */
static inline uint64_t pl_fnv(uint64_t value, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        value = (value ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return value;
}

#endif
