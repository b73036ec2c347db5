/*
 * What the files of comm share.
 */
#ifndef RGM_COMM_INTERNAL_H
#define RGM_COMM_INTERNAL_H

#include <regimen/comm.h>

/** How this process was started, as the environment of a launcher says. */
typedef struct rgmi_launcher {
    const char *launcher; /* "Open MPI's mpirun", NULL: none */
    int rank, size;       /* 0 of 1 without                  */
} rgmi_launcher;
void rgmi_launcher_read(rgmi_launcher *launch);

/** out [size] = low + high, each of `dtype`; out may be either of them. */
void rgmi_add_arrays(void *out, const void *low, const void *high, int64_t size, rgm_dtype dtype);

#endif
