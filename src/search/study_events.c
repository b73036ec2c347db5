/*
 * A study in memory: what its searcher asks for, and what happens to the pieces of work.
 */
#include "study_internal.h"

#include <string.h>

/* ---- what the searcher asks for ------------------------------------------------------------- */

static rgm_status note_closed(rgm_study *s, int64_t trial)
{
    RGM_TRY(RGM_RESERVE(s->closed, s->closed_capacity, s->closed_count + 1));
    s->closed[s->closed_count++] = trial;
    return RGM_OK;
}

static rgm_status take(rgm_study *s, const rgm_operation *o)
{
    rgm_search_event event = {.trial = o->trial, .length = o->length};

    if (o->kind == RGM_ASK_CREATE) {
        RGM_TRY(RGM_RESERVE(s->trials, s->capacity, o->trial));
        while (s->count < o->trial)
            s->trials[s->count++] = (rgmi_study_trial){0};
        s->trials[o->trial - 1] = (rgmi_study_trial){.source = o->from, .seed = o->seed};
        return RGM_OK;
    }
    if (o->trial < 1 || o->trial > s->count)
        return RGM_OK; /* the end */
    if (o->kind == RGM_ASK_TRAIN || o->kind == RGM_ASK_VALIDATE) {
        s->trials[o->trial - 1].to = o->length;
        s->trials[o->trial - 1].state = RGMI_PIECE_READY;
        return RGM_OK;
    }
    /* Whoever trains keeps its own states, and has nothing to do at an end. */
    event.kind = o->kind == RGM_ASK_CHECKPOINT ? RGM_CHECKPOINTED : RGM_CLOSED;
    if (o->kind == RGM_ASK_CLOSE)
        RGM_TRY(note_closed(s, o->trial));
    return rgm_searcher_tell(s->searcher, &event);
}

rgm_status rgmi_study_take_all(rgm_study *s)
{
    rgm_operation o;

    while (rgm_searcher_next(&o, s->searcher))
        RGM_TRY(take(s, &o));
    return RGM_OK;
}

/* What only a master can look at: earlier searches and the checkpoints of their trials. */
static rgm_status check_sources(const rgm_search_file *file)
{
    static const char *const keys[] = {"source_experiment", "source_trial_id",
                                       "source_checkpoint_uuid"};
    const rgm_yaml_node *section = rgm_search_file_section(file, "searcher");

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (rgm_yaml_find(section, keys[i]) != NULL)
            return rgm_yaml_fail(
                rgm_yaml_find(section, keys[i]),
                "'searcher.%s' is for searches of a master, which has earlier ones: "
                "leave it out",
                keys[i]);
    return RGM_OK;
}

rgm_status rgmi_study_begin(rgm_study *s, const rgm_search_file *file)
{
    const char *text = rgm_search_file_text(file);

    RGM_TRY(check_sources(file));
    s->seed = rgm_search_file_settings(file)->reproducibility.experiment_seed;
    if (s->seed < 0)
        s->seed = (int64_t)rgm_wall_time() & INT32_MAX;
    RGM_TRY(rgm_search_file_parse(&s->file, NULL, text, (int64_t)strlen(text),
                                  rgm_search_file_path(file), NULL));
    RGM_TRY(rgm_search_file_searcher(&s->searcher, s->file, (uint32_t)s->seed, NULL));
    RGM_TRY(rgm_searcher_begin(s->searcher));
    return rgmi_study_take_all(s);
}

/* ---- what happens --------------------------------------------------------------------------- */

static rgm_status give(rgmi_study_trial *t, const rgmi_study_event *e)
{
    char *holder = NULL;

    if (e->holder != NULL)
        RGM_TRY(rgm_strdup(&holder, e->holder));
    rgm_free(t->holder);
    t->holder = holder;
    t->state = RGMI_PIECE_OUT;
    t->since = e->at;
    return RGM_OK;
}

static rgm_status hear(rgm_study *s, const rgmi_study_event *e)
{
    rgmi_study_trial *t = &s->trials[e->trial - 1];
    rgm_search_event event = {.kind = e->came, .trial = e->trial, .length = t->to};

    s->closed_count = 0;
    if (e->came == RGM_ENDED)
        t->to = event.length = e->length;
    if (e->came == RGM_VALIDATED)
        RGM_TRY(rgm_searcher_tell(
            s->searcher,
            &(rgm_search_event){.kind = RGM_TRAINED, .trial = e->trial, .length = t->to}));
    else
        RGM_TRY(note_closed(s, e->trial));
    t->state = RGMI_PIECE_IDLE;
    t->from = t->to;
    event.metrics = e->metrics;
    RGM_TRY(rgm_searcher_tell(s->searcher, &event));
    return rgmi_study_take_all(s);
}

bool rgmi_study_may_come(const rgm_study *s, int64_t trial, rgm_search_event_kind came)
{
    return s->trials[trial - 1].state != RGMI_PIECE_IDLE ||
           (came != RGM_VALIDATED && !rgm_searcher_trial(s->searcher, trial)->closed);
}

static bool is_possible(const rgm_study *s, const rgmi_study_event *e)
{
    return e->kind == RGMI_TOLD ? rgmi_study_may_come(s, e->trial, e->came)
                                : s->trials[e->trial - 1].state != RGMI_PIECE_IDLE;
}

bool rgmi_study_has_metrics(rgm_search_event_kind came)
{
    return came == RGM_VALIDATED || came == RGM_ENDED;
}

rgm_status rgmi_study_apply(rgm_study *s, const rgmi_study_event *e)
{
    rgm_status status = RGM_OK;
    rgmi_study_trial *t;

    if (e->trial < 1 || e->trial > s->count || !is_possible(s, e) ||
        (e->kind == RGMI_BACK && s->trials[e->trial - 1].state != RGMI_PIECE_OUT))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "what happened to trial %lld cannot happen to it",
                        (long long)e->trial));
    t = &s->trials[e->trial - 1];
    if (e->kind == RGMI_GIVEN)
        RGM_GO(give(t, e));
    else if (e->kind == RGMI_TOLD)
        RGM_GO(hear(s, e));
    else
        t->state = RGMI_PIECE_READY;
done:
    s->is_stale = s->is_stale || status != RGM_OK;
    return status;
}

void rgmi_study_forget(rgm_study *s)
{
    rgm_searcher_release(s->searcher);
    rgm_search_file_release(s->file);
    for (int64_t i = 0; i < s->count; i++)
        rgm_free(s->trials[i].holder);
    rgm_free(s->trials);
    rgm_free(s->closed);
    s->searcher = NULL;
    s->file = NULL;
    s->trials = NULL;
    s->closed = NULL;
    s->count = s->capacity = s->closed_count = s->closed_capacity = 0;
}
