/* What our own objects take from the heap: the linker leads their malloc and its family here
 * (--wrap), those of the MPI library stay out. */
#ifndef PL_TEST_ACCOUNTS_H
#define PL_TEST_ACCOUNTS_H

long accounts_taken(void); /* allocations so far */
long accounts_open(void);  /* blocks that have not been given back */

#endif
