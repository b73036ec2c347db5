/*
 * How many processes a launcher started together, from the variables that it leaves in their
 * environment. MPI itself is asked only when there are several, so that a program that was started
 * alone never loads it.
 */
#include "comm_internal.h"

#include <stdlib.h>

/* A number in the environment, -1: none. */
static int number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value;

    if (text == NULL || *text == '\0')
        return -1;
    value = strtol(text, &end, 10);
    return *end == '\0' && value >= 0 && value <= INT32_MAX ? (int)value : -1;
}

void rgmi_launcher_read(rgmi_launcher *launch)
{
    /* srun without --mpi leaves its own variables alone. A batch script has no step. */
    static const struct {
        const char *launcher, *rank, *size;
    } known[] = {
        {"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"mpirun (MPICH)", "PMI_RANK", "PMI_SIZE"},
        {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    };

    *launch = (rgmi_launcher){.size = 1};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int rank = number(known[i].rank), size = number(known[i].size);

        if (rank >= 0 && size > rank) {
            *launch = (rgmi_launcher){known[i].launcher, rank, size};
            return;
        }
    }
}
