/* What the probe does: a launch, plan in and records out; and its other commands. */
#ifndef PL_RUN_H
#define PL_RUN_H

#include "measure/world.h"

#include <stdio.h>

enum pl_exit { PL_EXIT_FINE = 0, PL_EXIT_FAILED = 1, PL_EXIT_USAGE = 2 };

/* From MPI_Init to MPI_Finalize; returns an enum pl_exit, the same on all ranks. */
int pl_run(const char *plan_path, const char *out_path);

/* `probe --serve`: rank 0 reads requests from its standard input, one a line: the path of a plan, a
 * tab, the path for its records; and where only the first ranks measure, another tab and their
 * number. These measure the plan as pl_run does on as many ranks. Two more tabs and a number G have
 * as many groups of so many ranks each measure at the same time: the next ranks the plan at this
 * path with ".1" behind it, and so on, each into records of its own with the same end. Where
 * libplumbline.so is preloaded, the number of all ranks, a tab and the path of a profile have it
 * put that in force first. Rank 0 prints "probe: visit NUMBER ends with CODE" on standard output
 * and standard error; numbers count requests from 1. What is refused (PL_EXIT_USAGE) does not end
 * the process; a measurement that failed does. The line "end", or the end of the input, ends the
 * process (not every mpirun hands on that its input was closed). From MPI_Init to MPI_Finalize;
 * returns PL_EXIT_FINE, or PL_EXIT_FAILED. */
int pl_serve(void);

/* Measures one plan, between pl_world_start and pl_world_stop, and frees all that belongs to the
 * plan. Only rank 0 needs the paths. Returns an enum pl_exit, the same on all ranks. */
int pl_measure(const struct pl_world *world, const char *plan_path, const char *out_path);

/* Without MPI: parses a plan and says on stdout what it holds. */
int pl_check_plan(const char *plan_path);

/* `probe system`: what the machine and the library are, as one JSON object on rank 0's stdout. From
 * MPI_Init to MPI_Finalize; returns an exit code. */
int pl_system(void);

/* `probe --list`: what this binary knows, as one JSON object. Needs no MPI_Init. */
void pl_list(FILE *out);

/* "plan FILE line N: token 'x': why" on stderr. */
struct pl_plan_error;
void pl_plan_complain(const char *path, const struct pl_plan_error *error);

#endif
