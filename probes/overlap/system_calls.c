/* What the library itself does in a traced repetition, as far as it asks the kernel to move data:
 * copies between processes (CMA) and sockets. A library that is loaded later finds these functions
 * before those of the C library, and each call becomes an event inside the MPI call that makes it.
 * Threads of the library have no trace. Without one a call costs a test more. */
#include "overlap/trace.h"

#include "simulated.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

_Thread_local struct pl_trace *pl_trace_of_calls;

#if !PL_SIMULATED
/* Defines one of the functions: the kernel's call of the same name, with its arguments. */
#define SYSTEM_CALL(name, parameters, ...)                                                         \
    __attribute__((visibility("default"))) ssize_t name parameters                                 \
    {                                                                                              \
        struct pl_trace *trace = pl_trace_of_calls;                                                \
        const int64_t begin = pl_trace_start(trace);                                               \
        const ssize_t result = syscall(SYS_##name, __VA_ARGS__);                                   \
        const int error = errno;                                                                   \
        if (trace && (result > 0 || error != EAGAIN))                                              \
            pl_trace_inside(trace, #name, begin);                                                  \
        errno = error;                                                                             \
        return result;                                                                             \
    }

SYSTEM_CALL(process_vm_readv,
            (pid_t pid, const struct iovec *local, unsigned long local_count,
             const struct iovec *remote, unsigned long remote_count, unsigned long flags),
            pid, local, local_count, remote, remote_count, flags)
SYSTEM_CALL(process_vm_writev,
            (pid_t pid, const struct iovec *local, unsigned long local_count,
             const struct iovec *remote, unsigned long remote_count, unsigned long flags),
            pid, local, local_count, remote, remote_count, flags)
SYSTEM_CALL(readv, (int file, const struct iovec *parts, int count), file, parts, count)
SYSTEM_CALL(writev, (int file, const struct iovec *parts, int count), file, parts, count)
SYSTEM_CALL(recvmsg, (int socket, struct msghdr *message, int flags), socket, message, flags)
SYSTEM_CALL(sendmsg, (int socket, const struct msghdr *message, int flags), socket, message, flags)
#endif
