/*
 * Shared by the tests of translation: the task of sequences that are turned round, and a small
 * model of it with random weights.
 */
#ifndef RGM_TRANSLATION_CHECK_H
#define RGM_TRANSLATION_CHECK_H

#include "check.h"

#include <regimen/translation.h>

static inline rgm_translation_options reversing(void)
{
    rgm_translation_options o;

    rgm_translation_defaults(&o);
    o.reverse = (rgm_reverse_options){
        .vocabulary = 9, .min_length = 1, .max_length = 6, .train = 50, .valid = 20};
    o.batch_tokens = 64;
    o.max_length = 7;
    return o;
}

typedef struct trained {
    rgm_translation_options options;
    rgm_task task;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
} trained;

/* A small model with random weights. */
static inline void trained_open_with(trained *t, const rgm_translation_options *options,
                                     int64_t max_positions)
{
    rgm_seq2seq_options model;
    rgm_task_model built = {0};

    t->options = *options;
    rgm_seq2seq_defaults(&model);
    model.embedding_width = 16;
    model.max_positions = max_positions;
    model.encoder.num_layers = model.decoder.num_layers = 1;
    model.encoder.num_attention_heads = model.decoder.num_attention_heads = 2;
    model.encoder.intermediate_size = model.decoder.intermediate_size = 16;
    CHECK_OK(rgm_translation_create(&t->task, &t->options, &model, 3, 1));
    CHECK_OK(rgm_cgraph_create(&t->graph));
    CHECK_OK(rgm_scope_create(&t->scope, t->graph, RGM_F32));
    CHECK_OK(t->task.build_model(&built, t->scope, t->task.state));
    CHECK_OK(rgm_parameters_create(&t->parameters, t->graph, 1));
}

static inline void trained_open(trained *t, const rgm_translation_options *options)
{
    trained_open_with(t, options, 1024);
}

static inline void trained_close(trained *t)
{
    rgm_task_release(&t->task);
    rgm_parameters_release(t->parameters);
    rgm_scope_release(t->scope);
    rgm_cgraph_release(t->graph);
}

static inline rgm_translation_line line_of(const char *text)
{
    return (rgm_translation_line){.text = {.data = text, .size = (int64_t)strlen(text)}};
}

#endif
