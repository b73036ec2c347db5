/* Answers about several runs: their learning curves and their configurations, side by side. */
#include "answers_curves.h"
#include "curves.h"
#include "index.h"
#include "web_internal.h"

#include <regimen/store.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 100, MOST_POINTS = 10000, POINTS = 1000 };
#define READING_SECONDS 1.0 /* of logs for one answer */

/* ---- which runs ---------------------------------------------------------------------------- */

typedef struct chosen_runs {
    rgmi_run_row *rows[MOST_RUNS];
    int64_t count;
} chosen_runs;

static void release_runs(chosen_runs *runs)
{
    for (int64_t i = 0; i < runs->count; i++)
        rgmi_run_row_release(runs->rows[i]);
    runs->count = 0;
}

static rgm_status choose(chosen_runs *runs, rgmi_web_call *call)
{
    const char *ids = rgm_target_value(&call->target, "runs", "");
    rgm_status status = RGM_OK;

    runs->count = 0;
    RGM_TRY(rgmi_runs_freshen(call->web->runs));
    while (*ids != 0) {
        size_t size = strcspn(ids, ",");
        char hex[20] = "";

        if (runs->count == MOST_RUNS)
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "runs: at most %d at once", MOST_RUNS));
        memcpy(hex, ids, size < sizeof hex ? size : 0);
        RGM_GO(rgmi_runs_row(&runs->rows[runs->count], call->web->runs, hex));
        runs->count++;
        ids += size + (ids[size] == ',');
    }
    if (runs->count == 0)
        status = RGM_FAIL(RGM_ERR_ARG, "runs=ID,ID names none");
done:
    if (status != RGM_OK)
        release_runs(runs);
    return status;
}

rgm_status rgmi_expressions_read(rgmi_expressions *out, const rgm_target *target, const char *key)
{
    out->count = 0;
    for (const char *text; (text = rgm_target_value_at(target, key, out->count)) != NULL;) {
        if (out->count == RGMI_MOST_EXPRESSIONS)
            return RGM_FAIL(RGM_ERR_ARG, "%s: at most %d at once", key, RGMI_MOST_EXPRESSIONS);
        RGM_TRY(rgmi_expression_read(&out->items[out->count], text));
        out->count++;
    }
    return RGM_OK;
}

void rgmi_expressions_clear(rgmi_expressions *expressions)
{
    for (int64_t i = 0; i < expressions->count; i++)
        rgmi_expression_release(expressions->items[i]);
    expressions->count = 0;
}

/* ---- curves -------------------------------------------------------------------------------- */

/* A run's part of the answer, made beside those of others. */
typedef struct part {
    rgm_text json, names;
    rgm_error error;
} part;
typedef struct comparing {
    const chosen_runs *runs;
    rgmi_curve_cache *cache;
    rgmi_curves_query query;
    part *parts;
} comparing;

static rgm_status print_run(rgm_text *json, const rgmi_run_row *row)
{
    char hex[17];

    rgmi_run_id_print(hex, row->id);
    RGM_TRY(rgm_text_printf(json, "{\"id\":\"%s\",\"name\":", hex));
    RGM_TRY(rgm_json_print_text(json, row->text[RGMI_TEXT_NAME]));
    RGM_TRY(rgm_text_printf(json, ",\"state\":"));
    return rgmi_print_text(json, row->state);
}

static rgm_status compare_one(part *p, const comparing *c, const rgmi_run_row *row)
{
    rgmi_curves_told told = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_curves_print(&told, c->cache, row->id, row->text[RGMI_TEXT_PATH], &c->query,
                             row->text[RGMI_TEXT_BEST_METRIC], row->best_value));
    p->names = told.names;
    told.names = (rgm_text){0};
    RGM_GO(print_run(&p->json, row));
    RGM_GO(rgm_text_printf(&p->json, ",\"damage\":"));
    RGM_GO(rgmi_print_text(&p->json, told.damage));
    RGM_GO(rgm_text_printf(&p->json, ",\"more\":%s,\"curves\":", told.more ? "true" : "false"));
    RGM_GO(rgm_text_add(&p->json, told.json.data, told.json.size));
    RGM_GO(rgm_text_add(&p->json, "}", 1));
done:
    rgmi_curves_told_clear(&told);
    return status;
}

static void compare_some(void *payload, int64_t begin, int64_t end)
{
    const comparing *c = payload;

    for (int64_t i = begin; i < end; i++) {
        part *p = &c->parts[i];
        rgm_status status = compare_one(p, c, c->runs->rows[i]);

        if (status != RGM_OK)
            rgm_error_save(&p->error, status);
    }
}

/* Metrics of all runs, each once, in the order in which they come. */
static rgm_status print_names(rgm_text *out, const comparing *c)
{
    rgm_map *seen = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_map_create(&seen));
    RGM_GO(rgm_text_printf(out, "{\"metrics\":["));
    for (int64_t i = 0; i < c->runs->count; i++)
        for (char *line = c->parts[i].names.data, *end;
             line != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            if (rgm_map_has(seen, line))
                continue;
            if (rgm_map_count(seen) > 0)
                RGM_GO(rgm_text_add(out, ",", 1));
            RGM_GO(rgm_map_set(seen, line, seen));
            RGM_GO(rgm_json_print_text(out, line));
        }
    RGM_GO(rgm_text_printf(out, "],\"runs\":["));
done:
    rgm_map_release(seen);
    return status;
}

static rgm_status print_comparison(rgm_text *out, const comparing *c)
{
    for (int64_t i = 0; i < c->runs->count; i++)
        if (c->parts[i].error.status != RGM_OK)
            return rgm_error_restore(&c->parts[i].error);
    RGM_TRY(print_names(out, c));
    for (int64_t i = 0; i < c->runs->count; i++) {
        RGM_TRY(rgm_text_add(out, ",", i > 0));
        RGM_TRY(rgm_text_add(out, c->parts[i].json.data, c->parts[i].json.size));
        rgm_text_clear(&c->parts[i].json);
    }
    return rgm_text_add(out, "]}", 2);
}

static rgm_status compare(rgmi_web_call *call, comparing *c)
{
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(c->parts, c->runs->count));
    rgm_parallel(c->runs->count, 5e6, compare_some, c);
    RGM_GO(print_comparison(&call->out->body, c));
done:
    for (int64_t i = 0; c->parts != NULL && i < c->runs->count; i++) {
        rgm_text_clear(&c->parts[i].json);
        rgm_text_clear(&c->parts[i].names);
    }
    rgm_free(c->parts);
    return status;
}

rgm_status rgmi_show_curves(rgmi_web_call *call)
{
    comparing c = {.cache = call->web->runs->curves, .query.seconds = READING_SECONDS};
    rgmi_expressions computed = {0};
    int64_t whole;
    chosen_runs runs = {.count = 0};
    rgm_status status;

    RGM_TRY(rgm_target_int(&c.query.points, &call->target, "points", POINTS, 4, MOST_POINTS));
    RGM_TRY(rgm_target_int(&c.query.after, &call->target, "after", -1, -1, INT64_MAX));
    RGM_TRY(rgm_target_int(&c.query.until, &call->target, "until", INT64_MAX, 0, INT64_MAX));
    RGM_TRY(rgm_target_int(&c.query.skip, &call->target, "skip", 0, 0, INT64_MAX));
    RGM_TRY(rgm_target_int(&whole, &call->target, "whole", 0, 0, 1));
    c.query.whole = whole != 0;
    c.query.metrics = rgm_target_value(&call->target, "metrics", NULL);
    if (c.query.metrics != NULL && *c.query.metrics == 0)
        c.query.metrics = NULL;
    c.query.computed = computed.items;
    status = rgmi_expressions_read(&computed, &call->target, "computed");
    c.query.computed_count = computed.count;
    if (status == RGM_OK)
        status = choose(&runs, call);
    c.runs = &runs;
    if (status == RGM_OK)
        status = compare(call, &c);
    rgmi_expressions_clear(&computed);
    release_runs(&runs);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* ---- configurations ------------------------------------------------------------------------ */

/* Values by key and run; the map's values are arrays of texts, NULL where a run has none. */
typedef struct diff {
    rgm_map *keys;
    rgm_arena *arena;
    int64_t runs, run;
} diff;

static rgm_status add_value(const char *key, rgm_text *value, bool plain, void *payload)
{
    diff *d = payload;
    char **texts = rgm_map_get(d->keys, key);

    (void)plain;
    if (texts == NULL) {
        texts = rgm_arena_alloc(d->arena, (size_t)d->runs * sizeof *texts);
        if (texts == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the values of %s", key);
        RGM_TRY(rgm_map_set(d->keys, key, texts));
    }
    texts[d->run] = rgm_arena_strdup(d->arena, value->data);
    if (texts[d->run] == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the value of %s", key);
    return RGM_OK;
}

/* What is no configuration, or a link, has no values; the run is told as damaged already. */
static rgm_status add_config(diff *d, const char *folder)
{
    const char *link = NULL;
    char *text = NULL;
    rgm_yaml *yaml = NULL;
    int64_t size;
    rgm_status status;

    RGM_TRY(rgmi_run_find_link(&link, folder));
    if (link != NULL)
        return RGM_OK;
    status = rgm_run_folder_config(&text, &size, folder);
    if (status == RGM_OK)
        status = rgm_yaml_parse(&yaml, text, size, "config.yaml");
    if (status == RGM_OK)
        status = rgmi_config_each(rgm_yaml_root(yaml), add_value, d);
    rgm_yaml_release(yaml);
    rgm_free(text);
    return status == RGM_ERR_NOMEM ? status : RGM_OK;
}

static rgm_status print_key(rgm_text *out, const diff *d, int64_t i)
{
    char *const *texts = rgm_map_value(d->keys, i);
    bool differs = false;

    for (int64_t r = 1; r < d->runs; r++)
        differs = differs || (texts[r] == NULL) != (texts[0] == NULL) ||
                  (texts[r] != NULL && strcmp(texts[r], texts[0]) != 0);
    RGM_TRY(rgm_text_printf(out, "%s{\"key\":", i > 0 ? "," : ""));
    RGM_TRY(rgm_json_print_text(out, rgm_map_key(d->keys, i)));
    RGM_TRY(rgm_text_printf(out, ",\"differs\":%s,\"values\":[", differs ? "true" : "false"));
    for (int64_t r = 0; r < d->runs; r++) {
        RGM_TRY(rgm_text_add(out, ",", r > 0));
        RGM_TRY(rgmi_print_text(out, texts[r]));
    }
    return rgm_text_printf(out, "]}");
}

static rgm_status print_configs(rgm_text *out, const diff *d, const chosen_runs *runs)
{
    RGM_TRY(rgm_text_printf(out, "{\"runs\":["));
    for (int64_t i = 0; i < runs->count; i++) {
        RGM_TRY(rgm_text_add(out, ",", i > 0));
        RGM_TRY(print_run(out, runs->rows[i]));
        RGM_TRY(rgm_text_add(out, "}", 1));
    }
    RGM_TRY(rgm_text_printf(out, "],\"keys\":["));
    for (int64_t i = 0; i < rgm_map_count(d->keys); i++)
        RGM_TRY(print_key(out, d, i));
    return rgm_text_printf(out, "]}");
}

rgm_status rgmi_show_configs(rgmi_web_call *call)
{
    chosen_runs runs;
    diff d = {0};
    rgm_status status = RGM_OK;

    RGM_TRY(choose(&runs, call));
    d.runs = runs.count;
    RGM_GO(rgm_map_create(&d.keys));
    RGM_GO(rgm_arena_create(&d.arena));
    for (; d.run < d.runs; d.run++)
        RGM_GO(add_config(&d, runs.rows[d.run]->text[RGMI_TEXT_PATH]));
    RGM_GO(print_configs(&call->out->body, &d, &runs));
done:
    rgm_map_release(d.keys);
    rgm_arena_release(d.arena);
    release_runs(&runs);
    return status;
}
