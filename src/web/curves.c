/*
 * Learning curves: metrics.jsonl and the times of system.jsonl, read from where they were read
 * last, kept for the runs that are looked at.
 */
#include "curves.h"

#include <regimen/store.h>

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_SECTION 65536

typedef struct curve {
    char *metric; /* "valid.loss" */
    int split;    /* bytes of it before the point */
    int64_t *steps;
    double *values;
    int64_t count, step_capacity, value_capacity;
    int64_t lowest, highest; /* of the finite ones; -1: none */
} curve;

/* Steps with the seconds of training that they were reached at. */
typedef struct clock_points {
    int64_t *steps;
    double *seconds;
    int64_t count, step_capacity, second_capacity;
    int64_t offset; /* bytes of system.jsonl that were read */
    ino_t inode;
} clock_points;

typedef struct entry {
    uint64_t id;
    int holders;
    int64_t used, bytes;  /* used: by the cache's count of uses */
    pthread_mutex_t lock; /* of all that follows */
    rgm_metrics_place place;
    curve *curves;
    int64_t count, capacity, next; /* next: the curve of the next value, as a guess */
    int64_t lines;
    clock_points clock;
} entry;

struct rgmi_curve_cache {
    pthread_mutex_t lock;
    entry **entries;
    int64_t count, capacity;
    int64_t bytes, most, uses, lines;
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
    rgm_free(e->clock.steps);
    rgm_free(e->clock.seconds);
    e->curves = NULL;
    e->count = e->capacity = e->next = 0;
    e->place = (rgm_metrics_place){0};
    e->clock = (clock_points){0};
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

/* Those go first that were not asked for the longest. */
static void evict(rgmi_curve_cache *cache)
{
    while (cache->bytes > cache->most) {
        int64_t oldest = -1;

        for (int64_t i = 0; i < cache->count; i++)
            if (cache->entries[i]->holders == 0 &&
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
    return RGM_OK;
}

/* ---- system.jsonl -------------------------------------------------------------------------- */

/* A line of a step that there is already is of a run that went back to an earlier checkpoint. */
static rgm_status add_time(clock_points *clock, int64_t step, double seconds)
{
    while (clock->count > 0 && clock->steps[clock->count - 1] >= step)
        clock->count--;
    RGM_TRY(RGM_RESERVE(clock->steps, clock->step_capacity, clock->count + 1));
    RGM_TRY(RGM_RESERVE(clock->seconds, clock->second_capacity, clock->count + 1));
    clock->steps[clock->count] = step;
    clock->seconds[clock->count++] = seconds;
    return RGM_OK;
}

static rgm_status read_time(clock_points *clock, const char *line, int64_t size)
{
    rgm_json *json;
    int64_t step = 0;
    double seconds = NAN;
    bool found;
    rgm_status status = rgm_json_parse(&json, line, size, "system.jsonl");

    if (status != RGM_OK) /* a line that is none tells no time */
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    found = rgm_json_int(&step, rgm_json_find(json, "step")) &&
            rgm_json_number(&seconds, rgm_json_find(json, "seconds")) && isfinite(seconds);
    rgm_json_release(json);
    return found ? add_time(clock, step, seconds) : RGM_OK;
}

static rgm_status read_times(clock_points *clock, int fd)
{
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, SYSTEM_SECTION));
    for (;;) {
        ssize_t size = pread(fd, data, SYSTEM_SECTION, clock->offset);
        int64_t used = 0;

        for (const char *end;
             size > used && (end = memchr(data + used, '\n', (size_t)(size - used))) != NULL;) {
            RGM_GO(read_time(clock, data + used, end - (data + used)));
            used = end + 1 - data;
        }
        if (used == 0 && size == SYSTEM_SECTION)
            used = size; /* no line is so long */
        if (used == 0)
            break;
        clock->offset += used;
    }
done:
    rgm_free(data);
    return status;
}

static rgm_status read_clock(clock_points *clock, const char *folder)
{
    char *path = NULL;
    struct stat info;
    int fd;
    rgm_status status = RGM_OK;

    RGM_TRY(rgm_path_join(&path, folder, "system.jsonl"));
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    rgm_free(path);
    if (fd < 0)
        return RGM_OK;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        if (info.st_size < clock->offset || info.st_ino != clock->inode)
            clock->count = clock->offset = 0;
        clock->inode = info.st_ino;
        status = read_times(clock, fd);
    }
    close(fd);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* Seconds at a step: between two that are known on the line between them. */
static double time_of(const clock_points *clock, int64_t step)
{
    int64_t low = 0, high = clock->count;
    double before = 0, after;
    int64_t from = 0;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (clock->steps[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == clock->count)
        return clock->seconds[low - 1];
    after = clock->seconds[low];
    if (low > 0) {
        before = clock->seconds[low - 1];
        from = clock->steps[low - 1];
    }
    if (clock->steps[low] <= from)
        return after;
    return before + (after - before) * (double)(step - from) / (double)(clock->steps[low] - from);
}

/* ---- reading ------------------------------------------------------------------------------- */

static rgm_status note_damage(char **damage, rgm_status status)
{
    if (status == RGM_OK || status == RGM_ERR_NOMEM)
        return status;
    return rgm_strdup(damage, rgm_error_message());
}

/* What is new in the log. A damaged line ends what can be known of it. */
static rgm_status read_log(entry *e, char **damage, const char *folder)
{
    char *path = NULL;
    struct stat info;
    rgm_status status = RGM_OK;

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
    status = note_damage(damage, status);
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

/* The better end of a metric: by the run's own best where it chose by it, else by its name. */
static int64_t best_point(const curve *c, const char *best_metric, double best_value)
{
    static const char *const smaller[] = {"loss", "error", "entropy", "perplexity",
                                          "mae",  "mse",   "ter",     "divergence"};
    static const char *const neither[] = {"rate", "norm", "scale", "seconds", "epsilon", "count"};
    const char *name = c->metric + c->split + 1;

    if (c->lowest < 0)
        return -1;
    if (best_metric != NULL && strcmp(best_metric, c->metric) == 0 && isfinite(best_value)) {
        double from_low = fabs(best_value - c->values[c->lowest]);
        double from_high = fabs(best_value - c->values[c->highest]);

        if (from_low != from_high)
            return from_low < from_high ? c->lowest : c->highest;
    }
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++)
        if (strcasestr(name, neither[i]) != NULL)
            return -1;
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++)
        if (strcasestr(name, smaller[i]) != NULL)
            return c->lowest;
    return c->highest;
}

static rgm_status print_points(rgm_text *out, const curve *c, const clock_points *clock,
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
        double at = time_of(clock, c->steps[first + chosen[i]]);

        if (i > 0)
            RGM_TRY(rgm_text_add(out, ",", 1));
        RGM_TRY(print_finite(out, round(at * 1000) / 1000));
    }
    return rgm_text_add(out, "]", 1);
}

static rgm_status print_curve(rgm_text *out, const entry *e, const curve *c,
                              const rgmi_curves_query *query, int64_t best)
{
    int64_t *chosen = NULL, first = 0, count;
    rgm_status status = RGM_OK;

    while (query->after >= 0 && first < c->count && c->steps[first] <= query->after)
        first++;
    RGM_GO(RGM_NEW(chosen, query->points + 8));
    count = rgmi_curve_thin(chosen, c->values + first, c->count - first, query->points);
    RGM_GO(rgm_text_printf(out, "{\"metric\":"));
    RGM_GO(rgm_json_print_text(out, c->metric));
    RGM_GO(rgm_text_printf(out, ",\"split\":"));
    c->metric[c->split] = 0;
    status = rgm_json_print_text(out, c->metric);
    c->metric[c->split] = '.';
    RGM_GO(status);
    RGM_GO(rgm_text_printf(out, ",\"name\":"));
    RGM_GO(rgm_json_print_text(out, c->metric + c->split + 1));
    RGM_GO(print_points(out, c, &e->clock, chosen, count, first));
    RGM_GO(rgm_text_printf(out, ",\"total\":%" PRId64 ",\"best\":", c->count));
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
    return rgm_text_add(json, "]", 1);
}

rgm_status rgmi_curves_print(rgm_text *json, rgm_text *names, char **damage,
                             rgmi_curve_cache *cache, uint64_t id, const char *folder,
                             const rgmi_curves_query *query, const char *best_metric,
                             double best_value)
{
    entry *e = NULL;
    int64_t bytes, lines;
    rgm_status status;

    *damage = NULL;
    RGM_TRY(hold(&e, cache, id));
    pthread_mutex_lock(&e->lock);
    lines = e->lines;
    status = read_log(e, damage, folder);
    if (status == RGM_OK)
        status = read_clock(&e->clock, folder);
    if (status == RGM_OK)
        status = print_curves(json, names, e, query, best_metric, best_value);
    bytes = bytes_of(e);
    lines = e->lines - lines;
    pthread_mutex_unlock(&e->lock);
    give_back(cache, e, bytes, lines);
    if (status != RGM_OK) {
        rgm_free(*damage);
        *damage = NULL;
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
