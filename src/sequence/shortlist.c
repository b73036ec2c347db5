/*
 * Shortlists: which target tokens may translate a source token, learned from pairs by IBM's model
 * 1, and their files.
 */
#include <stdlib.h>

#include "sequence_internal.h"

enum { VERSION = 1 };
static const char format_name[] = "regimen-shortlist";

struct rgm_shortlist {
    int64_t source_vocabulary, target_vocabulary, first, best, pairs;
    rgm_tensor *start;    /* i64 [source_vocabulary + 1] */
    rgm_tensor *tokens;   /* i32 [entries] ascending for each source token */
    rgm_tensor *frequent; /* i32 [target_vocabulary] the most frequent first */
    char *mark;
};

void rgm_shortlist_release(rgm_shortlist *shortlist)
{
    if (shortlist == NULL)
        return;
    rgm_tensor_release(shortlist->start);
    rgm_tensor_release(shortlist->tokens);
    rgm_tensor_release(shortlist->frequent);
    rgm_free(shortlist->mark);
    rgm_free(shortlist);
}

rgm_shortlist_figures rgm_shortlist_describe(const rgm_shortlist *s)
{
    return (rgm_shortlist_figures){s->source_vocabulary,
                                   s->target_vocabulary,
                                   s->first,
                                   s->best,
                                   s->pairs,
                                   rgm_tensor_count(s->tokens),
                                   s->mark};
}

int64_t rgm_shortlist_tokens(const int32_t **tokens, const rgm_shortlist *s, int32_t source)
{
    const int64_t *start = rgm_tensor_i64(s->start);

    *tokens = rgm_tensor_i32(s->tokens) + start[source];
    return start[source + 1] - start[source];
}

const int32_t *rgmi_shortlist_frequent(const rgm_shortlist *shortlist)
{
    return rgm_tensor_i32(shortlist->frequent);
}

/* ---- learning -------------------------------------------------------------------------------- */

typedef struct ranked {
    double value;
    int32_t token;
} ranked;

static int higher_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static int by_token(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    return x->token < y->token ? -1 : x->token > y->token;
}

static bool is_listed(const ranked *list, int64_t count, int32_t token)
{
    for (int64_t i = 0; i < count; i++)
        if (list[i].token == token)
            return true;
    return false;
}

/* The most probable tokens of a source token that are not among the frequent, and its copy unless
 * that is -1; their number, at the front of `list`, ascending. */
static int64_t best_of(ranked *list, const rgmi_lexicon *l, int64_t source, const bool *is_frequent,
                       int64_t most, int32_t copy)
{
    int64_t count = 0;

    for (int64_t i = l->start[source]; i < l->start[source + 1]; i++)
        if (l->p[i] > 0 && !is_frequent[l->target[i]])
            list[count++] = (ranked){(double)l->p[i], l->target[i]};
    qsort(list, (size_t)count, sizeof *list, higher_first);
    count = count < most ? count : most;
    if (copy >= 0 && !is_frequent[copy] && !is_listed(list, count, copy))
        list[count++] = (ranked){.token = copy}; /* one of l->targets: there is room */
    qsort(list, (size_t)count, sizeof *list, by_token);
    return count;
}

static rgm_status order_by_frequency(rgm_shortlist *s, const rgmi_lexicon *l, ranked *list,
                                     bool *is_frequent)
{
    int32_t *frequent;

    RGM_TRY(rgm_tensor_create(&s->frequent, RGM_I32, 1, &l->targets));
    frequent = rgm_tensor_i32(s->frequent);
    for (int64_t e = 0; e < l->targets; e++)
        list[e] = (ranked){(double)l->frequency[e], (int32_t)e};
    qsort(list, (size_t)l->targets, sizeof *list, higher_first);
    for (int64_t i = 0; i < l->targets; i++) {
        frequent[i] = list[i].token;
        is_frequent[list[i].token] = i < s->first;
    }
    return RGM_OK;
}

static rgm_status choose_tokens(rgm_shortlist *s, const rgmi_lexicon *l, ranked *list,
                                const bool *is_frequent, const int32_t *copies)
{
    rgm_status status = RGM_OK;
    int32_t *tokens = NULL;
    int64_t count = 0, room = 0, *start, sources = l->sources + 1;

    RGM_GO(rgm_tensor_create(&s->start, RGM_I64, 1, &sources));
    start = rgm_tensor_i64(s->start);
    for (int64_t f = 0; f < l->sources; f++) {
        int64_t found = best_of(list, l, f, is_frequent, s->best, copies != NULL ? copies[f] : -1);
        RGM_GO(RGM_RESERVE(tokens, room, count + found));
        for (int64_t i = 0; i < found; i++)
            tokens[count++] = list[i].token;
        start[f + 1] = count;
    }
    RGM_GO(rgm_tensor_create_from(&s->tokens, RGM_I32, 1, &count, tokens));
done:
    rgm_free(tokens);
    return status;
}

static rgm_status shortlist_make(rgm_shortlist *s, const rgmi_lexicon *l, const int32_t *copies)
{
    rgm_status status = RGM_OK;
    bool *is_frequent = NULL;
    ranked *list = NULL;

    RGM_GO(RGM_NEW(is_frequent, l->targets));
    RGM_GO(RGM_NEW(list, l->targets));
    RGM_GO(order_by_frequency(s, l, list, is_frequent));
    RGM_GO(choose_tokens(s, l, list, is_frequent, copies));
done:
    rgm_free(is_frequent);
    rgm_free(list);
    return status;
}

static rgm_status check_options(const rgm_shortlist_options *o, int64_t sources, int64_t targets)
{
    if (o->first < 1 || o->best < 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "a shortlist has the first 1 or more tokens (%lld) and the best 0 or more "
                        "(%lld)",
                        (long long)o->first, (long long)o->best);
    for (int64_t f = 0; f < sources && o->copies != NULL; f++)
        if (o->copies[f] < -1 || o->copies[f] >= targets)
            return RGM_FAIL(RGM_ERR_ARG,
                            "the copy of source token %lld is %lld, but ids are 0..%lld",
                            (long long)f, (long long)o->copies[f], (long long)targets - 1);
    return RGM_OK;
}

rgm_status rgm_shortlist_learn(rgm_shortlist **out, const rgm_sequence_pair *pairs, int64_t count,
                               int64_t source_vocabulary, int64_t target_vocabulary,
                               const rgm_shortlist_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_lexicon l = {.what = "a shortlist is",
                      .pairs = pairs,
                      .count = count,
                      .sources = source_vocabulary,
                      .targets = target_vocabulary};
    rgm_shortlist *s = NULL;

    *out = NULL;
    RGM_TRY(check_options(options, source_vocabulary, target_vocabulary));
    RGM_GO(rgmi_lexicon_learn(&l));
    RGM_GO(RGM_NEW(s, 1));
    s->source_vocabulary = source_vocabulary;
    s->target_vocabulary = target_vocabulary;
    s->first = options->first < target_vocabulary ? options->first : target_vocabulary;
    s->best = options->best;
    s->pairs = count;
    RGM_GO(rgm_strdup(&s->mark, options->mark != NULL ? options->mark : ""));
    RGM_GO(shortlist_make(s, &l, options->copies));
    *out = s;
    s = NULL;
done:
    rgmi_lexicon_clear(&l);
    rgm_shortlist_release(s);
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { NUMBERS = 4 };
static const char *const number_names[NUMBERS] = {"version", "first", "best", "pairs"};

/* Of all that a file says. */
static rgm_status checksum(char out[32], const rgm_shortlist *s)
{
    const rgm_tensor *const tensors[] = {s->start, s->tokens, s->frequent};
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgm_text_printf(&text, "%lld %lld %lld %s", (long long)s->first, (long long)s->best,
                           (long long)s->pairs, s->mark));
    for (int i = 0; i < 3; i++)
        RGM_GO(rgm_text_printf(&text, " %016llx",
                               (unsigned long long)rgm_hash64(rgm_tensor_data(tensors[i]),
                                                              rgm_tensor_bytes(tensors[i]))));
    snprintf(out, 32, "%016llx", (unsigned long long)rgm_hash64(text.data, (size_t)text.size));
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status write_file(const char *path, const rgm_shortlist *s)
{
    const rgm_named_tensor tensors[] = {
        {"frequent", s->frequent}, {"start", s->start}, {"tokens", s->tokens}};
    const int64_t numbers[NUMBERS] = {VERSION, s->first, s->best, s->pairs};
    char texts[NUMBERS][32], sum[32];
    const char *metadata[2 * (NUMBERS + 3)] = {"format", format_name, "mark",
                                               s->mark,  "checksum",  sum};

    RGM_TRY(checksum(sum, s));
    for (int i = 0; i < NUMBERS; i++) {
        snprintf(texts[i], sizeof texts[i], "%lld", (long long)numbers[i]);
        metadata[6 + 2 * i] = number_names[i];
        metadata[7 + 2 * i] = texts[i];
    }
    return rgm_safetensors_save(path, tensors, 3, metadata, NUMBERS + 3);
}

rgm_status rgm_shortlist_save(const char *path, const rgm_shortlist *s)
{
    rgm_status status;
    char *beside;

    RGM_TRY(rgm_file_beside(&beside, path));
    status = rgm_file_publish(beside, path, write_file(beside, s));
    rgm_free(beside);
    return status;
}

static rgm_status damaged(const char *path, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s is no shortlist, or damaged: %s", path, what);
}

static rgm_status load_number(int64_t *out, const rgm_safetensors *file, const char *path,
                              const char *name)
{
    const char *text = rgm_safetensors_metadata(file, name);
    char *end;

    if (text == NULL)
        return damaged(path, name);
    *out = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && *out >= 0 ? RGM_OK : damaged(path, name);
}

/* Numbers and tensors, as they stand there. */
static rgm_status load_parts(rgm_shortlist *s, const rgm_safetensors *file, const char *path)
{
    int64_t *const numbers[NUMBERS - 1] = {&s->first, &s->best, &s->pairs};
    const char *format = rgm_safetensors_metadata(file, "format");
    const char *mark = rgm_safetensors_metadata(file, "mark");
    int64_t version;

    if (format == NULL || strcmp(format, format_name) != 0 || mark == NULL)
        return damaged(path, "format");
    RGM_TRY(load_number(&version, file, path, "version"));
    if (version != VERSION)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s is a shortlist of version %lld, this reads %d", path,
                        (long long)version, VERSION);
    for (int i = 1; i < NUMBERS; i++)
        RGM_TRY(load_number(numbers[i - 1], file, path, number_names[i]));
    RGM_TRY(rgm_strdup(&s->mark, mark));
    RGM_TRY(rgm_safetensors_get(&s->start, file, "start"));
    RGM_TRY(rgm_safetensors_get(&s->tokens, file, "tokens"));
    return rgm_safetensors_get(&s->frequent, file, "frequent");
}

static bool is_list(const rgm_tensor *tensor, rgm_dtype dtype)
{
    return rgm_tensor_rank(tensor) == 1 && rgm_tensor_dtype(tensor) == dtype;
}

static bool ids_are_within(const rgm_tensor *tensor, int64_t vocabulary)
{
    for (int64_t i = 0; i < rgm_tensor_count(tensor); i++)
        if (rgm_tensor_i32(tensor)[i] < 0 || rgm_tensor_i32(tensor)[i] >= vocabulary)
            return false;
    return true;
}

/* What the search reads by. */
static rgm_status check_parts(rgm_shortlist *s, const char *path)
{
    const char *said;
    int64_t sources, *start;

    if (!is_list(s->start, RGM_I64) || !is_list(s->tokens, RGM_I32) ||
        !is_list(s->frequent, RGM_I32) || rgm_tensor_count(s->start) < 2)
        return damaged(path, "shapes");
    s->source_vocabulary = sources = rgm_tensor_count(s->start) - 1;
    s->target_vocabulary = rgm_tensor_count(s->frequent);
    start = rgm_tensor_i64(s->start);
    said = start[0] == 0 && start[sources] == rgm_tensor_count(s->tokens) ? NULL : "start";
    for (int64_t i = 0; i < sources && said == NULL; i++)
        if (start[i] > start[i + 1])
            said = "start";
    if (s->first < 1 || s->first > s->target_vocabulary)
        said = "first";
    if (!ids_are_within(s->tokens, s->target_vocabulary) ||
        !ids_are_within(s->frequent, s->target_vocabulary))
        said = "ids";
    return said == NULL ? RGM_OK : damaged(path, said);
}

rgm_status rgm_shortlist_load(rgm_shortlist **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_safetensors *file = NULL;
    rgm_shortlist *s = NULL;
    const char *said;
    char sum[32];

    *out = NULL;
    RGM_GO(rgm_safetensors_open(&file, path));
    RGM_GO(RGM_NEW(s, 1));
    RGM_GO(load_parts(s, file, path));
    RGM_GO(check_parts(s, path));
    RGM_GO(checksum(sum, s));
    said = rgm_safetensors_metadata(file, "checksum");
    if (said == NULL || strcmp(said, sum) != 0)
        RGM_GO(damaged(path, "checksum"));
    *out = s;
    s = NULL;
done:
    rgm_safetensors_close(file);
    rgm_shortlist_release(s);
    return status;
}
