/*
 * score_curves.jsonl: ROC, precision by recall and hits by k of the last validation and test, for
 * people who look at the run. The run does not need it, so it never ends the run.
 */
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

enum { PAUSE = 1 }; /* seconds between two writings that nobody asked for */

/* ---- kept ---------------------------------------------------------------------------------- */

static void forget(rgmi_curves *curves)
{
    for (int64_t i = 0; i < curves->count; i++) {
        rgm_metric_scores_clear(&curves->kept[i].scores);
        rgm_metric_scores_clear(&curves->kept[i].ranks);
    }
    curves->count = 0;
}

/* The last place for a split's scores of a head, in the place of what an earlier pass left: lines
 * stand in the order of passes, however many were written together. */
static rgm_status place_for(rgmi_kept_scores **out, rgmi_curves *curves, const char *split,
                            int64_t head)
{
    rgmi_kept_scores place = {.head = head};
    int64_t i = 0;

    RGM_TRY(RGM_RESERVE(curves->kept, curves->capacity, curves->count + 1));
    snprintf(place.split, sizeof place.split, "%s", split);
    while (i < curves->count &&
           (curves->kept[i].head != head || strcmp(curves->kept[i].split, place.split) != 0))
        i++;
    if (i < curves->count) {
        place = curves->kept[i];
        memmove(&curves->kept[i], &curves->kept[i + 1],
                (size_t)(--curves->count - i) * sizeof place);
    }
    *out = &curves->kept[curves->count++];
    **out = place;
    return RGM_OK;
}

static rgm_status keep(rgm_controller *c, const char *split, rgm_mode mode, int64_t set,
                       int64_t head)
{
    const rgm_metric_scores *scores = rgm_trainer_scores(c->trainer, mode, set, head, false);
    const rgm_metric_scores *ranks = rgm_trainer_scores(c->trainer, mode, set, head, true);
    rgmi_kept_scores *kept = NULL;
    int64_t most = RGM_MOST_CURVE_SCORES + 1; /* that there are too many is enough to know */

    if (scores == NULL && ranks == NULL)
        return RGM_OK;
    RGM_TRY(place_for(&kept, &c->curves, split, head));
    kept->step = rgm_trainer_global_step(c->trainer);
    kept->scores.count = kept->ranks.count = 0;
    kept->has_ranks = ranks != NULL;
    if (scores != NULL)
        RGM_TRY(rgm_metric_scores_merge(&kept->scores, 0, scores,
                                        scores->count < most ? scores->count : most));
    return ranks != NULL ? rgm_metric_scores_merge(&kept->ranks, 0, ranks,
                                                   ranks->count < most ? ranks->count : most)
                         : RGM_OK;
}

/* ---- made ---------------------------------------------------------------------------------- */

static int64_t curves_of(const rgm_head *head)
{
    return head->curves == RGM_CURVES_OF_NOTHING ? 0 : rgm_value_dim(head->predictions, 1);
}

static rgm_status make(rgm_controller *c, const rgmi_kept_scores *kept)
{
    const rgm_head *head = &rgm_trainer_model(c->trainer)->heads[kept->head];
    rgm_score_curves out = {.label = head->name, .count = curves_of(head)};
    rgm_score_curve *made = NULL;
    rgm_hits_curve *hits = NULL;
    char texts[RGM_MOST_CURVES][24], left_out[80];
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(made, out.count + 1));
    RGM_GO(RGM_NEW(hits, 1));
    if (kept->scores.count > RGM_MOST_CURVE_SCORES || kept->ranks.count > RGM_MOST_CURVE_SCORES) {
        snprintf(left_out, sizeof left_out, "more than %d scores", RGM_MOST_CURVE_SCORES);
        out.left_out = left_out;
    }
    if (kept->scores.count > RGM_MOST_CURVE_SCORES)
        out.count = 0;
    for (int64_t i = 0; i < out.count; i++) {
        RGM_GO(rgm_score_curve_make(&made[i], &kept->scores, i, out.count));
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)i);
        made[i].name = out.count == 1                         ? NULL
                       : head->class_names.count == out.count ? head->class_names.items[i]
                                                              : texts[i];
    }
    if (kept->has_ranks && kept->ranks.count <= RGM_MOST_CURVE_SCORES) {
        RGM_GO(rgm_hits_curve_make(hits, &kept->ranks));
        out.hits = hits;
    }
    out.curves = made;
    RGM_GO(rgm_score_log_set(c->curves.log, kept->split, kept->step, &out));
done:
    rgm_free(made);
    rgm_free(hits);
    return status;
}

static rgm_status make_all(rgm_controller *c)
{
    for (int64_t i = 0; i < c->curves.count; i++)
        RGM_TRY(make(c, &c->curves.kept[i]));
    forget(&c->curves);
    return RGM_OK;
}

static rgm_status flush(rgm_controller *c)
{
    c->curves.time = rgm_now();
    RGM_TRY(make_all(c));
    return rgm_score_log_flush(c->curves.log);
}

/* ---- all ----------------------------------------------------------------------------------- */

rgm_status rgmi_log_curves(rgm_controller *c, const char *split, rgm_mode mode, int64_t set)
{
    rgm_status status = RGM_OK;

    if (c->curves.log == NULL)
        return RGM_OK;
    for (int64_t h = 0; h < rgm_trainer_model(c->trainer)->head_count && status == RGM_OK; h++)
        status = keep(c, split, mode, set, h);
    if (status == RGM_OK && rgm_now() - c->curves.time >= PAUSE)
        status = flush(c);
    return rgmi_told_once(&c->curves.told, status);
}

rgm_status rgmi_curves_flush(rgm_controller *c)
{
    return c->curves.log == NULL ? RGM_OK : rgmi_told_once(&c->curves.told, flush(c));
}

rgm_status rgmi_curves_cut(rgm_controller *c, int64_t first_void)
{
    if (c->curves.log == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_told_once(&c->curves.told, make_all(c)));
    rgm_score_log_cut(c->curves.log, first_void);
    return RGM_OK;
}

rgm_status rgmi_curves_cut_tests(rgm_controller *c)
{
    if (c->curves.log == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_told_once(&c->curves.told, make_all(c)));
    rgm_score_log_cut_split(c->curves.log, rgm_mode_name(RGM_TEST),
                            rgm_trainer_global_step(c->trainer));
    return RGM_OK;
}

rgm_status rgmi_curves_open(rgm_controller *c, int64_t first_void)
{
    char *path;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, c->run_dir, "score_curves.jsonl"));
    status = rgmi_told_once(&c->curves.told, rgm_score_log_open(&c->curves.log, path, first_void));
    rgm_free(path);
    return status;
}

void rgmi_curves_close(rgm_controller *c)
{
    forget(&c->curves);
    rgm_free(c->curves.kept);
    rgm_score_log_close(c->curves.log);
}
