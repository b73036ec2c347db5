/* Pairs of id sequences: all ids in one array, with the place where each sequence ends. */
#include <stdatomic.h>
#include <string.h>

#include <regimen/text.h>

struct rgm_token_pairs {
    atomic_int references;
    rgm_ids ids;
    int64_t *ends; /* [2 * count]: of source 0, target 0, source 1, ... */
    int64_t count, capacity;
};

rgm_status rgm_token_pairs_create(rgm_token_pairs **out)
{
    *out = NULL;
    RGM_TRY(RGM_NEW(*out, 1));
    atomic_init(&(*out)->references, 1);
    return RGM_OK;
}

rgm_token_pairs *rgm_token_pairs_retain(const rgm_token_pairs *pairs)
{
    rgm_token_pairs *own = (rgm_token_pairs *)pairs;

    if (own != NULL)
        atomic_fetch_add_explicit(&own->references, 1, memory_order_relaxed);
    return own;
}

void rgm_token_pairs_release(rgm_token_pairs *pairs)
{
    if (pairs == NULL || atomic_fetch_sub_explicit(&pairs->references, 1, memory_order_acq_rel) > 1)
        return;
    rgm_ids_clear(&pairs->ids);
    rgm_free(pairs->ends);
    rgm_free(pairs);
}

static rgm_status append(rgm_ids *ids, const int32_t *more, int64_t count)
{
    if (count == 0)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + count));
    memcpy(ids->items + ids->count, more, (size_t)count * sizeof *more);
    ids->count += count;
    return RGM_OK;
}

/** The ids behind the last end become the next source or target, by turns. */
static rgm_status end_sequence(rgm_token_pairs *pairs, int64_t sequence)
{
    RGM_TRY(RGM_RESERVE(pairs->ends, pairs->capacity, sequence + 1));
    pairs->ends[sequence] = pairs->ids.count;
    return RGM_OK;
}

rgm_status rgm_token_pairs_add(rgm_token_pairs *pairs, const int32_t *source, int64_t source_count,
                               const int32_t *target, int64_t target_count)
{
    rgm_status status = RGM_OK;
    int64_t before = pairs->ids.count;

    if (source_count < 1 || target_count < 0)
        return RGM_FAIL(RGM_ERR_ARG, "a pair of %lld and %lld ids; a source has one at least",
                        (long long)source_count, (long long)target_count);
    RGM_GO(append(&pairs->ids, source, source_count));
    RGM_GO(end_sequence(pairs, 2 * pairs->count));
    RGM_GO(append(&pairs->ids, target, target_count));
    RGM_GO(end_sequence(pairs, 2 * pairs->count + 1));
    pairs->count++;
done:
    if (status != RGM_OK)
        pairs->ids.count = before;
    return status;
}

int64_t rgm_token_pairs_count(const rgm_token_pairs *pairs)
{
    return pairs->count;
}

static const int32_t *sequence(const rgm_token_pairs *pairs, int64_t number, int64_t *count)
{
    int64_t begin = number > 0 ? pairs->ends[number - 1] : 0;

    *count = pairs->ends[number] - begin;
    return pairs->ids.items + begin;
}

const int32_t *rgm_token_pairs_source(const rgm_token_pairs *pairs, int64_t i, int64_t *count)
{
    return sequence(pairs, 2 * i, count);
}

const int32_t *rgm_token_pairs_target(const rgm_token_pairs *pairs, int64_t i, int64_t *count)
{
    return sequence(pairs, 2 * i + 1, count);
}

/* ---- from a corpus --------------------------------------------------------------------------- */

/** A run of pairs, which one worker encodes. */
typedef struct part {
    const rgm_corpus *corpus;
    const rgm_tokenizer *source, *target; /* target NULL: there is none */
    int64_t begin, end;
    rgm_token_pairs *pairs;
    rgm_error error;
} part;

static rgm_status encode_side(rgm_token_pairs *pairs, int64_t number,
                              const rgm_tokenizer *tokenizer, rgm_str sentence)
{
    int32_t end = rgm_tokenizer_eos_id(tokenizer);

    RGM_TRY(rgm_tokenizer_encode(&pairs->ids, tokenizer, sentence.data, sentence.size));
    RGM_TRY(append(&pairs->ids, &end, 1));
    return end_sequence(pairs, number);
}

static rgm_status encode_part(part *p)
{
    RGM_TRY(rgm_token_pairs_create(&p->pairs));
    for (int64_t i = p->begin; i < p->end; i++) {
        int64_t n = 2 * p->pairs->count;
        rgm_status status = encode_side(p->pairs, n, p->source, rgm_corpus_source(p->corpus, i));

        if (status == RGM_OK && p->target != NULL)
            status = encode_side(p->pairs, n + 1, p->target, rgm_corpus_target(p->corpus, i));
        else if (status == RGM_OK)
            status = end_sequence(p->pairs, n + 1);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "pair %lld", (long long)i);
        p->pairs->count++;
    }
    return RGM_OK;
}

static void work(void *payload)
{
    part *p = payload;
    rgm_error_save(&p->error, encode_part(p));
}

/** Parts one after the other into the first one's place. */
static rgm_status join(rgm_token_pairs *whole, const part *parts, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const rgm_token_pairs *more = parts[k].pairs;
        int64_t before = whole->ids.count, sequences = 2 * whole->count;

        RGM_TRY(append(&whole->ids, more->ids.items, more->ids.count));
        RGM_TRY(RGM_RESERVE(whole->ends, whole->capacity, sequences + 2 * more->count));
        for (int64_t i = 0; i < 2 * more->count; i++)
            whole->ends[sequences + i] = before + more->ends[i];
        whole->count += more->count;
    }
    return RGM_OK;
}

static rgm_status encode_parts(part *parts, int64_t count, int threads)
{
    rgm_status status = RGM_OK;
    rgm_thread_pool *pool = NULL;

    if (threads > 1)
        RGM_TRY(rgm_thread_pool_create(&pool, threads));
    for (int64_t k = 0; k < count && status == RGM_OK; k++) {
        if (pool != NULL)
            status = rgm_thread_pool_submit(pool, work, &parts[k]);
        else
            status = encode_part(&parts[k]);
    }
    rgm_thread_pool_release(pool); /* waits */
    for (int64_t k = 0; threads > 1 && k < count && status == RGM_OK; k++)
        if (parts[k].error.status != RGM_OK)
            status = rgm_error_restore(&parts[k].error);
    return status;
}

static rgm_status check_end(const rgm_tokenizer *tokenizer)
{
    if (rgm_tokenizer_eos_id(tokenizer) < 0)
        return RGM_FAIL(RGM_ERR_DATA, "the tokenizer has no piece for the end of a sentence; train "
                                      "it with one (eos_id)");
    return RGM_OK;
}

rgm_status rgm_token_pairs_encode(rgm_token_pairs **out, const rgm_corpus *corpus,
                                  const rgm_tokenizer *source, const rgm_tokenizer *target,
                                  int threads)
{
    rgm_status status = RGM_OK;
    int64_t pairs = rgm_corpus_count(corpus), count = threads > 1 ? 4 * (int64_t)threads : 1;
    rgm_token_pairs *whole = NULL;
    part *parts = NULL;

    *out = NULL;
    target = rgm_corpus_has_target(corpus) ? target : NULL;
    RGM_TRY(check_end(source));
    if (target != NULL)
        RGM_TRY(check_end(target));
    RGM_GO(RGM_NEW(parts, count));
    for (int64_t k = 0; k < count; k++)
        parts[k] = (part){.corpus = corpus,
                          .source = source,
                          .target = target,
                          .begin = pairs * k / count,
                          .end = pairs * (k + 1) / count};
    RGM_GO(encode_parts(parts, count, threads));
    if (count == 1) {
        *out = parts[0].pairs;
        parts[0].pairs = NULL;
        goto done;
    }
    RGM_GO(rgm_token_pairs_create(&whole));
    RGM_GO(join(whole, parts, count));
    *out = whole;
    whole = NULL;
done:
    for (int64_t k = 0; parts != NULL && k < count; k++)
        rgm_token_pairs_release(parts[k].pairs);
    rgm_free(parts);
    rgm_token_pairs_release(whole);
    return status;
}
