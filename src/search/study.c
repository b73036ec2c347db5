/*
 * A study: a searcher, what it has asked for and to whom that was given. Every call looks at the
 * file first, since others may have been told something, and is on disk when it returns.
 */
#include "study_internal.h"

#include <string.h>
#include <unistd.h>

/* ---- opened and closed --------------------------------------------------------------------- */

rgm_status rgm_study_open(rgm_study **out, const char *path, const rgm_search_file *file)
{
    rgm_status status = RGM_OK;
    rgm_study *s = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(s, 1));
    s->fd = -1;
    if (path != NULL) {
        RGM_GO(rgm_strdup(&s->path, path));
        RGM_GO(rgm_path_refuse_pipe(path));
        RGM_GO(rgmi_study_enter(s, file));
        rgmi_study_leave(s);
    } else if (file != NULL) {
        RGM_GO(rgmi_study_begin(s, file));
    } else {
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "a study in memory needs a search to begin with"));
    }
    *out = s;
    s = NULL;
done:
    rgm_study_close(s);
    return status;
}

void rgm_study_close(rgm_study *s)
{
    if (s == NULL)
        return;
    if (s->fd >= 0)
        close(s->fd);
    rgmi_study_forget(s);
    rgm_free(s->holder);
    rgm_free(s->path);
    rgm_free(s);
}

const rgm_search_file *rgm_study_file(const rgm_study *s)
{
    return s->file;
}

const rgm_searcher *rgm_study_searcher(const rgm_study *s)
{
    return s->searcher;
}

/* ---- asked ---------------------------------------------------------------------------------- */

static bool is_lost(const rgmi_study_trial *t, double now, double lost_seconds)
{
    return t->state == RGMI_PIECE_OUT && ((lost_seconds > 0 && now - t->since >= lost_seconds) ||
                                          (t->holder != NULL && rgm_process_has_ended(t->holder)));
}

static rgm_status find_piece(rgm_study_piece *out, rgm_study *s, double lost_seconds)
{
    rgmi_study_event event = {.kind = RGMI_GIVEN, .at = rgm_wall_time(), .holder = s->holder};
    const rgmi_study_trial *found = NULL;

    *out = (rgm_study_piece){.kind = rgm_searcher_is_over(s->searcher) ? RGM_STUDY_OVER
                                                                       : RGM_STUDY_WAIT};
    for (int64_t i = 0; i < s->count; i++) {
        const rgmi_study_trial *t = &s->trials[i];

        out->out += t->state == RGMI_PIECE_OUT;
        if (found == NULL && (t->state == RGMI_PIECE_READY || is_lost(t, event.at, lost_seconds))) {
            found = t;
            event.trial = i + 1;
        }
    }
    if (found == NULL)
        return RGM_OK;
    out->out += found->state == RGMI_PIECE_READY;
    RGM_TRY(rgmi_study_commit(s, &event));
    out->kind = RGM_STUDY_WORK;
    out->trial = event.trial;
    out->from = found->from;
    out->to = found->to;
    out->source = found->from == 0 ? found->source : 0;
    out->seed = (uint32_t)found->seed;
    out->values = rgm_searcher_trial(s->searcher, out->trial)->values;
    return RGM_OK;
}

rgm_status rgm_study_ask(rgm_study_piece *out, rgm_study *s, double lost_seconds)
{
    rgm_status status;

    *out = (rgm_study_piece){.kind = RGM_STUDY_WAIT};
    RGM_TRY(rgmi_study_enter(s, NULL));
    status = find_piece(out, s, lost_seconds);
    rgmi_study_leave(s);
    return status;
}

rgm_status rgm_study_hold(rgm_study *s)
{
    char name[RGM_PROCESS_NAME_ROOM];

    if (s->holder != NULL)
        return RGM_OK;
    rgm_process_name(name);
    return rgm_strdup(&s->holder, name);
}

static rgm_status give_back(int64_t *count, rgm_study *s)
{
    for (int64_t i = 0; i < s->count && s->holder != NULL; i++) {
        const rgmi_study_trial *t = &s->trials[i];

        if (t->state != RGMI_PIECE_OUT || t->holder == NULL || strcmp(t->holder, s->holder) != 0)
            continue;
        RGM_TRY(rgmi_study_commit(s, &(rgmi_study_event){.kind = RGMI_BACK, .trial = i + 1}));
        ++*count;
    }
    return RGM_OK;
}

rgm_status rgm_study_give_back(int64_t *count, rgm_study *s)
{
    rgm_status status;

    *count = 0;
    RGM_TRY(rgmi_study_enter(s, NULL));
    status = give_back(count, s);
    rgmi_study_leave(s);
    return status;
}

/* ---- told ----------------------------------------------------------------------------------- */

/* Whether the searcher was told exactly that before. Without a length it may be, as long as nobody
 * is at the trial's next piece. */
static bool is_told(const rgm_study *s, int64_t trial, int64_t length, rgm_search_event_kind kind,
                    const double *metrics)
{
    const rgmi_study_trial *piece = &s->trials[trial - 1];
    const rgm_search_trial *t = rgm_searcher_trial(s->searcher, trial);
    double keys[RGM_MAX_OBJECTIVES];
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, s->searcher);

    if (kind == RGM_EXITED || kind == RGM_INVALID)
        return t->closed && (kind == RGM_INVALID ? t->invalid : t->exited);
    if (kind == RGM_ENDED && (!t->closed || t->exited || t->invalid))
        return false;
    if (t->length == 0 || (length == 0 ? piece->state == RGMI_PIECE_OUT : length != t->length))
        return false;
    rgmi_keys_of(keys, s->searcher, metrics);
    for (int64_t i = 0; i < count; i++)
        if (!(keys[i] == t->keys[i]))
            return false;
    return true;
}

/* Whether that is what is asked of the trial now. */
static rgm_status check_piece(const rgm_study *s, int64_t trial, int64_t length,
                              rgm_search_event_kind kind)
{
    const rgmi_study_trial *t = &s->trials[trial - 1];

    if (!rgmi_study_may_come(s, trial, kind))
        return RGM_FAIL(RGM_ERR_ARG, "trial %lld was told to %lld, and nothing is asked of it now",
                        (long long)trial, (long long)t->from);
    if (length != 0 && (kind == RGM_ENDED ? length > t->to : length != t->to))
        return RGM_FAIL(RGM_ERR_ARG,
                        "trial %lld was told to %lld; what is asked of it now ends at %lld",
                        (long long)trial, (long long)t->from, (long long)t->to);
    if (length == 0 && kind == RGM_VALIDATED && t->state == RGMI_PIECE_READY && t->from > 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "trial %lld was told to %lld, and nobody was given the piece to %lld yet: "
                        "ask for it, or say to which length this is (--at)",
                        (long long)trial, (long long)t->from, (long long)t->to);
    if (length == 0 && kind == RGM_VALIDATED && t->from > 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "trial %lld was told to %lld, and is asked to %lld now: say which of them "
                        "this is (--at %lld)",
                        (long long)trial, (long long)t->from, (long long)t->to, (long long)t->to);
    return RGM_OK;
}

static rgm_status tell(rgm_study *s, int64_t trial, int64_t length, rgm_search_event_kind kind,
                       const double *metrics)
{
    rgmi_study_event event = {.kind = RGMI_TOLD, .trial = trial, .came = kind};
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, s->searcher);

    s->closed_count = 0;
    if (trial < 1 || trial > s->count)
        return RGM_FAIL(RGM_ERR_ARG, "there is no trial %lld in %s, which has %lld",
                        (long long)trial, s->path != NULL ? s->path : "this study",
                        (long long)s->count);
    if (is_told(s, trial, length, kind, metrics))
        return RGM_OK;
    RGM_TRY(check_piece(s, trial, length, kind));
    if (kind == RGM_ENDED)
        event.length = length > 0 ? length : s->trials[trial - 1].to;
    for (int64_t i = 0; i < count && rgmi_study_has_metrics(kind); i++)
        event.metrics[i] = metrics[i];
    return rgmi_study_commit(s, &event);
}

rgm_status rgm_study_tell(rgm_study *s, int64_t trial, int64_t length, rgm_search_event_kind kind,
                          const double *metrics)
{
    rgm_status status;

    RGM_TRY(rgmi_study_enter(s, NULL));
    status = tell(s, trial, length, kind, metrics);
    rgmi_study_leave(s);
    return status;
}

int64_t rgm_study_closed(const int64_t **trials, const rgm_study *s)
{
    *trials = s->closed;
    return s->closed_count;
}
