/*
 * How probable given translations are: the decoder of training over whole targets.
 */
#include <stdio.h>
#include <string.h>

#include "translation_internal.h"

enum { ROWS = 64 }; /* pairs that go through the model together, at most */

struct rgm_pair_scorer {
    const rgmi_translation_task *task;
    const rgm_parameters *parameters;
    rgm_cgraph *graph;
    rgm_executor *executor;
    rgm_value *inputs[RGMI_PAIRS];
};

/* The negative log-probability of every label, [pairs * target_length]. */
static rgm_value *build(rgm_value **in, rgm_scope *scope, const rgm_seq2seq *model)
{
    rgm_value *logits, *labels;

    rgmi_translation_inputs(in, rgm_scope_graph(scope));
    logits = rgmi_translation_logits(scope, model, in);
    labels = rgm_reshape(in[RGMI_LABELS], 1, (rgm_dim[]){RGM_INFER});
    return rgm_seq2seq_losses(model, logits, labels, 0);
}

rgm_status rgm_pair_scorer_create(rgm_pair_scorer **out, const rgm_task *task,
                                  const rgm_parameters *parameters, rgm_device *device, bool bf16)
{
    rgm_status status = RGM_OK;
    const rgm_executor_options options = {.inference = true, .bf16 = bf16, .device = device};
    rgm_scope *scope = NULL;
    rgm_pair_scorer *s;
    rgm_value *losses;

    *out = NULL;
    RGM_TRY(RGM_NEW(s, 1));
    s->task = task->state;
    s->parameters = parameters;
    RGM_GO(rgm_cgraph_create(&s->graph));
    RGM_GO(rgm_scope_create(&scope, s->graph, RGM_F32));
    losses = build(s->inputs, scope, &s->task->model);
    RGM_GO(rgm_cgraph_status(s->graph));
    RGM_GO(rgm_executor_create(&s->executor, s->graph, &losses, 1, &options));
    *out = s;
    s = NULL;
done:
    rgm_scope_release(scope);
    rgm_pair_scorer_release(s);
    return status;
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

/* Pairs in tokens: source i is ids [ends[2 i - 1], ends[2 i]), its target what follows up to
 * ends[2 i + 1]. */
typedef struct pair_tokens {
    rgm_ids ids;
    int64_t *ends;
    int64_t *order; /* longest first */
    int64_t count;
} pair_tokens;

static rgm_token_list side_of(const pair_tokens *p, int64_t side)
{
    int64_t begin = side > 0 ? p->ends[side - 1] : 0;

    return (rgm_token_list){.ids = p->ids.items + begin, .count = p->ends[side] - begin};
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

static rgm_status read_pair(pair_tokens *p, const rgmi_translation_task *t,
                            const rgm_text_pair *pair)
{
    int64_t begin = p->ids.count;

    RGM_TRY(rgmi_read_source(&p->ids, t, pair->source));
    if (p->ids.count == begin)
        return RGM_FAIL(RGM_ERR_DATA, "the source has no tokens");
    p->ends[2 * p->count] = p->ids.count;
    RGM_TRY(read_target(&p->ids, t, pair->target));
    p->ends[2 * p->count + 1] = p->ids.count;
    p->count++;
    return RGM_OK;
}

static rgm_status sort_pairs(pair_tokens *p)
{
    int64_t *lengths;
    rgm_status status;

    RGM_TRY(RGM_NEW(lengths, p->count));
    for (int64_t i = 0; i < p->count; i++)
        lengths[i] = side_of(p, 2 * i).count + side_of(p, 2 * i + 1).count;
    status = rgm_longest_first(p->order, lengths, p->count);
    rgm_free(lengths);
    return status;
}

/* ---- a batch ------------------------------------------------------------------------------- */

/* A padded tensor of one side; `shift`: what the decoder reads, 0 and then the labels without the
 * last. */
static rgm_status side_create(rgm_tensor **out, const pair_tokens *p, const int64_t *numbers,
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

static rgm_status score_batch(rgm_pair_score *out, rgm_pair_scorer *s, const pair_tokens *p,
                              const int64_t *numbers, int64_t rows)
{
    rgm_status status = RGM_OK;
    rgm_tensor *fed[RGMI_PAIRS] = {NULL}, *losses;
    rgm_feed feeds[RGMI_PAIRS];

    RGM_GO(side_create(&fed[RGMI_SOURCE], p, numbers, rows, 0, false));
    RGM_GO(side_create(&fed[RGMI_TARGET], p, numbers, rows, 1, true));
    RGM_GO(side_create(&fed[RGMI_LABELS], p, numbers, rows, 1, false));
    RGM_GO(rgm_tensor_arange(&fed[RGMI_SOURCE_POSITIONS], rgm_tensor_dim(fed[RGMI_SOURCE], 1)));
    RGM_GO(rgm_tensor_arange(&fed[RGMI_TARGET_POSITIONS], rgm_tensor_dim(fed[RGMI_TARGET], 1)));
    for (int i = 0; i < RGMI_PAIRS; i++)
        feeds[i] = (rgm_feed){.input = s->inputs[i], .tensor = fed[i]};
    RGM_GO(rgm_executor_run(s->executor, &losses, s->parameters, feeds, RGMI_PAIRS, 0, 0));
    for (int64_t r = 0; r < rows; r++)
        RGM_GO(score_make(&out[numbers[r]], side_of(p, 2 * numbers[r] + 1),
                          rgm_tensor_f32(losses) + r * rgm_tensor_dim(fed[RGMI_LABELS], 1)));
done:
    for (int i = 0; i < RGMI_PAIRS; i++)
        rgm_tensor_release(fed[i]);
    return status;
}

rgm_status rgm_pair_scorer_run(rgm_pair_score *out, int64_t *done, rgm_pair_scorer *s,
                               const rgm_text_pair *pairs, int64_t count)
{
    rgm_status status = RGM_OK, bad = RGM_OK;
    pair_tokens p = {0};
    rgm_error error;

    *done = 0;
    memset(out, 0, (size_t)count * sizeof *out);
    RGM_GO(RGM_NEW(p.ends, 2 * count));
    RGM_GO(RGM_NEW(p.order, count));
    while (p.count < count && bad == RGM_OK)
        bad = read_pair(&p, s->task, &pairs[p.count]);
    if (bad == RGM_ERR_NOMEM)
        RGM_GO(bad);
    rgm_error_save(&error, bad);
    RGM_GO(sort_pairs(&p));
    for (int64_t at = 0; at < p.count; at += ROWS)
        RGM_GO(score_batch(out, s, &p, p.order + at, p.count - at < ROWS ? p.count - at : ROWS));
    *done = p.count;
    if (bad != RGM_OK)
        status = rgm_error_restore(&error);
done:
    if (status != RGM_OK && *done == 0)
        rgm_pair_scores_clear(out, count);
    rgm_ids_clear(&p.ids);
    rgm_free(p.ends);
    rgm_free(p.order);
    return status;
}
