/*
 * Learning curves: metrics.jsonl and the times of system.jsonl, read from where they were read
 * last, kept for the runs that are looked at.
 */
#include "curves.h"
#include "curve_clock.h"
#include "folder_file.h"

#include <regimen/store.h>

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_AT_ONCE = 1024 }; /* between two looks at the clock */

typedef struct curve {
    char *metric; /* "valid.loss" */
    int split;    /* bytes of it before the point */
    int64_t *steps;
    double *values;
    int64_t count, step_capacity, value_capacity;
    int64_t lowest, highest; /* of the finite ones; -1: none */
} curve;

typedef struct entry {
    uint64_t id;
    int holders;
    int64_t used, bytes;  /* used: by the cache's count of uses */
    pthread_mutex_t lock; /* of all that follows */
    rgm_metrics_place place;
    curve *curves;
    int64_t count, capacity, next; /* next: the curve of the next value, as a guess */
    int64_t lines;
    rgmi_clock clock;
    double until; /* rgm_now() when reading is to end, for now: more is then true */
    bool more;
    const atomic_bool *stop;
} entry;

struct rgmi_curve_cache {
    pthread_mutex_t lock;
    entry **entries;
    int64_t count, capacity;
    int64_t bytes, most, uses, lines;
    atomic_bool stop;
};

/* ---- the cache ----------------------------------------------------------------------------- */

static void forget(entry *e)
{
    for (int64_t i = 0; i < e->count; i++) {
        rgm_free(e->curves[i].metric);
        rgm_free(e->curves[i].steps);
        rgm_free(e->curves[i].values);
    }
    rgm_free(e->curves);
    rgmi_clock_clear(&e->clock);
    e->curves = NULL;
    e->count = e->capacity = e->next = 0;
    e->place = (rgm_metrics_place){0};
}

static void free_entry(entry *e)
{
    if (e == NULL)
        return;
    forget(e);
    pthread_mutex_destroy(&e->lock);
    rgm_free(e);
}

rgm_status rgmi_curve_cache_create(rgmi_curve_cache **out, int64_t bytes)
{
    rgmi_curve_cache *cache;

    *out = NULL;
    RGM_TRY(RGM_NEW(cache, 1));
    pthread_mutex_init(&cache->lock, NULL);
    cache->most = bytes;
    *out = cache;
    return RGM_OK;
}

void rgmi_curve_cache_release(rgmi_curve_cache *cache)
{
    if (cache == NULL)
        return;
    for (int64_t i = 0; i < cache->count; i++)
        free_entry(cache->entries[i]);
    rgm_free(cache->entries);
    pthread_mutex_destroy(&cache->lock);
    rgm_free(cache);
}

void rgmi_curve_cache_stop(rgmi_curve_cache *cache)
{
    atomic_store(&cache->stop, true);
}

void rgmi_curve_cache_count(int64_t *bytes, int64_t *lines, rgmi_curve_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    *bytes = cache->bytes;
    *lines = cache->lines;
    pthread_mutex_unlock(&cache->lock);
}

static rgm_status add_entry(entry **out, rgmi_curve_cache *cache, uint64_t id)
{
    RGM_TRY(RGM_RESERVE(cache->entries, cache->capacity, cache->count + 1));
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->id = id;
    (*out)->stop = &cache->stop;
    pthread_mutex_init(&(*out)->lock, NULL);
    cache->entries[cache->count++] = *out;
    return RGM_OK;
}

/* The entry of a run, held, which stays until it is given back. */
static rgm_status hold(entry **out, rgmi_curve_cache *cache, uint64_t id)
{
    rgm_status status = RGM_OK;

    *out = NULL;
    pthread_mutex_lock(&cache->lock);
    for (int64_t i = 0; i < cache->count && *out == NULL; i++)
        if (cache->entries[i]->id == id)
            *out = cache->entries[i];
    if (*out == NULL)
        status = add_entry(out, cache, id);
    if (status == RGM_OK) {
        (*out)->holders++;
        (*out)->used = ++cache->uses;
    }
    pthread_mutex_unlock(&cache->lock);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* Those go first that were not asked for the longest. The last one stays, however large: it would
 * be read from its beginning again and again. */
static void evict(rgmi_curve_cache *cache)
{
    while (cache->bytes > cache->most) {
        int64_t oldest = -1;

        for (int64_t i = 0; i < cache->count; i++)
            if (cache->entries[i]->holders == 0 && cache->entries[i]->used < cache->uses &&
                (oldest < 0 || cache->entries[i]->used < cache->entries[oldest]->used))
                oldest = i;
        if (oldest < 0)
            return;
        cache->bytes -= cache->entries[oldest]->bytes;
        free_entry(cache->entries[oldest]);
        cache->entries[oldest] = cache->entries[--cache->count];
    }
}

static void give_back(rgmi_curve_cache *cache, entry *e, int64_t bytes, int64_t lines)
{
    pthread_mutex_lock(&cache->lock);
    cache->bytes += bytes - e->bytes;
    cache->lines += lines;
    e->bytes = bytes;
    e->holders--;
    evict(cache);
    pthread_mutex_unlock(&cache->lock);
}

static int64_t bytes_of(const entry *e)
{
    int64_t bytes = (int64_t)sizeof *e + e->capacity * (int64_t)sizeof *e->curves +
                    8 * (e->clock.step_capacity + e->clock.second_capacity);

    for (int64_t i = 0; i < e->count; i++)
        bytes += 8 * (e->curves[i].step_capacity + e->curves[i].value_capacity) + 64;
    return bytes;
}

/* ---- metrics.jsonl ------------------------------------------------------------------------- */

static bool is_of(const curve *c, const char *split, const char *name)
{
    return strncmp(c->metric, split, (size_t)c->split) == 0 && split[c->split] == 0 &&
           strcmp(c->metric + c->split + 1, name) == 0;
}

/* Lines have the same metrics again and again: mostly the next curve is the right one. */
static rgm_status find_curve(curve **out, entry *e, const char *split, const char *name)
{
    curve fresh = {.split = (int)strlen(split), .lowest = -1, .highest = -1};

    for (int64_t i = 0; i < e->count; i++) {
        int64_t at = (e->next + i) % e->count;

        if (is_of(&e->curves[at], split, name)) {
            *out = &e->curves[at];
            e->next = at + 1;
            return RGM_OK;
        }
    }
    RGM_TRY(RGM_RESERVE(e->curves, e->capacity, e->count + 1));
    RGM_TRY(rgm_strprintf(&fresh.metric, "%s.%s", split, name));
    e->curves[e->count++] = fresh;
    e->next = 0;
    *out = &e->curves[e->count - 1];
    return RGM_OK;
}

static rgm_status add_line(const rgm_metrics_entry *line, void *payload)
{
    entry *e = payload;

    e->lines++;
    for (int64_t i = 0; i < line->count; i++) {
        double value = line->numbers[i].value;
        curve *c = NULL;

        RGM_TRY(find_curve(&c, e, line->split, line->numbers[i].name));
        RGM_TRY(RGM_RESERVE(c->steps, c->step_capacity, c->count + 1));
        RGM_TRY(RGM_RESERVE(c->values, c->value_capacity, c->count + 1));
        c->steps[c->count] = line->step;
        c->values[c->count] = value;
        if (isfinite(value)) {
            if (c->lowest < 0 || value < c->values[c->lowest])
                c->lowest = c->count;
            if (c->highest < 0 || value > c->values[c->highest])
                c->highest = c->count;
        }
        c->count++;
    }
    e->more = e->lines % LINES_AT_ONCE == 0 && (atomic_load(e->stop) || rgm_now() > e->until);
    return e->more ? RGM_END : RGM_OK;
}

static bool find_points(rgmi_points *out, const char *metric, const void *payload)
{
    const entry *e = payload;

    for (int64_t i = 0; i < e->count; i++)
        if (strcmp(e->curves[i].metric, metric) == 0) {
            *out = (rgmi_points){e->curves[i].steps, e->curves[i].values, e->curves[i].count};
            return true;
        }
    return false;
}

/* ---- reading ------------------------------------------------------------------------------- */

static rgm_status note_damage(char **damage, rgm_status status, const char *folder)
{
    if (status == RGM_OK || status == RGM_ERR_NOMEM)
        return status;
    return rgm_strdup(damage, rgmi_without_folder(rgm_error_message(), folder));
}

/* What is new in the log. A damaged line ends what can be known of it. */
static rgm_status read_log(entry *e, char **damage, const char *folder)
{
    char *path = NULL;
    struct stat info;
    rgm_status status = RGM_OK;

    e->more = false;
    RGM_GO(rgm_path_join(&path, folder, "metrics.jsonl"));
    if (lstat(path, &info) < 0) {
        forget(e);
        goto done;
    }
    if (!S_ISREG(info.st_mode)) {
        forget(e);
        status = rgm_strdup(damage, "metrics.jsonl is no plain file: it is not read");
        goto done;
    }
    status = rgm_metrics_log_read_on(&e->place, path, add_line, e);
    if (status == RGM_ERR_DATA) {
        forget(e);
        status = rgm_metrics_log_read_on(&e->place, path, add_line, e);
    }
    status = note_damage(damage, status, folder);
    if (status != RGM_OK) /* a part of a line may be in the curves */
        forget(e);
done:
    rgm_free(path);
    return status;
}

/* ---- thinning ------------------------------------------------------------------------------ */

static void insert(int64_t *chosen, int64_t *count, int64_t first, int64_t index)
{
    int64_t at = *count;

    for (int64_t i = first; i < *count; i++)
        if (chosen[i] == index)
            return;
    for (; at > first && chosen[at - 1] > index; at--)
        chosen[at] = chosen[at - 1];
    chosen[at] = index;
    ++*count;
}

int64_t rgmi_curve_thin(int64_t *chosen, const double *values, int64_t count, int64_t points)
{
    int64_t kept = 0, pieces;
    bool finite = true;

    if (count <= points) {
        for (; kept < count; kept++)
            chosen[kept] = kept;
        return count;
    }
    for (int64_t i = 0; i < count && finite; i++)
        finite = isfinite(values[i]);
    pieces = points / (finite ? 4 : 5);
    pieces = pieces > 0 ? pieces : 1;
    for (int64_t p = 0; p < pieces; p++) {
        int64_t begin = count * p / pieces, end = count * (p + 1) / pieces;
        int64_t low = -1, high = -1, odd = -1, first = kept;

        for (int64_t i = begin; i < end; i++) {
            if (!isfinite(values[i])) {
                odd = odd < 0 ? i : odd;
                continue;
            }
            low = low < 0 || values[i] < values[low] ? i : low;
            high = high < 0 || values[i] > values[high] ? i : high;
        }
        insert(chosen, &kept, first, begin);
        insert(chosen, &kept, first, end - 1);
        if (low >= 0) {
            insert(chosen, &kept, first, low);
            insert(chosen, &kept, first, high);
        }
        if (odd >= 0)
            insert(chosen, &kept, first, odd);
    }
    return kept;
}

/* ---- printing ------------------------------------------------------------------------------ */

static rgm_status print_whole(rgm_text *out, int64_t number)
{
    char text[24], *at = text + sizeof text;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0)
        *--at = '-';
    return rgm_text_add(out, at, text + sizeof text - at);
}

static rgm_status print_finite(rgm_text *out, double number)
{
    return isfinite(number) ? rgm_json_print_number(out, number) : rgm_text_add(out, "null", 4);
}

typedef enum better_end { HIGHEST, LOWEST, NEITHER } better_end;

/* What names of metrics tell; `alone`: only as a word of its own, "ter" of "corpus_ter", not of
 * "filter". The page's isSmaller has the same words. */
static const struct {
    better_end better;
    bool alone;
    const char *words[13];
} tellings[] = {
    {LOWEST,
     false,
     {"loss", "error", "entropy", "perplexity", "mae", "mse", "divergence", "brier", "coherence",
      "condition_number", "self_clustering", "bits_per_byte"}},
    {LOWEST, true, {"ter"}},
    {NEITHER, false, {"rate", "norm", "scale", "seconds", "epsilon", "count"}},
    {NEITHER, true, {"weight"}},
    {HIGHEST, false, {"accuracy", "precision", "recall", "correlation", "rank"}},
    {HIGHEST,
     true,
     {"f1", "auc", "r2", "top", "hits", "mrr", "map", "ndcg", "match", "bleu", "chrf"}},
};

/* Where a name ends that Regimen made: that of a class or a layer, which may be any, is behind. */
static const char *end_of_own(const char *name)
{
    static const char *const before[] = {"precision_for_", "recall_for_", "_norm."};

    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        const char *at = strstr(name, before[i]);

        if (at != NULL)
            return at + strlen(before[i]);
    }
    return name + strlen(name);
}

/* Where a word is last before `end`; NULL: nowhere. */
static const char *find_last(const char *name, const char *end, const char *word, bool alone)
{
    size_t size = strlen(word);
    const char *last = NULL;

    for (const char *at = name; (at = strcasestr(at, word)) != NULL && at < end; at++)
        if (!alone ||
            ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[size])))
            last = at;
    return last;
}

/* By the last word that tells it: of several tasks' metrics each begins with the name of its task,
 * which may be any. */
static better_end better_end_of(const char *name)
{
    const char *last = NULL, *end = end_of_own(name);
    better_end better = HIGHEST;

    for (size_t i = 0; i < sizeof tellings / sizeof *tellings; i++)
        for (const char *const *word = tellings[i].words; *word != NULL; word++) {
            const char *at = find_last(name, end, *word, tellings[i].alone);

            if (at != NULL && (last == NULL || at > last)) {
                last = at;
                better = tellings[i].better;
            }
        }
    return better;
}

/* The better end of a metric: by the run's own best where it chose by it, else by its name. */
static int64_t best_point(const curve *c, const char *best_metric, double best_value)
{
    better_end better;

    if (c->lowest < 0)
        return -1;
    if (best_metric != NULL && strcmp(best_metric, c->metric) == 0 && isfinite(best_value)) {
        double from_low = fabs(best_value - c->values[c->lowest]);
        double from_high = fabs(best_value - c->values[c->highest]);

        if (from_low != from_high)
            return from_low < from_high ? c->lowest : c->highest;
    }
    better = better_end_of(c->metric + c->split + 1);
    return better == LOWEST ? c->lowest : better == HIGHEST ? c->highest : -1;
}

static rgm_status print_points(rgm_text *out, const curve *c, const rgmi_clock *clock,
                               const int64_t *chosen, int64_t count, int64_t first)
{
    RGM_TRY(rgm_text_printf(out, ",\"steps\":["));
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            RGM_TRY(rgm_text_add(out, ",", 1));
        RGM_TRY(print_whole(out, c->steps[first + chosen[i]]));
    }
    RGM_TRY(rgm_text_printf(out, "],\"values\":["));
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            RGM_TRY(rgm_text_add(out, ",", 1));
        RGM_TRY(print_finite(out, c->values[first + chosen[i]]));
    }
    if (clock->count == 0)
        return rgm_text_printf(out, "],\"times\":null");
    RGM_TRY(rgm_text_printf(out, "],\"times\":["));
    for (int64_t i = 0; i < count; i++) {
        double at = rgmi_clock_at(clock, c->steps[first + chosen[i]]);

        if (i > 0)
            RGM_TRY(rgm_text_add(out, ",", 1));
        RGM_TRY(print_finite(out, round(at * 1000) / 1000));
    }
    return rgm_text_add(out, "]", 1);
}

/* The points that a query wants: [*first, *end), of which print_curve() chooses. */
static void find_range(int64_t *first, int64_t *end, const curve *c, const rgmi_curves_query *query)
{
    *first = 0;
    *end = c->count;
    while (query->after >= 0 && *first < *end && c->steps[*first] <= query->after)
        ++*first;
    while (*end > *first && c->steps[*end - 1] > query->until)
        --*end;
}

/* Which of the points from `first` on, counted from there. */
static int64_t choose_points(int64_t *chosen, const curve *c, const rgmi_curves_query *query,
                             int64_t first, int64_t end)
{
    int64_t count = end - first;

    if (!query->whole)
        return rgmi_curve_thin(chosen, c->values + first, count, query->points);
    count = count < query->points ? count : query->points;
    for (int64_t i = 0; i < count; i++)
        chosen[i] = i;
    return count;
}

static rgm_status print_curve(rgm_text *out, const entry *e, const curve *c,
                              const rgmi_curves_query *query, int64_t best)
{
    int64_t *chosen = NULL, first, end, within, count;
    rgm_status status = RGM_OK;

    find_range(&first, &end, c, query);
    within = end - first;
    first += query->skip < within ? query->skip : within;
    RGM_GO(RGM_NEW(chosen, query->points + 8));
    count = choose_points(chosen, c, query, first, end);
    RGM_GO(rgm_text_printf(out, "{\"metric\":"));
    RGM_GO(rgm_json_print_text(out, c->metric + (c->split == 0)));
    RGM_GO(rgm_text_printf(out, ",\"split\":"));
    c->metric[c->split] = 0;
    status = rgm_json_print_text(out, c->metric);
    c->metric[c->split] = '.';
    RGM_GO(status);
    RGM_GO(rgm_text_printf(out, ",\"name\":"));
    RGM_GO(rgm_json_print_text(out, c->metric + c->split + 1));
    RGM_GO(print_points(out, c, &e->clock, chosen, count, first));
    RGM_GO(rgm_text_printf(out, ",\"total\":%" PRId64 ",\"within\":%" PRId64 ",\"best\":", c->count,
                           within));
    if (best < 0) {
        RGM_GO(rgm_text_printf(out, "null}"));
        goto done;
    }
    RGM_GO(rgm_text_printf(out, "{\"step\":%" PRId64 ",\"value\":", c->steps[best]));
    RGM_GO(print_finite(out, c->values[best]));
    RGM_GO(rgm_text_printf(out, "}}"));
done:
    rgm_free(chosen);
    return status;
}

static bool is_asked(const char *list, const char *name)
{
    size_t size = strlen(name);

    while (list != NULL && *list != 0) {
        size_t length = strcspn(list, ",");

        if (length == size && memcmp(list, name, size) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return list == NULL;
}

/* A curve that is computed has the text of its expression for a name, and no split. */
static rgm_status print_computed(rgm_text *json, bool *first, const entry *e,
                                 const rgmi_curves_query *query, const rgmi_expression *expression)
{
    rgmi_made_points made;
    curve c = {.lowest = -1, .highest = -1};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_expression_points(&made, expression, find_points, e));
    if (made.count == 0)
        goto done;
    c.steps = made.steps;
    c.values = made.values;
    c.count = made.count;
    RGM_GO(rgm_strprintf(&c.metric, ".%s", rgmi_expression_text(expression)));
    RGM_GO(rgm_text_add(json, ",", !*first));
    *first = false;
    RGM_GO(print_curve(json, e, &c, query, -1));
done:
    rgm_free(c.metric);
    rgmi_made_points_clear(&made);
    return status;
}

static rgm_status print_curves(rgm_text *json, rgm_text *names, const entry *e,
                               const rgmi_curves_query *query, const char *best_metric,
                               double best_value)
{
    bool first = true;

    RGM_TRY(rgm_text_add(json, "[", 1));
    for (int64_t i = 0; i < e->count; i++) {
        const curve *c = &e->curves[i];

        RGM_TRY(rgm_text_printf(names, "%s\n", c->metric));
        if (!is_asked(query->metrics, c->metric))
            continue;
        RGM_TRY(rgm_text_printf(json, first ? "" : ","));
        RGM_TRY(print_curve(json, e, c, query, best_point(c, best_metric, best_value)));
        first = false;
    }
    for (int64_t i = 0; i < query->computed_count; i++)
        RGM_TRY(print_computed(json, &first, e, query, query->computed[i]));
    return rgm_text_add(json, "]", 1);
}

void rgmi_curves_told_clear(rgmi_curves_told *told)
{
    rgm_text_clear(&told->json);
    rgm_text_clear(&told->names);
    rgm_free(told->damage);
    *told = (rgmi_curves_told){0};
}

rgm_status rgmi_curves_print(rgmi_curves_told *out, rgmi_curve_cache *cache, uint64_t id,
                             const char *folder, const rgmi_curves_query *query,
                             const char *best_metric, double best_value)
{
    entry *e = NULL;
    int64_t bytes, lines;
    rgm_status status;

    *out = (rgmi_curves_told){0};
    RGM_TRY(hold(&e, cache, id));
    pthread_mutex_lock(&e->lock);
    lines = e->lines;
    e->until = query->seconds > 0 ? rgm_now() + query->seconds : INFINITY;
    status = read_log(e, &out->damage, folder);
    if (status == RGM_OK)
        status = rgmi_clock_read(&e->clock, folder);
    if (status == RGM_OK)
        status = print_curves(&out->json, &out->names, e, query, best_metric, best_value);
    out->more = e->more;
    bytes = bytes_of(e);
    lines = e->lines - lines;
    pthread_mutex_unlock(&e->lock);
    give_back(cache, e, bytes, lines);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgmi_curves_use(rgmi_curves_state *state, rgmi_curve_cache *cache, uint64_t id,
                           const char *folder, rgmi_curves_user *use, void *payload)
{
    entry *e = NULL;
    char *damage = NULL;
    int64_t bytes, lines;
    rgm_status status;

    RGM_TRY(hold(&e, cache, id));
    pthread_mutex_lock(&e->lock);
    lines = e->lines;
    e->until = state->end;
    status = read_log(e, &damage, folder);
    state->more = e->more;
    state->damaged = damage != NULL;
    if (status == RGM_OK)
        status = use(find_points, e, payload);
    bytes = bytes_of(e);
    lines = e->lines - lines;
    pthread_mutex_unlock(&e->lock);
    give_back(cache, e, bytes, lines);
    rgm_free(damage);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
