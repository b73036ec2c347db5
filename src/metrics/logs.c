/*
 * Logs: named numbers, and texts, in the order in which they were first set.
 */
#include <math.h>
#include <string.h>

#include <regimen/metrics.h>

static int64_t find(const rgm_logs *logs, const char *name)
{
    for (int64_t i = 0; i < logs->count; i++)
        if (strcmp(logs->items[i].name, name) == 0)
            return i;
    return -1;
}

rgm_status rgm_logs_set(rgm_logs *logs, const char *name, double value)
{
    int64_t at = find(logs, name);
    char *copy = NULL;

    if (at < 0) {
        RGM_TRY(RGM_RESERVE(logs->items, logs->capacity, logs->count + 1));
        RGM_TRY(rgm_strdup(&copy, name));
        at = logs->count++;
        logs->items[at].name = copy;
    }
    logs->items[at].value = value;
    return RGM_OK;
}

rgm_status rgm_logs_set_text(rgm_logs *logs, const char *name, const char *text)
{
    rgm_status status = RGM_OK;
    rgm_named_text made = {0};
    int64_t at = 0;

    RGM_GO(rgm_strdup(&made.text, text));
    while (at < logs->text_count && strcmp(logs->texts[at].name, name) != 0)
        at++;
    if (at == logs->text_count) {
        RGM_GO(rgm_strdup(&made.name, name));
        RGM_GO(RGM_RESERVE(logs->texts, logs->text_capacity, logs->text_count + 1));
        logs->texts[logs->text_count++] = made;
        return RGM_OK;
    }
    rgm_free(logs->texts[at].text);
    logs->texts[at].text = made.text;
    return RGM_OK;
done:
    rgm_free(made.name);
    rgm_free(made.text);
    return status;
}

static void clear_sample(rgm_sample *sample)
{
    rgm_free((char *)sample->source);
    rgm_free((char *)sample->translation);
    rgm_free((char *)sample->reference);
    rgm_free((rgm_named_number *)sample->scores);
}

static void clear_samples(rgm_logs *logs)
{
    for (int64_t i = 0; i < logs->sample_count; i++)
        clear_sample(&logs->samples[i]);
    logs->sample_count = 0;
}

rgm_status rgm_logs_add_sample(rgm_logs *logs, const rgm_sample *sample)
{
    rgm_status status = RGM_OK;
    char *texts[3] = {NULL, NULL, NULL};
    rgm_named_number *scores = NULL;

    RGM_GO(rgm_strdup(&texts[0], sample->source));
    RGM_GO(rgm_strdup(&texts[1], sample->translation));
    RGM_GO(rgm_strdup(&texts[2], sample->reference));
    RGM_GO(RGM_NEW(scores, sample->score_count));
    RGM_GO(RGM_RESERVE(logs->samples, logs->sample_capacity, logs->sample_count + 1));
    for (int64_t i = 0; i < sample->score_count; i++)
        scores[i] = sample->scores[i];
    logs->samples[logs->sample_count++] = (rgm_sample){.source = texts[0],
                                                       .translation = texts[1],
                                                       .reference = texts[2],
                                                       .scores = scores,
                                                       .score_count = sample->score_count};
    return RGM_OK;
done:
    for (int i = 0; i < 3; i++)
        rgm_free(texts[i]);
    rgm_free(scores);
    return status;
}

bool rgm_logs_has(const rgm_logs *logs, const char *name)
{
    return find(logs, name) >= 0;
}

double rgm_logs_get(const rgm_logs *logs, const char *name)
{
    int64_t at = find(logs, name);

    return at < 0 ? NAN : logs->items[at].value;
}

rgm_status rgm_logs_merge(rgm_logs *to, const rgm_logs *from)
{
    for (int64_t i = 0; i < from->count; i++)
        RGM_TRY(rgm_logs_set(to, from->items[i].name, from->items[i].value));
    for (int64_t i = 0; i < from->text_count; i++)
        RGM_TRY(rgm_logs_set_text(to, from->texts[i].name, from->texts[i].text));
    if (from->sample_count > 0)
        clear_samples(to);
    for (int64_t i = 0; i < from->sample_count; i++)
        RGM_TRY(rgm_logs_add_sample(to, &from->samples[i]));
    return RGM_OK;
}

void rgm_logs_clear(rgm_logs *logs)
{
    for (int64_t i = 0; i < logs->count; i++)
        rgm_free((char *)logs->items[i].name);
    rgm_free(logs->items);
    for (int64_t i = 0; i < logs->text_count; i++) {
        rgm_free(logs->texts[i].name);
        rgm_free(logs->texts[i].text);
    }
    rgm_free(logs->texts);
    clear_samples(logs);
    rgm_free(logs->samples);
    *logs = (rgm_logs){0};
}
