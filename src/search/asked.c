/*
 * program: a searcher that is a process, asked and told by lines of JSON: those that a study's
 * stream answers, here said by us. Its process keeps nothing: it is started anew whenever it is
 * needed again, and told and asked all from the beginning. So that this gives the same search, each
 * of its answers is kept by its hash, and one that differs ends the search.
 */
#include "asked.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { WHOLE_FILE = 1 << 20, PER_LINE = 4 };

typedef struct asked_options {
    rgmi_length_options trial;
    rgm_texts command;
    int64_t max_trials, max_concurrent_trials;
    double answer_seconds;
} asked_options;

/* What was said: SAID_ASK, or what came of a trial at a length. */
typedef enum said_kind {
    SAID_ASK,
    SAID_METRICS,
    SAID_FAILED,
    SAID_INVALID,
    SAID_ENDED /* on request: metrics, and nothing more comes of it */
} said_kind;

typedef struct asked_state {
    int64_t *said; /* [said_count] PER_LINE a line: kind, trial, length, the answer's hash */
    int64_t said_count, said_capacity;
    double *metrics; /* [metric_count] of each line that has some those of the objectives */
    int64_t metric_count, metric_capacity;
    int64_t created;
    bool over;
    bool runs; /* not kept: the process is there, and was told all that was said */
    rgmi_asked_process process;
} asked_state;

#define RGM_OPTIONS asked_options
static const rgm_field asked_fields[] = {
    RGM_TEXTS_FIELD(command, "list: the words of a program that is asked and told"),
    RGMI_LENGTH_FIELDS(trial, "of a trial, at most"),
    RGM_INT_FIELD(max_trials, 1, RGMI_MOST_AT_ONCE, "at most; it may end the search before"),
    RGM_INT_FIELD(max_concurrent_trials, 1, RGMI_MOST_AT_ONCE, "at a time"),
    RGM_FLOAT_FIELD(answer_seconds, 0.01, 3600, "in which it answers a line"),
    {0}};
#undef RGM_OPTIONS

static void asked_defaults(void *options)
{
    *(asked_options *)options = (asked_options){
        .max_trials = RGMI_MOST_AT_ONCE, .max_concurrent_trials = 1, .answer_seconds = 30};
}

/* A file that a word names is part of what a saved state is of, as a shared object is. */
static rgm_status hash_file(rgm_searcher *searcher, const char *path)
{
    struct stat info;

    if (path[0] != '/' || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return RGM_OK;
    return rgmi_hash_file(&searcher->hash, path, WHOLE_FILE);
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    asked_options *o = options;

    (void)state;
    searcher->most_points = 0; /* the program names its own */
    RGM_TRY(rgmi_length_options_read(&o->trial, section));
    if (o->command.count == 0 || o->command.items[0][0] == '\0')
        return rgm_yaml_fail(section, "'searcher.command' must be given: the words of a program, "
                                      "such as [python3, mine.py]");
    for (int64_t i = 0; i < o->command.count; i++)
        RGM_TRY(hash_file(searcher, o->command.items[i]));
    return RGM_OK;
}

/* ---- what is said --------------------------------------------------------------------------- */

static bool has_metrics(int64_t kind)
{
    return kind == SAID_METRICS || kind == SAID_ENDED;
}

static rgm_status print_line(rgm_text *out, const rgm_searcher *searcher, const int64_t *said,
                             const double *metrics)
{
    static const char *const ends[] = {
        [SAID_FAILED] = "failed", [SAID_INVALID] = "invalid", [SAID_ENDED] = "ended"};
    rgm_json_writer w = {.out = out};
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, searcher);

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, "type", said[0] == SAID_ASK ? "ask" : "tell"));
    if (said[0] != SAID_ASK)
        RGM_TRY(rgm_json_write_int(&w, "trial", said[1]));
    if (has_metrics(said[0])) {
        RGM_TRY(rgm_json_write_int(&w, "to", said[2]));
        RGM_TRY(rgm_json_open_object(&w, "metrics", RGM_JSON_SPACED));
        for (int64_t i = 0; i < count; i++)
            RGM_TRY(rgm_json_write_number(&w, objectives[i].metric, metrics[i]));
        RGM_TRY(rgm_json_close(&w));
    }
    if (ends[said[0]] != NULL)
        RGM_TRY(rgm_json_write_bool(&w, ends[said[0]], true));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}

static rgm_status say_once(rgm_json **answer, int64_t *hash, const rgm_searcher *searcher,
                           asked_state *s, const asked_options *o, const int64_t *said,
                           const double *metrics)
{
    rgm_status status = RGM_OK;
    rgm_text line = {0};

    RGM_GO(print_line(&line, searcher, said, metrics));
    RGM_GO(rgmi_asked_say(answer, hash, &s->process, &line, o->answer_seconds));
done:
    rgm_text_clear(&line);
    return status;
}

/* Start it, and say all that was said before. */
static rgm_status begin_again(const rgm_searcher *searcher, asked_state *s, const asked_options *o)
{
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, searcher), metric = 0, told = 0;

    for (int64_t i = 0; i < s->said_count; i += PER_LINE)
        told += has_metrics(s->said[i]) ? count : 0;
    if (told != s->metric_count)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: %lld metrics of %lld",
                        (long long)s->metric_count, (long long)told);
    RGM_TRY(rgmi_asked_start(&s->process, &o->command, searcher->seed));
    for (int64_t i = 0; i < s->said_count; i += PER_LINE) {
        rgm_json *answer;
        int64_t hash;

        RGM_TRY(say_once(&answer, &hash, searcher, s, o, &s->said[i],
                         s->metrics != NULL ? s->metrics + metric : NULL));
        rgm_json_release(answer);
        if (hash != s->said[i + 3])
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "the searcher's program, which was begun again, answers line %lld of "
                            "%lld otherwise than it did: it is to draw by $REGIMEN_SEED alone, and "
                            "to keep nothing",
                            (long long)(i / PER_LINE + 1), (long long)(s->said_count / PER_LINE));
        metric += has_metrics(s->said[i]) ? count : 0;
    }
    s->runs = true;
    return RGM_OK;
}

static rgm_status say_to_one(rgm_json **answer, int64_t *hash, const rgm_searcher *searcher,
                             asked_state *s, const asked_options *o, const int64_t *said,
                             const double *metrics)
{
    *answer = NULL;
    if (!s->runs)
        RGM_TRY(begin_again(searcher, s, o));
    return say_once(answer, hash, searcher, s, o, said, metrics);
}

static rgm_status keep(const rgm_searcher *searcher, asked_state *s, const int64_t *said,
                       const double *metrics)
{
    const rgm_objective *objectives;
    int64_t count = has_metrics(said[0]) ? rgm_searcher_objectives(&objectives, searcher) : 0;

    RGM_TRY(RGM_RESERVE(s->said, s->said_capacity, s->said_count + PER_LINE));
    RGM_TRY(RGM_RESERVE(s->metrics, s->metric_capacity, s->metric_count + count));
    memcpy(&s->said[s->said_count], said, PER_LINE * sizeof *said);
    s->said_count += PER_LINE;
    for (int64_t i = 0; i < count; i++)
        s->metrics[s->metric_count++] = metrics[i];
    return RGM_OK;
}

/* One whose process has ended is begun again, once. */
static rgm_status say(rgm_json **answer, const rgm_searcher *searcher, asked_state *s,
                      const asked_options *o, said_kind kind, int64_t trial, int64_t length,
                      const double *metrics)
{
    int64_t said[PER_LINE] = {kind, trial, length, 0};
    rgm_status status;

    status = say_to_one(answer, &said[3], searcher, s, o, said, metrics);
    for (int tries = 0; status == RGM_END; tries++) {
        char end[64];

        rgmi_asked_print_end(end, &s->process);
        s->runs = false;
        if (tries == 1)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "the searcher's program %s before it answered, and did so when it was "
                            "begun again: what it wrote is in the log",
                            end);
        rgm_log_write(RGM_LOG_WARNING, "the searcher's program %s: it is begun again", end);
        status = say_to_one(answer, &said[3], searcher, s, o, said, metrics);
    }
    if (status == RGM_OK)
        status = keep(searcher, s, said, metrics);
    if (status != RGM_OK) {
        rgmi_asked_stop(&s->process);
        s->runs = false;
        rgm_json_release(*answer);
        *answer = NULL;
    }
    return status;
}

/* ---- what it answers ------------------------------------------------------------------------ */

static rgm_status wrong(const char *what, int64_t trial)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "the searcher's program answers %s (trial %lld)", what,
                    (long long)trial);
}

static rgm_status check_error(const rgm_json *answer)
{
    const char *error = rgm_json_text(rgm_json_find(answer, "error"));

    return error == NULL ? RGM_OK
                         : RGM_FAIL(RGM_ERR_CONFIG, "the searcher's program says: %s", error);
}

/* JSON is YAML. */
static rgm_status read_values(rgm_hyper_value *values, const rgm_searcher *searcher,
                              const rgm_json *map)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    rgm_text text = {0};

    if (!rgm_json_is_object(map))
        return wrong("no \"hyperparameters\", which are an object", searcher->trial_count + 1);
    RGM_GO(rgm_json_print(&text, map));
    RGM_GO(rgm_yaml_parse(&yaml, text.data, text.size, "the searcher's program"));
    RGM_GO(rgm_space_read_point(values, searcher->space, rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    rgm_text_clear(&text);
    return status;
}

static rgm_status create(rgm_searcher *searcher, asked_state *s, const rgm_json *piece)
{
    rgm_status status = RGM_OK;
    rgm_hyper_value *values = NULL;
    int64_t trial, source = 0, seed = -1;

    RGM_GO(RGM_NEW(values, searcher->space->count + 1));
    RGM_GO(read_values(values, searcher, rgm_json_find(piece, "hyperparameters")));
    if (rgm_json_find(piece, "source") != NULL &&
        (!rgm_json_int(&source, rgm_json_find(piece, "source")) || source < 1 ||
         source > searcher->trial_count))
        RGM_GO(wrong("a \"source\" that is no trial", searcher->trial_count + 1));
    if (rgm_json_find(piece, "seed") != NULL &&
        (!rgm_json_int(&seed, rgm_json_find(piece, "seed")) || seed < 0 || seed > INT32_MAX))
        RGM_GO(wrong("a \"seed\" that is no whole number below 2^31", searcher->trial_count + 1));
    RGM_GO(rgm_search_create_from(&trial, searcher, values, source));
    if (seed >= 0)
        rgmi_trial_at(searcher, trial)->seed = (uint32_t)seed;
    s->created++;
done:
    rgm_free(values);
    return status;
}

static rgm_status take_piece(rgm_searcher *searcher, asked_state *s, const asked_options *o,
                             const rgm_json *piece)
{
    int64_t trial = 0, to = 0, next = searcher->trial_count + 1;

    if (!rgm_json_int(&trial, rgm_json_find(piece, "trial")) || trial < 1 || trial > next)
        return wrong("by no \"trial\" that there is, nor the next one, nor by \"wait\" or \"over\"",
                     trial);
    if (!rgm_json_int(&to, rgm_json_find(piece, "to")) || to < 1 || to > o->trial.length.units)
        return wrong("a \"to\" that is no length up to max_length", trial);
    if (trial == next && s->created >= o->max_trials) {
        s->over = true;
        return RGM_OK;
    }
    if (trial == next)
        RGM_TRY(create(searcher, s, piece));
    else if (!rgm_search_is_open(searcher, trial))
        return wrong("with a trial that is over", trial);
    return rgm_error_prefix(rgm_search_train_and_validate(searcher, trial, to),
                            "the searcher's program");
}

static bool is_busy(const rgm_searcher *searcher, int64_t trial)
{
    return rgm_search_is_open(searcher, trial) && rgmi_trial_at(searcher, trial)->asked_count > 0;
}

/* Trials that something is asked of. */
static int64_t count_busy(const rgm_searcher *searcher)
{
    int64_t count = 0;

    for (int64_t i = 1; i <= searcher->trial_count; i++)
        count += is_busy(searcher, i);
    return count;
}

/* Nothing more will be asked of those that nothing is asked of. */
static rgm_status close_idle(rgm_searcher *searcher)
{
    for (int64_t i = 1; i <= searcher->trial_count; i++)
        if (rgm_search_is_open(searcher, i) && !is_busy(searcher, i))
            RGM_TRY(rgm_search_close(searcher, i));
    return RGM_OK;
}

/* *more: there may be another piece. */
static rgm_status ask_one(bool *more, rgm_searcher *searcher, asked_state *s,
                          const asked_options *o)
{
    rgm_status status = RGM_OK;
    rgm_json *answer = NULL;
    bool is_over = false, waits = false;

    *more = false;
    RGM_GO(say(&answer, searcher, s, o, SAID_ASK, 0, 0, NULL));
    RGM_GO(check_error(answer));
    (void)rgm_json_bool(&is_over, rgm_json_find(answer, "over"));
    (void)rgm_json_bool(&waits, rgm_json_find(answer, "wait"));
    if (is_over) {
        s->over = true;
    } else if (waits) {
        if (count_busy(searcher) == 0)
            RGM_GO(wrong("\"wait\", and no trial is under way", 0));
    } else {
        RGM_GO(take_piece(searcher, s, o, answer));
        *more = true;
    }
done:
    rgm_json_release(answer);
    return status;
}

/* As many pieces as there is room for. */
static rgm_status ask_more(rgm_searcher *searcher, asked_state *s, const asked_options *o)
{
    bool more = true;

    while (more && !s->over && count_busy(searcher) < o->max_concurrent_trials)
        RGM_TRY(ask_one(&more, searcher, s, o));
    return s->over ? close_idle(searcher) : RGM_OK;
}

/* ---- the row -------------------------------------------------------------------------------- */

static rgm_status begin(rgm_searcher *searcher, void *state, const void *options)
{
    return ask_more(searcher, state, options);
}

/* Those that it says are over, whose number is that of an open trial without work. */
static rgm_status take_closed(rgm_searcher *searcher, const rgm_json *answer)
{
    const rgm_json *list = rgm_json_find(answer, "closed");

    for (int64_t i = 0; i < rgm_json_count(list); i++) {
        int64_t trial = 0;

        if (!rgm_json_int(&trial, rgm_json_at(list, i)) || trial < 1 ||
            trial > searcher->trial_count || is_busy(searcher, trial))
            return wrong("\"closed\" with what is no trial, or one that is under way", trial);
        if (rgm_search_is_open(searcher, trial))
            RGM_TRY(rgm_search_close(searcher, trial));
    }
    return RGM_OK;
}

static rgm_status tell(rgm_searcher *searcher, asked_state *s, const asked_options *o,
                       said_kind kind, int64_t trial, int64_t length)
{
    double metrics[RGM_MAX_OBJECTIVES] = {0};
    rgm_status status = RGM_OK;
    rgm_json *answer = NULL;

    for (int64_t i = 0; i < searcher->objective_count && has_metrics(kind); i++)
        metrics[i] = searcher->metrics[i];
    RGM_GO(say(&answer, searcher, s, o, kind, trial, length, metrics));
    RGM_GO(check_error(answer));
    RGM_GO(take_closed(searcher, answer));
    if (length >= o->trial.length.units && rgm_search_is_open(searcher, trial))
        RGM_GO(rgm_search_close(searcher, trial));
    RGM_GO(ask_more(searcher, s, o));
done:
    rgm_json_release(answer);
    return status;
}

static rgm_status validated(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                            int64_t length)
{
    return tell(searcher, state, options, SAID_METRICS, trial, length);
}

static rgm_status exited(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                         bool invalid)
{
    const rgm_search_trial *t = rgm_searcher_trial(searcher, trial);

    ((asked_state *)state)->created -= invalid;
    if (!invalid && !t->exited && searcher->metrics != NULL)
        return tell(searcher, state, options, SAID_ENDED, trial, t->length);
    return tell(searcher, state, options, invalid ? SAID_INVALID : SAID_FAILED, trial, 0);
}

static rgm_status describe(rgm_text *out, const rgm_searcher *searcher, const void *state,
                           const void *options)
{
    const asked_options *o = options;

    (void)searcher;
    (void)state;
    return rgm_text_printf(out, "what %s says, at most %lld trials of %lld %s\n",
                           o->command.items[0], (long long)o->max_trials,
                           (long long)o->trial.length.units,
                           rgm_length_unit_names[o->trial.length.unit]);
}

static rgm_status archive(rgm_archive *a, void *state)
{
    asked_state *s = state;
    bool is_right = true;

    RGM_TRY(rgm_archive_ints(a, "said", &s->said, &s->said_count));
    RGM_TRY(rgm_archive_floats(a, "metrics", &s->metrics, &s->metric_count));
    RGM_TRY(rgm_archive_int(a, "created", &s->created));
    RGM_TRY(rgm_archive_bool(a, "over", &s->over));
    if (!rgm_archive_reads(a))
        return RGM_OK;
    s->said_capacity = s->said_count;
    s->metric_capacity = s->metric_count;
    is_right = s->said_count % PER_LINE == 0 && s->created >= 0 && s->created <= RGMI_MOST_TRIALS;
    for (int64_t i = 0; is_right && i < s->said_count; i += PER_LINE)
        is_right = s->said[i] >= SAID_ASK && s->said[i] <= SAID_ENDED;
    return is_right ? RGM_OK
                    : RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: 'said' is no list of lines");
}

static void clear(void *state)
{
    asked_state *s = state;

    rgmi_asked_stop(&s->process);
    rgm_free(s->said);
    rgm_free(s->metrics);
}

const rgm_searcher_type rgmi_asked_type = {.section = {.name = "program",
                                                       .help = "trials that a program of your own "
                                                               "asks for, by lines of JSON",
                                                       .options_size = sizeof(asked_options),
                                                       .defaults = asked_defaults,
                                                       .fields = asked_fields},
                                           .is_told_once = true,
                                           .state_size = sizeof(asked_state),
                                           .prepare = prepare,
                                           .max_length = rgmi_length_of,
                                           .begin = begin,
                                           .validated = validated,
                                           .exited = exited,
                                           .describe = describe,
                                           .archive = archive,
                                           .clear = clear};
