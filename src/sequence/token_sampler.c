/*
 * The next token from its logits: penalty, temperature, top-k, top-p, min-p, draw. Scores are
 * doubles. What needs an order takes tokens from a heap, so that a vocabulary is never sorted
 * whole.
 */
#include <math.h>

#include <regimen/sequence_generate.h>

struct rgm_token_sampler {
    int64_t vocabulary;
    double *scores; /* [vocabulary]; -inf: left out         */
    int32_t *heap;  /* [vocabulary] ids                     */
    bool *met;      /* [vocabulary] prompt or text has it   */
};

rgm_status rgm_token_sampler_create(rgm_token_sampler **out, int64_t vocabulary)
{
    rgm_status status = RGM_OK;
    rgm_token_sampler *s = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(s, 1));
    s->vocabulary = vocabulary;
    RGM_GO(RGM_NEW(s->scores, vocabulary));
    RGM_GO(RGM_NEW(s->heap, vocabulary));
    RGM_GO(RGM_NEW(s->met, vocabulary));
    *out = s;
    s = NULL;
done:
    rgm_token_sampler_release(s);
    return status;
}

void rgm_token_sampler_release(rgm_token_sampler *sampler)
{
    if (sampler == NULL)
        return;
    rgm_free(sampler->scores);
    rgm_free(sampler->heap);
    rgm_free(sampler->met);
    rgm_free(sampler);
}

/* ---- tokens from the best on ----------------------------------------------------------------- */

static bool is_before(const rgm_token_sampler *s, int32_t a, int32_t b)
{
    return s->scores[a] != s->scores[b] ? s->scores[a] > s->scores[b] : a < b;
}

static void sink(rgm_token_sampler *s, int64_t at, int64_t count)
{
    int32_t id = s->heap[at];
    int64_t child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count && is_before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!is_before(s, s->heap[child], id))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = id;
}

/* All tokens that were not left out; returns their number. */
static int64_t fill_heap(rgm_token_sampler *s)
{
    int64_t count = 0;

    for (int64_t id = 0; id < s->vocabulary; id++)
        if (s->scores[id] > -INFINITY)
            s->heap[count++] = (int32_t)id;
    for (int64_t at = count / 2; at-- > 0;)
        sink(s, at, count);
    return count;
}

/* The best of the heap goes to its end, which is not of it any more. */
static int32_t pop(rgm_token_sampler *s, int64_t *count)
{
    int32_t best = s->heap[0];

    --*count;
    s->heap[0] = s->heap[*count];
    s->heap[*count] = best;
    sink(s, 0, *count);
    return best;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void penalize(rgm_token_sampler *s, double penalty, const int32_t *before, int64_t count)
{
    if (penalty == 1)
        return;
    for (int64_t i = 0; i < count; i++) {
        double *score = &s->scores[before[i]];

        if (!s->met[before[i]])
            *score = *score > 0 ? *score / penalty : *score * penalty;
        s->met[before[i]] = true;
    }
    for (int64_t i = 0; i < count; i++)
        s->met[before[i]] = false;
}

static void keep_top_k(rgm_token_sampler *s, int64_t k)
{
    int64_t count = fill_heap(s);
    double least = 0;

    if (k >= count)
        return;
    for (int64_t i = 0; i < k; i++)
        least = s->scores[pop(s, &count)];
    for (int64_t id = 0; id < s->vocabulary; id++)
        if (s->scores[id] < least)
            s->scores[id] = -INFINITY;
}

/* The sum of exp(score - best). */
static double total(const rgm_token_sampler *s, double best)
{
    double sum = 0;

    for (int64_t id = 0; id < s->vocabulary; id++)
        if (s->scores[id] > -INFINITY)
            sum += exp(s->scores[id] - best);
    return sum;
}

static void keep_top_p(rgm_token_sampler *s, double p, double best)
{
    double all = total(s, best), sum = 0;
    int64_t count = fill_heap(s);

    while (count > 0 && sum < p * all)
        sum += exp(s->scores[pop(s, &count)] - best);
    for (int64_t i = 0; i < count; i++)
        s->scores[s->heap[i]] = -INFINITY;
}

static void keep_min_p(rgm_token_sampler *s, double p, double best)
{
    for (int64_t id = 0; id < s->vocabulary; id++)
        if (exp(s->scores[id] - best) < p)
            s->scores[id] = -INFINITY;
}

static int32_t draw_by(const rgm_token_sampler *s, double draw, double best)
{
    double target = draw * total(s, best), sum = 0;
    int32_t last = 0;

    for (int64_t id = 0; id < s->vocabulary; id++) {
        if (s->scores[id] == -INFINITY)
            continue;
        last = (int32_t)id;
        sum += exp(s->scores[id] - best);
        if (target < sum)
            break;
    }
    return last;
}

static rgm_status find_best(int32_t *out, const rgm_token_sampler *s)
{
    double best = -INFINITY;

    *out = -1;
    for (int64_t id = 0; id < s->vocabulary; id++) {
        if (isnan(s->scores[id]) || s->scores[id] == INFINITY)
            return RGM_FAIL(RGM_ERR_NUMERIC,
                            "the logit of token %lld is %g: the weights are broken", (long long)id,
                            s->scores[id]);
        if (s->scores[id] > best) {
            best = s->scores[id];
            *out = (int32_t)id;
        }
    }
    return *out >= 0 ? RGM_OK : RGM_FAIL(RGM_ERR_NUMERIC, "no token has a finite logit");
}

rgm_status rgm_token_sampler_draw(int32_t *out, rgm_token_sampler *s, const float *logits,
                                  const rgm_generate_options *o, const int32_t *before,
                                  int64_t count, double draw)
{
    double best;

    for (int64_t id = 0; id < s->vocabulary; id++)
        s->scores[id] = (double)logits[id];
    penalize(s, o->repetition_penalty, before, count);
    RGM_TRY(find_best(out, s));
    if (o->temperature == 0)
        return RGM_OK;
    best = s->scores[*out] / o->temperature;
    if (isinf(best)) /* so near to 0 that no other token has a share */
        return RGM_OK;
    for (int64_t id = 0; id < s->vocabulary; id++)
        s->scores[id] /= o->temperature;
    if (o->top_k > 0)
        keep_top_k(s, o->top_k);
    if (o->top_p < 1)
        keep_top_p(s, o->top_p, best);
    if (o->min_p > 0)
        keep_min_p(s, o->min_p, best);
    *out = draw_by(s, draw, best);
    return RGM_OK;
}
