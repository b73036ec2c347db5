/*
 * A task with a table of vectors, of which a batch reads few rows: words in two classes.
 */
#ifndef RGM_WORDS_CHECK_H
#define RGM_WORDS_CHECK_H

#include <check.h>
#include <regimen/nn.h>
#include <regimen/train.h>

enum { WORDS = 1000, VECTOR = 4, TEXTS = 40, BATCH = 5 };

typedef struct words {
    rgm_tensor *ids, *labels, *places;
    rgm_value *ids_value, *label_value, *places_value;
} words;

static inline rgm_status words_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    words *w = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");
    rgm_head *head = &out->heads[0];
    rgm_value *x, *all, *same;
    rgm_tensor *every = NULL;

    *out = (rgm_task_model){.head_count = 1, .heads = {{.name = "logits"}}};
    w->ids_value = rgm_input(graph, "ids", RGM_I64, 1, &n);
    w->label_value = rgm_input(graph, "label", RGM_I64, 1, &n);
    w->places_value = rgm_input(graph, "places", RGM_I64, 1, &n);
    /* read by what is fed, by what follows from it, and by picking from what was picked */
    RGM_TRY(rgm_tensor_create(&every, RGM_I64, 1, (int64_t[]){WORDS}));
    for (int64_t i = 0; i < WORDS; i++)
        rgm_tensor_i64(every)[i] = WORDS - 1 - i;
    x = rgm_embedding(scope, "words", w->ids_value, WORDS, VECTOR);
    same = rgm_reshape(w->ids_value, 1, &n);
    x = rgm_add(x, rgm_embedding(scope, "words", same, WORDS, VECTOR));
    all = rgm_embedding(scope, "words", rgm_constant(graph, every), WORDS, VECTOR);
    rgm_tensor_release(every);
    x = rgm_add(x, rgm_gather(all, w->places_value));
    head->labels = w->label_value;
    head->predictions = rgm_dense(scope, "logits", x, 2);
    head->loss =
        rgm_weighted_mean(rgm_softmax_cross_entropy(head->predictions, head->labels), NULL);
    head->loss_weight = 1;
    head->metrics[0] = (rgm_metric){.type = &rgm_metric_accuracy, .name = "accuracy"};
    head->metric_count = 1;
    return RGM_OK;
}

static inline rgm_status words_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    words *w = state;
    rgm_tensor *tensors[] = {w->ids, w->labels, w->places};

    *out = NULL;
    if (mode != RGM_TRAIN)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, tensors, 3));
    RGM_TRY(rgm_dataset_shuffle(out, 16));
    RGM_TRY(rgm_dataset_batch(out, BATCH, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 1));
    return endless ? rgm_dataset_repeat(out, -1) : RGM_OK;
}

static inline rgm_status words_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                                     rgm_element *batch)
{
    words *w = state;

    (void)capacity;
    feeds[0] = (rgm_feed){.input = w->ids_value, .tensor = rgm_element_tensor(batch, 0)};
    feeds[1] = (rgm_feed){.input = w->label_value, .tensor = rgm_element_tensor(batch, 1)};
    feeds[2] = (rgm_feed){.input = w->places_value, .tensor = rgm_element_tensor(batch, 2)};
    *count = 3;
    return RGM_OK;
}

#endif
