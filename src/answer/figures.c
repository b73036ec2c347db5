/*
 * What models did, counted and printed in Prometheus' text format.
 */
#include <stdio.h>

#include "answer_internal.h"

static const int codes[RGMI_CODES] = {200, 400, 429, 500, 503, 504, 0}; /* 0: others */

static const double seconds_bounds[RGMI_BUCKETS - 1] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
static const double size_bounds[RGMI_BUCKETS - 1] = {1,   2,   4,    8,    16,   32,   64,   128,
                                                     256, 512, 1024, 2048, 4096, 8192, 16384};

int rgmi_code_place(int code)
{
    int i = 0;

    while (codes[i] != code && codes[i] != 0)
        i++;
    return i;
}

static void observe(rgmi_histogram *h, const double *bounds, double value)
{
    int i = 0;

    while (i < RGMI_BUCKETS - 1 && value > bounds[i])
        i++;
    h->counts[i]++;
    h->sum += value;
}

void rgmi_observe_seconds(rgmi_histogram *h, double seconds)
{
    observe(h, seconds_bounds, seconds);
}

void rgmi_observe_size(rgmi_histogram *h, int64_t size)
{
    observe(h, size_bounds, (double)size);
}

/* ---- printing ------------------------------------------------------------------------------- */

/* A model as it was at one moment. */
typedef struct seen {
    const char *name;
    rgmi_figures figures;
    int64_t waiting, busy, texts, streams, version;
    bool refuses;
} seen;

static void look(seen *out, rgmi_served *model)
{
    pthread_mutex_lock(&model->lock);
    *out = (seen){.name = model->name,
                  .figures = model->figures,
                  .waiting = model->waiting,
                  .busy = model->busy,
                  .texts = model->texts,
                  .streams = model->streams,
                  .version = model->version->number,
                  .refuses = model->reason != NULL};
    pthread_mutex_unlock(&model->lock);
}

static rgm_status head(rgm_text *out, const char *name, const char *type, const char *help)
{
    return rgm_text_printf(out, "# HELP regimen_%s %s\n# TYPE regimen_%s %s\n", name, help, name,
                           type);
}

static rgm_status print_histogram(rgm_text *out, const char *name, const char *help,
                                  const seen *all, int64_t count, size_t offset,
                                  const double *bounds)
{
    RGM_TRY(head(out, name, "histogram", help));
    for (int64_t m = 0; m < count; m++) {
        const rgmi_histogram *h = (const rgmi_histogram *)((const char *)&all[m].figures + offset);
        int64_t total = 0;

        for (int i = 0; i < RGMI_BUCKETS; i++) {
            total += h->counts[i];
            RGM_TRY(
                rgm_text_printf(out, "regimen_%s_bucket{model=\"%s\",le=\"", name, all[m].name));
            RGM_TRY(i < RGMI_BUCKETS - 1 ? rgm_json_print_number(out, bounds[i])
                                         : rgm_text_printf(out, "+Inf"));
            RGM_TRY(rgm_text_printf(out, "\"} %lld\n", (long long)total));
        }
        RGM_TRY(rgm_text_printf(out, "regimen_%s_sum{model=\"%s\"} ", name, all[m].name));
        RGM_TRY(rgm_json_print_number(out, h->sum));
        RGM_TRY(rgm_text_printf(out, "\nregimen_%s_count{model=\"%s\"} %lld\n", name, all[m].name,
                                (long long)total));
    }
    return RGM_OK;
}

static rgm_status print_requests(rgm_text *out, const seen *all, int64_t count)
{
    RGM_TRY(head(out, "requests_total", "counter", "Requests for predictions by their answer"));
    for (int64_t m = 0; m < count; m++)
        for (int i = 0; i < RGMI_CODES; i++) {
            char code[8] = "other";

            if (codes[i] != 0)
                snprintf(code, sizeof code, "%d", codes[i]);
            RGM_TRY(rgm_text_printf(out, "regimen_requests_total{model=\"%s\",code=\"%s\"} %lld\n",
                                    all[m].name, code, (long long)all[m].figures.requests[i]));
        }
    return RGM_OK;
}

/* A number of each model. */
static rgm_status print_number(rgm_text *out, const char *name, const char *type, const char *help,
                               const seen *all, int64_t count, int64_t (*number)(const seen *one))
{
    RGM_TRY(head(out, name, type, help));
    for (int64_t m = 0; m < count; m++)
        RGM_TRY(rgm_text_printf(out, "regimen_%s{model=\"%s\"} %lld\n", name, all[m].name,
                                (long long)number(&all[m])));
    return RGM_OK;
}

static int64_t questions_of(const seen *one)
{
    return one->figures.questions;
}

static int64_t waiting_of(const seen *one)
{
    return one->waiting;
}

static int64_t busy_of(const seen *one)
{
    return one->busy;
}

static int64_t tokens_of(const seen *one)
{
    return one->figures.tokens;
}

static int64_t texts_of(const seen *one)
{
    return one->texts;
}

static int64_t streams_of(const seen *one)
{
    return one->streams;
}

static int64_t gone_of(const seen *one)
{
    return one->figures.gone;
}

static int64_t version_of(const seen *one)
{
    return one->version;
}

static int64_t reloads_of(const seen *one)
{
    return one->figures.reloads;
}

static int64_t refused_of(const seen *one)
{
    return one->figures.refused;
}

static int64_t refuses_of(const seen *one)
{
    return one->refuses;
}

static rgm_status print_numbers(rgm_text *out, const seen *all, int64_t count)
{
    static const struct {
        const char *name, *type, *help;
        int64_t (*number)(const seen *one);
    } numbers[] = {
        {"questions_total", "counter", "Questions answered", questions_of},
        {"queue_questions", "gauge", "Questions that wait", waiting_of},
        {"busy_requests", "gauge", "Requests that are being answered", busy_of},
        {"tokens_total", "counter", "Tokens written by a language model", tokens_of},
        {"texts", "gauge", "Texts that are being written", texts_of},
        {"streams", "gauge", "Streams that are open", streams_of},
        {"streams_gone_total", "counter", "Streams that were not read to their end", gone_of},
        {"model_version", "gauge", "Version that answers", version_of},
        {"reloads_total", "counter", "Newer versions that took over", reloads_of},
        {"reload_failures_total", "counter", "Newer versions that could not be loaded", refused_of},
        {"reload_failing", "gauge", "1: the newest version could not be loaded", refuses_of},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        RGM_TRY(print_number(out, numbers[i].name, numbers[i].type, numbers[i].help, all, count,
                             numbers[i].number));
    return RGM_OK;
}

static rgm_status print_process(rgm_text *out, const rgm_answer_server *server)
{
    RGM_TRY(rgm_text_printf(out,
                            "# HELP process_resident_memory_bytes Resident memory\n"
                            "# TYPE process_resident_memory_bytes gauge\n"
                            "process_resident_memory_bytes %lld\n"
                            "# HELP process_start_time_seconds Start since 1970\n"
                            "# TYPE process_start_time_seconds gauge\n"
                            "process_start_time_seconds ",
                            (long long)rgm_memory_resident()));
    RGM_TRY(rgm_json_print_number(out, server->began));
    return rgm_text_printf(out, "\n");
}

rgm_status rgmi_figures_print(rgm_text *out, rgm_answer_server *server)
{
    rgm_status status = RGM_OK;
    int64_t count = server->model_count;
    seen *all = NULL;

    RGM_GO(RGM_NEW(all, count));
    for (int64_t m = 0; m < count; m++)
        look(&all[m], &server->models[m]);
    RGM_GO(print_requests(out, all, count));
    RGM_GO(print_numbers(out, all, count));
    RGM_GO(print_histogram(out, "request_seconds", "Seconds from a request to its answer", all,
                           count, offsetof(rgmi_figures, seconds), seconds_bounds));
    RGM_GO(print_histogram(out, "queue_seconds", "Seconds until a request's model begins with it",
                           all, count, offsetof(rgmi_figures, waited), seconds_bounds));
    RGM_GO(print_histogram(out, "batch_questions", "Questions answered together", all, count,
                           offsetof(rgmi_figures, batches), size_bounds));
    RGM_GO(print_process(out, server));
done:
    rgm_free(all);
    return status;
}
