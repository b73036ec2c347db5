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
    if (!rgmi_same_tags(&t->data, &o->data))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "it has another data.%s: models that translate together read the same",
                        t->data.source_tag != o->data.source_tag ? "source_tag" : "target_tag");
    if (!rgmi_same_factors(&t->data.factors, &o->data.factors))
        return RGM_FAIL(RGM_ERR_CONFIG, "it has other data.factors: models that translate together "
                                        "read the same sources");
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

/* What a line's translation begins with. */
static rgm_status read_tag(int32_t *out, const rgmi_translation_task *t, const char *tag)
{
    *out = t->data.target_tag;
    if (tag == NULL)
        return RGM_OK;
    if (t->data.target_tag == 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "a target_tag '%s' is asked for, but the model was trained "
                        "without data.target_tag",
                        tag);
    *out = rgmi_find_tag(t->data.target, tag);
    if (*out < 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "the target_tag '%s' is no piece that a target can begin with", tag);
    return RGM_OK;
}

/* The fewest of the models that translate together. */
static int64_t positions_of(const rgmi_translation_task *t)
{
    int64_t fewest = t->model.options.max_positions;

    for (int64_t i = 0; i < t->joined_count; i++)
        if (t->joined[i]->model.options.max_positions < fewest)
            fewest = t->joined[i]->model.options.max_positions;
    return fewest;
}

static rgm_status check_wishes(const rgm_translation_line *line,
                               const rgm_beam_search_options *search)
{
    if (line->required.count > 0 && (search->beam_size < 2 || search->diversity_groups > 1))
        return RGM_FAIL(RGM_ERR_DATA, "required texts need task.search.beam_size of 2 at least and "
                                      "diversity_groups: 1");
    if (search->shortlist != NULL && asks(line))
        return RGM_FAIL(RGM_ERR_DATA, "a search with a shortlist (data.shortlist) takes no prefix, "
                                      "required or banned texts");
    return RGM_OK;
}

/* What is asked of a line of `length` tokens. All that the search would refuse of it is refused
 * here: the search has all lines, and would refuse them with it. */
static rgm_status read_wishes(rgmi_requests *requests, const rgmi_translation_task *t,
                              const rgm_translation_line *line, int64_t length,
                              const rgm_beam_search_options *search)
{
    int64_t positions = positions_of(t);

    if (length > positions)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%lld tokens and an end, but of the models that translate together one has "
                        "a model.max_positions of %lld",
                        (long long)length - 1, (long long)positions);
    RGM_TRY(check_wishes(line, search));
    return rgmi_requests_add(requests, t, line,
                             rgm_beam_search_longest(search, positions, length) - 1);
}

/* Lines up to a bad one. Requests: of those with tokens. */
static rgm_status read_lines(rgmi_line_tokens *out, rgmi_requests *requests,
                             const rgmi_translation_task *t, const rgm_translation_line *lines,
                             int64_t count, const rgm_beam_search_options *search)
{
    RGM_TRY(RGM_NEW(out->begin, count + 1));
    RGM_TRY(RGM_NEW(out->target_begin, count));
    while (out->count < count) {
        const rgm_translation_line *line = &lines[out->count];
        int64_t length;
        RGM_TRY(read_tag(&out->target_begin[out->count], t, line->target_tag));
        RGM_TRY(rgmi_read_source(&out->tokens, t, line->text));
        length = out->tokens.ids.count - out->begin[out->count];
        if (length > 0)
            RGM_TRY(read_wishes(requests, t, line, length, search));
        else if (asks(line))
            return RGM_FAIL(RGM_ERR_DATA, "something is asked of a translation of nothing");
        out->begin[++out->count] = out->tokens.ids.count;
    }
    return RGM_OK;
}

static void line_tokens_clear(rgmi_line_tokens *lines)
{
    rgmi_source_tokens_clear(&lines->tokens);
    rgm_free(lines->begin);
    rgm_free(lines->target_begin);
    *lines = (rgmi_line_tokens){0};
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
static void spread(rgm_hypotheses *made, const rgmi_line_tokens *read, int64_t n)
{
    for (int64_t i = read->count - 1; i >= 0; i--) {
        rgm_hypotheses own = {0};
        if (read->begin[i + 1] > read->begin[i]) {
            own = made[--n];
            made[n] = (rgm_hypotheses){0};
        }
        made[i] = own;
    }
}

/* What a search is given of lines; each [count]. */
typedef struct search_input {
    const int32_t **sources, **factors;
    int32_t *begins;
    int64_t *lengths, *numbers, count;
} search_input;

/* Of lines with tokens. */
static rgm_status list_input(search_input *out, const rgmi_line_tokens *read, int64_t each)
{
    const rgmi_source_tokens *tokens = &read->tokens;

    RGM_TRY(RGM_NEW(out->lengths, read->count));
    RGM_TRY(RGM_NEW(out->numbers, read->count));
    RGM_TRY(RGM_NEW(out->sources, read->count));
    RGM_TRY(RGM_NEW(out->factors, read->count));
    RGM_TRY(RGM_NEW(out->begins, read->count));
    for (int64_t i = 0; i < read->count; i++) {
        int64_t begin = read->begin[i], n = out->count;
        if (read->begin[i + 1] == begin)
            continue;
        out->sources[n] = tokens->ids.items + begin;
        if (each > 0)
            out->factors[n] = tokens->factors.items + begin * each;
        out->begins[n] = read->target_begin[i];
        out->numbers[n] = i;
        out->lengths[n] = read->begin[i + 1] - begin;
        out->count++;
    }
    return RGM_OK;
}

static void input_clear(search_input *a)
{
    rgm_free(a->sources);
    rgm_free(a->factors);
    rgm_free(a->begins);
    rgm_free(a->lengths);
    rgm_free(a->numbers);
}

/* Lines in tokens; those without any become empty ones. */
static rgm_status translate(rgm_line_translation *out, rgmi_translation_task *t,
                            const rgm_translation_line *lines, const rgmi_line_tokens *read,
                            const rgmi_requests *requests, const rgm_beam_search_options *search)
{
    rgm_status status = RGM_OK;
    rgm_hypotheses *made = NULL;
    int64_t each = t->data.factors.count, count = read->count;
    rgm_beam_search_options own = *search;
    rgm_text text = {0};
    search_input a = {0};

    RGM_GO(list_input(&a, read, each));
    RGM_GO(RGM_NEW(made, count));
    own.numbers = a.numbers;
    own.begins = a.begins;
    own.factors = each > 0 ? a.factors : NULL;
    own.requests = requests->any ? requests->items : NULL;
    RGM_GO(rgm_beam_search_run(made, t->beam_search, a.sources, a.lengths, a.count, &own));
    spread(made, read, a.count);
    for (int64_t i = 0; i < count; i++)
        RGM_GO(write_line(out + i * search->n_best, &text, t, &lines[i], &made[i], search->n_best));
    RGM_GO(rgmi_align_lines(out, t, lines, made, read, search));
done:
    for (int64_t i = 0; made != NULL && i < count; i++)
        rgm_hypotheses_clear(&made[i]);
    if (status != RGM_OK)
        rgm_line_translations_clear(out, count * search->n_best);
    rgm_text_clear(&text);
    input_clear(&a);
    rgm_free(made);
    return status;
}

/* *searched: what fails is the search, of all lines together, and no line that cannot be read. */
static rgm_status translate_lines(rgm_line_translation *out, int64_t *done, bool *searched,
                                  rgmi_translation_task *t, const rgm_asked_with *with,
                                  const rgm_translation_line *lines, int64_t count,
                                  const rgm_beam_search_options *search)
{
    rgm_status status = RGM_OK, bad;
    rgmi_requests requests = {0};
    rgmi_line_tokens read = {0};
    rgm_error error;

    *done = 0;
    *searched = false;
    memset(out, 0, (size_t)(count * search->n_best) * sizeof *out);
    bad = read_lines(&read, &requests, t, lines, count, search);
    if (bad == RGM_ERR_NOMEM)
        RGM_GO(bad);
    rgm_error_save(&error, bad);
    *searched = true;
    RGM_GO(rgmi_requests_close(&requests));
    RGM_GO(rgmi_translation_ready(t, with->parameters, with->device, with->bf16));
    RGM_GO(join_all(t, with->device, with->bf16));
    RGM_GO(translate(out, t, lines, &read, &requests, search));
    *done = read.count;
    *searched = false;
    if (bad != RGM_OK)
        status = rgm_error_restore(&error);
done:
    rgmi_requests_clear(&requests);
    line_tokens_clear(&read);
    return status;
}

rgm_status rgm_translation_lines(rgm_line_translation *out, int64_t *done, const rgm_task *task,
                                 const rgm_parameters *parameters,
                                 const rgm_translation_line *lines, int64_t count,
                                 const rgm_beam_search_options *search, rgm_device *device,
                                 bool bf16)
{
    const rgm_asked_with with = {.parameters = parameters, .device = device, .bf16 = bf16};
    bool searched;

    return translate_lines(out, done, &searched, task->state, &with, lines, count, search);
}

/* ---- as answers ---------------------------------------------------------------------------- */

const rgm_export_output rgmi_translation_outputs[] = {
    {.name = "score", .kind = RGM_OUTPUT_NUMBERS},
    {.name = "cut"},
    {.name = "missing", .kind = RGM_OUTPUT_NUMBERS},
    {.name = "banned", .kind = RGM_OUTPUT_NUMBERS},
    {.name = NULL}};
enum { OUTPUTS = 4 };

/* One output of all translations that there are. */
static rgm_status make_column(rgm_tensor **out, int output, const rgm_line_translation *made,
                              int64_t places, int64_t rows)
{
    static const rgm_dtype dtypes[OUTPUTS] = {RGM_F64, RGM_BOOL, RGM_I64, RGM_I64};
    int64_t at = 0;

    RGM_TRY(rgm_tensor_create(out, dtypes[output], 1, &rows));
    for (int64_t i = 0; i < places; i++) {
        if (made[i].text == NULL)
            continue;
        if (output == 0)
            ((double *)rgm_tensor_data(*out))[at++] = made[i].score;
        else if (output == 1)
            ((uint8_t *)rgm_tensor_data(*out))[at++] = made[i].cut;
        else
            rgm_tensor_i64(*out)[at++] = output == 2 ? made[i].missing : made[i].banned;
    }
    return RGM_OK;
}

static bool any_is_aligned(const rgm_line_translation *made, int64_t places)
{
    for (int64_t i = 0; i < places; i++)
        if (made[i].alignment != NULL)
            return true;
    return false;
}

/* From here on *out owns the texts that it has, and their alignments. */
static void move_texts(rgm_answers *out, rgm_line_translation *made, int64_t places)
{
    for (int64_t i = 0, at = 0; i < places; i++) {
        if (made[i].text == NULL)
            continue;
        if (out->alignments != NULL)
            out->alignments[at] = made[i].alignment;
        out->texts[at++] = made[i].text;
        made[i].text = made[i].alignment = NULL;
    }
}

/* Texts are moved out of `made`, which has n_best places a line, not all of them filled. */
static rgm_status fill_answers(rgm_answers *out, rgm_line_translation *made, int64_t lines,
                               int64_t n_best)
{
    rgm_status status = RGM_OK;
    rgm_tensor *columns[OUTPUTS] = {NULL};
    int64_t *items = NULL, places = lines * n_best, rows = 0;

    RGM_GO(RGM_NEW(items, lines + 1));
    for (int64_t i = 0; i < places; i++)
        items[i / n_best] += made[i].text != NULL;
    for (int64_t i = 0; i < lines; i++)
        rows += items[i];
    for (int k = 0; k < OUTPUTS; k++)
        RGM_GO(make_column(&columns[k], k, made, places, rows));
    RGM_GO(RGM_NEW(out->texts, rows + 1));
    if (any_is_aligned(made, places))
        RGM_GO(RGM_NEW(out->alignments, rows));
    for (int k = 0; k < OUTPUTS; k++) {
        status = rgm_answers_add(out, columns[k], items, lines);
        columns[k] = NULL;
        RGM_GO(status);
        if (k == 0)
            move_texts(out, made, places);
    }
    out->is_single = n_best == 1;
done:
    for (int k = 0; k < OUTPUTS; k++)
        rgm_tensor_release(columns[k]);
    rgm_free(items);
    return status;
}

/* ---- what is wished -------------------------------------------------------------------------- */

/* Lines with what is wished of each, up to the first whose wishes are bad; *read: their number. */
static rgm_status list_questions(rgm_translation_line *lines, rgm_translation_request *requests,
                                 int64_t *read, const rgm_questions *q)
{
    for (*read = 0; *read < q->count; ++*read) {
        int64_t i = *read;

        lines[i].text = q->texts[i];
        if (q->wishes == NULL || q->wishes[i] == NULL)
            continue;
        RGM_TRY(rgmi_translation_wish_read(&requests[i], q->wishes[i], q->texts[i]));
        lines[i] = requests[i].line;
    }
    return RGM_OK;
}

static rgm_status answer(rgm_answers *out, rgmi_translation_task *t, const rgm_asked_with *with,
                         const rgm_translation_line *lines, int64_t count,
                         const rgm_beam_search_options *search)
{
    rgm_status asked, filled;
    rgm_line_translation *made;
    int64_t done = 0;
    bool searched;
    rgm_error error;

    RGM_TRY(RGM_NEW(made, count * search->n_best + 1));
    asked = translate_lines(made, &done, &searched, t, with, lines, count, search);
    rgm_error_save(&error, asked);
    filled = searched ? RGM_OK : fill_answers(out, made, done, search->n_best);
    rgm_line_translations_clear(made, done * search->n_best);
    rgm_free(made);
    return filled != RGM_OK ? filled : asked != RGM_OK ? rgm_error_restore(&error) : RGM_OK;
}

rgm_status rgmi_translation_answer(rgm_answers *out, void *state, const rgm_asked_with *with,
                                   const rgm_questions *questions)
{
    rgmi_translation_task *t = state;
    rgm_beam_search_options search = t->options.search;
    rgm_status status = RGM_OK, wished;
    rgm_translation_request *requests = NULL;
    rgm_translation_line *lines = NULL;
    int64_t read = 0;
    rgm_error error;

    search.first_number = questions->first;
    search.int8 = search.int8 || with->int8;
    RGM_GO(RGM_NEW(lines, questions->count));
    RGM_GO(RGM_NEW(requests, questions->count));
    wished = list_questions(lines, requests, &read, questions);
    rgm_error_save(&error, wished);
    if (wished == RGM_ERR_NOMEM)
        RGM_GO(wished);
    RGM_GO(answer(out, t, with, lines, read, &search));
    if (wished != RGM_OK) /* as of a line that cannot be read: those before it are answered */
        status = rgm_error_restore(&error);
done:
    for (int64_t i = 0; requests != NULL && i < questions->count; i++)
        rgm_translation_request_clear(&requests[i]);
    rgm_free(requests);
    rgm_free(lines);
    return status;
}
