/*
 * What targets attend to in their sources: weights against a plain softmax of the whole decoder's
 * queries and keys; the coverage penalty of the search against its definition; lengths by the
 * source's; mistakes, failing allocations.
 */
#include "beam_check.h"

enum { WIDTH = 32, HEADS = 2, DEPTH = WIDTH / HEADS };

/* The attention of the whole decoder, by its own graph. */
typedef struct looker {
    rgm_executor *executor;
    rgm_cross_attention attention;
    rgm_attention_place place;
} looker;

static void looker_open(looker *k, lab *l, int64_t layer, int64_t head)
{
    rgm_value *fetches[2];

    k->place = (rgm_attention_place){layer, head};
    CHECK_OK(rgm_seq2seq_attention(&k->attention, l->scope, &l->model, &k->place));
    fetches[0] = k->attention.queries;
    fetches[1] = k->attention.keys;
    CHECK_OK(rgm_executor_create(&k->executor, l->graph, fetches, 2, NULL));
}

/* weights [count, sources] of the first `count` tokens, the start not among them; and by a plain
 * softmax. */
static void look(float *weights, looker *k, lab *l, int64_t sentence, const int32_t *ids,
                 int64_t count)
{
    int64_t sources = l->lengths[sentence];
    rgm_tensor *fetched[2],
        *tensors[4] = {row_of(l->ids[sentence], sources, false), make_positions(sources),
                       row_of(ids, count, true), make_positions(count)};
    rgm_feed feeds[4] = {{.input = l->source, .tensor = tensors[0]},
                         {.input = l->source_positions, .tensor = tensors[1]},
                         {.input = l->target, .tensor = tensors[2]},
                         {.input = l->target_positions, .tensor = tensors[3]}};

    CHECK_OK(rgm_executor_run(k->executor, fetched, l->parameters, feeds, 4, 0, 0));
    CHECK_OK(rgm_attention_weights(weights, rgm_tensor_f32(fetched[0]), count,
                                   rgm_tensor_f32(fetched[1]), sources, &l->model, &k->place));
    for (int64_t t = 0; t < count; t++) {
        int64_t key_heads = rgm_tensor_dim(fetched[1], 2) / DEPTH;
        for (int64_t s = 0; s < sources; s++) {
            double mean = 0;
            for (int64_t h = 0; h < HEADS; h++) {
                const float *q = rgm_tensor_f32(fetched[0]) + t * WIDTH + h * DEPTH;
                double sum = 0, own = 0;
                for (int64_t i = 0; i < sources; i++) {
                    const float *key = rgm_tensor_f32(fetched[1]) + i * key_heads * DEPTH +
                                       h * key_heads / HEADS * DEPTH;
                    double dot = 0;
                    for (int64_t d = 0; d < DEPTH; d++)
                        dot += (double)(q[d] * key[d]);
                    sum += exp(dot / sqrt(DEPTH));
                    own = i == s ? exp(dot / sqrt(DEPTH)) : own;
                }
                if (k->place.head < 0 || k->place.head == h)
                    mean += own / sum / (k->place.head < 0 ? HEADS : 1);
            }
            CHECK_CLOSE(weights[t * sources + s], mean, 1e-6, 1e-5);
        }
    }
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(tensors[i]);
}

static void weights_are_those_of_the_layer_and_its_heads(void **state)
{
    static const int32_t ids[] = {4, 9, 2, 7};

    (void)state;
    for (int64_t shared = 0; shared <= 1; shared++) {
        rgm_seq2seq model = small_model(2, 3, VOCABULARY, VOCABULARY);
        float found[5][4 * LONGEST];
        lab l;
        model.options.decoder.num_key_value_heads = shared;
        lab_open_with(&l, &model);
        for (int64_t i = 0; i < 5; i++) {
            static const int64_t layers[] = {-1, 2, 0, 1, 2}, heads[] = {-1, -1, 0, 1, 0};
            looker k;
            looker_open(&k, &l, layers[i], heads[i]);
            look(found[i], &k, &l, 3, ids, 4);
            rgm_executor_release(k.executor);
        }
        CHECK(memcmp(found[0], found[1], (size_t)(4 * l.lengths[3]) * sizeof(float)) == 0);
        for (int i = 2; i < 5; i++)
            CHECK(found[i][0] != found[0][0]);
        lab_close(&l);
    }
}

/* ---- coverage -------------------------------------------------------------------------------- */

/* The penalty of a hypothesis that has ended, by equation 14 of the paper. */
static double plain_coverage(looker *k, lab *l, int64_t sentence, const rgm_hypothesis *h)
{
    int64_t sources = l->lengths[sentence];
    float weights[(MANY_TOKENS + 1) * LONGEST];
    int32_t ids[MANY_TOKENS + 1];
    double sum = 0;

    if (h->count > 0)
        memcpy(ids, h->ids, (size_t)h->count * sizeof *ids);
    ids[h->count] = 1;
    look(weights, k, l, sentence, ids, h->count + 1);
    for (int64_t s = 0; s < sources; s++) {
        double got = 0;
        for (int64_t t = 0; t <= h->count; t++)
            got += (double)weights[t * sources + s];
        sum += log(fmin(got, 1));
    }
    return sum;
}

static double plain_score(const rgm_beam_search_options *o, looker *k, lab *l, int64_t sentence,
                          const rgm_hypothesis *h)
{
    if (!h->finished)
        return h->log_probability;
    return h->log_probability / pow((6 + (double)h->count) / 6, o->alpha) +
           o->coverage * plain_coverage(k, l, sentence, h);
}

static void check_coverage(lab *l, int64_t layer, int64_t head)
{
    rgm_hypotheses without[SENTENCES], with[SENTENCES];
    rgm_beam_search_options o = plain_options(4);
    int64_t moved = 0;
    looker k;

    looker_open(&k, l, layer, head);
    translate(without, l, &o);
    o.coverage = 0.7;
    o.attention = k.place;
    translate(with, l, &o);
    for (int64_t i = 0; i < SENTENCES; i++) {
        const rgm_hypothesis *best = &with[i].items[0], *before = &without[i].items[0];
        for (int64_t j = 0; j < with[i].count; j++) {
            CHECK_CLOSE(with[i].items[j].score, plain_score(&o, &k, l, i, &with[i].items[j]), 1e-5,
                        1e-5);
            CHECK(j == 0 || with[i].items[j - 1].score >= with[i].items[j].score);
        }
        for (int64_t j = 0; j < without[i].count && best->finished; j++)
            CHECK(best->score >= plain_score(&o, &k, l, i, &without[i].items[j]) - 1e-5);
        moved += best->count != before->count ||
                 memcmp(best->ids, before->ids, (size_t)best->count * sizeof *best->ids) != 0;
    }
    CHECK(moved > 0);
    clear(with);
    clear(without);
    rgm_executor_release(k.executor);
}

static void coverage_counts_as_its_paper_says(void **state)
{
    rgm_seq2seq shared = small_model(1, 3, VOCABULARY, VOCABULARY);
    lab l;

    (void)state;
    lab_open(&l);
    check_coverage(&l, -1, -1);
    check_coverage(&l, 1, 0);
    lab_close(&l);
    shared.options.decoder.num_key_value_heads = 1;
    lab_open_with(&l, &shared);
    check_coverage(&l, 2, -1);
    lab_close(&l);
}

/* Models together attend as their mean; with 8 bits and among a list's tokens too it is counted. */
static void coverage_goes_with_other_ways_to_search(void **state)
{
    rgm_hypotheses out[SENTENCES], other[SENTENCES];
    rgm_beam_search_options o = plain_options(3);
    rgm_beam_search *beside;
    lab l;

    (void)state;
    lab_open(&l);
    o.coverage = 0.4;
    translate(out, &l, &o);
    CHECK_OK(rgm_beam_search_create(&beside, &l.model, l.parameters, NULL, false));
    CHECK_OK(rgm_beam_search_join(l.search, &beside, 1)); /* the mean of two that are the same */
    translate(other, &l, &o);
    for (int64_t i = 0; i < SENTENCES; i++)
        CHECK_CLOSE(out[i].items[0].score, other[i].items[0].score, 1e-5, 1e-5);
    clear(other);
    CHECK_OK(rgm_beam_search_join(l.search, NULL, 0));
    rgm_beam_search_release(beside);
    o.int8 = true;
    translate(other, &l, &o);
    for (int64_t i = 0; i < SENTENCES; i++)
        CHECK_CLOSE(out[i].items[0].score, other[i].items[0].score, 0.05, 0.05);
    clear(other);
    clear(out);
    lab_close(&l);
}

static void coverage_of_a_sentence_has_the_same_bits_in_any_batch(void **state)
{
    rgm_hypotheses all[SENTENCES], other[SENTENCES];
    rgm_beam_search_options o = plain_options(4);
    lab l;

    (void)state;
    lab_open(&l);
    o.coverage = 0.3;
    translate(all, &l, &o);
    for (o.decode_batch_size = 1; o.decode_batch_size < 4; o.decode_batch_size++) {
        rgm_threads_set((int)o.decode_batch_size);
        translate(other, &l, &o);
        check_same(all, other, SENTENCES);
        clear(other);
    }
    rgm_threads_set(2);
    clear(all);
    lab_close(&l);
}

/* ---- lengths --------------------------------------------------------------------------------- */

static void lengths_go_by_those_of_sources(void **state)
{
    rgm_beam_search_options o = plain_options(2);
    rgm_hypotheses out[SENTENCES];
    int64_t cut = 0;
    lab l;

    (void)state;
    lab_open(&l);
    o.decode_max_length = 0;
    for (int way = 0; way < 3; way++) {
        static const double factors[] = {1, 0.5, 0};
        static const int64_t extra[] = {2, 1, 0};
        o.decode_length_factor = factors[way];
        o.extra_decode_length = extra[way];
        translate(out, &l, &o);
        for (int64_t i = 0; i < SENTENCES; i++)
            for (int64_t j = 0; j < out[i].count; j++) {
                const rgm_hypothesis *h = &out[i].items[j];
                int64_t most = (int64_t)(factors[way] * (double)l.lengths[i]) + extra[way];
                most = most > 1 ? most : 1;
                CHECK_INT(most, h->longest);
                CHECK(h->count + h->finished <= most);
                CHECK(h->finished || h->count == most);
                cut += !h->finished;
            }
        clear(out);
    }
    CHECK(cut > 0);
    lab_close(&l);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes_are_named(void **state)
{
    rgm_beam_search_options o = plain_options(2);
    rgm_cross_attention found;
    rgm_hypotheses out[1];
    rgm_scope *other;
    lab l;

    (void)state;
    lab_open(&l);
    o.attention.layer = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE("task.search.attention.layer is 2, but the decoder has the layers 0 .. 1");
    o.attention = (rgm_attention_place){0, 2};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE("task.search.attention.head is 2");
    o.attention = (rgm_attention_place)RGM_ATTENTION_PLACE_INIT;
    o.coverage = -1;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    other = rgm_scope_enter(l.scope, "another");
    CHECK_STATUS(RGM_ERR_ARG, rgm_seq2seq_attention(&found, other, &l.model, &o.attention));
    CHECK_MESSAGE("no decoder was built here: another/decoder/layer_1/cross_attention");
    lab_close(&l);
}

static rgm_status cover(lab *l)
{
    rgm_beam_search_options o = plain_options(2);
    rgm_hypotheses out[2];
    rgm_beam_search *search = NULL;
    rgm_status status;

    o.decode_max_length = 3;
    o.coverage = 1;
    status = rgm_beam_search_create(&search, &l->model, l->parameters, NULL, false);
    if (status == RGM_OK)
        status = rgm_beam_search_run(out, search, l->sources, l->lengths, 2, &o);
    for (int i = 0; i < 2 && status == RGM_OK; i++)
        rgm_hypotheses_clear(&out[i]);
    rgm_beam_search_release(search);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    lab l;

    (void)state;
    lab_open(&l);
    CHECK_EVERY_OOM(cover(&l), (void)0);
    lab_close(&l);
}

TESTS(cmocka_unit_test(weights_are_those_of_the_layer_and_its_heads),
      cmocka_unit_test(coverage_counts_as_its_paper_says),
      cmocka_unit_test(coverage_goes_with_other_ways_to_search),
      cmocka_unit_test(coverage_of_a_sentence_has_the_same_bits_in_any_batch),
      cmocka_unit_test(lengths_go_by_those_of_sources), cmocka_unit_test(mistakes_are_named),
      cmocka_unit_test(every_failing_allocation_is_survived))
