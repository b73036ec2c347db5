/* What the tests of the training core share: a small task, folders in memory, files compared. */
#ifndef RGM_TRAIN_CHECK_H
#define RGM_TRAIN_CHECK_H

#include <check.h>

#include <regimen/train_driver.h>

#define ITEMS 12
#define WIDTH 3

/* Two classes that a plane divides; by default batches of 4, so 3 steps an epoch. */
typedef struct plane {
    rgm_tensor *x, *label;
    rgm_value *x_value, *label_value;
    bool blind; /* no validation data                                  */
    double dropout;
    int64_t batch;      /* items in one; the last may be smaller               */
    bool in_order;      /* not shuffled                                        */
    bool no_threads;    /* the pipeline allocates nothing while nobody asks    */
    rgm_tensor *weight; /* of each item; NULL: none                            */
    rgm_value *weight_value;
    double loss_weight;
    bool no_metrics;
    bool curves; /* one 0/1 label in place of two classes, judged by areas under curves */
} plane;

/* One logit, and metrics that keep the scores of a pass. */
static inline void plane_curves(rgm_head *head, rgm_scope *scope, rgm_value *x, rgm_value *label)
{
    rgm_dim shape[] = {rgm_value_dim(label, 0), 1};
    rgm_value *targets = rgm_cast(rgm_reshape(label, 2, shape), RGM_F32);

    head->predictions = rgm_dense(scope, "logits", x, 1);
    head->loss = rgm_reduce(
        rgm_binary_loss(head->predictions, targets, &(rgm_class_loss_options){0}), 1, RGM_MEAN);
    head->metrics[0] = (rgm_metric){.type = &rgm_metric_auc_roc, .name = "auc_roc"};
    head->metrics[1] = (rgm_metric){.type = &rgm_metric_binary_accuracy, .name = "accuracy"};
    head->metrics[2] = (rgm_metric){.type = &rgm_metric_auc_pr, .name = "auc_pr"};
    head->metric_count = 3;
}

static inline rgm_status plane_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    plane *p = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");
    rgm_head *head = &out->heads[0];

    *out = (rgm_task_model){.head_count = 1, .heads = {{.name = "logits"}}};
    p->x_value = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, WIDTH});
    p->label_value = rgm_input(graph, "label", RGM_I64, 1, &n);
    rgm_value *x = p->x_value;
    rgm_value *steps = rgm_scope_state(scope, "steps", 0, NULL, (rgm_init){RGM_INIT_ZEROS, 0});
    rgm_cgraph_update(graph, steps, rgm_shift(steps, 1));
    if (p->dropout > 0)
        x = rgm_dropout(scope, x, p->dropout);
    head->labels = p->label_value;
    if (p->curves) {
        plane_curves(head, scope, x, p->label_value);
        head->loss = rgm_weighted_mean(head->loss, NULL);
        out->loss = head->loss;
        return RGM_OK;
    }
    head->predictions = rgm_dense(scope, "logits", x, 2);
    if (p->weight != NULL)
        head->weights = p->weight_value = rgm_input(graph, "weight", RGM_F32, 1, &n);
    head->loss = rgm_weighted_mean(rgm_softmax_cross_entropy(head->predictions, head->labels),
                                   head->weights);
    head->loss_weight = p->loss_weight;
    head->metrics[0] = (rgm_metric){.type = &rgm_metric_accuracy, .name = "accuracy"};
    head->metric_count = p->no_metrics ? 0 : 1;
    out->loss = head->loss;
    return RGM_OK;
}

static inline rgm_status plane_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    plane *p = state;
    rgm_tensor *tensors[] = {p->x, p->label, p->weight};

    *out = NULL;
    if (mode == RGM_TEST || (mode == RGM_VALID && p->blind))
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, tensors, p->weight != NULL ? 3 : 2));
    if (mode == RGM_TRAIN && !p->in_order)
        RGM_TRY(rgm_dataset_shuffle(out, 8));
    RGM_TRY(rgm_dataset_batch(out, p->batch, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, p->no_threads ? 1 : 2));
    if (endless)
        RGM_TRY(rgm_dataset_repeat(out, -1));
    return p->no_threads ? RGM_OK : rgm_dataset_prefetch(out, 2);
}

static inline rgm_status plane_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                                     rgm_element *batch)
{
    plane *p = state;

    CHECK(capacity >= 3);
    feeds[0] = (rgm_feed){.input = p->x_value, .tensor = rgm_element_tensor(batch, 0)};
    feeds[1] = (rgm_feed){.input = p->label_value, .tensor = rgm_element_tensor(batch, 1)};
    *count = 2;
    if (p->weight != NULL)
        feeds[(*count)++] =
            (rgm_feed){.input = p->weight_value, .tensor = rgm_element_tensor(batch, 2)};
    return RGM_OK;
}

/* poisoned: one input is infinite. */
static inline plane make_plane(bool poisoned)
{
    plane p = {.dropout = 0.25, .batch = 4, .loss_weight = 1};

    CHECK_OK(rgm_tensor_create(&p.x, RGM_F32, 2, (int64_t[]){ITEMS, WIDTH}));
    CHECK_OK(rgm_tensor_create(&p.label, RGM_I64, 1, (int64_t[]){ITEMS}));
    for (int i = 0; i < ITEMS; i++) {
        for (int k = 0; k < WIDTH; k++)
            rgm_tensor_f32(p.x)[i * WIDTH + k] = (float)((i * 7 + k * 5) % 11) / 5 - 1;
        rgm_tensor_i64(p.label)[i] = rgm_tensor_f32(p.x)[i * WIDTH] > 0;
    }
    if (poisoned)
        rgm_tensor_f32(p.x)[5 * WIDTH] = INFINITY;
    return p;
}

static inline void clear_plane(plane *p)
{
    rgm_tensor_release(p->x);
    rgm_tensor_release(p->label);
    rgm_tensor_release(p->weight);
}

static inline rgm_task plane_task(plane *p)
{
    return (rgm_task){.name = "plane",
                      .state = p,
                      .build_model = plane_model,
                      .build_inputs = plane_inputs,
                      .feeds = plane_feeds};
}

/** A fresh folder in memory where there is one, for many small synced files; see check_folder(). */
static inline const char *check_fast_folder(void)
{
    static char path[64];

    snprintf(path, sizeof path, "/dev/shm/regimen-test-XXXXXX");
    return mkdtemp(path) != NULL ? path : check_folder();
}

static inline void check_same_file(const char *a, const char *b, const char *name)
{
    char path[2][300];
    char *data[2];
    int64_t size[2];

    snprintf(path[0], sizeof path[0], "%s/%s", a, name);
    snprintf(path[1], sizeof path[1], "%s/%s", b, name);
    for (int i = 0; i < 2; i++)
        CHECK_OK(rgm_file_load(&data[i], &size[i], path[i], 1 << 24));
    CHECK_INT(size[0], size[1]);
    if (memcmp(data[0], data[1], (size_t)size[0]) != 0)
        fail_msg("%s differs between %s and %s", name, a, b);
    rgm_free(data[0]);
    rgm_free(data[1]);
}

/* Whether the file at run/name says `what`. */
static inline bool file_says(const char *run, const char *name, const char *what)
{
    char path[300], *data;
    int64_t size;
    bool found;

    snprintf(path, sizeof path, "%s/%s", run, name);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    found = memmem(data, (size_t)size, what, strlen(what)) != NULL;
    rgm_free(data);
    return found;
}

/* ---- trainers of the plane task ------------------------------------------------------------- */

/* What a trainer of the plane task is made with. */
typedef struct plane_setup {
    plane data;
    plane made[4]; /* each living trainer's own, with the same tensors */
    int next;
    rgm_trainer_options options;
    rgm_runtime_options runtime;
    rgm_optimizer_options optimizer;
    bool finite; /* data: a pass at a time */
} plane_setup;

static inline plane_setup make_plane_setup(void)
{
    plane_setup s = {.data = make_plane(false), .optimizer = rgm_sgd(0.1, 0)};

    rgm_trainer_defaults(&s.options);
    s.options.train_steps = 100; /* for schedules that last as long */
    s.options.checkpoint.every_seconds = 0;
    rgm_runtime_defaults(&s.runtime);
    s.runtime.seed = 5;
    s.runtime.threads = 1;
    return s;
}

static inline rgm_status open_plane(rgm_trainer **out, plane_setup *s)
{
    plane *own = &s->made[s->next++ % 4];
    rgm_task task = plane_task(own);
    rgm_trainer_setup made = {.task = &task,
                              .options = &s->options,
                              .runtime = &s->runtime,
                              .optimizer = &s->optimizer,
                              .endless = !s->finite};

    *own = s->data;
    return rgm_trainer_create(out, &made);
}

static inline void train_steps(rgm_trainer *trainer, int64_t steps)
{
    const rgm_logs *logs;

    CHECK_OK(rgm_trainer_train(trainer, steps, &logs));
}

static inline void check_same_tensor(const char *what, const char *name, const rgm_tensor *a,
                                     const rgm_tensor *b)
{
    CHECK_INT(rgm_tensor_bytes(a), rgm_tensor_bytes(b));
    if (memcmp(rgm_tensor_data((rgm_tensor *)a), rgm_tensor_data((rgm_tensor *)b),
               rgm_tensor_bytes(a)) != 0)
        fail_msg("%s: %s differs: %.17g and %.17g ...", what, name, rgm_tensor_at(a, 0),
                 rgm_tensor_at(b, 0));
}

static inline void check_same_weights(const char *what, const rgm_trainer *a, const rgm_trainer *b)
{
    const rgm_parameters *p = rgm_trainer_parameters(a), *q = rgm_trainer_parameters(b);

    for (int64_t i = 0; i < rgm_parameters_count(p); i++)
        check_same_tensor(what, rgm_parameters_name(p, i), rgm_parameters_tensor(p, i),
                          rgm_parameters_tensor(q, i));
}

static inline void check_same_trainer(const char *what, const rgm_trainer *a, const rgm_trainer *b)
{
    const rgm_optimizer *p = rgm_trainer_optimizer(a), *q = rgm_trainer_optimizer(b);
    int64_t good_steps[2];

    CHECK_INT(rgm_trainer_global_step(a), rgm_trainer_global_step(b));
    CHECK_INT(rgm_trainer_updates(a), rgm_trainer_updates(b));
    CHECK_INT(rgm_trainer_passes(a), rgm_trainer_passes(b));
    CHECK(rgm_trainer_loss_scale(&good_steps[0], a) == rgm_trainer_loss_scale(&good_steps[1], b));
    CHECK_INT(good_steps[0], good_steps[1]);
    check_same_weights(what, a, b);
    CHECK_INT(rgm_optimizer_slot_count(p), rgm_optimizer_slot_count(q));
    for (int64_t i = 0; i < rgm_optimizer_slot_count(p); i++)
        check_same_tensor(what, rgm_optimizer_slot(p, i).name, rgm_optimizer_slot(p, i).tensor,
                          rgm_optimizer_slot(q, i).tensor);
}

#endif
