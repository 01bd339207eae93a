/* `probe system`: what the machine and the library are, as one JSON object. */
#ifndef PL_REPORT_H
#define PL_REPORT_H

/* From MPI_Init to MPI_Finalize; rank 0 writes to stdout. Returns an exit code. */
int pl_system(void);

#endif
