/* Sentences in memory, each side in one buffer with the place where every sentence ends. */
#include <stdatomic.h>
#include <string.h>

#include <regimen/text.h>

typedef struct side {
    rgm_text text;
    int64_t *ends; /* [count] */
    int64_t count, capacity;
} side;

struct rgm_corpus {
    atomic_int references;
    side sides[2]; /* source, target */
    bool has_target;
    int64_t empty;
};

static rgm_status side_add(side *s, rgm_str sentence)
{
    RGM_TRY(RGM_RESERVE(s->ends, s->capacity, s->count + 1));
    RGM_TRY(rgm_text_add(&s->text, sentence.data, sentence.size));
    s->ends[s->count++] = s->text.size;
    return RGM_OK;
}

static rgm_str side_get(const side *s, int64_t i)
{
    int64_t begin = i > 0 ? s->ends[i - 1] : 0;
    int64_t size = s->ends[i] - begin;

    return (rgm_str){size > 0 ? s->text.data + begin : "", size};
}

rgm_status rgm_corpus_create(rgm_corpus **out, bool has_target)
{
    *out = NULL;
    RGM_TRY(RGM_NEW(*out, 1));
    atomic_init(&(*out)->references, 1);
    (*out)->has_target = has_target;
    return RGM_OK;
}

rgm_corpus *rgm_corpus_retain(const rgm_corpus *corpus)
{
    rgm_corpus *own = (rgm_corpus *)corpus;

    if (own != NULL)
        atomic_fetch_add_explicit(&own->references, 1, memory_order_relaxed);
    return own;
}

void rgm_corpus_release(rgm_corpus *corpus)
{
    if (corpus == NULL ||
        atomic_fetch_sub_explicit(&corpus->references, 1, memory_order_acq_rel) > 1)
        return;
    for (int i = 0; i < 2; i++) {
        rgm_text_clear(&corpus->sides[i].text);
        rgm_free(corpus->sides[i].ends);
    }
    rgm_free(corpus);
}

static bool is_empty(const rgm_corpus *c, int64_t i)
{
    return rgm_corpus_source(c, i).size == 0 ||
           (c->has_target && rgm_corpus_target(c, i).size == 0);
}

rgm_status rgm_corpus_add(rgm_corpus *corpus, rgm_str source, rgm_str target)
{
    side *sides = corpus->sides;
    int64_t size = sides[0].text.size, count = sides[0].count;
    rgm_status status = side_add(&sides[0], source);

    if (status == RGM_OK && corpus->has_target)
        status = side_add(&sides[1], target);
    if (status == RGM_OK) {
        corpus->empty += is_empty(corpus, sides[0].count - 1);
        return RGM_OK;
    }
    sides[0].count = count;
    sides[0].text.size = size;
    return status;
}

/** The whole corpus is there: count what is empty, and hand it out. */
static void corpus_finish(rgm_corpus **out, rgm_corpus **corpus)
{
    rgm_corpus *c = *corpus;

    for (int64_t i = 0; i < rgm_corpus_count(c); i++)
        c->empty += is_empty(c, i);
    *out = c;
    *corpus = NULL;
}

/* ---- two files ------------------------------------------------------------------------------ */

static rgm_status read_side(side *s, const char *path, const rgm_line_options *options)
{
    rgm_line_reader *reader;
    rgm_status status;
    rgm_str line;

    RGM_TRY(rgm_path_refuse_pipe(path)); /* a corpus is read again by the next start */
    RGM_TRY(rgm_line_reader_open(&reader, path, options));
    while ((status = rgm_line_reader_next(&line, reader)) == RGM_OK)
        RGM_GO(side_add(s, line));
done:
    rgm_line_reader_close(reader);
    return status == RGM_END ? RGM_OK : status;
}

rgm_status rgm_corpus_load(rgm_corpus **out, const char *source, const char *target,
                           const rgm_line_options *options)
{
    rgm_status status = RGM_OK;
    rgm_corpus *corpus;
    int64_t counts[2];

    *out = NULL;
    RGM_GO(rgm_corpus_create(&corpus, target != NULL));
    RGM_GO(read_side(&corpus->sides[0], source, options));
    if (target != NULL) {
        RGM_GO(read_side(&corpus->sides[1], target, options));
        counts[0] = corpus->sides[0].count;
        counts[1] = corpus->sides[1].count;
        if (counts[0] != counts[1])
            RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                            "%s has %lld lines and %s has %lld: they must be aligned line by line; "
                            "%s is short, its line %lld is missing",
                            source, (long long)counts[0], target, (long long)counts[1],
                            counts[0] < counts[1] ? source : target,
                            (long long)(counts[0] < counts[1] ? counts[0] : counts[1]) + 1));
    }
    corpus_finish(out, &corpus);
done:
    rgm_corpus_release(corpus);
    return status;
}

/* ---- tab-separated --------------------------------------------------------------------------- */

static rgm_status add_row(rgm_corpus *corpus, rgm_str line, const char *path, int64_t number)
{
    const char *tab = memchr(line.data, '\t', (size_t)line.size);
    int64_t fields = 1;

    for (int64_t i = 0; i < line.size; i++)
        fields += line.data[i] == '\t';
    if (fields != 2)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s:%lld: %lld fields between tabs; a pair is a source and a target", path,
                        (long long)number, (long long)fields);
    RGM_TRY(side_add(&corpus->sides[0], (rgm_str){line.data, tab - line.data}));
    return side_add(&corpus->sides[1], (rgm_str){tab + 1, line.size - (tab + 1 - line.data)});
}

rgm_status rgm_corpus_load_tsv(rgm_corpus **out, const char *path, const rgm_line_options *options)
{
    rgm_status status = RGM_OK;
    rgm_corpus *corpus = NULL;
    rgm_line_reader *reader = NULL;
    rgm_str line;

    *out = NULL;
    RGM_GO(rgm_corpus_create(&corpus, true));
    RGM_GO(rgm_path_refuse_pipe(path));
    RGM_GO(rgm_line_reader_open(&reader, path, options));
    while ((status = rgm_line_reader_next(&line, reader)) == RGM_OK)
        RGM_GO(add_row(corpus, line, path, rgm_line_reader_line(reader)));
    if (status != RGM_END)
        goto done;
    status = RGM_OK;
    corpus_finish(out, &corpus);
done:
    rgm_line_reader_close(reader);
    rgm_corpus_release(corpus);
    return status;
}

/* ---- TFRecords ------------------------------------------------------------------------------- */

static rgm_status add_feature(side *s, const rgm_example *example, const char *key, int64_t most)
{
    const rgm_example_field *field = rgm_example_find(example, key);
    rgm_str text;
    int64_t bad;

    if (field == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "the example has no feature '%s'", key);
    if (field->kind != RGM_FEATURE_BYTES || field->count != 1)
        return RGM_FAIL(RGM_ERR_DATA, "feature '%s' is not one text", key);
    text = field->bytes[0];
    bad = rgm_utf8_check(text.data, text.size);
    if (text.size > most)
        return RGM_FAIL(RGM_ERR_FORMAT, "feature '%s' has %lld bytes, more than %lld", key,
                        (long long)text.size, (long long)most);
    if (bad >= 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "feature '%s' is not UTF-8 at byte %lld", key,
                        (long long)bad);
    if (memchr(text.data, 0, (size_t)text.size) != NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "feature '%s' has a zero byte", key);
    return side_add(s, text);
}

static rgm_status read_records(rgm_corpus *corpus, rgm_example *example, const char *path,
                               const char *const keys[2], int64_t most)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_reader *reader;
    const uint8_t *data;
    int64_t size;

    RGM_TRY(rgm_tfrecord_reader_open(&reader, path, NULL));
    while ((status = rgm_tfrecord_reader_next(&data, &size, reader)) == RGM_OK) {
        status = rgm_example_decode(example, data, size);
        for (int i = 0; status == RGM_OK && i < 1 + corpus->has_target; i++)
            status = add_feature(&corpus->sides[i], example, keys[i], most);
        if (status != RGM_OK) {
            rgm_error_prefix(status, "%s: record %lld", path,
                             (long long)rgm_tfrecord_reader_record(reader) - 1);
            break;
        }
    }
    rgm_tfrecord_reader_close(reader);
    return status == RGM_END ? RGM_OK : status;
}

rgm_status rgm_corpus_load_tfrecords(rgm_corpus **out, const char *pattern, const char *source_key,
                                     const char *target_key, const rgm_line_options *options)
{
    static const rgm_line_options usual = RGM_LINE_OPTIONS_INIT;
    const char *const keys[2] = {source_key, target_key};
    rgm_status status = RGM_OK;
    rgm_corpus *corpus = NULL;
    rgm_example *example = NULL;
    char **paths = NULL;
    int64_t count = 0;

    *out = NULL;
    options = options != NULL ? options : &usual;
    RGM_GO(rgm_corpus_create(&corpus, target_key != NULL));
    RGM_GO(rgm_example_create(&example));
    RGM_GO(rgm_tfrecord_paths(&paths, &count, pattern));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(read_records(corpus, example, paths[i], keys, options->max_line_bytes));
    corpus_finish(out, &corpus);
done:
    rgm_names_release(paths, count);
    rgm_example_release(example);
    rgm_corpus_release(corpus);
    return status;
}

/* ---- several ----------------------------------------------------------------------------------
 */

static rgm_status side_join(side *to, const side *from)
{
    int64_t before = to->text.size;

    RGM_TRY(rgm_text_add(&to->text, from->text.data, from->text.size));
    RGM_TRY(RGM_RESERVE(to->ends, to->capacity, to->count + from->count));
    for (int64_t i = 0; i < from->count; i++)
        to->ends[to->count++] = before + from->ends[i];
    return RGM_OK;
}

rgm_status rgm_corpus_join(rgm_corpus **out, rgm_corpus *const *corpora, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_corpus *whole;

    *out = NULL;
    RGM_TRY(rgm_corpus_create(&whole, count > 0 && corpora[0]->has_target));
    for (int64_t i = 0; i < count; i++) {
        if (corpora[i]->has_target != whole->has_target)
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "corpus %lld has %s targets, those before it have %s",
                            (long long)i, corpora[i]->has_target ? "" : "no",
                            whole->has_target ? "some" : "none"));
        for (int k = 0; k < 2; k++)
            RGM_GO(side_join(&whole->sides[k], &corpora[i]->sides[k]));
    }
    corpus_finish(out, &whole);
done:
    rgm_corpus_release(whole);
    return status;
}

/* ---- what is in it --------------------------------------------------------------------------- */

int64_t rgm_corpus_count(const rgm_corpus *corpus)
{
    return corpus->sides[0].count;
}

bool rgm_corpus_has_target(const rgm_corpus *corpus)
{
    return corpus->has_target;
}

int64_t rgm_corpus_empty(const rgm_corpus *corpus)
{
    return corpus->empty;
}

rgm_str rgm_corpus_source(const rgm_corpus *corpus, int64_t i)
{
    return side_get(&corpus->sides[0], i);
}

rgm_str rgm_corpus_target(const rgm_corpus *corpus, int64_t i)
{
    return corpus->has_target ? side_get(&corpus->sides[1], i) : (rgm_str){"", 0};
}
