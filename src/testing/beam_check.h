/*
 * Shared by the tests of the search over tokens: a small model with weights by formula whose
 * hypotheses end at many lengths, sentences, a search of them, and the whole decoder beside it.
 */
#ifndef RGM_BEAM_CHECK_H
#define RGM_BEAM_CHECK_H

#include "seq2seq_check.h"

enum { SENTENCES = 7, LONGEST = 9, VOCABULARY = 13, TOKENS = 12, MANY_TOKENS = 70 };

typedef struct lab {
    rgm_seq2seq model;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_value *source, *source_positions, *target, *target_positions, *log_probabilities;
    rgm_executor *whole; /* the decoder of training, all tokens at once */
    rgm_beam_search *search;
    int32_t ids[SENTENCES][LONGEST];
    const int32_t *sources[SENTENCES];
    int64_t lengths[SENTENCES];
} lab;

/* The output leans towards the end of a sentence, so that hypotheses end at many lengths. */
static inline void prefer_end(rgm_parameters *parameters)
{
    const float *table = rgm_tensor_f32(rgm_parameters_find(parameters, "embedding/table"));
    rgm_tensor *beta = rgm_parameters_find(parameters, "decoder/norm/beta");

    for (int64_t i = 0; i < rgm_tensor_count(beta); i++)
        rgm_tensor_f32(beta)[i] += 4 * table[rgm_tensor_count(beta) + i];
    rgm_parameters_touch(parameters);
}

static inline void lab_open_with(lab *l, const rgm_seq2seq *model)
{
    rgm_value *logits;
    rgm_dim s, t;

    memset(l, 0, sizeof *l);
    l->model = *model;
    l->model.options.max_positions = MANY_TOKENS + 1;
    l->model.options.output_bias = true;
    CHECK_OK(rgm_cgraph_create(&l->graph));
    CHECK_OK(rgm_scope_create(&l->scope, l->graph, RGM_F32));
    s = rgm_cgraph_symbol(l->graph, "s");
    t = rgm_cgraph_symbol(l->graph, "t");
    l->source = rgm_input(l->graph, "source", RGM_I64, 2, (rgm_dim[]){1, s});
    l->source_positions = rgm_input(l->graph, "at_source", RGM_I64, 1, &s);
    l->target = rgm_input(l->graph, "target", RGM_I64, 2, (rgm_dim[]){1, t});
    l->target_positions = rgm_input(l->graph, "at_target", RGM_I64, 1, &t);
    logits = rgm_seq2seq_logits(
        l->scope, &l->model,
        rgm_seq2seq_decode(l->scope, &l->model, l->target, l->target_positions,
                           rgm_seq2seq_encode(l->scope, &l->model, l->source, l->source_positions),
                           l->source));
    l->log_probabilities = rgm_log_softmax(rgm_slice(logits, 1, 0, VOCABULARY));
    CHECK_OK(rgm_cgraph_status(l->graph));
    CHECK_OK(rgm_parameters_create(&l->parameters, l->graph, 1));
    set_weights(l->parameters);
    prefer_end(l->parameters);
    CHECK_OK(rgm_executor_create(&l->whole, l->graph, &l->log_probabilities, 1, NULL));
    CHECK_OK(rgm_beam_search_create(&l->search, &l->model, l->parameters, NULL, false));
    for (int64_t b = 0; b < SENTENCES; b++) {
        l->lengths[b] = 1 + (b * 5) % LONGEST;
        for (int64_t i = 0; i < l->lengths[b]; i++)
            l->ids[b][i] = token_of(b, i, l->lengths[b], VOCABULARY, 3);
        l->sources[b] = l->ids[b];
    }
}

static inline void lab_open(lab *l)
{
    rgm_seq2seq model = small_model(2, 2, VOCABULARY, VOCABULARY);

    lab_open_with(l, &model);
}

static inline void lab_close(lab *l)
{
    rgm_beam_search_release(l->search);
    rgm_executor_release(l->whole);
    rgm_parameters_release(l->parameters);
    rgm_scope_release(l->scope);
    rgm_cgraph_release(l->graph);
}

static inline rgm_beam_search_options plain_options(int64_t beams)
{
    rgm_beam_search_options o = RGM_BEAM_SEARCH_OPTIONS_INIT;

    o.beam_size = beams;
    o.n_best = beams;
    o.decode_max_length = TOKENS;
    return o;
}

static inline void translate(rgm_hypotheses *out, lab *l, const rgm_beam_search_options *options)
{
    CHECK_OK(rgm_beam_search_run(out, l->search, l->sources, l->lengths, SENTENCES, options));
}

static inline void clear(rgm_hypotheses *out)
{
    for (int i = 0; i < SENTENCES; i++)
        rgm_hypotheses_clear(&out[i]);
}

static inline void check_same(const rgm_hypotheses *a, const rgm_hypotheses *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        CHECK_INT(a[i].count, b[i].count);
        for (int64_t k = 0; k < a[i].count; k++) {
            const rgm_hypothesis *x = &a[i].items[k], *y = &b[i].items[k];
            CHECK_INT(x->count, y->count);
            CHECK(x->count == 0 || memcmp(x->ids, y->ids, (size_t)x->count * sizeof *x->ids) == 0);
            CHECK(x->score == y->score && x->log_probability == y->log_probability);
            CHECK_INT(x->finished, y->finished);
        }
    }
}

static inline rgm_tensor *row_of(const int32_t *ids, int64_t count, bool shifted)
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 2, (int64_t[]){1, count}));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(t)[i] = shifted ? (i > 0 ? ids[i - 1] : 0) : ids[i];
    return t;
}

/* Log-probabilities [count + 1, VOCABULARY] of what may follow each beginning of `ids`. */
static inline void run_whole(float *out, lab *l, int64_t sentence, const int32_t *ids,
                             int64_t count)
{
    rgm_tensor *result, *tensors[4] = {row_of(l->ids[sentence], l->lengths[sentence], false),
                                       make_positions(l->lengths[sentence]),
                                       row_of(ids, count + 1, true), make_positions(count + 1)};
    rgm_feed feeds[4] = {{.input = l->source, .tensor = tensors[0]},
                         {.input = l->source_positions, .tensor = tensors[1]},
                         {.input = l->target, .tensor = tensors[2]},
                         {.input = l->target_positions, .tensor = tensors[3]}};

    CHECK_OK(rgm_executor_run(l->whole, &result, l->parameters, feeds, 4, 0, 0));
    memcpy(out, rgm_tensor_f32(result), (size_t)rgm_tensor_count(result) * sizeof *out);
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(tensors[i]);
}

/* What a hypothesis' probability is by the whole decoder, its end included if it has one. */
static inline double whole_probability(lab *l, int64_t sentence, const rgm_hypothesis *h,
                                       int32_t end_id)
{
    float row[(MANY_TOKENS + 1) * VOCABULARY];
    double sum = 0;

    run_whole(row, l, sentence, h->ids, h->count);
    for (int64_t i = 0; i < h->count; i++)
        sum += row[i * VOCABULARY + h->ids[i]];
    return h->finished ? sum + row[h->count * VOCABULARY + end_id] : sum;
}

#endif
