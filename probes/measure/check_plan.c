/* What a plan holds, without MPI. */
#include "measure/file.h"
#include "measure/run.h"
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void pl_plan_complain(const char *path, const struct pl_plan_error *error)
{
    fprintf(stderr, "plan %s", path);
    if (error->line > 0)
        fprintf(stderr, " line %d", error->line);
    fprintf(stderr, ": token '%s': %s\n", error->token, error->why);
}

int pl_check_plan(const char *plan_path)
{
    struct pl_plan plan;
    struct pl_plan_error error;
    char *text;
    size_t size;

    int problem = pl_file_read(plan_path, &text, &size);
    if (problem) {
        fprintf(stderr, "probe: %s: %s\n", plan_path, pl_file_reason(problem));
        return PL_EXIT_USAGE;
    }
    bool good = pl_plan_parse(&plan, text, size, 0, &error);
    if (good) {
        int64_t samples = 0;
        for (int i = 0; i < plan.case_count; i++)
            samples += (int64_t)plan.blocks * plan.cases[i].reps;
        printf("%s: run '%s', %d cases, %d configs, %d blocks, %" PRId64 " samples, seed %" PRIu64
               ", sync %s, clock %s\n",
               plan_path, plan.run, plan.case_count, plan.config_count - 1, plan.blocks, samples,
               plan.seed, plan.sync->name, plan.clock->name);
    } else {
        pl_plan_complain(plan_path, &error);
    }
    pl_plan_free(&plan);
    return good ? PL_EXIT_FINE : PL_EXIT_USAGE;
}
