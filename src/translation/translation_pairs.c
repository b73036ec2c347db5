/*
 * How probable given translations are, and how they are aligned: the decoder of training over whole
 * targets.
 */
#include <stdio.h>
#include <string.h>

#include "translation_internal.h"

enum { ROWS = 64 }; /* pairs that go through the model together, at most */

/* What a run fetches: the last two only where pairs are aligned. */
enum { LOSSES, QUERIES, KEYS, FETCHES };

struct rgm_pair_scorer {
    const rgmi_translation_task *task;
    const rgm_parameters *parameters;
    rgm_cgraph *graph;
    rgm_executor *executor;
    rgm_value *inputs[RGMI_INPUTS];
    rgm_attention_place place; /* what pairs are aligned by */
    rgm_executor_options options;
    rgm_value *fetches[FETCHES];
    int64_t fetch_count;
    rgm_alignment_options alignment;
    bool aligns; /* rgm_pair_scorer_run() aligns so */
};

/* The negative log-probability of every label, [pairs * target_length]. */
static rgm_value *build(rgm_value **in, rgm_scope *scope, const rgm_seq2seq *model)
{
    rgm_value *logits, *labels;

    rgmi_translation_inputs(in, rgm_scope_graph(scope), model);
    logits = rgmi_translation_logits(scope, model, in);
    labels = rgm_reshape(in[RGMI_LABELS], 1, (rgm_dim[]){RGM_INFER});
    return rgm_seq2seq_losses(model, logits, labels, 0);
}

static rgm_status open_executor(rgm_pair_scorer *s, int64_t fetches)
{
    rgm_executor_release(s->executor);
    s->executor = NULL;
    s->fetch_count = fetches;
    return rgm_executor_create(&s->executor, s->graph, s->fetches, fetches, &s->options);
}

/* place NULL: by what the task's options say, once pairs are aligned. */
static rgm_status create(rgm_pair_scorer **out, const rgmi_translation_task *task,
                         const rgm_parameters *parameters, const rgm_attention_place *place,
                         rgm_device *device, bool bf16)
{
    rgm_status status = RGM_OK;
    rgm_scope *scope = NULL;
    rgm_cross_attention attention;
    rgm_pair_scorer *s;

    *out = NULL;
    RGM_TRY(RGM_NEW(s, 1));
    s->task = task;
    s->parameters = parameters;
    s->place = place != NULL ? *place : task->options.search.attention;
    s->options = (rgm_executor_options){.inference = true, .bf16 = bf16, .device = device};
    RGM_GO(rgm_cgraph_create(&s->graph));
    RGM_GO(rgm_scope_create(&scope, s->graph, RGM_F32));
    s->fetches[LOSSES] = build(s->inputs, scope, &s->task->model);
    RGM_GO(rgm_cgraph_status(s->graph));
    RGM_GO(rgm_seq2seq_attention(&attention, scope, &s->task->model, &s->place));
    s->fetches[QUERIES] = attention.queries;
    s->fetches[KEYS] = attention.keys;
    RGM_GO(open_executor(s, place != NULL ? FETCHES : 1));
    *out = s;
    s = NULL;
done:
    rgm_scope_release(scope);
    rgm_pair_scorer_release(s);
    return status;
}

rgm_status rgm_pair_scorer_create(rgm_pair_scorer **out, const rgm_task *task,
                                  const rgm_parameters *parameters, rgm_device *device, bool bf16)
{
    return create(out, task->state, parameters, NULL, device, bf16);
}

rgm_status rgmi_pair_scorer_create(rgm_pair_scorer **out, const rgmi_translation_task *task,
                                   const rgm_parameters *parameters,
                                   const rgm_attention_place *place, rgm_device *device, bool bf16)
{
    return create(out, task, parameters, place, device, bf16);
}

rgm_status rgm_pair_scorer_align(rgm_pair_scorer *s, const rgm_alignment_options *options)
{
    RGM_TRY(rgm_alignment_check(options));
    RGM_TRY(open_executor(s, FETCHES));
    s->alignment = *options;
    s->aligns = true;
    return RGM_OK;
}

void rgm_pair_scorer_release(rgm_pair_scorer *s)
{
    if (s == NULL)
        return;
    rgm_executor_release(s->executor);
    rgm_cgraph_release(s->graph);
    rgm_free(s);
}

void rgm_pair_scores_clear(rgm_pair_score *scores, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rgm_free(scores[i].ids);
        rgm_free(scores[i].log_probabilities);
        rgm_free(scores[i].alignment);
        scores[i] = (rgm_pair_score){0};
    }
}

const char *rgm_translation_piece(char room[24], const rgm_task *task, int32_t id)
{
    const rgmi_translation_task *t = task->state;
    const char *piece = t->data.target != NULL ? rgm_tokenizer_piece(t->data.target, id) : NULL;

    snprintf(room, 24, "%d", id);
    return piece != NULL ? piece : room;
}

/* ---- to tokens ----------------------------------------------------------------------------- */

static rgm_token_list side_of(const rgmi_pair_tokens *p, int64_t side)
{
    int64_t begin = side > 0 ? p->ends[side - 1] : 0;

    return (rgm_token_list){.ids = p->tokens.ids.items + begin, .count = p->ends[side] - begin};
}

/* What is known of a pair beside its tokens. */
typedef struct pair_place {
    int64_t factors; /* where those of its source begin */
    int32_t target_begin;
    const rgm_alignment_options *alignment; /* NULL: it is not aligned */
} pair_place;

/* What was added behind the last pair becomes the next, its source's tokens up to `middle`. */
static rgm_status close_pair(rgmi_pair_tokens *p, int64_t middle, const pair_place *place)
{
    RGM_TRY(RGM_RESERVE(p->factor_begin, p->factor_capacity, p->count + 1));
    RGM_TRY(RGM_RESERVE(p->begins, p->begin_capacity, p->count + 1));
    RGM_TRY(RGM_RESERVE(p->ends, p->end_capacity, 2 * (p->count + 1)));
    RGM_TRY(RGM_RESERVE(p->alignments, p->capacity, p->count + 1));
    p->factor_begin[p->count] = place->factors;
    p->begins[p->count] = place->target_begin;
    p->ends[2 * p->count] = middle;
    p->ends[2 * p->count + 1] = p->tokens.ids.count;
    p->alignments[p->count++] = place->alignment;
    return RGM_OK;
}

static rgm_status add_tokens(rgm_ids *ids, const rgm_token_list *tokens)
{
    if (tokens->count == 0)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + tokens->count));
    memcpy(ids->items + ids->count, tokens->ids, (size_t)tokens->count * sizeof *tokens->ids);
    ids->count += tokens->count;
    return RGM_OK;
}

rgm_status rgmi_pair_tokens_add(rgmi_pair_tokens *p, const rgmi_token_pair *pair)
{
    const pair_place place = {p->tokens.factors.count, pair->target_begin, pair->alignment};
    int64_t middle;

    RGM_TRY(add_tokens(&p->tokens.ids, &pair->source));
    RGM_TRY(add_tokens(&p->tokens.factors, &pair->factors));
    middle = p->tokens.ids.count;
    RGM_TRY(add_tokens(&p->tokens.ids, &pair->target));
    return close_pair(p, middle, &place);
}

void rgmi_pair_tokens_clear(rgmi_pair_tokens *p)
{
    rgmi_source_tokens_clear(&p->tokens);
    rgm_free(p->factor_begin);
    rgm_free(p->begins);
    rgm_free(p->ends);
    rgm_free(p->alignments);
    *p = (rgmi_pair_tokens){0};
}

static rgm_status read_target(rgm_ids *ids, const rgmi_translation_task *t, rgm_str text)
{
    int64_t begin = ids->count;

    RGM_TRY(rgmi_read_tokens(ids, t->data.target, text, t->data.target_vocabulary));
    if (ids->count - begin >= t->model.options.max_positions)
        return RGM_FAIL(RGM_ERR_DATA,
                        "the target has %lld tokens and an end, but model.max_positions is %lld",
                        (long long)(ids->count - begin), (long long)t->model.options.max_positions);
    RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + 1));
    ids->items[ids->count++] = t->data.end_id;
    return RGM_OK;
}

static rgm_status read_pair(rgmi_pair_tokens *p, const rgm_pair_scorer *s,
                            const rgm_text_pair *pair)
{
    const pair_place place = {p->tokens.factors.count, s->task->data.target_tag,
                              s->aligns ? &s->alignment : NULL};
    int64_t begin = p->tokens.ids.count, middle;

    RGM_TRY(rgmi_read_source(&p->tokens, s->task, pair->source));
    if (p->tokens.ids.count == begin)
        return RGM_FAIL(RGM_ERR_DATA, "the source has no tokens");
    middle = p->tokens.ids.count;
    RGM_TRY(read_target(&p->tokens.ids, s->task, pair->target));
    return close_pair(p, middle, &place);
}

/* Numbers of pairs of like length together. */
static rgm_status sort_pairs(int64_t *order, const rgmi_pair_tokens *p)
{
    int64_t *lengths;
    rgm_status status;

    RGM_TRY(RGM_NEW(lengths, p->count));
    for (int64_t i = 0; i < p->count; i++)
        lengths[i] = side_of(p, 2 * i).count + side_of(p, 2 * i + 1).count;
    status = rgm_longest_first(order, lengths, p->count);
    rgm_free(lengths);
    return status;
}

/* ---- a batch ------------------------------------------------------------------------------- */

/* A padded tensor of one side; `shift`: what the decoder reads, 0 or a tag and then the labels
 * without the last. */
static rgm_status side_create(rgm_tensor **out, const rgmi_pair_tokens *p, const int64_t *numbers,
                              int64_t rows, int side, bool shift)
{
    int64_t longest = 0;

    for (int64_t r = 0; r < rows; r++) {
        int64_t size = side_of(p, 2 * numbers[r] + side).count;
        longest = size > longest ? size : longest;
    }
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 2, (int64_t[]){rows, longest}));
    for (int64_t r = 0; r < rows; r++) {
        rgm_token_list tokens = side_of(p, 2 * numbers[r] + side);
        int64_t *row = rgm_tensor_i64(*out) + r * longest;
        for (int64_t i = 0; i < longest; i++) {
            int64_t from = shift ? i - 1 : i;
            row[i] = from >= 0 && from < tokens.count - shift ? tokens.ids[from] : 0;
        }
        if (shift && longest > 0)
            row[0] = p->begins[numbers[r]];
    }
    return RGM_OK;
}

/* Padded factors of the sources [rows, longest, each]. */
static rgm_status factors_create(rgm_tensor **out, const rgmi_pair_tokens *p,
                                 const int64_t *numbers, int64_t rows, int64_t longest,
                                 int64_t each)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 3, (int64_t[]){rows, longest, each}));
    for (int64_t r = 0; r < rows; r++) {
        const int32_t *from = p->tokens.factors.items + p->factor_begin[numbers[r]];
        int64_t count = side_of(p, 2 * numbers[r]).count * each;
        int64_t *row = rgm_tensor_i64(*out) + r * longest * each;
        for (int64_t i = 0; i < longest * each; i++)
            row[i] = i < count ? from[i] : 0;
    }
    return RGM_OK;
}

static rgm_status score_make(rgm_pair_score *out, rgm_token_list tokens, const float *losses)
{
    *out = (rgm_pair_score){.count = tokens.count};
    RGM_TRY(RGM_NEW(out->ids, tokens.count));
    RGM_TRY(RGM_NEW(out->log_probabilities, tokens.count));
    for (int64_t i = 0; i < tokens.count; i++) {
        out->ids[i] = tokens.ids[i];
        out->log_probabilities[i] = -losses[i];
        out->log_probability -= (double)losses[i];
    }
    return RGM_OK;
}

/* Of row r of a batch; a target with an end is aligned without it. */
static rgm_status align_row(rgm_pair_score *out, const rgm_pair_scorer *s,
                            const rgmi_pair_tokens *p, int64_t number, int64_t r,
                            rgm_tensor *const *fetched)
{
    rgm_token_list source = side_of(p, 2 * number), target = side_of(p, 2 * number + 1);
    const rgm_tensor *queries = fetched[QUERIES], *keys = fetched[KEYS];
    rgm_status status = RGM_OK;
    float *weights = NULL;

    if (p->alignments[number] == NULL)
        return RGM_OK;
    target.count -= target.count > 0 && target.ids[target.count - 1] == s->task->data.end_id;
    RGM_GO(RGM_NEW(weights, target.count * source.count + 1));
    RGM_GO(rgm_attention_weights(
        weights,
        rgm_tensor_f32(queries) + r * rgm_tensor_dim(queries, 1) * rgm_tensor_dim(queries, 2),
        target.count, rgm_tensor_f32(keys) + r * rgm_tensor_dim(keys, 1) * rgm_tensor_dim(keys, 2),
        source.count, &s->task->model, &s->place));
    RGM_GO(rgmi_alignment_write(&out->alignment, s->task, &source, &target, weights,
                                p->alignments[number]));
done:
    rgm_free(weights);
    return status;
}

static rgm_status score_batch(rgm_pair_score *out, rgm_pair_scorer *s, const rgmi_pair_tokens *p,
                              const int64_t *numbers, int64_t rows)
{
    rgm_status status = RGM_OK;
    rgm_tensor *fed[RGMI_INPUTS] = {NULL}, *fetched[FETCHES];
    rgm_feed feeds[RGMI_INPUTS];
    int64_t each = s->task->data.factors.count, inputs = RGMI_FACTORS + (each > 0);

    RGM_GO(side_create(&fed[RGMI_SOURCE], p, numbers, rows, 0, false));
    RGM_GO(side_create(&fed[RGMI_TARGET], p, numbers, rows, 1, true));
    RGM_GO(side_create(&fed[RGMI_LABELS], p, numbers, rows, 1, false));
    RGM_GO(rgm_tensor_arange(&fed[RGMI_SOURCE_POSITIONS], rgm_tensor_dim(fed[RGMI_SOURCE], 1)));
    RGM_GO(rgm_tensor_arange(&fed[RGMI_TARGET_POSITIONS], rgm_tensor_dim(fed[RGMI_TARGET], 1)));
    if (each > 0)
        RGM_GO(factors_create(&fed[RGMI_FACTORS], p, numbers, rows,
                              rgm_tensor_dim(fed[RGMI_SOURCE], 1), each));
    for (int64_t i = 0; i < inputs; i++)
        feeds[i] = (rgm_feed){.input = s->inputs[i], .tensor = fed[i]};
    RGM_GO(rgm_executor_run(s->executor, fetched, s->parameters, feeds, inputs, 0, 0));
    for (int64_t r = 0; r < rows; r++) {
        int64_t longest = rgm_tensor_dim(fed[RGMI_LABELS], 1);
        RGM_GO(score_make(&out[numbers[r]], side_of(p, 2 * numbers[r] + 1),
                          rgm_tensor_f32(fetched[LOSSES]) + r * longest));
        RGM_GO(align_row(&out[numbers[r]], s, p, numbers[r], r, fetched));
    }
done:
    for (int i = 0; i < RGMI_INPUTS; i++)
        rgm_tensor_release(fed[i]);
    return status;
}

rgm_status rgmi_pair_scorer_tokens(rgm_pair_score *out, rgm_pair_scorer *s,
                                   const rgmi_pair_tokens *p)
{
    rgm_status status = RGM_OK;
    int64_t *order = NULL;

    memset(out, 0, (size_t)p->count * sizeof *out);
    RGM_GO(RGM_NEW(order, p->count));
    RGM_GO(sort_pairs(order, p));
    for (int64_t at = 0; at < p->count; at += ROWS)
        RGM_GO(score_batch(out, s, p, order + at, p->count - at < ROWS ? p->count - at : ROWS));
done:
    if (status != RGM_OK)
        rgm_pair_scores_clear(out, p->count);
    rgm_free(order);
    return status;
}

rgm_status rgm_pair_scorer_run(rgm_pair_score *out, int64_t *done, rgm_pair_scorer *s,
                               const rgm_text_pair *pairs, int64_t count)
{
    rgm_status status = RGM_OK, bad = RGM_OK;
    rgmi_pair_tokens p = {0};
    rgm_error error;

    *done = 0;
    memset(out, 0, (size_t)count * sizeof *out);
    while (p.count < count && bad == RGM_OK)
        bad = read_pair(&p, s, &pairs[p.count]);
    if (bad == RGM_ERR_NOMEM)
        RGM_GO(bad);
    rgm_error_save(&error, bad);
    RGM_GO(rgmi_pair_scorer_tokens(out, s, &p));
    *done = p.count;
    if (bad != RGM_OK)
        status = rgm_error_restore(&error);
done:
    rgmi_pair_tokens_clear(&p);
    return status;
}
