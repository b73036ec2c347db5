/* Bands: runs are read in blocks, side by side, and added in their order, so that equal files give
 * equal digits. */
#include "band.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16, KEPT_BYTES = 64 << 20 };

/* ---- moments ------------------------------------------------------------------------------- */

void rgmi_moments_add(rgmi_moments *m, double number)
{
    double before = number - m->mean;

    m->count++;
    m->mean += before / (double)m->count;
    m->squares += before * (number - m->mean);
    m->low = m->count == 1 || number < m->low ? number : m->low;
    m->high = m->count == 1 || number > m->high ? number : m->high;
}

double rgmi_moments_deviation(const rgmi_moments *m)
{
    return m->count > 1 ? sqrt(m->squares / (double)(m->count - 1)) : NAN;
}

/* ---- what is kept -------------------------------------------------------------------------- */

/* Of one group and one question; a group that has changed has another key. */
typedef struct band {
    uint64_t key;
    rgmi_moments *at; /* [size]: expressions * steps */
    int64_t size;
    int64_t done, damaged;
    bool alone; /* the next run is read by itself */
    struct band *next;
} band;

struct rgmi_band_cache {
    pthread_mutex_t lock;
    band *first;
    int64_t bytes;
};

static void free_band(band *b)
{
    if (b != NULL)
        rgm_free(b->at);
    rgm_free(b);
}

rgm_status rgmi_band_cache_create(rgmi_band_cache **out)
{
    *out = NULL;
    RGM_TRY(RGM_NEW(*out, 1));
    pthread_mutex_init(&(*out)->lock, NULL);
    return RGM_OK;
}

void rgmi_band_cache_release(rgmi_band_cache *cache)
{
    if (cache == NULL)
        return;
    for (band *b = cache->first, *next; b != NULL; b = next) {
        next = b->next;
        free_band(b);
    }
    pthread_mutex_destroy(&cache->lock);
    rgm_free(cache);
}

static int64_t bytes_of(const band *b)
{
    return (int64_t)sizeof *b + b->size * (int64_t)sizeof *b->at;
}

/* Take it out: nobody else has it then, and who asks for the same meanwhile begins anew. */
static rgm_status take_band(band **out, rgmi_band_cache *cache, uint64_t key, int64_t size)
{
    band **at = &cache->first;
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&cache->lock);
    while (*at != NULL && (*at)->key != key)
        at = &(*at)->next;
    *out = *at;
    if (*at != NULL) {
        cache->bytes -= bytes_of(*at);
        *at = (*at)->next;
    }
    pthread_mutex_unlock(&cache->lock);
    if (*out != NULL)
        return RGM_OK;
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->key = key;
    (*out)->size = size;
    status = RGM_NEW((*out)->at, size);
    if (status != RGM_OK) {
        free_band(*out);
        *out = NULL;
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* In front; the last ones go that are too many bytes, and never the one in front: it would be begun
 * again and again. */
static void give_band(rgmi_band_cache *cache, band *b)
{
    pthread_mutex_lock(&cache->lock);
    b->next = cache->first;
    cache->first = b;
    cache->bytes += bytes_of(b);
    while (cache->bytes > KEPT_BYTES && b->next != NULL) {
        band **at = &b->next;

        while ((*at)->next != NULL)
            at = &(*at)->next;
        cache->bytes -= bytes_of(*at);
        free_band(*at);
        *at = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
}

/* ---- the grid ------------------------------------------------------------------------------ */

typedef struct grid {
    int64_t first, every, last, count; /* first, first + every, ..., last */
} grid;

static int64_t step_of(const grid *g, int64_t i)
{
    return i + 1 < g->count ? g->first + i * g->every : g->last;
}

static grid make_grid(rgmi_run_row *const *rows, int64_t count, const rgmi_bands_query *q)
{
    grid g = {.every = 1};
    int64_t begin = q->after + 1 > 0 ? q->after + 1 : 0, most = q->points > 2 ? q->points - 2 : 1;

    for (int64_t i = 0; i < count; i++)
        g.last = rows[i]->step > g.last ? rows[i]->step : g.last;
    g.last = g.last < q->until ? g.last : q->until;
    if (g.last < begin)
        return g;
    for (int64_t of[] = {2, 5, 10}, unit = 1, k = 0; (g.last - begin) / g.every >= most;) {
        g.every = unit * of[k];
        k = (k + 1) % 3;
        unit *= k == 0 ? 10 : 1;
    }
    g.first = (begin + g.every - 1) / g.every * g.every;
    g.first = g.first < g.last ? g.first : g.last;
    g.count = (g.last - g.first + g.every - 1) / g.every + 1;
    return g;
}

/* ---- adding runs --------------------------------------------------------------------------- */

typedef struct adding {
    const grid *grid;
    const rgmi_bands_query *query;
    rgmi_curve_cache *curves;
    rgmi_run_row *const *rows; /* of the block */
    double *values;            /* [BLOCK, expressions, steps]; NaN: none */
    rgm_error error[BLOCK];
    bool more[BLOCK], damaged[BLOCK];
} adding;

typedef struct one_run {
    const adding *all;
    double *values; /* [expressions, steps] */
} one_run;

static rgm_status fill_values(rgmi_find_points *find, const void *curves, void *payload)
{
    const one_run *run = payload;
    const grid *g = run->all->grid;
    const rgmi_bands_query *q = run->all->query;

    for (int64_t e = 0; e < q->count; e++) {
        rgmi_made_points made;
        rgm_status status = rgmi_expression_points(&made, q->expressions[e], find, curves);
        const rgmi_points points = {made.steps, made.values, made.count};
        int64_t from = 0;

        for (int64_t i = 0; status == RGM_OK && i < g->count; i++)
            run->values[e * g->count + i] = rgmi_points_at(&points, step_of(g, i), &from);
        rgmi_made_points_clear(&made);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static void read_some(void *payload, int64_t begin, int64_t end)
{
    adding *a = payload;

    for (int64_t i = begin; i < end; i++) {
        one_run run = {a, a->values + i * a->query->count * a->grid->count};
        rgmi_curves_state state = {.end = a->query->end};
        rgm_status status = rgmi_curves_use(&state, a->curves, a->rows[i]->id,
                                            a->rows[i]->text[RGMI_TEXT_PATH], fill_values, &run);

        a->more[i] = state.more;
        a->damaged[i] = state.damaged;
        if (status != RGM_OK)
            rgm_error_save(&a->error[i], status);
    }
}

static void add_run(band *b, const adding *a, int64_t i)
{
    int64_t size = a->query->count * a->grid->count;

    for (int64_t k = 0; k < size; k++)
        if (isfinite(a->values[i * size + k]))
            rgmi_moments_add(&b->at[k], a->values[i * size + k]);
    b->damaged += a->damaged[i];
    b->done++;
}

/* A block of runs; *more: one of them is not read to its end, and only those before it were added.
 */
static rgm_status add_block(bool *more, band *b, adding *a, int64_t count)
{
    int64_t before = b->done;

    memset(a->error, 0, sizeof a->error);
    *more = false;
    rgm_parallel(count, 5e6, read_some, a);
    for (int64_t i = 0; i < count; i++)
        if (a->error[i].status != RGM_OK)
            return rgm_error_restore(&a->error[i]);
    for (int64_t i = 0; i < count && !*more; i++) {
        *more = a->more[i];
        if (!*more)
            add_run(b, a, i);
    }
    /* What is half read of a run stays only where no other is read behind it, when the cache of
     * curves has no room for both. */
    b->alone = b->done == before;
    return RGM_OK;
}

static rgm_status add_runs(bool *more, band *b, rgmi_curve_cache *curves, rgmi_run_row *const *rows,
                           int64_t count, const grid *g, rgmi_bands_query *query)
{
    adding a = {.grid = g, .query = query, .curves = curves};
    rgm_status status = RGM_OK;

    *more = false;
    if (b->done == count || g->count == 0)
        return RGM_OK;
    *more = query->reads > 0 && rgm_now() > query->end;
    RGM_GO(RGM_NEW(a.values, BLOCK * query->count * g->count));
    while (b->done < count && !*more) {
        int64_t left = count - b->done, some = b->alone ? 1 : left < BLOCK ? left : BLOCK;

        query->reads++;
        a.rows = rows + b->done;
        RGM_GO(add_block(more, b, &a, some));
        *more = *more || (b->done < count && rgm_now() > query->end);
    }
done:
    rgm_free(a.values);
    return status;
}

/* ---- printing ------------------------------------------------------------------------------ */

static rgm_status print_list(rgm_text *json, const char *name, const rgmi_moments *at,
                             const grid *g, double (*of)(const rgmi_moments *m))
{
    bool first = true;

    RGM_TRY(rgm_text_printf(json, ",\"%s\":[", name));
    for (int64_t i = 0; i < g->count; i++) {
        if (at[i].count == 0)
            continue;
        RGM_TRY(rgm_text_add(json, ",", !first));
        first = false;
        if (of == NULL)
            RGM_TRY(rgm_text_printf(json, "%" PRId64, step_of(g, i)));
        else
            RGM_TRY(rgmi_print_number(json, of(&at[i])));
    }
    return rgm_text_add(json, "]", 1);
}

static double mean_of(const rgmi_moments *m)
{
    return m->mean;
}

static double low_of(const rgmi_moments *m)
{
    return m->low;
}

static double high_of(const rgmi_moments *m)
{
    return m->high;
}

static double count_of(const rgmi_moments *m)
{
    return (double)m->count;
}

static rgm_status print_band(rgm_text *json, const band *b, const grid *g,
                             const rgmi_bands_query *query, bool more)
{
    RGM_TRY(rgm_text_printf(json,
                            "\"read\":%" PRId64 ",\"damaged\":%" PRId64
                            ",\"more\":%s,\"every\":%" PRId64 ",\"curves\":[",
                            b->done, b->damaged, more ? "true" : "false", g->every));
    for (int64_t e = 0; e < query->count; e++) {
        const rgmi_moments *at = b->at + e * g->count;

        RGM_TRY(rgm_text_printf(json, "%s{\"metric\":", e > 0 ? "," : ""));
        RGM_TRY(rgm_json_print_text(json, rgmi_expression_text(query->expressions[e])));
        RGM_TRY(print_list(json, "steps", at, g, NULL));
        RGM_TRY(print_list(json, "mean", at, g, mean_of));
        RGM_TRY(print_list(json, "deviation", at, g, rgmi_moments_deviation));
        RGM_TRY(print_list(json, "low", at, g, low_of));
        RGM_TRY(print_list(json, "high", at, g, high_of));
        RGM_TRY(print_list(json, "runs", at, g, count_of));
        RGM_TRY(rgm_text_add(json, "}", 1));
    }
    return rgm_text_add(json, "]", 1);
}

/* Of the runs as they are, and of what is asked. */
static uint64_t key_of(rgmi_run_row *const *rows, int64_t count, const grid *g,
                       const rgmi_bands_query *q)
{
    uint64_t parts[5] = {(uint64_t)g->first, (uint64_t)g->every, (uint64_t)g->last, 0, 0};
    uint64_t key = rgm_hash64(parts, sizeof parts);

    for (int64_t e = 0; e < q->count; e++) {
        const char *text = rgmi_expression_text(q->expressions[e]);

        parts[0] = key;
        parts[1] = rgm_hash64(text, strlen(text));
        key = rgm_hash64(parts, 2 * sizeof *parts);
    }
    for (int64_t i = 0; i < count; i++) {
        parts[0] = key;
        parts[1] = rows[i]->id;
        parts[2] = (uint64_t)rows[i]->checked.offset;
        memcpy(&parts[3], &rows[i]->modified, sizeof parts[3]); /* NaN: it has measured nothing */
        parts[4] = (uint64_t)rows[i]->step;
        key = rgm_hash64(parts, sizeof parts);
    }
    return key;
}

rgm_status rgmi_bands_print(rgm_text *json, rgmi_band_cache *bands, rgmi_curve_cache *curves,
                            rgmi_run_row *const *rows, int64_t row_count, rgmi_bands_query *query)
{
    grid g = make_grid(rows, row_count, query);
    band *b = NULL;
    bool more = false;
    rgm_status status;

    RGM_TRY(take_band(&b, bands, key_of(rows, row_count, &g, query), query->count * g.count));
    status = add_runs(&more, b, curves, rows, row_count, &g, query);
    if (status == RGM_OK)
        status = print_band(json, b, &g, query, more);
    if (status == RGM_OK)
        give_band(bands, b);
    else
        free_band(b);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
