/*
 * A study by lines of JSON: one is said, and answered by one.
 */
#include <regimen/search_study.h>

#include <stdio.h>
#include <string.h>

typedef enum says_kind { ASK, TELL, END, KINDS } says_kind;
static const char *const kinds[] = {"ask", "tell", "end"};
static const char *const forms[] = {
    "{\"type\": \"ask\"}",
    "{\"type\": \"tell\", \"trial\": 3, \"to\": 4, \"metrics\": {\"loss\": 0.5}}",
    "{\"type\": \"end\"}"};
static const char *const tell_keys[] = {"type",   "trial",   "to",   "metrics",
                                        "failed", "invalid", "ended"};
enum { TELL_KEYS = (int)(sizeof tell_keys / sizeof *tell_keys) };

/* ---- printed -------------------------------------------------------------------------------- */

static rgm_status print_values(rgm_json_writer *w, const rgm_study *study,
                               const rgm_hyper_value *values)
{
    rgm_text json = {0};
    rgm_status status;

    status = rgm_space_print_json(&json, rgm_searcher_space(rgm_study_searcher(study)), values);
    if (status == RGM_OK)
        status = rgm_json_write_printed(w, "hyperparameters", json.data);
    rgm_text_clear(&json);
    return status;
}

rgm_status rgm_study_print_piece(rgm_text *out, const rgm_study *study, const rgm_study_piece *p)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    if (p->kind == RGM_STUDY_OVER) {
        RGM_TRY(rgm_json_write_bool(&w, "over", true));
    } else if (p->kind == RGM_STUDY_WAIT) {
        RGM_TRY(rgm_json_write_bool(&w, "wait", true));
        RGM_TRY(rgm_json_write_int(&w, "out", p->out));
    } else {
        RGM_TRY(rgm_json_write_int(&w, "trial", p->trial));
        RGM_TRY(print_values(&w, study, p->values));
        RGM_TRY(rgm_json_write_int(&w, "seed", p->seed));
        RGM_TRY(rgm_json_write_int(&w, "from", p->from));
        RGM_TRY(rgm_json_write_int(&w, "to", p->to));
        if (p->source > 0)
            RGM_TRY(rgm_json_write_int(&w, "source", p->source));
    }
    return rgm_json_close(&w);
}

static rgm_status print_told(rgm_text *out, const rgm_study *study, int64_t trial)
{
    rgm_json_writer w = {.out = out};
    const int64_t *closed;
    int64_t count = rgm_study_closed(&closed, study);

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_int(&w, "told", trial));
    RGM_TRY(rgm_json_open_list(&w, "closed", RGM_JSON_SPACED));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_json_write_int(&w, NULL, closed[i]));
    RGM_TRY(rgm_json_close(&w));
    return rgm_json_close(&w);
}

/* ---- read ----------------------------------------------------------------------------------- */

static rgm_status refuse(says_kind kind, const char *what)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "the line '%s' %s; it looks like %s", kinds[kind], what,
                    forms[kind]);
}

static rgm_status read_kind(says_kind *out, const rgm_json *json)
{
    const char *type = rgm_json_text(rgm_json_find(json, "type"));

    for (int i = 0; i < KINDS; i++)
        if (type != NULL && strcmp(type, kinds[i]) == 0) {
            *out = (says_kind)i;
            return RGM_OK;
        }
    if (type == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "a line is an object of JSON with a \"type\", such as %s",
                        forms[ASK]);
    return RGM_FAIL(RGM_ERR_CONFIG, "no line has the type '%s'%s", type,
                    rgm_did_you_mean(type, kinds, KINDS, NULL, "there are ").text);
}

static rgm_status check_keys(const rgm_json *json, says_kind kind)
{
    int64_t known = kind == TELL ? TELL_KEYS : 1;
    rgm_json_entry entry = {0};

    while (rgm_json_next(&entry, json)) {
        char what[160];
        int64_t i = 0;

        while (i < known && strcmp(entry.key, tell_keys[i]) != 0)
            i++;
        if (i < known)
            continue;
        snprintf(what, sizeof what, "has an unknown key '%.100s'", entry.key);
        return refuse(kind, what);
    }
    return RGM_OK;
}

/* "loss" and "valid.loss" are one. */
static bool is_named(const char *metric, const char *name)
{
    metric += strncmp(metric, "valid.", 6) == 0 ? 6 : 0;
    name += strncmp(name, "valid.", 6) == 0 ? 6 : 0;
    return strcmp(metric, name) == 0;
}

static rgm_status read_metrics(double *out, const rgm_study *study, const rgm_json *metrics)
{
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, rgm_study_searcher(study));
    char what[300];

    for (int64_t i = 0; i < count; i++) {
        rgm_json_entry entry = {0};
        bool is_there = false;

        while (!is_there && rgm_json_next(&entry, metrics))
            is_there =
                is_named(objectives[i].metric, entry.key) && rgm_json_number(&out[i], entry.value);
        if (is_there)
            continue;
        snprintf(what, sizeof what, "has no number '%.200s' among its 'metrics'",
                 objectives[i].metric);
        return refuse(TELL, what);
    }
    return RGM_OK;
}

/* *is_there: the key is, and says true, which is all that it may say. */
static bool reads_end(bool *is_there, const rgm_json *json, const char *key)
{
    const rgm_json *value = rgm_json_find(json, key);

    *is_there = false;
    return value == NULL || (rgm_json_bool(is_there, value) && *is_there);
}

/* What came of a piece: exactly one of metrics, failed and invalid; with metrics perhaps ended. */
static rgm_status read_result(rgm_search_event_kind *kind, const rgm_json *json)
{
    const rgm_json *metrics = rgm_json_find(json, "metrics");
    bool failed = false, invalid = false, ended = false;
    bool is_right = reads_end(&failed, json, "failed") && reads_end(&invalid, json, "invalid") &&
                    reads_end(&ended, json, "ended");

    if (!is_right || (metrics != NULL) + failed + invalid != 1 || (ended && metrics == NULL) ||
        (metrics != NULL && !rgm_json_is_object(metrics)))
        return refuse(TELL,
                      "has either 'metrics', an object of numbers, with \"ended\": true where "
                      "the trial was ended there, or \"failed\": true, or \"invalid\": true");
    *kind = failed ? RGM_EXITED : invalid ? RGM_INVALID : ended ? RGM_ENDED : RGM_VALIDATED;
    return RGM_OK;
}

static rgm_status hear(rgm_text *answer, rgm_study *study, const rgm_json *json)
{
    double metrics[RGM_MAX_OBJECTIVES] = {0};
    rgm_search_event_kind kind;
    int64_t trial, to = 0;

    if (!rgm_json_int(&trial, rgm_json_find(json, "trial")))
        return refuse(TELL, "has no 'trial', a number");
    RGM_TRY(read_result(&kind, json));
    if (rgm_json_find(json, "to") != NULL || kind == RGM_VALIDATED || kind == RGM_ENDED)
        if (!rgm_json_int(&to, rgm_json_find(json, "to")) || to < 1)
            return refuse(TELL, "has no 'to', the length to which it was trained");
    if (kind == RGM_VALIDATED || kind == RGM_ENDED)
        RGM_TRY(read_metrics(metrics, study, rgm_json_find(json, "metrics")));
    RGM_TRY(rgm_study_tell(study, trial, to, kind, metrics));
    return print_told(answer, study, trial);
}

static rgm_status act(rgm_text *answer, bool *ends, rgm_study *study, const rgm_json *json,
                      double lost_seconds)
{
    rgm_study_piece piece;
    says_kind kind;
    int64_t count;

    RGM_TRY(read_kind(&kind, json));
    RGM_TRY(check_keys(json, kind));
    if (kind == TELL)
        return hear(answer, study, json);
    if (kind == ASK) {
        RGM_TRY(rgm_study_ask(&piece, study, lost_seconds));
        return rgm_study_print_piece(answer, study, &piece);
    }
    RGM_TRY(rgm_study_give_back(&count, study));
    *ends = true;
    return rgm_text_printf(answer, "{\"given_back\": %lld}", (long long)count);
}

rgm_status rgm_study_say(rgm_text *answer, bool *ends, rgm_study *study, const char *line,
                         double lost_seconds)
{
    int64_t before = answer->size;
    rgm_json *json = NULL;
    rgm_status status;

    *ends = false;
    status = rgm_json_parse_relaxed(&json, line, (int64_t)strlen(line), "line");
    if (status == RGM_OK)
        status = act(answer, ends, study, json, lost_seconds);
    rgm_json_release(json);
    if (status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_OK) {
        rgm_json_writer w = {.out = answer};

        answer->size = before;
        RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(&w, "error", rgm_error_message()));
        RGM_TRY(rgm_json_close(&w));
    }
    return rgm_text_add(answer, "\n", 1);
}
