/* The process around plans: one plan, or as many as are asked for while it lives. MPI is up once.
 */
#include "measure/checks.h"
#include "measure/idle.h"
#include "measure/run.h"
#include "simulated.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *started(struct pl_world *world)
{
    const char *refused = pl_world_start(world);
    if (refused && world->rank == 0)
        fprintf(stderr, "probe: PLUMBLINE_THREADS: %s\n", refused);
    return refused;
}

int pl_run(const char *plan_path, const char *out_path)
{
    struct pl_world world = {0};
    int result = started(&world) ? PL_EXIT_USAGE : pl_measure(&world, plan_path, out_path);
    pl_world_stop(&world);
    return result;
}

enum next { END, REFUSED, VISIT, VISIT_WITH_PROFILE };

struct request {
    int next;   /* enum next */
    int ranks;  /* of a group, which measures a plan of its own */
    int groups; /* at the same time: the first ranks, and those after them; the others sleep on */
    int code;   /* of the process, where it ends */
};

/* A number from 1 to `most` and nothing else; 0: it is none. */
static int number_of(const char *text, int most)
{
    char *end;
    const long number = strtol(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && number <= most ? (int)number : 0;
}

/* Paths, on rank 0, and on all ranks that measure where these are several groups; `profile` is
 * empty where the one in force stays. Their memory is that of `line`. */
struct paths {
    char *line, *out, *profile;
    size_t size;
};

/* Cuts `text` at its first tab; returns what follows, or its end where there is none. */
static char *cut(char *text)
{
    char *tab = strchr(text, '\t');
    if (!tab)
        return text + strlen(text);
    *tab = '\0';
    return tab + 1;
}

/* The line with its end, of `length` bytes, becomes paths. Only all ranks load a profile. */
static enum next split(struct paths *paths, size_t length, struct request *request)
{
    char *line = paths->line;
    const int all = request->ranks;
    line[length - 1] = '\0';
    if (length == sizeof "end" && strcmp(line, "end") == 0)
        return END;
    const bool whole = strlen(line) == length - 1 && (length < 2 || line[length - 2] != '\t');
    paths->out = cut(line);
    char *part = cut(paths->out);
    paths->profile = cut(part);
    const char *several = cut(paths->profile);
    const int ranks = *part ? number_of(part, all) : all;
    const int groups = *several && ranks ? number_of(several, all / ranks) : 1;
    const bool loads = *paths->profile && ranks == all;
    if (!whole || !*line || !*paths->out || !ranks || !groups || (*paths->profile && !loads))
        return REFUSED;
    request->ranks = ranks;
    request->groups = groups;
    return loads ? VISIT_WITH_PROFILE : VISIT;
}

/* On rank 0: wakes the ranks from `first` to the one before `end`, which take the request. */
static void hand_out(const struct pl_world *world, const struct pl_idle *idle,
                     struct request request, int first, int end)
{
    pl_idle_end(idle, world, first, end);
    for (int rank = first; rank < end; rank++)
        pl_p2p_hand(world, rank, &request, (int)sizeof request);
}

/* What this rank does next. Rank 0 blocks until there is a request, and the others sleep until one
 * is for them. A line that is cut by the end of the input is no request. */
static struct request await(const struct pl_world *world, const struct pl_idle *idle,
                            struct paths *paths)
{
    struct request request = {END, world->size, 1, PL_EXIT_FINE};
    if (world->rank == 0) {
        ssize_t length = getline(&paths->line, &paths->size, stdin);
        if (length > 0 && paths->line[length - 1] == '\n')
            request.next = (int)split(paths, (size_t)length, &request);
        hand_out(world, idle, request, 1, request.groups * request.ranks);
    } else {
        pl_idle_wait(idle, world);
        pl_p2p_hand(world, world->rank, &request, (int)sizeof request);
    }
    return request;
}

/* Returns whether the answer could be written, on all ranks. On standard error it marks the end of
 * what belongs to this visit. */
static bool answer(const struct pl_world *world, int number, int code)
{
    static const char text[] = "probe: visit %d ends with %d\n";
    bool lost = false;
    if (world->rank == 0) {
        fprintf(stderr, text, number, code);
        printf(text, number, code);
        lost = fflush(stdout) != 0;
    }
    return !pl_p2p_agree(world, lost);
}

/* Has the preload library put another profile in force; false, on all ranks, where it is not
 * there. */
static bool load_profile(const struct pl_world *world, const char *path)
{
    void (*load)(const char *) =
        (void (*)(const char *))dlsym(RTLD_DEFAULT, "plumbline_load_again");
    if (pl_p2p_agree(world, !load)) {
        if (world->rank == 0)
            fprintf(stderr, "probe: libplumbline.so is not preloaded on all ranks\n");
        return false;
    }
    load(path);
    pl_checks_forget();
    return true;
}

/* All ranks that measure get the paths of rank 0; false, on all of them, where one has no memory.
 */
static bool share(const struct pl_world *measuring, struct paths *paths)
{
    int bytes = 0;
    if (measuring->rank == 0)
        bytes = (int)(paths->out - paths->line) + (int)strlen(paths->out) + 1;
    pl_p2p_broadcast(measuring, &bytes, (int)sizeof bytes);
    if (measuring->rank > 0 && paths->size < (size_t)bytes) {
        free(paths->line);
        paths->line = malloc((size_t)bytes);
        paths->size = paths->line ? (size_t)bytes : 0;
    }
    if (pl_p2p_agree(measuring, !paths->line))
        return false;
    pl_p2p_broadcast(measuring, paths->line, bytes);
    paths->out = paths->line + strlen(paths->line) + 1;
    return true;
}

/* `path` of a group that is not the first one; to be freed. NULL: no memory. */
static char *of_group(const char *path, int group)
{
    const size_t size = strlen(path) + 16;
    char *own = malloc(size);
    if (own)
        snprintf(own, size, "%s.%d", path, group);
    return own;
}

/* Several groups measure a plan each, at the same time. Returns the worst code, on all ranks. */
static int measure_side_by_side(const struct pl_world *measuring, int ranks, struct paths *paths)
{
    if (!share(measuring, paths))
        return PL_EXIT_FAILED;
    const int group = measuring->rank / ranks;
    struct pl_world mine = pl_world_part(measuring, group * ranks, ranks);
    char *plan = group ? of_group(paths->line, group) : NULL;
    char *out = group ? of_group(paths->out, group) : NULL;
    int code = PL_EXIT_FAILED;
    if (!pl_p2p_agree(measuring, group && !(plan && out)))
        code = pl_measure(&mine, group ? plan : paths->line, group ? out : paths->out);
    free(plan);
    free(out);
    pl_world_end_part(&mine);
    if (pl_p2p_agree(measuring, code == PL_EXIT_FAILED))
        return PL_EXIT_FAILED;
    return (int)pl_p2p_agree(measuring, code);
}

/* One request, on the ranks that it is for. Returns an enum pl_exit, the same on these ranks. */
static int visit(const struct pl_world *world, const struct request *request, int number,
                 struct paths *paths)
{
    int code = PL_EXIT_USAGE;
    struct pl_world measuring = pl_world_part(world, 0, request->groups * request->ranks);
    pl_world_restart(&measuring);
    if (request->next == REFUSED && world->rank == 0)
        fprintf(stderr,
                "probe: request %d: write PLAN, a tab, RECORDS; for fewer ranks than %d also a "
                "tab, RANKS\n",
                number, world->size);
    else if (request->next == VISIT && request->groups > 1)
        code = measure_side_by_side(&measuring, request->ranks, paths);
    else if (request->next == VISIT ||
             (request->next == VISIT_WITH_PROFILE && load_profile(&measuring, paths->profile)))
        code = pl_measure(&measuring, paths->line, paths->out);
    if (!answer(&measuring, number, code))
        code = PL_EXIT_FAILED;
    pl_world_end_part(&measuring);
    return code;
}

static int serve(const struct pl_world *world)
{
    struct paths paths = {0};
    int code = PL_EXIT_FINE;
    struct pl_idle idle = {0};

    if (!pl_idle_open(&idle, world)) {
        if (world->rank == 0)
            fprintf(stderr, "probe: --serve: out of memory\n");
        code = PL_EXIT_FAILED;
    }
    for (int number = 1; code != PL_EXIT_FAILED; number++) {
        const struct request request = await(world, &idle, &paths);
        if (request.next == END) {
            code = request.code;
            break;
        }
        code = visit(world, &request, number, &paths);
        if (code == PL_EXIT_FAILED && world->rank == 0)
            hand_out(world, &idle, (struct request){END, world->size, 1, code},
                     request.groups * request.ranks, world->size);
    }
    free(paths.line);
    pl_idle_close(&idle);
    return code;
}

int pl_serve(void)
{
    struct pl_world world = {0};
    if (PL_SIMULATED) {
        fprintf(stderr, "probe: --serve: ranks of a simulated machine are one process; write "
                        "--plan\n");
        return PL_EXIT_USAGE;
    }
    pl_idle_prepare();
    int result = started(&world) ? PL_EXIT_USAGE : serve(&world);
    pl_world_stop(&world);
    return result;
}
