/* One launch: plan in, records out. */
#ifndef PL_RUN_H
#define PL_RUN_H

enum pl_exit { PL_EXIT_FINE = 0, PL_EXIT_FAILED = 1, PL_EXIT_USAGE = 2 };

/* From MPI_Init to MPI_Finalize; returns an enum pl_exit, the same on all ranks. */
int pl_run(const char *plan_path, const char *out_path);

/* Without MPI: parses a plan and says on stdout what it holds. */
int pl_check_plan(const char *plan_path);

/* "plan FILE line N: token 'x': why" on stderr. */
struct pl_plan_error;
void pl_plan_complain(const char *path, const struct pl_plan_error *error);

#endif
