#include "measure/cache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t by_machine(const struct pl_cache_sizes *sizes, int ppn)
{
    size_t most = sizes->memory_bytes / 8 / (size_t)ppn / 2;
    size_t bytes = 2 * sizes->largest_bytes;
    return larger(bytes > most ? most : bytes, 2 * sizes->private_bytes);
}

size_t pl_cache_area(const struct pl_cache_sizes *sizes, int ppn, size_t message_bytes,
                     size_t asked)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = asked ? asked : by_machine(sizes, ppn);
    bytes = larger(bytes, 2 * message_bytes + 3 * page);
    return (bytes + page - 1) / page * page;
}

size_t pl_cache_next(size_t end, size_t bytes, size_t size, size_t page, size_t line,
                     unsigned *turn)
{
    size_t shift = *turn * line % page;
    size_t next = end <= shift ? shift : (end - shift + page - 1) / page * page + shift;
    if (next + bytes <= size)
        return next;
    ++*turn;
    return *turn * line % page;
}

static size_t largest_message(const struct pl_plan *plan, const struct pl_world *world)
{
    size_t largest = 0;
    for (int i = 0; i < plan->case_count; i++) {
        struct pl_arguments_size size = pl_arguments_size(&plan->cases[i], world);
        largest = larger(largest, larger(size.send, size.recv));
    }
    return largest;
}

/* Touched, aligned memory. NULL: there is none. */
static unsigned char *allocate(size_t bytes, size_t page, void **memory)
{
    *memory = aligned_alloc(page, (bytes + page - 1) / page * page);
    return *memory ? memset(*memory, 0, bytes) : NULL;
}

const char *pl_cache_open(struct pl_cache *cache, const struct pl_plan *plan,
                          const struct pl_world *world, const struct pl_cache_sizes *sizes, int ppn)
{
    *cache = (struct pl_cache){
        .mode = plan->cache, .page = (size_t)sysconf(_SC_PAGESIZE), .line = sizes->line_bytes};
    if (plan->cache == PL_CACHE_WARM)
        return NULL;
    if (pl_p2p_agree(world, sizes->private_bytes == 0))
        return "hwloc sees no data cache of a core on some host, so how much makes it cold is not "
               "known; write cache=warm";
    bool cycle = plan->cache == PL_CACHE_CYCLE;
    cache->size = cycle ? pl_cache_area(sizes, ppn, largest_message(plan, world), plan->cache_bytes)
                        : PL_CACHE_OVERWRITTEN * sizes->private_bytes;
    if (cycle) {
        cache->send = allocate(cache->size, cache->page, &cache->memory[0]);
        cache->recv = allocate(cache->size, cache->page, &cache->memory[1]);
    } else {
        cache->auxiliary = allocate(cache->size, cache->page, &cache->memory[0]);
    }
    if (pl_p2p_agree(world, cycle ? !cache->send || !cache->recv : !cache->auxiliary))
        return "out of memory for cold caches; write cache=warm or start fewer ranks on a node";
    cache->bytes = (size_t)pl_p2p_agree(world, (int64_t)cache->size);
    return NULL;
}

void pl_cache_close(struct pl_cache *cache)
{
    for (size_t i = 0; i < sizeof cache->memory / sizeof *cache->memory; i++)
        free(cache->memory[i]);
    *cache = (struct pl_cache){0};
}

/* One write to every line brings it in. memset would not do: for large sizes it writes past the
 * caches. */
static void overwrite(struct pl_cache *cache)
{
    volatile unsigned char *bytes = cache->auxiliary;
    for (size_t i = 0; i < cache->size; i += cache->line)
        bytes[i]++;
}

void pl_cache_prepare(struct pl_cache *cache, struct pl_arguments *arguments)
{
    size_t bytes, start;
    switch (cache->mode) {
    case PL_CACHE_WARM:
        break;
    case PL_CACHE_OVERWRITE:
        overwrite(cache);
        break;
    case PL_CACHE_CYCLE:
        bytes = larger(arguments->send_bytes, arguments->recv_bytes);
        start =
            pl_cache_next(cache->end, bytes, cache->size, cache->page, cache->line, &cache->turn);
        cache->end = start + (bytes > 0 ? bytes : 1);
        arguments->call.sendbuf = cache->send + start;
        arguments->call.recvbuf = cache->recv + start;
        break;
    }
}
