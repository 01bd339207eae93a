/* Puts a profile in force: reads it once, checks that it is for this library, groups its rules by
 * function, in the order of their bytes. A profile that cannot be used is reported once, by rank 0,
 * and changes nothing. */
#include "inner.h"
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool collective_load;

/* What stands in the way of reading a file; NULL with its length. */
static const char *not_readable(FILE *file, long long *length)
{
    struct stat status;
    if (!file || fstat(fileno(file), &status) != 0)
        return strerror(errno);
    *length = status.st_size;
    if (S_ISDIR(status.st_mode))
        return "a folder, not a file";
    if (!S_ISREG(status.st_mode))
        return "not a plain file";
    return *length >= INT_MAX ? "too long" : NULL;
}

/* The file as a string; NULL with pl_state.reason set. Opened so that no pipe is waited for. */
static char *read_file(const char *path, long long *length)
{
    char *text = NULL;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    const char *why = not_readable(file, length);
    if (!why && !(text = calloc(1, (size_t)*length + 1)))
        why = "out of memory";
    if (!why && fread(text, 1, (size_t)*length, file) != (size_t)*length)
        why = "cannot be read to its end";
    if (why) {
        snprintf(pl_state.reason, sizeof pl_state.reason, "%s: %s", path, why);
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

/* Messages of our own, before the application has any: a collective of the library would leave its
 * traces on MPI_COMM_WORLD (some count them; SimGrid's first one sends p (p - 1) messages). The
 * parent of a rank in the tree is the rank without its lowest set bit. */
enum { TAG = 7353 };

static void hand_down(void *buffer, int bytes, int rank, int size)
{
    int bit = 1;
    while (bit < size && !(rank & bit))
        bit <<= 1;
    if (rank > 0)
        PMPI_Recv(buffer, bytes, MPI_BYTE, rank - bit, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (bit >>= 1; bit > 0; bit >>= 1)
        if (rank + bit < size)
            PMPI_Send(buffer, bytes, MPI_BYTE, rank + bit, TAG, MPI_COMM_WORLD);
}

static bool all_of(bool mine, int rank, int size)
{
    char have = mine, theirs;
    int bit = 1;
    for (; bit < size && !(rank & bit); bit <<= 1) {
        if (rank + bit >= size)
            continue;
        PMPI_Recv(&theirs, 1, MPI_CHAR, rank + bit, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        have = have && theirs;
    }
    if (rank > 0)
        PMPI_Send(&have, 1, MPI_CHAR, rank - bit, TAG, MPI_COMM_WORLD);
    hand_down(&have, 1, rank, size);
    return have;
}

/* A node that sees another file, or none, or has not got the variables, must not decide
 * differently: rank 0 reads for all, and `path` is looked at there alone. NULL where rank 0 has
 * none. */
static char *read_for_all(const char *path, int rank, long long *length)
{
    char *text = NULL;
    *length = -1;
    if (rank == 0 && path && !(text = read_file(path, length)))
        *length = -1;
    if (rank == 0 && !pl_state.spawned)
        pl_control_read();
    struct {
        long long length;
        double share;
        uint32_t seed;
    } read = {*length, pl_state.share, pl_state.seed};
    int size;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    hand_down(&read, sizeof read, rank, size);
    *length = read.length;
    pl_state.share = read.share;
    pl_state.seed = read.seed;
    if (*length < 0)
        return NULL;
    if (rank != 0)
        text = calloc(1, (size_t)*length + 1);
    bool have = all_of(text != NULL, rank, size);
    if (have)
        hand_down(text, (int)*length, rank, size);
    else
        snprintf(pl_state.reason, sizeof pl_state.reason, "out of memory for the profile");
    if (!have)
        free(text);
    return have ? text : NULL;
}

/* For messages: a rank without the variable has the text from rank 0. */
static const char *name(void)
{
    return pl_state.path ? pl_state.path : "the profile of rank 0";
}

static struct pl_active_rule *no_rule(void)
{
    return pl_state.recording ? pl_recorded : NULL;
}

static int by_bytes(const void *left, const void *right)
{
    const struct pl_rule *one = ((const struct pl_active_rule *)left)->rule;
    const struct pl_rule *other = ((const struct pl_active_rule *)right)->rule;
    const long long a = one->bytes.from, b = other->bytes.from;
    return a == b ? one->line - other->line : a > b ? 1 : -1;
}

static void activate(void)
{
    struct pl_profile *profile = &pl_state.profile;
    struct pl_active_rule *next = calloc((size_t)profile->count + 1, sizeof *next);
    if (!next) {
        snprintf(pl_state.reason, sizeof pl_state.reason, "%s: out of memory", name());
        return;
    }
    pl_state.rules = next;
    pl_scratch_limit(profile->memory, pl_state.threads);
    pl_private_limit(profile->communicators);
    for (int f = 0; f < PL_FUNCTION_COUNT; f++) {
        struct pl_active_rule *first = next;
        for (int i = 0; i < profile->count; i++)
            if (profile->rules[i].function == (enum pl_function)f)
                (next++)->rule = &profile->rules[i];
        pl_state.functions[f].count = (int)(next - first);
        pl_ruled |= (unsigned)(next > first) << f;
        qsort(first, (size_t)(next - first), sizeof *first, by_bytes);
        atomic_store_explicit(&pl_state.functions[f].first, next > first ? first : no_rule(),
                              memory_order_release);
    }
}

static void take_profile(char *text, size_t length)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int version_length;
    struct pl_profile_error error;
    if (!pl_profile_parse(text, length, &pl_state.profile, &error)) {
        snprintf(pl_state.reason, sizeof pl_state.reason, "%s:%d: %s%s%s%s", name(), error.line,
                 error.token[0] ? "'" : "", error.token, error.token[0] ? "': " : "", error.what);
        return;
    }
    PMPI_Get_library_version(version, &version_length);
    if (!pl_profile_fits(&pl_state.profile, version)) {
        snprintf(pl_state.reason, sizeof pl_state.reason,
                 "%s: made for \"%s\", but this library is \"%.64s\"", name(),
                 pl_state.profile.library, version);
        return;
    }
    activate();
}

/* The folder is rank 0's to name, as the profile is: all ranks record, or none. */
static void begin_record(int rank)
{
    struct {
        long long job;
        char folder[PATH_MAX];
    } where = {0};
    const char *folder = getenv("PLUMBLINE_CALLS");
    if (folder && strlen(folder) < sizeof where.folder)
        strcpy(where.folder, folder);
    if (!collective_load) {
        pl_state.recording = where.folder[0] && pl_calls_open(where.folder, 0);
        return;
    }
    int size;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    where.job = where.folder[0] ? at.tv_sec * 1000000000LL + at.tv_nsec : 0;
    hand_down(&where.job, sizeof where.job, rank, size);
    if (where.job == 0)
        return;
    hand_down(where.folder, sizeof where.folder, rank, size);
    pl_state.recording = all_of(pl_calls_open(where.folder, where.job), rank, size);
    if (!pl_state.recording)
        pl_calls_close(false);
}

/* Asked when loaded: MPI_Comm_disconnect makes an orphan. */
static bool has_parent(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
#ifndef SMPI_H /* which has no such call */
    PMPI_Comm_get_parent(&parent);
#endif
    return parent != MPI_COMM_NULL;
}

/* Ranks have read the share of rank 0; they compare calls all, or none. */
static void begin_control(int rank)
{
    int size;
    if (!collective_load && rank == 0 && !pl_state.spawned && getenv("PLUMBLINE_CONTROL"))
        fprintf(stderr, "plumbline: PLUMBLINE_CONTROL is not used, as the start of MPI was not "
                        "seen; no calls are compared\n");
    if (pl_state.share == 0)
        return;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!all_of(pl_state.rules && pl_control_begin(), rank, size))
        pl_state.share = 0;
}

/* `text`, which is freed, is the profile; NULL where there is none. */
static void put_in_force(char *text, long long length, int rank)
{
    if (text)
        take_profile(text, (size_t)length);
    free(text);
    begin_control(rank);
    if (pl_state.rules)
        pl_accepts(MPI_OP_NULL, MPI_BYTE); /* while there is a context id for its questions */
    if (pl_state.path && pl_state.reason[0] && rank == 0)
        fprintf(stderr, "plumbline: %s; the profile is not used\n", pl_state.reason);
    if (!pl_state.path && !pl_state.rules && !pl_state.reason[0])
        snprintf(pl_state.reason, sizeof pl_state.reason, "PLUMBLINE_PROFILE is not set");
    if (!pl_state.rules)
        for (int f = 0; f < PL_FUNCTION_COUNT; f++)
            atomic_store_explicit(&pl_state.functions[f].first, no_rule(), memory_order_release);
}

static void load(void)
{
    int rank = 0, level = MPI_THREAD_MULTIPLE;
    long long length = -1;
    char *text = NULL;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Query_thread(&level);
    pl_state.threads = level == MPI_THREAD_MULTIPLE;
    pl_state.spawned = has_parent();
    pl_await_end();
    const char *path = getenv("PLUMBLINE_PROFILE");
    pl_state.path = path && *path ? path : NULL;
    if (collective_load)
        text = read_for_all(pl_state.path, rank, &length);
    else if (pl_state.path)
        text = read_file(pl_state.path, &length);
    if (!pl_state.spawned) /* with the variables of those who are recorded */
        begin_record(rank);
    put_in_force(text, length, rank);
}

void pl_load(bool collective)
{
    collective_load = collective;
    pthread_once(&once, load);
}

/* Puts the profile at `path`, which rank 0 reads, in force in place of the one before it, for the
 * following calls on all communicators. Collective over MPI_COMM_WORLD, while no other call is
 * under way. The rules before it stay in memory, as states of communicators point to them. The
 * probe calls this in ranks that stay alive (measure/process.c). */
__attribute__((visibility("default"))) void plumbline_load_again(const char *path)
{
    static char name_of_profile[PATH_MAX];
    int rank;
    long long length;
    pl_load(true);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name_of_profile, sizeof name_of_profile, "%s", path ? path : "");
    pl_state.path = name_of_profile[0] ? name_of_profile : NULL;
    pl_state.rules = NULL;
    pl_state.reason[0] = '\0';
    pl_state.profile = (struct pl_profile){0};
    pl_state.number++;
    pl_ruled = 0;
    for (int f = 0; f < PL_FUNCTION_COUNT; f++)
        pl_state.functions[f].count = 0;
    atomic_fetch_add_explicit(&pl_generation, 1, memory_order_acq_rel);
    char *text = read_for_all(pl_state.path, rank, &length);
    put_in_force(text, length, rank);
}
