/*
 * A run on ranks under a real MPI, for comm_mpi_test.sh: run_ranks WHAT RANK FOLDER. That rank
 * alone comes to grief, and closes nothing before another rank has been told:
 *
 *     train      it trains to a step that cannot be
 *     evaluate   it evaluates on data that are not there
 *     save       it cannot write a checkpoint (rank 0)
 *     device     its device is lost behind two steps
 *     set        an additional set has another length there
 *     recipe     it makes other batches of the same number
 *
 * Prints what each rank was told, a line "rank R: STATUS: message".
 */
#include "far_device_check.h"

#include "controller_check.h"

#include <unistd.h>

#include <regimen/comm.h>

typedef struct rank {
    const char *what, *folder, *told;
    rgm_comm *comm;
    plane data;
    bool fails;
    int steps;
} rank;

static bool is(const rank *r, const char *what)
{
    return strcmp(r->what, what) == 0;
}

/* ---- the task ------------------------------------------------------------------------------ */

static void list_sets(rgm_eval_set *out, int64_t *count, void *state)
{
    (void)state;
    out[0] = (rgm_eval_set){.mode = RGM_VALID, .name = "news"};
    *count = 1;
}

static int64_t set_batch = 4;

static rgm_status build_set(rgm_dataset **out, void *state, int64_t set)
{
    plane of = *(plane *)state;

    (void)set;
    of.batch = set_batch;
    return plane_inputs(out, &of, RGM_VALID, false);
}

static bool lose_device(void *payload)
{
    rank *r = payload;

    far.lost = far.lost || (r->fails && is(r, "device") && ++r->steps == 3);
    return false;
}

static rgm_status open_run(rgm_open_run **run, rank *r)
{
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;
    rgm_task task = plane_task(&r->data);

    task.eval_sets = list_sets;
    task.build_eval_inputs = build_set;
    options.trainer.train_steps = 6;
    options.trainer.checkpoint.every_seconds = 0;
    options.runtime.threads = 1;
    options.runtime.shards = rgm_comm_size(r->comm);
    options.run_dir = r->folder;
    options.comm = r->comm;
    options.hooks = (rgm_controller_hooks){.should_stop = lose_device, .payload = r};
    if (is(r, "device")) {
        far_open();
        options.trainer.device = far.device;
    }
    if (r->fails && is(r, "set"))
        set_batch = 2;
    if (r->fails && is(r, "recipe"))
        r->data.in_order = true;
    return rgm_run_open(run, &task, &options);
}

/* ---- what goes wrong ----------------------------------------------------------------------- */

/* A file in the place of the folder of checkpoints. */
static rgm_status break_folder(const rank *r)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, r->folder, "ckpt"));
    RGM_GO(rgm_folder_remove(path));
    RGM_GO(rgm_file_save(path, "", 0));
done:
    rgm_free(path);
    return status;
}

static rgm_status work(rgm_open_run *run, const rank *r)
{
    const rgm_logs *logs;

    if (is(r, "device"))
        return rgm_run_complete(run);
    RGM_TRY(rgm_run_train(run, r->fails && is(r, "train") ? -1 : 2));
    RGM_TRY(rgm_run_evaluate(run, r->fails && is(r, "evaluate") ? RGM_TEST : RGM_VALID, RGM_TO_END,
                             &logs));
    if (r->fails && is(r, "save"))
        RGM_TRY(break_folder(r));
    RGM_TRY(rgm_run_save(run));
    return rgm_run_train(run, 4);
}

/* Whoever was told says so in a file, for which the other waits, up to a minute. */
static void wait_for_told(const rank *r)
{
    for (int i = 0; i < 6000 && r->fails && !rgm_path_exists(r->told); i++)
        usleep(10000);
    if (!r->fails)
        (void)rgm_file_save(r->told, "", 0);
}

int main(int count, char **arguments)
{
    rank r = {.what = arguments[1], .folder = arguments[3], .data = make_plane(false)};
    char *told = NULL;
    rgm_open_run *run = NULL;
    rgm_status status = count == 4 ? rgm_comm_open(&r.comm) : RGM_ERR_ARG;

    if (status == RGM_OK)
        status = rgm_strprintf(&told, "%s.told", r.folder);
    if (status != RGM_OK) {
        printf("not opened: %s\n", rgm_error_message());
        return 3;
    }
    r.told = told;
    r.fails = rgm_comm_rank(r.comm) == strtol(arguments[2], NULL, 10);
    status = open_run(&run, &r);
    if (status == RGM_OK)
        status = work(run, &r);
    printf("rank %d: %s: %s\n", rgm_comm_rank(r.comm), rgm_status_name(status),
           status < 0 ? rgm_error_message() : "");
    (void)fflush(stdout);
    wait_for_told(&r);
    rgm_run_close(run);
    if (far.device != NULL) {
        far.lost = false;
        far_close();
    }
    clear_plane(&r.data);
    rgm_comm_close(r.comm);
    rgm_free(told);
    return 0;
}
