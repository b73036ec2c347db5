/*
 * Layers as words: "conv 32 3 relu stride=2".
 */
#include <regimen/nn_layers.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 12, MOST_TEXT = 200 };

/* A text in words, which point into `copy`. */
typedef struct words {
    char copy[MOST_TEXT];
    char *items[MOST_WORDS];
    int count, next;
    const char *text;
} words;

static rgm_status split(words *w, const char *text)
{
    char *rest;

    *w = (words){.text = text};
    if (strlen(text) >= sizeof w->copy)
        return RGM_FAIL(RGM_ERR_CONFIG, "'%.40s...': a layer has at most %d bytes", text,
                        MOST_TEXT - 1);
    memcpy(w->copy, text, strlen(text) + 1);
    for (char *word = strtok_r(w->copy, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (w->count == MOST_WORDS)
            return RGM_FAIL(RGM_ERR_CONFIG, "'%s': more than %d words", text, MOST_WORDS);
        w->items[w->count++] = word;
    }
    return w->count > 0 ? RGM_OK : RGM_FAIL(RGM_ERR_CONFIG, "an empty layer");
}

static int count_names(const char *const *names)
{
    int count = 0;

    while (names[count] != NULL)
        count++;
    return count;
}

static rgm_status choose(int *out, const words *w, const char *word, const char *const *names,
                         const char *what)
{
    int count = count_names(names);

    for (*out = 0; *out < count; ++*out)
        if (strcmp(names[*out], word) == 0)
            return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG, "'%s': there is no %s '%s'%s", w->text, what, word,
                    rgm_did_you_mean(word, names, count, NULL, "there are ").text);
}

static rgm_status read_number(double *out, const words *w, const char *word, const char *what)
{
    return rgm_number_parse(out, word) && isfinite(*out)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "'%s': %s is '%s', no number", w->text, what, word);
}

static rgm_status read_count(int64_t *out, const words *w, const char *word, const char *what)
{
    double number;

    RGM_TRY(read_number(&number, w, word, what));
    if (!(number >= 1 && number <= 1e9 && number == floor(number)))
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s': %s is %s; it is a whole number from 1 to 1000000000",
                        w->text, what, word);
    *out = (int64_t)number;
    return RGM_OK;
}

/* "3", or "3x5": rows and columns. */
static rgm_status read_pair(int64_t out[2], const words *w, char *word, const char *what)
{
    char *cross = strchr(word, 'x');

    if (cross != NULL)
        *cross = '\0';
    RGM_TRY(read_count(&out[0], w, word, what));
    out[1] = out[0];
    return cross != NULL ? read_count(&out[1], w, cross + 1, what) : RGM_OK;
}

/* The next word that is no KEY=VALUE; NULL: there is none. */
static char *take(words *w)
{
    return w->next < w->count && strchr(w->items[w->next], '=') == NULL ? w->items[w->next++]
                                                                        : NULL;
}

static rgm_status require(char **out, words *w, const char *what)
{
    *out = take(w);
    return *out != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_CONFIG, "'%s' needs %s", w->text, what);
}

static rgm_status take_count(int64_t *out, words *w, const char *what)
{
    char *word;

    RGM_TRY(require(&word, w, what));
    return read_count(out, w, word, what);
}

static rgm_status take_activation(rgm_activation *out, words *w, bool required)
{
    char *word = take(w);
    int number;

    if (word == NULL)
        return required ? RGM_FAIL(RGM_ERR_CONFIG, "'%s' needs the name of an activation", w->text)
                        : RGM_OK;
    RGM_TRY(choose(&number, w, word, rgm_activation_names, "activation"));
    *out = (rgm_activation)number;
    return RGM_OK;
}

/* A single word that may follow. */
static rgm_status take_flag(bool *out, words *w, const char *name)
{
    const char *const names[] = {name, NULL};
    char *word = take(w);
    int number;

    *out = word != NULL;
    return word != NULL ? choose(&number, w, word, names, "way") : RGM_OK;
}

static rgm_status take_arguments(rgm_layer *l, words *w)
{
    char *word;

    switch (l->kind) {
    case RGM_LAYER_DENSE:
        RGM_TRY(take_count(&l->units, w, "a number of units"));
        return take_activation(&l->activation, w, false);
    case RGM_LAYER_ACTIVATION:
        return take_activation(&l->activation, w, true);
    case RGM_LAYER_DROPOUT:
        RGM_TRY(require(&word, w, "a rate"));
        RGM_TRY(read_number(&l->rate, w, word, "the rate"));
        return l->rate >= 0 && l->rate < 1
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_CONFIG, "'%s': a rate is in [0, 1)", w->text);
    case RGM_LAYER_CONV:
        RGM_TRY(take_count(&l->units, w, "a number of filters"));
        RGM_TRY(require(&word, w, "the size of its window"));
        RGM_TRY(read_pair(l->size, w, word, "the size"));
        return take_activation(&l->activation, w, false);
    case RGM_LAYER_POOL:
        RGM_TRY(require(&word, w, "the size of its window"));
        RGM_TRY(read_pair(l->size, w, word, "the size"));
        return take_flag(&l->mean, w, "mean");
    case RGM_LAYER_GLOBAL_POOL:
        return take_flag(&l->largest, w, "largest");
    case RGM_LAYER_EMBEDDING:
        RGM_TRY(take_count(&l->count, w, "a number of rows"));
        return take_count(&l->units, w, "a width");
    default:
        return RGM_OK;
    }
}

/* ---- KEY=VALUE --------------------------------------------------------------------------------
 */

enum { STRIDE, PADDING, SLOPE, L2, MOMENTUM, BIAS };
static const char *const keys[] = {"stride", "padding", "slope", "l2", "momentum", "bias", NULL};

static bool has_key(rgm_layer_kind kind, int key)
{
    switch (key) {
    case STRIDE:
    case PADDING:
        return kind == RGM_LAYER_CONV || kind == RGM_LAYER_POOL;
    case MOMENTUM:
        return kind == RGM_LAYER_BATCH_NORM;
    case SLOPE:
        return kind == RGM_LAYER_DENSE || kind == RGM_LAYER_CONV || kind == RGM_LAYER_ACTIVATION;
    default:
        return kind == RGM_LAYER_DENSE || kind == RGM_LAYER_CONV;
    }
}

static rgm_status set_key(rgm_layer *l, const words *w, int key, char *value)
{
    static const char *const paddings[] = {"valid", "same", NULL}, *const truths[] = {"false",
                                                                                      "true", NULL};
    int number = 0;

    switch (key) {
    case STRIDE:
        return read_pair(l->stride, w, value, "stride");
    case PADDING:
        RGM_TRY(choose(&number, w, value, paddings, "padding"));
        l->padding = number == 0 ? RGM_PAD_VALID : RGM_PAD_SAME;
        return RGM_OK;
    case SLOPE:
        RGM_TRY(read_number(&l->slope, w, value, "slope"));
        return l->slope > 0
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_CONFIG, "'%s': slope is above 0; relu has none", w->text);
    case L2:
        return read_number(&l->l2, w, value, "l2");
    case MOMENTUM:
        RGM_TRY(read_number(&l->momentum, w, value, "momentum"));
        return l->momentum > 0 && l->momentum < 1
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_CONFIG, "'%s': momentum is in (0, 1)", w->text);
    default:
        RGM_TRY(choose(&number, w, value, truths, "bias"));
        l->no_bias = number == 0;
        return RGM_OK;
    }
}

static rgm_status take_keys(rgm_layer *l, words *w)
{
    unsigned taken = 0; /* a bit for each key */

    for (; w->next < w->count; w->next++) {
        char *word = w->items[w->next], *equals = strchr(word, '=');
        int key;

        if (equals == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "'%s': '%s' is one word too many", w->text, word);
        *equals = '\0';
        RGM_TRY(choose(&key, w, word, keys, "key"));
        if (!has_key(l->kind, key))
            return RGM_FAIL(RGM_ERR_CONFIG, "'%s': a layer %s has no %s", w->text,
                            rgm_layer_names[l->kind], keys[key]);
        if (taken >> key & 1)
            return RGM_FAIL(RGM_ERR_CONFIG, "'%s': %s is there twice", w->text, keys[key]);
        taken |= 1u << key;
        RGM_TRY(set_key(l, w, key, equals + 1));
    }
    return RGM_OK;
}

rgm_status rgm_layer_parse(rgm_layer *out, const char *text)
{
    words w;
    int kind;

    *out = (rgm_layer){.kind = RGM_LAYER_DENSE};
    RGM_TRY(split(&w, text));
    w.next = 1;
    RGM_TRY(choose(&kind, &w, w.items[0], rgm_layer_names, "layer"));
    out->kind = (rgm_layer_kind)kind;
    RGM_TRY(take_arguments(out, &w));
    return take_keys(out, &w);
}

rgm_status rgm_layers_parse(rgm_layer *out, int64_t *count, const rgm_texts *texts)
{
    *count = 0;
    if (texts->count > RGM_MAX_LAYERS)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld layers; at most %d are possible",
                        (long long)texts->count, RGM_MAX_LAYERS);
    for (int64_t i = 0; i < texts->count; i++)
        RGM_TRY(rgm_error_prefix(rgm_layer_parse(&out[i], texts->items[i]), "layer %lld",
                                 (long long)i));
    *count = texts->count;
    return RGM_OK;
}
