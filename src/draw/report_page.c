/* The charts as a page in HTML that needs nothing else: no network, no script. Colours follow the
 * reader's light or dark. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_internal.h"
#include "draw_look.h"

/* ---- looks of the page --------------------------------------------------------------------- */

#define PAGE                                                                                       \
    ":root{color-scheme:light dark;--paper:#f5f6f9;--card:#fff;--ink:#1b2030;--soft:#5b6376;"      \
    "--line:#e1e4ea;--accent:#0b62b0}"                                                             \
    "*{box-sizing:border-box}"                                                                     \
    "body{margin:0;padding:24px 16px 64px;background:var(--paper);color:var(--ink);"               \
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"            \
    "main{max-width:1080px;margin:auto}"                                                           \
    "h1{font-size:26px;line-height:1.25;margin:0;overflow-wrap:anywhere}"                          \
    "h2{font-size:18px;margin:0 0 4px}"                                                            \
    "p{margin:4px 0}.note{color:var(--soft);font-size:13px;overflow-wrap:anywhere}"                \
    "section{background:var(--card);border:1px solid var(--line);border-radius:10px;"              \
    "padding:18px 20px;margin-top:18px}"                                                           \
    "dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:12px;"          \
    "margin:18px 0 0}"                                                                             \
    "dl div{background:var(--card);border:1px solid var(--line);border-radius:10px;"               \
    "padding:10px 14px}"                                                                           \
    "dt{color:var(--soft);font-size:13px;overflow-wrap:anywhere}"                                  \
    "dd{margin:0;font-size:20px;font-weight:600;overflow-wrap:anywhere}"                           \
    "dd small{display:block;font-size:13px;font-weight:400;color:var(--soft)}"                     \
    ".scroll{overflow-x:auto;margin-top:10px}.scroll:focus-visible{outline:2px solid "             \
    "var(--accent)}"                                                                               \
    "svg{display:block;width:100%%;height:auto;overflow:visible}.wide{min-width:720px}.bars{max-"  \
    "width:640px}"                                                                                 \
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(310px,100%%),1fr));"     \
    "gap:20px;margin-top:14px}"                                                                    \
    ".pairs{grid-template-columns:repeat(auto-fill,minmax(min(460px,100%%),1fr))}.tones{max-"      \
    "width:404px;margin-top:8px}"                                                                  \
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}"             \
    "caption{text-align:left;color:var(--soft);padding-bottom:6px}"                                \
    "th,td{padding:4px 12px 4px 0;text-align:right;white-space:nowrap;"                            \
    "border-bottom:1px solid var(--line)}"                                                         \
    "thead th{color:var(--soft);font-weight:600;vertical-align:bottom}"                            \
    ".text{text-align:left}tr.first td,tr.first th{font-weight:600}"                               \
    ".chip{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:7px;"        \
    "background:currentColor}"                                                                     \
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(360px,100%%),1fr));"       \
    "gap:0 28px}.two>*{min-width:0}"                                                               \
    "details{margin-top:12px}summary{cursor:pointer;font-weight:600}"                              \
    "pre{overflow:auto;max-height:420px;background:var(--paper);border:1px solid var(--line);"     \
    "border-radius:8px;padding:12px;font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}"          \
    "a{color:var(--accent)}"
#define PAGE_DARK                                                                                  \
    ":root{--paper:#0f1218;--card:#161a23;--ink:#e8ebf2;--soft:#98a1b3;--line:#2a303d;"            \
    "--accent:#7ab8f5}"

/* ---- pictures in a page -------------------------------------------------------------------- */

static void begin_picture(rgmi_drawing *d, const char *kind, double width, double height,
                          const char *name, const char *what)
{
    bool wide = strcmp(kind, "wide") == 0;

    rgmi_mark(d,
              wide ? "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\">\n"
                   : "<div role=\"group\" aria-label=\"%s\">\n",
              name);
    rgmi_mark(d, "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s. ", kind,
              width, height, name);
    rgmi_mark(d, "%s\">\n", what);
}

static void end_picture(rgmi_drawing *d)
{
    rgmi_mark(d, "</svg></div>\n");
}

/* "400 of 10,000 trials are drawn, ..."; nothing where all are. */
static void note_sample(rgmi_drawing *d, const rgmi_report_view *v, int64_t most)
{
    int64_t every, count = rgmi_view_sample(&every, v, most);

    if (count < v->measured)
        rgmi_mark(
            d, "%s of %s trials are drawn: the best %lld and of the others one in %lld, by rank. ",
            rgmi_count_text(count).text, rgmi_count_text(v->measured).text, (long long)(most / 2),
            (long long)every);
}

static void note_far(rgmi_drawing *d, const rgmi_report_view *v)
{
    if (v->far_off > 0)
        rgmi_mark(d, "%s that are worse than %s stand at the edge. ",
                  rgmi_count_text(v->far_off).text,
                  rgmi_number_text(4, v->report->objectives[0].smaller_is_better ? v->metric.high
                                                                                 : v->metric.low)
                      .text);
}

static void note_missing(rgmi_drawing *d, const rgmi_report_view *v)
{
    int64_t missing = v->report->trial_count - v->measured;

    if (missing > 0)
        rgmi_mark(d, "%s without a finite metric %s not drawn. ", rgmi_count_text(missing).text,
                  missing == 1 ? "is" : "are");
}

/* ---- head ---------------------------------------------------------------------------------- */

static void put_tile(rgmi_drawing *d, const char *name, const char *value, const char *more)
{
    rgmi_mark(d, "<div><dt>%s</dt><dd>%s", name, value);
    if (more[0] != '\0')
        rgmi_mark(d, " <small>%s</small>", more);
    rgmi_mark(d, "</dd></div>\n");
}

/* "60 COMPLETED, 4 ERROR", in the order in which they occur. */
static rgm_status count_states(rgm_text *out, const rgm_search_report *r)
{
    rgm_status status = RGM_OK;
    int64_t *counts = NULL;
    rgm_map *states = NULL;

    RGM_GO(RGM_NEW(counts, r->trial_count + 1));
    RGM_GO(rgm_map_create(&states));
    for (int64_t i = 0, next = 0; i < r->trial_count; i++) {
        const char *state = r->trials[i].state != NULL ? r->trials[i].state : "of no state";

        if (!rgm_map_has(states, state))
            RGM_GO(rgm_map_set(states, state, &counts[next++]));
        ++*(int64_t *)rgm_map_get(states, state);
    }
    for (int64_t i = 0; i < rgm_map_count(states) && i < 8; i++)
        RGM_GO(rgm_text_printf(out, "%s%s %s", i > 0 ? ", " : "",
                               rgmi_count_text(*(int64_t *)rgm_map_value(states, i)).text,
                               rgm_map_key(states, i)));
done:
    rgm_map_release(states);
    rgm_free(counts);
    return status;
}

static void put_trial_tile(rgmi_drawing *d, const rgm_search_report *r)
{
    rgm_text states = {0};

    if (d->status == RGM_OK)
        d->status = count_states(&states, r);
    put_tile(d, "trials", rgmi_count_text(r->trial_count).text, states.size > 0 ? states.data : "");
    rgm_text_clear(&states);
}

/* What was trained, of what all trials at the longest length would be. */
static void put_trained_tile(rgmi_drawing *d, const rgm_search_report *r)
{
    double sum = 0, longest = 0, trials = 0;
    char value[64], more[128] = "";

    for (int64_t i = 0; i < r->trial_count; i++)
        if (r->trials[i].trained >= 0) {
            sum += (double)r->trials[i].trained;
            longest = fmax(longest, (double)r->trials[i].trained);
            trials++;
        }
    if (trials == 0)
        return;
    snprintf(value, sizeof value, "%s",
             rgmi_count_text(sum < 9e18 ? (int64_t)sum : INT64_MAX).text);
    if (longest > 0 && sum < trials * longest)
        snprintf(more, sizeof more, "%.1f %% of %s trials at full length",
                 100 * sum / (trials * longest), rgmi_count_text((int64_t)trials).text);
    rgmi_mark(d, "<div><dt>%s trained</dt><dd>%s <small>%s</small></dd></div>\n",
              rgmi_report_unit(r), value, more);
}

static void put_head(rgmi_drawing *d, const rgmi_report_view *v)
{
    const rgm_search_report *r = v->report;
    char share[64] = "", trial[64] = "";

    rgmi_mark(d, "<header><h1>%s</h1>\n<p class=\"note\">Experiment %lld", rgmi_report_title(r),
              (long long)r->id);
    if (r->searcher != NULL)
        rgmi_mark(d, " &#183; %s", r->searcher);
    if (r->state != NULL)
        rgmi_mark(d, " &#183; %s", r->state);
    rgmi_mark(d, "</p>\n<dl>\n");
    if (v->measured > 0) {
        const rgm_report_trial *best = &r->trials[v->ranked[0]];

        snprintf(trial, sizeof trial, "trial %lld", (long long)best->number);
        for (int64_t k = 0; k < r->objective_count; k++)
            put_tile(d, r->objectives[k].name, rgmi_number_text(4, best->best[k]).text,
                     k == 0 ? trial : "at the same validation");
    }
    put_trial_tile(d, r);
    put_trained_tile(d, r);
    if (isfinite(r->seconds))
        put_tile(d, "time", rgmi_duration_text(r->seconds).text, "");
    if (isfinite(rgmi_report_busy(r))) {
        snprintf(share, sizeof share, "%.1f %%", 100 * rgmi_report_busy(r));
        put_tile(d, "slots busy", share, "");
    }
    rgmi_mark(d, "</dl></header>\n");
}

/* ---- sections ------------------------------------------------------------------------------ */

static void put_facts(rgmi_drawing *d, const rgm_search_report *r)
{
    if (r->best_fact_count == 0)
        return;
    rgmi_mark(d, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                 "aria-label=\"What its run found out\"><table><tbody>\n");
    for (int64_t i = 0; i < r->best_fact_count && i < MOST_ROWS; i++)
        rgmi_mark(d,
                  "<tr><th scope=\"row\" class=\"text\">%s</th><td class=\"text\">%s</td></tr>\n",
                  r->best_facts[i].name, r->best_facts[i].text);
    rgmi_mark(d, "</tbody></table></div>\n");
}

static void put_best(rgmi_drawing *d, const rgmi_report_view *v)
{
    const rgm_search_report *r = v->report;
    const rgm_report_trial *best = v->measured > 0 ? &r->trials[v->ranked[0]] : NULL;

    rgmi_mark(d, "<section id=\"best\"><h2>Best trial</h2>\n");
    if (best == NULL) {
        rgmi_mark(d, r->trial_count == 0 ? "<p>There is no trial yet.</p></section>\n"
                                         : "<p>No trial has a finite metric.</p></section>\n");
        return;
    }
    rgmi_mark(
        d,
        "<p>Trial %lld with %s %s.</p>\n<div class=\"two\"><div class=\"scroll\" tabindex=\"0\" "
        "role=\"group\" "
        "aria-label=\"Hyperparameters of the best trial\"><table><thead><tr>"
        "<th scope=\"col\" class=\"text\">hyperparameter</th>"
        "<th scope=\"col\" class=\"text\">value</th></tr></thead><tbody>\n",
        (long long)best->number, r->objectives[0].name, rgmi_number_text(4, best->best[0]).text);
    for (int64_t i = 0; i < r->hyper_count && i < MOST_ROWS; i++) {
        rgmi_short_text room;

        if (best->values[i].is_set)
            rgmi_mark(
                d, "<tr><th scope=\"row\" class=\"text\">%s</th><td class=\"text\">%s</td></tr>\n",
                r->hypers[i].name, rgmi_value_shown(&room, &r->hypers[i], &best->values[i]));
    }
    rgmi_mark(d, "</tbody></table></div>\n");
    if (r->best_file != NULL) {
        rgmi_mark(d,
                  "<details open><summary>Experiment file of this trial</summary>\n"
                  "<p><a download=\"best-trial-%lld.yaml\" href=\"data:application/yaml,",
                  (long long)best->number);
        rgmi_mark_percent(d, r->best_file);
        rgmi_mark(d, "\">Save it</a> or copy it; <code>regimen run</code> takes it.</p>\n"
                     "<pre tabindex=\"0\">");
        rgmi_mark_lines(d, r->best_file);
        rgmi_mark(d, "</pre></details>\n");
    }
    rgmi_mark(d, "</div>\n");
    put_facts(d, r);
    rgmi_mark(d, "</section>\n");
}

static void put_curves(rgmi_drawing *d, const rgmi_report_view *v)
{
    char what[160];

    if (v->measured == 0)
        return;
    rgmi_mark(d, "<section id=\"curves\"><h2>Learning curves</h2>\n<p class=\"note\">");
    if (v->measured > MOST_TOP)
        rgmi_mark(d, "In colour the best %d by their best %s. ", MOST_TOP,
                  v->report->objectives[0].name);
    note_sample(d, v, MOST_GREY);
    note_missing(d, v);
    if (v->measured > MOST_TOP)
        rgmi_mark(
            d, "The axis covers the coloured ones whole and nine tenths of the others' points. ");
    rgmi_mark(d, "</p>\n");
    snprintf(what, sizeof what, "The best is trial %lld at %s",
             (long long)v->report->trials[v->ranked[0]].number,
             rgmi_number_text(4, rgmi_report_metric(v, v->ranked[0])).text);
    begin_picture(d, "wide", 1000, 380, "Learning curves", what);
    rgmi_draw_curves(d, v, 1000, 380);
    end_picture(d);
    rgmi_mark(d, "</section>\n");
}

static void put_tones(rgmi_drawing *d, const rgmi_report_view *v)
{
    rgmi_mark(d,
              "<svg class=\"tones\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"Colours: "
              "trials in %d groups of equal size from the worst %s to the best\">\n",
              TONES_WIDTH, TONES_HEIGHT, TONES, v->report->objectives[0].name);
    rgmi_draw_tones(d, v);
    rgmi_mark(d, "</svg>\n");
}

static void put_parallel(rgmi_drawing *d, const rgmi_report_view *v)
{
    int64_t axes = v->varied_count < MOST_UPRIGHT ? v->varied_count : MOST_UPRIGHT;
    double width = fmax(1000, 110 * (double)(axes + 1));

    if (v->measured == 0 || axes == 0)
        return;
    rgmi_mark(
        d,
        "<section id=\"parallel\"><h2>Hyperparameters together</h2>\n<p class=\"note\">A line "
        "a trial, coloured by %s in %d groups of equal size; the best trial is the thick line. ",
        v->report->objectives[0].name, TONES);
    note_sample(d, v, MOST_LINES);
    note_far(d, v);
    if (axes < v->varied_count)
        rgmi_mark(d, "%lld of %lld hyperparameters, the most important first. ", (long long)axes,
                  (long long)v->varied_count);
    rgmi_mark(d, "</p>\n");
    put_tones(d, v);
    begin_picture(d, "wide", width, 400, "Parallel coordinates",
                  "A line for each trial through its hyperparameters to its metric");
    rgmi_draw_parallel(d, v, axes, width, 400);
    end_picture(d);
    rgmi_mark(d, "</section>\n");
}

static void put_slices(rgmi_drawing *d, const rgmi_report_view *v)
{
    if (v->measured == 0 || v->varied_count == 0)
        return;
    rgmi_mark(
        d, "<section id=\"slices\"><h2>Hyperparameters one by one</h2>\n<p class=\"note\">A dot a "
           "trial; the best trial is the large one. ");
    note_sample(d, v, MOST_DOTS);
    note_far(d, v);
    rgmi_mark(d, "</p>\n");
    put_tones(d, v);
    rgmi_mark(d, "<div class=\"grid\">\n");
    for (int64_t i = 0; i < v->varied_count && i < MOST_AXES; i++) {
        begin_picture(d, "slice", 340, 250, v->report->hypers[v->varied[i]].name,
                      "The metric of each trial over this hyperparameter");
        rgmi_draw_slice(d, v, v->varied[i], 340, 250);
        end_picture(d);
    }
    rgmi_mark(d, "</div></section>\n");
}

static void put_importance(rgmi_drawing *d, const rgmi_report_view *v)
{
    double height = rgmi_importance_height(v);

    if (v->varied_count == 0 || (height == 0 && v->report->importance_note == NULL))
        return;
    rgmi_mark(d, "<section id=\"importance\"><h2>Importance</h2>\n");
    if (height == 0) {
        rgmi_mark(d, "<p class=\"note\">%s</p></section>\n", v->report->importance_note);
        return;
    }
    rgmi_mark(d,
              "<p class=\"note\">Share of the variance of %s that each hyperparameter explains by "
              "itself (fANOVA), over ",
              v->report->objectives[0].name);
    rgmi_mark(d, "%s; what is missing to 100 %% is their interplay.</p>\n",
              v->report->importance_over != NULL ? v->report->importance_over : "its trials");
    begin_picture(d, "bars", 500, height, "Importance", "Bars, the most important on top");
    rgmi_draw_importance(d, v, 500);
    end_picture(d);
    rgmi_mark(d, "</section>\n");
}

static void put_front(rgmi_drawing *d, const rgmi_report_view *v)
{
    const rgm_search_report *r = v->report;

    if (v->front_count == 0)
        return;
    rgmi_mark(d,
              "<section id=\"front\"><h2>Pareto front</h2>\n<p class=\"note\">%s of %s trials, in "
              "colour: no other is at least as good in all objectives and better in one, by the "
              "newest validations. ",
              rgmi_count_text(v->front_count).text, rgmi_count_text(v->measured).text);
    note_sample(d, v, MOST_DOTS);
    rgmi_mark(d, "</p>\n<div class=\"grid pairs\">\n");
    for (int64_t k = 1; k < r->objective_count; k++) {
        begin_picture(d, "front", 480, 320, r->objectives[k].name,
                      "Each trial by two of the objectives");
        rgmi_draw_front(d, v, k, 480, 320);
        end_picture(d);
    }
    rgmi_mark(d, "</div></section>\n");
}

static void put_timeline(rgmi_drawing *d, const rgmi_report_view *v)
{
    double height = rgmi_timeline_height(v);

    if (height == 0)
        return;
    rgmi_mark(
        d, "<section id=\"timeline\"><h2>Slots over time</h2>\n<p class=\"note\">A bar for each "
           "time that a trial held a slot, in the colour of its metric; grey: it has none. Times "
           "too short to be told apart are one bar, of the best of them. ");
    if (isfinite(rgmi_report_busy(v->report)))
        rgmi_mark(d, "Slots were held %.1f %% of the time. ", 100 * rgmi_report_busy(v->report));
    rgmi_mark(d, "</p>\n");
    if (v->measured > 0)
        put_tones(d, v);
    begin_picture(d, "wide", 1000, height, "Timeline", "Which trial held which slot when");
    rgmi_draw_timeline(d, v, 1000);
    end_picture(d);
    rgmi_mark(d, "</section>\n");
}

/* ---- table --------------------------------------------------------------------------------- */

static void put_head_row(rgmi_drawing *d, const rgmi_report_view *v, int64_t columns)
{
    const rgm_search_report *r = v->report;

    rgmi_mark(d, "<thead><tr><th scope=\"col\" class=\"text\">rank</th><th scope=\"col\">trial</th>"
                 "<th scope=\"col\" class=\"text\">state</th>");
    for (int64_t k = 0; k < r->objective_count; k++)
        rgmi_mark(d, "<th scope=\"col\">%s</th>", r->objectives[k].name);
    for (int64_t i = 0; i < columns; i++)
        rgmi_mark(d,
                  r->hypers[v->varied[i]].scale == RGM_REPORT_CHOICE
                      ? "<th scope=\"col\" class=\"text\">%s</th>"
                      : "<th scope=\"col\">%s</th>",
                  r->hypers[v->varied[i]].name);
    rgmi_mark(d, "<th scope=\"col\">%s</th><th scope=\"col\">time</th></tr></thead><tbody>\n",
              rgmi_report_unit(r));
}

static void put_row(rgmi_drawing *d, const rgmi_report_view *v, int64_t columns, int64_t i)
{
    const rgm_search_report *r = v->report;
    const rgm_report_trial *trial = &r->trials[i];

    rgmi_mark(d, v->rank[i] == 0 ? "<tr class=\"first\">" : "<tr>");
    if (v->rank[i] >= 0)
        rgmi_mark(d, "<td class=\"text\"><span class=\"chip c%d\"></span>%lld</td>", v->tone[i],
                  (long long)v->rank[i] + 1);
    else
        rgmi_mark(d, "<td class=\"text\">-</td>");
    rgmi_mark(d, "<th scope=\"row\">%lld</th><td class=\"text\">%s</td>", (long long)trial->number,
              trial->state != NULL ? trial->state : "-");
    for (int64_t k = 0; k < r->objective_count; k++)
        rgmi_mark(d, "<td>%s</td>", rgmi_number_text(4, trial->best[k]).text);
    for (int64_t k = 0; k < columns; k++) {
        const rgm_report_value *value = &trial->values[v->varied[k]];
        rgmi_short_text room;

        rgmi_mark(d,
                  r->hypers[v->varied[k]].scale == RGM_REPORT_CHOICE ? "<td class=\"text\">%s</td>"
                                                                     : "<td>%s</td>",
                  value->is_set ? rgmi_value_shown(&room, &r->hypers[v->varied[k]], value) : "-");
    }
    rgmi_mark(d, "<td>%s</td><td>%s</td></tr>\n",
              trial->trained >= 0 ? rgmi_count_text(trial->trained).text : "-",
              rgmi_duration_text(trial->seconds).text);
}

static void put_table(rgmi_drawing *d, const rgmi_report_view *v)
{
    const rgm_search_report *r = v->report;
    int64_t columns = v->varied_count < MOST_COLUMNS ? v->varied_count : MOST_COLUMNS, rows = 0;

    if (r->trial_count == 0)
        return;
    rgmi_mark(d, "<section id=\"trials\"><h2>Trials</h2>\n<div class=\"scroll\" tabindex=\"0\" "
                 "role=\"group\" aria-label=\"Table of trials\"><table><caption>The best first");
    if (r->trial_count > MOST_ROWS)
        rgmi_mark(d, "; %d of %s trials, a report in CSV has all", MOST_ROWS,
                  rgmi_count_text(r->trial_count).text);
    if (columns < v->varied_count)
        rgmi_mark(d, "; %lld of %lld hyperparameters", (long long)columns,
                  (long long)v->varied_count);
    rgmi_mark(d, "</caption>\n");
    put_head_row(d, v, columns);
    for (int64_t i = 0; i < v->measured && rows < MOST_ROWS; i++, rows++)
        put_row(d, v, columns, v->ranked[i]);
    for (int64_t i = 0; i < r->trial_count && rows < MOST_ROWS; i++)
        if (v->rank[i] < 0) {
            put_row(d, v, columns, i);
            rows++;
        }
    rgmi_mark(d, "</tbody></table></div></section>\n");
}

void rgmi_report_page(rgmi_drawing *d, const rgmi_report_view *v)
{
    rgmi_mark(d,
              "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
              "style-src 'unsafe-inline'\">\n<title>%s</title>\n<style>",
              rgmi_report_title(v->report));
    rgmi_mark(d, PAGE MARKS LIGHT "@media(prefers-color-scheme:dark){" PAGE_DARK DARK
                                  "}</style></head>\n<body><main>\n");
    put_head(d, v);
    put_best(d, v);
    put_front(d, v);
    put_curves(d, v);
    put_importance(d, v);
    put_parallel(d, v);
    put_slices(d, v);
    put_timeline(d, v);
    put_table(d, v);
    rgmi_mark(d, "</main></body></html>\n");
}
