/*
 * The sections that a search has beside those of its subject: tables, what is refused with its
 * reason, and a reader that goes on behind a mistake.
 */
#include <stdio.h>
#include <string.h>

#include "search_file_internal.h"

/* ---- tables --------------------------------------------------------------------------------- */

static const char *const policies[] = {"best", "all", "none", NULL};
const char *const rgm_slot_type_names[] = {"cpu", "gpu", NULL};

#define RGM_OPTIONS rgm_checkpoint_storage
static const rgm_field storage_fields[] = {
    RGM_INT_FIELD(save_experiment_best, 0, 1e9, "best checkpoints of the whole search"),
    RGM_INT_FIELD(save_trial_best, 0, 1e9, "best checkpoints of each trial"),
    RGM_INT_FIELD(save_trial_latest, 0, 1e9, "newest checkpoints of each trial"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS struct rgm_search_reproducibility
static const rgm_field seed_fields[] = {
    RGM_INT_FIELD(experiment_seed, 0, 2147483647,
                  "of the searcher and, by its draws, of every trial; default: the time"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_search_resources
static const rgm_field resource_fields[] = {
    RGM_CHOICE_FIELD(slot_type, rgm_slot_type_names,
                     "what a slot is: cpu, cores; gpu, a device of `regimen master --devices`, or "
                     "of a Slurm job"),
    RGM_INT_FIELD(slots_per_trial, 1, 1024,
                  "cores of a trial: its threads, or up to runtime.shards processes; or its "
                  "devices, each with a process"),
    RGM_INT_FIELD(max_slots, 0, 1e9, "slots of all trials together; 0: no bound"),
    RGM_INT_FIELD(priority, 1, 99, "small first"),
    RGM_FLOAT_FIELD(weight, RGM_ABOVE_0, 1e9, "of a fair share"),
    RGM_TEXT_FIELD(pool, "slots of that name, by the master's file"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_search_limits
static const rgm_field limit_fields[] = {
    RGM_FLOAT_FIELD(trial_seconds, 0, 1e9,
                    "a trial whose workloads took so long saves and ends; 0: no bound"),
    RGM_FLOAT_FIELD(silent_seconds, 0, 1e9,
                    "a process that says nothing and uses no processor for so long has failed; 0: "
                    "no bound"),
    RGM_FLOAT_FIELD(search_seconds, 0, 1e9,
                    "a search whose trials were at work for so long ends with what it has; 0: no "
                    "bound"),
    RGM_INT_FIELD(disk_bytes, 0, 1e18,
                  "of its folder in the master's: before there are more it is paused; 0: no bound"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_search_logs
static const rgm_field log_fields[] = {
    RGM_TEXTS_FIELD(fatal, "patterns: a trial that fails with such a line in its log is not begun "
                           "again"),
    RGM_TEXTS_FIELD(drain,
                    "patterns: the slots of a trial that fails with such a line get no trial "
                    "any more"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS struct rgm_search_optimizations
static const rgm_field optimization_fields[] = {
    RGM_INT_FIELD(aggregation_frequency, 1, 1e9,
                  "batches of data whose gradients make one update, and one batch of the search: "
                  "trainer.accumulation_steps"),
    RGM_BOOL_FIELD(average_aggregated_gradients, "true: updates take the mean over them"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS struct rgm_search_environment
static const rgm_field environment_fields[] = {
    RGM_TEXTS_FIELD(environment_variables, "NAME=VALUE of the processes of trials"), {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_scheduler_options
static const rgm_field scheduler_fields[] = {
    {.name = "type",
     .kind = RGM_FIELD_TEXT,
     .offset = offsetof(rgm_scheduler_options, name),
     .help = "where trials run: local, slurm, pbs, lsf, kubectl, or a name of the master's file"},
    RGM_TEXT_FIELD(partition, "of jobs: sbatch --partition, or {queue}"),
    RGM_TEXT_FIELD(account, "of jobs: sbatch --account, or {account}"),
    RGM_TEXT_FIELD(qos, "of jobs: sbatch --qos, or {qos}"),
    RGM_TEXT_FIELD(time, "of jobs: sbatch --time, e.g. 4:00:00, or {time}"),
    RGM_TEXT_FIELD(memory, "of jobs: sbatch --mem, e.g. 4G, or {memory}"),
    RGM_TEXT_FIELD(gres,
                   "of Slurm's jobs: what resources.slot_type gpu asks for, e.g. gpu:a100 (gpu)"),
    RGM_TEXTS_FIELD(options, "of jobs: more options of sbatch, each whole, or {options}"),
    RGM_TEXTS_FIELD(setup, "of jobs: lines of shell before the trial"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_search_settings
static const rgm_field option_fields[] = {
    RGM_TEXT_FIELD(description, "what the search is about"),
    RGM_TEXT_FIELD(project, "what the search belongs to, by which lists can be filtered"),
    RGM_TEXT_FIELD(entrypoint, "FILE.so or FILE.so:NAME with a program's own model and data; or a "
                               "list: words of a command that trains a trial"),
    RGM_TEXTS_FIELD(include,
                    "what is kept with the entrypoint: patterns of files below its folder"),
    RGM_TEXT_FIELD(code_folder, "the folder of the entrypoint; default: that of this file"),
    RGM_INT_FIELD(batches_per_step, 1, 1e12,
                  "batches of a step, over which training metrics are taken"),
    RGM_INT_FIELD(records_per_epoch, 1, 1e15, "what lengths in epochs count with"),
    RGM_BOOL_FIELD(perform_initial_validation, "validate before the first step"),
    RGM_CHOICE_FIELD(checkpoint_policy, policies,
                     "checkpoints of themselves behind validations: best of the search, all, none"),
    RGM_GROUP_FIELD(checkpoint_storage, storage_fields,
                    "checkpoints that are kept when the search is over"),
    RGM_INT_FIELD(max_restarts, 0, 1e9, "failures of a trial that are followed by another try"),
    RGM_GROUP_FIELD(reproducibility, seed_fields, "what draws begin with"),
    RGM_GROUP_FIELD(resources, resource_fields, "what trials may use"),
    RGM_GROUP_FIELD(limits, limit_fields, "bounds on time and room"),
    RGM_GROUP_FIELD(logs, log_fields, "what lines of logs say of failures"),
    RGM_GROUP_FIELD(optimizations, optimization_fields, "how gradients are put together"),
    RGM_GROUP_FIELD(environment, environment_fields, "what trials' processes begin with"),
    RGM_GROUP_FIELD(scheduler, scheduler_fields, "where trials run"),
    RGM_BOOL_FIELD(debug, "trials log at the level debug"),
    {0}};
#undef RGM_OPTIONS

/* The other form of `entrypoint`. */
static const rgm_field command_fields[] = {{.name = "entrypoint",
                                            .kind = RGM_FIELD_TEXTS,
                                            .offset = offsetof(rgm_search_settings, command)},
                                           {0}};

#define NODE_ROW(member, text)                                                                     \
    {                                                                                              \
        .name = #member, .kind = RGM_FIELD_NODE, .offset = offsetof(rgmi_search_nodes, member),    \
        .help = (text)                                                                             \
    }
static const rgm_field node_fields[] = {
    NODE_ROW(hyperparameters, "keys of the file, each with the values that it may take"),
    NODE_ROW(constraints, "a list of relations between hyperparameters: \"a <= b\""),
    NODE_ROW(searcher, "name, metric, smaller_is_better, sampler and the method's own keys "
                       "(docs/search.md has them)"),
    NODE_ROW(labels, "a list of texts, or a map whose keys are they"),
    NODE_ROW(min_validation_period,
             "validate at least as often: steps, or {batches|records|epochs: N}"),
    NODE_ROW(min_checkpoint_period, "save at least as often: as above"),
    {0}};

/* Fields of PEDL and Determined that mean nothing here, or that another key says. */
static const struct {
    const char *key, *why;
} refused[] = {
    {"environment.image", "trials are processes, not containers"},
    {"environment.force_pull_image", "trials are processes, not containers"},
    {"environment.registry_auth", "trials are processes, not containers"},
    {"environment.ports", "trials are processes, not containers"},
    {"environment.proxy_ports", "trials are processes, not containers"},
    {"environment.add_capabilities", "trials are processes, not containers"},
    {"environment.drop_capabilities", "trials are processes, not containers"},
    {"environment.pod_spec", "trials are processes, not containers"},
    {"bind_mounts", "trials are processes and see the files of their machine"},
    {"security", "trials are processes and see the files of their machine"},
    {"resources.shm_size", "trials are processes, not containers"},
    {"resources.devices", "say slot_type: gpu; regimen master --devices names those it shares out"},
    {"resources.agent_label", "say resources.pool: a name of the master's file"},
    {"resources.resource_pool", "say resources.pool: a name of the master's file"},
    {"resources.native_parallel",
     "slots are threads of a trial, or with runtime.shards processes that train it together"},
    {"resources.is_single_node", "the processes of a trial are always on one node"},
    {"optimizations.gradient_compression", "say runtime.gradient_exchange: bf16"},
    {"optimizations.tensor_fusion_threshold",
     "gradients travel in buckets, whose size follows that of the model"},
    {"optimizations.tensor_fusion_cycle_time",
     "gradients travel in buckets, whose size follows that of the model"},
    {"optimizations.auto_tune_tensor_fusion",
     "gradients travel in buckets, whose size follows that of the model"},
    {"optimizations.grad_updates_size_file",
     "gradients travel in buckets, whose size follows that of the model"},
    {"optimizations.average_training_metrics", "training metrics are those of all records"},
    {"optimizations.mixed_precision", "say runtime.mixed_precision: bf16"},
    {"checkpoint_storage.type", "checkpoints stand in the run folders of their trials"},
    {"checkpoint_storage.host_path", "checkpoints stand in the run folders of their trials"},
    {"checkpoint_storage.storage_path", "checkpoints stand in the run folders of their trials"},
    {"checkpoint_storage.container_path", "checkpoints stand in the run folders of their trials"},
    {"checkpoint_storage.propagation", "checkpoints stand in the run folders of their trials"},
    {"checkpoint_storage.bucket", "checkpoints stand in the run folders of their trials"},
    {"tensorboard_storage", "event files stand in the run folders of their trials"},
    {"data_layer", "data are read where they lie"},
    {"scheduling_unit", "say batches_per_step"},
    {"profiling", "say trainer.profile"},
    {"name", "say description"},
    {"workspace", "say labels"},
    {"project", "say labels"},
    {"slurm", "say scheduler: {type: slurm}"},
    {"pbs", "say scheduler: {type: pbs}"},
    {"log_policies", "a log line decides nothing here"},
    {"retention_policy", "logs stand in the run folders of their trials"},
    {"preemption_timeout", "a trial is stopped between two workloads; say limits.silent_seconds"},
    {"integrations", "there are none"},
};

/* ---- reading -------------------------------------------------------------------------------- */

static const rgm_field *find_field(const rgm_field *fields, const char *name)
{
    while (fields->name != NULL && strcmp(fields->name, name) != 0)
        fields++;
    return fields->name != NULL ? fields : NULL;
}

static const char *why_refused(const char *path)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(refused[i].key, path) == 0)
            return refused[i].why;
    return NULL;
}

/* One key as the whole of its map, so that the next one is read whatever this one is. */
static rgm_status read_one(void *options, const rgm_field *fields, rgm_yaml_node *item,
                           const char *path, rgm_arena *arena)
{
    rgm_yaml_node *items[] = {item};
    rgm_yaml_node map = {.kind = RGM_YAML_MAP,
                         .origin = item->origin,
                         .line = item->line,
                         .column = item->column,
                         .items = items,
                         .count = 1};

    return rgm_options_read(options, fields, &map, path, NULL, arena);
}

static rgm_status read_group(rgmi_faults *mistakes, void *options, const rgm_field *fields,
                             const rgm_yaml_node *map, rgm_arena *arena)
{
    for (int64_t i = 0; i < map->count; i++) {
        char path[160];
        const char *why;

        snprintf(path, sizeof path, "%.60s.%.90s", map->key, map->items[i]->key);
        why = why_refused(path);
        RGM_TRY(rgmi_faults_note(
            mistakes, why != NULL
                          ? rgm_yaml_fail(map->items[i], "'%s' has no meaning here: %s", path, why)
                          : read_one(options, fields, map->items[i], map->key, arena)));
    }
    return RGM_OK;
}

static rgm_status unknown(const rgm_search_file *file, const rgm_yaml_node *item)
{
    const char *names[64];
    int64_t count = 0;

    for (const rgm_field *f = option_fields; f->name != NULL; f++)
        names[count++] = f->name;
    for (const rgm_field *f = node_fields; f->name != NULL; f++)
        names[count++] = f->name;
    for (const char *const *n = file->subject.sections; *n != NULL && count < 64; n++)
        names[count++] = *n;
    return rgm_yaml_fail(item, "unknown section '%s'%s", item->key,
                         rgm_did_you_mean(item->key, names, count, NULL, "there are ").text);
}

/* Of a search without a subject whatever is not the search's own. */
static bool is_subject_section(const rgm_search_file *file, const char *name)
{
    const char *const *names = file->subject.sections;

    if (!file->has_subject)
        return find_field(option_fields, name) == NULL && find_field(node_fields, name) == NULL &&
               why_refused(name) == NULL;
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* *stays: the item is the subject's too. */
static rgm_status read_item(rgm_search_file *file, rgmi_faults *mistakes, rgm_yaml_node *item,
                            bool *stays)
{
    const rgm_field *field = find_field(option_fields, item->key);
    const char *why = why_refused(item->key);

    *stays = is_subject_section(file, item->key);
    if (strcmp(item->key, "entrypoint") == 0 && item->kind == RGM_YAML_LIST)
        return rgmi_faults_note(mistakes,
                                read_one(&file->options, command_fields, item, "", file->arena));
    if (field != NULL && field->kind == RGM_FIELD_GROUP && item->kind == RGM_YAML_MAP)
        return read_group(mistakes, (char *)&file->options + field->offset, field->group, item,
                          file->arena);
    if (field != NULL)
        return rgmi_faults_note(mistakes,
                                read_one(&file->options, option_fields, item, "", file->arena));
    if (find_field(node_fields, item->key) != NULL)
        return read_one(&file->nodes, node_fields, item, "", file->arena);
    if (*stays)
        return RGM_OK;
    return rgmi_faults_note(
        mistakes, why != NULL ? rgm_yaml_fail(item, "'%s' has no meaning here: %s", item->key, why)
                              : unknown(file, item));
}

/* ---- what tables cannot say ----------------------------------------------------------------- */

static rgm_status read_labels(rgm_search_file *file, const rgm_yaml_node *node)
{
    const char **labels;

    if (node == NULL)
        return RGM_OK;
    if (node->kind == RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "labels are a list of texts, or a map whose keys are they");
    labels = rgm_arena_alloc(file->arena, (size_t)(node->count + 1) * sizeof *labels);
    if (labels == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for labels");
    for (int64_t i = 0; i < node->count; i++) {
        const rgm_yaml_node *item = node->items[i];

        labels[i] = node->kind == RGM_YAML_MAP ? item->key : item->text;
        if (node->kind == RGM_YAML_LIST && item->kind != RGM_YAML_SCALAR)
            return rgm_yaml_fail(item, "a label is a text");
        if (labels[i][0] == '\0' || strlen(labels[i]) > 255)
            return rgm_yaml_fail(item, "a label has 1 to 255 bytes");
        for (int64_t k = 0; k < i && node->kind == RGM_YAML_LIST && i < 1000; k++)
            if (strcmp(labels[k], labels[i]) == 0)
                return rgm_yaml_fail(item, "the label '%s' stands twice", labels[i]);
    }
    file->options.labels = (rgm_texts){labels, node->count};
    return RGM_OK;
}

static rgm_status read_period(rgm_length *out, const rgm_yaml_node *node, const char *path)
{
    rgm_length length;

    if (node == NULL)
        return RGM_OK;
    RGM_TRY(rgm_length_read(&length, node, path));
    if (length.units < 1)
        return rgm_yaml_fail(node, "'%s' is %lld, but must be above 0", path,
                             (long long)length.units);
    *out = length;
    return RGM_OK;
}

static rgm_status check_variables(const rgm_search_file *file)
{
    const rgm_texts *texts = &file->options.environment.environment_variables;
    const rgm_yaml_node *section = rgm_yaml_find(
        rgm_yaml_find(rgm_yaml_root(file->merged), "environment"), "environment_variables");

    for (int64_t i = 0; i < texts->count; i++) {
        size_t size = strcspn(texts->items[i], "=");
        const rgm_yaml_node *place = section->kind == RGM_YAML_LIST ? section->items[i] : section;

        if (size == 0 || texts->items[i][size] != '=')
            return rgm_yaml_fail(place, "'%s' is not NAME=VALUE", texts->items[i]);
        if (file->options.resources.slot_type == RGM_SLOT_GPU &&
            strncmp(texts->items[i], "CUDA_VISIBLE_DEVICES=", size + 1) == 0)
            return rgm_yaml_fail(place, "CUDA_VISIBLE_DEVICES is set for each trial, to the "
                                        "devices of its slots (resources.slot_type: gpu)");
    }
    return RGM_OK;
}

/* One batch of the search is one update of the trainer: both keys would say how many it takes. */
static rgm_status check_optimizations(const rgm_search_file *file)
{
    const rgm_yaml_node *root = rgm_yaml_root(file->merged);
    const rgm_yaml_node *section = rgm_yaml_find(root, "optimizations");
    const rgm_yaml_node *ours = rgm_yaml_find(rgm_yaml_find(root, "trainer"), "accumulation_steps");
    const rgm_yaml_node *node = rgm_yaml_find(section, "aggregation_frequency");

    if (node != NULL && ours != NULL)
        return rgm_yaml_fail(node,
                             "optimizations.aggregation_frequency is trainer.accumulation_steps by "
                             "another name; only one of them may be set");
    if (!file->options.optimizations.average_aggregated_gradients)
        return rgm_yaml_fail(
            rgm_yaml_find(section, "average_aggregated_gradients"),
            "optimizations.average_aggregated_gradients: false is not possible: an "
            "update takes the mean over its items; multiply the learning rate");
    return RGM_OK;
}

static rgm_status check_resources(const rgm_search_file *file)
{
    const rgm_search_resources *r = &file->options.resources;

    if (r->max_slots > 0 && r->max_slots < r->slots_per_trial)
        return rgm_yaml_fail(
            rgm_yaml_find(rgm_yaml_root(file->merged), "resources"),
            "resources.max_slots is %lld, but a trial takes slots_per_trial = %lld",
            (long long)r->max_slots, (long long)r->slots_per_trial);
    return RGM_OK;
}

/* An option of sbatch that asks for devices in a way of its own. */
static const char *option_of_devices(const rgm_scheduler_options *o)
{
    for (int64_t i = 0; i < o->options.count; i++)
        if (strncmp(o->options.items[i], "--gres", 6) == 0 ||
            strncmp(o->options.items[i], "--gpus", 6) == 0)
            return o->options.items[i];
    return NULL;
}

static rgm_status check_gres(const rgm_search_file *file, const rgm_yaml_node *section)
{
    const rgm_scheduler_options *o = &file->options.scheduler;
    bool is_gpu = file->options.resources.slot_type == RGM_SLOT_GPU;
    const char *option = option_of_devices(o);

    if (is_gpu && o->type == RGM_SCHEDULER_COMMANDS)
        return rgm_yaml_fail(section,
                             "resources.slot_type: gpu is of this machine and of Slurm: with "
                             "scheduler.type: %s ask for devices by its options, and say "
                             "runtime.device",
                             o->name);
    if (is_gpu && option != NULL)
        return rgm_yaml_fail(rgm_yaml_find(section, "options"),
                             "with resources.slot_type: gpu a job asks for its devices by itself; "
                             "say scheduler.gres (gpu:a100) in the place of '%s'",
                             option);
    if (o->gres == NULL)
        return RGM_OK;
    if (!is_gpu)
        return rgm_yaml_fail(rgm_yaml_find(section, "gres"),
                             "scheduler.gres is about devices; add resources.slot_type: gpu");
    if (strlen(o->gres) > 60 || o->gres[strcspn(o->gres, ",= \t\n")] != 0)
        return rgm_yaml_fail(rgm_yaml_find(section, "gres"),
                             "scheduler.gres is '%s', must be a name or NAME:TYPE; its number is "
                             "slots_per_trial",
                             o->gres);
    return RGM_OK;
}

/* Which there are besides local and slurm, the master knows that is asked to run it. */
static rgm_status check_scheduler(rgm_search_file *file)
{
    rgm_scheduler_options *o = &file->options.scheduler;
    const rgm_yaml_node *section = rgm_yaml_find(rgm_yaml_root(file->merged), "scheduler");
    size_t size = strlen(o->name);

    if (size < 1 || size > 32 ||
        strspn(o->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != size)
        return rgm_yaml_fail(section, "scheduler.type is 1 to 32 of A-Z a-z 0-9 - _");
    o->type = strcmp(o->name, "local") == 0   ? RGM_SCHEDULER_LOCAL
              : strcmp(o->name, "slurm") == 0 ? RGM_SCHEDULER_SLURM
                                              : RGM_SCHEDULER_COMMANDS;
    if (o->type != RGM_SCHEDULER_LOCAL && file->options.resources.pool != NULL)
        return rgm_yaml_fail(section, "resources.pool is of the slots of this machine, and "
                                      "scheduler.partition of jobs");

    if (o->type == RGM_SCHEDULER_LOCAL && section != NULL && section->kind == RGM_YAML_MAP)
        for (int64_t i = 0; i < section->count; i++)
            if (strcmp(section->items[i]->key, "type") != 0)
                return rgm_yaml_fail(
                    section->items[i],
                    "scheduler.%s is about Slurm and other queues; add scheduler.type: "
                    "slurm",
                    section->items[i]->key);
    return check_gres(file, section);
}

/* What a run decides by itself and a trial leaves to the searcher. */
static rgm_status check_trainer(const rgm_search_file *file, rgmi_faults *mistakes)
{
    static const struct {
        const char *group, *key, *why;
    } left[] = {
        {"early_stopping", "patience", "the searcher decides when a trial ends"},
        {NULL, "max_seconds",
         "a trial ends where the searcher says so; limits.trial_seconds ends one that takes too "
         "long"},
    };
    const rgm_yaml_node *trainer = rgm_yaml_find(rgm_yaml_root(file->merged), "trainer");

    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        const rgm_yaml_node *map =
            left[i].group != NULL ? rgm_yaml_find(trainer, left[i].group) : trainer;
        const rgm_yaml_node *node = map != NULL ? rgm_yaml_find(map, left[i].key) : NULL;
        double number = 0;

        if (node != NULL && node->kind == RGM_YAML_SCALAR &&
            rgm_number_parse(&number, node->text) && number > 0)
            RGM_TRY(rgmi_faults_note(
                mistakes,
                rgm_yaml_fail(node, "trainer.%s%s%s has no meaning in a search: %s",
                              left[i].group != NULL ? left[i].group : "",
                              left[i].group != NULL ? "." : "", left[i].key, left[i].why)));
    }
    return RGM_OK;
}

static rgm_status check_entrypoint(const rgm_search_file *file, rgmi_faults *mistakes)
{
    /* The last four mean something beside functions, but nothing to a command. */
    static const char *const own[] = {"task",    "tasks",         "model",        "optimizer",
                                      "export",  "actions",       "restrictions", "trainer",
                                      "runtime", "optimizations", "data"};
    const rgm_yaml_node *root = rgm_yaml_root(file->merged);
    bool is_command = file->options.command.count > 0;

    for (int i = 0; i < (is_command ? 11 : file->options.entrypoint != NULL ? 7 : 0); i++) {
        const rgm_yaml_node *section = rgm_yaml_find(root, own[i]);

        if (section != NULL)
            RGM_TRY(rgmi_faults_note(
                mistakes, rgm_yaml_fail(section, "'%s' beside 'entrypoint', whose %s all of it",
                                        own[i], is_command ? "program says" : "functions say")));
    }
    return RGM_OK;
}

static void set_defaults(rgm_search_settings *o)
{
    *o = (rgm_search_settings){
        .batches_per_step = 100,
        .checkpoint_storage = {.save_trial_best = 1, .save_trial_latest = 1},
        .max_restarts = 5,
        .reproducibility = {.experiment_seed = -1},
        .resources = {.slots_per_trial = 1, .priority = 42, .weight = 1},
        .limits = {.silent_seconds = 3600},
        .scheduler = {.name = "local"},
        .optimizations = {.aggregation_frequency = 1, .average_aggregated_gradients = true},
    };
}

/* Take what the search has read out of the subject's document. */
static rgm_status read_items(rgm_search_file *file, rgmi_faults *mistakes)
{
    const rgm_yaml_node *root = rgm_yaml_root(file->merged);
    rgm_yaml_node *left = rgm_yaml_root(file->left);
    int64_t kept = 0;

    if (root->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(root, "a search file is a map of sections");
    for (int64_t i = 0; i < root->count; i++) {
        bool stays;

        RGM_TRY(read_item(file, mistakes, root->items[i], &stays));
        if (stays) /* both documents have the same sections in the same order */
            left->items[kept++] = left->items[i];
    }
    left->count = kept;
    return RGM_OK;
}

static rgm_status check_patterns(const rgm_search_file *file, rgmi_faults *mistakes,
                                 const rgm_texts *patterns, const char *key)
{
    const rgm_yaml_node *section = rgm_yaml_find(rgm_yaml_root(file->merged), "logs");

    for (int64_t i = 0; i < patterns->count; i++) {
        rgm_line_pattern *pattern;
        rgm_status status = rgm_line_pattern_create(&pattern, patterns->items[i], false);

        rgm_line_pattern_release(pattern);
        if (status == RGM_ERR_CONFIG)
            status = rgm_yaml_fail(section, "%s: %s", key, rgm_error_message());
        RGM_TRY(rgmi_faults_note(mistakes, status));
    }
    return RGM_OK;
}

/* Jobs and devices have machines of their own schedulers. */
static rgm_status check_logs(const rgm_search_file *file, rgmi_faults *mistakes)
{
    const rgm_search_settings *o = &file->options;
    const rgm_yaml_node *section = rgm_yaml_find(rgm_yaml_root(file->merged), "logs");

    RGM_TRY(check_patterns(file, mistakes, &o->logs.fatal, "logs.fatal"));
    RGM_TRY(check_patterns(file, mistakes, &o->logs.drain, "logs.drain"));
    if (o->logs.drain.count > 0 &&
        (o->scheduler.type != RGM_SCHEDULER_LOCAL || o->resources.slot_type != RGM_SLOT_CPU))
        return rgmi_faults_note(
            mistakes, rgm_yaml_fail(section, "logs.drain is for slots that are processors of the "
                                             "master's machine: which machine a job gets is its "
                                             "scheduler's affair"));
    return RGM_OK;
}

rgm_status rgmi_search_options_read(rgm_search_file *file, rgmi_faults *mistakes)
{
    rgm_search_settings *o = &file->options;

    set_defaults(o);
    RGM_TRY(read_items(file, mistakes));
    if (o->command.count > 0 &&
        rgm_yaml_find(rgm_yaml_root(file->merged), "batches_per_step") == NULL)
        o->batches_per_step = 1; /* a batch is what the program counts */
    RGM_TRY(rgmi_faults_note(mistakes, read_labels(file, file->nodes.labels)));
    RGM_TRY(rgmi_faults_note(mistakes, read_period(&o->min_validation_period,
                                                   file->nodes.min_validation_period,
                                                   "min_validation_period")));
    RGM_TRY(rgmi_faults_note(mistakes, read_period(&o->min_checkpoint_period,
                                                   file->nodes.min_checkpoint_period,
                                                   "min_checkpoint_period")));
    RGM_TRY(rgmi_faults_note(mistakes, check_variables(file)));
    RGM_TRY(rgmi_faults_note(mistakes, check_optimizations(file)));
    RGM_TRY(rgmi_faults_note(mistakes, check_resources(file)));
    RGM_TRY(rgmi_faults_note(mistakes, check_scheduler(file)));
    RGM_TRY(check_logs(file, mistakes));
    RGM_TRY(check_entrypoint(file, mistakes));
    return check_trainer(file, mistakes);
}

/* ---- the whole file ------------------------------------------------------------------------- */

/* The value of a field as YAML has it; nothing where it is not given and has no default. */
static rgm_status print_value(rgm_text *out, const rgm_field *field, const void *options)
{
    const char *at = (const char *)options + field->offset;

    switch (field->kind) {
    case RGM_FIELD_INT:
        return (double)*(const int64_t *)(const void *)at < field->min
                   ? RGM_OK
                   : rgm_text_printf(out, "%lld", (long long)*(const int64_t *)(const void *)at);
    case RGM_FIELD_FLOAT:
        return rgm_json_print_number(out, *(const double *)(const void *)at);
    case RGM_FIELD_BOOL:
        return rgm_text_printf(out, "%s", *(const bool *)(const void *)at ? "true" : "false");
    case RGM_FIELD_CHOICE:
        return rgm_text_printf(out, "%s", rgm_field_choice(field, *(const int *)(const void *)at));
    default: /* texts and lists: none by default */
        return RGM_OK;
    }
}

/* Fields of a group that the document lacks; path: "" or "resources.". */
static rgm_status set_rest(rgm_yaml *document, const rgm_yaml_node *map, const rgm_field *fields,
                           const void *options, const char *path)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;
    char *key = NULL;

    for (const rgm_field *f = fields; f->name != NULL; f++) {
        const rgm_yaml_node *there = map != NULL ? rgm_yaml_find(map, f->name) : NULL;

        rgm_text_clear(&text);
        rgm_free(key);
        key = NULL;
        RGM_GO(rgm_strprintf(&key, "%s%s", path, f->name));
        if (f->kind == RGM_FIELD_GROUP) {
            RGM_GO(rgm_text_printf(&text, "%s.", key));
            RGM_GO(
                set_rest(document, there, f->group, (const char *)options + f->offset, text.data));
        } else if (there == NULL) {
            RGM_GO(print_value(&text, f, options));
            if (text.size > 0)
                RGM_GO(rgm_yaml_set(document, key, text.data, "default"));
        }
    }
done:
    rgm_text_clear(&text);
    rgm_free(key);
    return status;
}

rgm_status rgm_search_file_whole(rgm_yaml **out, const rgm_search_file *file)
{
    const rgm_yaml_node *searcher = rgm_yaml_find(rgm_yaml_root(file->merged), "searcher");
    rgm_status status = RGM_OK;
    rgm_yaml *whole = NULL;

    *out = NULL;
    RGM_GO(rgm_yaml_parse(&whole, "", 0, file->path));
    RGM_GO(rgm_yaml_merge(whole, file->merged));
    RGM_GO(set_rest(whole, rgm_yaml_root(file->merged), option_fields, &file->options, ""));
    if (searcher != NULL && rgm_yaml_find(searcher, "metrics") == NULL &&
        rgm_yaml_find(searcher, "smaller_is_better") == NULL)
        RGM_GO(rgm_yaml_set(whole, "searcher.smaller_is_better",
                            file->smaller_is_better ? "true" : "false", "default"));
    *out = whole;
    whole = NULL;
done:
    rgm_yaml_release(whole);
    return status;
}

/* ---- help ----------------------------------------------------------------------------------- */

rgm_status rgm_search_file_keys(rgm_text *out, const char *section)
{
    static const rgm_field *const tables[] = {node_fields, option_fields};
    bool found = false;

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const rgm_field *f = tables[t]; f->name != NULL; f++) {
            rgm_field one[] = {*f, {0}};

            if (section != NULL && strcmp(section, f->name) != 0)
                continue;
            RGM_TRY(rgm_options_print_help(out, "", one));
            found = true;
        }
    return found ? RGM_OK
                 : RGM_FAIL(RGM_ERR_NOT_FOUND, "no section '%s' of a search file", section);
}
