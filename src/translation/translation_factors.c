/*
 * Source factors: values that stand beside the words of a source, in the words themselves or in
 * files of their own, and that all pieces of a word get.
 */
#include <stdlib.h>
#include <string.h>

#include "translation_internal.h"

enum { MOST_FACTORS = 16, MOST_VALUES = 1 << 24, WORD_NS = 2000, SHOWN = 40 };

/* ---- what there is ------------------------------------------------------------------------- */

static int compare_texts(rgm_str a, rgm_str b)
{
    int order = memcmp(a.data, b.data, (size_t)(a.size < b.size ? a.size : b.size));

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_values(const void *a, const void *b)
{
    return compare_texts(((const rgmi_factor_value *)a)->text,
                         ((const rgmi_factor_value *)b)->text);
}

/* A value must be found again behind a word. */
static bool is_value(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || *c == '|' || *c == 0x7f)
            return false;
    return *text != '\0';
}

/* The values of factor j behind those of the factors before it. */
static rgm_status add_values(rgmi_factors *f, int64_t j)
{
    const rgm_texts *texts = &f->lists->items[j];
    const char *name = f->lists->names[j];
    int64_t first = f->values;

    if (!is_value(name))
        return RGM_FAIL(RGM_ERR_CONFIG, "data.factors: '%s' is no name: it has no space and no '|'",
                        name);
    if (texts->count < 1 || f->values + texts->count > MOST_VALUES)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.factors.%s has %lld values: name those that words "
                        "may have, [lower, title, upper]",
                        name, (long long)texts->count);
    RGM_TRY(RGM_RESERVE(f->sorted, f->capacity, f->values + texts->count));
    for (int64_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i];

        if (!is_value(text))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "data.factors.%s: '%s' is no value: it has no space and no '|'", name,
                            text);
        f->sorted[f->values] = (rgmi_factor_value){.text = {text, (int64_t)strlen(text)},
                                                   .number = (int32_t)(1 + f->values)};
        f->values++;
    }
    qsort(f->sorted + first, (size_t)texts->count, sizeof *f->sorted, compare_values);
    for (int64_t i = first + 1; i < f->values; i++)
        if (compare_values(&f->sorted[i - 1], &f->sorted[i]) == 0)
            return RGM_FAIL(RGM_ERR_CONFIG, "data.factors.%s has '%s' twice", name,
                            f->sorted[i].text.data);
    return RGM_OK;
}

/* Between double quotes, where a backslash begins what stands for something else. */
rgm_status rgmi_write_quoted(rgm_text *out, const char *text)
{
    RGM_TRY(rgm_text_add(out, "\"", 1));
    for (; *text != '\0'; text++)
        RGM_TRY(rgm_text_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text));
    return rgm_text_add(out, "\"", 1);
}

rgm_status rgmi_factors_write(rgm_text *out, const rgmi_factors *f, const char *indent)
{
    for (int64_t j = 0; j < f->count; j++) {
        const rgm_texts *texts = &f->lists->items[j];

        RGM_TRY(rgm_text_printf(out, "%s", indent));
        RGM_TRY(rgmi_write_quoted(out, f->lists->names[j]));
        for (int64_t i = 0; i < texts->count; i++) {
            RGM_TRY(rgm_text_printf(out, i == 0 ? ": [" : ", "));
            RGM_TRY(rgmi_write_quoted(out, texts->items[i]));
        }
        RGM_TRY(rgm_text_printf(out, "]\n"));
    }
    return RGM_OK;
}

rgm_status rgmi_factors_open(rgmi_factors *f, const rgm_lists *lists)
{
    rgm_status status = RGM_OK;

    *f = (rgmi_factors){.lists = lists};
    if (lists->count > MOST_FACTORS)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.factors has %lld factors; at most %d are possible",
                        (long long)lists->count, MOST_FACTORS);
    for (; f->count < lists->count; f->count++) {
        RGM_GO(add_values(f, f->count));
        RGM_GO(rgm_text_printf(&f->form, "|%s", lists->names[f->count]));
    }
    RGM_GO(rgmi_factors_write(&f->file, f, ""));
done:
    if (status != RGM_OK)
        rgmi_factors_clear(f);
    return status;
}

void rgmi_factors_clear(rgmi_factors *f)
{
    rgm_free(f->sorted);
    rgm_text_clear(&f->form);
    rgm_text_clear(&f->file);
    *f = (rgmi_factors){0};
}

bool rgmi_same_factors(const rgmi_factors *a, const rgmi_factors *b)
{
    return a->file.size == b->file.size &&
           (a->file.size == 0 || memcmp(a->file.data, b->file.data, (size_t)a->file.size) == 0);
}

/* The number of a value of factor j; 0: there is no such value. */
static int32_t find_value(const rgmi_factors *f, int64_t j, rgm_str text)
{
    int64_t low = 0, high;

    for (int64_t i = 0; i < j; i++)
        low += f->lists->items[i].count;
    high = low + f->lists->items[j].count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = compare_texts(text, f->sorted[middle].text);

        if (order == 0)
            return f->sorted[middle].number;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

static int shown(rgm_str text)
{
    return (int)(text.size > SHOWN ? SHOWN : text.size);
}

/* The value of factor j of a word, whose number counts from 1, at the place of its others. */
static rgm_status set_value(int32_t *values, const rgmi_factors *f, int64_t j, rgm_str text,
                            int64_t word)
{
    values[j] = find_value(f, j, text);
    if (values[j] == 0)
        return RGM_FAIL(RGM_ERR_DATA, "word %lld has '%.*s', which is not in data.factors.%s",
                        (long long)word, shown(text), text.data, f->lists->names[j]);
    return RGM_OK;
}

/* ---- words --------------------------------------------------------------------------------- */

bool rgmi_is_space(char c)
{
    return c == ' ' || c == '\t';
}

bool rgmi_next_word(rgm_str *word, rgm_str *rest)
{
    while (rest->size > 0 && rgmi_is_space(*rest->data)) {
        rest->data++;
        rest->size--;
    }
    *word = (rgm_str){.data = rest->data};
    while (rest->size > 0 && !rgmi_is_space(*rest->data)) {
        rest->data++;
        rest->size--;
        word->size++;
    }
    return word->size > 0;
}

int64_t rgmi_count_words(rgm_str text)
{
    int64_t words = 0;
    rgm_str word;

    while (rgmi_next_word(&word, &text))
        words++;
    return words;
}

/* Factors behind a word: the last ones, so that a word may have a '|' of its own. */
static rgm_status split_word(rgm_str *word, int32_t *values, const rgmi_factors *f, int64_t number)
{
    const rgm_str whole = *word;

    for (int64_t j = f->count - 1; j >= 0; j--) {
        int64_t bar = word->size - 1;

        while (bar >= 0 && word->data[bar] != '|')
            bar--;
        if (bar < 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "word %lld, '%.*s', lacks factors: data.factors has %lld, so that a "
                            "word is word%s",
                            (long long)number, shown(whole), whole.data, (long long)f->count,
                            f->form.data);
        RGM_TRY(
            set_value(values, f, j, (rgm_str){word->data + bar + 1, word->size - bar - 1}, number));
        word->size = bar;
    }
    if (word->size == 0)
        return RGM_FAIL(RGM_ERR_DATA, "word %lld, '%.*s', has factors alone", (long long)number,
                        shown(whole), whole.data);
    return RGM_OK;
}

static rgm_status room_for(rgm_ids *values, int64_t more)
{
    return RGM_RESERVE(values->items, values->capacity, values->count + more);
}

rgm_status rgmi_factors_split(rgm_text *plain, rgm_ids *values, const rgmi_factors *f, rgm_str line)
{
    const char *from = line.data;
    int64_t number = 0;
    rgm_str word;

    plain->size = 0;
    while (rgmi_next_word(&word, &line)) {
        RGM_TRY(room_for(values, f->count));
        RGM_TRY(rgm_text_add(plain, from, word.data - from));
        RGM_TRY(split_word(&word, values->items + values->count, f, ++number));
        values->count += f->count;
        RGM_TRY(rgm_text_add(plain, word.data, word.size));
        from = line.data;
    }
    return rgm_text_add(plain, from, line.data - from);
}

rgm_status rgmi_factors_beside(rgm_ids *values, const rgmi_factors *f, rgm_str source,
                               const rgm_str *columns, const char *const *paths, int64_t line)
{
    int64_t words = rgmi_count_words(source);

    RGM_TRY(room_for(values, words * f->count + 1));
    for (int64_t j = 0; j < f->count; j++) {
        rgm_str rest = columns[j], text;
        int64_t count = rgmi_count_words(rest);

        if (count != words)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s:%lld: %lld factors, but the source's line has %lld "
                            "words",
                            paths[j], (long long)line, (long long)count, (long long)words);
        for (int64_t w = 0; rgmi_next_word(&text, &rest); w++) {
            int32_t *of = values->items + values->count + w * f->count;
            rgm_status status = set_value(of, f, j, text, w + 1);
            if (status != RGM_OK)
                return rgm_error_prefix(status, "%s:%lld", paths[j], (long long)line);
        }
    }
    values->count += words * f->count;
    return RGM_OK;
}

/* ---- pieces -------------------------------------------------------------------------------- */

/* How many words the tokenizer makes of a text that stands by itself; none of one it drops. */
static rgm_status count_made(int64_t *out, rgm_ids *ids, int64_t **words, int64_t *room,
                             const rgm_tokenizer *tokenizer, rgm_str text)
{
    ids->count = 0;
    RGM_TRY(rgm_tokenizer_encode(ids, tokenizer, text.data, text.size));
    RGM_TRY(RGM_RESERVE(*words, *room, ids->count + 1));
    rgm_tokenizer_words(*words, tokenizer, ids->items, ids->count);
    *out = ids->count > 0 ? (*words)[ids->count - 1] + 1 : 0;
    return RGM_OK;
}

/*
 * The word of the text that each of the tokenizer's words is of, of [made]. The tokenizer may take
 * other characters for spaces, and drop some; so it is asked word by word.
 */
static rgm_status find_words(int64_t *of, int64_t made, const rgm_tokenizer *tokenizer,
                             rgm_str text)
{
    rgm_status status = RGM_OK;
    int64_t *words = NULL, room = 0, at = 0, count = 0;
    rgm_ids ids = {0};
    rgm_str word;

    for (; rgmi_next_word(&word, &text); count++) {
        int64_t own = 0;

        RGM_GO(count_made(&own, &ids, &words, &room, tokenizer, word));
        for (; own > 0; own--, at++)
            if (at < made)
                of[at] = count;
    }
    if (at != made)
        status = RGM_FAIL(RGM_ERR_DATA,
                          "the tokenizer makes %lld words of the %lld between spaces, but %lld of "
                          "each by itself: it cannot be told whose factors its pieces get",
                          (long long)made, (long long)count, (long long)at);
done:
    rgm_ids_clear(&ids);
    rgm_free(words);
    return status;
}

rgm_status rgmi_factors_place(int32_t *out, const rgmi_translation_data *data, rgm_str text,
                              const int32_t *values, const int32_t *ids, int64_t count)
{
    int64_t each = data->factors.count, begin = rgmi_source_begin(data), own = count - begin - 1;
    int64_t made, *words = NULL, *of = NULL;
    rgm_status status = RGM_OK;

    memset(out, 0, (size_t)(count * each) * sizeof *out);
    if (own <= 0)
        return RGM_OK;
    RGM_GO(RGM_NEW(words, own));
    rgm_tokenizer_words(words, data->source, ids + begin, own);
    made = words[own - 1] + 1;
    RGM_GO(RGM_NEW(of, made));
    RGM_GO(find_words(of, made, data->source, text));
    for (int64_t i = 0; i < own; i++)
        memcpy(out + (begin + i) * each, values + of[words[i]] * each, (size_t)each * sizeof *out);
done:
    rgm_free(words);
    rgm_free(of);
    return status;
}

/* ---- of a part ----------------------------------------------------------------------------- */

typedef struct placing {
    rgmi_translation_part *part;
    const rgmi_translation_data *data;
    int64_t *first_word; /* [pairs] of each source among all */
    bool *failed;        /* [pairs] */
} placing;

static rgm_status place_pair(const placing *p, int64_t pair)
{
    int64_t each = p->data->factors.count, count;
    const int32_t *ids = rgm_token_pairs_source(p->part->pairs, pair, &count);

    return rgmi_factors_place(p->part->factors + p->part->factor_begin[pair] * each, p->data,
                              rgm_corpus_source(p->part->corpus, pair),
                              p->part->words.items + p->first_word[pair] * each, ids, count);
}

static void place_pairs(void *payload, int64_t begin, int64_t end)
{
    const placing *p = payload;

    for (int64_t i = begin; i < end; i++)
        p->failed[i] = place_pair(p, i) != RGM_OK;
}

rgm_status rgmi_factors_of_part(rgmi_translation_part *part, const rgmi_translation_data *data)
{
    rgm_status status = RGM_OK;
    int64_t pairs = rgm_token_pairs_count(part->pairs), words = 0, tokens = 0, count;
    placing p = {.part = part, .data = data};

    RGM_GO(RGM_NEW(part->factor_begin, pairs + 1));
    RGM_GO(RGM_NEW(p.first_word, pairs));
    RGM_GO(RGM_NEW(p.failed, pairs));
    for (int64_t i = 0; i < pairs; i++) {
        p.first_word[i] = words;
        words += rgmi_count_words(rgm_corpus_source(part->corpus, i));
        rgm_token_pairs_source(part->pairs, i, &count);
        part->factor_begin[i] = tokens;
        tokens += count;
    }
    part->factor_begin[pairs] = tokens;
    RGM_GO(RGM_NEW(part->factors, tokens * data->factors.count));
    rgm_parallel(pairs, 16.0 * WORD_NS, place_pairs, &p);
    for (int64_t i = 0; i < pairs; i++)
        if (p.failed[i]) /* once more, for its message */
            RGM_GO(rgm_error_prefix(place_pair(&p, i), "pair %lld", (long long)i + 1));
    rgm_ids_clear(&part->words);
done:
    rgm_free(p.first_word);
    rgm_free(p.failed);
    return status;
}

const int32_t *rgmi_factors_of(const rgmi_translation_data *data, int part, int64_t pair)
{
    const rgmi_translation_part *p = &data->parts[part];

    return p->factors + p->factor_begin[pair] * data->factors.count;
}

/* ---- a batch ------------------------------------------------------------------------------- */

/* Room for rows of segmentations that were drawn; begins as {0}. */
typedef struct drawn {
    int32_t *ids;
    int64_t *words, *usual_words; /* of the drawn pieces, and of the usual ones */
    int64_t id_room, word_room, usual_room;
} drawn;

/*
 * A row [length] of drawn pieces: they are of the same words as the usual ones, each of which says
 * what its word's are.
 */
static rgm_status place_drawn(int64_t *to, drawn *d, const rgmi_translation_data *data,
                              int64_t pair, const int64_t *row, int64_t length)
{
    int64_t each = data->factors.count, own = length, count, at = 0;
    const int32_t *ids = rgm_token_pairs_source(data->parts[RGM_TRAIN].pairs, pair, &count);
    const int32_t *values = rgmi_factors_of(data, RGM_TRAIN, pair);

    while (own > 0 && row[own - 1] == 0)
        own--;
    own -= own > 0; /* its end */
    RGM_TRY(RGM_RESERVE(d->ids, d->id_room, own + 1));
    RGM_TRY(RGM_RESERVE(d->words, d->word_room, own + 1));
    RGM_TRY(RGM_RESERVE(d->usual_words, d->usual_room, count));
    for (int64_t i = 0; i < own; i++)
        d->ids[i] = (int32_t)row[i];
    rgm_tokenizer_words(d->words, data->source, d->ids, own);
    rgm_tokenizer_words(d->usual_words, data->source, ids, count - 1);
    if ((own > 0 ? d->words[own - 1] : -1) != (count > 1 ? d->usual_words[count - 2] : -1))
        return RGM_FAIL(RGM_ERR_DATA,
                        "data.subword_alpha draws other words of the source of pair %lld than its "
                        "factors are of: set it to 0 with this tokenizer",
                        (long long)pair + 1);
    for (int64_t i = 0; i < own; i++) {
        while (d->usual_words[at] < d->words[i])
            at++;
        for (int64_t j = 0; j < each; j++)
            to[i * each + j] = values[at * each + j];
    }
    return RGM_OK;
}

static void drawn_clear(drawn *d)
{
    rgm_free(d->ids);
    rgm_free(d->words);
    rgm_free(d->usual_words);
}

static rgm_status batch_of_drawn(rgm_tensor *out, const rgmi_translation_data *data,
                                 const rgm_tensor *source, const int64_t *pairs)
{
    int64_t rows = rgm_tensor_dim(source, 0), length = rgm_tensor_dim(source, 1);
    rgm_status status = RGM_OK;
    drawn d = {0};

    memset(rgm_tensor_i64(out), 0, (size_t)rgm_tensor_count(out) * sizeof(int64_t));
    for (int64_t r = 0; r < rows; r++)
        if (pairs[r] >= 0)
            RGM_GO(place_drawn(rgm_tensor_i64(out) + r * length * data->factors.count, &d, data,
                               pairs[r], rgm_tensor_i64(source) + r * length, length));
done:
    drawn_clear(&d);
    return status;
}

/* Those that were placed; a source that was cut has its end in the last place that is left. */
static void batch_of_usual(rgm_tensor *out, const rgmi_translation_data *data, int part,
                           int64_t length, const int64_t *pairs)
{
    int64_t each = data->factors.count, row = length * each;
    const int64_t *begin = data->parts[part].factor_begin;

    for (int64_t r = 0; r < rgm_tensor_dim(out, 0); r++) {
        int64_t count = pairs[r] >= 0 ? begin[pairs[r] + 1] - begin[pairs[r]] : 0;
        int64_t *to = rgm_tensor_i64(out) + r * row;

        if (count > length)
            count = length - 1;
        for (int64_t i = 0; i < row; i++)
            to[i] = i < count * each ? rgmi_factors_of(data, part, pairs[r])[i] : 0;
    }
}

rgm_status rgmi_factors_batch(rgm_tensor **out, const rgmi_translation_data *data, int part,
                              const rgm_tensor *source, const int64_t *pairs)
{
    int64_t rows = rgm_tensor_dim(source, 0), length = rgm_tensor_dim(source, 1);
    rgm_status status = RGM_OK;

    RGM_TRY(rgm_tensor_create(out, RGM_I64, 3, (int64_t[]){rows, length, data->factors.count}));
    if (part == RGM_TRAIN && data->options->subword_alpha > 0)
        status = batch_of_drawn(*out, data, source, pairs);
    else
        batch_of_usual(*out, data, part, length, pairs);
    if (status != RGM_OK) {
        rgm_tensor_release(*out);
        *out = NULL;
    }
    return status;
}
