/* Histograms of weights and gradients, out of the event files of train/. */
#include <regimen/store.h>
#include <stdlib.h>
#include <string.h>

#include "tab.h"

#define GRADIENTS "gradients/"

enum { MOST_BUCKETS = 1000 };
static const double most_seconds = 1.5;

static bool is_histogram(const rgmi_index *index, int64_t name)
{
    int size;
    const char *kind = rgmi_index_name(&size, index, name, 0);

    return size == 9 && memcmp(kind, "histogram", 9) == 0;
}

/* ---- which there are ----------------------------------------------------------------------- */

/* Every tag that has a histogram, into the map that is the payload. */
static rgm_status note_tag(int64_t *key, const rgmi_index *index, int64_t name, void *payload)
{
    int size;

    (void)key;
    if (!is_histogram(index, name))
        return RGM_OK;
    return rgm_map_set(payload, rgmi_index_name(&size, index, name, 1), payload);
}

static rgm_status tell_tags(rgm_text *out, const char *folder, rgmi_kept_cache *cache)
{
    rgmi_gathering g = {0};
    rgm_map *tags = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_map_create(&tags));
    RGM_GO(
        rgmi_gather_events(&g, folder, "train", cache, note_tag, tags, rgm_now() + most_seconds));
    RGM_GO(rgm_text_printf(out, "{\"tags\":["));
    for (int64_t i = 0; i < rgm_map_count(tags); i++) {
        const char *tag = rgm_map_key(tags, i);

        RGM_GO(rgm_text_printf(out, "%s{\"tag\":", i > 0 ? "," : ""));
        RGM_GO(rgmi_put_name(out, tag));
        RGM_GO(rgm_text_printf(out, ",\"kind\":\"%s\"}",
                               strncmp(tag, GRADIENTS, sizeof GRADIENTS - 1) == 0 ? "gradient"
                                                                                  : "weight"));
    }
    RGM_GO(rgm_text_printf(out, "],\"more\":%s", g.more ? "true" : "false"));
    RGM_GO(rgmi_put_end(out, g.damage));
done:
    rgmi_gathering_clear(&g);
    rgm_map_release(tags);
    return status;
}

/* ---- one ----------------------------------------------------------------------------------- */

static rgm_status is_tag(int64_t *key, const rgmi_index *index, int64_t name, void *payload)
{
    const char *tag = payload;
    int size;

    if (is_histogram(index, name) && strcmp(rgmi_index_name(&size, index, name, 1), tag) == 0)
        *key = 0;
    return RGM_OK;
}

typedef struct printing {
    rgm_text *out;
    const char *tag;
    int64_t step, count;
    bool found;
} printing;

static rgm_status put_list(rgm_text *out, const double *first, const double *items, int64_t count)
{
    RGM_TRY(rgm_text_add(out, "[", 1));
    if (first != NULL)
        RGM_TRY(rgmi_put_number(out, *first));
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 || first != NULL)
            RGM_TRY(rgm_text_add(out, ",", 1));
        RGM_TRY(rgmi_put_number(out, items[i]));
    }
    return rgm_text_add(out, "]", 1);
}

/* Of the record in hand the histogram of that tag; the record has nothing else to give. */
static rgm_status print_step(const rgm_summary *s, void *payload)
{
    printing *p = payload;

    if (s->kind != RGM_SUMMARY_HISTOGRAM || s->step != p->step || strcmp(s->tag, p->tag) != 0)
        return p->found ? RGM_END : RGM_OK;
    p->found = true;
    if (s->buckets > MOST_BUCKETS)
        return RGM_FAIL(RGM_ERR_FORMAT, "a histogram of %lld buckets: %d are shown at most",
                        (long long)s->buckets, MOST_BUCKETS);
    RGM_TRY(rgm_text_printf(p->out, "%s{\"step\":%lld,\"time\":", p->count++ > 0 ? "," : "",
                            (long long)s->step));
    RGM_TRY(rgmi_put_number(p->out, s->time));
    RGM_TRY(rgm_text_printf(p->out, ",\"min\":"));
    RGM_TRY(rgmi_put_number(p->out, s->min));
    RGM_TRY(rgm_text_printf(p->out, ",\"max\":"));
    RGM_TRY(rgmi_put_number(p->out, s->max));
    RGM_TRY(rgm_text_printf(p->out, ",\"limits\":"));
    RGM_TRY(put_list(p->out, s->buckets > 0 ? &s->min : NULL, s->limits, s->buckets));
    RGM_TRY(rgm_text_printf(p->out, ",\"counts\":"));
    RGM_TRY(put_list(p->out, NULL, s->counts, s->buckets));
    RGM_TRY(rgm_text_add(p->out, "}", 1));
    return RGM_END;
}

static rgm_status tell_steps(rgm_text *out, const char *folder, rgmi_gathering *g, const char *tag)
{
    int64_t most = g->count < RGMI_TOLD_STEPS ? g->count : RGMI_TOLD_STEPS;
    printing p = {.out = out, .tag = tag};
    rgmi_kept_file file = {.fd = -1};
    int32_t opened = -1;
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < most; i++) {
        const rgmi_point *point = &g->points[rgmi_spread(i, g->count, RGMI_TOLD_STEPS)];

        if (point->file != opened) {
            rgmi_kept_close(&file);
            RGM_GO(rgmi_kept_open(&file, folder, g->files[point->file]));
            opened = point->file;
        }
        p.step = point->step;
        p.found = false;
        RGM_GO(rgm_event_records_read(NULL, file.fd, point->offset, g->files[point->file],
                                      print_step, &p));
    }
done:
    rgmi_kept_close(&file);
    return status;
}

/* Steps ascend, the last of each counts. */
static void sort_steps(rgmi_gathering *g)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < g->count; i++) {
        while (kept > 0 && g->points[kept - 1].step >= g->points[i].step)
            kept--;
        g->points[kept++] = g->points[i];
    }
    g->count = kept;
}

rgm_status rgmi_tell_histograms(rgm_text *out, const char *folder, rgmi_kept_cache *cache,
                                const char *tag)
{
    rgmi_gathering g = {0};
    rgm_status status = RGM_OK;

    if (tag == NULL)
        return tell_tags(out, folder, cache);
    RGM_GO(rgmi_gather_events(&g, folder, "train", cache, is_tag, (void *)(uintptr_t)tag,
                              rgm_now() + most_seconds));
    sort_steps(&g);
    RGM_GO(rgm_text_printf(out, "{\"tag\":"));
    RGM_GO(rgmi_put_name(out, tag));
    RGM_GO(
        rgm_text_printf(out, ",\"kind\":\"%s\",\"total\":%lld,\"more\":%s,\"steps\":[",
                        strncmp(tag, GRADIENTS, sizeof GRADIENTS - 1) == 0 ? "gradient" : "weight",
                        (long long)g.count, g.more ? "true" : "false"));
    RGM_GO(rgmi_note(&g.damage, tell_steps(out, folder, &g, tag)));
    RGM_GO(rgm_text_add(out, "]", 1));
    RGM_GO(rgmi_put_end(out, g.damage));
done:
    rgmi_gathering_clear(&g);
    return status;
}
