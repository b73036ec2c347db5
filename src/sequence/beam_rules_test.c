/*
 * What may follow in the search over tokens: beginnings, forbidden and required tokens, repetition,
 * the shortest length, groups that differ; against plain definitions with the whole decoder.
 */
#include "beam_check.h"
#include "sequence_internal.h"

#include <math.h>

static bool occurs(const rgm_hypothesis *h, const int32_t *ids, int64_t count)
{
    for (int64_t i = 0; i + count <= h->count; i++)
        if (memcmp(h->ids + i, ids, (size_t)count * sizeof *ids) == 0)
            return true;
    return false;
}

/* Probabilities are the model's, whatever was forbidden. */
static void check_probabilities(lab *l, const rgm_hypotheses *out)
{
    for (int64_t i = 0; i < SENTENCES; i++)
        for (int64_t k = 0; k < out[i].count; k++) {
            const rgm_hypothesis *h = &out[i].items[k];
            CHECK_CLOSE(h->log_probability, whole_probability(l, i, h, 1), 1e-5, 1e-5);
        }
}

/* ---- greedy search by its definition, token by token ---- */

typedef struct rules {
    int64_t min_length, ngram;
    double penalty;
    const rgm_target_request *request;
} rules;

static bool may_follow(const rules *r, const int32_t *ids, int64_t count, int32_t token)
{
    int32_t with[TOKENS + 1];

    memcpy(with, ids, (size_t)count * sizeof *ids);
    with[count] = token;
    if (r->request != NULL && count < r->request->prefix.count)
        return token == r->request->prefix.ids[count];
    if (token == 1 && count < r->min_length)
        return false;
    for (int64_t i = 0; r->ngram > 0 && i + r->ngram <= count; i++)
        if (memcmp(with + i, with + count + 1 - r->ngram, (size_t)r->ngram * sizeof *ids) == 0)
            return false;
    for (int64_t i = 0; r->request != NULL && i < r->request->banned_count; i++) {
        const rgm_token_list *b = &r->request->banned[i];
        if (count + 1 >= b->count &&
            memcmp(with + count + 1 - b->count, b->ids, (size_t)b->count * sizeof *ids) == 0)
            return false;
    }
    return true;
}

/* The most probable token after `ids`, and its log-probability with the penalty. */
static int32_t plain_best(double *value, lab *l, const rules *r, int64_t sentence,
                          const int32_t *ids, int64_t count)
{
    float row[(MANY_TOKENS + 1) * VOCABULARY];
    int32_t best = -1;

    run_whole(row, l, sentence, ids, count);
    for (int32_t v = 0; v < VOCABULARY; v++) {
        double own = row[count * VOCABULARY + v];
        for (int64_t i = 0; i < count; i++)
            if (ids[i] == v && (r->request == NULL || count >= r->request->prefix.count)) {
                own *= r->penalty;
                break;
            }
        if (may_follow(r, ids, count, v) && (best < 0 || own > *value)) {
            best = v;
            *value = own;
        }
    }
    return best;
}

static void check_greedy(lab *l, const rgm_beam_search_options *o, const rules *r)
{
    rgm_hypotheses out[SENTENCES];

    translate(out, l, o);
    for (int64_t i = 0; i < SENTENCES; i++) {
        const rgm_hypothesis *h = &out[i].items[0];
        rules own = *r;
        double sum = 0, value = 0;
        CHECK_INT(1, out[i].count);
        own.request = o->requests != NULL ? &o->requests[i] : NULL;
        for (int64_t k = 0; k < h->count; k++) {
            CHECK_INT(plain_best(&value, l, &own, i, h->ids, k), h->ids[k]);
            sum += value;
        }
        if (h->finished) {
            CHECK_INT(1, plain_best(&value, l, &own, i, h->ids, h->count));
            sum += value;
        }
        CHECK(h->finished || h->count == TOKENS ||
              plain_best(&value, l, &own, i, h->ids, h->count) < 0);
        CHECK_CLOSE(h->log_probability, sum, 1e-5, 1e-5);
    }
    clear(out);
}

static const int32_t begin[] = {7, 3, 7}, pair[] = {4, 9}, one[] = {5}, six[] = {6};
static const rgm_token_list lists[] = {
    {.ids = pair, .count = 2}, {.ids = one, .count = 1}, {.ids = six, .count = 1}};

/* Every sentence another: nothing, a prefix, something banned, both. */
static void fill_requests(rgm_target_request *requests)
{
    memset(requests, 0, SENTENCES * sizeof *requests);
    for (int64_t i = 0; i < SENTENCES; i++) {
        if (i % 2 == 1)
            requests[i].prefix = (rgm_token_list){.ids = begin, .count = 1 + i % 3};
        if (i % 4 >= 2) {
            requests[i].banned = lists;
            requests[i].banned_count = 2;
        }
    }
}

static void greedy_search_keeps_each_rule(void **state)
{
    rgm_target_request requests[SENTENCES];
    lab l;

    (void)state;
    lab_open(&l);
    fill_requests(requests);
    for (int64_t way = 0; way < 16; way++) {
        rgm_beam_search_options o = plain_options(1);
        rules r = {.penalty = 1};
        if ((way & 1) != 0)
            o.decode_min_length = r.min_length = 6;
        if ((way & 2) != 0)
            o.no_repeat_ngram = r.ngram = 1 + way % 3;
        if ((way & 4) != 0)
            o.repetition_penalty = r.penalty = 1.7;
        if ((way & 8) != 0)
            o.requests = requests;
        check_greedy(&l, &o, &r);
    }
    lab_close(&l);
}

/* ---- beams ---- */

static void beams_keep_beginnings_and_avoid_what_is_banned(void **state)
{
    rgm_target_request requests[SENTENCES];
    rgm_beam_search_options o = plain_options(4);
    rgm_hypotheses out[SENTENCES], plain[SENTENCES];
    rgm_token_list begun[SENTENCES];
    int64_t same = 0, banned = 0;
    lab l;

    (void)state;
    lab_open(&l);
    fill_requests(requests);
    o.decode_min_length = 3;
    translate(plain, &l, &o);
    for (int64_t i = 2; i < SENTENCES; i++) /* what the best one begins with */
        if (requests[i].banned_count > 0 && requests[i].prefix.count == 0) {
            begun[i] = (rgm_token_list){.ids = plain[i].items[0].ids, .count = 2};
            requests[i].banned = &begun[i];
            requests[i].banned_count = 1;
            banned++;
        }
    o.requests = requests;
    translate(out, &l, &o);
    check_probabilities(&l, out);
    for (int64_t i = 0; i < SENTENCES; i++) {
        const rgm_target_request *r = &requests[i];
        for (int64_t k = 0; k < out[i].count; k++) {
            const rgm_hypothesis *h = &out[i].items[k];
            CHECK(h->count >= r->prefix.count);
            for (int64_t t = 0; t < r->prefix.count; t++)
                CHECK_INT(r->prefix.ids[t], h->ids[t]);
            for (int64_t b = 0; b < r->banned_count; b++)
                CHECK(!occurs(h, r->banned[b].ids, r->banned[b].count));
        }
        if (r->prefix.count == 0 && r->banned_count == 0) {
            check_same(&plain[i], &out[i], 1);
            same++;
        }
    }
    CHECK(same > 0 && banned > 0);
    clear(out);
    clear(plain);
    lab_close(&l);
}

static void required_tokens_occur(void **state)
{
    static const int64_t beams[] = {2, 3, 6};
    rgm_target_request requests[SENTENCES];
    rgm_hypotheses out[SENTENCES], plain[SENTENCES];
    int64_t had = 0;
    lab l;

    (void)state;
    lab_open(&l);
    memset(requests, 0, sizeof requests);
    for (int64_t i = 1; i < SENTENCES; i++) {
        requests[i].required = lists;
        requests[i].required_count = 1 + i % 2;
        if (i == 4)
            requests[i].prefix = (rgm_token_list){.ids = begin, .count = 2};
    }
    for (int k = 0; k < 3; k++) {
        rgm_beam_search_options o = plain_options(beams[k]);
        translate(plain, &l, &o);
        o.requests = requests;
        translate(out, &l, &o);
        check_probabilities(&l, out);
        check_same(&plain[0], &out[0], 1);
        for (int64_t i = 1; i < SENTENCES; i++) {
            CHECK(out[i].items[0].finished);
            for (int64_t j = 0; j < out[i].count; j++) {
                CHECK_INT(0, out[i].items[j].missing);
                for (int64_t r = 0; r < requests[i].required_count; r++)
                    CHECK(occurs(&out[i].items[j], lists[r].ids, lists[r].count));
            }
            had += occurs(&plain[i].items[0], pair, 2);
        }
        CHECK(memcmp(out[4].items[0].ids, begin, 2 * sizeof *begin) == 0);
        clear(out);
        clear(plain);
    }
    CHECK(had < 9); /* the model alone would not have written them */
    lab_close(&l);
}

static void what_was_cut_says_what_it_lacks(void **state)
{
    rgm_target_request request = {.required = lists, .required_count = 3};
    rgm_beam_search_options o = plain_options(2);
    rgm_hypotheses out[1];
    lab l;

    (void)state;
    lab_open(&l);
    o.requests = &request;
    o.decode_max_length = 3; /* tokens, and four are wanted */
    CHECK_OK(rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK(!out[0].items[0].finished);
    CHECK(out[0].items[0].missing > 0);
    rgm_hypotheses_clear(&out[0]);
    lab_close(&l);
}

static int64_t different_beginnings(const rgm_hypotheses *h)
{
    int64_t different = 0;

    for (int64_t k = 0; k < h->count; k++) {
        bool is_new = true;
        for (int64_t j = 0; j < k; j++)
            is_new &= h->items[j].ids[0] != h->items[k].ids[0];
        different += is_new;
    }
    return different;
}

static void groups_differ(void **state)
{
    rgm_hypotheses out[SENTENCES], plain[SENTENCES];
    rgm_beam_search_options o = plain_options(6);
    int64_t of_groups = 0, of_plain = 0;
    lab l;

    (void)state;
    lab_open(&l);
    o.decode_min_length = 3;
    translate(plain, &l, &o);
    o.diversity_groups = 3;
    o.diversity = 1e3;
    translate(out, &l, &o);
    check_probabilities(&l, out);
    for (int64_t i = 0; i < SENTENCES; i++) {
        of_groups += different_beginnings(&out[i]);
        of_plain += different_beginnings(&plain[i]);
        for (int64_t k = 0; k < out[i].count; k++)
            for (int64_t j = 0; j < k; j++)
                CHECK(out[i].items[j].count != out[i].items[k].count ||
                      memcmp(out[i].items[j].ids, out[i].items[k].ids,
                             (size_t)out[i].items[j].count * sizeof(int32_t)) != 0);
    }
    CHECK(of_groups > of_plain);
    clear(out);
    clear(plain);
    lab_close(&l);
}

/* Sampling draws among what may follow. */
static void samples_keep_the_rules(void **state)
{
    rgm_target_request requests[SENTENCES];
    rgm_beam_search_options o = plain_options(1);
    rgm_hypotheses out[SENTENCES];
    lab l;

    (void)state;
    lab_open(&l);
    fill_requests(requests);
    o.requests = requests;
    o.sample = true;
    o.no_repeat_ngram = 2;
    for (o.seed = 0; o.seed < 20; o.seed++) {
        translate(out, &l, &o);
        for (int64_t i = 0; i < SENTENCES; i++) {
            const rgm_hypothesis *h = &out[i].items[0];
            rules r = {.ngram = 2, .penalty = 1, .request = &requests[i]};
            for (int64_t k = 0; k < h->count; k++)
                CHECK(may_follow(&r, h->ids, k, h->ids[k]));
        }
        check_probabilities(&l, out);
        clear(out);
    }
    lab_close(&l);
}

static void batch_mates_and_threads_change_no_bit(void **state)
{
    rgm_target_request requests[SENTENCES];
    rgm_hypotheses all[SENTENCES], other[SENTENCES];
    lab l;

    (void)state;
    lab_open(&l);
    fill_requests(requests);
    requests[0].required = lists;
    requests[0].required_count = 2;
    for (int way = 0; way < 2; way++) {
        rgm_beam_search_options o = plain_options(4);
        o.repetition_penalty = 1.2;
        o.diversity_groups = way == 0 ? 1 : 2;
        o.requests = way == 0 ? requests : NULL;
        translate(all, &l, &o);
        for (o.decode_batch_size = 1; o.decode_batch_size < 4; o.decode_batch_size++) {
            rgm_threads_set((int)o.decode_batch_size % 2 + 1);
            translate(other, &l, &o);
            check_same(all, other, SENTENCES);
            clear(other);
        }
        clear(all);
    }
    lab_close(&l);
}

/* ---- several models ---- */

/* Of a model and itself, the result is its own; of a model and another, that of the mean. */
static void models_together_give_the_mean_of_their_probabilities(void **state)
{
    rgm_beam_search_options o = plain_options(3);
    rgm_hypotheses own[SENTENCES], out[SENTENCES];
    float first[(MANY_TOKENS + 1) * VOCABULARY], second[(MANY_TOKENS + 1) * VOCABULARY];
    rgm_target_request requests[SENTENCES];
    int64_t differ = 0;
    lab l, other;

    (void)state;
    lab_open(&l);
    lab_open(&other);
    translate(own, &l, &o);
    CHECK_OK(rgm_beam_search_join(l.search, &other.search, 1));
    translate(out, &l, &o);
    for (int64_t i = 0; i < SENTENCES; i++)
        for (int64_t k = 0; k < own[i].count; k++)
            CHECK_CLOSE(own[i].items[k].log_probability, out[i].items[k].log_probability, 1e-5,
                        1e-5);
    clear(out);
    rgm_tensor_f32(rgm_parameters_find(other.parameters, "embedding/table"))[5] += 0.7F;
    rgm_parameters_touch(other.parameters);
    fill_requests(requests);
    o.requests = requests;
    translate(out, &l, &o);
    for (int64_t i = 0; i < SENTENCES; i++) {
        const rgm_hypothesis *h = &out[i].items[0];
        double sum = 0;
        run_whole(first, &l, i, h->ids, h->count);
        run_whole(second, &other, i, h->ids, h->count);
        for (int64_t t = 0; t < h->count + h->finished; t++) {
            int64_t at = t * VOCABULARY + (t < h->count ? h->ids[t] : 1);
            sum += log((exp((double)first[at]) + exp((double)second[at])) / 2);
            differ += fabs((double)first[at] - (double)second[at]) > 1e-3;
        }
        CHECK_CLOSE(h->log_probability, sum, 1e-4, 1e-4);
    }
    CHECK(differ > SENTENCES);
    clear(out);
    clear(own);
    lab_close(&l);
    lab_close(&other);
}

/* ---- mistakes ---- */

static rgm_status ask(lab *l, const rgm_target_request *request, int64_t beams)
{
    rgm_beam_search_options o = plain_options(beams);
    rgm_hypotheses out[1];
    rgm_status status;

    o.requests = request;
    status = rgm_beam_search_run(out, l->search, l->sources, l->lengths, 1, &o);
    if (status == RGM_OK)
        rgm_hypotheses_clear(&out[0]);
    return status;
}

static void mistakes_are_named(void **state)
{
    static const int32_t end[] = {3, 1}, above[] = {VOCABULARY}, many[TOKENS] = {0};
    const rgm_token_list bad[] = {{.ids = end, .count = 2}, {.ids = above, .count = 1}, {0}};
    rgm_target_request r = {.banned = bad, .banned_count = 1};
    rgm_beam_search_options o = plain_options(4);
    rgm_hypotheses out[SENTENCES];
    lab l;

    (void)state;
    lab_open(&l);
    CHECK_STATUS(RGM_ERR_DATA, ask(&l, &r, 2));
    CHECK_MESSAGE("sentence 0: banned token 1 is 1, but ids are 0..12, without the end (1)");
    r = (rgm_target_request){.required = bad + 1, .required_count = 1};
    CHECK_STATUS(RGM_ERR_DATA, ask(&l, &r, 2));
    CHECK_MESSAGE("required token 0 is 13");
    r = (rgm_target_request){.banned = bad + 2, .banned_count = 1};
    CHECK_STATUS(RGM_ERR_DATA, ask(&l, &r, 2));
    CHECK_MESSAGE("a banned list without tokens");
    r = (rgm_target_request){.prefix = {.ids = many, .count = TOKENS}};
    CHECK_STATUS(RGM_ERR_DATA, ask(&l, &r, 2));
    CHECK_MESSAGE("12 tokens are asked for, but a result has at most 11");
    r = (rgm_target_request){.required = lists, .required_count = 1};
    CHECK_STATUS(RGM_ERR_CONFIG, ask(&l, &r, 1));
    CHECK_MESSAGE("beam_size of 2 at least");
    o.diversity_groups = 3;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    CHECK_MESSAGE("diversity_groups is 3, but must divide beam_size (4)");
    o.diversity_groups = 1;
    o.decode_min_length = TOKENS;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_beam_search_run(out, l.search, l.sources, l.lengths, 1, &o));
    lab_close(&l);
}

static rgm_status ask_all(lab *l)
{
    rgm_target_request request = {.required = lists,
                                  .required_count = 2,
                                  .banned = lists + 2,
                                  .banned_count = 1,
                                  .prefix = {.ids = begin, .count = 1}};
    rgm_beam_search_options o = plain_options(2);
    rgm_hypotheses out[1];
    rgm_beam_search *search = NULL, *other = NULL;
    rgm_status status;

    o.requests = &request;
    o.decode_max_length = 5;
    status = rgm_beam_search_create(&search, &l->model, l->parameters, NULL, false);
    if (status == RGM_OK)
        status = rgm_beam_search_create(&other, &l->model, l->parameters, NULL, false);
    if (status == RGM_OK)
        status = rgm_beam_search_join(search, &other, 1);
    if (status == RGM_OK)
        status = rgm_beam_search_run(out, search, l->sources, l->lengths, 1, &o);
    if (status == RGM_OK)
        rgm_hypotheses_clear(&out[0]);
    rgm_beam_search_release(search);
    rgm_beam_search_release(other);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    lab l;

    (void)state;
    lab_open(&l);
    CHECK_EVERY_OOM(ask_all(&l), (void)0);
    lab_close(&l);
}

TESTS(cmocka_unit_test(greedy_search_keeps_each_rule),
      cmocka_unit_test(beams_keep_beginnings_and_avoid_what_is_banned),
      cmocka_unit_test(required_tokens_occur), cmocka_unit_test(what_was_cut_says_what_it_lacks),
      cmocka_unit_test(groups_differ), cmocka_unit_test(samples_keep_the_rules),
      cmocka_unit_test(batch_mates_and_threads_change_no_bit),
      cmocka_unit_test(models_together_give_the_mean_of_their_probabilities),
      cmocka_unit_test(mistakes_are_named), cmocka_unit_test(every_failing_allocation_is_survived))
