/* What the best trial of a search found out beside its metric: its run folder's result.json. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

enum { RESULT_LIMIT = 1 << 20 };

static rgm_status add_metrics(rgm_text *out, const json_t *metrics)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)metrics, name, value)
    {
        RGM_TRY(rgm_text_printf(out, "%s%s ", out->size > 0 ? ", " : "", name));
        RGM_TRY(json_is_string(value) ? rgm_text_printf(out, "%s", json_string_value(value))
                                      : rgm_text_printf(out, "%.6g", number_of(metrics, name)));
    }
    return RGM_OK;
}

/* Of the weights that are exported, by part and set: a run that goes by workloads has none. */
static rgm_status take_final(rgm_search_report *r, const json_t *result)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    const char *part;
    json_t *metrics;

    json_object_foreach(json_object_get(result, "final"), part, metrics)
    {
        text.size = 0;
        RGM_GO(add_metrics(&text, metrics));
        if (text.size > 0)
            RGM_GO(rgm_report_add_fact(r, part, text.data));
    }
done:
    rgm_text_clear(&text);
    return status;
}

/* "items 140 train, 500 valid": a word and what it says. */
static rgm_status take_plan(rgm_search_report *r, const json_t *result)
{
    const json_t *lines = json_object_get(result, "plan");
    char word[64];

    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));
        size_t size = line != NULL ? strcspn(line, " ") : 0;

        if (line == NULL || line[size] == '\0' || size >= sizeof word)
            continue;
        snprintf(word, sizeof word, "%.*s", (int)size, line);
        RGM_TRY(rgm_report_add_fact(r, word, line + size + 1));
    }
    return RGM_OK;
}

static rgm_status take_texts(rgm_search_report *r, const char *name, const json_t *texts)
{
    for (size_t i = 0; i < json_array_size(texts); i++)
        if (json_is_string(json_array_get(texts, i)))
            RGM_TRY(rgm_report_add_fact(r, name, json_string_value(json_array_get(texts, i))));
    return RGM_OK;
}

static rgm_status take_warnings(rgm_search_report *r, const json_t *result)
{
    const json_t *warnings = json_object_get(result, "warnings");
    int64_t count = int_of(warnings, "count");
    char text[64];

    if (count < 0)
        return RGM_OK;
    snprintf(text, sizeof text, count > 0 ? "%lld in its log" : "none", (long long)count);
    RGM_TRY(rgm_report_add_fact(r, "warnings", text));
    return take_texts(r, "warning", json_object_get(warnings, "first"));
}

static rgm_status take_result(rgm_search_report *r, const json_t *result)
{
    char text[64];

    snprintf(text, sizeof text, "%lld steps in %.3g s", (long long)int_of(result, "step"),
             number_of(result, "seconds"));
    if (int_of(result, "step") >= 0 && isfinite(number_of(result, "seconds")))
        RGM_TRY(rgm_report_add_fact(r, "trained", text));
    RGM_TRY(take_plan(r, result));
    RGM_TRY(take_final(r, result));
    RGM_TRY(take_texts(r, "export", json_object_get(result, "exports")));
    if (text_of(result, "reason")[0] != '\0')
        RGM_TRY(rgm_report_add_fact(r, "failed", text_of(result, "reason")));
    return take_warnings(r, result);
}

/* Its folder may be another machine's, and the file damaged: that is told in its place. */
rgm_status report_load_result(rgm_search_report *r, const char *run_dir)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    rgm_json *result = NULL;
    int64_t size;

    RGM_GO(rgm_path_join(&path, run_dir, RGM_RESULT_FILE));
    status = rgm_file_load(&text, &size, path, RESULT_LIMIT);
    if (status == RGM_OK)
        status = rgm_json_parse(&result, text, size, path);
    if (status == RGM_OK)
        status = take_result(r, (const json_t *)result);
    else if (status != RGM_ERR_NOMEM)
        status = rgm_report_add_fact(r, "not known", rgm_error_message());
done:
    rgm_json_release(result);
    rgm_free(text);
    rgm_free(path);
    return status;
}
