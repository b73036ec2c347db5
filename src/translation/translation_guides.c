/*
 * Given alignments of what is trained on: read from a file in Pharaoh's form, a line for each pair,
 * and kept as links of pieces; and the part of them that a batch needs.
 */
#include <string.h>

#include "translation_internal.h"

const char *const rgm_alignment_unit_names[] = {"words", "pieces", NULL};

void rgmi_guides_clear(rgmi_guides *g)
{
    rgm_free(g->ends);
    rgm_free(g->links);
    *g = (rgmi_guides){0};
}

rgm_status rgmi_guides_link(rgmi_guides *g, int64_t source, int64_t target)
{
    RGM_TRY(RGM_RESERVE(g->links, g->link_capacity, g->link_count + 1));
    g->links[g->link_count++] = (rgmi_link){(int32_t)source, (int32_t)target};
    return RGM_OK;
}

rgm_status rgmi_guides_close_pair(rgmi_guides *g)
{
    RGM_TRY(RGM_RESERVE(g->ends, g->end_capacity, g->pairs + 1));
    g->ends[g->pairs++] = g->link_count;
    return RGM_OK;
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* One side of a pair: its pieces, and the words that they stand in. */
typedef struct side {
    const char *name;
    int64_t *words; /* [count] room grows */
    int64_t count, capacity, word_count, begin;
} side;

/* ids have an end, and behind `begin` of them the sentence's own. */
static rgm_status read_side(side *s, const rgm_tokenizer *tokenizer, const int32_t *ids,
                            int64_t count, int64_t begin)
{
    ids += begin;
    s->begin = begin;
    s->count = count - 1 - begin;
    s->word_count = 0;
    RGM_TRY(RGM_RESERVE(s->words, s->capacity, count));
    rgm_tokenizer_words(s->words, tokenizer, ids, s->count);
    if (s->count > 0)
        s->word_count = s->words[s->count - 1] + 1;
    return RGM_OK;
}

/* A number up to `end`, which must be followed by `behind`, or by a space or the end of the line.
 */
static bool read_number(int64_t *out, const char **at, const char *end, char behind)
{
    const char *begin = *at;

    *out = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *out < INT32_MAX / 10)
        *out = 10 * *out + (*(*at)++ - '0');
    if (*at == begin)
        return false;
    if (behind == ' ')
        return *at == end || rgmi_is_space(**at);
    return *at < end && *(*at)++ == behind;
}

static rgm_status check_link(const side *s, int64_t number, bool pieces)
{
    int64_t most = pieces ? s->count : s->word_count;

    if (number < most)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA, "a link to number %lld of the %s, which has %lld %s",
                    (long long)number, s->name, (long long)most, pieces ? "pieces" : "words");
}

/* All pieces of one word with all of the other. */
static rgm_status link_words(rgmi_guides *g, const side *source, int64_t from, const side *target,
                             int64_t to)
{
    for (int64_t i = 0; i < source->count; i++)
        for (int64_t k = 0; k < target->count && source->words[i] == from; k++)
            if (target->words[k] == to)
                RGM_TRY(rgmi_guides_link(g, source->begin + i, target->begin + k));
    return RGM_OK;
}

static rgm_status read_links(rgmi_guides *g, rgm_str line, const side *source, const side *target,
                             bool pieces)
{
    const char *at = line.data, *end = line.data + line.size;

    while (at < end) {
        int64_t from, to;
        if (rgmi_is_space(*at)) {
            at++;
            continue;
        }
        if (!read_number(&from, &at, end, '-') || !read_number(&to, &at, end, ' '))
            return RGM_FAIL(RGM_ERR_FORMAT, "no alignment: it is numbers 0-0 1-2 ..");
        RGM_TRY(check_link(source, from, pieces));
        RGM_TRY(check_link(target, to, pieces));
        RGM_TRY(pieces ? rgmi_guides_link(g, source->begin + from, target->begin + to)
                       : link_words(g, source, from, target, to));
    }
    return RGM_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Words of other numbers than the file's mean other words: such a pair has no alignment. */
static bool has_other_words(const rgm_corpus *corpus, int64_t pair, const side *source,
                            const side *target)
{
    return rgmi_count_words(rgm_corpus_source(corpus, pair)) != source->word_count ||
           rgmi_count_words(rgm_corpus_target(corpus, pair)) != target->word_count;
}

static rgm_status read_pair(rgmi_guides *g, rgm_str line, const rgmi_translation_data *data,
                            side sides[2])
{
    const rgmi_translation_part *part = &data->parts[RGM_TRAIN];
    bool pieces = data->options->alignment_units == RGM_ALIGNMENT_PIECES;
    const int32_t *ids;
    int64_t count;

    ids = rgm_token_pairs_source(part->pairs, g->pairs, &count);
    RGM_TRY(read_side(&sides[0], data->source, ids, count, rgmi_source_begin(data)));
    ids = rgm_token_pairs_target(part->pairs, g->pairs, &count);
    RGM_TRY(read_side(&sides[1], data->target, ids, count, 0));
    if (!pieces && has_other_words(part->corpus, g->pairs, &sides[0], &sides[1]))
        g->left_out++;
    else
        RGM_TRY(read_links(g, line, &sides[0], &sides[1], pieces));
    return rgmi_guides_close_pair(g);
}

static rgm_status read_file(rgmi_guides *g, const rgmi_translation_data *data, const char *path,
                            rgm_line_reader *reader, side sides[2])
{
    int64_t pairs = data->sources[0].pairs, lines = 0; /* of `train`, the first */
    rgm_status status;
    rgm_str line;

    while ((status = rgm_line_reader_next(&line, reader)) == RGM_OK) {
        if (lines++ >= pairs)
            continue; /* counted for the message */
        status = read_pair(g, line, data, sides);
        if (status == RGM_ERR_DATA || status == RGM_ERR_FORMAT)
            return rgm_error_prefix(status, "%s:%lld", path, (long long)lines);
        RGM_TRY(status);
    }
    if (status != RGM_END)
        return status;
    if (lines != pairs)
        return RGM_FAIL(RGM_ERR_DATA, "%s has %lld lines, but data.train has %lld pairs", path,
                        (long long)lines, (long long)pairs);
    return RGM_OK;
}

rgm_status rgmi_guides_load(rgmi_guides *g, const rgmi_translation_data *data)
{
    side sides[2] = {{.name = "source"}, {.name = "target"}};
    rgm_status status = RGM_OK;
    rgm_line_reader *reader = NULL;
    char *path = NULL;

    RGM_GO(rgm_path_in(&path, data->options->path, data->options->alignments));
    RGM_GO(rgm_line_reader_open(&reader, path, NULL));
    RGM_GO(read_file(g, data, path, reader, sides));
done:
    rgm_line_reader_close(reader);
    rgm_free(path);
    rgm_free(sides[0].words);
    rgm_free(sides[1].words);
    if (status != RGM_OK)
        rgmi_guides_clear(g);
    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "data.alignments");
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Links within a row's sides, each token of the target with the sum 1. */
static void fill_row(float *row, const rgmi_guides *g, int64_t pair, int64_t targets,
                     int64_t sources)
{
    int64_t begin = pair > 0 ? g->ends[pair - 1] : 0;

    for (int64_t l = begin; l < g->ends[pair]; l++)
        if (g->links[l].target < targets && g->links[l].source < sources)
            row[g->links[l].target * sources + g->links[l].source] = 1;
    for (int64_t t = 0; t < targets; t++) {
        float sum = 0;
        for (int64_t s = 0; s < sources; s++)
            sum += row[t * sources + s];
        for (int64_t s = 0; s < sources && sum > 0; s++)
            row[t * sources + s] /= sum;
    }
}

rgm_status rgmi_guides_batch(rgm_tensor **out, const rgmi_guides *g, const rgm_tensor *source,
                             const rgm_tensor *labels, const rgm_tensor *pairs)
{
    int64_t rows = rgm_tensor_dim(labels, 0), targets = rgm_tensor_dim(labels, 1);
    int64_t sources = rgm_tensor_dim(source, 1), size = targets * sources;

    RGM_TRY(rgm_tensor_create(out, RGM_F32, 3, (int64_t[]){rows, targets, sources}));
    memset(rgm_tensor_f32(*out), 0, (size_t)(rows * size) * sizeof(float));
    for (int64_t r = 0; r < rows; r++) {
        int64_t pair = rgm_tensor_i64(pairs)[r];
        if (pair >= 0 && pair < g->pairs) /* else one of train_sets, or none at all */
            fill_row(rgm_tensor_f32(*out) + r * size, g, pair, targets, sources);
    }
    return RGM_OK;
}
