/* MPI_T control variables as text: find, read, write. The only code that knows their types. */
#ifndef PL_CVAR_H
#define PL_CVAR_H

#include "simulated.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#if PL_SIMULATED /* SimGrid has no MPI_T */
typedef int MPI_T_enum;
#endif

#define PL_CVAR_NAME 256
#define PL_CVAR_TEXT 4096

struct pl_cvar {
    int index;
    char name[PL_CVAR_NAME];
    char description[PL_CVAR_TEXT];
    MPI_Datatype type;
    MPI_T_enum enumeration;
    int bind, scope, verbosity;
};

/* A value as the library stores it: `count` elements of the variable's type. */
struct pl_cvar_value {
    int count;
    unsigned char bytes[PL_CVAR_TEXT];
};

/* MPI_T up and down; before MPI_Init and before MPI_Finalize. */
void pl_cvar_start(void);
void pl_cvar_stop(void);

int pl_cvar_count(void);
/* False: the variable does not exist (components may take theirs away). */
bool pl_cvar_info(int index, struct pl_cvar *cvar);
bool pl_cvar_find(const char *name, struct pl_cvar *cvar);

const char *pl_cvar_type_name(const struct pl_cvar *cvar); /* "int", "string", … */
const char *
pl_cvar_scope_name(const struct pl_cvar *cvar); /* "constant", "read-only", "local", … */
bool pl_cvar_writable(const struct pl_cvar *cvar);

/* An MPI_T error class; MPI_T_ERR_INVALID for variables of a communicator or another object, of an
 * unknown type, or longer than PL_CVAR_TEXT bytes. */
int pl_cvar_read(const struct pl_cvar *cvar, struct pl_cvar_value *value);
int pl_cvar_write(const struct pl_cvar *cvar, const struct pl_cvar_value *value);

/* From text: a number (where the library itself does not refuse what is no enumerator: one of
 * them), "true"/"false", the name of an enumerator, or a string. `like` is the
 * present value (its count is kept). False: the text is none of what the variable takes. */
bool pl_cvar_parse(const struct pl_cvar *cvar, const char *text, const struct pl_cvar_value *like,
                   struct pl_cvar_value *value);
/* To text; numbers even where enumerators exist. Elements are joined by commas. */
void pl_cvar_format(const struct pl_cvar *cvar, const struct pl_cvar_value *value, char *text,
                    size_t size);

/* Enumerators: how many (0: none), and the i-th; from the description where the library describes
 * them there (system/choices.h). */
int pl_cvar_enumerators(const struct pl_cvar *cvar);
bool pl_cvar_enumerator(const struct pl_cvar *cvar, int i, int *value, char *name, int size);

#endif
