/*
 * Decoding with a Transformer of 3+3 layers of 256: `size` sentences (32 unless told) of 16 random
 * tokens, 24 tokens of each written, through rgm_beam_search_run() as the product does it. The
 * weights are random but for one direction that keeps sentences from ending. peer_decoding.py is
 * the same in PyTorch.
 */
#include "bench.h"

#include <regimen/translation.h>

#include <string.h>

enum { VOCABULARY = 8000, LENGTH = 16, STEPS = 24, END = 1 };
/* A shortlist of so many frequent tokens and so many of each source token: about 1,100 tokens of a
 * batch of 32 sentences, as Multi30k's have with the lists of docs/translation.md. */
enum { FREQUENT = 100, OF_EACH = 2 };

typedef struct decoding {
    rgm_seq2seq model;
    const char *form;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_beam_search *beam_search;
    rgm_beam_search_options search;
    rgm_shortlist *shortlist;
    int64_t count;
    int32_t *ids;
    const int32_t **sources;
    int64_t *lengths;
    rgm_hypotheses *out;
} decoding;

static void set_model(rgm_seq2seq *model)
{
    rgm_seq2seq_options *o = &model->options;

    rgm_seq2seq_defaults(o);
    o->embeddings = RGM_EMBEDDINGS_TARGET;
    o->embedding_width = 256;
    o->encoder.use_bias = o->decoder.use_bias = true;
    o->encoder.norm_first = o->decoder.norm_first = false;
    o->encoder.num_layers = o->decoder.num_layers = 3;
    o->encoder.num_attention_heads = o->decoder.num_attention_heads = 4;
    o->encoder.intermediate_size = o->decoder.intermediate_size = 1024;
    model->source_vocabulary = model->target_vocabulary = VOCABULARY;
}

/* The last norm's shift points away from the end's row of the output table. */
static rgm_status never_end(rgm_parameters *parameters)
{
    rgm_tensor *table = rgm_parameters_find(parameters, "target_embedding/table");
    rgm_tensor *beta = rgm_parameters_find(parameters, "decoder/norm/beta");

    if (table == NULL || beta == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the model has no table or no norm of that name");
    for (int64_t i = 0; i < rgm_tensor_count(beta); i++)
        rgm_tensor_f32(beta)[i] -= 8 * rgm_tensor_f32(table)[END * rgm_tensor_count(beta) + i];
    rgm_parameters_touch(parameters);
    return RGM_OK;
}

/* The graph only names the parameters: the search builds its own two. */
static rgm_status make_parameters(decoding *d)
{
    rgm_dim shape[2];
    rgm_value *source, *positions, *states;

    RGM_TRY(rgm_cgraph_create(&d->graph));
    RGM_TRY(rgm_scope_create(&d->scope, d->graph, RGM_F32));
    shape[0] = rgm_cgraph_symbol(d->graph, "sentences");
    shape[1] = rgm_cgraph_symbol(d->graph, "length");
    source = rgm_input(d->graph, "source", RGM_I64, 2, shape);
    positions = rgm_input(d->graph, "positions", RGM_I64, 1, &shape[1]);
    states = rgm_seq2seq_encode(d->scope, &d->model, source, positions);
    states = rgm_seq2seq_decode(d->scope, &d->model, source, positions, states, source);
    (void)rgm_seq2seq_logits(d->scope, &d->model, states);
    RGM_TRY(rgm_cgraph_status(d->graph));
    RGM_TRY(rgm_parameters_create(&d->parameters, d->graph, 1));
    return never_end(d->parameters);
}

static rgm_status make_sources(decoding *d)
{
    rgm_rng rng = rgm_rng_stream(1, "tokens", 0);

    RGM_TRY(RGM_NEW(d->ids, d->count * LENGTH));
    RGM_TRY(RGM_NEW(d->sources, d->count));
    RGM_TRY(RGM_NEW(d->lengths, d->count));
    RGM_TRY(RGM_NEW(d->out, d->count));
    for (int64_t i = 0; i < d->count * LENGTH; i++)
        d->ids[i] = (int32_t)(1 + rgm_rng_f64(&rng, (uint64_t)i) * (VOCABULARY - 1));
    for (int64_t i = 0; i < d->count; i++) {
        d->sources[i] = d->ids + i * LENGTH;
        d->lengths[i] = LENGTH;
    }
    return RGM_OK;
}

/* Pairs of one source token each, whose translations lie anywhere. */
static rgm_status make_shortlist(decoding *d)
{
    rgm_shortlist_options options = {.first = FREQUENT, .best = OF_EACH};
    rgm_status status = RGM_OK;
    rgm_sequence_pair *pairs = NULL;
    int32_t *ids = NULL;

    RGM_GO(RGM_NEW(pairs, VOCABULARY));
    RGM_GO(RGM_NEW(ids, VOCABULARY * (1 + OF_EACH)));
    for (int64_t s = 0; s < VOCABULARY; s++) {
        int32_t *at = ids + s * (1 + OF_EACH);
        for (int64_t k = 0; k <= OF_EACH; k++)
            at[k] = (int32_t)(k == 0 ? s : (s * 4099 + k * 1013) % VOCABULARY);
        pairs[s] = (rgm_sequence_pair){at, at + 1, 1, OF_EACH};
    }
    RGM_GO(rgm_shortlist_learn(&d->shortlist, pairs, VOCABULARY, VOCABULARY, VOCABULARY, &options));
done:
    rgm_free(pairs);
    rgm_free(ids);
    return status;
}

static void out_clear(decoding *d)
{
    for (int64_t i = 0; d->out != NULL && i < d->count; i++)
        rgm_hypotheses_clear(&d->out[i]);
}

static void decoding_close(void *state)
{
    decoding *d = state;

    if (d == NULL)
        return;
    out_clear(d);
    rgm_beam_search_release(d->beam_search);
    rgm_shortlist_release(d->shortlist);
    rgm_parameters_release(d->parameters);
    rgm_scope_release(d->scope);
    rgm_cgraph_release(d->graph);
    rgm_free(d->ids);
    rgm_free((void *)(uintptr_t)d->sources);
    rgm_free(d->lengths);
    rgm_free(d->out);
    rgm_free(d);
}

static rgm_status decoding_make(decoding *d, const bench_options *options)
{
    bool beam = strncmp(options->form, "beam", 4) == 0;

    d->form = options->form;
    d->count = options->size > 0 ? options->size : 32;
    d->search = (rgm_beam_search_options)RGM_BEAM_SEARCH_OPTIONS_INIT;
    d->search.beam_size = beam ? 4 : 1;
    d->search.decode_max_length = STEPS;
    d->search.decode_batch_size = d->count;
    d->search.end_id = END;
    d->search.int8 = strstr(d->form, "-int8") != NULL;
    set_model(&d->model);
    RGM_TRY(make_sources(d));
    RGM_TRY(make_parameters(d));
    if (strstr(d->form, "-short") != NULL)
        RGM_TRY(make_shortlist(d));
    d->search.shortlist = d->shortlist;
    return rgm_beam_search_create(&d->beam_search, &d->model, d->parameters, bench_device,
                                  strstr(d->form, "-bf16") != NULL);
}

static rgm_status decoding_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    decoding *d = NULL;

    RGM_GO(RGM_NEW(d, 1));
    RGM_GO(decoding_make(d, options));
    *out = d;
    d = NULL;
done:
    decoding_close(d);
    return status;
}

static rgm_status decoding_step(void *state, int64_t step)
{
    decoding *d = state;

    (void)step;
    out_clear(d);
    RGM_TRY(
        rgm_beam_search_run(d->out, d->beam_search, d->sources, d->lengths, d->count, &d->search));
    for (int64_t i = 0; i < d->count; i++)
        if (d->out[i].count != 1 || d->out[i].items[0].count != STEPS)
            return RGM_FAIL(RGM_ERR_NUMERIC, "sentence %lld has ended before %d tokens",
                            (long long)i, STEPS);
    return RGM_OK;
}

/* What the floor is made of: see decode_floor() of bench.py. */
static rgm_status decoding_facts(rgm_text *out, void *state)
{
    const decoding *d = state;
    const rgm_seq2seq_options *o = &d->model.options;

    return rgm_text_printf(
        out,
        ", \"form\": \"%s\", \"sentences\": %lld, \"beams\": %lld, \"source\": %d, \"tokens\": %d, "
        "\"width\": %lld, \"inner\": %lld, \"layers\": %lld, \"vocabulary\": %d, "
        "\"isa_f32\": \"%s\", \"isa_bf16\": \"%s\", \"isa_int8\": \"%s\"",
        d->form, (long long)d->count, (long long)d->search.beam_size, LENGTH, STEPS,
        (long long)o->embedding_width, (long long)o->decoder.intermediate_size,
        (long long)o->decoder.num_layers, VOCABULARY,
        rgm_kernels_for(rgm_device_cpu(), RGM_F32)->isa,
        rgm_kernels_for(rgm_device_cpu(), RGM_BF16)->isa,
        rgm_kernels_for(rgm_device_cpu(), RGM_I8)->isa);
}

static const char *const forms[] = {
    "greedy",      "beam",      "greedy-bf16",       "beam-bf16",
    "greedy-int8", "beam-int8", "greedy-int8-short", "beam-int8-short",
    NULL};
const bench_workload bench_decode = {
    "decode",
    "24 tokens of `size` sentences by a small Transformer; forms "
    "greedy, beam, each with -bf16, -int8 or -int8-short (a shortlist) too",
    decoding_open,
    decoding_step,
    decoding_facts,
    decoding_close,
    forms};
