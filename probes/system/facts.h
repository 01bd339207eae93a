/* Facts about the MPI library and the process, as text. */
#ifndef PL_FACTS_H
#define PL_FACTS_H

#include "json.h"

#include <mpi.h>

/* First line of MPI_Get_library_version, without blanks at its ends. */
void pl_library_text(char text[MPI_MAX_LIBRARY_VERSION_STRING]);
/* Version of the standard: "3.1". */
void pl_standard_text(char text[16]);
/* What an error code means; negative codes are those of errno. */
void pl_error_text(int code, char text[MPI_MAX_ERROR_STRING]);
/* Members of an object: the variables of the process that can change how MPI behaves. */
void pl_environment_json(struct pl_json *json);

#endif
