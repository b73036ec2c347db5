/*
 * The file of a study: what it was at some time, as one object of JSON, and behind it a log, a line
 * for each piece that was given out, told or given back since. A lock of the file holds until it is
 * replaced; who waited for it looks whether the file is still the one at the path. A line without
 * an end was never answered, and is written over.
 *
 * A log that has become longer than what it stands behind, or that would take long to be told again
 * (a Gaussian process draws a tenth of a second for each trial), is replaced by a new first part.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study_internal.h"

enum { VERSION = 2, MOST_BYTES = 1 << 30, MOST_TRIALS = 1 << 24 };
#define SYNC_S      0.1
#define MOST_REPLAY 0.05    /* seconds of a log that whoever opens the study can wait for */
#define END         "\n}\n" /* of the first part: nothing else in it ends so */

static const char *const kinds[] = {
    [RGMI_GIVEN] = "given", [RGMI_TOLD] = "told", [RGMI_BACK] = "back"};

/* ---- printed -------------------------------------------------------------------------------- */

static rgm_status print_trials(rgm_json_writer *w, const rgm_study *s)
{
    RGM_TRY(rgm_json_open_list(w, "trials", RGM_JSON_LINES));
    for (int64_t i = 0; i < s->count; i++) {
        const rgmi_study_trial *t = &s->trials[i];

        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_COMPACT));
        RGM_TRY(rgm_json_write_int(w, "from", t->from));
        RGM_TRY(rgm_json_write_int(w, "to", t->to));
        RGM_TRY(rgm_json_write_int(w, "source", t->source));
        RGM_TRY(rgm_json_write_int(w, "seed", t->seed));
        RGM_TRY(rgm_json_write_int(w, "state", (int64_t)t->state));
        RGM_TRY(rgm_json_write_number(w, "since", t->since));
        if (t->state == RGMI_PIECE_OUT && t->holder != NULL)
            RGM_TRY(rgm_json_write_text(w, "holder", t->holder));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

static rgm_status print_first(rgm_text *out, const rgm_study *s)
{
    rgm_status status = RGM_OK;
    rgm_text searcher = {0};
    rgm_json_writer w = {.out = out};

    RGM_GO(rgm_searcher_save(&searcher, s->searcher));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_int(&w, "regimen_study", VERSION));
    RGM_GO(rgm_json_write_text(&w, "name", rgm_search_file_name(s->file)));
    RGM_GO(rgm_json_write_text(&w, "file", rgm_search_file_text(s->file)));
    RGM_GO(rgm_json_write_int(&w, "seed", s->seed));
    RGM_GO(rgm_json_write_text(&w, "searcher", searcher.data));
    RGM_GO(print_trials(&w, s));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(out, "\n", 1));
done:
    rgm_text_clear(&searcher);
    return status;
}

static rgm_status print_event(rgm_text *out, const rgm_study *s, const rgmi_study_event *e)
{
    rgm_json_writer w = {.out = out};
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, s->searcher);

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_COMPACT));
    RGM_TRY(rgm_json_write_int(&w, kinds[e->kind], e->trial));
    if (e->kind == RGMI_GIVEN)
        RGM_TRY(rgm_json_write_number(&w, "at", e->at));
    if (e->kind == RGMI_GIVEN && e->holder != NULL)
        RGM_TRY(rgm_json_write_text(&w, "holder", e->holder));
    if (e->kind == RGMI_TOLD)
        RGM_TRY(rgm_json_write_text(&w, "came", rgm_search_event_names[e->came]));
    if (e->kind == RGMI_TOLD && e->came == RGM_ENDED)
        RGM_TRY(rgm_json_write_int(&w, "length", e->length));
    if (e->kind == RGMI_TOLD && rgmi_study_has_metrics(e->came)) {
        RGM_TRY(rgm_json_open_list(&w, "metrics", RGM_JSON_COMPACT));
        for (int64_t i = 0; i < count; i++)
            RGM_TRY(rgm_json_write_number(&w, NULL, e->metrics[i]));
        RGM_TRY(rgm_json_close(&w));
    }
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}

/* ---- read ----------------------------------------------------------------------------------- */

static rgm_status damaged(const rgm_study *s, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s is no study, or damaged: %s", s->path, what);
}

static rgm_status read_trial(rgm_study *s, const rgm_json *row)
{
    const char *holder = rgm_json_text(rgm_json_find(row, "holder"));
    int64_t state = -1;
    rgmi_study_trial t = {0};

    if (!rgm_json_int(&t.from, rgm_json_find(row, "from")) ||
        !rgm_json_int(&t.to, rgm_json_find(row, "to")) ||
        !rgm_json_int(&t.source, rgm_json_find(row, "source")) ||
        !rgm_json_int(&t.seed, rgm_json_find(row, "seed")) ||
        !rgm_json_int(&state, rgm_json_find(row, "state")) ||
        !rgm_json_number(&t.since, rgm_json_find(row, "since")) || t.from < 0 || t.to < t.from ||
        t.to > RGM_MAX_LENGTH || t.source < 0 || t.source > MOST_TRIALS || t.seed < 0 ||
        t.seed > UINT32_MAX || state < 0 || state >= RGMI_PIECE_STATES || !isfinite(t.since))
        return damaged(s, "a trial");
    t.state = (rgmi_study_place)state;
    RGM_TRY(RGM_RESERVE(s->trials, s->capacity, s->count + 1));
    if (holder != NULL)
        RGM_TRY(rgm_strdup(&t.holder, holder));
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
    if (version < 1 || version > VERSION)
        return RGM_FAIL(RGM_ERR_VERSION,
                        "%s is a study of version %lld, this program reads 1 to %d", s->path,
                        (long long)version, (int)VERSION);
    if (text == NULL || name == NULL || searcher == NULL ||
        !rgm_json_int(&s->seed, rgm_json_find(json, "seed")) || s->seed < 0 ||
        s->seed > UINT32_MAX || rgm_json_count(trials) < 0 || rgm_json_count(trials) > MOST_TRIALS)
        return damaged(s, "something is missing");
    RGM_TRY(rgm_search_file_parse_kept(&s->file, NULL, text, (int64_t)strlen(text), name, NULL));
    RGM_TRY(rgm_search_file_searcher(&s->searcher, s->file, (uint32_t)s->seed, NULL));
    RGM_TRY(rgm_searcher_restore(s->searcher, searcher, (int64_t)strlen(searcher)));
    for (int64_t i = 0; i < rgm_json_count(trials); i++)
        RGM_TRY(read_trial(s, rgm_json_at(trials, i)));
    return s->count == rgm_searcher_trial_count(s->searcher)
               ? rgmi_study_take_all(s)
               : damaged(s, "it has not the trials of its searcher");
}

static rgm_status read_metrics(rgmi_study_event *e, const rgm_study *s, const rgm_json *json)
{
    const rgm_json *metrics = rgm_json_find(json, "metrics");
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, s->searcher);

    if (rgm_json_count(metrics) != count)
        return damaged(s, "a result");
    for (int64_t i = 0; i < count; i++)
        if (!rgm_json_number(&e->metrics[i], rgm_json_at(metrics, i)))
            return damaged(s, "a result");
    return RGM_OK;
}

static rgm_status read_event(rgmi_study_event *e, const rgm_study *s, const rgm_json *json)
{
    const char *came = rgm_json_text(rgm_json_find(json, "came"));
    int kind = RGMI_GIVEN;

    *e = (rgmi_study_event){.holder = rgm_json_text(rgm_json_find(json, "holder"))};
    while (kind <= RGMI_BACK && !rgm_json_int(&e->trial, rgm_json_find(json, kinds[kind])))
        kind++;
    if (kind > RGMI_BACK)
        return damaged(s, "a line of its log");
    e->kind = (rgmi_study_event_kind)kind;
    if (e->kind == RGMI_GIVEN &&
        (!rgm_json_number(&e->at, rgm_json_find(json, "at")) || !isfinite(e->at)))
        return damaged(s, "a piece that was given out");
    if (e->kind != RGMI_TOLD)
        return RGM_OK;
    for (int i = RGM_VALIDATED; i <= RGM_ENDED; i++)
        if (i != RGM_CHECKPOINTED && i != RGM_CLOSED && came != NULL &&
            strcmp(came, rgm_search_event_names[i]) == 0) {
            e->came = (rgm_search_event_kind)i;
            if (i == RGM_ENDED &&
                (!rgm_json_int(&e->length, rgm_json_find(json, "length")) || e->length < 1))
                return damaged(s, "a result");
            return rgmi_study_has_metrics(e->came) ? read_metrics(e, s, json) : RGM_OK;
        }
    return damaged(s, "a result");
}

/* What the log says, up to its last line that has an end. */
static rgm_status read_log(rgm_study *s, const char *text, int64_t size)
{
    double begun = rgm_now();
    rgm_status status = RGM_OK;
    rgm_json *json = NULL;

    for (const char *at = text, *end; (end = memchr(at, '\n', (size_t)(text + size - at))) != NULL;
         at = end + 1) {
        rgmi_study_event event;

        RGM_GO(rgm_json_parse(&json, at, end - at, s->path));
        RGM_GO(read_event(&event, s, json));
        RGM_GO(rgm_error_prefix(rgmi_study_apply(s, &event), "%s", s->path));
        rgm_json_release(json);
        json = NULL;
        s->size += end + 1 - at;
    }
done:
    rgm_json_release(json);
    s->replay += rgm_now() - begun;
    s->is_stale = s->is_stale || status != RGM_OK;
    return status;
}

/* The bytes of the file from one on. data[size] is 0. */
static rgm_status read_from(rgm_text *out, const rgm_study *s, int64_t at)
{
    char bytes[65536];
    ssize_t size;

    RGM_TRY(rgm_text_add(out, "", 0));
    while ((size = pread(s->fd, bytes, sizeof bytes, at + out->size)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return RGM_FAIL_SYSTEM("read", s->path);
        if (out->size + size > MOST_BYTES)
            return damaged(s, "it is too long");
        RGM_TRY(rgm_text_add(out, bytes, size));
    }
    return RGM_OK;
}

static rgm_status read_whole(rgm_study *s)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_json *json = NULL;
    const char *end;

    RGM_GO(read_from(&text, s, 0));
    end = strstr(text.data, END);
    s->base = s->size = end != NULL ? end + strlen(END) - text.data : text.size;
    RGM_GO(rgm_json_parse(&json, text.data, s->base, s->path));
    RGM_GO(read_parts(s, json));
    if (end == NULL)
        RGM_GO(damaged(s, "it has no end"));
    RGM_GO(read_log(s, text.data + s->base, text.size - s->base));
done:
    rgm_json_release(json);
    rgm_text_clear(&text);
    return status;
}

/* All of it anew; what is in memory stays where that fails. */
static rgm_status load(rgm_study *s)
{
    rgm_study fresh = {.path = s->path, .fd = s->fd};
    rgm_status status = read_whole(&fresh);

    if (status == RGM_OK && s->file != NULL &&
        (s->seed != fresh.seed ||
         strcmp(rgm_search_file_text(s->file), rgm_search_file_text(fresh.file)) != 0))
        status = RGM_FAIL(RGM_ERR_FORMAT, "%s is another study than it was", s->path);
    if (status != RGM_OK) {
        rgmi_study_forget(&fresh);
        s->is_stale = true;
        return status;
    }
    rgmi_study_forget(s);
    fresh.holder = s->holder;
    fresh.saving = s->saving;
    fresh.synced = s->synced;
    *s = fresh;
    return RGM_OK;
}

static rgm_status read_more(rgm_study *s)
{
    rgm_text text = {0};
    rgm_status status = read_from(&text, s, s->size);

    if (status == RGM_OK)
        status = read_log(s, text.data, text.size);
    rgm_text_clear(&text);
    return status;
}

/* ---- written -------------------------------------------------------------------------------- */

/* The file is another one now; whoever came in between may have written to it. */
static void reopen(rgm_study *s, const rgm_text *written)
{
    rgm_text text = {0};

    close(s->fd); /* and its lock goes */
    s->fd = open(s->path, O_RDWR | O_CLOEXEC);
    s->is_stale = s->fd < 0 || read_from(&text, s, 0) != RGM_OK || text.size != written->size ||
                  memcmp(text.data, written->data, (size_t)text.size) != 0;
    if (s->is_stale)
        rgm_error_reset();
    rgm_text_clear(&text);
}

static rgm_status write_first(rgm_study *s)
{
    double begun = rgm_now();
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(print_first(&text, s));
    RGM_GO(rgm_file_save(s->path, text.data, text.size));
    reopen(s, &text);
    s->base = s->size = text.size;
    s->replay = 0;
    s->saving = rgm_now() - begun;
done:
    rgm_text_clear(&text);
    return status;
}

/* Results are synced, at most ten times a second: one that took long to come by is lasting before
 * it is answered. Of a piece that was given out it is enough that other processes see it: after a
 * power cut it is given out again. */
static rgm_status sync_result(rgm_study *s)
{
    double now = rgm_now();

    if (now - s->synced < SYNC_S)
        return RGM_OK;
    s->synced = now;
    return fdatasync(s->fd) == 0 ? RGM_OK : RGM_FAIL_SYSTEM("sync", s->path);
}

static rgm_status write_event(rgm_study *s, const rgmi_study_event *e)
{
    rgm_status status = RGM_OK;
    rgm_text line = {0};

    RGM_GO(print_event(&line, s, e));
    if (ftruncate(s->fd, s->size) != 0 || lseek(s->fd, s->size, SEEK_SET) < 0)
        RGM_GO(RGM_FAIL_SYSTEM("write to", s->path));
    status = rgm_write_all(s->fd, line.data, line.size, s->path);
    if (status == RGM_OK && e->kind == RGMI_TOLD)
        status = sync_result(s);
    if (status == RGM_OK)
        s->size += line.size;
    else if (ftruncate(s->fd, s->size) != 0) { /* what was refused is not there */
        rgm_log_write(RGM_LOG_WARNING, "%s: the end of what could not be written is left in it",
                      s->path);
    }
done:
    rgm_text_clear(&line);
    return status;
}

rgm_status rgmi_study_commit(rgm_study *s, const rgmi_study_event *event)
{
    double begun = rgm_now();
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_study_apply(s, event));
    if (s->path == NULL)
        goto done;
    s->replay += rgm_now() - begun;
    if (rgm_searcher_is_told_once(s->searcher) || s->size - s->base > s->base ||
        s->replay > MOST_REPLAY + 4 * s->saving)
        RGM_GO(write_first(s));
    else
        RGM_GO(write_event(s, event));
done:
    s->is_stale = s->is_stale || status != RGM_OK;
    return status;
}

/* ---- locked --------------------------------------------------------------------------------- */

static rgm_status wait_for_lock(const rgm_study *s)
{
    while (flock(s->fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return RGM_FAIL_SYSTEM("lock", s->path);
    return RGM_OK;
}

/* The lock of what is at the path now. */
static rgm_status lock(rgm_study *s, struct stat *own, bool makes)
{
    struct stat there;

    for (;;) {
        if (s->fd < 0) {
            s->fd = open(s->path, O_RDWR | O_CLOEXEC | (makes ? O_CREAT : 0), 0666);
            s->is_stale = true;
        }
        if (s->fd < 0)
            return errno == ENOENT && !makes
                       ? RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no study %s", s->path)
                       : RGM_FAIL_SYSTEM("open", s->path);
        RGM_TRY(wait_for_lock(s));
        if (fstat(s->fd, own) != 0)
            return RGM_FAIL_SYSTEM("look at", s->path);
        if (stat(s->path, &there) == 0 && there.st_ino == own->st_ino &&
            there.st_dev == own->st_dev)
            return RGM_OK;
        close(s->fd); /* it was replaced, before or while this process waited */
        s->fd = -1;
    }
}

static rgm_status catch_up(rgm_study *s, const rgm_search_file *file, int64_t size)
{
    if (size == 0 && s->file == NULL && file != NULL) {
        RGM_TRY(rgmi_study_begin(s, file));
        s->is_stale = false;
        return write_first(s);
    }
    if (size == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no study %s, and no search to begin it with",
                        s->path);
    if (s->is_stale || size < s->size)
        return load(s);
    return size > s->size ? read_more(s) : RGM_OK;
}

rgm_status rgmi_study_enter(rgm_study *s, const rgm_search_file *file)
{
    rgm_status status = RGM_OK;
    struct stat own;

    if (s->path == NULL)
        return s->is_stale ? RGM_FAIL(RGM_ERR_ARG, "this study failed before") : RGM_OK;
    RGM_GO(lock(s, &own, file != NULL));
    RGM_GO(catch_up(s, file, own.st_size));
done:
    if (status != RGM_OK) /* others are told so too, and do not wait for it */
        rgmi_study_leave(s);
    return status;
}

void rgmi_study_leave(rgm_study *s)
{
    if (s->path != NULL && s->fd >= 0)
        flock(s->fd, LOCK_UN);
}
