#include "accounts.h"

#include <stddef.h>

static long taken, given_back;

long accounts_taken(void)
{
    return taken;
}

long accounts_open(void)
{
    return taken - given_back;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);

static void *counted(void *block)
{
    taken += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    given_back += block != NULL;
    return counted(__real_realloc(block, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *block)
{
    given_back += block != NULL;
    __real_free(block);
}
