/*
 * The engine of src/master/slurm.h from the command line, for tests/slurm_test.sh:
 *
 *     slurm_jobs start [KEY=VALUE ...] -- PROGRAM ...     prints the job's number
 *     slurm_jobs poll|stop|kill|requeue JOB [KEY=VALUE ...]
 *     slurm_jobs find [KEY=VALUE ...]                     a line a job: number, tag, state, reason
 *
 * Keys: folder, master, experiment, trial, run, work, output, cpus, partition, time, grace,
 * requeue, environment, flag. Ends with 1 and the library's message on an error.
 */
#include "../src/master/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct asked_for {
    rgmi_slurm_options options;
    rgmi_job_request request;
    const char *environment[2], *flags[1];
} asked_for;

static bool take(asked_for *asked, const char *word)
{
    const char *value = strchr(word, '=');
    size_t size = value == NULL ? 0 : (size_t)(value++ - word);
    const struct {
        const char *key;
        const char **text;
        int64_t *number;
    } keys[] = {
        {"folder", &asked->options.folder, NULL},
        {"master", &asked->options.master, NULL},
        {"partition", &asked->options.partition, NULL},
        {"time", NULL, &asked->options.time_limit_s},
        {"grace", NULL, &asked->options.grace_s},
        {"experiment", NULL, &asked->request.tag.experiment},
        {"trial", NULL, &asked->request.tag.trial},
        {"work", &asked->request.folder, NULL},
        {"output", &asked->request.output, NULL},
        {"cpus", NULL, &asked->request.cpus},
        {"environment", &asked->environment[0], NULL},
        {"flag", &asked->flags[0], NULL},
    };

    if (size == 3 && memcmp(word, "run", 3) == 0) {
        snprintf(asked->request.tag.run, sizeof asked->request.tag.run, "%s", value);
        return true;
    }
    if (size == 7 && memcmp(word, "requeue", 7) == 0) {
        asked->options.requeue = strcmp(value, "yes") == 0;
        return true;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (size == 0 || strlen(keys[i].key) != size || memcmp(keys[i].key, word, size) != 0)
            continue;
        if (keys[i].text != NULL)
            *keys[i].text = value;
        else
            *keys[i].number = strtoll(value, NULL, 10);
        return true;
    }
    fprintf(stderr, "slurm_jobs: what is '%s'?\n", word);
    return false;
}

static void show(const rgmi_job *job)
{
    printf("%lld %lld/%lld/%s %s %s\n", (long long)job->id, (long long)job->tag.experiment,
           (long long)job->tag.trial, job->tag.run, rgmi_job_state_name(job->state), job->reason);
}

static rgm_status work(void *slurm, const char *verb, int64_t id, const asked_for *asked)
{
    rgmi_job job = {.id = id, .tag = asked->request.tag};

    if (strcmp(verb, "start") == 0) {
        RGM_TRY(rgmi_slurm.start(slurm, &id, &asked->request));
        printf("%lld\n", (long long)id);
    } else if (strcmp(verb, "poll") == 0) {
        RGM_TRY(rgmi_slurm.poll(slurm, &job, 1));
        show(&job);
    } else if (strcmp(verb, "find") == 0) {
        rgmi_job *jobs;
        int64_t count;

        RGM_TRY(rgmi_slurm.find(slurm, &jobs, &count));
        for (int64_t i = 0; i < count; i++)
            show(&jobs[i]);
        rgm_free(jobs);
    } else if (strcmp(verb, "stop") == 0) {
        return rgmi_slurm.stop(slurm, &job);
    } else if (strcmp(verb, "kill") == 0) {
        return rgmi_slurm.kill(slurm, &job);
    } else if (strcmp(verb, "requeue") == 0) {
        return rgmi_slurm.requeue(slurm, &job);
    } else {
        return RGM_FAIL(RGM_ERR_ARG, "there is no verb '%s'", verb);
    }
    return RGM_OK;
}

int main(int argc, char **argv)
{
    asked_for asked = {.request = {.cpus = 1}};
    bool has_id = argc > 2 && argv[2][0] >= '0' && argv[2][0] <= '9';
    void *slurm = NULL;
    rgm_status status;
    int i;

    for (i = has_id ? 3 : 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!take(&asked, argv[i]))
            return 2;
    asked.request.argv = (const char *const *)argv + i + (i < argc);
    asked.request.environment = asked.environment;
    asked.options.flags = (rgm_texts){asked.flags, asked.flags[0] != NULL};
    status = rgmi_slurm_create(&slurm, &asked.options);
    if (status == RGM_OK)
        status =
            work(slurm, argc > 1 ? argv[1] : "", has_id ? strtoll(argv[2], NULL, 10) : 0, &asked);
    if (status != RGM_OK)
        fprintf(stderr, "%s: %s\n", rgm_status_name(status), rgm_error_message());
    rgmi_slurm.release(slurm);
    return status == RGM_OK ? 0 : 1;
}
