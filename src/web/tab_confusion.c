/* Confusion matrices over time, out of tables.jsonl, with what they come to class by class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tab.h"

enum { MOST_CLASSES = 1000 };
static const double most_seconds = 1.5;

/* The splits and labels of all tables, and the table that is asked for. */
typedef struct choice {
    rgm_map *splits, *labels;
    const char *split, *label;
} choice;

/* `out` = the part of a name as a text of its own. */
static rgm_status copy_part(char **out, const rgmi_index *index, int64_t name, int part)
{
    int size;
    const char *at = rgmi_index_name(&size, index, name, part);

    return rgm_strndup(out, at, (size_t)size);
}

static bool is_confusion(const rgmi_index *index, int64_t name)
{
    int size;
    const char *kind = rgmi_index_name(&size, index, name, 0);

    return size == 9 && memcmp(kind, "confusion", 9) == 0;
}

/* First all: which splits there are, which labels. */
static rgm_status note_names(int64_t *key, const rgmi_index *index, int64_t name, void *payload)
{
    const choice *c = payload;
    char *split = NULL, *label = NULL;
    rgm_status status = RGM_OK;

    (void)key;
    if (!is_confusion(index, name))
        return RGM_OK;
    RGM_GO(copy_part(&split, index, name, 1));
    RGM_GO(copy_part(&label, index, name, 2));
    RGM_GO(rgm_map_set(c->splits, split, payload));
    RGM_GO(rgm_map_set(c->labels, label, payload));
done:
    rgm_free(split);
    rgm_free(label);
    return status;
}

/* Then the one. */
static rgm_status is_chosen(int64_t *key, const rgmi_index *index, int64_t name, void *payload)
{
    const choice *c = payload;
    char *split = NULL, *label = NULL;
    rgm_status status = RGM_OK;

    if (!is_confusion(index, name))
        return RGM_OK;
    RGM_GO(copy_part(&split, index, name, 1));
    RGM_GO(copy_part(&label, index, name, 2));
    if (strcmp(split, c->split) == 0 && strcmp(label, c->label) == 0)
        *key = 0;
done:
    rgm_free(split);
    rgm_free(label);
    return status;
}

static rgm_status put_names(rgm_text *out, const char *key, const rgm_map *names)
{
    RGM_TRY(rgm_text_printf(out, "\"%s\":[", key));
    for (int64_t i = 0; i < rgm_map_count(names); i++) {
        RGM_TRY(rgm_text_add(out, ",", i > 0));
        RGM_TRY(rgmi_put_name(out, rgm_map_key(names, i)));
    }
    return rgm_text_add(out, "],", 2);
}

/* ---- one table ----------------------------------------------------------------------------- */

/* counts[n][n] of a line; rgm_free(*counts). */
static rgm_status read_counts(double **counts, int64_t *n, const rgm_json *root)
{
    const rgm_json *rows = rgm_json_find(root, "counts"), *classes = rgm_json_find(root, "classes");
    rgm_status status = RGM_OK;

    *counts = NULL;
    *n = rgm_json_count(rows);
    if (*n < 1 || *n > MOST_CLASSES)
        return RGM_FAIL(RGM_ERR_FORMAT, "a confusion matrix of %lld rows: 1 to %d are shown",
                        (long long)*n, MOST_CLASSES);
    if (rgm_json_count(classes) >= 0 && rgm_json_count(classes) != *n)
        return RGM_FAIL(RGM_ERR_FORMAT, "a confusion matrix of %lld rows with %lld classes",
                        (long long)*n, (long long)rgm_json_count(classes));
    RGM_GO(RGM_NEW(*counts, *n * *n));
    for (int64_t i = 0; i < *n; i++) {
        const rgm_json *row = rgm_json_at(rows, i);

        if (rgm_json_count(row) != *n)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "row %lld of a confusion matrix has %lld columns",
                            (long long)i, (long long)rgm_json_count(row)));
        for (int64_t j = 0; j < *n; j++) {
            double *at = &(*counts)[i * *n + j];

            if (!rgm_json_number(at, rgm_json_at(row, j)) || !(*at >= 0) || *at > 0x1p53)
                RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "a confusion matrix counts what is no number"));
        }
    }
done:
    if (status != RGM_OK) {
        rgm_free(*counts);
        *counts = NULL;
    }
    return status;
}

static rgm_status put_class(rgm_text *out, const rgm_json *classes, int64_t i)
{
    const char *name = rgm_json_text(rgm_json_at(classes, i));

    return name != NULL ? rgmi_put_name(out, name) : rgm_text_printf(out, "\"%lld\"", (long long)i);
}

/* Precision and recall of a class without predictions or without items are not known: null. */
static rgm_status put_scores(rgm_text *out, const double *counts, int64_t n, int64_t i)
{
    double right = counts[i * n + i], labelled = 0, predicted = 0;

    for (int64_t j = 0; j < n; j++) {
        labelled += counts[i * n + j];
        predicted += counts[j * n + i];
    }
    RGM_TRY(rgm_text_printf(out, ",\"precision\":"));
    RGM_TRY(rgmi_put_number(out, predicted > 0 ? right / predicted : NAN));
    RGM_TRY(rgm_text_printf(out, ",\"recall\":"));
    RGM_TRY(rgmi_put_number(out, labelled > 0 ? right / labelled : NAN));
    RGM_TRY(rgm_text_printf(out, ",\"f1\":"));
    RGM_TRY(
        rgmi_put_number(out, labelled + predicted > 0 ? 2 * right / (labelled + predicted) : NAN));
    return rgm_text_printf(out, ",\"support\":%.0f}", labelled);
}

static rgm_status put_table(rgm_text *out, const rgm_json *root, const double *counts, int64_t n)
{
    const rgm_json *classes = rgm_json_find(root, "classes");

    RGM_TRY(rgm_text_printf(out, ",\"classes\":["));
    for (int64_t i = 0; i < n; i++) {
        RGM_TRY(rgm_text_add(out, ",", i > 0));
        RGM_TRY(put_class(out, classes, i));
    }
    RGM_TRY(rgm_text_printf(out, "],\"counts\":["));
    for (int64_t i = 0; i < n * n; i++)
        RGM_TRY(rgm_text_printf(out, "%s%.0f%s",
                                i % n > 0 ? ","
                                : i > 0   ? ",["
                                          : "[",
                                counts[i], i % n == n - 1 ? "]" : ""));
    RGM_TRY(rgm_text_printf(out, "],\"per_class\":["));
    for (int64_t i = 0; i < n; i++) {
        RGM_TRY(rgm_text_printf(out, "%s{\"class\":", i > 0 ? "," : ""));
        RGM_TRY(put_class(out, classes, i));
        RGM_TRY(put_scores(out, counts, n, i));
    }
    return rgm_text_add(out, "]", 1);
}

/* The line of a point, parsed. */
static rgm_status load_line(rgm_json **out, const char *folder, const rgmi_point *point)
{
    rgmi_kept_file file;
    int64_t size = point->size;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_open(&file, folder, "tables.jsonl"));
    RGM_GO(RGM_NEW(data, size + 1));
    RGM_GO(rgmi_kept_read(data, &size, &file, point->offset));
    RGM_GO(rgm_json_parse(out, data, size, "a line of tables.jsonl"));
done:
    rgmi_kept_close(&file);
    rgm_free(data);
    return status;
}

static rgm_status tell_table(bool *told, rgm_text *out, const char *folder, const rgmi_point *point)
{
    rgm_json *root = NULL;
    double *counts = NULL;
    int64_t n;
    rgm_status status = RGM_OK;

    RGM_GO(load_line(&root, folder, point));
    RGM_GO(read_counts(&counts, &n, root));
    RGM_GO(put_table(out, root, counts, n));
    *told = true;
done:
    rgm_json_release(root);
    rgm_free(counts);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* What is asked for, else "valid", else the first there is. */
static const char *choose(const char *wanted, const rgm_map *names, const char *otherwise)
{
    if (wanted != NULL)
        return wanted;
    if (rgm_map_has(names, otherwise))
        return otherwise;
    return rgm_map_count(names) > 0 ? rgm_map_key(names, 0) : "";
}

/* The point of a step, the last below 0; NULL: there is none. */
static const rgmi_point *find_point(const rgmi_gathering *g, int64_t step)
{
    const rgmi_point *found = NULL;

    for (int64_t i = 0; i < g->count; i++)
        if (step < 0 || g->points[i].step == step)
            found = &g->points[i];
    return found;
}

static rgm_status tell_chosen(rgm_text *out, const char *folder, rgmi_gathering *g, const choice *c,
                              int64_t step)
{
    const rgmi_point *point = find_point(g, step);
    bool told = false;

    RGM_TRY(rgm_text_printf(out, "\"split\":"));
    RGM_TRY(rgmi_put_name(out, *c->split != '\0' ? c->split : NULL));
    RGM_TRY(rgm_text_printf(out, ",\"label\":"));
    RGM_TRY(rgmi_put_name(out, *c->label != '\0' ? c->label : NULL));
    RGM_TRY(rgm_text_printf(out, ",\"more\":%s,\"steps\":[", g->more ? "true" : "false"));
    for (int64_t i = 0; i < g->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld", i > 0 ? "," : "", (long long)g->points[i].step));
    if (point != NULL)
        RGM_TRY(rgm_text_printf(out, "],\"step\":%lld", (long long)point->step));
    else
        RGM_TRY(rgm_text_printf(out, "],\"step\":null"));
    if (point != NULL)
        RGM_TRY(rgmi_note(&g->damage, tell_table(&told, out, folder, point)));
    if (!told)
        RGM_TRY(rgm_text_printf(out, ",\"classes\":[],\"counts\":[],\"per_class\":[]"));
    return rgmi_put_end(out, g->damage);
}

rgm_status rgmi_tell_confusion(rgm_text *out, const char *folder, rgmi_kept_cache *cache,
                               const char *split, const char *label, int64_t step)
{
    double until = rgm_now() + most_seconds;
    rgmi_gathering names = {0}, g = {0};
    choice c = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_map_create(&c.splits));
    RGM_GO(rgm_map_create(&c.labels));
    RGM_GO(rgmi_gather_tables(&names, folder, cache, note_names, &c, until));
    c.split = choose(split, c.splits, "valid");
    c.label = choose(label, c.labels, "");
    RGM_GO(rgmi_gather_tables(&g, folder, cache, is_chosen, &c, until));
    RGM_GO(rgm_text_add(out, "{", 1));
    RGM_GO(put_names(out, "splits", c.splits));
    RGM_GO(put_names(out, "labels", c.labels));
    RGM_GO(tell_chosen(out, folder, &g, &c, step));
done:
    rgmi_gathering_clear(&names);
    rgmi_gathering_clear(&g);
    rgm_map_release(c.splits);
    rgm_map_release(c.labels);
    return status;
}
