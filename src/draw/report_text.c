/* What is said of a search beside its charts: values, titles of marks, what colours mean. */
#include <math.h>
#include <stdio.h>

#include "draw_internal.h"

const char *rgmi_value_shown(rgmi_short_text *room, const rgm_report_hyper *hyper,
                             const rgm_report_value *value)
{
    if (!value->is_set)
        return "not set";
    if (hyper->scale == RGM_REPORT_CHOICE)
        return hyper->choices[value->choice];
    if (hyper->whole && fabs(value->number) < 1e15)
        snprintf(room->text, sizeof room->text, "%.15g", value->number);
    else
        *room = rgmi_number_text(4, value->number);
    return room->text;
}

void rgmi_draw_title(rgmi_drawing *d, const rgmi_report_view *v, int64_t i)
{
    const rgm_search_report *r = v->report;
    const rgm_report_trial *trial = &r->trials[i];
    int64_t shown = v->varied_count < 4 ? v->varied_count : 4;

    rgmi_mark(d, "<title>Trial %lld: %s %s", (long long)trial->number,
              r->objective_count > 0 ? r->objectives[0].name : "",
              rgmi_number_text(4, trial->best[0]).text);
    for (int64_t k = 0; k < shown; k++) {
        const rgm_report_hyper *hyper = &r->hypers[v->varied[k]];
        rgmi_short_text room;

        rgmi_mark(d, "; %s ", hyper->name);
        rgmi_mark_short(d, rgmi_value_shown(&room, hyper, &trial->values[v->varied[k]]), 40);
    }
    rgmi_mark(d, "</title>");
}

void rgmi_draw_tones(rgmi_drawing *d, const rgmi_report_view *v)
{
    rgmi_mark(
        d,
        "<text x=\"20\" y=\"11\">worst</text><text x=\"%.1f\" y=\"11\" class=\"e\">best</text>\n",
        20 + TONES * 52.0);
    for (int i = 0; i < TONES; i++)
        rgmi_mark(d, "<rect class=\"d c%d\" x=\"%.1f\" y=\"16\" width=\"51\" height=\"10\"/>", i,
                  20 + i * 52.0);
    for (int i = 0; i <= TONES; i++)
        rgmi_mark(d, "<text class=\"m\" x=\"%.1f\" y=\"41\">%s</text>", 20 + i * 52.0,
                  rgmi_number_text(3, v->bounds[i]).text);
}
