/*
 * What a search is given beside the tokens of its sources. Factors: a model with them computes what
 * a model computes whose tokens are all combinations of a token and its factors, each with the row
 * that these make together.
 */
#include <math.h>

#include "seq2seq_check.h"

enum { TOKENS = 13, VALUES = 3, EACH = 2, SENTENCES = 5, LONGEST = 7, WIDTH = 32, NARROW = 6 };
enum { PAIRS = TOKENS * (VALUES + 1) * (VALUES + 1) };

typedef struct lab {
    rgm_seq2seq model;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_value *source, *at;
    rgm_parameters *parameters;
    rgm_beam_search *search;
} lab;

static void lab_open(lab *l, const rgm_seq2seq *model)
{
    rgm_value *target, *factors = NULL, *states;
    rgm_dim n;

    *l = (lab){.model = *model};
    CHECK_OK(rgm_seq2seq_check(&l->model));
    CHECK_OK(rgm_cgraph_create(&l->graph));
    CHECK_OK(rgm_scope_create(&l->scope, l->graph, RGM_F32));
    n = rgm_cgraph_symbol(l->graph, "n");
    l->source = rgm_input(l->graph, "source", RGM_I64, 2, (rgm_dim[]){1, n});
    target = rgm_input(l->graph, "target", RGM_I64, 2, (rgm_dim[]){1, n});
    l->at = rgm_input(l->graph, "at", RGM_I64, 1, &n);
    if (model->source_factors > 0)
        factors =
            rgm_input(l->graph, "factors", RGM_I64, 3, (rgm_dim[]){1, n, model->source_factors});
    states = rgm_seq2seq_encode_factors(l->scope, &l->model, l->source, factors, l->at);
    states = rgm_seq2seq_decode(l->scope, &l->model, target, l->at, states, l->source);
    rgm_seq2seq_logits(l->scope, &l->model, states);
    CHECK_OK(rgm_cgraph_status(l->graph));
    CHECK_OK(rgm_parameters_create(&l->parameters, l->graph, 1));
    set_weights(l->parameters);
    CHECK_OK(rgm_beam_search_create(&l->search, &l->model, l->parameters, NULL, false));
}

static void lab_close(lab *l)
{
    rgm_beam_search_release(l->search);
    rgm_parameters_release(l->parameters);
    rgm_scope_release(l->scope);
    rgm_cgraph_release(l->graph);
}

static rgm_seq2seq with_factors(rgm_factor_combine combine)
{
    rgm_seq2seq m = small_model(1, 1, TOKENS, TOKENS);

    m.options.embeddings = RGM_EMBEDDINGS_UNTIED;
    m.options.factors = (rgm_factor_options){combine, NARROW};
    m.source_factors = EACH;
    m.factor_values = VALUES;
    return m;
}

static rgm_seq2seq of_combinations(void)
{
    rgm_seq2seq m = small_model(1, 1, PAIRS, TOKENS);

    m.options.embeddings = RGM_EMBEDDINGS_UNTIED;
    return m;
}

/* The row of a token with two factors, from the tables of the model that has them. */
static void make_row(float *row, const lab *l, int64_t token, const int64_t *factors)
{
    const float *tokens =
        rgm_tensor_f32(rgm_parameters_find(l->parameters, "source_embedding/table"));
    const float *values =
        rgm_tensor_f32(rgm_parameters_find(l->parameters, "source_factors/table"));
    int64_t own = WIDTH - EACH * NARROW;

    if (l->model.options.factors.combine == RGM_FACTORS_SUM) {
        for (int64_t i = 0; i < WIDTH; i++)
            row[i] = tokens[token * WIDTH + i] +
                     (values[factors[0] * WIDTH + i] + values[factors[1] * WIDTH + i]);
        return;
    }
    memcpy(row, tokens + token * own, (size_t)own * sizeof *row);
    for (int64_t j = 0; j < EACH; j++)
        memcpy(row + own + j * NARROW, values + factors[j] * NARROW, NARROW * sizeof *row);
}

static void copy_weights(lab *to, const lab *from)
{
    float *rows = NULL;

    for (int64_t p = 0; p < rgm_parameters_count(to->parameters); p++) {
        const char *name = rgm_parameters_name(to->parameters, p);
        rgm_tensor *w = rgm_parameters_tensor(to->parameters, p);

        if (strcmp(name, "source_embedding/table") == 0)
            rows = rgm_tensor_f32(w);
        else
            memcpy(rgm_tensor_f32(w), rgm_tensor_f32(rgm_parameters_find(from->parameters, name)),
                   (size_t)rgm_tensor_count(w) * sizeof(float));
    }
    CHECK(rows != NULL);
    for (int64_t i = 0; i < PAIRS; i++)
        make_row(rows + i * WIDTH, from, i % TOKENS,
                 (int64_t[]){i / TOKENS % (VALUES + 1), i / TOKENS / (VALUES + 1)});
    rgm_parameters_touch(to->parameters);
}

typedef struct texts {
    int32_t ids[SENTENCES][LONGEST], factors[SENTENCES][LONGEST * EACH], both[SENTENCES][LONGEST];
    const int32_t *sources[SENTENCES], *beside[SENTENCES], *combined[SENTENCES];
    int64_t lengths[SENTENCES];
} texts;

static void write_texts(texts *t)
{
    for (int64_t b = 0; b < SENTENCES; b++) {
        t->lengths[b] = 1 + (3 * b + 2) % LONGEST;
        t->sources[b] = t->ids[b];
        t->beside[b] = t->factors[b];
        t->combined[b] = t->both[b];
        for (int64_t i = 0; i < t->lengths[b]; i++) {
            int32_t *f = t->factors[b] + i * EACH;

            t->ids[b][i] = token_of(b, i, t->lengths[b], TOKENS, 3);
            f[0] = (int32_t)((b + i) % (VALUES + 1));
            f[1] = (int32_t)((2 * b + 3 * i + 1) % (VALUES + 1));
            t->both[b][i] = t->ids[b][i] + TOKENS * (f[0] + (VALUES + 1) * f[1]);
        }
    }
}

static void compare(const rgm_hypotheses *a, const rgm_hypotheses *b)
{
    for (int64_t s = 0; s < SENTENCES; s++) {
        CHECK_INT(a[s].count, b[s].count);
        for (int64_t k = 0; k < a[s].count; k++) {
            const rgm_hypothesis *x = &a[s].items[k], *y = &b[s].items[k];

            CHECK_INT(x->count, y->count);
            CHECK(x->count == 0 || memcmp(x->ids, y->ids, (size_t)x->count * sizeof *x->ids) == 0);
            CHECK_CLOSE(x->log_probability, y->log_probability, 1e-5, 1e-5);
        }
    }
}

static void clear(rgm_hypotheses *out)
{
    for (int i = 0; i < SENTENCES; i++)
        rgm_hypotheses_clear(&out[i]);
}

static void check_combine(rgm_factor_combine combine)
{
    rgm_seq2seq model = with_factors(combine), combined = of_combinations();
    rgm_beam_search_options o = RGM_BEAM_SEARCH_OPTIONS_INIT;
    rgm_hypotheses a[SENTENCES], b[SENTENCES];
    double first;
    lab with, whole;
    texts t;

    write_texts(&t);
    lab_open(&with, &model);
    lab_open(&whole, &combined);
    copy_weights(&whole, &with);
    o.n_best = 3;
    o.decode_max_length = 9;
    o.decode_batch_size = 2;
    CHECK_OK(rgm_beam_search_run(b, whole.search, t.combined, t.lengths, SENTENCES, &o));
    o.factors = t.beside;
    CHECK_OK(rgm_beam_search_run(a, with.search, t.sources, t.lengths, SENTENCES, &o));
    compare(a, b);
    first = a[0].items[0].log_probability;
    clear(a);
    t.factors[0][0] ^= 1; /* another value is another source */
    CHECK_OK(rgm_beam_search_run(a, with.search, t.sources, t.lengths, SENTENCES, &o));
    CHECK(fabs(first - a[0].items[0].log_probability) > 1e-6);
    clear(a);
    clear(b);
    lab_close(&with);
    lab_close(&whole);
}

static void factors_are_added_to_tokens(void **state)
{
    (void)state;
    check_combine(RGM_FACTORS_SUM);
}

static void factors_stand_behind_tokens(void **state)
{
    (void)state;
    check_combine(RGM_FACTORS_CONCAT);
}

static void what_does_not_go_with_a_model_is_refused(void **state)
{
    rgm_seq2seq m = with_factors(RGM_FACTORS_CONCAT), none = of_combinations();
    rgm_beam_search_options o = RGM_BEAM_SEARCH_OPTIONS_INIT;
    rgm_hypotheses out[SENTENCES];
    lab with, without;
    texts t;

    (void)state;
    m.options.embeddings = RGM_EMBEDDINGS_SHARED;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("model.factors.combine is concat");
    CHECK_MESSAGE("model.embeddings is shared: use target or untied");
    m = with_factors(RGM_FACTORS_CONCAT);
    m.options.factors.width = WIDTH / EACH;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE(
        "model.factors.width is 16: 2 factors leave nothing of model.embedding_width (32)");
    m = with_factors(RGM_FACTORS_SUM);
    none.source_vocabulary = TOKENS;
    write_texts(&t);
    lab_open(&with, &m);
    lab_open(&without, &none);
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_beam_search_run(out, with.search, t.sources, t.lengths, SENTENCES, &o));
    CHECK_MESSAGE("a model of 2 factors is given none");
    o.factors = t.beside;
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_beam_search_run(out, without.search, t.sources, t.lengths, SENTENCES, &o));
    t.factors[1][2] = VALUES + 1;
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_beam_search_run(out, with.search, t.sources, t.lengths, SENTENCES, &o));
    CHECK_MESSAGE("sentence 1: a factor of token 1 is 4, but they are 0..3");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_join(with.search, &without.search, 1));
    CHECK_MESSAGE("models of 2 and 0 factors");
    CHECK(rgm_seq2seq_encode(with.scope, &m, with.source, with.at) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(with.graph));
    CHECK_MESSAGE("a model with 2 factors gets none");
    lab_close(&with);
    lab_close(&without);
}

/* A begin is read as the token that it is: the same as if that token's row stood at 0. */
static void results_begin_with_what_is_given(void **state)
{
    rgm_seq2seq model = of_combinations();
    rgm_beam_search_options o = RGM_BEAM_SEARCH_OPTIONS_INIT;
    static const int32_t begins[SENTENCES] = {7, 7, 7, 7, 7};
    rgm_hypotheses given[SENTENCES], moved[SENTENCES];
    double first;
    float *table;
    texts t;
    lab l;

    (void)state;
    model.source_vocabulary = TOKENS;
    write_texts(&t);
    lab_open(&l, &model);
    o.decode_max_length = 9;
    o.no_padding = true; /* its row is another one below */
    CHECK_OK(rgm_beam_search_run(moved, l.search, t.sources, t.lengths, SENTENCES, &o));
    first = moved[0].items[0].log_probability;
    clear(moved);
    o.begins = begins;
    o.decode_batch_size = 2;
    CHECK_OK(rgm_beam_search_run(given, l.search, t.sources, t.lengths, SENTENCES, &o));
    CHECK(fabs(first - given[0].items[0].log_probability) > 1e-6);
    table = rgm_tensor_f32(rgm_parameters_find(l.parameters, "target_embedding/table"));
    memcpy(table, table + 7 * WIDTH, WIDTH * sizeof *table);
    rgm_parameters_touch(l.parameters);
    o.begins = NULL;
    CHECK_OK(rgm_beam_search_run(moved, l.search, t.sources, t.lengths, SENTENCES, &o));
    compare(given, moved);
    clear(given);
    clear(moved);
    o.begins = (const int32_t[]){7, 7, TOKENS, 7, 7};
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_beam_search_run(given, l.search, t.sources, t.lengths, SENTENCES, &o));
    CHECK_MESSAGE("sentence 2: a result begins with 13, but ids are 0..12");
    lab_close(&l);
}

TESTS(cmocka_unit_test(results_begin_with_what_is_given),
      cmocka_unit_test(factors_are_added_to_tokens), cmocka_unit_test(factors_stand_behind_tokens),
      cmocka_unit_test(what_does_not_go_with_a_model_is_refused))
