/*
 * TFRecord files: known bytes, every byte flipped, every prefix cut, the budget for bad records,
 * seeking, shards, and that no half-written file is ever left.
 */
#include <check.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <regimen/data.h>

/* Made by another program: the record "hello". */
static const uint8_t hello[] = {0x05, 0,   0,   0,   0,   0,   0,    0,    0xea, 0xb2, 0x04,
                                0x3e, 'h', 'e', 'l', 'l', 'o', 0xbb, 0x1f, 0x1c, 0x19};

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

/** A path in this program's folder; good for four calls. */
static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void put_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0);
    CHECK(write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/** Records 0..count-1; record i has `size` + i bytes of value i. */
static void write_records(const char *path, int64_t count, int64_t size, bool gzip)
{
    rgm_tfrecord_writer *writer;
    rgm_tfrecord_writer_options options = {.gzip = gzip};
    uint8_t *data = malloc((size_t)(size + count));

    CHECK_OK(rgm_tfrecord_writer_open(&writer, path, &options));
    for (int64_t i = 0; i < count; i++) {
        memset(data, (int)i & 0xff, (size_t)(size + i));
        CHECK_OK(rgm_tfrecord_writer_add(writer, data, size + i));
    }
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    free(data);
}

static void check_record(rgm_tfrecord_reader *reader, int64_t i, int64_t size)
{
    const uint8_t *data;
    int64_t got;

    CHECK_OK(rgm_tfrecord_reader_next(&data, &got, reader));
    CHECK_INT(size + i, got);
    for (int64_t b = 0; b < got; b++)
        CHECK_INT(i & 0xff, data[b]);
}

static void a_file_of_another_program_is_read_and_written_alike(void **state)
{
    (void)state;
    rgm_tfrecord_reader *reader;
    rgm_tfrecord_writer *writer;
    const uint8_t *data;
    int64_t size;
    char *bytes;

    put_file(in_folder("hello"), hello, sizeof hello);
    CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("hello"), NULL));
    CHECK_OK(rgm_tfrecord_reader_next(&data, &size, reader));
    CHECK_INT(5, size);
    CHECK(memcmp(data, "hello", 5) == 0);
    CHECK_STATUS(RGM_END, rgm_tfrecord_reader_next(&data, &size, reader));
    CHECK_STATUS(RGM_END, rgm_tfrecord_reader_next(&data, &size, reader));
    rgm_tfrecord_reader_close(reader);

    CHECK_OK(rgm_tfrecord_writer_open(&writer, in_folder("again"), NULL));
    CHECK_OK(rgm_tfrecord_writer_add(writer, "hello", 5));
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    CHECK_OK(rgm_file_load(&bytes, &size, in_folder("again"), 1000));
    CHECK_INT(sizeof hello, size);
    CHECK(memcmp(bytes, hello, sizeof hello) == 0);
    rgm_free(bytes);
}

static void records_of_all_sizes_come_back(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 100, 4096, 262144 - 16, 262144, 300000};

    for (int gzip = 0; gzip < 2; gzip++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            rgm_tfrecord_reader *reader;
            const uint8_t *data;
            int64_t size;
            write_records(in_folder("sizes"), 20, sizes[s], gzip);
            CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("sizes"), NULL));
            for (int64_t i = 0; i < 20; i++) {
                CHECK_INT(i, rgm_tfrecord_reader_record(reader));
                check_record(reader, i, sizes[s]);
            }
            CHECK_STATUS(RGM_END, rgm_tfrecord_reader_next(&data, &size, reader));
            rgm_tfrecord_reader_close(reader);
        }
    }
}

static void gzip_members_one_after_the_other_are_one_file(void **state)
{
    (void)state;
    char *one;
    char *twice;
    int64_t size;
    rgm_tfrecord_reader *reader;
    const uint8_t *data;
    int64_t got;

    write_records(in_folder("member"), 3, 10, true);
    CHECK_OK(rgm_file_load(&one, &size, in_folder("member"), 1 << 20));
    twice = malloc((size_t)(2 * size + 7));
    memcpy(twice, one, (size_t)size);
    memcpy(twice + size, one, (size_t)size);
    memset(twice + 2 * size, 0, 7); /* padding, as tar leaves it */
    put_file(in_folder("members"), twice, (size_t)(2 * size + 7));
    CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("members"), NULL));
    for (int64_t i = 0; i < 6; i++)
        check_record(reader, i % 3, 10);
    CHECK_STATUS(RGM_END, rgm_tfrecord_reader_next(&data, &got, reader));
    rgm_tfrecord_reader_close(reader);
    rgm_free(one);
    free(twice);
}

/* A file as tf.data writes it with compression_type ZLIB. */
static void zlib_streams_are_read(void **state)
{
    (void)state;
    static const int levels[] = {1, 6, 9}; /* 78 01, 78 9c, 78 da */
    rgm_tfrecord_reader *reader;
    const uint8_t *data;
    char *plain;
    int64_t size, got;

    write_records(in_folder("plain"), 20, 5000, false);
    CHECK_OK(rgm_file_load(&plain, &size, in_folder("plain"), 1 << 20));
    for (int i = 0; i < 3; i++) {
        uLongf packed = compressBound((uLong)size);
        uint8_t *to = malloc(packed);

        CHECK_INT(Z_OK, compress2(to, &packed, (const uint8_t *)plain, (uLong)size, levels[i]));
        put_file(in_folder("zlib"), to, packed);
        CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("zlib"), NULL));
        for (int64_t k = 0; k < 20; k++)
            check_record(reader, k, 5000);
        CHECK_STATUS(RGM_END, rgm_tfrecord_reader_next(&data, &got, reader));
        rgm_tfrecord_reader_close(reader);
        put_file(in_folder("zlib"), to, packed - 20);
        CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("zlib"), NULL));
        for (int64_t k = 0; (got = rgm_tfrecord_reader_next(&data, &got, reader)) == RGM_OK; k++)
            CHECK(k < 20);
        CHECK_INT(RGM_ERR_FORMAT, got);
        CHECK_MESSAGE("zlib: the file is cut short");
        rgm_tfrecord_reader_close(reader);
        free(to);
    }
    rgm_free(plain);
}

static void seeking_finds_every_record(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        rgm_tfrecord_reader *reader;
        int64_t offset[31];

        write_records(in_folder("seek"), 30, 20000, gzip);
        CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("seek"), NULL));
        for (int64_t i = 0; i < 30; i++) {
            offset[i] = rgm_tfrecord_reader_offset(reader);
            check_record(reader, i, 20000);
        }
        for (int64_t i = 29; i >= 0; i -= 7) {
            CHECK_OK(rgm_tfrecord_reader_seek(reader, offset[i], i));
            check_record(reader, i, 20000);
            CHECK_INT(i + 1, rgm_tfrecord_reader_record(reader));
        }
        CHECK_OK(rgm_tfrecord_reader_seek(reader, offset[3], 3));
        CHECK_OK(rgm_tfrecord_reader_seek(reader, offset[20], 20));
        check_record(reader, 20, 20000);
        CHECK_STATUS(RGM_ERR_DATA, rgm_tfrecord_reader_seek(reader, 10000000, 99));
        rgm_tfrecord_reader_close(reader);
    }
}

/** Read a file to its end; how many records were sound, how many errors, all with file and place.
 */
static void read_all(const char *path, int64_t budget, int *sound, int *errors)
{
    rgm_tfrecord_reader *reader;
    rgm_tfrecord_options options = RGM_TFRECORD_OPTIONS_INIT;
    rgm_status status = RGM_OK;

    *sound = *errors = 0;
    options.max_bad_records = budget;
    CHECK_OK(rgm_tfrecord_reader_open(&reader, path, &options));
    for (int i = 0; i < 100 && status != RGM_END; i++) {
        const uint8_t *data;
        int64_t size;
        status = rgm_tfrecord_reader_next(&data, &size, reader);
        CHECK(status == RGM_OK || status == RGM_END || status == RGM_ERR_FORMAT);
        *sound += status == RGM_OK;
        if (status < 0) {
            CHECK_MESSAGE(path);
            CHECK_MESSAGE("record ");
            CHECK_MESSAGE(" at byte ");
            ++*errors;
            if (*errors == 5)
                break;
        }
    }
    rgm_tfrecord_reader_close(reader);
}

static void every_flipped_byte_is_found_and_skipped_within_the_budget(void **state)
{
    (void)state;
    const char *path = in_folder("flipped");
    char *bytes;
    int64_t size;

    write_records(in_folder("whole"), 3, 9, false);
    CHECK_OK(rgm_file_load(&bytes, &size, in_folder("whole"), 10000));
    for (int64_t i = 0; i < size; i++) {
        int sound, errors;
        bytes[i] ^= (char)(1 << i % 8);
        put_file(path, bytes, (size_t)size);
        read_all(path, 0, &sound, &errors);
        CHECK(errors > 0 && sound <= 2);
        read_all(path, 1, &sound, &errors);
        CHECK_INT(0, errors);
        CHECK_INT(2, sound);
        bytes[i] ^= (char)(1 << i % 8);
    }
    rgm_free(bytes);
}

static void every_cut_prefix_is_found(void **state)
{
    (void)state;
    const char *path = in_folder("cut");

    for (int gzip = 0; gzip < 2; gzip++) {
        char *bytes;
        int64_t size, ends[] = {0, 25, 51, 78};
        write_records(in_folder("whole"), 3, 9, gzip);
        CHECK_OK(rgm_file_load(&bytes, &size, in_folder("whole"), 10000));
        for (int64_t cut = 0; cut < size; cut++) {
            bool whole = false;
            int sound, errors;
            put_file(path, bytes, (size_t)cut);
            if (gzip) {
                rgm_tfrecord_reader *reader;
                const uint8_t *data;
                int64_t got;
                rgm_status status = rgm_tfrecord_reader_open(&reader, path, NULL);
                for (int i = 0; i < 4 && status == RGM_OK; i++)
                    status = rgm_tfrecord_reader_next(&data, &got, reader);
                CHECK(cut == 0 ? status == RGM_END : status == RGM_ERR_FORMAT);
                rgm_tfrecord_reader_close(reader);
                continue;
            }
            for (int i = 0; i < 4; i++)
                whole = whole || ends[i] == cut;
            read_all(path, 0, &sound, &errors);
            CHECK((errors == 0) == whole);
            read_all(path, 1, &sound, &errors);
            CHECK_INT(0, errors);
            CHECK_INT((cut >= 25) + (cut >= 51), sound);
        }
        rgm_free(bytes);
    }
}

static void the_message_names_file_record_and_byte(void **state)
{
    (void)state;
    char *bytes, want[400];
    int64_t size;
    rgm_tfrecord_reader *reader;
    const uint8_t *data;
    const char *path = in_folder("message");

    write_records(path, 3, 9, false);
    CHECK_OK(rgm_file_load(&bytes, &size, path, 10000));
    bytes[25 + 14] ^= 1; /* in the second record's data */
    put_file(path, bytes, (size_t)size);
    CHECK_OK(rgm_tfrecord_reader_open(&reader, path, NULL));
    check_record(reader, 0, 9);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tfrecord_reader_next(&data, &size, reader));
    snprintf(want, sizeof want, "%s: record 1 at byte 25: the CRC of its 10 bytes is wrong", path);
    CHECK_TEXT(want, rgm_error_message());
    check_record(reader, 2, 9); /* the reader goes on behind it */
    rgm_tfrecord_reader_close(reader);
    rgm_free(bytes);
}

static void a_length_that_lies_costs_no_memory(void **state)
{
    (void)state;
    uint8_t head[12], tail[4];
    rgm_tfrecord_reader *reader;
    const uint8_t *data;
    int64_t size;
    uint64_t length = (uint64_t)1 << 29;
    uint32_t crc;

    rgm_tfrecord_frame(head, tail, "", 0);
    memcpy(head, &length, 8);
    crc = rgm_crc32c(0, head, 8);
    crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
    memcpy(head + 8, &crc, 4);
    put_file(in_folder("liar"), head, sizeof head);
    rgm_memory_reset_peak();
    CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("liar"), NULL));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tfrecord_reader_next(&data, &size, reader));
    CHECK_MESSAGE("should have 536870912 bytes, but the file ends after 0");
    CHECK(rgm_memory_peak() - rgm_memory_used() < 4 << 20);
    rgm_tfrecord_reader_close(reader);
    length = (uint64_t)1 << 62;
    memcpy(head, &length, 8);
    crc = rgm_crc32c(0, head, 8);
    crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
    memcpy(head + 8, &crc, 4);
    put_file(in_folder("liar"), head, sizeof head);
    CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("liar"), NULL));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tfrecord_reader_next(&data, &size, reader));
    CHECK_MESSAGE("over max_record_bytes 1073741824");
    rgm_tfrecord_reader_close(reader);
}

/* 116 KB of gzip were a record of 119 MB, and took 535 MB until it was a graph. */
static void a_record_packed_too_well_is_refused(void **state)
{
    (void)state;
    enum { SIZE = 100 << 20 };
    rgm_tfrecord_writer_options options = {.gzip = true};
    rgm_tfrecord_writer *writer;
    rgm_tfrecord_reader *reader;
    const uint8_t *data;
    uint8_t *zeros = calloc(SIZE, 1);
    int64_t size;

    for (int many = 0; many < 2; many++) { /* one of 100 MiB; small ones are streamed */
        CHECK_OK(rgm_tfrecord_writer_open(&writer, in_folder("packed"), &options));
        for (int i = 0; i < (many ? 400 : 1); i++)
            CHECK_OK(rgm_tfrecord_writer_add(writer, zeros, many ? SIZE / 400 : SIZE));
        CHECK_OK(rgm_tfrecord_writer_finish(writer));
        rgm_tfrecord_writer_close(writer);
        rgm_memory_reset_peak();
        CHECK_OK(rgm_tfrecord_reader_open(&reader, in_folder("packed"), NULL));
        for (int i = 0; i < (many ? 400 : 0); i++)
            CHECK_OK(rgm_tfrecord_reader_next(&data, &size, reader));
        if (!many) {
            CHECK_STATUS(RGM_ERR_FORMAT, rgm_tfrecord_reader_next(&data, &size, reader));
            CHECK_MESSAGE("packed: gzip: ");
        }
        rgm_tfrecord_reader_close(reader);
        CHECK(rgm_memory_peak() < 64 << 20);
    }
    free(zeros);
}

static void shards_take_turns_and_appear_together(void **state)
{
    (void)state;
    char **paths;
    int64_t count;

    write_records(in_folder("data@3"), 8, 5, false);
    CHECK_OK(rgm_tfrecord_paths(&paths, &count, in_folder("data@3")));
    CHECK_INT(3, count);
    CHECK_TEXT(in_folder("data-00002-of-00003"), paths[2]);
    for (int64_t s = 0; s < 3; s++) {
        rgm_tfrecord_reader *reader;
        const uint8_t *data;
        int64_t size;
        CHECK_OK(rgm_tfrecord_reader_open(&reader, paths[s], NULL));
        for (int64_t i = s; i < 8; i += 3)
            check_record(reader, i, 5);
        CHECK_STATUS(RGM_END, rgm_tfrecord_reader_next(&data, &size, reader));
        rgm_tfrecord_reader_close(reader);
    }
    rgm_names_release(paths, count);
    CHECK_OK(rgm_tfrecord_paths(&paths, &count, in_folder("data-*")));
    CHECK_INT(3, count);
    rgm_names_release(paths, count);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_tfrecord_paths(&paths, &count, in_folder("data@4")));
    CHECK_MESSAGE("data-00000-of-00004 does not exist");
    CHECK_STATUS(RGM_ERR_ARG, rgm_tfrecord_paths(&paths, &count, in_folder("data@0")));
}

static void put(const char *name)
{
    CHECK_OK(rgm_file_save(in_folder(name), "", 0));
}

static void records_of_a_folder_are_whole_or_refused(void **state)
{
    char **paths;
    int64_t count;

    (void)state;
    CHECK_OK(rgm_folder_make(in_folder("set")));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_tfrecord_folder(&paths, &count, in_folder("set"), "a-"));
    CHECK_MESSAGE("no file matches '");
    put("set/a-00002-of-00003.tfrecord");
    put("set/a-00000-of-00003.tfrecord");
    CHECK_STATUS(RGM_ERR_DATA, rgm_tfrecord_folder(&paths, &count, in_folder("set"), "a-"));
    CHECK_MESSAGE("set/a-00001-of-00003.tfrecord is not there: 2 of its 3 files are; copy it");
    CHECK(paths == NULL && count == 0);
    put("set/a-00001-of-00003.tfrecord");
    put("set/b-00000-of-00001.tfrecord"); /* shards of another name, and a file of its own */
    put("set/b.tfrecord");
    CHECK_OK(rgm_tfrecord_folder(&paths, &count, in_folder("set"), "a-"));
    CHECK_INT(3, count);
    CHECK(strstr(paths[2], "set/a-00002-of-00003.tfrecord") != NULL);
    rgm_names_release(paths, count);
    CHECK_EVERY_OOM(rgm_tfrecord_folder(&paths, &count, in_folder("set"), ""),
                    rgm_names_release(paths, count));
    put("set/a-00000-of-00002.tfrecord");
    CHECK_STATUS(RGM_ERR_DATA, rgm_tfrecord_folder(&paths, &count, in_folder("set"), ""));
    CHECK_MESSAGE("a-00000-of-00002.tfrecord and a-00000-of-00003.tfrecord are of two writings");
    put("set/b-00000-of-00001.tfrecord.gz");
    CHECK_STATUS(RGM_ERR_DATA, rgm_tfrecord_folder(&paths, &count, in_folder("set"), "b-"));
    CHECK_MESSAGE("b-00000-of-00001.tfrecord and b-00000-of-00001.tfrecord.gz: which are meant");
}

static void a_writer_that_does_not_finish_leaves_nothing(void **state)
{
    (void)state;
    rgm_tfrecord_writer *writer;
    char **names;
    int64_t count;
    const char *inner = in_folder("unfinished");

    CHECK_OK(rgm_folder_make(inner));
    CHECK_OK(rgm_tfrecord_writer_open(&writer, in_folder("unfinished/a@2"), NULL));
    CHECK_OK(rgm_tfrecord_writer_add(writer, "x", 1));
    CHECK(!rgm_path_exists(in_folder("unfinished/a-00000-of-00002")));
    rgm_tfrecord_writer_close(writer);
    CHECK_OK(rgm_folder_list(&names, &count, inner));
    CHECK_INT(0, count);
    rgm_names_release(names, count);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_tfrecord_writer_open(&writer, in_folder("no/such/a"), NULL));
    CHECK(writer == NULL);
}

static void a_missing_file_and_a_folder_are_named(void **state)
{
    (void)state;
    rgm_tfrecord_reader *reader;
    rgm_tfrecord_writer *writer;

    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_tfrecord_reader_open(&reader, "/no/such/file", NULL));
    CHECK_MESSAGE("/no/such/file: No such file");
    CHECK_STATUS(RGM_ERR_IO, rgm_tfrecord_reader_open(&reader, "/tmp", NULL));
    CHECK_MESSAGE("/tmp: is a folder");
    CHECK(reader == NULL);
    CHECK_STATUS(RGM_ERR_IO,
                 rgm_tfrecord_writer_open(&writer, "/dev/null", NULL)); /* not to be replaced */
    CHECK_MESSAGE("is no file that could be replaced");
}

static rgm_status read_whole(const char *path)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_reader *reader;
    const uint8_t *data;
    int64_t size;

    RGM_GO(rgm_tfrecord_reader_open(&reader, path, NULL));
    while ((status = rgm_tfrecord_reader_next(&data, &size, reader)) == RGM_OK)
        ;
done:
    rgm_tfrecord_reader_close(reader);
    return status == RGM_END ? RGM_OK : status;
}

static rgm_status write_whole(const char *path, bool gzip)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_writer *writer;
    rgm_tfrecord_writer_options options = {gzip};

    RGM_GO(rgm_tfrecord_writer_open(&writer, path, &options));
    RGM_GO(rgm_tfrecord_writer_add(writer, "x", 1));
    RGM_GO(rgm_tfrecord_writer_finish(writer));
done:
    rgm_tfrecord_writer_close(writer);
    return status;
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    char **paths;
    int64_t count;

    CHECK_EVERY_OOM(write_whole(in_folder("oom@2"), false), (void)0);
    CHECK_EVERY_OOM(write_whole(in_folder("oom.gz"), true), (void)0);
    CHECK_EVERY_OOM(read_whole(in_folder("oom-00000-of-00002")), (void)0);
    CHECK_EVERY_OOM(read_whole(in_folder("oom.gz")), (void)0);
    CHECK_EVERY_OOM(rgm_tfrecord_paths(&paths, &count, in_folder("oom@2")),
                    rgm_names_release(paths, count));
}

TESTS(cmocka_unit_test(a_file_of_another_program_is_read_and_written_alike),
      cmocka_unit_test(records_of_all_sizes_come_back),
      cmocka_unit_test(gzip_members_one_after_the_other_are_one_file),
      cmocka_unit_test(zlib_streams_are_read), cmocka_unit_test(seeking_finds_every_record),
      cmocka_unit_test(every_flipped_byte_is_found_and_skipped_within_the_budget),
      cmocka_unit_test(every_cut_prefix_is_found),
      cmocka_unit_test(the_message_names_file_record_and_byte),
      cmocka_unit_test(a_length_that_lies_costs_no_memory),
      cmocka_unit_test(a_record_packed_too_well_is_refused),
      cmocka_unit_test(shards_take_turns_and_appear_together),
      cmocka_unit_test(records_of_a_folder_are_whole_or_refused),
      cmocka_unit_test(a_writer_that_does_not_finish_leaves_nothing),
      cmocka_unit_test(a_missing_file_and_a_folder_are_named),
      cmocka_unit_test(failing_allocations_leak_nothing))
