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
 *     rollback   an input is infinite there, while a checkpoint is still being written
 *
 * Prints what each rank was told, a line "rank R: STATUS: message", or where its rollback has led
 * it.
 */
#include "far_device_check.h"

#include "controller_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <regimen/comm.h>

typedef struct rank {
    const char *what, *folder, *told;
    rgm_comm *comm;
    plane data;
    bool fails;
    int steps;
} rank;

/* ---- a slow disk ---------------------------------------------------------------------------- */

static bool disk_is_slow;

/* In the place of the system's: a checkpoint has its name so late. */
int rename(const char *from, const char *to)
{
    if (disk_is_slow && strstr(to, "/ckpt/step-") != NULL)
        usleep(1500000);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

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

/* The third batch of one rank is bad, behind the first checkpoint. */
static int64_t bad_in = -1;

static rgm_status feed(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                       rgm_element *batch)
{
    if (bad_in-- == 0)
        rgm_tensor_f32(rgm_element_tensor(batch, 0))[0] = INFINITY;
    return plane_feeds(feeds, capacity, count, state, batch);
}

static void prepare_rollback(rgm_run_options *options, rank *r)
{
    options->trainer.checkpoint.every_steps = 2;
    options->trainer.checkpoint.asynchronous = disk_is_slow = true;
    options->trainer.steps_per_loop = 1;
    options->trainer.recovery.policy = RGM_RECOVER_ROLLBACK;
    options->trainer.recovery.max_tries = 1;
    r->data.dropout = 0; /* which could take it away */
    r->data.no_threads = true;
    bad_in = r->fails ? 2 : -1;
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
    task.feeds = feed;
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
    if (is(r, "rollback"))
        prepare_rollback(&options, r);
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

/* Behind a rollback: where the ranks are, and with what. */
static void tell_state(const rgm_open_run *run, const rank *r)
{
    const rgm_trainer *trainer = rgm_run_trainer(run);
    const rgm_tensor *w = rgm_parameters_read(rgm_trainer_parameters(trainer), 0);

    printf("rank %d: step %lld, %lld updates, weights %016llx\n", rgm_comm_rank(r->comm),
           (long long)rgm_trainer_global_step(trainer), (long long)rgm_trainer_updates(trainer),
           (unsigned long long)rgm_hash64(rgm_tensor_data(w), rgm_tensor_bytes(w)));
}

static rgm_status work(rgm_open_run *run, const rank *r)
{
    const rgm_logs *logs;

    if (is(r, "device"))
        return rgm_run_complete(run);
    if (is(r, "rollback")) {
        RGM_TRY(rgm_run_train(run, 6));
        tell_state(run, r);
        return RGM_OK;
    }
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
