/*
 * regimen_bench: times one workload. It opens the workload, says so in a line of JSON, and then
 * obeys lines on standard input: "threads 2", "go 10" (that many steps; answered by a line of JSON
 * with seconds, peak memory and facts). With --steps it runs that many by itself. The driver,
 * bench.py, talks to several of these and to the peer in turns.
 *
 * Under mpirun, with --shards, the first rank reads the lines and answers for all.
 *
 *     regimen_bench make FILE nodes=2708 pairs=5429 words=1433 classes=7 train=140
 *     regimen_bench gcn --data FILE --threads 2 --steps 100 --profile
 *     regimen_bench gcn --data FILE --count gpu          what a step launches, computes and moves
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bench_workload *const workloads[] = {
    &bench_limits,     &bench_gcn,       &bench_gat,     &bench_sage,          &bench_aggregate,
    &bench_minibatch,  &bench_sample,    &bench_records, &bench_bf16,          &bench_loop,
    &bench_checkpoint, &bench_translate, &bench_decode,  &bench_runner,        &bench_sampled_run,
    &bench_hgt,        &bench_molecules, &bench_mapped,  &bench_translate_run, &bench_language,
    &bench_served,
};
rgm_device *bench_device;
rgm_comm *bench_comm;

enum { WORKLOADS = sizeof workloads / sizeof *workloads };

static int usage(void)
{
    fprintf(stderr,
            "usage: regimen_bench WORKLOAD --data FILE [--form NAME] [--size N] [--threads N]\n"
            "                     [--steps N] [--profile] [--device NAME]\n"
            "                     [--count gpu|cpu] [--shards N]\n"
            "       regimen_bench make FILE key=number ...\n"
            "       regimen_bench make-graph FILE key=number ...\n"
            "       regimen_bench make-records FILE DATA key=number ...\n"
            "       regimen_bench make-served FOLDER [vocabulary=N]\n");
    for (int i = 0; i < WORKLOADS; i++)
        fprintf(stderr, "  %-10s %s\n", workloads[i]->name, workloads[i]->help);
    return 2;
}

/* What the ranks did since `before`. */
static rgm_status ranks_facts(rgm_text *out, const rgm_comm_times *before)
{
    rgm_comm_times now;

    rgm_comm_get_times(&now, bench_comm);
    return rgm_text_printf(out,
                           ", \"ranks\": %d, \"hidden\": %.4f, \"sums\": %.6f, \"waited\": %.6f, "
                           "\"engine\": %.6f",
                           rgm_comm_size(bench_comm), rgm_comm_hidden(before, &now),
                           now.sums - before->sums, now.waited - before->waited,
                           now.engine - before->engine);
}

static rgm_status say(const bench_workload *workload, void *state, double seconds, int64_t steps,
                      const rgm_comm_times *before)
{
    rgm_status status = RGM_OK;
    rgm_text facts = {0};

    if (rgm_comm_rank(bench_comm) > 0)
        return RGM_OK;
    if (workload->facts != NULL)
        RGM_GO(workload->facts(&facts, state));
    if (rgm_comm_size(bench_comm) > 1 && steps > 0)
        RGM_GO(ranks_facts(&facts, before));
    printf("{\"workload\": \"%s\", \"threads\": %d, \"steps\": %lld, \"seconds\": %.9f, \"peak\": "
           "%lld%s}\n",
           workload->name, rgm_threads(), (long long)steps, steps > 0 ? seconds / (double)steps : 0,
           (long long)rgm_memory_resident_peak(), facts.size > 0 ? facts.data : "");
    fflush(stdout);
done:
    rgm_text_clear(&facts);
    return status;
}

/* `count` steps from number *step on, timed together. */
static rgm_status go(const bench_workload *workload, void *state, int64_t *step, int64_t count)
{
    rgm_comm_times before;
    double begin = rgm_now();

    rgm_comm_get_times(&before, bench_comm);
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(workload->step(state, (*step)++));
    if (bench_device != NULL)
        RGM_TRY(rgm_device_wait(bench_device));
    return say(workload, state, rgm_now() - begin, count, &before);
}

typedef struct command {
    bool more; /* there is one */
    char line[128];
} command;

/* What the first rank is told goes to all. */
static rgm_status next_command(command *c)
{
    if (rgm_comm_rank(bench_comm) == 0)
        c->more = fgets(c->line, sizeof c->line, stdin) != NULL;
    return rgm_comm_broadcast(bench_comm, c, sizeof *c, 0);
}

static rgm_status obey(const bench_workload *workload, void *state)
{
    command c = {0};
    const char *line = c.line;
    int64_t step = 0;

    RGM_TRY(say(workload, state, 0, 0, NULL));
    for (;;) {
        RGM_TRY(next_command(&c));
        if (!c.more)
            return RGM_OK;
        if (strncmp(line, "threads ", 8) == 0)
            rgm_threads_set((int)strtol(line + 8, NULL, 10));
        else if (strncmp(line, "go ", 3) == 0)
            RGM_TRY(go(workload, state, &step, strtoll(line + 3, NULL, 10)));
        else
            return RGM_FAIL(RGM_ERR_ARG, "unknown command '%s'", line);
    }
}

/* A name that is nearly a form's would time something else under that name. */
static rgm_status find_form(bench_options *options, const bench_workload *workload)
{
    rgm_status status = RGM_OK;
    rgm_text known = {0};

    for (int i = 0; workload->forms != NULL && workload->forms[i] != NULL; i++) {
        if (options->form[0] == '\0' || strcmp(options->form, workload->forms[i]) == 0) {
            options->form = workload->forms[i];
            goto done;
        }
        RGM_GO(rgm_text_printf(&known, "%s%s", i > 0 ? ", " : "", workload->forms[i]));
    }
    if (options->form[0] != '\0')
        status = RGM_FAIL(RGM_ERR_ARG, "%s has no form '%s'; there are %s", workload->name,
                          options->form, known.size > 0 ? known.data : "none");
done:
    rgm_text_clear(&known);
    return status;
}

/* What `steps` steps count, behind two in which what stays is made and copied. */
static rgm_status count(const bench_workload *workload, void *state, int64_t steps)
{
    rgm_status status = RGM_OK;
    rgm_text counts = {0};
    int64_t step = 0;

    while (step < 2)
        RGM_GO(workload->step(state, step++));
    bench_count_begin();
    for (int64_t i = 0; i < steps; i++)
        RGM_GO(workload->step(state, step++));
    RGM_GO(bench_count_print(&counts, steps));
    printf("{\"workload\": \"%s\", \"steps\": %lld%s}\n", workload->name, (long long)steps,
           counts.data);
done:
    rgm_text_clear(&counts);
    return status;
}

static rgm_status run(const bench_workload *workload, bench_options *options, int64_t steps)
{
    rgm_status status = RGM_OK;
    void *state = NULL;
    int64_t step = 0;

    bench_comm = rgm_comm_self();
    RGM_GO(find_form(options, workload));
    if (options->count != NULL)
        RGM_GO(bench_count_open(&bench_device, strcmp(options->count, "gpu") == 0));
    else if (options->device != NULL)
        RGM_GO(rgm_device_open(&bench_device, options->device));
    if (options->shards > 0)
        RGM_GO(rgm_comm_open(&bench_comm));
    RGM_GO(workload->open(&state, options));
    if (options->count != NULL) {
        RGM_GO(count(workload, state, steps > 0 ? steps : 1));
    } else if (steps > 0) {
        RGM_GO(workload->step(state, step++)); /* memory is taken, primitives are made */
        RGM_GO(go(workload, state, &step, steps));
    } else {
        RGM_GO(obey(workload, state));
    }
done:
    if (state != NULL)
        workload->close(state);
    if (bench_device != NULL)
        rgm_device_release(bench_device);
    if (status != RGM_OK)
        (void)rgm_comm_fail(bench_comm, status);
    rgm_comm_close(bench_comm);
    return status;
}

static int finish(rgm_status status)
{
    if (status != RGM_OK)
        fprintf(stderr, "regimen_bench: %s\n", rgm_error_text());
    return status == RGM_OK ? 0 : 1;
}

static bool read_options(bench_options *options, int64_t *steps, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--profile") == 0) {
            options->profile = true;
            continue;
        }
        if (value == NULL)
            return false;
        if (strcmp(argv[i], "--data") == 0)
            options->data = value;
        else if (strcmp(argv[i], "--form") == 0)
            options->form = value;
        else if (strcmp(argv[i], "--device") == 0)
            options->device = value;
        else if (strcmp(argv[i], "--count") == 0)
            options->count = value;
        else if (strcmp(argv[i], "--size") == 0)
            options->size = strtoll(value, NULL, 10);
        else if (strcmp(argv[i], "--shards") == 0)
            options->shards = strtoll(value, NULL, 10);
        else if (strcmp(argv[i], "--steps") == 0)
            *steps = strtoll(value, NULL, 10);
        else if (strcmp(argv[i], "--threads") == 0)
            rgm_threads_set((int)strtol(value, NULL, 10));
        else
            return false;
        i++;
    }
    return options->count == NULL || strcmp(options->count, "gpu") == 0 ||
           strcmp(options->count, "cpu") == 0;
}

int main(int argc, char **argv)
{
    bench_options options = {.form = ""};
    int64_t steps = 0;

    if (argc > 2 && strcmp(argv[1], "make") == 0)
        return finish(bench_make(argv[2], argv + 3, argc - 3));
    if (argc > 2 && strcmp(argv[1], "make-graph") == 0)
        return finish(bench_make_graph(argv[2], argv + 3, argc - 3));
    if (argc > 3 && strcmp(argv[1], "make-records") == 0)
        return finish(bench_make_records(argv[2], argv[3], argv + 4, argc - 4));
    if (argc > 2 && strcmp(argv[1], "make-served") == 0)
        return finish(bench_make_served(argv[2], argv + 3, argc - 3));
    if (argc < 2 || !read_options(&options, &steps, argc - 2, argv + 2))
        return usage();
    for (int i = 0; i < WORKLOADS; i++)
        if (strcmp(argv[1], workloads[i]->name) == 0) {
            if (options.data == NULL && workloads[i] != &bench_limits &&
                workloads[i] != &bench_bf16 && workloads[i] != &bench_loop &&
                workloads[i] != &bench_translate && workloads[i] != &bench_translate_run &&
                workloads[i] != &bench_decode && workloads[i] != &bench_language)
                return usage();
            return finish(run(workloads[i], &options, steps));
        }
    return usage();
}
