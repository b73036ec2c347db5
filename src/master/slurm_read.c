/*
 * What Slurm's commands print. Other jobs' names and comments may be anything: a line is one of
 * ours in exactly our form, or it is passed over.
 */
#include "slurm.h"

#include <stdlib.h>
#include <string.h>

/* Names of states, squeue's and sacct's. What is on its way to an end or back still holds its node.
 */
static const struct {
    const char *name;
    rgmi_job_state state;
} states[] = {
    {"PENDING", RGMI_JOB_PENDING},
    {"REQUEUED", RGMI_JOB_PENDING},
    {"REQUEUE_FED", RGMI_JOB_PENDING},
    {"REQUEUE_HOLD", RGMI_JOB_PENDING},
    {"SPECIAL_EXIT", RGMI_JOB_PENDING},
    {"RESV_DEL_HOLD", RGMI_JOB_PENDING},
    {"CONFIGURING", RGMI_JOB_PENDING},
    {"POWER_UP_NODE", RGMI_JOB_PENDING},
    {"RUNNING", RGMI_JOB_RUNNING},
    {"COMPLETING", RGMI_JOB_RUNNING},
    {"RESIZING", RGMI_JOB_RUNNING},
    {"SIGNALING", RGMI_JOB_RUNNING},
    {"STAGE_OUT", RGMI_JOB_RUNNING},
    {"STOPPED", RGMI_JOB_RUNNING},
    {"SUSPENDED", RGMI_JOB_RUNNING},
    {"COMPLETED", RGMI_JOB_COMPLETED},
    {"FAILED", RGMI_JOB_FAILED},
    {"BOOT_FAIL", RGMI_JOB_NODE_FAIL},
    {"LAUNCH_FAILED", RGMI_JOB_NODE_FAIL},
    {"RECONFIG_FAIL", RGMI_JOB_NODE_FAIL},
    {"NODE_FAIL", RGMI_JOB_NODE_FAIL},
    {"TIMEOUT", RGMI_JOB_TIMEOUT},
    {"DEADLINE", RGMI_JOB_TIMEOUT},
    {"PREEMPTED", RGMI_JOB_PREEMPTED},
    {"OUT_OF_MEMORY", RGMI_JOB_OUT_OF_MEMORY},
    {"CANCELLED", RGMI_JOB_CANCELLED},
    {"REVOKED", RGMI_JOB_CANCELLED},
};

rgmi_job_state rgmi_slurm_state(const char *name, int64_t size)
{
    const char *space = memchr(name, ' ', (size_t)size); /* "CANCELLED by 1000" */
    size_t length = space == NULL ? (size_t)size : (size_t)(space - name);

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strlen(states[i].name) == length && memcmp(states[i].name, name, length) == 0)
            return states[i].state;
    return RGMI_JOB_UNKNOWN;
}

typedef struct part {
    const char *data;
    int64_t size;
} part;

/* The part before the next `end`, which is left behind; false: there is no such. */
static bool cut(part *out, part *from, char end)
{
    const char *found = from->size > 0 ? memchr(from->data, end, (size_t)from->size) : NULL;

    if (found == NULL)
        return false;
    *out = (part){from->data, found - from->data};
    from->size -= out->size + 1;
    from->data = found + 1;
    return true;
}

/* Digits alone, at most 18. */
static bool read_id(int64_t *out, part text)
{
    int64_t value = 0;

    if (text.size < 1 || text.size > 18)
        return false;
    for (int64_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    *out = value;
    return true;
}

static bool is_text(part text, const char *expected)
{
    return (size_t)text.size == strlen(expected) &&
           memcmp(text.data, expected, (size_t)text.size) == 0;
}

/* "regimen/<master>/<experiment>/<trial>/<run>" */
static bool read_tag(rgmi_job_tag *tag, part text, const char *master)
{
    part piece;

    if (!cut(&piece, &text, '/') || !is_text(piece, "regimen") || !cut(&piece, &text, '/') ||
        !is_text(piece, master))
        return false;
    if (!cut(&piece, &text, '/') || !read_id(&tag->experiment, piece))
        return false;
    if (!cut(&piece, &text, '/') || !read_id(&tag->trial, piece))
        return false;
    if (text.size < 1 || text.size >= (int64_t)sizeof tag->run)
        return false;
    for (int64_t i = 0; i < text.size; i++)
        if (!((text.data[i] >= '0' && text.data[i] <= '9') ||
              (text.data[i] >= 'A' && text.data[i] <= 'Z') ||
              (text.data[i] >= 'a' && text.data[i] <= 'z') || text.data[i] == '-' ||
              text.data[i] == '_'))
            return false;
    memcpy(tag->run, text.data, (size_t)text.size);
    tag->run[text.size] = '\0';
    return true;
}

static void set_reason(rgmi_job *job, part text)
{
    int64_t size =
        text.size < (int64_t)sizeof job->reason ? text.size : (int64_t)sizeof job->reason - 1;

    for (int64_t i = 0; i < size; i++)
        job->reason[i] = text.data[i] >= ' ' && text.data[i] <= '~' ? text.data[i] : '?';
    job->reason[size] = '\0';
}

/* A state, with the engine's word for one that says more than ours; "None" says nothing. */
static void set_state(rgmi_job *job, part name, part reason)
{
    job->state = rgmi_slurm_state(name.data, name.size);
    if (reason.size > 0 && !is_text(reason, "None") && job->state != RGMI_JOB_UNKNOWN)
        set_reason(job, reason);
    else if (job->state == RGMI_JOB_UNKNOWN || !is_text(name, rgmi_job_state_name(job->state)))
        set_reason(job, name);
    else
        job->reason[0] = '\0';
}

rgm_status rgmi_slurm_read_queue(rgmi_job **jobs, int64_t *count, const char *printed, int64_t size,
                                 const char *master)
{
    part left = {printed, size}, line;
    int64_t capacity = 0;
    rgm_status status = RGM_OK;

    *jobs = NULL;
    *count = 0;
    while (cut(&line, &left, '\n')) {
        rgmi_job job = {0};
        part id, name, reason;

        if (!cut(&id, &line, '|') || !read_id(&job.id, id) || !cut(&name, &line, '|') ||
            !cut(&reason, &line, '|') || !read_tag(&job.tag, line, master))
            continue;
        set_state(&job, name, reason);
        RGM_GO(RGM_RESERVE(*jobs, capacity, *count + 1));
        (*jobs)[(*count)++] = job;
    }
done:
    if (status != RGM_OK) {
        rgm_free(*jobs);
        *jobs = NULL;
        *count = 0;
    }
    return status;
}

void rgmi_slurm_read_accounts(rgmi_job *jobs, int64_t count, const char *printed, int64_t size)
{
    part left = {printed, size}, line;

    while (cut(&line, &left, '\n')) {
        part text, name;
        int64_t id;

        if (!cut(&text, &line, '|') || !read_id(&id, text) || !cut(&name, &line, '|') ||
            memchr(line.data, '|', (size_t)line.size) != NULL)
            continue;
        for (int64_t i = 0; i < count; i++)
            if (jobs[i].id == id)
                set_state(&jobs[i], name, (part){line.data, 0});
    }
}
