/*
 * A study: a searcher, what it has asked for and to whom that was given, in one file that is
 * written anew at each call. A lock of the file holds until it is replaced; who waited for it looks
 * whether the file is still the one at the path.
 */
#include <regimen/search_study.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "search_internal.h"

enum { VERSION = 1, MOST_BYTES = 1 << 30, MOST_TRIALS = 1 << 24 };

/* A trial's piece of work. */
typedef enum piece_state { IDLE, READY, OUT, STATES } piece_state;
typedef struct study_trial {
    int64_t from, to; /* trained, and asked to be          */
    int64_t source, seed;
    piece_state state;
    double since; /* when it was given out, in seconds since 1970 */
} study_trial;

struct rgm_study {
    char *path;
    int fd; /* with the lock */
    rgm_search_file *file;
    rgm_searcher *searcher;
    int64_t seed;
    study_trial *trials; /* [count] by number - 1 */
    int64_t count, capacity;
};

/* ---- what the searcher asks for ------------------------------------------------------------- */

static rgm_status take(rgm_study *s, const rgm_operation *o)
{
    rgm_search_event event = {.trial = o->trial, .length = o->length};

    if (o->kind == RGM_ASK_CREATE) {
        RGM_TRY(RGM_RESERVE(s->trials, s->capacity, o->trial));
        while (s->count < o->trial)
            s->trials[s->count++] = (study_trial){0};
        s->trials[o->trial - 1] = (study_trial){.source = o->from, .seed = o->seed};
        return RGM_OK;
    }
    if (o->trial < 1 || o->trial > s->count)
        return RGM_OK; /* the end */
    if (o->kind == RGM_ASK_TRAIN || o->kind == RGM_ASK_VALIDATE) {
        s->trials[o->trial - 1].to = o->length;
        s->trials[o->trial - 1].state = READY;
        return RGM_OK;
    }
    /* Whoever trains keeps its own states, and has nothing to do at an end. */
    event.kind = o->kind == RGM_ASK_CHECKPOINT ? RGM_CHECKPOINTED : RGM_CLOSED;
    return rgm_searcher_tell(s->searcher, &event);
}

static rgm_status take_all(rgm_study *s)
{
    rgm_operation o;

    while (rgm_searcher_next(&o, s->searcher))
        RGM_TRY(take(s, &o));
    return RGM_OK;
}

/* ---- the file ------------------------------------------------------------------------------- */

static rgm_status print_trials(rgm_json_writer *w, const rgm_study *s)
{
    RGM_TRY(rgm_json_open_list(w, "trials", RGM_JSON_LINES));
    for (int64_t i = 0; i < s->count; i++) {
        const study_trial *t = &s->trials[i];

        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_COMPACT));
        RGM_TRY(rgm_json_write_int(w, "from", t->from));
        RGM_TRY(rgm_json_write_int(w, "to", t->to));
        RGM_TRY(rgm_json_write_int(w, "source", t->source));
        RGM_TRY(rgm_json_write_int(w, "seed", t->seed));
        RGM_TRY(rgm_json_write_int(w, "state", (int64_t)t->state));
        RGM_TRY(rgm_json_write_number(w, "since", t->since));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

static rgm_status save(const rgm_study *s)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0}, searcher = {0};
    rgm_json_writer w = {.out = &text};

    RGM_GO(rgm_searcher_save(&searcher, s->searcher));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_int(&w, "regimen_study", VERSION));
    RGM_GO(rgm_json_write_text(&w, "name", rgm_search_file_name(s->file)));
    RGM_GO(rgm_json_write_text(&w, "file", rgm_search_file_text(s->file)));
    RGM_GO(rgm_json_write_int(&w, "seed", s->seed));
    RGM_GO(rgm_json_write_text(&w, "searcher", searcher.data));
    RGM_GO(print_trials(&w, s));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    RGM_GO(rgm_file_save(s->path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_text_clear(&searcher);
    return status;
}

static rgm_status damaged(const rgm_study *s, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s is no study, or damaged: %s", s->path, what);
}

static rgm_status read_trial(rgm_study *s, const rgm_json *row)
{
    int64_t state = -1;
    study_trial t = {0};

    if (!rgm_json_int(&t.from, rgm_json_find(row, "from")) ||
        !rgm_json_int(&t.to, rgm_json_find(row, "to")) ||
        !rgm_json_int(&t.source, rgm_json_find(row, "source")) ||
        !rgm_json_int(&t.seed, rgm_json_find(row, "seed")) ||
        !rgm_json_int(&state, rgm_json_find(row, "state")) ||
        !rgm_json_number(&t.since, rgm_json_find(row, "since")) || t.from < 0 || t.to < t.from ||
        t.to > RGM_MAX_LENGTH || t.source < 0 || t.source > MOST_TRIALS || t.seed < 0 ||
        t.seed > UINT32_MAX || state < 0 || state >= STATES || !isfinite(t.since))
        return damaged(s, "a trial");
    t.state = (piece_state)state;
    RGM_TRY(RGM_RESERVE(s->trials, s->capacity, s->count + 1));
    s->trials[s->count++] = t;
    return RGM_OK;
}

static rgm_status read_parts(rgm_study *s, const rgm_json *json)
{
    const char *text = rgm_json_text(rgm_json_find(json, "file"));
    const char *name = rgm_json_text(rgm_json_find(json, "name"));
    const char *searcher = rgm_json_text(rgm_json_find(json, "searcher"));
    const rgm_json *trials = rgm_json_find(json, "trials");
    int64_t version;

    if (!rgm_json_int(&version, rgm_json_find(json, "regimen_study")))
        return damaged(s, "it does not say so");
    if (version != VERSION)
        return RGM_FAIL(RGM_ERR_VERSION, "%s is a study of version %lld, this program reads %d",
                        s->path, (long long)version, (int)VERSION);
    if (text == NULL || name == NULL || searcher == NULL ||
        !rgm_json_int(&s->seed, rgm_json_find(json, "seed")) || s->seed < 0 ||
        s->seed > UINT32_MAX || rgm_json_count(trials) < 0 || rgm_json_count(trials) > MOST_TRIALS)
        return damaged(s, "something is missing");
    RGM_TRY(rgm_search_file_parse(&s->file, NULL, text, (int64_t)strlen(text), name, NULL));
    RGM_TRY(rgm_search_file_searcher(&s->searcher, s->file, (uint32_t)s->seed, NULL));
    RGM_TRY(rgm_searcher_restore(s->searcher, searcher, (int64_t)strlen(searcher)));
    for (int64_t i = 0; i < rgm_json_count(trials); i++)
        RGM_TRY(read_trial(s, rgm_json_at(trials, i)));
    return s->count == rgm_searcher_trial_count(s->searcher)
               ? take_all(s)
               : damaged(s, "it has not the trials of its searcher");
}

static rgm_status load(rgm_study *s)
{
    rgm_status status = RGM_OK;
    rgm_json *json = NULL;
    char *data = NULL;
    int64_t size;

    RGM_GO(rgm_file_load(&data, &size, s->path, MOST_BYTES));
    RGM_GO(rgm_json_parse(&json, data, size, s->path));
    RGM_GO(read_parts(s, json));
done:
    rgm_free(data);
    rgm_json_release(json);
    return status;
}

static rgm_status begin(rgm_study *s, const rgm_search_file *file)
{
    const char *text;

    if (file == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no study %s, and no search to begin it with",
                        s->path);
    text = rgm_search_file_text(file);
    s->seed = rgm_search_file_settings(file)->reproducibility.experiment_seed;
    if (s->seed < 0)
        s->seed = (int64_t)rgm_wall_time() & INT32_MAX;
    RGM_TRY(rgm_search_file_parse(&s->file, NULL, text, (int64_t)strlen(text),
                                  rgm_search_file_path(file), NULL));
    RGM_TRY(rgm_search_file_searcher(&s->searcher, s->file, (uint32_t)s->seed, NULL));
    RGM_TRY(rgm_searcher_begin(s->searcher));
    RGM_TRY(take_all(s));
    return save(s);
}

/* The lock of what is at the path now; *is_new: there is nothing in it. */
static rgm_status lock(rgm_study *s, bool makes, bool *is_new)
{
    struct stat own, there;

    for (;;) {
        s->fd = open(s->path, O_RDWR | O_CLOEXEC | (makes ? O_CREAT : 0), 0666);
        if (s->fd < 0)
            return errno == ENOENT && !makes
                       ? RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no study %s", s->path)
                       : RGM_FAIL_SYSTEM("open", s->path);
        while (flock(s->fd, LOCK_EX) != 0)
            if (errno != EINTR)
                return RGM_FAIL_SYSTEM("lock", s->path);
        if (fstat(s->fd, &own) != 0)
            return RGM_FAIL_SYSTEM("look at", s->path);
        if (stat(s->path, &there) == 0 && there.st_ino == own.st_ino &&
            there.st_dev == own.st_dev) {
            *is_new = own.st_size == 0;
            return RGM_OK;
        }
        close(s->fd); /* it was replaced while this process waited */
        s->fd = -1;
    }
}

rgm_status rgm_study_open(rgm_study **out, const char *path, const rgm_search_file *file)
{
    rgm_status status = RGM_OK;
    rgm_study *s = NULL;
    bool is_new;

    *out = NULL;
    RGM_GO(RGM_NEW(s, 1));
    s->fd = -1;
    RGM_GO(rgm_strdup(&s->path, path));
    RGM_GO(rgm_path_refuse_pipe(path));
    RGM_GO(lock(s, file != NULL, &is_new));
    RGM_GO(is_new ? begin(s, file) : load(s));
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
    rgm_searcher_release(s->searcher);
    rgm_search_file_release(s->file);
    rgm_free(s->trials);
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

/* ---- asked and told ------------------------------------------------------------------------- */

rgm_status rgm_study_ask(rgm_study_piece *out, rgm_study *s, double lost_seconds)
{
    double now = rgm_wall_time();
    study_trial *found = NULL;

    *out = (rgm_study_piece){.kind = rgm_searcher_is_over(s->searcher) ? RGM_STUDY_OVER
                                                                       : RGM_STUDY_WAIT};
    for (int64_t i = 0; i < s->count; i++) {
        study_trial *t = &s->trials[i];
        bool is_lost = t->state == OUT && lost_seconds > 0 && now - t->since >= lost_seconds;

        out->out += t->state == OUT;
        if (found == NULL && (t->state == READY || is_lost)) {
            found = t;
            out->trial = i + 1;
        }
    }
    if (found == NULL)
        return RGM_OK;
    out->out += found->state == READY;
    found->state = OUT;
    found->since = now;
    out->kind = RGM_STUDY_WORK;
    out->from = found->from;
    out->to = found->to;
    out->source = found->from == 0 ? found->source : 0;
    out->seed = (uint32_t)found->seed;
    out->values = rgm_searcher_trial(s->searcher, out->trial)->values;
    return save(s);
}

/* Without a length: what is asked of it, which nobody was given yet, is not what was done. */
static bool is_not_given(const study_trial *t, int64_t length, rgm_search_event_kind kind)
{
    return t->state == READY && length == 0 && kind == RGM_VALIDATED;
}

/* Whether the searcher was told exactly that before. */
static bool is_told(const rgm_study *s, int64_t trial, int64_t length, rgm_search_event_kind kind,
                    const double *metrics)
{
    const study_trial *piece = &s->trials[trial - 1];
    const rgm_search_trial *t = rgm_searcher_trial(s->searcher, trial);
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, s->searcher);

    if (piece->state != IDLE && length != piece->from && !is_not_given(piece, length, kind))
        return false;
    if (kind != RGM_VALIDATED)
        return t->closed && (kind == RGM_INVALID ? t->invalid : t->exited);
    for (int64_t i = 0; i < count; i++) {
        double key = objectives[i].smaller_is_better ? metrics[i] : -metrics[i];

        if (!isfinite(key))
            key = (double)INFINITY;
        if (!(key == t->keys[i]))
            return false;
    }
    return t->length > 0 && (length == 0 || length == t->length);
}

rgm_status rgm_study_tell(rgm_study *s, int64_t trial, int64_t length, rgm_search_event_kind kind,
                          const double *metrics)
{
    study_trial *t;

    if (trial < 1 || trial > s->count)
        return RGM_FAIL(RGM_ERR_ARG, "there is no trial %lld in %s, which has %lld",
                        (long long)trial, s->path, (long long)s->count);
    t = &s->trials[trial - 1];
    if (is_told(s, trial, length, kind, metrics))
        return RGM_OK;
    if (is_not_given(t, length, kind))
        return RGM_FAIL(RGM_ERR_ARG,
                        "trial %lld was told to %lld, and nobody was given the piece to %lld yet: "
                        "ask for it, or say to which length this is (--at)",
                        (long long)trial, (long long)t->from, (long long)t->to);
    if (t->state == IDLE || (length != 0 && length != t->to))
        return RGM_FAIL(RGM_ERR_ARG, "trial %lld was told to %lld%s%.0lld", (long long)trial,
                        (long long)t->from,
                        t->state == IDLE ? ", and nothing is asked of it now"
                                         : "; what is asked of it now ends at ",
                        t->state == IDLE ? 0LL : (long long)t->to);
    if (kind == RGM_VALIDATED)
        RGM_TRY(rgm_searcher_tell(
            s->searcher,
            &(rgm_search_event){.kind = RGM_TRAINED, .trial = trial, .length = t->to}));
    t->state = IDLE;
    t->from = t->to;
    RGM_TRY(rgm_searcher_tell(
        s->searcher,
        &(rgm_search_event){.kind = kind, .trial = trial, .length = t->to, .metrics = metrics}));
    RGM_TRY(take_all(s));
    return save(s);
}
