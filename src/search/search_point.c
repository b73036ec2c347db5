/*
 * From a point of the space to the document of a trial, and from a searcher's lengths to
 * batches.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search_file_internal.h"

#include <regimen/search_live.h>

#define ACCUMULATION "trainer.accumulation_steps"

bool rgm_search_file_is_own(const rgm_search_file *file)
{
    return file->options.entrypoint != NULL || file->options.command.count > 0;
}

/* ---- lengths -------------------------------------------------------------------------------- */

/* A whole number of at least 1 that a node or a value's text says; 0: it does not. */
static int64_t count_of(const char *text)
{
    char *end;
    long long number = text != NULL ? strtoll(text, &end, 10) : 0;

    return text != NULL && end != text && *end == '\0' && number >= 1 && number <= 1000000000000
               ? number
               : 0;
}

/* What hyperparameter `name` is at a point, as a count; 0: it is none of the space, or no count. */
static rgm_status value_count(int64_t *out, const rgm_search_file *file,
                              const rgm_hyper_value *values, const char *name)
{
    int64_t i = rgm_space_find(file->space, name);
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    *out = 0;
    if (i < 0 || values == NULL || !values[i].is_set)
        return RGM_OK;
    RGM_GO(rgm_space_print_value(&text, file->space, i, &values[i]));
    *out = count_of(text.data);
done:
    rgm_text_clear(&text);
    return status;
}

/* What a key of the file's own sections is, as a count; 0: it is not there, or no count. */
static int64_t file_count(const rgm_search_file *file, const char *section, const char *key)
{
    const rgm_yaml_node *map = rgm_yaml_find(rgm_yaml_root(file->left), section);
    const rgm_yaml_node *node = map != NULL ? rgm_yaml_find(map, key) : NULL;

    return node != NULL && node->kind == RGM_YAML_SCALAR ? count_of(node->text) : 0;
}

int64_t rgm_search_file_ranks(const rgm_search_file *file)
{
    int64_t slots = file->options.resources.slots_per_trial, ranks = 1;
    int64_t shards =
        rgm_space_find(file->space, "runtime.shards") >= 0 && !rgm_search_file_is_own(file)
            ? 1
            : file_count(file, "runtime", "shards");

    while (slots % (2 * ranks) == 0 && 2 * ranks <= shards)
        ranks *= 2;
    return ranks;
}

static const rgm_yaml_node *runtime_key(const rgm_search_file *file, const char *key)
{
    return rgm_yaml_find(rgm_yaml_find(rgm_yaml_root(file->left), "runtime"), key);
}

/* The master, or Slurm, gives each trial its devices: a file may say by which interface. */
static rgm_status check_device_key(const rgm_search_file *file)
{
    static const char *const interfaces[] = {"gpu", "cuda", "opencl"};
    const rgm_yaml_node *node = runtime_key(file, "device");

    for (size_t i = 0; node != NULL && i < sizeof interfaces / sizeof *interfaces; i++)
        if (node->kind == RGM_YAML_SCALAR && strcmp(node->text, interfaces[i]) == 0)
            return RGM_OK;
    return node == NULL
               ? RGM_OK
               : rgm_yaml_fail(node, "with resources.slot_type: gpu each trial gets its device "
                                     "from the master: leave runtime.device out, or say by which "
                                     "interface: gpu, cuda or opencl, without a number");
}

rgm_status rgmi_search_file_check_devices(const rgm_search_file *file)
{
    const rgm_search_resources *r = &file->options.resources;
    const rgm_yaml_node *section = rgm_yaml_find(rgm_yaml_root(file->merged), "resources");
    long long slots = r->slots_per_trial;

    if (r->slot_type != RGM_SLOT_GPU)
        return RGM_OK;
    RGM_TRY(check_device_key(file));
    if (r->pool != NULL && r->pool[0] != 0)
        return rgm_yaml_fail(section, "resources.pool is of processors, and slot_type is gpu: a "
                                      "master's devices are in no pool");
    if (rgm_search_file_ranks(file) == slots)
        return RGM_OK;
    if ((slots & (slots - 1)) != 0)
        return rgm_yaml_fail(section,
                             "with slot_type: gpu resources.slots_per_trial is a power of "
                             "two, since each device is a process of the trial; it is "
                             "%lld",
                             slots);
    return rgm_yaml_fail(section,
                         "resources.slots_per_trial is %lld with slot_type: gpu, and a process "
                         "drives one device: set runtime.shards to %lld, so that a trial is %lld "
                         "processes, or slots_per_trial to 1",
                         slots, slots, slots);
}

/* Batches of the data that an update takes: of one key with two names, which a file has only one
 * of. Hyperparameters of hooks are free names and set no key. */
static rgm_status batches_of_update(int64_t *out, const rgm_search_file *file,
                                    const rgm_hyper_value *values)
{
    *out = 0;
    if (!rgm_search_file_is_own(file))
        RGM_TRY(value_count(out, file, values, ACCUMULATION));
    if (*out == 0)
        *out = file_count(file, "trainer", "accumulation_steps");
    if (*out == 0)
        *out = file->options.optimizations.aggregation_frequency;
    return RGM_OK;
}

/* Whether a private step shares one batch out to its shards. */
static bool is_private(const rgm_search_file *file)
{
    const rgm_yaml_node *trainer = rgm_yaml_find(rgm_yaml_root(file->left), "trainer");
    const rgm_yaml_node *privacy = rgm_yaml_find(trainer, "privacy");
    const rgm_yaml_node *norm = rgm_yaml_find(privacy, "clipping_norm");
    double number;

    return rgm_space_find(file->space, "trainer.privacy.clipping_norm") >= 0 ||
           (norm != NULL && norm->kind == RGM_YAML_SCALAR &&
            rgm_yaml_float(&number, norm) == RGM_OK && number > 0);
}

/* Parts of an update with batches of their own. */
static rgm_status shards_of_update(int64_t *out, const rgm_search_file *file,
                                   const rgm_hyper_value *values)
{
    *out = 0;
    if (!is_private(file) && !rgm_search_file_is_own(file))
        RGM_TRY(value_count(out, file, values, "runtime.shards"));
    if (!is_private(file) && *out == 0)
        *out = file_count(file, "runtime", "shards");
    if (*out == 0)
        *out = 1;
    return RGM_OK;
}

/* Records of an update. */
static rgm_status batch_size(int64_t *out, const rgm_search_file *file,
                             const rgm_hyper_value *values)
{
    static const char *const names[] = {"global_batch_size", "data.batch_size", "batch_size"};
    int64_t batches, shards;

    *out = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && *out == 0; i++)
        RGM_TRY(value_count(out, file, values, names[i]));
    if (*out == 0)
        *out = file_count(file, "data", "batch_size");
    if (*out == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s: lengths in records and epochs need a batch size: data.batch_size, or "
                        "the hyperparameter global_batch_size",
                        file->path);
    RGM_TRY(batches_of_update(&batches, file, values));
    RGM_TRY(shards_of_update(&shards, file, values));
    if (__builtin_mul_overflow(batches, shards, &batches) ||
        __builtin_mul_overflow(*out, batches, out))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: %lld batches are too many for an update", file->path,
                        (long long)batches);
    return RGM_OK;
}

static rgm_status too_long(const rgm_search_file *file, rgm_length length)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "%s: %lld %s are too many", file->path, (long long)length.units,
                    rgm_length_unit_names[length.unit]);
}

static rgm_status records_to_batches(rgm_batches *out, const rgm_search_file *file,
                                     const rgm_hyper_value *values, int64_t records)
{
    int64_t size;

    RGM_TRY(batch_size(&size, file, values));
    out->batches = records / size;
    out->is_whole = records % size == 0;
    if (out->batches < 1)
        out->batches = 1;
    return RGM_OK;
}

rgm_status rgm_search_file_batches(rgm_batches *out, const rgm_search_file *file,
                                   const rgm_hyper_value *values, rgm_length length)
{
    int64_t records = length.units;

    *out = (rgm_batches){.batches = length.units, .is_whole = true};
    if (length.units == 0)
        return RGM_OK;
    if (length.unit == RGM_STEPS &&
        __builtin_mul_overflow(length.units, file->options.batches_per_step, &out->batches))
        return too_long(file, length);
    if (length.unit == RGM_EPOCHS && file->options.records_per_epoch == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s: lengths in epochs need records_per_epoch: how many records the "
                        "training data have",
                        file->path);
    if (length.unit == RGM_EPOCHS &&
        __builtin_mul_overflow(length.units, file->options.records_per_epoch, &records))
        return too_long(file, length);
    if (length.unit == RGM_EPOCHS || length.unit == RGM_RECORDS)
        RGM_TRY(records_to_batches(out, file, values, records));
    return out->batches > RGMI_MOST_BATCHES ? too_long(file, length) : RGM_OK;
}

rgm_length rgm_search_file_units(double *out, const rgm_search_file *file,
                                 const rgm_hyper_value *values, double batches)
{
    const rgm_length unknown = {.unit = RGM_BATCHES};
    rgm_length whole = file->max_length;
    rgm_batches longest = {0}, at;

    *out = batches;
    if (rgm_search_file_batches(&longest, file, values, file->max_length) != RGM_OK) {
        rgm_error_reset();
        return unknown;
    }
    if (longest.batches == 0)
        return unknown;
    *out = batches / (double)longest.batches * (double)file->max_length.units;
    whole.units = (int64_t)ceil(*out - 1e-9);
    if (rgm_search_file_batches(&at, file, values, whole) != RGM_OK)
        rgm_error_reset();
    else if ((double)at.batches == batches)
        *out = (double)whole.units;
    return file->max_length;
}

/* ---- the document --------------------------------------------------------------------------- */

/* What is told about a node is told about its hyperparameter. */
static void place_at(rgm_yaml_node *node, const rgm_yaml_node *as)
{
    node->line = as->line;
    node->column = as->column;
    node->origin = as->origin; /* of the merged file, which outlives the point's document */
    for (int64_t i = 0; i < node->count; i++)
        place_at(node->items[i], as);
}

/* The node of a name in the section `hyperparameters`, whichever way its groups are written. */
static const rgm_yaml_node *find_dotted(const rgm_yaml_node *map, const char *name)
{
    const rgm_yaml_node *whole = rgm_yaml_find(map, name);

    if (whole != NULL || map->kind != RGM_YAML_MAP)
        return whole;
    for (int64_t i = 0; i < map->count; i++) {
        size_t size = strlen(map->items[i]->key);

        if (strncmp(map->items[i]->key, name, size) == 0 && name[size] == '.') {
            const rgm_yaml_node *found = find_dotted(map->items[i], name + size + 1);

            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

static rgm_status put_value(rgm_yaml *document, const rgm_search_file *file, int64_t i,
                            const rgm_hyper_value *value)
{
    const rgm_hyperparameter *hyper = rgm_space_at(file->space, i);
    const rgm_yaml_node *section = file->nodes.hyperparameters, *place;
    rgm_yaml_node *node;
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_space_print_value(&text, file->space, i, value));
    place = section != NULL ? find_dotted(section, hyper->name) : NULL;
    RGM_GO(
        rgm_yaml_set(document, hyper->name, text.data, place != NULL ? place->origin : file->path));
    node = (rgm_yaml_node *)find_dotted(rgm_yaml_root(document), hyper->name);
    if (node != NULL && place != NULL)
        place_at(node, place);
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status set_int(rgm_yaml *document, const rgm_search_file *file, const char *key,
                          int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)number);
    return rgm_yaml_set(document, key, text, file->path);
}

static rgm_yaml_node *section_of(rgm_yaml *document, const char *name)
{
    rgm_yaml_node *found = rgm_yaml_find(rgm_yaml_root(document), name);

    return found != NULL && found->kind == RGM_YAML_MAP ? found : NULL;
}

static void take_out(rgm_yaml_node *map, const char *key)
{
    int64_t kept = 0;

    for (int64_t i = 0; map != NULL && i < map->count; i++)
        if (strcmp(map->items[i]->key, key) != 0)
            map->items[kept++] = map->items[i];
    if (map != NULL)
        map->count = kept;
}

/* Keys of trainer: that the file's own length is made of. */
static const char *const lengths[] = {"train_steps",          "epochs",
                                      "steps_per_epoch",      "validation_freq",
                                      "validation_per_epoch", "steps_per_loop"};

/* Of hooks these stay where they are, so that the document of a point makes the same one again. */
static bool is_set_below(const char *key)
{
    return strcmp(key, "train_steps") == 0 || strcmp(key, "steps_per_loop") == 0;
}

/* The document's own length gives way to the longest that the searcher may ask for; that of hooks
 * (stays) is the search file again. */
static rgm_status set_length(rgm_yaml *document, const rgm_search_file *file,
                             const rgm_hyper_value *values, bool stays)
{
    const rgm_search_settings *o = &file->options;
    rgm_batches longest, period;

    RGM_TRY(rgm_search_file_batches(&longest, file, values, file->max_length));
    if (longest.batches == 0)
        return RGM_OK;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!stays || !is_set_below(lengths[i]))
            take_out(section_of(document, "trainer"), lengths[i]);
    RGM_TRY(set_int(document, file, "trainer.train_steps", longest.batches));
    RGM_TRY(set_int(document, file, "trainer.steps_per_loop", o->batches_per_step));
    RGM_TRY(rgm_search_file_batches(&period, file, values, o->min_validation_period));
    return set_int(document, file, "trainer.validation_interval",
                   period.batches > 0 ? period.batches : longest.batches);
}

static rgm_status set_best(rgm_yaml *document, const rgm_search_file *file)
{
    rgm_yaml_node *trainer = section_of(document, "trainer");
    const rgm_yaml_node *checkpoint = trainer != NULL ? rgm_yaml_find(trainer, "checkpoint") : NULL;
    const rgm_yaml_node *best = checkpoint != NULL ? rgm_yaml_find(checkpoint, "best") : NULL;
    rgm_yaml_node *metric;

    if (file->metric == NULL || (best != NULL && rgm_yaml_find(best, "metric") != NULL))
        return RGM_OK;
    RGM_TRY(rgm_yaml_set(document, "trainer.checkpoint.best.metric", "x", file->path));
    metric = rgm_yaml_find(
        rgm_yaml_find(rgm_yaml_find(section_of(document, "trainer"), "checkpoint"), "best"),
        "metric");
    metric->text = file->metric; /* any text, whatever YAML would make of it */
    if (file->nodes.searcher != NULL)
        place_at(metric, file->nodes.searcher);
    return rgm_yaml_set(document, "trainer.checkpoint.best.mode",
                        file->smaller_is_better ? "min" : "max", file->path);
}

/* Keys of hooks are free: they stand in the section that they come from. */
static rgm_status put_free_values(rgm_yaml *document, const rgm_search_file *file,
                                  const rgm_hyper_value *values)
{
    rgm_text json = {0};
    rgm_status status = RGM_OK;

    if (file->options.entrypoint != NULL) {
        RGM_GO(rgm_yaml_set(document, "entrypoint", "x", file->path));
        rgm_yaml_find(rgm_yaml_root(document), "entrypoint")->text = file->options.entrypoint;
    }
    RGM_GO(rgm_space_print_section(&json, file->space, values));
    RGM_GO(rgm_yaml_set(document, "hyperparameters", json.data, file->path));
    take_out(rgm_yaml_root(document), "constraints");
done:
    rgm_text_clear(&json);
    return status;
}

/* The document of hooks is a search file as well, of this point alone: its metric and length. */
static rgm_status set_searcher(rgm_yaml *document, const rgm_search_file *file,
                               const rgm_hyper_value *values)
{
    rgm_batches longest;
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    if (file->metric == NULL)
        return RGM_OK;
    RGM_GO(rgm_search_file_batches(&longest, file, values, file->max_length));
    RGM_GO(rgm_text_printf(&text, "{name: single, metric: "));
    RGM_GO(rgm_json_print_text(&text, file->metric));
    RGM_GO(rgm_text_printf(&text, ", smaller_is_better: %s, max_length: {batches: %lld}}",
                           file->smaller_is_better ? "true" : "false",
                           (long long)(longest.batches > 0 ? longest.batches : 1)));
    RGM_GO(rgm_yaml_set(document, "searcher", text.data, file->path));
done:
    rgm_text_clear(&text);
    return status;
}

/* What the search says of a run, whoever says what is trained. */
static rgm_status set_run(rgm_yaml *document, const rgm_search_file *file,
                          const rgm_hyper_value *values, uint32_t seed, bool stays)
{
    const rgm_search_settings *o = &file->options;
    const rgm_yaml_node *runtime;

    RGM_TRY(set_int(document, file, "runtime.seed", seed));
    runtime = section_of(document, "runtime");
    if (rgm_yaml_find(runtime, "threads") == NULL)
        RGM_TRY(set_int(document, file, "runtime.threads",
                        o->resources.slots_per_trial / rgm_search_file_ranks(file)));
    if (o->resources.slot_type == RGM_SLOT_GPU && rgm_yaml_find(runtime, "device") == NULL)
        RGM_TRY(rgm_yaml_set(document, "runtime.device", "gpu", file->path));
    if (o->optimizations.aggregation_frequency > 1) { /* of its two names one */
        RGM_TRY(set_int(document, file, ACCUMULATION, o->optimizations.aggregation_frequency));
        take_out(section_of(document, "optimizations"), "aggregation_frequency");
    }
    RGM_TRY(set_length(document, file, values, stays));
    return set_best(document, file);
}

static rgm_status fill_in(rgm_yaml *document, const rgm_search_file *file,
                          const rgm_hyper_value *values, uint32_t seed)
{
    if (rgm_search_file_is_own(file)) {
        RGM_TRY(put_free_values(document, file, values));
        RGM_TRY(set_searcher(document, file, values));
    } else {
        for (int64_t i = 0; i < rgm_space_count(file->space); i++)
            if (values[i].is_set)
                RGM_TRY(put_value(document, file, i, &values[i]));
    }
    if (file->options.command.count >
        0) /* the program is told the rest, and has no such sections */
        return RGM_OK;
    return set_run(document, file, values, seed, rgm_search_file_is_own(file));
}

/* ---- hyperparameters that no document has ---------------------------------------------------- */

/* Why a trial would not have the value of a hyperparameter; NULL: it has it. */
static const char *why_overruled(const rgm_search_file *file, const char *name)
{
    static const struct {
        const char *key, *why; /* a key that ends in '.': all below it */
    } rows[] = {
        {"runtime.seed", "each trial has a seed of its own, drawn from "
                         "reproducibility.experiment_seed"},
        {"trainer.validation_interval", "min_validation_period says when a trial validates"},
        {"trainer.max_seconds", "the searcher says where a trial ends"},
        {"trainer.early_stopping.", "the searcher says where a trial ends"},
        {"trainer.checkpoint.every_", "checkpoint_policy says when a checkpoint is made"},
        {"trainer.checkpoint.keep", "checkpoint_storage says which checkpoints are kept"},
        {"export", "a trial exports nothing; regimen export does"},
    };

    if (strcmp(name, "runtime.device") == 0 && file->options.resources.slot_type == RGM_SLOT_GPU)
        return "with resources.slot_type: gpu each trial gets its device from the master";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(name, rows[i].key, strlen(rows[i].key)) == 0)
            return rows[i].why;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && file->max_length.units > 0; i++)
        if (strncmp(name, "trainer.", 8) == 0 && strcmp(name + 8, lengths[i]) == 0)
            return "the searcher says how long a trial trains, and batches_per_step how long a "
                   "step is";
    if (strcmp(name, ACCUMULATION) == 0 && file->options.optimizations.aggregation_frequency > 1)
        return "optimizations.aggregation_frequency says the same; only one of them may be set";
    return NULL;
}

rgm_status rgmi_search_file_check_overruled(const rgm_search_file *file, rgmi_faults *mistakes)
{
    for (int64_t i = 0; i < rgm_space_count(file->space); i++) {
        const char *name = rgm_space_at(file->space, i)->name;
        const char *why = why_overruled(file, name);
        const rgm_yaml_node *place = NULL;

        if (why == NULL)
            continue;
        if (file->nodes.hyperparameters != NULL)
            place = find_dotted(file->nodes.hyperparameters, name);
        RGM_TRY(rgmi_faults_note(mistakes,
                                 rgm_yaml_fail(place != NULL ? place : rgm_yaml_root(file->merged),
                                               "the hyperparameter '%s' would have no effect: %s",
                                               name, why)));
    }
    return RGM_OK;
}

rgm_status rgm_search_file_point(rgm_yaml **out, const rgm_search_file *file,
                                 const rgm_hyper_value *values, uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgm_yaml *document = NULL;

    *out = NULL;
    RGM_GO(rgm_yaml_parse(&document, "", 0, file->path));
    RGM_GO(rgm_yaml_merge(document, rgm_search_file_is_own(file) ? file->merged : file->left));
    RGM_GO(fill_in(document, file, values, seed));
    *out = document;
    document = NULL;
done:
    rgm_yaml_release(document);
    return status;
}

rgm_status rgm_search_file_point_over(rgm_yaml **out, const rgm_search_file *file,
                                      const rgm_yaml *document, const rgm_hyper_value *values,
                                      uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgm_yaml *point = NULL, *over = NULL;
    rgm_yaml_node *root;
    int64_t kept = 0;

    *out = NULL;
    RGM_GO(rgm_yaml_parse(&point, "", 0, file->path));
    RGM_GO(rgm_yaml_parse(&over, "", 0, file->path));
    RGM_GO(rgm_yaml_merge(point, document));
    RGM_GO(rgm_yaml_merge(over, file->merged));
    root = rgm_yaml_root(over);
    for (int64_t i = 0; i < root->count; i++)
        if (strcmp(root->items[i]->key, "trainer") == 0 ||
            strcmp(root->items[i]->key, "runtime") == 0)
            root->items[kept++] = root->items[i];
    root->count = kept;
    RGM_GO(rgm_yaml_merge(point, over));
    RGM_GO(set_run(point, file, values, seed, false));
    *out = point;
    point = NULL;
done:
    rgm_yaml_release(over);
    rgm_yaml_release(point);
    return status;
}
