/*
 * What the page takes with 10,000 runs of 1,000 points: the first table, a comparison, sorting and
 * searching, memory. Beside them floors of this machine: a call of stat, a small file read.
 *
 *     page_bench [RUNS]        makes them in a folder of /var/tmp, times, removes it; 1: a goal is
 * missed page_bench first DIR     the first table of a process of its own
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <regimen/store.h>
#include <regimen/web.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 10000, POINTS = 1000, COMPARED = 20, LOGS = 50 };
static int missed;

/* ---- runs ----------------------------------------------------------------------------------- */

static rgm_status save(const char *folder, const char *name, const char *data, int64_t size)
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, (size_t)size, file) != (size_t)size || fclose(file) != 0)
        return RGM_FAIL_SYSTEM("write", path);
    return RGM_OK;
}

static rgm_status make_metrics(const char *folder, const rgm_rng *rng, uint64_t run)
{
    rgm_metrics_log *log = NULL;
    char path[300];
    rgm_status status = RGM_OK;

    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    RGM_GO(rgm_metrics_log_open(&log, path, 0));
    for (int64_t i = 1; i <= POINTS; i++) {
        uint64_t draw = run * POINTS * 4 + (uint64_t)i * 4;
        const rgm_named_number train[] = {{"loss", 2 / sqrt((double)i) + rgm_rng_f64(rng, draw)},
                                          {"accuracy", rgm_rng_f64(rng, draw + 1)}};
        const rgm_named_number valid[] = {
            {"loss", 2 / sqrt((double)i) + rgm_rng_f64(rng, draw + 2)},
            {"accuracy", rgm_rng_f64(rng, draw + 3)}};

        RGM_GO(rgm_metrics_log_add(log, "train", 10 * i, i, train, 2));
        RGM_GO(rgm_metrics_log_add(log, "valid", 10 * i, i, valid, 2));
    }
done:
    rgm_metrics_log_close(log);
    return status;
}

/* The bytes of one of the first runs in a file of its own: what a log holds costs nothing to make.
 */
static rgm_status copy_metrics(const char *folder, const char *all, int64_t run)
{
    static char *data[LOGS];
    static int64_t size[LOGS];
    char path[300];
    int64_t k = run % LOGS;

    snprintf(path, sizeof path, "%s/run-%" PRId64 "/metrics.jsonl", all, k);
    if (data[k] == NULL)
        RGM_TRY(rgm_file_load(&data[k], &size[k], path, INT64_C(1) << 24));
    return save(folder, "metrics.jsonl", data[k], size[k]);
}

static rgm_status make_config(const char *folder, const rgm_rng *rng, uint64_t run)
{
    char text[2000];
    int size = snprintf(
        text, sizeof text,
        "description: a perceptron with seed %" PRIu64
        "\ndata:\n  path: data/digits\n  train: train.csv.gz\n"
        "  test: test.csv.gz\n  valid_fraction: 0.1\n  scale: 16\n  batch_size: %d\ntask:\n"
        "  type: classification\n  num_classes: 10\n  label_smoothing: %.17g\nmodel:\n  type: mlp\n"
        "  hidden: [%d]\n  dropout: %.17g\noptimizer:\n  type: adam\n  learning_rate:\n"
        "    type: cosine\n    initial: %.17g\ntrainer:\n  checkpoint:\n    best:\n"
        "      metric: valid.accuracy\n  epochs: %d\nruntime:\n  seed: %" PRIu64 "\n  threads: 2\n",
        run, 32 << run % 3, rgm_rng_f64(rng, 5 * run), 64 << run % 4, rgm_rng_f64(rng, 5 * run + 1),
        rgm_rng_f64(rng, 5 * run + 2), POINTS, run);

    return save(folder, "config.yaml", text, size);
}

static rgm_status make_checkpoint(const char *folder, const rgm_rng *rng, uint64_t run)
{
    char path[300], text[1500];
    int size =
        snprintf(text, sizeof text,
                 "{\n  \"format\": \"regimen-checkpoint\",\n  \"version\": %d,\n  \"step\": %d,\n"
                 "  \"files\": {},\n  \"ints\": {\n    \"best_step\": 500,\n    \"epoch\": %d,\n"
                 "    \"finished\": 0\n  },\n  \"numbers\": {\n    \"best_value\": %.17g\n  },\n"
                 "  \"texts\": {\n    \"best_metric\": \"valid.accuracy\"\n  },\n",
                 RGM_CHECKPOINT_VERSION, 10 * POINTS, POINTS, rgm_rng_f64(rng, run));

    size += snprintf(text + size, sizeof text - (size_t)size, "  \"xxh3\": \"%016" PRIx64 "\"\n}\n",
                     rgm_hash64(text, (size_t)size));
    snprintf(path, sizeof path, "%s/ckpt/step-%08d", folder, 10 * POINTS);
    RGM_TRY(rgm_folder_make(path));
    return save(path, "manifest.json", text, size);
}

/* Measured last at that time: idle runs, one after the other. */
static rgm_status set_time(const char *folder, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    char path[300];

    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    return utimensat(AT_FDCWD, path, times, 0) == 0 ? RGM_OK : RGM_FAIL_SYSTEM("touch", path);
}

static rgm_status make_runs(const char *folder, int64_t runs)
{
    const rgm_rng rng = rgm_rng_stream(1, "page", 0);
    char path[200];

    for (int64_t i = 0; i < runs; i++) {
        snprintf(path, sizeof path, "%s/run-%" PRId64, folder, i);
        RGM_TRY(rgm_folder_make(path));
        RGM_TRY(i < LOGS ? make_metrics(path, &rng, (uint64_t)i) : copy_metrics(path, folder, i));
        RGM_TRY(make_config(path, &rng, (uint64_t)i));
        RGM_TRY(make_checkpoint(path, &rng, (uint64_t)i));
        RGM_TRY(save(path, ".lock", "pid 1 on host vm\n", 17));
        RGM_TRY(set_time(path, (int64_t)rgm_wall_time() - 3600 - i));
    }
    return RGM_OK;
}

/* ---- requests ------------------------------------------------------------------------------- */

/* The body's size and, of the first `count` rows, their ids with commas. */
static rgm_status ask(double *seconds, int64_t *bytes, rgm_json **json, rgm_web *web,
                      const char *path)
{
    const char *address = rgm_web_address(web) + strlen("http://");
    char host[64], bearer[64];
    const rgm_header headers[] = {{"Host", host}, {"Authorization", bearer}};
    rgm_response answer;
    double begin = rgm_now();
    rgm_status status = RGM_OK;

    snprintf(host, sizeof host, "%.*s", (int)strcspn(address, "/"), address);
    snprintf(bearer, sizeof bearer, "Bearer %s", strchr(address, '=') + 1);
    rgm_web_handle(
        &answer, web,
        &(rgm_request){.method = "GET", .path = path, .headers = headers, .header_count = 2});
    *seconds = rgm_now() - begin;
    *bytes = answer.body.size;
    if (answer.status != 200)
        status = RGM_FAIL(RGM_ERR_DATA, "%s: %s", path, answer.body.data);
    else if (json != NULL)
        status = rgm_json_parse(json, answer.body.data, answer.body.size, path);
    rgm_response_clear(&answer);
    return status;
}

static void tell(const char *what, double value, const char *unit, double goal)
{
    printf("%-44s %10.1f %-3s", what, value, unit);
    if (goal > 0)
        printf("  goal %g %s%s", goal, unit, value > goal ? "  MISSED" : "");
    missed += goal > 0 && value > goal;
    printf("\n");
    fflush(stdout);
}

static rgm_status open_web(rgm_web **web, const char *folder)
{
    const char *const folders[] = {folder};
    const rgm_web_options options = {
        .folders = folders, .folder_count = 1, .listen = "127.0.0.1:0"};

    return rgm_web_open(web, &options);
}

/* From the start of a process to its first table. */
static int first_table(const char *folder)
{
    rgm_web *web = NULL;
    double seconds;
    int64_t bytes, rows;
    rgm_json *json = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(open_web(&web, folder));
    RGM_GO(ask(&seconds, &bytes, &json, web, "/api/v1/runs"));
    rows = rgm_json_count(rgm_json_find(json, "rows"));
    if (rows != 100)
        status = RGM_FAIL(RGM_ERR_DATA, "%" PRId64 " rows", rows);
done:
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    fflush(stderr);
    _exit(status != RGM_OK); /* what closing takes is no part of it */
}

static rgm_status time_first(const char *self, const char *folder)
{
    double begin = rgm_now();
    pid_t child = fork();
    int result = 1;

    if (child == 0) {
        execl(self, self, "first", folder, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &result, 0) != child || result != 0)
        return RGM_FAIL(RGM_ERR_DATA, "the first table failed");
    tell("first table of a process", (rgm_now() - begin) * 1e3, "ms", 300);
    return RGM_OK;
}

static rgm_status floors(const char *folder, int64_t runs)
{
    char path[300], *data;
    struct stat info;
    double begin = rgm_now();
    int64_t size;

    for (int64_t i = 0; i < runs; i++) {
        snprintf(path, sizeof path, "%s/run-%" PRId64 "/metrics.jsonl", folder, i);
        if (stat(path, &info) < 0)
            return RGM_FAIL_SYSTEM("examine", path);
    }
    tell("floor: a stat of each run", (rgm_now() - begin) * 1e3, "ms", 0);
    begin = rgm_now();
    for (int64_t i = 0; i < runs; i++) {
        snprintf(path, sizeof path, "%s/run-%" PRId64 "/config.yaml", folder, i);
        RGM_TRY(rgm_file_load(&data, &size, path, 10000));
        rgm_free(data);
    }
    tell("floor: each config.yaml read, one thread", (rgm_now() - begin) * 1e3, "ms", 0);
    return RGM_OK;
}

static rgm_status compare(rgm_web *web)
{
    char path[1000] = "/api/v1/curves?points=1000&runs=";
    rgm_json *json;
    double seconds;
    int64_t bytes;

    RGM_TRY(ask(&seconds, &bytes, &json, web, "/api/v1/runs?limit=20"));
    for (int i = 0; i < COMPARED; i++) {
        const rgm_json *row = rgm_json_at(rgm_json_find(json, "rows"), i);

        snprintf(path + strlen(path), sizeof path - strlen(path), "%s%s", i > 0 ? "," : "",
                 rgm_json_text(rgm_json_find(row, "id")));
    }
    rgm_json_release(json);
    RGM_TRY(ask(&seconds, &bytes, NULL, web, path));
    tell("20 runs compared, first", seconds * 1e3, "ms", 500);
    RGM_TRY(ask(&seconds, &bytes, NULL, web, path));
    tell("20 runs compared, again", seconds * 1e3, "ms", 500);
    tell("  bytes of that answer", (double)bytes / 1e6, "MB", 0);
    return RGM_OK;
}

static double cpu_seconds(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static rgm_status tables(rgm_web *web)
{
    static const char *const asked[][2] = {
        {"default sort", "/api/v1/runs"},
        {"sorted by a metric", "/api/v1/runs?sort=metric.valid.loss&order=asc"},
        {"text search", "/api/v1/runs?q=seed+77"},
        {"filtered", "/api/v1/runs?where=config.optimizer.learning_rate.initial+%3C+0.1"},
        {"every key described", "/api/v1/runs?describe=1"}};
    double seconds, best, cpu;
    int64_t bytes;

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        best = INFINITY;
        for (int k = 0; k < 5; k++) {
            RGM_TRY(ask(&seconds, &bytes, NULL, web, asked[i][1]));
            best = fmin(best, seconds);
        }
        tell(asked[i][0], best * 1e3, "ms", 0);
    }
    cpu = cpu_seconds();
    for (int i = 0; i < 4; i++) { /* a refresh comes with a request, once a second */
        usleep(1100000);
        RGM_TRY(ask(&seconds, &bytes, NULL, web, "/api/v1/runs?limit=1"));
    }
    tell("refresh of all, CPU each", (cpu_seconds() - cpu) / 4 * 1e3, "ms", 50);
    return RGM_OK;
}

static rgm_status read_all(rgm_web *web, double begin, int64_t runs)
{
    for (;;) {
        rgm_json *json;
        double seconds;
        int64_t bytes, read = 0;

        RGM_TRY(ask(&seconds, &bytes, &json, web, "/api/v1/runs?limit=1"));
        (void)rgm_json_int(&read, rgm_json_find(json, "read"));
        rgm_json_release(json);
        if (read == runs)
            break;
        usleep(20000);
    }
    tell("all runs read", (rgm_now() - begin) * 1e3, "ms", 0);
    return RGM_OK;
}

static rgm_status run(const char *self, const char *folder, int64_t runs)
{
    rgm_web *web = NULL;
    double begin = rgm_now();
    rgm_status status = RGM_OK;

    RGM_GO(make_runs(folder, runs));
    printf("%" PRId64 " runs of %d lines made in %.0f s\n", runs, 2 * POINTS, rgm_now() - begin);
    RGM_GO(floors(folder, runs));
    RGM_GO(time_first(self, folder));
    RGM_GO(time_first(self, folder));
    begin = rgm_now();
    RGM_GO(open_web(&web, folder));
    RGM_GO(compare(web));
    RGM_GO(read_all(web, begin, runs));
    RGM_GO(tables(web));
    tell("most resident memory", (double)rgm_memory_resident_peak() / 1e6, "MB", 300);
done:
    rgm_web_close(web);
    return status;
}

int main(int argc, char **argv)
{
    char folder[] = "/var/tmp/regimen-page-XXXXXX", self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    int64_t runs = argc > 1 ? strtoll(argv[1], NULL, 10) : RUNS;

    if (argc == 3 && strcmp(argv[1], "first") == 0)
        return first_table(argv[2]);
    if (size < 0 || runs < 100 || mkdtemp(folder) == NULL)
        return 2;
    self[size] = 0;
    rgm_status status = run(self, folder, runs);
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_folder_remove(folder);
    return status != RGM_OK || missed ? 1 : 0;
}
