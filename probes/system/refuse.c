#include "system/refuse.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Instructions that return `code`; how many bytes they take, 0 on a processor that is not known. */
static size_t instructions(int code, unsigned char to[PL_REFUSE_BYTES])
{
#if defined(__x86_64__)
    const unsigned char text[] = {0xf3, 0x0f,
                                  0x1e, 0xfa, /* endbr64 */
                                  0xb8, (unsigned char)code,
                                  0,    0,
                                  0,     /* mov eax */
                                  0xc3}; /* ret */
#elif defined(__aarch64__)
    const uint32_t text[] = {0x52800000U | (uint32_t)code << 5, 0xd65f03c0U}; /* mov w0; ret */
#else
    const unsigned char text[] = {0};
    (void)code;
#endif
    memcpy(to, text, sizeof text);
    return sizeof text > 1 ? sizeof text : 0;
}

static int write_code(unsigned char *at, const unsigned char *from, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char *start = at - (uintptr_t)at % page;
    const size_t length = (size_t)(at - start) + bytes;
    if (mprotect(start, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return -1;
    memcpy(at, from, bytes);
    __builtin___clear_cache((char *)at, (char *)at + bytes);
    return mprotect(start, length, PROT_READ | PROT_EXEC);
}

const char *pl_refuse_open(struct pl_refusals *refusals)
{
    const char *names = getenv("PLUMBLINE_REFUSES");
    unsigned char code[PL_REFUSE_BYTES];
    const size_t bytes = instructions(MPI_ERR_OTHER, code);
    const char *failure = NULL;

    *refusals = (struct pl_refusals){0};
    if (!names)
        return NULL;
    if (bytes == 0)
        return "functions of the library cannot be made to refuse on this processor";
    while (*names && !failure) {
        char name[128];
        const size_t length = strcspn(names, ",");
        if (length >= sizeof name || refusals->count == PL_REFUSE_MOST)
            failure = "PLUMBLINE_REFUSES is too long";
        else {
            memcpy(name, names, length);
            name[length] = '\0';
            unsigned char *at = dlsym(RTLD_DEFAULT, name);
            if (!at)
                failure = "the library has no function of a name in PLUMBLINE_REFUSES";
            else {
                refusals->function[refusals->count].at = at;
                memcpy(refusals->function[refusals->count++].own, at, PL_REFUSE_BYTES);
                if (write_code(at, code, bytes) != 0)
                    failure = "code of the library cannot be written here";
            }
        }
        names += length + (names[length] == ',');
    }
    if (failure)
        pl_refuse_close(refusals);
    return failure;
}

void pl_refuse_close(struct pl_refusals *refusals)
{
    while (refusals->count > 0) {
        refusals->count--;
        write_code(refusals->function[refusals->count].at, refusals->function[refusals->count].own,
                   PL_REFUSE_BYTES);
    }
}
