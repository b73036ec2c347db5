/*
 * Lines and pairs of lines: what ends a line, what is refused and where, and that two files never
 * shift against each other.
 */
#include <check.h>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <regimen/text.h>

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

/** A file of these bytes; the path stays good. */
static const char *file(const char *name, const char *data, size_t size)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    int fd;

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    return path;
}
#define FILE_OF(name, text) file(name, text, sizeof(text) - 1)

/** All lines of a file, each in brackets; an error's message behind. */
static char *lines_of(const char *path)
{
    rgm_line_reader *reader;
    rgm_text out = {0};
    rgm_str line;
    rgm_status status;

    CHECK_OK(rgm_text_add(&out, "", 0));
    CHECK_OK(rgm_line_reader_open(&reader, path, NULL));
    while ((status = rgm_line_reader_next(&line, reader)) == RGM_OK)
        CHECK_OK(rgm_text_printf(&out, "[%.*s]", (int)line.size, line.data));
    if (status < 0)
        CHECK_OK(rgm_text_printf(&out, " %s", strrchr(rgm_error_message(), '/') + 1));
    rgm_line_reader_close(reader);
    return out.data;
}

static void a_line_ends_with_lf_or_crlf_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *want;
    } cases[] = {
#define CASE(text, want) {text, sizeof(text) - 1, want}
        CASE("", ""),
        CASE("a", "[a]"),
        CASE("a\n", "[a]"),
        CASE("\n", "[]"),
        CASE("a\n\nb\n\n", "[a][][b][]"),
        CASE("a\r\nb\r\n\r\n", "[a][b][]"),
        CASE("a\rb\n", "[a\rb]"),
        CASE("a\r", "[a\r]"),
        CASE("a\xe2\x80\xa8"
             "b\xc2\x85"
             "c\x0b\x0c\n",
             "[a\xe2\x80\xa8"
             "b\xc2\x85"
             "c\x0b\x0c]"),
        CASE("\xef\xbb\xbf"
             "a\n\xef\xbb\xbf"
             "b\n",
             "[a][\xef\xbb\xbf"
             "b]"),
        CASE("\xef\xbb\xbf", ""),
        CASE("a\nb\xff\n", "[a] c:2:2: not UTF-8"),
        CASE("\xc0\xaf\n", " c:1:1: not UTF-8"),
        CASE("a\nb\nxy\0z\n", "[a][b] c:3:3: a zero byte in text"),
        CASE("\xff\xfe"
             "a\0\n\0",
             " c:1:4: a zero byte in text"),
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = lines_of(file("c", cases[i].text, cases[i].size));
        CHECK_TEXT(cases[i].want, got);
        rgm_free(got);
    }
}

static void a_line_of_100_megabytes_is_refused_and_never_held(void **state)
{
    (void)state;
    char *block = malloc(1 << 20);
    const char *path = FILE_OF("long.gz", "");
    gzFile gz = gzopen(path, "wb1");
    rgm_line_reader *reader;
    rgm_str line;

    memset(block, 'x', 1 << 20);
    CHECK(gzputs(gz, "short\n") == 6);
    for (int i = 0; i < 100; i++)
        CHECK(gzwrite(gz, block, 1 << 20) == 1 << 20);
    CHECK(gzclose(gz) == Z_OK);
    free(block);
    rgm_memory_reset_peak();
    CHECK_OK(rgm_line_reader_open(&reader, path, NULL));
    CHECK_OK(rgm_line_reader_next(&line, reader));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_line_reader_next(&line, reader));
    CHECK_MESSAGE("long.gz:2:1: the line has more than 1048576 bytes");
    CHECK(rgm_memory_peak() < 4 << 20);
    rgm_line_reader_close(reader);
    CHECK_OK(rgm_line_reader_open(&reader, path, &(rgm_line_options){.max_line_bytes = 5}));
    CHECK_OK(rgm_line_reader_next(&line, reader));
    CHECK_INT(5, line.size);
    rgm_line_reader_close(reader);
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_line_reader_open(&reader, path, &(rgm_line_options){.max_line_bytes = 0}));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_line_reader_open(&reader, "/no/such/file", NULL));
}

static void check_pair(const rgm_corpus *corpus, int64_t i, const char *source, const char *target)
{
    rgm_str s = rgm_corpus_source(corpus, i), t = rgm_corpus_target(corpus, i);

    CHECK(s.size == (int64_t)strlen(source) && memcmp(s.data, source, strlen(source)) == 0);
    CHECK(t.size == (int64_t)strlen(target) && memcmp(t.data, target, strlen(target)) == 0);
}

static void aligned_files_and_tab_separated_ones_make_the_same_pairs(void **state)
{
    (void)state;
    const char *source = FILE_OF("a.de", "Ein Hund.\n\nZwei\n");
    const char *target = FILE_OF("a.en", "\xef\xbb\xbf"
                                         "A dog.\r\nNothing\r\n");
    const char *longer = FILE_OF("b.en", "A dog.\nNothing\nTwo");
    const char *tsv = FILE_OF("a.tsv", "Ein Hund.\tA dog.\n\tNothing\nZwei\tTwo\n");
    rgm_corpus *corpus;

    CHECK_STATUS(RGM_ERR_DATA, rgm_corpus_load(&corpus, source, target, NULL));
    CHECK(corpus == NULL);
    CHECK_MESSAGE("a.de has 3 lines and ");
    CHECK_MESSAGE("a.en has 2: they must be aligned line by line; ");
    CHECK_MESSAGE("a.en is short, its line 3 is missing");
    CHECK_STATUS(RGM_ERR_DATA, rgm_corpus_load(&corpus, target, source, NULL));
    CHECK_MESSAGE("a.en is short, its line 3 is missing");
    for (int way = 0; way < 2; way++) {
        CHECK_OK(way == 0 ? rgm_corpus_load(&corpus, source, longer, NULL)
                          : rgm_corpus_load_tsv(&corpus, tsv, NULL));
        CHECK_INT(3, rgm_corpus_count(corpus));
        CHECK_INT(1, rgm_corpus_empty(corpus));
        CHECK(rgm_corpus_has_target(corpus));
        check_pair(corpus, 0, "Ein Hund.", "A dog.");
        check_pair(corpus, 1, "", "Nothing");
        check_pair(corpus, 2, "Zwei", "Two");
        rgm_corpus_release(corpus);
    }
    CHECK_OK(rgm_corpus_load(&corpus, source, NULL, NULL));
    CHECK(!rgm_corpus_has_target(corpus));
    check_pair(corpus, 2, "Zwei", "");
    rgm_corpus_release(corpus);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_corpus_load_tsv(&corpus, source, NULL));
    CHECK_MESSAGE("a.de:1: 1 fields between tabs");
    CHECK_STATUS(RGM_ERR_FORMAT,
                 rgm_corpus_load_tsv(&corpus, FILE_OF("b.tsv", "a\tb\na\tb\tc\n"), NULL));
    CHECK_MESSAGE("b.tsv:2: 3 fields between tabs");
    CHECK_EVERY_OOM(rgm_corpus_load(&corpus, source, longer, NULL), rgm_corpus_release(corpus));
    CHECK_EVERY_OOM(rgm_corpus_load_tsv(&corpus, tsv, NULL), rgm_corpus_release(corpus));
}

/** One record; `extra` values of the target beside the first. */
static void write_record(rgm_tfrecord_writer *writer, rgm_str source, rgm_str target, int extra)
{
    rgm_str targets[2] = {target, target};
    rgm_example_field fields[2] = {
        {.key = {"de", 2}, .kind = RGM_FEATURE_BYTES, .count = 1, .bytes = &source},
        {.key = {"en", 2}, .kind = RGM_FEATURE_BYTES, .count = 1 + extra, .bytes = targets}};
    rgm_text record = {0};

    CHECK_OK(rgm_example_encode(&record, fields, 2));
    CHECK_OK(rgm_tfrecord_writer_add(writer, record.data, record.size));
    rgm_text_clear(&record);
}

static void records_make_pairs_by_their_keys(void **state)
{
    (void)state;
    const char *path = FILE_OF("pairs.tfrecord", "");
    rgm_tfrecord_writer *writer;
    rgm_corpus *corpus;

    CHECK_OK(rgm_tfrecord_writer_open(&writer, path, NULL));
    write_record(writer, (rgm_str){"Ein Hund.", 9}, (rgm_str){"A dog.", 6}, 0);
    write_record(writer, (rgm_str){"Zwei", 4}, (rgm_str){"", 0}, 0);
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    CHECK_OK(rgm_corpus_load_tfrecords(&corpus, path, "de", "en", NULL));
    CHECK_INT(2, rgm_corpus_count(corpus));
    CHECK_INT(1, rgm_corpus_empty(corpus));
    check_pair(corpus, 0, "Ein Hund.", "A dog.");
    check_pair(corpus, 1, "Zwei", "");
    rgm_corpus_release(corpus);

    CHECK_STATUS(RGM_ERR_DATA, rgm_corpus_load_tfrecords(&corpus, path, "de", "fr", NULL));
    CHECK_MESSAGE("pairs.tfrecord: record 0: the example has no feature 'fr'");
    CHECK_OK(rgm_tfrecord_writer_open(&writer, path, NULL));
    write_record(writer, (rgm_str){"a", 1}, (rgm_str){"b", 1}, 0);
    write_record(writer, (rgm_str){"a\0b", 3}, (rgm_str){"b\xff", 2}, 1);
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    CHECK_STATUS(RGM_ERR_DATA, rgm_corpus_load_tfrecords(&corpus, path, "en", NULL, NULL));
    CHECK_MESSAGE("record 1: feature 'en' is not one text");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_corpus_load_tfrecords(&corpus, path, "de", NULL, NULL));
    CHECK_MESSAGE("record 1: feature 'de' has a zero byte");
    CHECK_EVERY_OOM(rgm_corpus_load_tfrecords(&corpus, path, "de", "en",
                                              &(rgm_line_options){.max_line_bytes = 2}) ==
                            RGM_ERR_NOMEM
                        ? RGM_ERR_NOMEM
                        : RGM_OK,
                    (void)0);
}

TESTS(cmocka_unit_test(a_line_ends_with_lf_or_crlf_and_nothing_else),
      cmocka_unit_test(a_line_of_100_megabytes_is_refused_and_never_held),
      cmocka_unit_test(aligned_files_and_tab_separated_ones_make_the_same_pairs),
      cmocka_unit_test(records_make_pairs_by_their_keys))
