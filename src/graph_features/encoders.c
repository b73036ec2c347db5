/*
 * The one table of encoders: how a feature of nodes or edges becomes columns or numbers, what that
 * takes to be learned of the training data, and how it is written down.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "encoders.h"

/* ---- names ----------------------------------------------------------------------------------- */

const char *rgm_feature_name_in(const char *name, const char *set)
{
    size_t size = strlen(set);
    const char *dot = strchr(name, '.');

    if (dot == NULL)
        return name;
    if (strncmp(name, set, size) == 0 && name[size] == '.')
        return name + size + 1;
    return NULL;
}

int64_t rgmi_feature_place(const char *const *names, int64_t count, const char *set,
                           const char *feature)
{
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_feature_name_in(names[i], set);

        if (name != NULL && strcmp(name, feature) == 0)
            return i;
    }
    return -1;
}

int64_t rgmi_named_embedding(const rgm_input_options *o, const char *node_set)
{
    for (int64_t i = 0; i < o->embeddings.count; i++)
        if (strcmp(o->embeddings.names[i], node_set) == 0)
            return (int64_t)o->embeddings.values[i];
    return 0;
}

/* ---- integers as they are: one_hot ----------------------------------------------------------- */

static rgm_texts one_hot_names(const rgm_input_options *o)
{
    return (rgm_texts){o->one_hot.names, o->one_hot.count};
}

static rgm_status check_whole(const rgm_numbers *numbers, int64_t i, const char *key,
                              const char *what)
{
    double x = numbers->values[i];

    return x >= 1 && x <= 1e9 && x == (double)(int64_t)x
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "model.input.%s: '%s' is %g, not %s", key,
                          numbers->names[i], x, what);
}

static rgm_status one_hot_check(const rgm_input_options *o, int64_t i)
{
    return check_whole(&o->one_hot, i, "one_hot", "how many values there are");
}

static rgm_status one_hot_lookup(rgm_lookup **out, const rgmi_encoding *e)
{
    return rgm_lookup_range(out, (int64_t)e->options->one_hot.values[e->place]);
}

static const rgmi_encoder one_hot = {
    .key = "one_hot", .names = one_hot_names, .check = one_hot_check, .lookup = one_hot_lookup};

/* ---- vocabularies ---------------------------------------------------------------------------- */

static rgm_texts vocabulary_names(const rgm_input_options *o)
{
    return (rgm_texts){o->vocabulary.names, o->vocabulary.count};
}

static rgm_status vocabulary_check(const rgm_input_options *o, int64_t i)
{
    return check_whole(&o->vocabulary, i, "vocabulary", "how often a value has to be there");
}

static bool is_text(const rgm_tensor *values)
{
    return rgm_tensor_dtype(values) == RGM_STRING;
}

/* A text that can be a key of JSON and of a map: what is no UTF-8, a zero or '%' as "%00". */
static rgm_status escape(rgm_text *out, rgm_str text)
{
    char copy[8];
    uint32_t code;

    for (int64_t i = 0; i < text.size;) {
        int64_t left = text.size - i;
        int size;

        memset(copy, 0, sizeof copy);
        memcpy(copy, text.data + i, (size_t)(left < 4 ? left : 4));
        size = rgm_utf8_next(&code, copy);
        if (size > 0 && size <= left && code != 0 && code != '%')
            RGM_TRY(rgm_text_add(out, copy, size));
        else
            RGM_TRY(rgm_text_printf(out, "%%%02X", (unsigned)(unsigned char)copy[0]));
        i += size > 0 && size <= left && code != 0 ? size : 1;
    }
    return RGM_OK;
}

static int digit_of(char c)
{
    const char *digits = "0123456789ABCDEF", *found = c != 0 ? strchr(digits, c) : NULL;

    return found != NULL ? (int)(found - digits) : -1;
}

/* In place; false: no such text. */
static bool unescape(char *text, int64_t *size)
{
    int64_t to = 0;

    for (int64_t i = 0; i < *size; i++, to++) {
        text[to] = text[i];
        if (text[i] != '%')
            continue;
        if (i + 2 >= *size || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0)
            return false;
        text[to] = (char)(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
        i += 2;
    }
    *size = to;
    return true;
}

static rgm_status say_value(rgm_text *out, const rgm_tensor *values, int64_t i)
{
    if (is_text(values))
        return escape(out, ((const rgm_str *)rgm_tensor_data(values))[i]);
    return rgm_text_printf(out, "%" PRId64, rgm_tensor_at_int(values, i));
}

static rgm_status vocabulary_add(rgmi_collected *c, const rgm_tensor *values, int64_t i,
                                 int64_t column)
{
    rgm_status status = RGM_OK;
    rgm_text key = {0};
    uintptr_t count;

    (void)column;
    c->of_texts = is_text(values);
    if (c->counts == NULL)
        RGM_GO(rgm_map_create(&c->counts));
    RGM_GO(say_value(&key, values, i));
    RGM_GO(rgm_text_add(&key, "", 0));
    count = (uintptr_t)rgm_map_get(c->counts, key.data != NULL ? key.data : "") + 1;
    RGM_GO(rgm_map_set(c->counts, key.data != NULL ? key.data : "", (void *)count));
done:
    rgm_text_clear(&key);
    return status;
}

typedef struct word {
    char *text; /* unescaped in place, or decimals */
    int64_t size, integer, count;
} word;

static int by_count(const void *a, const void *b)
{
    const word *x = a, *y = b;
    size_t size = (size_t)(x->size < y->size ? x->size : y->size);
    int order;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->integer != y->integer)
        return x->integer < y->integer ? -1 : 1;
    order = size > 0 ? memcmp(x->text, y->text, size) : 0;
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* A key of the map, or of a file, as the value that it says; false: it says none. */
static bool read_word(word *w, bool of_texts)
{
    char *end;

    w->integer = 0;
    if (of_texts)
        return unescape(w->text, &w->size);
    if (w->size == 0 || w->size > 20 ||
        (w->text[0] != '-' && (w->text[0] < '0' || w->text[0] > '9')))
        return false;
    w->integer = strtoll(w->text, &end, 10);
    return *end == 0;
}

/* The words in the order of the list become the vocabulary. */
static rgm_status keep_words(rgmi_learned *out, const word *words, int64_t count, bool of_texts)
{
    rgm_status status = RGM_OK;
    rgm_str *texts = NULL;

    RGM_GO(RGM_NEW(texts, count));
    RGM_GO(RGM_NEW(out->integers, count));
    RGM_GO(RGM_NEW(out->counts, count));
    for (int64_t i = 0; i < count; i++) {
        texts[i] = (rgm_str){words[i].text, words[i].size};
        out->integers[i] = words[i].integer;
        out->counts[i] = words[i].count;
    }
    out->count = count;
    out->of_texts = of_texts;
    if (of_texts)
        RGM_GO(rgm_tensor_create_from(&out->texts, RGM_STRING, 1, &count, texts));
done:
    rgm_free(texts);
    return status;
}

static void free_words(word *words, int64_t count)
{
    for (int64_t i = 0; words != NULL && i < count; i++)
        rgm_free(words[i].text);
    rgm_free(words);
}

static rgm_status copy_word(word *out, const char *key, int64_t count)
{
    *out = (word){.size = (int64_t)strlen(key), .count = count};
    return rgm_strdup(&out->text, key);
}

static rgm_status vocabulary_learn(rgmi_learned *out, const rgmi_collected *c)
{
    rgm_status status = RGM_OK;
    const rgmi_encoding *e = c->encoding;
    int64_t all = c->counts != NULL ? rgm_map_count(c->counts) : 0, count = 0;
    int64_t least = e->place >= 0 ? (int64_t)e->options->vocabulary.values[e->place] : 1;
    word *words = NULL;

    RGM_GO(RGM_NEW(words, all));
    for (int64_t i = 0; i < all; i++) {
        int64_t n = (int64_t)(uintptr_t)rgm_map_value(c->counts, i);

        if (n < least)
            continue;
        RGM_GO(copy_word(&words[count++], rgm_map_key(c->counts, i), n));
        (void)read_word(&words[count - 1], c->of_texts); /* as say_value() wrote it */
    }
    if (count > 0)
        qsort(words, (size_t)count, sizeof *words, by_count);
    RGM_GO(keep_words(out, words, count, c->of_texts));
done:
    free_words(words, all);
    return status;
}

static rgm_status vocabulary_lookup(rgm_lookup **out, const rgmi_encoding *e)
{
    const rgmi_learned *l = e->learned;
    bool other = e->options->unseen == RGM_UNSEEN_BUCKET;

    if (l->of_texts)
        return rgm_lookup_texts(out, rgm_tensor_data(l->texts), l->count, other);
    return rgm_lookup_integers(out, l->integers, l->count, other);
}

static rgm_status vocabulary_print(rgm_text *out, const rgmi_learned *l)
{
    rgm_status status = RGM_OK;
    rgm_text key = {0};

    RGM_GO(rgm_text_printf(out, "{\"seen\": %" PRId64 ", \"%s\": {", l->seen,
                           l->of_texts ? "texts" : "integers"));
    for (int64_t i = 0; i < l->count; i++) {
        key.size = 0;
        if (l->of_texts)
            RGM_GO(escape(&key, ((const rgm_str *)rgm_tensor_data(l->texts))[i]));
        else
            RGM_GO(rgm_text_printf(&key, "%" PRId64, l->integers[i]));
        RGM_GO(rgm_text_printf(out, "%s\n   ", i > 0 ? "," : ""));
        RGM_GO(rgm_json_print_text(out, key.size > 0 ? key.data : ""));
        RGM_GO(rgm_text_printf(out, ": %" PRId64, l->counts[i]));
    }
    RGM_GO(rgm_text_printf(out, "}}"));
done:
    rgm_text_clear(&key);
    return status;
}

static int64_t entries_of(const rgm_json *object)
{
    rgm_json_entry entry = {0};
    int64_t count = 0;

    while (rgm_json_next(&entry, object))
        count++;
    return count;
}

static rgm_status vocabulary_parse(rgmi_learned *out, const rgm_json *json)
{
    rgm_status status = RGM_OK;
    const rgm_json *texts = rgm_json_find(json, "texts"), *list = texts;
    rgm_json_entry entry = {0};
    int64_t all, count = 0;
    word *words = NULL;

    if (list == NULL)
        list = rgm_json_find(json, "integers");
    if (!rgm_json_is_object(list) || !rgm_json_int(&out->seen, rgm_json_find(json, "seen")))
        return RGM_FAIL(RGM_ERR_FORMAT, "no vocabulary: its \"seen\", and \"texts\" or "
                                        "\"integers\" with their counts");
    all = entries_of(list);
    RGM_GO(RGM_NEW(words, all));
    while (rgm_json_next(&entry, list)) {
        RGM_GO(copy_word(&words[count++], entry.key, 0));
        if (!rgm_json_int(&words[count - 1].count, entry.value) ||
            !read_word(&words[count - 1], texts != NULL))
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                            "entry %" PRId64 " of a vocabulary is no value with "
                            "its count",
                            count - 1));
    }
    RGM_GO(keep_words(out, words, count, texts != NULL));
done:
    free_words(words, all);
    return status;
}

static rgm_status vocabulary_describe(rgm_text *out, const rgmi_learned *l)
{
    return rgm_text_printf(out, "%" PRId64 " %s of %" PRId64 " values", l->count,
                           l->of_texts ? "texts" : "integers", l->seen);
}

const rgmi_encoder rgmi_vocabulary_encoder = {.key = "vocabulary",
                                              .names = vocabulary_names,
                                              .check = vocabulary_check,
                                              .lookup = vocabulary_lookup,
                                              .add = vocabulary_add,
                                              .learn = vocabulary_learn,
                                              .print = vocabulary_print,
                                              .parse = vocabulary_parse,
                                              .describe = vocabulary_describe};

/* ---- hashing --------------------------------------------------------------------------------- */

static rgm_texts hash_names(const rgm_input_options *o)
{
    return (rgm_texts){o->hash.names, o->hash.count};
}

static rgm_status hash_check(const rgm_input_options *o, int64_t i)
{
    return check_whole(&o->hash, i, "hash", "how many buckets there are");
}

static rgm_status hash_lookup(rgm_lookup **out, const rgmi_encoding *e)
{
    return rgm_lookup_hash(out, (int64_t)e->options->hash.values[e->place]);
}

static const rgmi_encoder hash = {
    .key = "hash", .names = hash_names, .check = hash_check, .lookup = hash_lookup};

/* ---- lists of numbers in the file ------------------------------------------------------------ */

static rgm_status print_numbers(rgm_text *out, const char *name, const double *x, int64_t count)
{
    RGM_TRY(rgm_text_printf(out, "\"%s\": {", name));
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(rgm_text_printf(out, "%s\"%" PRId64 "\": ", i > 0 ? ", " : "", i));
        RGM_TRY(rgm_json_print_number(out, x[i]));
    }
    return rgm_text_printf(out, "}");
}

static rgm_status parse_numbers(double **out, int64_t *count, const rgm_json *json,
                                const char *name)
{
    const rgm_json *list = rgm_json_find(json, name);
    rgm_json_entry entry = {0};
    int64_t i = 0;

    if (!rgm_json_is_object(list))
        return RGM_FAIL(RGM_ERR_FORMAT, "no \"%s\"", name);
    *count = entries_of(list);
    RGM_TRY(RGM_NEW(*out, *count));
    for (; rgm_json_next(&entry, list); i++)
        if (!rgm_json_number(&(*out)[i], entry.value) || !isfinite((*out)[i]))
            return RGM_FAIL(RGM_ERR_FORMAT, "entry %" PRId64 " of \"%s\" is no number", i, name);
    return RGM_OK;
}

/* ---- buckets --------------------------------------------------------------------------------- */

static rgm_texts buckets_names(const rgm_input_options *o)
{
    return (rgm_texts){o->buckets.names, o->buckets.count};
}

static rgm_status buckets_check(const rgm_input_options *o, int64_t i)
{
    return check_whole(&o->buckets, i, "buckets", "how many buckets there are");
}

double rgmi_number_of(const rgm_tensor *values, int64_t i)
{
    switch (rgm_tensor_dtype(values)) {
    case RGM_F32:
        return (double)rgm_tensor_f32(values)[i];
    case RGM_F64:
        return rgm_tensor_f64(values)[i];
    case RGM_BOOL:
        return ((const bool *)rgm_tensor_data(values))[i] ? 1 : 0;
    default:
        return (double)rgm_tensor_at_int(values, i);
    }
}

static rgm_status buckets_add(rgmi_collected *c, const rgm_tensor *values, int64_t i,
                              int64_t column)
{
    (void)column;
    RGM_TRY(RGM_RESERVE(c->values, c->capacity, c->seen + 1));
    c->values[c->seen] = rgmi_number_of(values, i);
    return RGM_OK;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Boundary k of n buckets is the least value that is above k/n of all; those that are equal, and
 * the least value of all, are left out: no bucket is empty then. */
static rgm_status buckets_learn(rgmi_learned *out, const rgmi_collected *c)
{
    const rgmi_encoding *e = c->encoding;
    int64_t buckets = (int64_t)e->options->buckets.values[e->place];

    if (c->seen == 0)
        return RGM_FAIL(RGM_ERR_DATA, "model.input.buckets: the training part has no value");
    qsort(c->values, (size_t)c->seen, sizeof *c->values, by_number);
    if (buckets > c->seen)
        buckets = c->seen;
    RGM_TRY(RGM_NEW(out->boundaries, buckets));
    for (int64_t k = 1; k < buckets; k++) {
        double x = c->values[(int64_t)((double)c->seen * (double)k / (double)buckets)];

        if (x > (out->count > 0 ? out->boundaries[out->count - 1] : c->values[0]))
            out->boundaries[out->count++] = x;
    }
    return RGM_OK;
}

static rgm_status buckets_lookup(rgm_lookup **out, const rgmi_encoding *e)
{
    return rgm_lookup_buckets(out, e->learned->boundaries, e->learned->count);
}

static rgm_status buckets_print(rgm_text *out, const rgmi_learned *l)
{
    RGM_TRY(rgm_text_printf(out, "{\"seen\": %" PRId64 ", ", l->seen));
    RGM_TRY(print_numbers(out, "boundaries", l->boundaries, l->count));
    return rgm_text_printf(out, "}");
}

static rgm_status buckets_parse(rgmi_learned *out, const rgm_json *json)
{
    if (!rgm_json_int(&out->seen, rgm_json_find(json, "seen")))
        return RGM_FAIL(RGM_ERR_FORMAT, "no \"seen\"");
    return parse_numbers(&out->boundaries, &out->count, json, "boundaries");
}

static rgm_status buckets_describe(rgm_text *out, const rgmi_learned *l)
{
    return rgm_text_printf(out, "%" PRId64 " buckets of %" PRId64 " values", l->count + 1, l->seen);
}

static const rgmi_encoder buckets = {.key = "buckets",
                                     .names = buckets_names,
                                     .check = buckets_check,
                                     .lookup = buckets_lookup,
                                     .add = buckets_add,
                                     .learn = buckets_learn,
                                     .print = buckets_print,
                                     .parse = buckets_parse,
                                     .describe = buckets_describe,
                                     .finite = true};

/* ---- boundaries ------------------------------------------------------------------------------ */

static rgm_texts boundaries_names(const rgm_input_options *o)
{
    return (rgm_texts){o->boundaries.names, o->boundaries.count};
}

static rgm_status read_boundaries(double **out, const rgm_input_options *o, int64_t place)
{
    const rgm_texts *list = &o->boundaries.items[place];

    RGM_TRY(RGM_NEW(*out, list->count));
    for (int64_t i = 0; i < list->count; i++)
        if (!rgm_number_parse(&(*out)[i], list->items[i]) || !isfinite((*out)[i]) ||
            (i > 0 && (*out)[i] <= (*out)[i - 1]))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "model.input.boundaries: '%s' has '%s'; boundaries are numbers that "
                            "ascend",
                            o->boundaries.names[place], list->items[i]);
    return RGM_OK;
}

static rgm_status boundaries_check(const rgm_input_options *o, int64_t i)
{
    double *numbers = NULL;
    rgm_status status = read_boundaries(&numbers, o, i);

    rgm_free(numbers);
    return status;
}

static rgm_status boundaries_lookup(rgm_lookup **out, const rgmi_encoding *e)
{
    double *numbers = NULL;
    rgm_status status = read_boundaries(&numbers, e->options, e->place);

    *out = NULL;
    if (status == RGM_OK)
        status = rgm_lookup_buckets(out, numbers, e->options->boundaries.items[e->place].count);
    rgm_free(numbers);
    return status;
}

static const rgmi_encoder boundaries = {.key = "boundaries",
                                        .names = boundaries_names,
                                        .check = boundaries_check,
                                        .lookup = boundaries_lookup};

/* ---- amounts: numbers, standardize, min_max -------------------------------------------------- */

static rgm_texts numbers_names(const rgm_input_options *o)
{
    return o->numbers;
}

static rgm_value *numbers_rows(rgm_scope *scope, rgm_value *x, const rgmi_encoding *e)
{
    (void)e;
    return rgm_as_rows(scope, x);
}

static const rgmi_encoder numbers = {
    .key = "numbers", .names = numbers_names, .rows = numbers_rows, .finite = true};

static rgm_texts standardize_names(const rgm_input_options *o)
{
    return o->standardize;
}

static rgm_texts min_max_names(const rgm_input_options *o)
{
    return o->min_max;
}

static rgm_status make_sums(rgmi_collected *c)
{
    if (c->sum != NULL)
        return RGM_OK;
    RGM_TRY(RGM_NEW(c->sum, c->width));
    RGM_TRY(RGM_NEW(c->squares, c->width));
    RGM_TRY(RGM_NEW(c->low, c->width));
    RGM_TRY(RGM_NEW(c->high, c->width));
    for (int64_t k = 0; k < c->width; k++) {
        c->low[k] = INFINITY;
        c->high[k] = -INFINITY;
    }
    return RGM_OK;
}

/* Welford: sum is the mean so far, squares the sum of squared distances from it. */
static rgm_status amount_add(rgmi_collected *c, const rgm_tensor *values, int64_t i, int64_t column)
{
    double x = rgmi_number_of(values, i), n = (double)(c->seen / c->width + 1), from;

    RGM_TRY(make_sums(c));
    from = x - c->sum[column];
    c->sum[column] += from / n;
    c->squares[column] += from * (x - c->sum[column]);
    c->low[column] = fmin(c->low[column], x);
    c->high[column] = fmax(c->high[column], x);
    return RGM_OK;
}

static rgm_status amount_make(rgmi_learned *out, const rgmi_collected *c)
{
    if (c->seen == 0)
        return RGM_FAIL(RGM_ERR_DATA, "model.input.%s: the training part has no value",
                        c->encoding->encoder->key);
    RGM_TRY(RGM_NEW(out->offset, c->width));
    RGM_TRY(RGM_NEW(out->factor, c->width));
    out->count = c->width;
    return RGM_OK;
}

/* A number that never varies becomes 0, whatever it is. */
static double one_over(double spread)
{
    return spread > 0 && isfinite(1 / spread) ? 1 / spread : 0;
}

static rgm_status standardize_learn(rgmi_learned *out, const rgmi_collected *c)
{
    RGM_TRY(amount_make(out, c));
    for (int64_t k = 0; k < c->width; k++) {
        out->offset[k] = c->sum[k];
        out->factor[k] = c->high[k] > c->low[k]
                             ? one_over(sqrt(c->squares[k] / (double)(c->seen / c->width)))
                             : 0;
    }
    return RGM_OK;
}

static rgm_status min_max_learn(rgmi_learned *out, const rgmi_collected *c)
{
    RGM_TRY(amount_make(out, c));
    for (int64_t k = 0; k < c->width; k++) {
        out->offset[k] = c->low[k];
        out->factor[k] = one_over(c->high[k] - c->low[k]);
    }
    return RGM_OK;
}

static rgm_value *constant_row(rgm_cgraph *graph, const double *x, int64_t count)
{
    rgm_tensor *tensor;
    rgm_value *value;

    if (rgm_tensor_create_from(&tensor, RGM_F64, 1, &count, x) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory: numbers of a feature");
    value = rgm_constant(graph, tensor);
    rgm_tensor_release(tensor);
    return value;
}

/* In doubles: an amount may be a time in seconds since 1970, of which floats lose minutes. */
static rgm_value *amount_rows(rgm_scope *scope, rgm_value *x, const rgmi_encoding *e)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    const rgmi_learned *l = e->learned;
    rgm_value *offset, *factor;
    rgm_dim shape[2];
    int64_t width = 1;

    if (x == NULL)
        return NULL;
    for (int i = 1; i < rgm_value_rank(x); i++)
        width *= rgm_value_dim(x, i);
    if (width != l->count)
        return rgm_cgraph_fail(graph, RGM_ERR_SHAPE,
                               "feature '%s' of '%s' has %lld numbers an item, but %s learned of "
                               "%lld",
                               l->feature, l->set, (long long)width, e->encoder->key,
                               (long long)l->count);
    shape[0] = rgm_value_dim(x, 0);
    shape[1] = width;
    x = rgm_reshape(rgm_cast(x, RGM_F64), 2, shape);
    offset = constant_row(graph, l->offset, width);
    factor = constant_row(graph, l->factor, width);
    x = rgm_sub(x, offset);
    x = rgm_mul(x, factor);
    return rgm_as_rows(scope, x);
}

static rgm_status amount_print(rgm_text *out, const rgmi_learned *l)
{
    RGM_TRY(rgm_text_printf(out, "{\"seen\": %" PRId64 ", ", l->seen));
    RGM_TRY(print_numbers(out, "offset", l->offset, l->count));
    RGM_TRY(rgm_text_printf(out, ", "));
    RGM_TRY(print_numbers(out, "factor", l->factor, l->count));
    return rgm_text_printf(out, "}");
}

static rgm_status amount_parse(rgmi_learned *out, const rgm_json *json)
{
    int64_t factors = 0;

    if (!rgm_json_int(&out->seen, rgm_json_find(json, "seen")))
        return RGM_FAIL(RGM_ERR_FORMAT, "no \"seen\"");
    RGM_TRY(parse_numbers(&out->offset, &out->count, json, "offset"));
    RGM_TRY(parse_numbers(&out->factor, &factors, json, "factor"));
    return factors == out->count && factors > 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_FORMAT, "%" PRId64 " offsets and %" PRId64 " factors", out->count,
                          factors);
}

static rgm_status amount_describe(rgm_text *out, const rgmi_learned *l)
{
    int64_t still = 0;

    for (int64_t k = 0; k < l->count; k++)
        still += l->factor[k] == 0;
    RGM_TRY(rgm_text_printf(out, "%s of %" PRId64 " values", l->encoder->key, l->seen));
    return still > 0
               ? rgm_text_printf(out, " (%" PRId64 " of %" PRId64 " never vary)", still, l->count)
               : RGM_OK;
}

static const rgmi_encoder standardize = {.key = "standardize",
                                         .names = standardize_names,
                                         .rows = amount_rows,
                                         .add = amount_add,
                                         .learn = standardize_learn,
                                         .print = amount_print,
                                         .parse = amount_parse,
                                         .describe = amount_describe,
                                         .finite = true};

static const rgmi_encoder min_max = {.key = "min_max",
                                     .names = min_max_names,
                                     .rows = amount_rows,
                                     .add = amount_add,
                                     .learn = min_max_learn,
                                     .print = amount_print,
                                     .parse = amount_parse,
                                     .describe = amount_describe,
                                     .finite = true};

/* ---- the table ------------------------------------------------------------------------------- */

const rgmi_encoder *const rgmi_encoders[RGMI_ENCODERS + 1] = {
    &one_hot,     &rgmi_vocabulary_encoder,
    &hash,        &buckets,
    &boundaries,  &numbers,
    &standardize, &min_max,
    NULL};

rgm_status rgmi_input_options_check(const rgm_input_options *o)
{
    for (int k = 0; rgmi_encoders[k] != NULL; k++)
        for (int64_t i = 0; rgmi_encoders[k]->check != NULL && i < rgmi_encoders[k]->names(o).count;
             i++)
            RGM_TRY(rgmi_encoders[k]->check(o, i));
    for (int64_t i = 0; i < o->embeddings.count; i++)
        RGM_TRY(check_whole(&o->embeddings, i, "embeddings", "a width"));
    return RGM_OK;
}
