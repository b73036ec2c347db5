/*
 * What a model generated at each validation: out of tables.jsonl, with scores; of runs that have
 * none out of the texts in their event files, "source: ...", "translation: ...", "reference: ..."
 * in lines.
 */
#include <regimen/store.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tab.h"

enum { MOST_SAMPLES = 1000 }; /* of one step */
static const double most_seconds = 1.5;

static bool is_kind(const rgmi_index *index, int64_t name, const char *kind)
{
    int size;
    const char *is = rgmi_index_name(&size, index, name, 0);

    return (size_t)size == strlen(kind) && memcmp(is, kind, (size_t)size) == 0;
}

/* ---- tables.jsonl -------------------------------------------------------------------------- */

static rgm_status is_samples(int64_t *key, const rgmi_index *index, int64_t name, void *payload)
{
    (void)payload;
    if (is_kind(index, name, "samples"))
        *key = name; /* splits void only their own */
    return RGM_OK;
}

static int by_step(const void *a, const void *b)
{
    const rgmi_point *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

static rgm_status put_scores(rgm_text *out, const rgm_json *scores)
{
    rgm_json_entry at = {0};
    int64_t count = 0;

    RGM_TRY(rgm_text_printf(out, ",\"scores\":{"));
    while (rgm_json_next(&at, scores)) {
        double number = NAN;

        (void)rgm_json_number(&number, at.value);
        RGM_TRY(rgm_text_add(out, ",", count++ > 0));
        RGM_TRY(rgmi_put_name(out, at.key));
        RGM_TRY(rgm_text_add(out, ":", 1));
        RGM_TRY(rgmi_put_number(out, number));
    }
    return rgm_text_add(out, "}}", 2);
}

static rgm_status put_sample(rgm_text *out, const rgm_json *sample)
{
    RGM_TRY(rgm_text_printf(out, "{\"source\":"));
    RGM_TRY(rgmi_put_name(out, rgm_json_text(rgm_json_find(sample, "source"))));
    RGM_TRY(rgm_text_printf(out, ",\"translation\":"));
    RGM_TRY(rgmi_put_name(out, rgm_json_text(rgm_json_find(sample, "translation"))));
    RGM_TRY(rgm_text_printf(out, ",\"reference\":"));
    RGM_TRY(rgmi_put_name(out, rgm_json_text(rgm_json_find(sample, "reference"))));
    return put_scores(out, rgm_json_find(sample, "scores"));
}

static rgm_status put_line(rgm_text *out, const rgmi_kept_file *file, const rgmi_point *point,
                           int64_t told)
{
    const rgm_json *samples;
    int64_t size = point->size, count;
    rgm_json *root = NULL;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, size + 1));
    RGM_GO(rgmi_kept_read(data, &size, file, point->offset));
    RGM_GO(rgm_json_parse(&root, data, size, "a line of tables.jsonl"));
    samples = rgm_json_find(root, "samples");
    count = rgm_json_count(samples) < MOST_SAMPLES ? rgm_json_count(samples) : MOST_SAMPLES;
    RGM_GO(rgm_text_printf(out, "%s{\"step\":%lld,\"time\":null,\"split\":", told > 0 ? "," : "",
                           (long long)point->step));
    RGM_GO(rgmi_put_name(out, rgm_json_text(rgm_json_find(root, "split"))));
    RGM_GO(rgm_text_printf(out, ",\"samples\":["));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgm_text_add(out, ",", i > 0));
        RGM_GO(put_sample(out, rgm_json_at(samples, i)));
    }
    RGM_GO(rgm_text_add(out, "]}", 2));
done:
    rgm_json_release(root);
    rgm_free(data);
    return status;
}

static rgm_status tell_lines(rgm_text *out, const char *folder, const rgmi_gathering *g)
{
    int64_t most = g->count < RGMI_TOLD_STEPS ? g->count : RGMI_TOLD_STEPS;
    rgmi_kept_file file;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_open(&file, folder, "tables.jsonl"));
    for (int64_t i = 0; i < most; i++)
        RGM_GO(put_line(out, &file, &g->points[rgmi_spread(i, g->count, RGMI_TOLD_STEPS)], i));
done:
    rgmi_kept_close(&file);
    return status;
}

/* ---- event files --------------------------------------------------------------------------- */

/* "pair_17": 17. */
static rgm_status is_pair(int64_t *key, const rgmi_index *index, int64_t name, void *payload)
{
    int size;
    const char *tag = rgmi_index_name(&size, index, name, 1);

    (void)payload;
    if (is_kind(index, name, "text") && strncmp(tag, "pair_", 5) == 0 && tag[5] >= '0' &&
        tag[5] <= '9' && strlen(tag) <= 5 + 15)
        *key = strtoll(tag + 5, NULL, 10);
    return RGM_OK;
}

/* What stands behind "source: " and the like; the lines were ended as Markdown has it. */
static rgm_status put_part(rgm_text *out, const char *key, const char *text, int64_t size)
{
    size_t length = strlen(key);

    RGM_TRY(rgm_text_printf(out, "\"%s\":", key));
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        int64_t line = (stop != NULL ? stop : end) - at;

        if (line > (int64_t)length + 1 && memcmp(at, key, length) == 0 && at[length] == ':') {
            at += length + 1;
            line -= (int64_t)length + 1;
            for (; line > 0 && *at == ' '; line--)
                at++;
            while (line > 0 && at[line - 1] == ' ')
                line--;
            return rgmi_put_text(out, at, line);
        }
        at = stop != NULL ? stop + 1 : end;
    }
    return rgm_text_add(out, "null", 4);
}

typedef struct printing {
    rgm_text *out;
    const rgmi_point *point;
    bool first;
} printing;

static rgm_status print_pair(const rgm_summary *s, void *payload)
{
    printing *p = payload;

    if (s->offset != p->point->offset)
        return RGM_END;
    if (s->kind != RGM_SUMMARY_TEXT || strncmp(s->tag, "pair_", 5) != 0 ||
        strtoll(s->tag + 5, NULL, 10) != p->point->key)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(p->out, "%s{", p->first ? "" : ","));
    RGM_TRY(put_part(p->out, "source", s->text.data, s->text.size));
    RGM_TRY(rgm_text_add(p->out, ",", 1));
    RGM_TRY(put_part(p->out, "translation", s->text.data, s->text.size));
    RGM_TRY(rgm_text_add(p->out, ",", 1));
    RGM_TRY(put_part(p->out, "reference", s->text.data, s->text.size));
    RGM_TRY(rgm_text_printf(p->out, ",\"scores\":{}}"));
    return RGM_END;
}

/* The points [begin, end) are those of one step. */
static rgm_status put_pairs(rgm_text *out, const char *folder, const rgmi_gathering *g,
                            int64_t begin, int64_t end, char **damage)
{
    rgmi_kept_file file = {.fd = -1};
    int32_t opened = -1;
    rgm_status status = RGM_OK;

    for (int64_t i = begin; i < end && i < begin + MOST_SAMPLES; i++) {
        const rgmi_point *point = &g->points[i];
        printing p = {out, point, i == begin};

        if (point->file != opened) {
            rgmi_kept_close(&file);
            RGM_GO(rgmi_kept_open(&file, folder, g->files[point->file]));
            opened = point->file;
        }
        RGM_GO(rgm_event_records_read(NULL, file.fd, point->offset, g->files[point->file],
                                      print_pair, &p));
    }
done:
    rgmi_kept_close(&file);
    return rgmi_note(damage, status);
}

/* Of several points of a step and a pair the one in the later place. */
static int by_pair(const void *a, const void *b)
{
    const rgmi_point *x = a, *y = b;
    int order = by_step(a, b);

    if (order != 0)
        return order;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void sort_pairs(rgmi_gathering *g)
{
    int64_t kept = 0;

    if (g->count > 0)
        qsort(g->points, (size_t)g->count, sizeof *g->points, by_pair);
    for (int64_t i = 0; i < g->count; i++) {
        if (kept > 0 && by_step(&g->points[kept - 1], &g->points[i]) == 0)
            kept--;
        g->points[kept++] = g->points[i];
    }
    g->count = kept;
}

static int64_t end_of_step(const rgmi_gathering *g, int64_t begin)
{
    int64_t end = begin;

    while (end < g->count && g->points[end].step == g->points[begin].step)
        end++;
    return end;
}

/* `total` steps there are in all; evenly spread ones of them are told. */
static rgm_status tell_pairs(rgm_text *out, const char *folder, const rgmi_gathering *g,
                             const char *split, int64_t total, char **damage)
{
    int64_t step = 0, told = 0;

    for (int64_t begin = 0, end; begin < g->count; begin = end, step++) {
        end = end_of_step(g, begin);
        if (told >= RGMI_TOLD_STEPS || step != rgmi_spread(told, total, RGMI_TOLD_STEPS))
            continue;
        RGM_TRY(rgm_text_printf(out, "%s{\"step\":%lld,\"time\":", told++ > 0 ? "," : "",
                                (long long)g->points[begin].step));
        RGM_TRY(rgmi_put_number(out, g->points[begin].time));
        RGM_TRY(rgm_text_printf(out, ",\"split\":"));
        RGM_TRY(rgmi_put_name(out, split));
        RGM_TRY(rgm_text_printf(out, ",\"samples\":["));
        RGM_TRY(put_pairs(out, folder, g, begin, end, damage));
        RGM_TRY(rgm_text_add(out, "]}", 2));
    }
    return RGM_OK;
}

/* ---- all ----------------------------------------------------------------------------------- */

static rgm_status tell_texts(rgm_text *out, const char *folder, rgmi_kept_cache *cache,
                             char **damage, double until)
{
    rgmi_gathering g = {0};
    int64_t total = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_gather_events(&g, folder, "validation", cache, is_pair, NULL, until));
    sort_pairs(&g);
    for (int64_t begin = 0; begin < g.count; begin = end_of_step(&g, begin))
        total++;
    RGM_GO(rgm_text_printf(out, "{\"total\":%lld,\"more\":%s,\"steps\":[", (long long)total,
                           g.more ? "true" : "false"));
    RGM_GO(tell_pairs(out, folder, &g, "valid", total, &g.damage));
    if (*damage == NULL) {
        *damage = g.damage;
        g.damage = NULL;
    }
done:
    rgmi_gathering_clear(&g);
    return status;
}

rgm_status rgmi_tell_samples(rgm_text *out, const char *folder, rgmi_kept_cache *cache)
{
    double until = rgm_now() + most_seconds;
    rgmi_gathering g = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_gather_tables(&g, folder, cache, is_samples, NULL, until));
    if (g.count > 0) {
        qsort(g.points, (size_t)g.count, sizeof *g.points, by_step);
        RGM_GO(rgm_text_printf(out, "{\"total\":%lld,\"more\":%s,\"steps\":[", (long long)g.count,
                               g.more ? "true" : "false"));
        RGM_GO(rgmi_note(&g.damage, tell_lines(out, folder, &g)));
    } else {
        RGM_GO(tell_texts(out, folder, cache, &g.damage, until));
    }
    RGM_GO(rgm_text_add(out, "]", 1));
    RGM_GO(rgmi_put_end(out, g.damage));
done:
    rgmi_gathering_clear(&g);
    return status;
}
