/*
 * A search as it goes, on stderr: on a terminal a table that is drawn again, elsewhere a line when
 * something happened.
 */
#include "verb_experiment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN    12  /* trials of the table                         */
#define INTERVAL 0.4 /* seconds between two drawings on a terminal */
#define LOOKED   0.1 /* and between two looks elsewhere            */
#define LOGGED   10  /* and between two lines there                */

struct live_view {
    int64_t experiment;
    bool draws;
    int64_t lines; /* drawn last */
    double began, first_progress, looked, drawn, best;
    int64_t over, saved; /* saved: by early stopping, in the searcher's unit */
    char state[32], unit[16];
    char waits[512]; /* told last: why nothing is at work */
};

rgm_status live_view_create(live_view **out, int64_t experiment)
{
    RGM_TRY(RGM_NEW(*out, 1));
    **out = (live_view){.experiment = experiment,
                        .draws = isatty(STDERR_FILENO) && verbosity >= 0,
                        .began = rgm_now(),
                        .first_progress = NAN,
                        .looked = -1e9,
                        .drawn = -1e9,
                        .best = NAN};
    return RGM_OK;
}

void live_view_release(live_view *view)
{
    rgm_free(view);
}

/* ---- what there is to say -------------------------------------------------------------------- */

/* "1h 04m", "3m 20s", "12s". */
static void print_duration(char text[32], double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);

    if (!isfinite(seconds) || seconds < 0)
        snprintf(text, 32, "-");
    else if (s >= 3600)
        snprintf(text, 32, "%lldh %02lldm", (long long)(s / 3600), (long long)(s / 60 % 60));
    else if (s >= 60)
        snprintf(text, 32, "%lldm %02llds", (long long)(s / 60), (long long)(s % 60));
    else
        snprintf(text, 32, "%llds", (long long)s);
}

static int64_t counted(const json_t *counts, const char *state)
{
    int64_t count = int_of(counts, state);

    return count > 0 ? count : 0;
}

/* "34.0%  22 over, 2 at work, 8 wait  best valid.accuracy 0.9843 (trial 7)  3m 20s, ETA 6m 28s". */
static rgm_status summary(rgm_text *out, live_view *v, const json_t *e)
{
    const json_t *counts = json_object_get(e, "trials_by_state");
    const json_t *best = json_object_get(e, "best_trial");
    double progress = number_of(e, "progress"), elapsed = rgm_now() - v->began;
    int64_t running = int_of(e, "running"),
            active = counted(counts, rgm_work_state_names[RGM_WORK_ACTIVE]);
    char passed[32], left[32];

    if (isnan(v->first_progress))
        v->first_progress = progress;
    print_duration(passed, elapsed);
    print_duration(left, progress > v->first_progress && progress < 1
                             ? elapsed * (1 - progress) / (progress - v->first_progress)
                             : NAN);
    RGM_TRY(
        rgm_text_printf(out, "%.1f%%  %lld over, %lld at work, %lld wait", 100 * progress,
                        (long long)trials_over(counts), (long long)(running > 0 ? running : 0),
                        (long long)(active > running ? active - (running > 0 ? running : 0) : 0)));
    if (isfinite(number_of(best, "best_metric")))
        RGM_TRY(rgm_text_printf(out, "  best %s %.5g (trial %lld)", text_of(e, "metric"),
                                number_of(best, "best_metric"), (long long)int_of(best, "number")));
    if (v->saved > 0)
        RGM_TRY(rgm_text_printf(out, ", %s %s saved", grouped(v->saved), v->unit));
    return rgm_text_printf(out, "  %s%s%s", passed, progress < 1 ? ", ETA " : "",
                           progress < 1 ? left : "");
}

/* Why nothing is at work though trials wait; "": something is, or nobody waits. */
static const char *why_idle(const json_t *e)
{
    if (int_of(e, "running") > 0)
        return "";
    if (!is_in_state(e, RGM_WORK_PAUSED))
        return text_of(e, "waits");
    return text_of(e, "message")[0] != '\0'
               ? text_of(e, "message")
               : "it is paused: `regimen experiment activate ID` goes on";
}

/* What early stopping saves. A search that is over says no more: what was known stays. */
static void ask_saved(live_view *v, const asked_master *whom)
{
    json_t *search = NULL;

    if (ask(&search, whom, "GET", NULL, "/api/v1/experiments/%lld/search",
            (long long)v->experiment) == RGM_OK) {
        v->saved = int_of(search, "saved");
        snprintf(v->unit, sizeof v->unit, "%s", text_of(search, "unit"));
    } else {
        rgm_error_reset();
    }
    json_decref(search);
}

/* Trials at work, then the best of the others. */
static rgm_status collect(json_t **out, const live_view *v, const asked_master *whom)
{
    rgm_status status = RGM_OK;
    json_t *page = NULL;
    int64_t id = v->experiment;

    *out = json_array();
    RGM_GO(ask(&page, whom, "GET", NULL, "/api/v1/experiments/%lld/trials?state=%s&limit=%d",
               (long long)id, rgm_work_state_names[RGM_WORK_ACTIVE], SHOWN));
    for (size_t i = 0; i < json_array_size(json_object_get(page, "trials")); i++) {
        json_t *row = json_array_get(json_object_get(page, "trials"), i);

        if (int_of(row, "pid") > 0)
            json_array_append(*out, row);
    }
    json_decref(page);
    page = NULL;
    RGM_GO(ask(&page, whom, "GET", NULL, "/api/v1/experiments/%lld/trials?sort=metric&limit=%d",
               (long long)id, SHOWN));
    for (size_t i = 0; i < json_array_size(json_object_get(page, "trials")); i++) {
        json_t *row = json_array_get(json_object_get(page, "trials"), i);

        if (int_of(row, "pid") <= 0 && isfinite(number_of(row, "best_metric")) &&
            json_array_size(*out) < SHOWN)
            json_array_append(*out, row);
    }
done:
    json_decref(page);
    if (status != RGM_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* ---- on a terminal --------------------------------------------------------------------------- */

/* Of a terminal of this width: a reason may take several. */
static int64_t count_lines(const char *text, int64_t width)
{
    int64_t lines = 0, column = 0;

    for (; *text != '\0'; text++) {
        lines += *text == '\n' ? 1 + (column > 0 ? (column - 1) / width : 0) : 0;
        column = *text == '\n' ? 0 : column + ((*text & 0xc0) != 0x80); /* characters, not bytes */
    }
    return lines;
}

/* In the place of what was drawn before. */
static rgm_status draw(live_view *v, const asked_master *whom, const json_t *e)
{
    rgm_status status = RGM_OK;
    json_t *trials = NULL;
    rgm_text text = {0}, line = {0};
    char *why = NULL;
    table t = {0};
    int64_t width = line_width() > 0 ? line_width() - 1 : 79;

    RGM_GO(collect(&trials, v, whom));
    RGM_GO(summary(&line, v, e));
    RGM_GO(rgm_text_printf(&text, "%-8s %.*s\n", "search", (int)(width > 9 ? width - 9 : 1),
                           line.data));
    if (why_idle(e)[0] != '\0') {
        RGM_GO(printable(&why, why_idle(e)));
        RGM_GO(rgm_text_printf(&text, "%-8s %s\n", "waits", why));
    }
    if (json_array_size(trials) > 0) {
        RGM_GO(trials_table(&t, trials));
        RGM_GO(table_print(&text, &t, width));
    }
    if (v->lines > 0)
        fprintf(stderr, "\033[%lldA\033[J", (long long)v->lines);
    fputs(text.data, stderr);
    v->lines = count_lines(text.data, width + 1);
done:
    json_decref(trials);
    rgm_text_clear(&text);
    rgm_text_clear(&line);
    rgm_free(why);
    table_clear(&t);
    return status;
}

/* ---- elsewhere ------------------------------------------------------------------------------- */

static rgm_status tell(const live_view *v, const json_t *e)
{
    rgm_text line = {0};
    rgm_status status = summary(&line, (live_view *)v, e);

    if (status == RGM_OK)
        say("search", "%s", line.data);
    rgm_text_clear(&line);
    return status;
}

/* A better trial, or another state, or it is time and trials ended. */
static bool is_news(live_view *v, const json_t *e, const char *state)
{
    const json_t *counts = json_object_get(e, "trials_by_state");
    double best = number_of(json_object_get(e, "best_trial"), "best_metric");
    int64_t over = trials_over(counts);
    bool is_better = isfinite(best) && best != v->best;
    bool is_due = over != v->over && rgm_now() - v->drawn >= LOGGED;

    if (!is_better && !is_due && strcmp(state, v->state) == 0)
        return false;
    v->best = best;
    v->over = over;
    return true;
}

/* A reason that is new, in a line of its own. */
static void tell_why_idle(live_view *v, const json_t *e)
{
    const char *why = why_idle(e);

    if (why[0] != '\0' && strncmp(why, v->waits, sizeof v->waits - 1) != 0)
        say("waits", "%s", why);
    snprintf(v->waits, sizeof v->waits, "%s", why);
}

rgm_status live_view_update(char state[32], live_view *v, const asked_master *whom)
{
    json_t *e = NULL;
    rgm_status status = RGM_OK;

    if (rgm_now() - v->looked < (v->draws ? INTERVAL : LOOKED))
        return RGM_OK; /* a master asks at each of thousands of workloads a second */
    v->looked = rgm_now();
    RGM_GO(ask(&e, whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)v->experiment));
    snprintf(state, 32, "%s", text_of(e, "state"));
    ask_saved(v, whom);
    if (!v->draws)
        tell_why_idle(v, e);
    if (v->draws)
        RGM_GO(draw(v, whom, e));
    else if (verbosity >= 0 && is_news(v, e, state))
        RGM_GO(tell(v, e));
    else
        goto done;
    v->drawn = rgm_now();
    snprintf(v->state, sizeof v->state, "%s", state);
done:
    json_decref(e);
    return status;
}
