/*
 * `train`: a run of an experiment in the step's folder, with data, tokenizers and teachers of
 * earlier steps. It goes on as any run does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "distil_internal.h"

#define RGM_OPTIONS rgmi_train_options
static const rgm_field fields[] = {
    RGM_TEXT_FIELD(experiment, "an experiment file, or a name of `regimen config list`"),
    {.name = "over",
     .kind = RGM_FIELD_NODE,
     .offset = offsetof(rgmi_train_options, over),
     .help = "its keys with other values: {trainer: {epochs: 3}}"},
    RGM_TEXTS_FIELD(pairs, "earlier steps to train on: data.train_sets by their names"),
    RGM_BOOL_FIELD(original, "with pairs: train on data.train and data.train_sets, too"),
    RGM_TEXT_FIELD(tokenizer, "an earlier step or the folder of a run or export, whose tokenizers "
                              "it takes"),
    RGM_TEXTS_FIELD(teachers, "task.distillation.teacher: earlier steps, folders of runs or "
                              "exports"),
    {0}};
#undef RGM_OPTIONS

static rgm_status check(const rgm_distil *d, const rgmi_step *step)
{
    const rgmi_train_options *o = step->options;

    if (o->experiment == NULL)
        return rgmi_step_fail(step, "experiment", "name the experiment to run");
    if (o->over != NULL && o->over->kind != RGM_YAML_MAP)
        return rgmi_step_fail(step, "over", "it is a map of sections and keys");
    for (int64_t i = 0; i < o->pairs.count; i++)
        RGM_TRY(rgmi_check_step(d, step, "pairs", o->pairs.items[i], RGMI_MAKES_PAIRS));
    if (o->original && o->pairs.count == 0)
        return rgmi_step_fail(step, "original", "without 'pairs' all is original");
    RGM_TRY(rgmi_check_input(d, step, "tokenizer", o->tokenizer, RGMI_MAKES_MODEL));
    for (int64_t i = 0; i < o->teachers.count; i++)
        RGM_TRY(rgmi_check_input(d, step, "teachers", o->teachers.items[i], RGMI_MAKES_MODEL));
    return RGM_OK;
}

/* ---- the experiment -------------------------------------------------------------------------- */

/** "key=value" texts for an experiment, owned. */
typedef struct settings {
    char **items;
    int64_t count, capacity;
} settings;

static void settings_clear(settings *s)
{
    for (int64_t i = 0; i < s->count; i++)
        rgm_free(s->items[i]);
    rgm_free(s->items);
    *s = (settings){0};
}

static rgm_status set(settings *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static rgm_status set(settings *s, const char *format, ...)
{
    char room[4096];
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(room, sizeof room, format, args);
    va_end(args);
    if (size < 0 || size >= (int)sizeof room)
        return RGM_FAIL(RGM_ERR_CONFIG, "a value of more than %d bytes: %.60s", (int)sizeof room,
                        room);
    RGM_TRY(RGM_RESERVE(s->items, s->capacity, s->count + 1));
    RGM_TRY(rgm_strdup(&s->items[s->count], room));
    s->count++;
    return RGM_OK;
}

/* Each key below a map, "trainer.epochs=3". */
static rgm_status set_below(settings *s, const rgm_yaml_node *map, const char *path)
{
    for (int64_t i = 0; i < map->count; i++) {
        const rgm_yaml_node *item = map->items[i];
        rgm_status status;
        char below[256], *value;

        snprintf(below, sizeof below, "%s%s%s", path, path[0] != '\0' ? "." : "", item->key);
        if (item->kind == RGM_YAML_MAP && item->count > 0) {
            RGM_TRY(set_below(s, item, below));
            continue;
        }
        RGM_TRY(rgm_yaml_flow_text(&value, item));
        status = set(s, "%s=%s", below, value);
        rgm_free(value);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/* "kept: [source, target]" */
static rgm_status add_pairs(rgm_text *out, const rgmi_step_work *work, const char *name,
                            const char *is)
{
    rgm_status status = RGM_OK;
    char *source = NULL, *target = NULL;

    RGM_GO(rgmi_side_path(&source, work, name, RGMI_SOURCES));
    RGM_GO(rgmi_side_path(&target, work, name, RGMI_TARGETS));
    RGM_GO(rgm_text_printf(out, "%s%s[\"%s\", \"%s\"]", name, is, source, target));
done:
    rgm_free(source);
    rgm_free(target);
    return status;
}

/* In the place of the experiment's training data, or beside them. */
static rgm_status set_pairs(settings *s, const rgmi_step_work *work)
{
    const rgmi_train_options *o = work->step->options;
    rgm_status status = RGM_OK;
    rgm_text sets = {0};

    for (int64_t i = 0; i < o->pairs.count; i++) {
        if (o->original)
            sets.size = 0;
        else if (i > 0)
            RGM_GO(rgm_text_printf(&sets, ", "));
        RGM_GO(add_pairs(&sets, work, o->pairs.items[i], o->original ? "=" : ": "));
        if (o->original)
            RGM_GO(set(s, "data.train_sets.%s", sets.data));
    }
    if (o->pairs.count > 0 && !o->original) {
        RGM_GO(set(s, "data.train=~"));
        RGM_GO(set(s, "data.train_sets={%s}", sets.data));
    }
done:
    rgm_text_clear(&sets);
    return status;
}

/* A file that a key names lies in data.path, unless its name begins with '/'. */
static rgm_status absolute(char **out, const char *folder)
{
    char *whole = realpath(folder, NULL);
    rgm_status status = rgm_strdup(out, whole != NULL ? whole : folder);

    free(whole);
    return status;
}

/* Each key of a tokenizer's file: that of the folder, or none. The first is named also where it is
 * not there yet: the step that makes it may be still to come. */
static rgm_status set_files(settings *s, const char *folder)
{
    const rgmi_tokenizer_file *first = rgmi_tokenizer_files;
    rgm_status status = RGM_OK;
    char *path = NULL;

    for (const rgmi_tokenizer_file *f = first; f->name != NULL; f++) {
        rgm_free(path);
        RGM_GO(rgm_path_join(&path, folder, f->name));
        if (f == first || rgm_path_exists(path))
            RGM_GO(set(s, "data.%s=\"%s\"", f->key, path));
        else if (strcmp(f->key, first->key) != 0)
            RGM_GO(set(s, "data.%s=~", f->key));
    }
done:
    rgm_free(path);
    return status;
}

static rgm_status set_tokenizer(settings *s, const rgmi_step_work *work)
{
    const rgmi_train_options *o = work->step->options;
    rgm_status status = RGM_OK;
    char *folder = NULL, *whole = NULL;

    if (o->tokenizer == NULL)
        return RGM_OK;
    RGM_GO(rgmi_model_path(&folder, work, o->tokenizer));
    RGM_GO(absolute(&whole, folder));
    RGM_GO(set(s, "data.train_tokenizer=~"));
    RGM_GO(set_files(s, whole));
done:
    rgm_free(folder);
    rgm_free(whole);
    return status;
}

static rgm_status set_teachers(settings *s, const rgmi_step_work *work)
{
    const rgmi_train_options *o = work->step->options;
    rgm_status status = RGM_OK;
    rgm_text list = {0};
    char *folder = NULL;

    for (int64_t i = 0; i < o->teachers.count; i++) {
        RGM_GO(rgmi_model_path(&folder, work, o->teachers.items[i]));
        RGM_GO(rgm_text_printf(&list, "%s\"%s\"", i > 0 ? ", " : "", folder));
        rgm_free(folder);
        folder = NULL;
    }
    if (o->teachers.count == 1) /* a run may go on with one that lies elsewhere */
        RGM_GO(set(s, "task.distillation.teacher=%s", list.data));
    else if (o->teachers.count > 1)
        RGM_GO(set(s, "task.distillation.teacher=[%s]", list.data));
done:
    rgm_free(folder);
    rgm_text_clear(&list);
    return status;
}

static rgm_status load(rgm_experiment **out, const rgmi_step_work *work)
{
    const rgmi_train_options *o = work->step->options;
    rgm_status status = RGM_OK;
    settings s = {0};

    *out = NULL;
    if (o->over != NULL)
        RGM_GO(set_below(&s, o->over, ""));
    RGM_GO(set_pairs(&s, work));
    RGM_GO(set_tokenizer(&s, work));
    RGM_GO(set_teachers(&s, work));
    RGM_GO(rgm_experiment_load(out, o->experiment, (const char *const *)s.items, s.count));
    if (rgm_experiment_part_count(*out) > 1)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "%s is %lld runs, but a step is one: set trainer.fold and "
                        "runtime.seeds in 'over'",
                        o->experiment, (long long)rgm_experiment_part_count(*out)));
done:
    settings_clear(&s);
    return status;
}

/* ---- what it is made from -------------------------------------------------------------------- */

/* Those that a value names, "data.valid[0]", ..; *number counts them. */
static rgm_status add_files(rgmi_inputs *inputs, const char *key, int64_t *number,
                            const char *folder, const rgm_yaml_node *node)
{
    rgm_status status = RGM_OK;
    char *path = NULL, **found = NULL, numbered[256];
    int64_t count = 0;

    if (node->kind != RGM_YAML_SCALAR) {
        for (int64_t i = 0; i < node->count; i++)
            RGM_TRY(add_files(inputs, key, number, folder, node->items[i]));
        return RGM_OK;
    }
    if (node->text[0] == '\0')
        return RGM_OK;
    RGM_GO(node->text[0] == '/' || folder == NULL ? rgm_strdup(&path, node->text)
                                                  : rgm_path_join(&path, folder, node->text));
    status = rgm_tfrecord_paths(&found, &count, path);
    if (status == RGM_ERR_NOMEM)
        goto done;
    if (status != RGM_OK) /* it names no file; who reads the data tells if it should */
        rgm_error_reset();
    status = RGM_OK;
    for (int64_t i = 0; i < count; i++)
        if (rgm_path_exists(found[i]) && !rgm_path_is_folder(found[i])) {
            snprintf(numbered, sizeof numbered, "%s[%lld]", key, (long long)(*number)++);
            RGM_GO(rgmi_inputs_add_file(inputs, numbered, found[i]));
        }
done:
    rgm_names_release(found, count);
    rgm_free(path);
    return status;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool begins_with_one(const char *key, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++)
        if (begins(key, names[i]))
            return true;
    return false;
}

/* Keys that change no result. */
static const char *const free_keys[] = {"description",
                                        "data.path",
                                        "runtime.threads",
                                        "runtime.peak_gflops",
                                        "trainer.profile",
                                        "trainer.flops",
                                        "trainer.histograms",
                                        "trainer.summary_interval",
                                        "trainer.activation_checkpointing",
                                        "trainer.checkpoint.every_",
                                        "trainer.checkpoint.keep",
                                        "trainer.checkpoint.best.keep",
                                        NULL};
/* Those with another value of which a run goes on: its length, and what is made at its end. */
static const char *const later_keys[] = {"trainer.epochs",
                                         "trainer.train_steps",
                                         "trainer.max_seconds",
                                         "export",
                                         "trainer.exports",
                                         "data.test",
                                         NULL};

/* Those that earlier steps bring, which have paths of this machine; their content is listed
 * apart. */
static bool is_of_steps(const rgmi_train_options *o, const char *key)
{
    static const char sets[] = "data.train_sets.";

    if (begins(key, sets))
        for (int64_t i = 0; i < o->pairs.count; i++)
            if (strcmp(key + strlen(sets), o->pairs.items[i]) == 0)
                return true;
    for (const rgmi_tokenizer_file *f = rgmi_tokenizer_files; o->tokenizer != NULL && f->name; f++)
        if (begins(key, "data.") && strcmp(key + strlen("data."), f->key) == 0)
            return true;
    return o->teachers.count > 0 && strcmp(key, "task.distillation.teacher") == 0;
}

static rgm_status add_value(rgmi_inputs *inputs, const rgmi_train_options *o,
                            const rgm_experiment_value *v, const char *folder)
{
    int64_t number = 0;
    char *text, key[256];
    rgm_status status;

    if (!v->given || v->value == NULL || begins_with_one(v->key, free_keys) ||
        is_of_steps(o, v->key))
        return RGM_OK;
    snprintf(key, sizeof key, "%s%s", begins_with_one(v->key, later_keys) ? RGMI_GOES_ON : "",
             v->key);
    RGM_TRY(rgm_yaml_flow_text(&text, v->value));
    status = rgmi_inputs_add(inputs, key, text);
    rgm_free(text);
    RGM_TRY(status);
    return begins(v->key, "data.") ? add_files(inputs, key, &number, folder, v->value) : RGM_OK;
}

static rgm_status add_experiment(rgmi_inputs *inputs, const rgmi_step_work *work)
{
    const rgmi_train_options *o = work->step->options;
    const rgm_experiment_value *values, *path;
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;
    int64_t count;

    RGM_GO(load(&e, work));
    count = rgm_experiment_values(&values, e);
    path = rgm_experiment_find(e, "data.path");
    for (int64_t i = 0; i < count; i++)
        RGM_GO(add_value(inputs, o, &values[i],
                         path != NULL && path->value != NULL ? path->value->text : NULL));
done:
    rgm_experiment_release(e);
    return status;
}

static rgm_status list(rgmi_inputs *inputs, const rgmi_step_work *work)
{
    static const char *const except[] = {"experiment", "over",     "pairs",
                                         "tokenizer",  "teachers", NULL};
    const rgmi_train_options *o = work->step->options;
    char key[160];

    RGM_TRY(rgmi_inputs_add_keys(inputs, work->step, except));
    RGM_TRY(add_experiment(inputs, work));
    for (int64_t i = 0; i < o->pairs.count; i++) {
        snprintf(key, sizeof key, "pairs.%s.source", o->pairs.items[i]);
        RGM_TRY(rgmi_inputs_add_side(inputs, work, key, o->pairs.items[i], RGMI_SOURCES));
        snprintf(key, sizeof key, "pairs.%s.target", o->pairs.items[i]);
        RGM_TRY(rgmi_inputs_add_side(inputs, work, key, o->pairs.items[i], RGMI_TARGETS));
    }
    if (o->tokenizer != NULL)
        RGM_TRY(rgmi_inputs_add_tokenizers(inputs, work, "tokenizer", o->tokenizer));
    for (int64_t i = 0; i < o->teachers.count; i++) {
        snprintf(key, sizeof key, i == 0 ? "teachers" : "teachers.%lld", (long long)i);
        RGM_TRY(rgmi_inputs_add_model(inputs, work, key, o->teachers.items[i]));
    }
    return RGM_OK;
}

/* ---- work ------------------------------------------------------------------------------------ */

static rgm_status ready(const rgmi_step_work *work)
{
    rgm_experiment *e;

    RGM_TRY(load(&e, work));
    rgm_experiment_release(e);
    return RGM_OK;
}

static void tell_run(const rgmi_step_work *work, rgm_open_run *run, bool ends)
{
    if (work->hooks->run != NULL)
        work->hooks->run(run, ends, work->hooks->payload);
}

static rgm_status run(rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;
    rgm_open_run *opened = NULL;
    rgm_run_options options;

    RGM_GO(load(&e, work));
    RGM_GO(rgm_experiment_prepare(&options, e, work->folder));
    options.hooks.should_stop = work->hooks->should_stop;
    options.hooks.payload = work->hooks->payload;
    RGM_GO(rgm_experiment_open(&opened, e, &options));
    tell_run(work, opened, false);
    status = rgm_run_complete(opened);
    tell_run(work, opened, true);
    if (status != RGM_OK)
        goto done;
    work->figures =
        (rgmi_step_figures){.names = {"steps"}, .values = {rgm_run_steps(opened)}, .count = 1};
done:
    rgm_run_close(opened);
    rgm_experiment_release(e);
    return status;
}

const rgmi_step_type rgmi_train_step = {
    .section = {.name = "train",
                .help = "a run of an experiment, with data, tokenizers and teachers of other steps",
                .options_size = sizeof(rgmi_train_options),
                .fields = fields},
    .product = RGMI_MAKES_MODEL,
    .check = check,
    .ready = ready,
    .list = list,
    .run = run,
};
