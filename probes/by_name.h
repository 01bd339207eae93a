/* Entries of a table of pointers to structs that have a name. */
#ifndef PL_BY_NAME_H
#define PL_BY_NAME_H

#include <string.h>

/* Defines `function(name)`: the entry of that name; NULL: there is none. */
#define PL_BY_NAME(type, function, table, count)                                                   \
    const type *function(const char *name)                                                         \
    {                                                                                              \
        for (int i = 0; i < (count); i++)                                                          \
            if (strcmp((table)[i]->name, name) == 0)                                               \
                return (table)[i];                                                                 \
        return NULL;                                                                               \
    }

#endif
