/*
 * The steps of a file in a folder: which are done, and the work on those that are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "distil_internal.h"

const char *const rgm_distil_state_names[] = {"new", "begun", "done", "changed", "waits", NULL};

/* ---- the state of a step --------------------------------------------------------------------- */

static void tell_step(const rgmi_step_work *work, rgm_distil_state state, const char *why)
{
    const rgm_distil_step step = {.name = work->step->name,
                                  .type = work->step->type->section.name,
                                  .state = state,
                                  .why = why};

    if (work->hooks->step != NULL)
        work->hooks->step(&step, work->hooks->payload);
}

static bool names_step(const rgm_yaml_node *node, const char *name)
{
    if (node->kind == RGM_YAML_SCALAR)
        return strcmp(node->text, name) == 0;
    for (int64_t i = 0; i < node->count; i++)
        if (node->kind == RGM_YAML_LIST && names_step(node->items[i], name))
            return true;
    return false;
}

/* Whether a step reads what another one makes. */
static bool reads(const rgmi_step *step, const char *name)
{
    static const char *const keys[] = {"models", "model",  "source",    "target",  "reference",
                                       "pairs",  "scores", "tokenizer", "teachers"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const rgm_yaml_node *node = rgm_yaml_find(step->node, keys[i]);

        if (node != NULL && names_step(node, name))
            return true;
    }
    return false;
}

typedef struct judged {
    rgm_distil_state state;
    rgmi_inputs inputs;
    rgm_text why;   /* of a changed step                              */
    rgm_text other; /* files that are others than the step wrote, done */
} judged;

static void judged_clear(judged *j)
{
    rgmi_inputs_clear(&j->inputs);
    rgm_text_clear(&j->why);
    rgm_text_clear(&j->other);
}

static rgm_status judge(judged *out, const rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    rgmi_step_record record = {.exists = false};
    rgm_text gone = {0};
    bool goes_on;

    *out = (judged){.state = RGM_STEP_NEW};
    RGM_GO(work->step->type->list(&out->inputs, work));
    RGM_GO(rgmi_record_load(&record, work));
    if (!record.exists)
        goto done;
    RGM_GO(rgmi_inputs_compare(&out->why, &goes_on, &record.inputs, &out->inputs));
    if (record.done)
        RGM_GO(rgmi_record_check_outputs(&gone, &out->other, &record, work));
    if (gone.size > 0)
        RGM_GO(
            rgm_text_printf(&out->why, "%s%s is gone", out->why.size > 0 ? ", " : "", gone.data));
    out->state = out->why.size > 0         ? RGM_STEP_CHANGED
                 : record.done && !goes_on ? RGM_STEP_DONE
                                           : RGM_STEP_BEGUN;
done:
    rgmi_record_clear(&record);
    rgm_text_clear(&gone);
    if (status != RGM_OK)
        judged_clear(out);
    return status;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static rgm_status work_on(rgmi_step_work *out, const rgm_distil *d, int64_t i, const char *root,
                          const rgm_distil_hooks *hooks)
{
    static const rgm_distil_hooks nobody = {.payload = NULL};

    *out = (rgmi_step_work){
        .distil = d, .step = &d->steps[i], .root = root, .hooks = hooks != NULL ? hooks : &nobody};
    return rgm_path_join(&out->folder, root, d->steps[i].name);
}

/* A mistake in the last step is told before hours of work on the first. */
static rgm_status check_all(const rgm_distil *d, const char *root)
{
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < d->count && status == RGM_OK; i++) {
        rgmi_step_work work;

        RGM_TRY(work_on(&work, d, i, root, NULL));
        if (work.step->type->ready != NULL)
            status = work.step->type->ready(&work);
        if (status != RGM_OK)
            status = rgm_error_prefix(status, "step %s", work.step->name);
        rgm_free(work.folder);
    }
    return status;
}

/* The first step above, not done, that this one reads; -1: none. */
static int64_t waits_for(const rgm_distil *d, int64_t i, const rgm_distil_state *states)
{
    for (int64_t k = 0; k < i; k++)
        if (states[k] != RGM_STEP_DONE && reads(&d->steps[i], d->steps[k].name))
            return k;
    return -1;
}

static rgm_status plan_step(rgm_distil_state *states, const rgm_distil *d, int64_t i,
                            const char *root, const rgm_distil_hooks *hooks)
{
    rgm_status status = RGM_OK;
    int64_t waits = waits_for(d, i, states);
    judged j = {.state = RGM_STEP_WAITS};
    rgmi_step_work work;

    RGM_GO(work_on(&work, d, i, root, hooks));
    if (waits < 0) {
        status = judge(&j, &work);
        if (status != RGM_OK)
            RGM_GO(rgm_error_prefix(status, "step %s", work.step->name));
    }
    states[i] = j.state;
    tell_step(&work, j.state, waits >= 0 ? d->steps[waits].name : j.why.data);
done:
    judged_clear(&j);
    rgm_free(work.folder);
    return status;
}

rgm_status rgm_distil_plan(const rgm_distil *d, const char *folder, const rgm_distil_hooks *hooks)
{
    rgm_status status = RGM_OK;
    rgm_distil_state *states;

    RGM_TRY(check_all(d, folder));
    RGM_TRY(RGM_NEW(states, d->count));
    for (int64_t i = 0; i < d->count && status == RGM_OK; i++)
        status = plan_step(states, d, i, folder, hooks);
    rgm_free(states);
    return status;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* *fd is closed by whoever asked; that unlocks. */
static rgm_status lock(int *fd, const char *root)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, root, "distil.lock"));
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", path));
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        status = errno == EWOULDBLOCK
                     ? RGM_FAIL(RGM_ERR_BUSY,
                                "another process works on the steps in %s: wait for it, or take "
                                "another folder",
                                root)
                     : RGM_FAIL_SYSTEM("lock", path);
done:
    rgm_free(path);
    return status;
}

/* What a step made from other inputs stays beside it, under the first free name. */
static rgm_status set_aside(const rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    char *aside = NULL;

    for (int n = 1; aside == NULL; n++) {
        RGM_GO(rgm_strprintf(&aside, "%s.old-%d", work->folder, n));
        if (rgm_path_exists(aside)) {
            rgm_free(aside);
            aside = NULL;
        }
    }
    if (rename(work->folder, aside) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("rename", work->folder));
    RGM_GO(rgm_folder_sync(work->root));
    rgmi_say(work, "kept", "what it had made is in %s", aside);
done:
    rgm_free(aside);
    return status;
}

/* Whether there is more than records in the step's folder. */
static rgm_status has_more(bool *out, const rgmi_step_work *work)
{
    char **names = NULL;
    int64_t count = 0;

    *out = false;
    if (!rgm_path_exists(work->folder))
        return RGM_OK;
    RGM_TRY(rgm_folder_list(&names, &count, work->folder));
    for (int64_t i = 0; i < count; i++)
        *out = *out || strncmp(names[i], "step.json", 9) != 0;
    rgm_names_release(names, count);
    return RGM_OK;
}

static rgm_status begin(const rgmi_step_work *work, const judged *j)
{
    bool more;

    RGM_TRY(has_more(&more, work));
    if (more && j->state == RGM_STEP_CHANGED)
        RGM_TRY(set_aside(work));
    if (more && j->state == RGM_STEP_NEW) /* of somebody else */
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s is there and has no step.json: no step made it. Move it away, or give "
                        "the step another name",
                        work->folder);
    RGM_TRY(rgm_folder_make(work->folder));
    return rgmi_record_save(work, &j->inputs, NULL);
}

static rgm_status make_step(rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    judged j = {.state = RGM_STEP_NEW};

    RGM_GO(judge(&j, work));
    tell_step(work, j.state, j.why.data);
    if (j.other.size > 0 && j.state == RGM_STEP_DONE)
        rgmi_say(work, "note", "%s of %s changed since the step wrote it, and is used as it is",
                 j.other.data, work->step->name);
    if (j.state != RGM_STEP_DONE) {
        RGM_GO(begin(work, &j));
        RGM_GO(work->step->type->run(work));
        RGM_GO(rgmi_record_save(work, &j.inputs, &work->figures));
    }
    RGM_GO(rgmi_shards_remove(work));
done:
    judged_clear(&j);
    return status;
}

static rgm_status run_steps(const rgm_distil *d, const char *root, const rgm_distil_hooks *hooks)
{
    rgm_status status = RGM_OK;
    int threads = rgm_threads();

    for (int64_t i = 0; i < d->count && status == RGM_OK; i++) {
        rgmi_step_work work;

        RGM_TRY(work_on(&work, d, i, root, hooks));
        rgm_threads_set(threads); /* a training may have had its own */
        status = rgmi_should_stop(&work) ? RGM_STOPPED : make_step(&work);
        if (status < 0)
            status = rgm_error_prefix(status, "step %s", work.step->name);
        rgm_free(work.folder);
    }
    rgm_threads_set(threads);
    return status;
}

rgm_status rgm_distil_run(const rgm_distil *d, const char *folder, const rgm_distil_hooks *hooks)
{
    rgm_status status = RGM_OK;
    char *root = NULL;
    int fd = -1;

    RGM_GO(rgm_folder_make(folder));
    root = realpath(folder, NULL);
    if (root == NULL)
        RGM_GO(RGM_FAIL_SYSTEM("find", folder));
    RGM_GO(lock(&fd, root));
    RGM_GO(check_all(d, root));
    RGM_GO(run_steps(d, root, hooks));
done:
    if (fd >= 0)
        close(fd);
    free(root);
    return status;
}
