/*
 * A task of one's own on the training core: which of two classes a point belongs to. The trainer is
 * driven in units (train k batches, validate, look at the loss); a controller would do the same by
 * intervals, with checkpoints and a run folder.
 */
#include <stdio.h>

#include <regimen/regimen.h>

#define POINTS 512

typedef struct points {
    rgm_tensor *xy, *label; /* [POINTS, 2], [POINTS] */
    rgm_value *xy_value, *label_value;
} points;

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    points *p = state;

    *out = NULL;
    if (mode == RGM_TEST)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, (rgm_tensor *[]){p->xy, p->label}, 2));
    if (mode == RGM_TRAIN)
        RGM_TRY(rgm_dataset_shuffle(out, POINTS));
    RGM_TRY(rgm_dataset_batch(out, 32, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 0));
    return endless ? rgm_dataset_repeat(out, -1) : RGM_OK;
}

static rgm_status build_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    points *p = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");
    rgm_head *head = &out->heads[0];

    p->xy_value = rgm_input(graph, "xy", RGM_F32, 2, (rgm_dim[]){n, 2});
    p->label_value = rgm_input(graph, "label", RGM_I64, 1, &n);
    out->head_count = 1;
    head->labels = p->label_value;
    head->predictions =
        rgm_dense(scope, "logits", rgm_tanh(rgm_dense(scope, "hidden", p->xy_value, 16)), 2);
    head->loss = rgm_mean(rgm_softmax_cross_entropy(head->predictions, head->labels));
    head->loss_weight = 1;
    head->metrics[head->metric_count++] =
        (rgm_metric){.type = &rgm_metric_accuracy, .name = "accuracy"};
    return RGM_OK;
}

static rgm_status feeds(rgm_feed *out, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch)
{
    points *p = state;

    return rgm_feed_tensors(out, capacity, count, (rgm_value *[]){p->xy_value, p->label_value}, 2,
                            batch);
}

/* Class 1 lies inside a circle. */
static rgm_status make_points(points *p)
{
    rgm_rng rng = rgm_rng_stream(1, "points", 0);

    RGM_TRY(rgm_tensor_create(&p->xy, RGM_F32, 2, (int64_t[]){POINTS, 2}));
    RGM_TRY(rgm_tensor_create(&p->label, RGM_I64, 1, (int64_t[]){POINTS}));
    for (int i = 0; i < POINTS; i++) {
        float *xy = rgm_tensor_f32(p->xy) + 2 * i;

        xy[0] = 2 * rgm_rng_f32(&rng, (uint64_t)(2 * i)) - 1;
        xy[1] = 2 * rgm_rng_f32(&rng, (uint64_t)(2 * i + 1)) - 1;
        rgm_tensor_i64(p->label)[i] = xy[0] * xy[0] + xy[1] * xy[1] < 0.5f;
    }
    return RGM_OK;
}

static rgm_status train(points *p)
{
    rgm_status status = RGM_OK;
    rgm_task task = {.name = "circle",
                     .state = p,
                     .build_inputs = build_inputs,
                     .build_model = build_model,
                     .feeds = feeds};
    rgm_optimizer_options adam = rgm_adam(0.02);
    rgm_trainer_setup setup = {.task = &task, .optimizer = &adam, .endless = true};
    rgm_trainer *trainer = NULL;
    const rgm_logs *logs;

    RGM_GO(make_points(p));
    RGM_GO(rgm_trainer_create(&trainer, &setup));
    for (int unit = 0; unit < 5; unit++) {
        RGM_GO(rgm_trainer_train(trainer, 60, &logs));
        printf("step %3lld  loss %.3f", (long long)rgm_trainer_global_step(trainer),
               rgm_logs_get(logs, "loss"));
        RGM_GO(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
        printf("  valid accuracy %.3f\n", rgm_logs_get(logs, "accuracy"));
    }
    if (rgm_logs_get(logs, "accuracy") < 0.9)
        status = RGM_FAIL(RGM_ERR_DATA, "the circle was not learnt");
done:
    rgm_trainer_release(trainer);
    return status;
}

int main(void)
{
    points p = {0};
    rgm_status status = train(&p);

    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_tensor_release(p.xy);
    rgm_tensor_release(p.label);
    return status != RGM_OK;
}
