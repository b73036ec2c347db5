/*
 * Lines of text to lines of text with a trained task.
 */
#include <string.h>

#include "translation_internal.h"

void rgmi_translation_rest(rgmi_translation_task *t)
{
    rgm_beam_search_release(t->beam_search);
    rgm_pair_scorer_release(t->aligner);
    t->beam_search = NULL;
    t->aligner = NULL;
}

rgm_status rgmi_translation_ready(rgmi_translation_task *t, const rgm_parameters *parameters,
                                  rgm_device *device, bool bf16)
{
    if (t->beam_search != NULL && t->parameters == parameters && t->device == device &&
        t->bf16 == bf16)
        return RGM_OK;
    rgmi_translation_rest(t);
    t->parameters = parameters;
    t->device = device;
    t->bf16 = bf16;
    return rgm_beam_search_create(&t->beam_search, &t->model, parameters, device, bf16);
}

/* ---- several models ---- */

bool rgmi_same_tokenizers(const rgmi_translation_task *a, const rgmi_translation_task *b)
{
    return rgm_tokenizers_are_same(a->data.source, b->data.source) &&
           rgm_tokenizers_are_same(a->data.target, b->data.target) &&
           a->data.source_vocabulary == b->data.source_vocabulary &&
           a->data.target_vocabulary == b->data.target_vocabulary;
}

rgm_status rgm_translation_join(const rgm_task *task, const rgm_task *other,
                                const rgm_parameters *parameters)
{
    rgmi_translation_task *t = task->state, *o = other->state;

    if (t->joined_count == RGM_MOST_MODELS - 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "at most %d models translate together", RGM_MOST_MODELS);
    if (!rgmi_same_tokenizers(t, o))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "it has other tokenizers: models that translate together share them");
    t->joined[t->joined_count] = o;
    t->joined_parameters[t->joined_count++] = parameters;
    return RGM_OK;
}

/* The search of all models that were joined. */
static rgm_status join_all(rgmi_translation_task *t, rgm_device *device, bool bf16)
{
    rgm_beam_search *others[RGM_MOST_MODELS - 1];

    for (int64_t i = 0; i < t->joined_count; i++) {
        RGM_TRY(rgmi_translation_ready(t->joined[i], t->joined_parameters[i], device, bf16));
        others[i] = t->joined[i]->beam_search;
    }
    return rgm_beam_search_join(t->beam_search, others, t->joined_count);
}

const rgm_beam_search_options *rgm_translation_search(const rgm_task *task)
{
    return &((const rgmi_translation_task *)task->state)->options.search;
}

void rgm_line_translations_clear(rgm_line_translation *translations, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rgm_free(translations[i].text);
        rgm_free(translations[i].alignment);
        translations[i] = (rgm_line_translation){0};
    }
}

/* ---- to tokens ----------------------------------------------------------------------------- */

static bool asks(const rgm_translation_line *line)
{
    return line->prefix != NULL || line->required.count > 0 || line->banned.count > 0;
}

/*
 * Tokens of *read lines one behind the other: all, or those before a bad one. `begin` [count + 1]
 * says where each starts. Requests: of those with tokens.
 */
static rgm_status read_lines(rgm_ids *ids, rgmi_requests *requests, int64_t *begin, int64_t *read,
                             const rgmi_translation_task *t, const rgm_translation_line *lines,
                             int64_t count)
{
    begin[0] = *read = 0;
    while (*read < count) {
        const rgm_translation_line *line = &lines[*read];
        RGM_TRY(rgmi_read_source(ids, t, line->text));
        if (ids->count > begin[*read])
            RGM_TRY(rgmi_requests_add(requests, t, line));
        else if (asks(line))
            return RGM_FAIL(RGM_ERR_DATA, "something is asked of a translation of nothing");
        begin[++*read] = ids->count;
    }
    return RGM_OK;
}

/* ---- to text ------------------------------------------------------------------------------- */

static int64_t count_found(const char *text, const rgm_texts *texts)
{
    int64_t found = 0;

    for (int64_t i = 0; i < texts->count; i++)
        found += strstr(text, texts->items[i]) != NULL;
    return found;
}

static rgm_status write_line(rgm_line_translation *out, rgm_text *text,
                             const rgmi_translation_task *t, const rgm_translation_line *line,
                             const rgm_hypotheses *from, int64_t n_best)
{
    for (int64_t k = 0; k < from->count && k < n_best; k++) {
        const rgm_hypothesis *h = &from->items[k];
        RGM_TRY(rgmi_write_text(text, t->data.target, h->ids, h->count));
        RGM_TRY(rgm_strndup(&out[k].text, text->size > 0 ? text->data : "", (size_t)text->size));
        out[k].score = h->score;
        out[k].log_probability = h->log_probability;
        out[k].cut = !h->finished;
        out[k].tokens = h->count;
        out[k].longest = h->longest;
        out[k].missing = h->missing;
        out[k].banned = count_found(out[k].text, &line->banned);
    }
    if (from->count == 0)
        RGM_TRY(rgm_strdup(&out[0].text, ""));
    return RGM_OK;
}

/* What was found of the n lines with tokens goes to their places among all; the others get none. */
static void spread(rgm_hypotheses *made, const int64_t *begin, int64_t count, int64_t n)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        rgm_hypotheses own = {0};
        if (begin[i + 1] > begin[i]) {
            own = made[--n];
            made[n] = (rgm_hypotheses){0};
        }
        made[i] = own;
    }
}

/* Lines in tokens; those without any become empty ones. */
static rgm_status translate(rgm_line_translation *out, rgmi_translation_task *t,
                            const rgm_translation_line *lines, const rgm_ids *ids,
                            const int64_t *begin, int64_t count, const rgmi_requests *requests,
                            const rgm_beam_search_options *search)
{
    rgm_status status = RGM_OK;
    rgm_hypotheses *made = NULL;
    const int32_t **sources = NULL;
    int64_t *lengths = NULL, *numbers = NULL, n = 0;
    rgm_beam_search_options own = *search;
    rgm_text text = {0};

    RGM_GO(RGM_NEW(lengths, count));
    RGM_GO(RGM_NEW(numbers, count));
    RGM_GO(RGM_NEW(sources, count));
    RGM_GO(RGM_NEW(made, count));
    for (int64_t i = 0; i < count; i++)
        if (begin[i + 1] > begin[i]) {
            sources[n] = ids->items + begin[i];
            numbers[n] = i;
            lengths[n++] = begin[i + 1] - begin[i];
        }
    own.numbers = numbers;
    own.requests = requests->any ? requests->items : NULL;
    RGM_GO(rgm_beam_search_run(made, t->beam_search, sources, lengths, n, &own));
    spread(made, begin, count, n);
    for (int64_t i = 0; i < count; i++)
        RGM_GO(write_line(out + i * search->n_best, &text, t, &lines[i], &made[i], search->n_best));
    RGM_GO(rgmi_align_lines(out, t, lines, made, ids, begin, count, search));
done:
    for (int64_t i = 0; made != NULL && i < count; i++)
        rgm_hypotheses_clear(&made[i]);
    if (status != RGM_OK)
        rgm_line_translations_clear(out, count * search->n_best);
    rgm_text_clear(&text);
    rgm_free(lengths);
    rgm_free(numbers);
    rgm_free(sources);
    rgm_free(made);
    return status;
}

rgm_status rgm_translation_lines(rgm_line_translation *out, int64_t *done, const rgm_task *task,
                                 const rgm_parameters *parameters,
                                 const rgm_translation_line *lines, int64_t count,
                                 const rgm_beam_search_options *search, rgm_device *device,
                                 bool bf16)
{
    rgm_status status = RGM_OK, bad;
    rgmi_translation_task *t = task->state;
    int64_t *begin = NULL, read;
    rgmi_requests requests = {0};
    rgm_ids ids = {0};
    rgm_error error;

    *done = 0;
    memset(out, 0, (size_t)(count * search->n_best) * sizeof *out);
    RGM_GO(RGM_NEW(begin, count + 1));
    bad = read_lines(&ids, &requests, begin, &read, t, lines, count);
    if (bad == RGM_ERR_NOMEM)
        RGM_GO(bad);
    rgm_error_save(&error, bad);
    RGM_GO(rgmi_requests_close(&requests));
    RGM_GO(rgmi_translation_ready(t, parameters, device, bf16));
    RGM_GO(join_all(t, device, bf16));
    RGM_GO(translate(out, t, lines, &ids, begin, read, &requests, search));
    *done = read;
    if (bad != RGM_OK)
        status = rgm_error_restore(&error);
done:
    rgmi_requests_clear(&requests);
    rgm_ids_clear(&ids);
    rgm_free(begin);
    return status;
}

/* ---- as answers ---------------------------------------------------------------------------- */

const rgm_export_output rgmi_translation_outputs[] = {
    {.name = "score", .kind = RGM_OUTPUT_NUMBERS}, {.name = "cut"}, {.name = NULL}};

/* Texts are moved out of `made`, which has n_best places a line, not all of them filled. */
static rgm_status fill_answers(rgm_answers *out, rgm_line_translation *made, int64_t lines,
                               int64_t n_best)
{
    rgm_status status = RGM_OK;
    rgm_tensor *score = NULL, *cut = NULL;
    int64_t *items = NULL, rows = 0;

    RGM_GO(RGM_NEW(items, lines + 1));
    for (int64_t i = 0; i < lines * n_best; i++)
        items[i / n_best] += made[i].text != NULL;
    for (int64_t i = 0; i < lines; i++)
        rows += items[i];
    RGM_GO(rgm_tensor_create(&score, RGM_F64, 1, &rows));
    RGM_GO(rgm_tensor_create(&cut, RGM_BOOL, 1, &rows));
    RGM_GO(RGM_NEW(out->texts, rows + 1));
    rows = 0;
    for (int64_t i = 0; i < lines * n_best; i++) {
        if (made[i].text == NULL)
            continue;
        ((double *)rgm_tensor_data(score))[rows] = made[i].score;
        ((uint8_t *)rgm_tensor_data(cut))[rows] = made[i].cut;
        rows++;
    }
    RGM_GO(rgm_answers_add(out, rgm_tensor_retain(score), items, lines));
    rows = 0; /* from here on *out owns the texts that it has */
    for (int64_t i = 0; i < lines * n_best; i++)
        if (made[i].text != NULL) {
            out->texts[rows++] = made[i].text;
            made[i].text = NULL;
        }
    RGM_GO(rgm_answers_add(out, rgm_tensor_retain(cut), items, lines));
    out->is_single = n_best == 1;
done:
    rgm_tensor_release(score);
    rgm_tensor_release(cut);
    rgm_free(items);
    return status;
}

rgm_status rgmi_translation_answer(rgm_answers *out, void *state, const rgm_asked_with *with,
                                   const rgm_questions *questions)
{
    const rgm_task task = {.state = state};
    rgm_beam_search_options search = *rgm_translation_search(&task);
    rgm_status status = RGM_OK, asked, filled;
    rgm_line_translation *made = NULL;
    rgm_translation_line *lines = NULL;
    int64_t done = 0;
    rgm_error error;

    search.first_number = questions->first;
    search.int8 = search.int8 || with->int8;
    RGM_GO(RGM_NEW(made, questions->count * search.n_best));
    RGM_GO(RGM_NEW(lines, questions->count));
    for (int64_t i = 0; i < questions->count; i++)
        lines[i].text = questions->texts[i];
    asked = rgm_translation_lines(made, &done, &task, with->parameters, lines, questions->count,
                                  &search, with->device, with->bf16);
    rgm_error_save(&error, asked);
    filled = fill_answers(out, made, done, search.n_best);
    rgm_line_translations_clear(made, done * search.n_best);
    status = filled != RGM_OK ? filled : asked != RGM_OK ? rgm_error_restore(&error) : RGM_OK;
done:
    rgm_free(made);
    rgm_free(lines);
    return status;
}
