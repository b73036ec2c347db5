/* Shared by the tests of the Transformer: a small model with weights by formula, and ids. */
#ifndef RGM_SEQ2SEQ_CHECK_H
#define RGM_SEQ2SEQ_CHECK_H

#include <check.h>
#include <regimen/sequence.h>

/* Width 32 in 2 heads (whole vectors for every fast row), 24 inside, no dropout. */
static inline rgm_seq2seq small_model(int64_t encoder, int64_t decoder, int64_t source,
                                      int64_t target)
{
    rgm_seq2seq m = {.source_vocabulary = source, .target_vocabulary = target};
    rgm_stack_options *stacks[] = {&m.options.encoder, &m.options.decoder};

    rgm_seq2seq_defaults(&m.options);
    m.options.embedding_width = 32;
    m.options.dropout_rate = 0;
    m.options.max_positions = 12;
    for (int i = 0; i < 2; i++) {
        stacks[i]->num_layers = i == 0 ? encoder : decoder;
        stacks[i]->num_attention_heads = 2;
        stacks[i]->intermediate_size = 24;
        stacks[i]->dropout_rate = stacks[i]->attention_dropout_rate =
            stacks[i]->intermediate_dropout = 0;
    }
    return m;
}

/* 0.3 sin(1.7 i + 0.9 h), h from the name; 1 more for the scales of norms. */
static inline void set_weights(rgm_parameters *parameters)
{
    for (int64_t p = 0; p < rgm_parameters_count(parameters); p++) {
        const char *name = rgm_parameters_name(parameters, p), *end = name + strlen(name);
        rgm_tensor *w = rgm_parameters_tensor(parameters, p);
        int sum = 0;
        for (const char *c = name; c < end; c++)
            sum += *c;
        for (int64_t i = 0; i < rgm_tensor_count(w); i++) {
            double x = 0.3 * sin(1.7 * (double)i + 0.9 * (sum % 17));
            if (end - name > 5 && strcmp(end - 5, "gamma") == 0)
                x += 1;
            if (rgm_tensor_dtype(w) == RGM_F64)
                rgm_tensor_f64(w)[i] = x;
            else
                rgm_tensor_f32(w)[i] = (float)x;
        }
    }
    rgm_parameters_touch(parameters);
}

static inline rgm_tensor *make_positions(int64_t count)
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(t)[i] = i;
    return t;
}

/* Token i of a sentence of n: ids from 2 on, 1 at the end, 0 behind it. */
static inline int32_t token_of(int64_t b, int64_t i, int64_t n, int64_t vocabulary, int64_t seed)
{
    if (i >= n - 1)
        return i == n - 1;
    return (int32_t)(2 + (7 * b + 3 * i + seed) % (vocabulary - 2));
}

#endif
