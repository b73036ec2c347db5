/*
 * The progress line: one live line on a terminal, a plain line now and then elsewhere. It draws
 * into a callback, so the library itself prints nothing. rgm_progress_options_for() finds out what
 * the terminal can do; here that is data.
 */
#include <regimen/controller_run.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SMOOTHING_S 5.0 /* time constant of the rate */

struct rgm_progress {
    rgm_progress_options options;
    char unit[16], items[24];
    char metric[64];
    rgm_progress_state state;
    bool has_state, drawn; /* drawn: a live line is unfinished */
    int64_t width;         /* columns of the current live line */
    double last_draw;
    double rate, rate_time;
    int64_t rate_done;
    bool rate_started;
};

/* ---- what the terminal is ------------------------------------------------------------------ */

static int columns_of(int fd)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;
    char *end;
    long columns;

    if (text != NULL && text[0] != 0) {
        columns = strtol(text, &end, 10);
        if (*end == 0 && columns >= 10 && columns <= 10000)
            return (int)columns;
    }
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 10)
        return size.ws_col;
    return 0;
}

rgm_progress_options rgm_progress_options_for(int fd)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool live = isatty(fd) && term != NULL && term[0] != 0 && strcmp(term, "dumb") != 0;

    return (rgm_progress_options){
        .live = live,
        .color = live && (no_color == NULL || no_color[0] == 0),
        .columns = live ? columns_of(fd) : 0,
        .interval = -1,
    };
}

/* ---- numbers for people -------------------------------------------------------------------- */

/* 41733 -> 41,733 */
static void group_digits(char out[32], int64_t number)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRId64, number), at = 0;

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0 && digits[i - 1] != '-')
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
}

static void print_time(char out[32], double seconds)
{
    int64_t s = seconds < 1e9 ? (int64_t)(seconds + 0.5) : INT64_C(1000000000);

    if (s < 60)
        snprintf(out, 32, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(out, 32, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, 32, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(out, 32, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
}

static void print_memory(char out[32], int64_t bytes)
{
    if (bytes >= INT64_C(10) << 30)
        snprintf(out, 32, "%" PRId64 " GB", bytes >> 30);
    else if (bytes >= INT64_C(1) << 30)
        snprintf(out, 32, "%" PRId64 ".%" PRId64 " GB", bytes >> 30,
                 (bytes & ((INT64_C(1) << 30) - 1)) * 10 >> 30);
    else
        snprintf(out, 32, "%" PRId64 " MB", bytes >> 20);
}

/* ---- the line ------------------------------------------------------------------------------ */

/* Here and below, parts that do not fit into memory are left out: a line is not worth a failure. */
static void add_rate(rgm_text *line, const rgm_progress *progress, bool rate)
{
    const rgm_progress_state *s = &progress->state;
    double items = progress->rate * s->items_a_unit;
    char text[32];

    if (progress->rate <= 0)
        return;
    if (!rate) {
        text[0] = 0; /* the time that is left says it as well */
    } else if (progress->items[0] != 0 && items >= 1) {
        group_digits(text, (int64_t)(items + 0.5));
        rgm_text_printf(line, "  %s %s/s", text, progress->items);
    } else if (progress->rate >= 100) {
        group_digits(text, (int64_t)(progress->rate + 0.5));
        rgm_text_printf(line, "  %s %ss/s", text, progress->unit);
    } else if (progress->rate >= 0.1) {
        rgm_text_printf(line, "  %.3g %ss/s", progress->rate, progress->unit);
    } else {
        rgm_text_printf(line, "  %.3g s/%s", 1 / progress->rate, progress->unit);
    }
    if (s->total > s->done) {
        print_time(text, (double)(s->total - s->done) / progress->rate);
        rgm_text_printf(line, "  ETA %s", text);
    }
}

/* What a line leaves out, the least important first, until it fits. */
enum { WHOLE, NO_MEMORY, NO_CHECKPOINT, NO_RATE, NO_METRIC, NO_LOSS };

static void make_line(rgm_text *line, const rgm_progress *progress, int without)
{
    const rgm_progress_state *s = &progress->state;
    char done[32], total[32];
    int64_t memory = without >= NO_MEMORY ? 0 : rgm_memory_resident();

    line->size = 0;
    group_digits(done, s->done);
    group_digits(total, s->total);
    rgm_text_printf(line, s->total > 0 ? "%-8s %s/%s" : "%-8s %s", progress->unit, done, total);
    if (!isnan(s->loss) && without < NO_LOSS)
        rgm_text_printf(line, "  loss %.4g", s->loss);
    if (progress->metric[0] != 0 && !isnan(s->value) && without < NO_METRIC) {
        rgm_text_printf(line, "  ");
        rgm_text_add_visible(line, progress->metric);
        rgm_text_printf(line, " %.4g", s->value);
    }
    if (s->epsilon > 0)
        rgm_text_printf(line, "  epsilon %.3g", s->epsilon);
    add_rate(line, progress, without < NO_RATE);
    if (memory > 0) {
        print_memory(total, memory);
        rgm_text_printf(line, "  %s", total);
    }
    if (s->checkpoint >= 0 && without < NO_CHECKPOINT) {
        group_digits(total, s->checkpoint);
        rgm_text_printf(line, "  ckpt %s", total);
    }
}

/* Bytes of `text` that take at most `columns` characters; *used is how many they take. */
static int64_t cut_to(const char *text, int64_t size, int64_t columns, int64_t *used)
{
    int64_t at = 0;
    uint32_t code;

    *used = 0;
    while (at < size && *used < columns) {
        int step = rgm_utf8_next(&code, text + at);

        at += step > 0 ? step : 1;
        ++*used;
    }
    return at;
}

static void send(const rgm_progress *progress, const rgm_text *text)
{
    if (text->size > 0 && progress->options.write != NULL)
        progress->options.write(text->data, text->size, progress->options.payload);
}

static int64_t columns_left(const rgm_progress *progress)
{
    return (progress->options.columns > 0 ? progress->options.columns : 80) - 1;
}

/* Carriage return, the line, and blanks over the rest of the old one. */
static void draw_live(rgm_progress *progress, const rgm_text *line)
{
    int64_t used, size = cut_to(line->data, line->size, columns_left(progress), &used);
    int64_t unit = (int64_t)strlen(progress->unit);
    rgm_text out = {0};

    rgm_text_add(&out, "\r", 1);
    if (progress->options.color && size > unit) {
        rgm_text_printf(&out, "\033[1m%s\033[0m", progress->unit);
        rgm_text_add(&out, line->data + unit, size - unit);
    } else {
        rgm_text_add(&out, line->data, size);
    }
    if (progress->width > used)
        rgm_text_printf(&out, "%*s", (int)(progress->width - used), "");
    send(progress, &out);
    rgm_text_clear(&out);
    progress->width = used;
    progress->drawn = true;
}

/* Whether all of a line can stand beside each other. */
static bool fits(const rgm_progress *progress, const rgm_text *line)
{
    int64_t used;

    return !progress->options.live ||
           cut_to(line->data, line->size, columns_left(progress), &used) == line->size;
}

static void draw(rgm_progress *progress)
{
    rgm_text line = {0};

    for (int without = WHOLE; without <= NO_LOSS; without++) {
        make_line(&line, progress, without);
        if (line.size == 0 || fits(progress, &line))
            break;
    }
    if (line.size > 0 && progress->options.live) {
        draw_live(progress, &line);
    } else if (line.size > 0) {
        rgm_text_add(&line, "\n", 1);
        send(progress, &line);
    }
    rgm_text_clear(&line);
}

/* ---- interface ----------------------------------------------------------------------------- */

static double now(const rgm_progress *progress)
{
    return progress->options.clock != NULL ? progress->options.clock() : rgm_now();
}

rgm_status rgm_progress_create(rgm_progress **out, const rgm_progress_options *options)
{
    rgm_progress *progress = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(progress, 1));
    progress->options = *options;
    if (options->interval < 0)
        progress->options.interval = options->live ? 0.1 : 10;
    snprintf(progress->unit, sizeof progress->unit, "%s", options->unit ? options->unit : "step");
    progress->options.unit = NULL;
    progress->last_draw = now(progress);
    *out = progress;
    return RGM_OK;
}

void rgm_progress_release(rgm_progress *progress)
{
    if (progress == NULL)
        return;
    if (progress->drawn)
        send(progress, &(rgm_text){.data = "\n", .size = 1});
    rgm_free(progress);
}

/* Blend in the rate since the last measurement, weighted by the time passed. */
static void measure(rgm_progress *progress, int64_t done, double time)
{
    double elapsed = time - progress->rate_time, rate, share;

    if (!progress->rate_started || done < progress->rate_done) {
        progress->rate_started = true;
        progress->rate_done = done;
        progress->rate_time = time;
        return;
    }
    if (elapsed < 0.05 || done == progress->rate_done)
        return;
    rate = (double)(done - progress->rate_done) / elapsed;
    share = progress->rate > 0 ? 1 - exp(-elapsed / SMOOTHING_S) : 1;
    progress->rate += share * (rate - progress->rate);
    progress->rate_done = done;
    progress->rate_time = time;
}

void rgm_progress_update(rgm_progress *progress, const rgm_progress_state *state)
{
    double time = now(progress);

    measure(progress, state->done, time);
    progress->state = *state;
    progress->state.metric = progress->state.items = NULL;
    snprintf(progress->metric, sizeof progress->metric, "%s",
             state->metric != NULL ? state->metric : "");
    snprintf(progress->items, sizeof progress->items, "%s",
             state->items != NULL ? state->items : "");
    progress->has_state = true;
    if (time - progress->last_draw < progress->options.interval)
        return;
    progress->last_draw = time;
    draw(progress);
}

void rgm_progress_note(rgm_progress *progress, const char *format, ...)
{
    rgm_text line = {0};
    char room[2048], *raw = room;
    va_list args, again;
    int size;

    va_start(args, format);
    va_copy(again, args);
    size = vsnprintf(room, sizeof room, format, args);
    if (size >= (int)sizeof room && (raw = rgm_malloc((size_t)size + 1)) != NULL)
        vsnprintf(raw, (size_t)size + 1, format, again);
    raw = raw != NULL ? raw : room;
    va_end(again);
    va_end(args);
    if (progress->drawn)
        rgm_text_printf(&line, "\r%*s\r", (int)progress->width, "");
    rgm_text_add_visible(&line, raw);
    if (raw != room)
        rgm_free(raw);
    rgm_text_add(&line, "\n", 1);
    send(progress, &line);
    rgm_text_clear(&line);
    if (progress->drawn) {
        progress->width = 0;
        draw(progress);
    }
}

void rgm_progress_finish(rgm_progress *progress)
{
    if (!progress->has_state)
        return;
    draw(progress);
    if (progress->drawn)
        send(progress, &(rgm_text){.data = "\n", .size = 1});
    progress->drawn = false;
    progress->width = 0;
    progress->has_state = false;
    progress->last_draw = now(progress);
}

double rgm_progress_rate(const rgm_progress *progress)
{
    return progress->rate;
}
