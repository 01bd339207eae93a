/* A library to preload: the N-th system call of a kind fails, below a folder that is named.
 *
 * What fails is what a machine does to a program, so nothing in the program knows of it. Calls are
 * counted in memory that forked processes share: who has armed it reads what became of it. Files
 * are told by the path that the kernel knows of their descriptor; everything else is left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* As tests/faults/failing.py names them. */
enum fault { NONE, START, CHILD, WRITE, FULL, SYNC, READ, RENAME, CLOCK };

struct plan {
    enum fault fault;
    long number; /* of the call that fails, from 1 on */
    long amount; /* FULL: so many calls fail; CLOCK: seconds by which it is wrong from then on */
    char root[PATH_MAX];
    atomic_long seen;
    atomic_int fired;
    atomic_int cannot_start; /* a process that is to become a program: also by its other paths */
};

static struct plan *plan;

#define REAL(name) ((__typeof__(&(name)))real(#name))

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void)
{
    void *memory =
        mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    plan = memory == MAP_FAILED ? NULL : memory;
}

/* Nothing fails that was not armed; NONE ends it. */
EXPORTED void faults_arm(const char *root, int fault, long number, long amount)
{
    plan->fault = NONE;
    snprintf(plan->root, sizeof plan->root, "%s", root);
    plan->number = number;
    plan->amount = amount;
    plan->seen = 0;
    plan->fired = 0;
    plan->cannot_start = 0;
    plan->fault = (enum fault)fault;
}

EXPORTED long faults_seen(void)
{
    return plan->seen;
}

EXPORTED int faults_fired(void)
{
    return plan->fired;
}

/* Whether this call, of one of those that the fault is about, fails. */
static bool strikes(enum fault fault)
{
    if (plan == NULL || plan->fault != fault)
        return false;
    long call = 1 + atomic_fetch_add(&plan->seen, 1);
    long more = fault == CLOCK ? LONG_MAX - plan->number : fault == FULL ? plan->amount - 1 : 0;
    if (call < plan->number || call > plan->number + more)
        return false;
    plan->fired = 1;
    return true;
}

static bool below(const char *path)
{
    size_t length = strlen(plan->root);
    return strncmp(path, plan->root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_ours(int file)
{
    if (plan == NULL || plan->fault == NONE)
        return false;
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    int saved = errno;
    ssize_t length = readlink(name, path, sizeof path - 1);
    errno = saved;
    if (length < 0)
        return false;
    path[length] = '\0';
    return below(path);
}

static bool fails(enum fault fault, int file, int error)
{
    if (plan == NULL || plan->fault != fault || !is_ours(file) || !strikes(fault))
        return false;
    errno = error;
    return true;
}

/* Writing: an error of the device once, or no space from there on. */
static bool write_fails(int file)
{
    return fails(WRITE, file, EIO) || fails(FULL, file, ENOSPC);
}

EXPORTED ssize_t write(int file, const void *data, size_t count)
{
    return write_fails(file) ? -1 : REAL(write)(file, data, count);
}

EXPORTED ssize_t pwrite(int file, const void *data, size_t count, off_t where)
{
    return write_fails(file) ? -1 : REAL(pwrite)(file, data, count, where);
}

EXPORTED ssize_t pwrite64(int file, const void *data, size_t count, off64_t where)
{
    return write_fails(file) ? -1 : REAL(pwrite64)(file, data, count, where);
}

EXPORTED ssize_t writev(int file, const struct iovec *parts, int count)
{
    return write_fails(file) ? -1 : REAL(writev)(file, parts, count);
}

EXPORTED ssize_t sendfile(int to, int from, off_t *where, size_t count)
{
    return write_fails(to) ? -1 : REAL(sendfile)(to, from, where, count);
}

EXPORTED ssize_t sendfile64(int to, int from, off64_t *where, size_t count)
{
    return write_fails(to) ? -1 : REAL(sendfile64)(to, from, where, count);
}

/* A new file or folder wants space, too. */
static bool is_full_for(const char *path)
{
    if (plan == NULL || plan->fault != FULL || !below(path) || access(path, F_OK) == 0 ||
        !strikes(FULL))
        return false;
    errno = ENOSPC;
    return true;
}

EXPORTED int mkdir(const char *path, mode_t mode)
{
    return is_full_for(path) ? -1 : REAL(mkdir)(path, mode);
}

#define OPENED(name, path, flags)                                                                  \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode = va_arg(rest, mode_t);                                                               \
        va_end(rest);                                                                              \
    }                                                                                              \
    if (((flags)&O_CREAT) != 0 && is_full_for(path))                                               \
        return -1;                                                                                 \
    return REAL(name)(path, flags, mode)

EXPORTED int open(const char *path, int flags, ...)
{
    OPENED(open, path, flags);
}

EXPORTED int open64(const char *path, int flags, ...)
{
    OPENED(open64, path, flags);
}

EXPORTED int fsync(int file)
{
    return fails(SYNC, file, EIO) ? -1 : REAL(fsync)(file);
}

EXPORTED int fdatasync(int file)
{
    return fails(SYNC, file, EIO) ? -1 : REAL(fdatasync)(file);
}

EXPORTED ssize_t read(int file, void *data, size_t count)
{
    return fails(READ, file, EIO) ? -1 : REAL(read)(file, data, count);
}

EXPORTED ssize_t pread(int file, void *data, size_t count, off_t where)
{
    return fails(READ, file, EIO) ? -1 : REAL(pread)(file, data, count, where);
}

EXPORTED ssize_t pread64(int file, void *data, size_t count, off64_t where)
{
    return fails(READ, file, EIO) ? -1 : REAL(pread64)(file, data, count, where);
}

EXPORTED int rename(const char *from, const char *to)
{
    if (plan != NULL && plan->fault == RENAME && below(to) && strikes(RENAME)) {
        errno = EIO;
        return -1;
    }
    return REAL(rename)(from, to);
}

/* In the new process, which its parent may share memory with (vfork): it cannot become the program,
 * or it is killed before it has begun. */
EXPORTED int execve(const char *path, char *const words[], char *const environment[])
{
    if (plan != NULL && plan->fault == CHILD && access(path, X_OK) == 0 && strikes(CHILD))
        kill(getpid(), SIGKILL);
    if (plan != NULL && plan->fault == START && access(path, X_OK) == 0) {
        if (plan->cannot_start != getpid() && strikes(START))
            plan->cannot_start = getpid();
        if (plan->cannot_start == getpid()) {
            errno = EAGAIN;
            return -1;
        }
    }
    return REAL(execve)(path, words, environment);
}

EXPORTED int execv(const char *path, char *const words[])
{
    return execve(path, words, environ);
}

static bool clock_is_wrong(void)
{
    return plan != NULL && plan->fault == CLOCK && strikes(CLOCK);
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = REAL(clock_gettime)(clock, now);
    if (status == 0 && clock == CLOCK_REALTIME && clock_is_wrong())
        now->tv_sec += plan->amount;
    return status;
}

EXPORTED int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int status = REAL(gettimeofday)(now, zone);
    if (status == 0 && clock_is_wrong())
        now->tv_sec += plan->amount;
    return status;
}

EXPORTED time_t time(time_t *now)
{
    struct timespec moment;
    if (clock_gettime(CLOCK_REALTIME, &moment) != 0)
        return (time_t)-1;
    if (now != NULL)
        *now = moment.tv_sec;
    return moment.tv_sec;
}
