/*
 * Processes that train one run together. The first one keeps the run folder: its checkpoints, logs
 * and exports. The others take up what it has, go the same way, and write nothing.
 */
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

int rgmi_rank(const rgm_controller *c)
{
    return rgm_comm_rank(rgm_trainer_comm(c->trainer));
}

/* ---- opening in turn ------------------------------------------------------------------------- */

rgm_status rgmi_ranks_open(rgm_controller *c, const rgm_controller_setup *setup,
                           rgmi_open_fn *open_folder)
{
    rgm_comm *comm = rgm_trainer_comm(c->trainer);
    bool first = rgmi_rank(c) == 0;

    /* Before it, others may still look whether there is a run. */
    RGM_TRY(rgm_comm_barrier(comm));
    if (first)
        RGM_TRY(rgm_comm_fail(comm, open_folder(c, setup)));
    RGM_TRY(rgm_comm_barrier(comm));
    if (!first)
        RGM_TRY(rgm_comm_fail(comm, open_folder(c, setup)));
    return rgmi_ranks_compare(c, setup);
}

/* ---- whether they begin alike ---------------------------------------------------------------- */

typedef struct beginning {
    int64_t step, updates, passes;      /* of the trainer                       */
    int64_t data[3];                    /* batches of a pass, by mode           */
    int64_t sets[RGM_MAX_EVAL_SETS];    /* the same of the additional ones      */
    uint64_t weights, recipes, content; /* hashes of all; of files that `data` names */
    char device[200];                   /* kind and name of what computes, without its number */
} beginning;

/* "cuda (NVIDIA H100)": updates are made on each rank, and must have the same bits. */
static void name_device(char *out, size_t size, const rgm_device *device)
{
    const char *about = rgm_device_about(device), *name = strchr(about, '(');

    snprintf(out, size, "%s%s%s", rgm_device_kind(device)->name, name != NULL ? " " : "",
             name != NULL ? name : "");
}

static uint64_t hash_of_weights(const rgm_parameters *parameters)
{
    uint64_t hash = 0;

    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const rgm_tensor *w = rgm_parameters_read(parameters, i);
        uint64_t both[2] = {hash, rgm_hash64(rgm_tensor_data(w), rgm_tensor_bytes(w))};

        hash = rgm_hash64(both, sizeof both);
    }
    return hash;
}

static rgm_status beginning_of(beginning *b, const rgm_trainer *trainer,
                               const rgm_controller_setup *setup)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(trainer);
    int64_t sets = rgm_trainer_eval_sets(NULL, trainer);

    *b = (beginning){.step = rgm_trainer_global_step(trainer),
                     .updates = rgm_trainer_updates(trainer),
                     .passes = rgm_trainer_passes(trainer)};
    for (int mode = 0; mode < 3; mode++)
        b->data[mode] = rgm_trainer_batches(trainer, (rgm_mode)mode);
    for (int64_t i = 0; i < sets; i++)
        b->sets[i] = rgm_trainer_set_batches(trainer, i);
    name_device(b->device, sizeof b->device, rgm_trainer_device(trainer));
    RGM_TRY(rgm_parameters_to_host(parameters));
    b->weights = hash_of_weights(parameters);
    RGM_TRY(rgm_trainer_hash_recipes(&b->recipes, trainer));
    return rgm_config_hash_files(&b->content, setup->config, "data");
}

static rgm_status other_data(int rank, const char *of, int64_t its, int64_t first)
{
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "rank %d has %lld batches of %s data and rank 0 has %lld: all ranks must read "
                    "the same files",
                    rank, (long long)its, of, (long long)first);
}

static rgm_status compare_data(const rgm_controller *c, const beginning *a, const beginning *b,
                               int rank)
{
    for (int mode = 0; mode < 3; mode++)
        if (a->data[mode] != b->data[mode])
            return other_data(rank, rgm_mode_name((rgm_mode)mode), b->data[mode], a->data[mode]);
    for (int64_t i = 0; i < RGM_MAX_EVAL_SETS; i++)
        if (a->sets[i] != b->sets[i])
            return other_data(rank, rgm_trainer_eval_set_name(c->trainer, i), b->sets[i],
                              a->sets[i]);
    if (a->recipes != b->recipes)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "rank %d has files of other names than rank 0, or makes other batches of "
                        "them: all ranks must have the same experiment and files",
                        rank);
    if (a->content != b->content)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "rank %d has files of another content than rank 0: all ranks must read the "
                        "same files",
                        rank);
    return RGM_OK;
}

static rgm_status compare(const rgm_controller *c, const beginning *a, const beginning *b, int rank)
{
    if (a->step != b->step || a->updates != b->updates || a->passes != b->passes)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "rank %d is at step %lld and rank 0 at step %lld: all ranks must see one "
                        "run folder%s%s",
                        rank, (long long)b->step, (long long)a->step,
                        c->run_dir != NULL ? ", " : "", c->run_dir != NULL ? c->run_dir : "");
    RGM_TRY(compare_data(c, a, b, rank));
    if (strcmp(a->device, b->device) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "rank %d computes on %s and rank 0 on %s: their updates would differ, so "
                        "all ranks must have one kind of device",
                        rank, b->device, a->device);
    if (a->weights != b->weights)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "rank %d begins with other weights than rank 0: all ranks must read the "
                        "same files",
                        rank);
    return RGM_OK;
}

rgm_status rgmi_ranks_compare(const rgm_controller *c, const rgm_controller_setup *setup)
{
    rgm_comm *comm = rgm_trainer_comm(c->trainer);
    rgm_comm_blocks blocks = {0};
    rgm_status status = RGM_OK;
    beginning own;

    if (rgm_comm_size(comm) == 1)
        return RGM_OK;
    RGM_TRY(rgm_comm_fail(comm, beginning_of(&own, c->trainer, setup)));
    RGM_TRY(rgm_comm_gather(&blocks, comm, &own, sizeof own, RGM_COMM_ALL));
    for (int k = 1; k < blocks.count && status == RGM_OK; k++)
        status = compare(c, (const beginning *)(const void *)blocks.memory,
                         (const beginning *)(const void *)(blocks.memory + blocks.begin[k]), k);
    rgm_comm_blocks_clear(&blocks);
    return status;
}
