/*
 * Where a master's trials may run: <folder>/master.yaml, which need not be there.
 *
 *     pools:                                    slots by name, for resources.pool
 *       small: {slots: [0, 1]}
 *     schedulers:                               for scheduler.type; pbs, lsf and kubectl are ready
 *       night: {table: pbs, variables: {queue: night}}
 */
#ifndef RGM_MASTER_MACHINES_H
#define RGM_MASTER_MACHINES_H

#include "commands.h"

typedef struct rgmi_slot_pool {
    const char *name; /* "": of the slots that no other pool has */
    int64_t slot_count;
} rgmi_slot_pool;

typedef struct rgmi_machines {
    rgm_arena *arena;
    rgm_yaml *ready, *file; /* the tables' words are theirs */
    rgmi_commands_table *tables;
    int64_t table_count, table_capacity;
    rgmi_slot_pool *pools; /* [pool_count] that of no name first */
    int64_t pool_count, pool_capacity;
    int64_t *pool_of; /* [slots] */
} rgmi_machines;

/** Read the file of a master of so many slots. Errors: RGM_ERR_CONFIG (with its place), RGM_ERR_IO,
 * RGM_ERR_NOMEM. */
rgm_status rgmi_machines_load(rgmi_machines **out, const char *folder, int64_t slots);
void rgmi_machines_release(rgmi_machines *machines);
/** A scheduler of three commands; NULL: there is none of that name. */
const rgmi_commands_table *rgmi_machines_table(const rgmi_machines *machines, const char *name);
/** The place of a pool; -1: there is none. NULL and "": the slots of no pool. */
int64_t rgmi_machines_pool(const rgmi_machines *machines, const char *name);
/** RGM_ERR_CONFIG "there is no pool 'big'; there are ...". */
rgm_status rgmi_machines_no_pool(const rgmi_machines *machines, const char *name);

#endif
