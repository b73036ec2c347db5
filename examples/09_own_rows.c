/* Rows of a program's own that an experiment file names: an optimizer and a schedule, each with a
 * key of its own, an exporter and an action. The file's keys are checked, printed and resumed like
 * those of the library's rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <regimen/experiment.h>

#define FOLDER "own_rows"

/* ---- an optimizer: momentum whose steps are all of one size -----------------------------------
 */

typedef struct even_options {
    double momentum, epsilon;
} even_options;

static void even_own_defaults(void *options)
{
    *(even_options *)options = (even_options){.momentum = 0.9, .epsilon = 1e-8};
}

#define RGM_OPTIONS even_options
static const rgm_field even_fields[] = {
    RGM_FLOAT_FIELD(momentum, 0, RGM_BELOW_1, "what stays of the trail"),
    RGM_FLOAT_FIELD(epsilon, RGM_ABOVE_0, INFINITY, "added to the size"),
    {0}};
#undef RGM_OPTIONS

static const rgm_section_type even_own = {.name = "even",
                                          .options_size = sizeof(even_options),
                                          .defaults = even_own_defaults,
                                          .fields = even_fields};

static const rgm_optimizer_type even;

static void even_defaults(rgm_optimizer_options *options)
{
    *options = rgm_optimizer_default(&even, 1e-2);
}

static int even_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    (void)options;
    slots[0] = (rgm_slot){.name = "trail", .rank = rgm_tensor_rank(w)};
    for (int axis = 0; axis < slots[0].rank; axis++)
        slots[0].shape[axis] = rgm_tensor_dim(w, axis);
    return 1;
}

/* w -= rate * trail / (root mean square of trail). Parameters here are f32 (u->dtype). */
static void even_step(const rgm_update *u)
{
    const even_options *o = u->options->own;
    const float *gradient = u->gradient;
    float *w = u->w, *trail = u->slots[0];
    double squares = 0, factor;

    for (int64_t i = 0; i < u->count; i++) {
        double g = gradient[i] * u->gradient_scale + u->weight_decay * w[i];

        trail[i] = (float)(o->momentum * trail[i] + g);
        squares += (double)trail[i] * trail[i];
    }
    factor = u->rate / (sqrt(squares / (double)u->count) + o->epsilon);
    for (int64_t i = 0; i < u->count; i++)
        w[i] -= (float)(factor * trail[i]);
}

static const rgm_optimizer_type even = {.name = "even",
                                        .help = "momentum whose steps are all of one size",
                                        .fields = rgm_optimizer_fields,
                                        .defaults = even_defaults,
                                        .slots = even_slots,
                                        .step = even_step,
                                        .own = &even_own};

/* ---- a schedule: up and down, again and again (Smith 2017) ----------------------------------- */

typedef struct triangle_options {
    int64_t half_cycle;
    double lowest;
} triangle_options;

#define RGM_OPTIONS triangle_options
static const rgm_field triangle_fields[] = {
    RGM_INT_FIELD(half_cycle, 1, 1e9, "updates from the lowest rate to initial"),
    RGM_FLOAT_FIELD(lowest, 0, INFINITY, "rate"),
    {0}};
#undef RGM_OPTIONS

static void triangle_defaults(void *options)
{
    *(triangle_options *)options = (triangle_options){.half_cycle = 20, .lowest = 1e-4};
}

static const rgm_section_type triangle_own = {.name = "triangle",
                                              .options_size = sizeof(triangle_options),
                                              .defaults = triangle_defaults,
                                              .fields = triangle_fields};

static double triangle_rate(const rgm_schedule *schedule, double s)
{
    const triangle_options *o = schedule->own;
    int64_t at = (int64_t)s % (2 * o->half_cycle);
    int64_t height = at < o->half_cycle ? at : 2 * o->half_cycle - at;

    return o->lowest + (schedule->initial - o->lowest) * (double)height / (double)o->half_cycle;
}

static const rgm_schedule_type triangle = {.name = "triangle",
                                           .help = "up and down, again and again",
                                           .fields = rgm_schedule_fields,
                                           .rate = triangle_rate,
                                           .own = &triangle_own};

/* ---- an exporter and an action --------------------------------------------------------------- */

typedef struct card_options {
    const char *title;
} card_options;

#define RGM_OPTIONS card_options
static const rgm_field card_fields[] = {RGM_TEXT_FIELD(title, "first line"), {0}};
#undef RGM_OPTIONS

static rgm_status card_save(const rgm_open_run *run, const char *folder, void *options)
{
    const card_options *o = options;
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(rgm_text_printf(&text, "%s\n%lld steps, test accuracy %.3f\n",
                           o->title != NULL ? o->title : "a model", (long long)rgm_run_steps(run),
                           rgm_run_metric(run, "test", "accuracy")));
    RGM_GO(rgm_path_join(&path, folder, "card.txt"));
    RGM_GO(rgm_file_save(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

static const rgm_exporter_type card = {.section = {.name = "card",
                                                   .help = "card.txt: what it is",
                                                   .options_size = sizeof(card_options),
                                                   .fields = card_fields},
                                       .save = card_save};

static const rgm_field no_fields[] = {{0}};

static rgm_status tell_run(const rgm_logs *output, rgm_controller *controller, void *options)
{
    (void)options;
    printf("step %3lld  valid accuracy %.3f\n",
           (long long)rgm_trainer_global_step(rgm_controller_trainer(controller)),
           rgm_logs_get(output, "accuracy"));
    return RGM_OK;
}

static const rgm_action_type tell = {.section = {.name = "tell", .fields = no_fields},
                                     .run = tell_run};

/* ---- a run ----------------------------------------------------------------------------------- */

static const char file[] =
    "extends: demo\n"
    "optimizer: {type: even, momentum: 0.95, weight_decay: 5e-4,\n"
    "            learning_rate: {type: triangle, initial: 1e-2, half_cycle: 20}}\n"
    "trainer: {epochs: 80, validation_freq: 20}\n"
    "actions: {eval: [{type: tell}]}\n"
    "export: [{type: card, title: Citations}, {type: weights}]\n";

static const rgm_extensions own = {
    .optim = {.optimizers = (const rgm_optimizer_type *const[]){&even, NULL},
              .schedules = (const rgm_schedule_type *const[]){&triangle, NULL}},
    .exporters = (const rgm_exporter_type *const[]){&card, NULL},
    .actions = (const rgm_action_type *const[]){&tell, NULL}};

static rgm_status run_file(const char *path, const char *set)
{
    rgm_status status = RGM_OK;
    rgm_experiment_layers layers = {
        .name = path, .sets = &set, .set_count = set != NULL, .own = &own};
    rgm_experiment *experiment = NULL;
    rgm_run_options options;
    rgm_open_run *run = NULL;

    RGM_GO(rgm_experiment_load_layers(&experiment, &layers));
    RGM_GO(rgm_experiment_prepare(&options, experiment, FOLDER "/run"));
    RGM_GO(rgm_experiment_open(&run, experiment, &options));
    RGM_GO(rgm_run_complete(run));
    printf("exported to %s\n", rgm_run_export_dir(run, 0));
done:
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    return status;
}

int main(void)
{
    rgm_status status = RGM_OK;
    const char *path = FOLDER "/own.yaml";

    if (rgm_path_exists(FOLDER))
        RGM_GO(rgm_folder_remove(FOLDER));
    RGM_GO(rgm_folder_make(FOLDER));
    RGM_GO(rgm_file_save(path, file, (int64_t)strlen(file)));
    status = run_file(path, "optimizer.momentun=0.9"); /* told like a key of the library's */
    printf("%s\n", rgm_error_message());
    if (status != RGM_ERR_CONFIG)
        return 1;
    RGM_GO(run_file(path, NULL));
done:
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    return status != RGM_OK;
}
