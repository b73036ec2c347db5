/*
 * Decoding: kept keys and values against the whole decoder run again for each token, greedy search
 * against the definition, beam search against a plain implementation of it, batch mates, padding,
 * threads, sampling, mistakes, failing allocations.
 */
#include "beam_check.h"
#include "sequence_internal.h"

#include <regimen/kernels.h>

/* ---- against the definitions ---- */

static void check_kept(const rgm_seq2seq *model)
{
    static const int64_t beams[] = {1, 2, 5};
    rgm_hypotheses out[SENTENCES];
    int64_t finished = 0;
    lab l;

    lab_open_with(&l, model);
    for (int k = 0; k < 3; k++) {
        rgm_beam_search_options o = plain_options(beams[k]);
        translate(out, &l, &o);
        for (int64_t i = 0; i < SENTENCES; i++)
            for (int64_t j = 0; j < out[i].count; j++) {
                const rgm_hypothesis *h = &out[i].items[j];
                double p = whole_probability(&l, i, h, 1);
                CHECK_CLOSE(h->log_probability, p, 1e-5, 1e-5);
                CHECK_CLOSE(h->score,
                            h->finished ? h->log_probability / pow((6 + (double)h->count) / 6, 0.6)
                                        : h->log_probability,
                            1e-12, 1e-12);
                finished += h->finished;
            }
        clear(out);
    }
    CHECK(finished > SENTENCES);
    lab_close(&l);
}

static void kept_keys_and_values_are_those_of_the_whole_decoder(void **state)
{
    rgm_seq2seq model = small_model(2, 2, VOCABULARY, VOCABULARY);

    (void)state;
    check_kept(&model);
}

/* Where keys are fewer, turned, out of a window's reach, or count by their distance. */
static void blocks_of_today_keep_them_alike(void **state)
{
    static const rgm_positions positions[] = {RGM_POSITIONS_ROTARY, RGM_POSITIONS_ALIBI,
                                              RGM_POSITIONS_RELATIVE, RGM_POSITIONS_NONE};

    (void)state;
    for (int i = 0; i < 4; i++) {
        rgm_seq2seq model = small_model(1, 2, VOCABULARY, VOCABULARY);
        rgm_stack_options *o = &model.options.decoder;
        model.options.positions = positions[i];
        model.options.relative_buckets = 8;
        model.options.relative_distance = 6;
        o->num_key_value_heads = i < 3;
        o->attention_window = i > 0 ? 3 : 0;
        o->gated = i % 2;
        check_kept(&model);
    }
}

/* More tokens than there is room for at first, with an end that is seldom; then shorter ones again.
 */
static void many_tokens_find_room(void **state)
{
    rgm_hypotheses out[SENTENCES], again[SENTENCES];
    int64_t longest = 0;
    lab l;

    (void)state;
    lab_open(&l);
    for (int64_t beams = 1; beams <= 3; beams += 2) {
        rgm_beam_search_options o = plain_options(beams);
        o.end_id = 5;
        o.decode_max_length = MANY_TOKENS;
        translate(out, &l, &o);
        for (int64_t i = 0; i < SENTENCES; i++)
            for (int64_t j = 0; j < out[i].count; j++) {
                const rgm_hypothesis *h = &out[i].items[j];
                double p = whole_probability(&l, i, h, o.end_id);
                CHECK_CLOSE(h->log_probability, p, 1e-5, 1e-5);
                longest = h->count > longest ? h->count : longest;
            }
        o.decode_batch_size = 3;
        translate(again, &l, &o);
        check_same(out, again, SENTENCES);
        clear(again);
        clear(out);
    }
    CHECK(longest > 40);
    lab_close(&l);
}

/* `steps` steps of all sentences, `beams` rows each, that exchange their pasts. */
static void decode_steps(lab *l, int64_t beams, int64_t steps, bool no_memory)
{
    int64_t sentences[SENTENCES], parents[SENTENCES * 4], count = SENTENCES;
    int32_t ids[SENTENCES * 4] = {0};
    rgmi_decoding d;
    const float *logits;

    CHECK_OK(rgmi_decoding_open(
        &d, l->search,
        &(rgmi_sources){.ids = l->sources, .lengths = l->lengths, .count = SENTENCES}, beams));
    for (int64_t step = 0; step < steps; step++) {
        if (step >= 2 && no_memory) /* one beam, then `beams`: the batch's sizes are named */
            rgm_memory_fail_at(0, true);
        CHECK_OK(rgmi_decoding_step(&d, ids));
        CHECK_OK(rgmi_decoding_logits(&logits, &d));
        for (int64_t s = 0; s < count; s++) {
            sentences[s] = s;
            for (int64_t k = 0; k < beams; k++) {
                parents[s * beams + k] = step == 0 ? s : s * beams + (k * step) % beams;
                ids[s * beams + k] = (int32_t)(2 + (s + k + step) % (VOCABULARY - 2));
            }
        }
        CHECK_OK(rgmi_decoding_select(&d, sentences, count, beams, parents));
        rgm_memory_fail_at(-1, false);
        CHECK_INT(0, rgm_memory_failures());
    }
    rgmi_decoding_close(&d);
}

static void steps_of_sizes_met_before_allocate_nothing(void **state)
{
    lab l;

    (void)state;
    lab_open(&l);
    for (int64_t beams = 1; beams <= 4; beams += 3) {
        decode_steps(&l, beams, 40, false);
        decode_steps(&l, beams, 40, true);
    }
    lab_close(&l);
}

static void greedy_takes_the_most_probable_token(void **state)
{
    rgm_beam_search_options o = plain_options(1);
    rgm_hypotheses out[SENTENCES];
    lab l;

    (void)state;
    lab_open(&l);
    translate(out, &l, &o);
    for (int64_t i = 0; i < SENTENCES; i++) {
        const rgm_hypothesis *h = &out[i].items[0];
        float row[(TOKENS + 1) * VOCABULARY];
        CHECK_INT(1, out[i].count);
        run_whole(row, &l, i, h->ids, h->count);
        for (int64_t t = 0; t < h->count + h->finished; t++) {
            int64_t best = 0;
            for (int64_t v = 1; v < VOCABULARY; v++)
                if (row[t * VOCABULARY + v] > row[t * VOCABULARY + best])
                    best = v;
            CHECK_INT(best, t < h->count ? h->ids[t] : 1);
        }
        CHECK(h->finished || h->count == TOKENS);
    }
    clear(out);
    lab_close(&l);
}

/* The search of the specification for one sentence, with the whole decoder run for every beam. */
typedef struct line {
    int32_t ids[TOKENS + 1];
    int64_t count;
    double log_probability, score;
} line;

static int64_t insert(line *list, int64_t count, int64_t most, const line *item)
{
    int64_t at = count;

    while (at > 0 && list[at - 1].score < item->score)
        at--;
    if (at >= most)
        return count;
    count = count < most ? count + 1 : most;
    memmove(&list[at + 1], &list[at], (size_t)(count - 1 - at) * sizeof *list);
    list[at] = *item;
    return count;
}

static double plain_penalty(const rgm_beam_search_options *o, double length)
{
    return pow(o->length_penalty == RGM_LENGTH_POWER ? length : (5 + length) / 6, o->alpha);
}

/* Beams that search by themselves. */
typedef struct group {
    line open[8], done[8];
    int64_t open_count, done_count;
} group;

/* What may follow in a group, best first, less what groups before it have chosen in this step. */
static int64_t plain_continuations(line *next, lab *l, int64_t sentence, const group *groups,
                                   int64_t g, const rgm_beam_search_options *o)
{
    int64_t count = 0, most = 2 * o->beam_size / o->diversity_groups;

    for (int64_t k = 0; k < groups[g].open_count; k++) {
        float row[(TOKENS + 1) * VOCABULARY];
        int64_t length = groups[g].open[k].count;
        run_whole(row, l, sentence, groups[g].open[k].ids, length);
        for (int32_t v = o->no_padding; v < VOCABULARY; v++) {
            line item = groups[g].open[k];
            item.ids[item.count++] = v;
            item.log_probability += row[length * VOCABULARY + v];
            item.score = item.log_probability;
            for (int64_t h = 0; h < g; h++)
                for (int64_t j = 0; j < groups[h].open_count; j++)
                    item.score -= groups[h].open[j].ids[length] == v ? o->diversity : 0;
            count = insert(next, count, most, &item);
        }
    }
    return count;
}

static bool is_found(const group *groups, const line *item, const rgm_beam_search_options *o)
{
    for (int64_t g = 0; g < o->diversity_groups; g++)
        for (int64_t k = 0; k < groups[g].done_count; k++)
            if (groups[g].done[k].count == item->count &&
                memcmp(groups[g].done[k].ids, item->ids, (size_t)item->count * sizeof *item->ids) ==
                    0)
                return true;
    return false;
}

static void plain_take(group *groups, int64_t g, line *next, int64_t count,
                       const rgm_beam_search_options *o)
{
    int64_t size = o->beam_size / o->diversity_groups;
    group *own = &groups[g];

    own->open_count = 0;
    for (int64_t c = 0; c < count; c++)
        if (next[c].ids[next[c].count - 1] == 1) {
            next[c].score = next[c].log_probability / plain_penalty(o, (double)next[c].count);
            if ((c < size || !o->end_within_beam) && !is_found(groups, &next[c], o))
                own->done_count = insert(own->done, own->done_count, size, &next[c]);
        } else if (own->open_count < size) {
            own->open[own->open_count++] = next[c];
        }
}

/* None that is open can become better than the worst that is done. */
static bool is_settled(const group *g, const rgm_beam_search_options *o)
{
    double best = -INFINITY;

    for (int64_t k = 0; k < g->open_count; k++)
        best = fmax(best, g->open[k].log_probability);
    return g->done_count > 0 && g->done[g->done_count - 1].score > best / plain_penalty(o, TOKENS);
}

static int64_t plain_search(line *done, lab *l, int64_t sentence, const rgm_beam_search_options *o)
{
    group groups[3] = {{.open_count = 1}, {.open_count = 1}, {.open_count = 1}};
    int64_t count = 0;
    line next[17];

    for (int64_t step = 0; step < TOKENS; step++) {
        for (int64_t g = 0; g < o->diversity_groups; g++)
            plain_take(groups, g, next, plain_continuations(next, l, sentence, groups, g, o), o);
        for (int64_t g = 0; g < o->diversity_groups; g++)
            if (is_settled(&groups[g], o))
                groups[g].open_count = 0;
    }
    for (int64_t g = 0; g < o->diversity_groups; g++)
        for (int64_t k = 0; k < groups[g].done_count; k++)
            count = insert(done, count, o->beam_size, &groups[g].done[k]);
    return count;
}

static void check_definition(lab *l, const rgm_beam_search_options *o)
{
    rgm_hypotheses out[SENTENCES];

    translate(out, l, o);
    for (int64_t i = 0; i < SENTENCES; i++) {
        line done[8];
        int64_t count = plain_search(done, l, i, o);
        CHECK_INT(count > 0, out[i].items[0].finished);
        for (int64_t k = 0; k < count; k++) {
            const rgm_hypothesis *h = &out[i].items[k];
            CHECK_INT(count, out[i].count);
            CHECK_INT(done[k].count - 1, h->count);
            for (int64_t t = 0; t < h->count; t++)
                CHECK_INT(done[k].ids[t], h->ids[t]);
            CHECK_CLOSE(h->score, done[k].score, 1e-5, 1e-5);
        }
    }
    clear(out);
}

static void beam_search_is_the_one_of_its_definition(void **state)
{
    static const double alphas[] = {0, 0.6, 1.5};
    lab l;

    (void)state;
    lab_open(&l);
    for (int a = 0; a < 12; a++) {
        rgm_beam_search_options o = plain_options(3);
        o.alpha = alphas[a % 3];
        o.length_penalty = a / 3 % 2 == 0 ? RGM_LENGTH_GNMT : RGM_LENGTH_POWER;
        o.end_within_beam = a >= 6;
        check_definition(&l, &o);
    }
    lab_close(&l);
}

/* With diversity the first of a group need not be its most probable one. */
static void groups_search_by_their_definition(void **state)
{
    lab l;

    (void)state;
    lab_open(&l);
    for (int a = 0; a < 12; a++) {
        rgm_beam_search_options o = plain_options(6);
        o.diversity_groups = 2 + a % 2;
        o.diversity = 0.3 + 0.4 * (a / 4);
        o.alpha = a / 2 % 2 == 0 ? 0 : 0.6;
        check_definition(&l, &o);
    }
    lab_close(&l);
}

/* ---- what must not matter ---- */

static void batch_mates_padding_and_threads_change_no_bit(void **state)
{
    lab l;

    (void)state;
    lab_open(&l);
    for (int k = 0; k < 6; k++) {
        rgm_beam_search_options o = plain_options(k % 2 == 0 ? 1 : 4), sampled;
        rgm_hypotheses all[SENTENCES], other[SENTENCES];
        rgm_beam_search_release(l.search); /* f32, then bf16, then 8 bits */
        CHECK_OK(rgm_beam_search_create(&l.search, &l.model, l.parameters, NULL, k / 2 == 1));
        o.int8 = k / 2 == 2;
        sampled = o;
        for (int sample = 0; sample <= (k % 2 == 0); sample++) {
            o = sampled;
            o.sample = sample;
            translate(all, &l, &o);
            for (o.decode_batch_size = 1; o.decode_batch_size < 4; o.decode_batch_size++) {
                translate(other, &l, &o);
                check_same(all, other, SENTENCES);
                clear(other);
            }
            rgm_threads_set(1);
            translate(other, &l, &o);
            check_same(all, other, SENTENCES);
            clear(other);
            rgm_threads_set(2);
            translate(other, &l, &o);
            check_same(all, other, SENTENCES);
            clear(other);
            clear(all);
        }
    }
    lab_close(&l);
}

static void batches_by_tokens_count_padding(void **state)
{
    static const int64_t wants[][4] = {/* sentences, tokens, longest, together */
                                       {64, 0, 30, 40}, {64, 1200, 30, 40}, {64, 1199, 30, 39},
                                       {64, 90, 30, 3}, {64, 89, 30, 2},    {64, 30, 30, 1},
                                       {64, 7, 30, 1},  {2, 90, 30, 2},     {1, 1000, 1, 1}};
    rgm_hypotheses all[SENTENCES], other[SENTENCES];
    rgm_beam_search_options o = plain_options(4);
    lab l;

    (void)state;
    lab_open(&l);
    translate(all, &l, &o);
    for (o.decode_batch_tokens = 1; o.decode_batch_tokens < 30; o.decode_batch_tokens += 7) {
        translate(other, &l, &o);
        check_same(all, other, SENTENCES);
        clear(other);
    }
    clear(all);
    lab_close(&l);
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        o.decode_batch_size = wants[i][0];
        o.decode_batch_tokens = wants[i][1];
        CHECK_INT(wants[i][3], rgmi_beam_batch(&o, wants[i][2], 40));
    }
}

/* ---- 8 bits ---- */

/* Every matrix as 8 bits keep it. */
static void keep_in_8_bits(rgm_parameters *parameters)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        rgm_tensor *matrix = rgm_parameters_tensor(parameters, i), *numbers, *steps, *again;
        int axis = rgm_seq2seq_int8_axis(rgm_parameters_name(parameters, i), matrix);
        if (axis < 0)
            continue;
        CHECK_OK(rgm_int8_from(&numbers, &steps, matrix, axis));
        CHECK_OK(rgm_int8_to(&again, numbers, steps, axis));
        memcpy(rgm_tensor_f32(matrix), rgm_tensor_f32(again),
               (size_t)rgm_tensor_count(matrix) * sizeof(float));
        rgm_tensor_release(numbers);
        rgm_tensor_release(steps);
        rgm_tensor_release(again);
    }
    rgm_parameters_touch(parameters);
}

static void eight_bits_are_near_and_those_of_what_was_kept(void **state)
{
    rgm_hypotheses plain[SENTENCES], int8[SENTENCES], kept[SENTENCES];
    rgm_beam_search_options o = plain_options(3);
    rgm_beam_search *other;
    double off = 0;
    int64_t used;
    lab l;

    (void)state;
    lab_open(&l);
    translate(plain, &l, &o);
    o.int8 = true;
    translate(int8, &l, &o);
    for (int64_t i = 0; i < SENTENCES; i++)
        for (int64_t k = 0; k < int8[i].count; k++) {
            double p = whole_probability(&l, i, &int8[i].items[k], 1);
            CHECK_CLOSE(p, int8[i].items[k].log_probability, 0.02, 0.02);
            off = fmax(off, fabs(p - int8[i].items[k].log_probability));
        }
    CHECK(off > 1e-5); /* it is another arithmetic */
    CHECK_OK(rgm_beam_search_create(&other, &l.model, l.parameters, NULL, false));
    CHECK_OK(rgm_beam_search_join(l.search, &other, 1)); /* the mean of two that are the same */
    translate(kept, &l, &o);
    for (int64_t i = 0; i < SENTENCES; i++) {
        CHECK_INT(int8[i].items[0].count, kept[i].items[0].count);
        CHECK_CLOSE(int8[i].items[0].score, kept[i].items[0].score, 1e-5, 1e-5);
    }
    clear(kept);
    CHECK_OK(rgm_beam_search_join(l.search, NULL, 0));
    rgm_beam_search_release(other);
    o.int8 = false; /* and back */
    translate(kept, &l, &o);
    check_same(plain, kept, SENTENCES);
    clear(kept);
    o.int8 = true;
    translate(kept, &l, &o);
    clear(kept);
    used = rgm_memory_used();
    keep_in_8_bits(l.parameters); /* the search reads them anew, and needs no copy any more */
    translate(kept, &l, &o);
    check_same(int8, kept, SENTENCES);
    clear(kept);
    CHECK(used - rgm_memory_used() >= 4 * rgm_parameters_total(l.parameters));
    rgm_tensor_f32(rgm_parameters_find(l.parameters, "embedding/table"))[40] += 1;
    rgm_parameters_touch(l.parameters);
    translate(kept, &l, &o);
    CHECK(kept[0].items[0].log_probability != int8[0].items[0].log_probability);
    clear(kept);
    clear(int8);
    clear(plain);
    lab_close(&l);
}

/* ---- shortlists ---- */

/* Token s is translated by s + 1 and s + 2, of `first` and the best two. */
static rgm_shortlist *small_shortlist(int64_t first)
{
    rgm_shortlist_options o = {.first = first, .best = 2};
    int32_t ids[VOCABULARY][3];
    rgm_sequence_pair pairs[VOCABULARY];
    rgm_shortlist *list;

    for (int32_t s = 0; s < VOCABULARY; s++) {
        ids[s][0] = s;
        ids[s][1] = (s + 1) % VOCABULARY;
        ids[s][2] = (s + 2) % VOCABULARY;
        pairs[s] = (rgm_sequence_pair){ids[s], ids[s] + 1, 1, 2};
    }
    CHECK_OK(rgm_shortlist_learn(&list, pairs, VOCABULARY, VOCABULARY, VOCABULARY, &o));
    return list;
}

static bool may_have(const rgm_shortlist *list, const lab *l, int64_t sentence, int32_t token)
{
    for (int64_t i = 0; i < l->lengths[sentence]; i++) {
        const int32_t *tokens;
        int64_t count = rgm_shortlist_tokens(&tokens, list, l->ids[sentence][i]);
        for (int64_t k = 0; k < count; k++)
            if (tokens[k] == token)
                return true;
    }
    return token == 0; /* of equal frequency the first */
}

static void a_list_of_all_tokens_changes_nothing(void **state)
{
    rgm_shortlist *list = small_shortlist(VOCABULARY);
    rgm_hypotheses all[SENTENCES], some[SENTENCES];
    lab l;

    (void)state;
    lab_open(&l);
    for (int k = 0; k < 4; k++) {
        rgm_beam_search_options o = plain_options(k % 2 == 0 ? 1 : 4);
        o.int8 = k >= 2;
        translate(all, &l, &o);
        o.shortlist = list;
        translate(some, &l, &o);
        for (int64_t i = 0; i < SENTENCES; i++) {
            const rgm_hypothesis *a = &all[i].items[0], *b = &some[i].items[0];
            CHECK_INT(a->count, b->count);
            CHECK(memcmp(a->ids, b->ids, (size_t)a->count * sizeof *a->ids) == 0);
            CHECK_CLOSE(a->score, b->score, 1e-5, 1e-5);
        }
        clear(some);
        clear(all);
    }
    rgm_shortlist_release(list);
    lab_close(&l);
}

static void a_shortlist_is_each_sentence_s_own(void **state)
{
    rgm_shortlist *list = small_shortlist(1);
    int64_t others = 0;
    lab l;

    (void)state;
    lab_open(&l);
    for (int k = 0; k < 6; k++) {
        rgm_beam_search_options o = plain_options(k % 2 == 0 ? 1 : 2);
        rgm_hypotheses all[SENTENCES], other[SENTENCES];
        rgm_beam_search_release(l.search);
        CHECK_OK(rgm_beam_search_create(&l.search, &l.model, l.parameters, NULL, k / 2 == 1));
        o.int8 = k / 2 == 2;
        o.shortlist = list;
        translate(all, &l, &o);
        for (int64_t i = 0; i < SENTENCES; i++)
            for (int64_t t = 0; t < all[i].items[0].count && l.lengths[i] > 1; t++)
                CHECK(may_have(list, &l, i, all[i].items[0].ids[t]));
        for (o.decode_batch_size = 1; o.decode_batch_size < 4; o.decode_batch_size++) {
            rgm_threads_set((int)o.decode_batch_size);
            translate(other, &l, &o);
            check_same(all, other, SENTENCES);
            clear(other);
        }
        o.shortlist = NULL; /* and without one again */
        translate(other, &l, &o);
        for (int64_t i = 0; i < SENTENCES; i++)
            for (int64_t t = 0; t < other[i].items[0].count; t++)
                others += !may_have(list, &l, i, other[i].items[0].ids[t]);
        clear(other);
        clear(all);
    }
    rgm_threads_set(2);
    CHECK(others > 0);
    rgm_shortlist_release(list);
    lab_close(&l);
}

static int64_t paddings(lab *l, const rgm_beam_search_options *o)
{
    rgm_hypotheses out[SENTENCES];
    int64_t count = 0;

    translate(out, l, o);
    for (int64_t i = 0; i < SENTENCES; i++)
        for (int64_t k = 0; k < out[i].count; k++)
            for (int64_t t = 0; t < out[i].items[k].count; t++)
                count += out[i].items[k].ids[t] == 0;
    clear(out);
    return count;
}

/* A model that gives token 0 more than half of the probability. */
static void padding_is_left_out_on_demand(void **state)
{
    rgm_shortlist *list = small_shortlist(VOCABULARY);
    lab l;

    (void)state;
    lab_open(&l);
    rgm_tensor_f32(rgm_parameters_find(l.parameters, "output/bias"))[0] += 6;
    rgm_parameters_touch(l.parameters);
    for (int way = 0; way < 6; way++) { /* greedy, beams; plain, with a rule, drawn or shortened */
        rgm_beam_search_options o = plain_options(way % 2 == 0 ? 1 : 3);
        o.no_repeat_ngram = way / 2 == 1 ? 3 : 0;
        o.sample = way == 4;
        o.shortlist = way == 5 ? list : NULL;
        CHECK(paddings(&l, &o) > 0);
        o.no_padding = true;
        CHECK_INT(0, paddings(&l, &o));
        if (way == 1)
            check_definition(&l, &o);
    }
    rgm_shortlist_release(list);
    lab_close(&l);
}

/* ---- sampling ---- */

static void sampling_draws_by_probability_among_those_allowed(void **state)
{
    enum { DRAWS = 600 };
    int64_t seen[3][VOCABULARY] = {{0}};
    float row[2 * VOCABULARY];
    rgm_hypotheses out[SENTENCES];
    lab l;

    (void)state;
    lab_open(&l);
    run_whole(row, &l, 0, NULL, 0);
    for (int way = 0; way < 3; way++)
        for (int draw = 0; draw < DRAWS; draw++) {
            rgm_beam_search_options o = plain_options(1);
            const rgm_hypothesis *h;
            o.sample = true;
            o.decode_max_length = 1;
            o.seed = draw;
            o.top_k = way == 1 ? 2 : 0;
            o.top_p = way == 2 ? 1e-6 : 1;
            CHECK_OK(rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
            h = &out[0].items[0];
            seen[way][h->finished ? 1 : h->ids[0]]++;
            rgm_hypotheses_clear(&out[0]);
        }
    for (int v = 0; v < VOCABULARY; v++) {
        double p = exp((double)row[v]), sigma = sqrt(p * (1 - p) / DRAWS);
        int above = 0;
        for (int u = 0; u < VOCABULARY; u++)
            above += row[u] > row[v];
        CHECK_CLOSE((double)seen[0][v] / DRAWS, p, 0, 5 * sigma + 2.0 / DRAWS);
        CHECK((seen[1][v] > 0) == (above < 2) || exp((double)row[v]) < 0.01);
        CHECK_INT(above == 0 ? DRAWS : 0, seen[2][v]);
    }
    lab_close(&l);
}

/* ---- mistakes ---- */

static void mistakes_are_named(void **state)
{
    rgm_beam_search_options o = plain_options(4);
    rgm_hypotheses out[SENTENCES];
    rgm_shortlist *list = small_shortlist(2);
    int64_t none = 0;
    lab l;

    (void)state;
    lab_open(&l);
    o.n_best = 5;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE("n_best is 5, above beam_size (4)");
    o = plain_options(7);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE("task.search.beam_size is 7; a vocabulary of 13 allows 6");
    o = plain_options(4);
    o.sample = true;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    o = plain_options(1);
    CHECK_STATUS(RGM_ERR_DATA, rgm_beam_search_run(out, l.search, l.sources, &none, 1, &o));
    CHECK_MESSAGE("sentence 0 has 0 tokens");
    l.ids[2][0] = VOCABULARY;
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_beam_search_run(out, l.search, l.sources, l.lengths, SENTENCES, &o));
    CHECK_MESSAGE("sentence 2: token 0 is 13, but ids are 0..12");
    CHECK_OK(rgm_beam_search_run(out, l.search, l.sources, l.lengths, 0, &o));
    o.shortlist = list;
    o.sample = true;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE(
        "a shortlist goes with plain greedy search and beams: not with task.search.sample");
    o.sample = false;
    o.no_repeat_ngram = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE("not with no_repeat_ngram, repetition_penalty or decode_min_length");
    o.no_repeat_ngram = 0;
    CHECK_OK(rgm_beam_search_join(l.search, &l.search, 1));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE("a shortlist goes with one model");
    CHECK_OK(rgm_beam_search_join(l.search, NULL, 0));
    l.model.target_vocabulary--;
    o.sample = false;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_check(&o, &l.model));
    CHECK_MESSAGE("the shortlist is of vocabularies of 13 and 13, the model's have 13 and 12");
    rgm_shortlist_release(list);
    lab_close(&l);
}

static rgm_status translate_two(lab *l, bool int8, const rgm_shortlist *list)
{
    rgm_beam_search_options o = plain_options(2);
    rgm_hypotheses out[2];
    rgm_beam_search *search = NULL;
    rgm_status status;

    o.decode_max_length = 3;
    o.int8 = int8;
    o.shortlist = list;
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
    rgm_shortlist *list = small_shortlist(2);
    lab l;

    (void)state;
    lab_open(&l);
    CHECK_EVERY_OOM(translate_two(&l, false, NULL), (void)0);
    CHECK_EVERY_OOM(translate_two(&l, true, list), (void)0);
    rgm_shortlist_release(list);
    lab_close(&l);
}

TESTS(cmocka_unit_test(kept_keys_and_values_are_those_of_the_whole_decoder),
      cmocka_unit_test(blocks_of_today_keep_them_alike), cmocka_unit_test(many_tokens_find_room),
      cmocka_unit_test(steps_of_sizes_met_before_allocate_nothing),
      cmocka_unit_test(greedy_takes_the_most_probable_token),
      cmocka_unit_test(beam_search_is_the_one_of_its_definition),
      cmocka_unit_test(groups_search_by_their_definition),
      cmocka_unit_test(padding_is_left_out_on_demand),
      cmocka_unit_test(batch_mates_padding_and_threads_change_no_bit),
      cmocka_unit_test(batches_by_tokens_count_padding),
      cmocka_unit_test(eight_bits_are_near_and_those_of_what_was_kept),
      cmocka_unit_test(a_list_of_all_tokens_changes_nothing),
      cmocka_unit_test(a_shortlist_is_each_sentence_s_own),
      cmocka_unit_test(sampling_draws_by_probability_among_those_allowed),
      cmocka_unit_test(mistakes_are_named), cmocka_unit_test(every_failing_allocation_is_survived))
