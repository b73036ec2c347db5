/*
 * CSV: RFC 4180's rules, numbers of every form, places in messages, gzip, whole files as tensors,
 * and the shared data sets.
 */
#include <check.h>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <regimen/data.h>

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

/** A file of that text; the path is good until the next call. */
static const char *file(const char *text)
{
    static char path[256];
    int fd;

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/table.csv", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void check_row(rgm_csv_reader *reader, int64_t line, int64_t count, const char *const *want)
{
    const rgm_str *fields;
    int64_t got;

    CHECK_OK(rgm_csv_reader_next(&fields, &got, reader));
    CHECK_INT(line, rgm_csv_reader_line(reader));
    CHECK_INT(count, got);
    for (int64_t i = 0; i < count; i++) {
        CHECK_INT(strlen(want[i]), fields[i].size);
        CHECK(memcmp(want[i], fields[i].data, strlen(want[i])) == 0);
    }
}
#define ROW(line, ...)                                                                             \
    check_row(reader, line, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                \
              (const char *[]){__VA_ARGS__})

static void quotes_line_ends_and_empty_fields_follow_the_rfc(void **state)
{
    (void)state;
    rgm_csv_reader *reader;
    const rgm_str *fields;
    int64_t count;

    CHECK_OK(rgm_csv_reader_open(&reader,
                                 file("\xef\xbb\xbf"
                                      "a,b,c\r\n"
                                      "\"x, y\",\"say \"\"hi\"\"\",\r\n"
                                      "\n"
                                      "\"two\nlines\",\"\",z\n"
                                      ",,\n"
                                      "1,2,3"),
                                 NULL));
    ROW(1, "a", "b", "c");
    ROW(2, "x, y", "say \"hi\"", "");
    ROW(4, "two\nlines", "", "z");
    ROW(6, "", "", "");
    ROW(7, "1", "2", "3");
    CHECK_STATUS(RGM_END, rgm_csv_reader_next(&fields, &count, reader));
    CHECK_STATUS(RGM_END, rgm_csv_reader_next(&fields, &count, reader));
    rgm_csv_reader_close(reader);
}

static void a_header_names_the_columns(void **state)
{
    (void)state;
    rgm_csv_reader *reader;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    int64_t number;
    double real;

    options.header = true;
    options.delimiter = '\t';
    CHECK_OK(rgm_csv_reader_open(&reader, file("id\t\"na\tme\"\n 7 \t1.5\n"), &options));
    CHECK_INT(2, rgm_csv_reader_column_count(reader));
    CHECK_TEXT("id", rgm_csv_reader_column(reader, 0));
    CHECK_TEXT("na\tme", rgm_csv_reader_column(reader, 1));
    CHECK(rgm_csv_reader_column(reader, 2) == NULL);
    ROW(2, " 7 ", "1.5");
    CHECK_OK(rgm_csv_reader_i64(&number, reader, 0));
    CHECK_INT(7, number);
    CHECK_OK(rgm_csv_reader_f64(&real, reader, 1));
    CHECK(real == 1.5);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_reader_i64(&number, reader, 1));
    CHECK_MESSAGE("table.csv:2:5: '1.5' is not an integer");
    CHECK_STATUS(RGM_ERR_ARG, rgm_csv_reader_i64(&number, reader, 2));
    rgm_csv_reader_close(reader);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_reader_open(&reader, file(""), &options));
    CHECK_MESSAGE("the file is empty, a header was expected");
}

static rgm_status read_all(const char *path, const rgm_csv_options *options)
{
    rgm_status status = RGM_OK;
    rgm_csv_reader *reader;
    const rgm_str *fields;
    int64_t count;

    RGM_GO(rgm_csv_reader_open(&reader, path, options));
    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK)
        ;
done:
    rgm_csv_reader_close(reader);
    return status == RGM_END ? RGM_OK : status;
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {{"a,b\nc\n", ":2:1: the row has 1 fields, those before have 2"},
                 {"a,b\nc,\"d\n\n", ":2:3: the quote here has no end"},
                 {"a,b\"c\"\n", ":1:4: a quote in a field without quotes"},
                 {"\"a\"b,c\n", ":1:4: text behind a closing quote"},
                 {"\"x\ny\",\"z\"!\n", ":2:7: text behind a closing quote"}};
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(RGM_ERR_FORMAT, read_all(file(cases[i].text), NULL));
        CHECK_MESSAGE(cases[i].message);
    }
    options.ragged = true;
    CHECK_OK(read_all(file(cases[0].text), &options));
    options.max_row_bytes = 3;
    CHECK_OK(read_all(file("abc\nabc"), &options));
    CHECK_STATUS(RGM_ERR_FORMAT, read_all(file("abc\nabcd\n"), &options));
    CHECK_MESSAGE(":2:1: the row has more than 3 bytes");
}

static void a_matrix_of_each_dtype_is_loaded(void **state)
{
    (void)state;
    rgm_tensor *t;
    const char *path = file("1,-2, 3 \n\"4\",+5,0006\n999999999,123456789,2147483647\n");

    CHECK_OK(rgm_csv_load(&t, path, RGM_I64, NULL));
    CHECK_INT(2, rgm_tensor_rank(t));
    CHECK_INT(3, rgm_tensor_dim(t, 0));
    CHECK_INT(3, rgm_tensor_dim(t, 1));
    CHECK_INT(-2, rgm_tensor_i64(t)[1]);
    CHECK_INT(6, rgm_tensor_i64(t)[5]);
    CHECK_INT(2147483647, rgm_tensor_i64(t)[8]);
    rgm_tensor_release(t);
    CHECK_OK(rgm_csv_load(&t, path, RGM_I32, NULL));
    CHECK_INT(123456789, rgm_tensor_i32(t)[7]);
    rgm_tensor_release(t);
    CHECK_OK(rgm_csv_load(&t, path, RGM_F32, NULL));
    CHECK(rgm_tensor_f32(t)[6] == 999999999.0f);
    rgm_tensor_release(t);
    CHECK_OK(rgm_csv_load(&t, file(""), RGM_F64, NULL));
    CHECK_INT(0, rgm_tensor_count(t));
    rgm_tensor_release(t);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, file("1,2\n3\n"), RGM_I64, NULL));
    CHECK_MESSAGE(":2:1: the row has 1 fields");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, file("1,2\n3,\n"), RGM_I64, NULL));
    CHECK_MESSAGE(":2:3: an empty field where an integer was expected");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, file("1,2\n3,x4\n"), RGM_F32, NULL));
    CHECK_MESSAGE(":2:3: 'x4' is not a number");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, file("2147483648\n"), RGM_I32, NULL));
    CHECK_MESSAGE("does not fit in 32 bits");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, file("9223372036854775808\n"), RGM_I64, NULL));
    CHECK_STATUS(RGM_ERR_DTYPE, rgm_csv_load(&t, file("1\n"), RGM_STRING, NULL));
    CHECK(t == NULL);
}

static void reals_are_read_to_the_last_bit(void **state)
{
    (void)state;
    static const char *const texts[] = {"0.1",
                                        "-3.14159265358979",
                                        "1e22",
                                        "1e23",
                                        "1e-22",
                                        "123456.789e-30",
                                        "9007199254740993",
                                        "4.9e-324",
                                        "1.7976931348623157e308",
                                        "0.000000000000000000000000001",
                                        "12345678901234567890",
                                        "-0.0",
                                        "1.",
                                        ".5",
                                        "5e-1",
                                        "2.2250738585072011e-308",
                                        "nan",
                                        "-inf",
                                        "3.4028234663852886e38"};
    char line[64];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rgm_tensor *t;
        double want = strtod(texts[i], NULL);
        snprintf(line, sizeof line, "%s\n", texts[i]);
        CHECK_OK(rgm_csv_load(&t, file(line), RGM_F64, NULL));
        CHECK(memcmp(&want, rgm_tensor_data(t), sizeof want) == 0 || isnan(want));
        rgm_tensor_release(t);
    }
}

/* A number that becomes an infinity is not the one that was written. */
static void reals_have_a_place_in_their_dtype(void **state)
{
    (void)state;
    rgm_csv_column column = {.name = "x", .dtype = RGM_F32};
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_tensor *t;

    CHECK_OK(rgm_csv_load(&t, file("3.4028235e38,-inf,1e-60\n"), RGM_F32, NULL));
    CHECK(isfinite(rgm_tensor_f32(t)[0]) && isinf(rgm_tensor_f32(t)[1]));
    CHECK(rgm_tensor_f32(t)[2] == 0);
    rgm_tensor_release(t);
    CHECK_OK(rgm_csv_load(&t, file("1e39\n"), RGM_F64, NULL));
    rgm_tensor_release(t);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, file("1,2\n3, -1e39\n"), RGM_F32, NULL));
    CHECK_MESSAGE(":2:4: -1e39 does not fit in f32");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, file("1e309\n"), RGM_F64, NULL));
    CHECK_MESSAGE(":1:1: 1e309 does not fit in f64");
    options.header = true;
    CHECK_STATUS(RGM_ERR_FORMAT,
                 rgm_csv_load_columns(&t, file("x\n.5e40\n"), &column, 1, &options));
    CHECK_MESSAGE(":2:1: .5e40 does not fit in f32");
}

static void two_thousand_random_reals_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    rgm_rng rng = rgm_rng_stream(1, "csv", 0);
    rgm_text text = {0};
    double want[2000];
    rgm_tensor *t;

    for (int i = 0; i < 2000; i++) {
        char line[64];
        double x = (rgm_rng_f64(&rng, (uint64_t)i) - 0.5) * pow(10, (double)(i % 40) - 20);
        snprintf(line, sizeof line, "%.*g\n", 1 + i % 17, x);
        want[i] = strtod(line, NULL);
        CHECK_OK(rgm_text_printf(&text, "%s", line));
    }
    CHECK_OK(rgm_csv_load(&t, file(text.data), RGM_F64, NULL));
    CHECK_INT(2000, rgm_tensor_count(t));
    CHECK(memcmp(want, rgm_tensor_data(t), sizeof want) == 0);
    rgm_tensor_release(t);
    rgm_text_clear(&text);
}

static void columns_are_found_by_name_or_number(void **state)
{
    (void)state;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_column columns[] = {{.name = "name", .dtype = RGM_STRING},
                                {.name = "id", .dtype = RGM_I64},
                                {.number = 2, .dtype = RGM_F32},
                                {.name = "flag", .dtype = RGM_BOOL}};
    rgm_tensor *out[4];
    const char *text = "id,name,x,flag\n1,ann,0.5,true\n2,\"b,ob\",-1,0\n3,,2,1\n";

    options.header = true;
    CHECK_OK(rgm_csv_load_columns(out, file(text), columns, 4, &options));
    CHECK_INT(3, rgm_tensor_count(out[0]));
    CHECK_INT(4, rgm_tensor_str(out[0])[1].size);
    CHECK(memcmp(rgm_tensor_str(out[0])[1].data, "b,ob", 4) == 0);
    CHECK_INT(0, rgm_tensor_str(out[0])[2].size);
    CHECK_INT(3, rgm_tensor_i64(out[1])[2]);
    CHECK(rgm_tensor_f32(out[2])[1] == -1);
    CHECK_INT(1, rgm_tensor_bool(out[3])[0]);
    CHECK_INT(0, rgm_tensor_bool(out[3])[1]);
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(out[i]);
    columns[1].name = "ids";
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_csv_load_columns(out, file(text), columns, 4, &options));
    CHECK_MESSAGE("there is no column 'ids'; did you mean 'id'?");
    CHECK(out[0] == NULL && out[3] == NULL);
    columns[1] = (rgm_csv_column){.number = 9, .dtype = RGM_I64};
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load_columns(out, file(text), columns, 4, &options));
    CHECK_MESSAGE(":2:1: there is no field 9, the row has 4");
    CHECK_OK(rgm_csv_load_columns(out, file("id,name,x,flag\n"), columns, 1, &options));
    CHECK_INT(0, rgm_tensor_count(out[0]));
    rgm_tensor_release(out[0]);
}

/* Neither is taken for the other; one that nobody asks for does no harm. */
static void a_column_of_a_name_that_stands_twice_is_refused(void **state)
{
    (void)state;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_column columns[] = {{.name = "id", .dtype = RGM_I64},
                                {.name = "label", .dtype = RGM_I64}};
    rgm_tensor *out[2];
    const char *text = "id,label,age,label,label\n1,0,20,1,2\n";

    options.header = true;
    CHECK_OK(rgm_csv_load_columns(out, file(text), columns, 1, &options));
    rgm_tensor_release(out[0]);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load_columns(out, file(text), columns, 2, &options));
    CHECK_MESSAGE("table.csv:1: two columns 'label', one of them number 5; rename one, or take it");
    columns[1] = (rgm_csv_column){.name = "x", .list = true, .width = 2, .dtype = RGM_F32};
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load_columns(out, file("id,x.0,x.1,x.1\n1,2,3,4\n"),
                                                      columns, 2, &options));
    CHECK_MESSAGE("two columns 'x.1', one of them number 4");
}

static void columns_of_a_list_stand_side_by_side(void **state)
{
    (void)state;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_column columns[] = {
        {.name = "v", .dtype = RGM_I32, .list = true, .width = 2},
        {.name = "s", .dtype = RGM_STRING, .list = true, .width = 2},
        {.name = "none", .dtype = RGM_F32, .list = true, .width = 0},
    };
    const int32_t v[] = {1, 2, 3, 4};
    rgm_tensor *out[3];

    options.header = true;
    CHECK_OK(rgm_csv_load_columns(out, file("v.1,s.0,v.0,s.1\n2,a,1,bc\n4,,3,d\n"), columns, 3,
                                  &options));
    CHECK_INT(2, rgm_tensor_dim(out[0], 0));
    CHECK_INT(2, rgm_tensor_dim(out[0], 1));
    CHECK(memcmp(v, rgm_tensor_data(out[0]), sizeof v) == 0);
    CHECK_INT(2, rgm_tensor_str(out[1])[1].size);
    CHECK_INT(0, rgm_tensor_str(out[1])[2].size);
    CHECK_INT(0, rgm_tensor_dim(out[2], 1));
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(out[i]);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_csv_load_columns(out, file("v.1,s.0,s.1\n"), columns, 3, &options));
    CHECK_MESSAGE("there is no column 'v.0'; did you mean 'v.1'?");
    CHECK_STATUS(
        RGM_ERR_FORMAT,
        rgm_csv_load_columns(out, file("v.0,v.1,s.0,s.1\n1,3000000000,,\n"), columns, 3, &options));
    CHECK_MESSAGE(":2:3: 'v' is 3000000000, which is no 32-bit integer");
}

static void rows_longer_than_the_buffer_and_gzip_are_read(void **state)
{
    (void)state;
    enum { COLUMNS = 200000 };
    char path[300];
    gzFile gz;
    rgm_tensor *t;

    file("");
    snprintf(path, sizeof path, "%s/wide.csv.gz", folder);
    gz = gzopen(path, "wb1");
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < COLUMNS; i++)
            gzprintf(gz, "%d%c", row * 7 + i, i + 1 < COLUMNS ? ',' : '\n');
    gzclose(gz);
    CHECK_OK(rgm_csv_load(&t, path, RGM_I32, NULL));
    CHECK_INT(3, rgm_tensor_dim(t, 0));
    CHECK_INT(COLUMNS, rgm_tensor_dim(t, 1));
    for (int64_t i = 0; i < 3 * COLUMNS; i++)
        CHECK_INT(i / COLUMNS * 7 + i % COLUMNS, rgm_tensor_i32(t)[i]);
    rgm_tensor_release(t);
}

static void cora_is_loaded(void **state)
{
    (void)state;
    const char *root = check_data("cora/raw");
    char path[600];
    rgm_tensor *t;
    int64_t ones = 0;

    if (root == NULL)
        SKIP("REGIMEN_DATA has no cora");
    snprintf(path, sizeof path, "%s/node-feat.csv.gz", root);
    CHECK_OK(rgm_csv_load(&t, path, RGM_F32, NULL));
    CHECK_INT(2708, rgm_tensor_dim(t, 0));
    CHECK_INT(1433, rgm_tensor_dim(t, 1));
    for (int64_t i = 0; i < rgm_tensor_count(t); i++)
        ones += rgm_tensor_f32(t)[i] != 0;
    CHECK_INT(49216, ones);
    rgm_tensor_release(t);
    snprintf(path, sizeof path, "%s/edge.csv.gz", root);
    CHECK_OK(rgm_csv_load(&t, path, RGM_I64, NULL));
    CHECK_INT(5278, rgm_tensor_dim(t, 0));
    rgm_tensor_release(t);
}

/* What unpacks to hundreds of times itself is refused before memory is gone. */
static void a_table_packed_too_well_is_refused(void **state)
{
    static const char row[] = "0\n";
    char path[128], *lines = malloc(1 << 20);
    rgm_tensor *t;
    gzFile gz;

    (void)state;
    for (int i = 0; i < 1 << 20; i++)
        lines[i] = row[i % 2];
    snprintf(path, sizeof path, "%s.gz", file(""));
    gz = gzopen(path, "wb9");
    for (int i = 0; i < 100; i++)
        CHECK_INT(1 << 20, gzwrite(gz, lines, 1 << 20));
    gzclose(gz);
    rgm_memory_reset_peak();
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_csv_load(&t, path, RGM_I64, NULL));
    CHECK_MESSAGE("gzip: ");
    CHECK_MESSAGE("unpack the file before (gzip -d)");
    CHECK(rgm_memory_peak() < 256 << 20); /* 419 MB and more of integers */
    remove(path);
    free(lines);
}

static rgm_status load_and_drop(const char *path)
{
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_column columns[] = {{.name = "a", .dtype = RGM_STRING},
                                {.name = "b", .dtype = RGM_I64}};
    rgm_tensor *out[2];
    rgm_status status;

    options.header = true;
    status = rgm_csv_load_columns(out, path, columns, 2, &options);
    rgm_tensor_release(out[0]);
    rgm_tensor_release(out[1]);
    return status;
}

static rgm_status load_matrix(const char *path)
{
    rgm_tensor *t;
    rgm_status status = rgm_csv_load(&t, path, RGM_F32, NULL);
    rgm_tensor_release(t);
    return status;
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    const char *path = file("a,b\n\"x\"\"y\",1\nz,2\n");
    CHECK_EVERY_OOM(load_and_drop(path), (void)0);
    path = file("1,\"2\"\n3,4\n");
    CHECK_EVERY_OOM(load_matrix(path), (void)0);
}

TESTS(cmocka_unit_test(quotes_line_ends_and_empty_fields_follow_the_rfc),
      cmocka_unit_test(a_header_names_the_columns),
      cmocka_unit_test(mistakes_are_told_with_their_place),
      cmocka_unit_test(a_matrix_of_each_dtype_is_loaded),
      cmocka_unit_test(reals_are_read_to_the_last_bit),
      cmocka_unit_test(reals_have_a_place_in_their_dtype),
      cmocka_unit_test(two_thousand_random_reals_are_read_as_strtod_reads_them),
      cmocka_unit_test(columns_are_found_by_name_or_number),
      cmocka_unit_test(a_column_of_a_name_that_stands_twice_is_refused),
      cmocka_unit_test(columns_of_a_list_stand_side_by_side),
      cmocka_unit_test(rows_longer_than_the_buffer_and_gzip_are_read),
      cmocka_unit_test(cora_is_loaded), cmocka_unit_test(a_table_packed_too_well_is_refused),
      cmocka_unit_test(failing_allocations_leak_nothing))
