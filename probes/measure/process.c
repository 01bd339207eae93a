/* The process around plans: one plan, or as many as are asked for while it lives. MPI is up once.
 */
#include "measure/idle.h"
#include "measure/run.h"
#include "simulated.h"

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

/* Paths; `profile` is empty where the one in force stays. Their memory is that of `line`. */
struct request {
    char *line, *out, *profile;
    size_t size;
};

/* Cuts `text` at its first tab; returns what follows, or NULL where there is none. */
static char *cut(char *text)
{
    char *tab = strchr(text, '\t');
    if (tab)
        *tab++ = '\0';
    return tab;
}

/* The line with its end, of `length` bytes, becomes the path of a plan. */
static enum next split(struct request *request, size_t length)
{
    static char none[1];
    char *line = request->line;
    line[length - 1] = '\0';
    if (length == sizeof "end" && strcmp(line, "end") == 0)
        return END;
    const bool whole = strlen(line) == length - 1;
    request->out = cut(line);
    char *more = request->out ? cut(request->out) : NULL;
    request->profile = more ? more : none;
    if (!whole || !request->out || !*line || !*request->out || strchr(request->profile, '\t'))
        return REFUSED;
    return *request->profile ? VISIT_WITH_PROFILE : VISIT;
}

/* What all ranks do next. Rank 0 blocks until there is a request, and the others sleep. A line that
 * is cut by the end of the input is no request. */
static enum next await(const struct pl_world *world, const struct pl_idle *idle,
                       struct request *request)
{
    int next = END;
    if (world->rank == 0) {
        ssize_t length = getline(&request->line, &request->size, stdin);
        if (length > 0 && request->line[length - 1] == '\n')
            next = (int)split(request, (size_t)length);
        pl_idle_end(idle, world);
    } else {
        pl_idle_wait(idle, world);
    }
    pl_p2p_broadcast(world, &next, (int)sizeof next);
    return (enum next)next;
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
    return true;
}

static int serve(struct pl_world *world)
{
    struct request request = {0};
    int code = PL_EXIT_FINE;
    enum next next;
    struct pl_idle idle = {0};

    if (!pl_idle_open(&idle, world)) {
        if (world->rank == 0)
            fprintf(stderr, "probe: --serve: out of memory\n");
        code = PL_EXIT_FAILED;
    }
    for (int number = 1; code != PL_EXIT_FAILED; number++) {
        if ((next = await(world, &idle, &request)) == END) {
            code = PL_EXIT_FINE;
            break;
        }
        pl_world_restart(world);
        code = PL_EXIT_USAGE;
        if (next == REFUSED && world->rank == 0)
            fprintf(stderr, "probe: request %d: write PLAN, a tab, RECORDS\n", number);
        if (next == VISIT || (next == VISIT_WITH_PROFILE && load_profile(world, request.profile)))
            code = pl_measure(world, request.line, request.out);
        if (!answer(world, number, code))
            code = PL_EXIT_FAILED;
    }
    free(request.line);
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
