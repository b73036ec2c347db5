/*
 * Checkpoints: they load as they were saved, bytes depend only on the content, every flipped bit is
 * found, damaged ones are skipped, retention keeps what it must.
 */
#include <check.h>

#include <regimen/store.h>

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store_internal.h"

/* ---- helpers ---- */

static rgm_tensor *filled(int64_t count, double first)
{
    rgm_tensor *tensor = NULL;

    CHECK_OK(rgm_tensor_create(&tensor, RGM_F32, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_f32(tensor)[i] = (float)(first + (double)i * 0.25);
    return tensor;
}

/* A small checkpoint with everything in it; `order` changes only the order of setting. */
static rgm_status make(rgm_checkpoint **out, int64_t step, bool order)
{
    rgm_tensor *w = filled(3, (double)step), *m = filled(3, 1), *b = filled(3, 2);
    rgm_checkpoint *c = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(rgm_checkpoint_create(&c, step));
    RGM_GO(rgm_checkpoint_add_weight(c, order ? "w/b" : "w/a", order ? b : w));
    RGM_GO(rgm_checkpoint_add_weight(c, order ? "w/a" : "w/b", order ? w : b));
    RGM_GO(rgm_checkpoint_add_slot(c, "adam/m/w/a", m));
    RGM_GO(rgm_checkpoint_add_best(c, "w/a", b));
    RGM_GO(rgm_checkpoint_set_int(c, order ? "epoch" : "metrics_offset", order ? 3 : 77));
    RGM_GO(rgm_checkpoint_set_int(c, order ? "metrics_offset" : "epoch", order ? 77 : 3));
    RGM_GO(rgm_checkpoint_set_number(c, "best_value", 0.1));
    RGM_GO(rgm_checkpoint_set_text(c, "metric", "valid \"accuracy\"\n"));
    RGM_GO(rgm_checkpoint_set_blob(c, order ? "sums" : "data", order ? "" : "position",
                                   order ? 0 : 8));
    RGM_GO(rgm_checkpoint_set_blob(c, order ? "data" : "sums", order ? "position" : "",
                                   order ? 8 : 0));
    *out = c;
    c = NULL;
done:
    rgm_checkpoint_release(c);
    rgm_tensor_release(w);
    rgm_tensor_release(m);
    rgm_tensor_release(b);
    return status;
}

static void save(rgm_checkpoint_store *store, int64_t step)
{
    rgm_checkpoint *c = NULL;

    CHECK_OK(make(&c, step, false));
    CHECK_OK(rgm_checkpoint_save(store, c));
    rgm_checkpoint_release(c);
}

static rgm_checkpoint_store *open_store(const char *folder, int64_t keep)
{
    rgm_checkpoint_store_options options = {.keep = keep};
    rgm_checkpoint_store *store = NULL;

    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &options));
    return store;
}

static const char *file_in(const char *folder, int64_t step, const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/step-%08lld/%s", folder, (long long)step, name);
    return path;
}

static void check_steps(const rgm_checkpoint_store *store, const char *expected)
{
    int64_t *steps = NULL, count = 0;
    rgm_text text = {0};

    CHECK_OK(rgm_checkpoint_steps(&steps, &count, store));
    CHECK_OK(rgm_text_add(&text, "", 0));
    for (int64_t i = 0; i < count; i++)
        CHECK_OK(rgm_text_printf(&text, "%s%lld", i ? " " : "", (long long)steps[i]));
    CHECK_TEXT(expected, text.data);
    rgm_text_clear(&text);
    rgm_free(steps);
}

static void flip(const char *path, int64_t byte, int bit)
{
    FILE *file = fopen(path, "r+b");
    int c;

    CHECK(file != NULL);
    fseek(file, (long)byte, SEEK_SET);
    c = fgetc(file);
    fseek(file, (long)byte, SEEK_SET);
    fputc(c ^ (1 << bit), file);
    fclose(file);
}

static int64_t file_size(const char *path)
{
    struct stat info;

    CHECK_INT(0, stat(path, &info));
    return info.st_size;
}

/* ---- tests ---- */

static void what_is_saved_comes_back(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    rgm_checkpoint *c = NULL;
    rgm_tensor *t = NULL;
    const void *data;
    const char *text;
    int64_t number, size;
    double value;

    (void)state;
    save(store, 1200);
    CHECK(rgm_path_exists(file_in(folder, 1200, "manifest.json")));
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(1200, rgm_checkpoint_step(c));
    CHECK_OK(rgm_checkpoint_int(&number, c, "metrics_offset"));
    CHECK_INT(77, number);
    CHECK_OK(rgm_checkpoint_number(&value, c, "best_value"));
    CHECK(value == 0.1);
    CHECK_OK(rgm_checkpoint_text(&text, c, "metric"));
    CHECK_TEXT("valid \"accuracy\"\n", text);
    CHECK_OK(rgm_checkpoint_blob(&data, &size, c, "data"));
    CHECK(size == 8 && memcmp(data, "position", 8) == 0);
    CHECK_OK(rgm_checkpoint_blob(&data, &size, c, "sums"));
    CHECK_INT(0, size);
    CHECK_OK(rgm_safetensors_get(&t, rgm_checkpoint_weights(c), "w/a"));
    CHECK(rgm_tensor_f32(t)[1] == 1200.25f);
    rgm_tensor_release(t);
    CHECK_OK(rgm_safetensors_get(&t, rgm_checkpoint_slots(c), "adam/m/w/a"));
    rgm_tensor_release(t);
    CHECK_OK(rgm_safetensors_get(&t, rgm_checkpoint_best_weights(c), "w/a"));
    rgm_tensor_release(t);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_int(&number, c, "nothing"));
    CHECK_MESSAGE("step 1200 has no integer 'nothing'");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_int(&number, c, "metric"));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_blob(&data, &size, c, "nothing"));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void numbers_keep_their_bits(void **state)
{
    static const double numbers[] = {
        0.1,      -0.0,     1e-320, 1.7976931348623157e308, 1.0 / 3, 5, 123456789012345678.0,
        INFINITY, -INFINITY};
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 1);
    rgm_checkpoint *c = NULL;
    char name[16];
    double value;

    (void)state;
    CHECK_OK(rgm_checkpoint_create(&c, 0));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        CHECK_OK(rgm_checkpoint_set_number(c, name, 7));
        CHECK_OK(rgm_checkpoint_set_number(c, name, numbers[i]));
    }
    CHECK_OK(rgm_checkpoint_set_number(c, "nan", NAN));
    CHECK_OK(rgm_checkpoint_set_int(c, "lowest", INT64_MIN));
    CHECK_OK(rgm_checkpoint_save(store, c));
    rgm_checkpoint_release(c);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        CHECK_OK(rgm_checkpoint_number(&value, c, name));
        CHECK(memcmp(&value, &numbers[i], sizeof value) == 0);
    }
    CHECK_OK(rgm_checkpoint_number(&value, c, "nan"));
    CHECK(isnan(value));
    int64_t lowest;
    CHECK_OK(rgm_checkpoint_int(&lowest, c, "lowest"));
    CHECK(lowest == INT64_MIN);
    CHECK(rgm_checkpoint_best_weights(c) == NULL);
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void the_bytes_depend_on_the_content_alone(void **state)
{
    static const char *const files[] = {"manifest.json",     "weights.safetensors",
                                        "slots.safetensors", "best.safetensors",
                                        "data.bin",          "sums.bin"};
    char one[128], two[128];
    rgm_checkpoint_store *a, *b;
    rgm_checkpoint *c = NULL;

    (void)state;
    snprintf(one, sizeof one, "%s", check_folder());
    snprintf(two, sizeof two, "%s", check_folder());
    a = open_store(one, 1);
    b = open_store(two, 1);
    save(a, 5);
    CHECK_OK(make(&c, 5, true));
    CHECK_OK(rgm_checkpoint_save(b, c));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *x = NULL, *y = NULL;
        int64_t x_size, y_size;

        CHECK_OK(rgm_file_load(&x, &x_size, file_in(one, 5, files[i]), 1 << 20));
        CHECK_OK(rgm_file_load(&y, &y_size, file_in(two, 5, files[i]), 1 << 20));
        CHECK_INT(x_size, y_size);
        CHECK(memcmp(x, y, (size_t)x_size) == 0);
        rgm_free(x);
        rgm_free(y);
    }
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(a);
    rgm_checkpoint_store_close(b);
    CHECK_OK(rgm_folder_remove(one));
    CHECK_OK(rgm_folder_remove(two));
}

/* A folder with a file, or an error once it is there. */
static rgm_status fill(const char *folder, void *payload)
{
    char path[256];

    snprintf(path, sizeof path, "%s/export", folder);
    RGM_TRY(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/export/model", folder);
    RGM_TRY(rgm_file_save(path, "model", 5));
    return *(bool *)payload ? RGM_FAIL(RGM_ERR_UNSUPPORTED, "there is no such model") : RGM_OK;
}

static void what_fills_a_checkpoint_comes_and_goes_with_it(void **state)
{
    char folder[128], **names;
    rgm_checkpoint_store *store;
    rgm_checkpoint *c;
    bool fails = false;
    int64_t count;

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    store = open_store(folder, 1);
    for (int64_t step = 1; step <= 3; step++) {
        fails = step == 3;
        CHECK_OK(make(&c, step, false));
        CHECK_STATUS(fails ? RGM_ERR_UNSUPPORTED : RGM_OK,
                     rgm_checkpoint_save_with(store, c, fill, &fails));
        rgm_checkpoint_release(c);
    }
    CHECK_MESSAGE("there is no such model");
    CHECK_OK(rgm_folder_list(&names, &count, folder)); /* neither the first nor the third */
    CHECK_INT(1, count);
    CHECK_TEXT("step-00000002", names[0]);
    rgm_names_release(names, count);
    CHECK(rgm_path_exists(file_in(folder, 2, "export/model")));
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void every_flipped_bit_is_detected(void **state)
{
    static const char *const files[] = {"manifest.json", "weights.safetensors", "slots.safetensors",
                                        "best.safetensors", "data.bin"};
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    char at[256], path[512];
    int64_t flips = 0;

    (void)state;
    save(store, 7);
    snprintf(at, sizeof at, "%s/step-00000007", folder);
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        snprintf(path, sizeof path, "%s/%s", at, files[f]);
        for (int64_t i = 0, size = file_size(path); i < size; i++) {
            for (int bit = 0; bit < 8; bit++, flips++) {
                rgm_checkpoint *c = NULL;

                flip(path, i, bit);
                CHECK_STATUS(RGM_ERR_FORMAT, rgm_checkpoint_load(&c, at));
                CHECK(c == NULL);
                flip(path, i, bit);
            }
        }
    }
    CHECK(flips > 5000);
    rgm_checkpoint *c = NULL;
    CHECK_OK(rgm_checkpoint_load(&c, at));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The last warning logged, and how many there were. */
static char last_warning[1024];
static int warnings;
static void keep_warning(int level, const char *message, void *payload)
{
    (void)payload;
    if (level != RGM_LOG_WARNING)
        return;
    snprintf(last_warning, sizeof last_warning, "%s", message);
    warnings++;
}

static void a_damaged_checkpoint_is_skipped_with_a_warning(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store_options reading = {.keep = 1, .read_only = true};
    rgm_checkpoint_store *store = open_store(folder, 3);
    rgm_checkpoint *c = NULL;

    (void)state;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_load_newest(&c, store));
    save(store, 1);
    save(store, 2);
    save(store, 3);
    flip(file_in(folder, 3, "weights.safetensors"), 100, 0);
    CHECK_INT(0, remove(file_in(folder, 2, "data.bin")));
    last_warning[0] = 0;
    CHECK_OK(rgm_logger_add_sink(NULL, keep_warning, NULL));
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    rgm_logger_remove_sink(NULL, keep_warning, NULL);
    CHECK_INT(1, rgm_checkpoint_step(c));
    CHECK(strstr(last_warning, "skipping the checkpoint of step 2") != NULL);
    rgm_checkpoint_release(c);
    /* The next good one replaces the damaged ones, which do not count for retention. */
    save(store, 4);
    check_steps(store, "1 4");
    flip(file_in(folder, 1, "manifest.json"), 20, 0);
    flip(file_in(folder, 4, "manifest.json"), 20, 0);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_checkpoint_load_newest(&c, store));
    CHECK_MESSAGE("none of 2 checkpoints");
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_checkpoint_store_open(&store, folder,
                                       &reading)); /* a reader tries again, and reports it once */
    warnings = 0;
    CHECK_OK(rgm_logger_add_sink(NULL, keep_warning, NULL));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_checkpoint_load_newest(&c, store));
    rgm_logger_remove_sink(NULL, keep_warning, NULL);
    CHECK_INT(2, warnings);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void values_come_without_the_tensors(void **state)
{
    const rgm_checkpoint_store_options options = {
        .keep = 1, .read_only = true, .values_only = true};
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    rgm_checkpoint *c = NULL;
    int64_t epoch[2];

    (void)state;
    save(store, 1);
    save(store, 2);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_OK(rgm_checkpoint_int(&epoch[0], c, "epoch"));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    /* Damage of the weights is not checked, damage of the manifest is. */
    flip(file_in(folder, 2, "weights.safetensors"), 60, 3);
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &options));
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(2, rgm_checkpoint_step(c));
    CHECK_OK(rgm_checkpoint_int(&epoch[1], c, "epoch"));
    CHECK_INT(epoch[0], epoch[1]);
    CHECK(rgm_checkpoint_weights(c) == NULL);
    rgm_checkpoint_release(c);
    flip(file_in(folder, 2, "manifest.json"), 20, 0);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(1, rgm_checkpoint_step(c));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void weights_come_without_the_slots(void **state)
{
    rgm_checkpoint_store_options reading = {
        .keep = 1, .read_only = true, .slots_prefix = "average/"};
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    rgm_checkpoint *c = NULL;
    rgm_tensor *t = NULL;

    (void)state;
    save(store, 1);
    save(store, 2);
    rgm_checkpoint_store_close(store);
    /* Damage of slots that are not read is not seen, damage of the weights is. */
    flip(file_in(folder, 2, "slots.safetensors"),
         file_size(file_in(folder, 2, "slots.safetensors")) - 1, 3);
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &reading));
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(2, rgm_checkpoint_step(c));
    CHECK(rgm_checkpoint_slots(c) == NULL);
    CHECK_OK(rgm_safetensors_get(&t, rgm_checkpoint_weights(c), "w/a"));
    CHECK(rgm_tensor_f32(t)[1] == 2.25f);
    rgm_tensor_release(t);
    CHECK_OK(rgm_safetensors_get(&t, rgm_checkpoint_best_weights(c), "w/a"));
    rgm_tensor_release(t);
    rgm_checkpoint_release(c);
    flip(file_in(folder, 2, "weights.safetensors"), 60, 3);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(1, rgm_checkpoint_step(c));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    reading.slots_prefix = "adam/m/"; /* which they have: all of them are read */
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &reading));
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK(rgm_checkpoint_slots(c) != NULL);
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_damaged_step_is_replaced_when_it_is_reached_again(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    rgm_checkpoint *c = NULL;

    (void)state;
    save(store, 1);
    save(store, 2);
    flip(file_in(folder, 2, "slots.safetensors"), 60, 3);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(1, rgm_checkpoint_step(c));
    rgm_checkpoint_release(c);
    save(store, 2);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(2, rgm_checkpoint_step(c));
    rgm_checkpoint_release(c);
    /* Other content for the same step replaces it; the same content leaves it alone. */
    CHECK_OK(make(&c, 2, false));
    CHECK_OK(rgm_checkpoint_set_int(c, "finished", 1));
    CHECK_OK(rgm_checkpoint_save(store, c));
    CHECK_OK(rgm_checkpoint_save(store, c));
    rgm_checkpoint_release(c);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    int64_t finished;
    CHECK_OK(rgm_checkpoint_int(&finished, c, "finished"));
    rgm_checkpoint_release(c);
    check_steps(store, "1 2");
    char **names = NULL;
    int64_t count;
    CHECK_OK(rgm_folder_list(&names, &count, folder));
    CHECK_INT(2, count);
    rgm_names_release(names, count);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void retention_keeps_the_newest(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 2);

    (void)state;
    for (int64_t step = 100; step <= 500; step += 100)
        save(store, step);
    check_steps(store, "400 500");
    rgm_checkpoint_store_close(store);
    store = open_store(folder, 1);
    save(store, 100000000); /* nine digits */
    check_steps(store, "100000000");
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The steps that are set aside, as "300 400". */
static void check_aside(const char *folder, const char *expected)
{
    char found[64] = "", path[256];

    for (int step = 50; step <= 500; step += 50) {
        snprintf(path, sizeof path, "%s/step-%08d.rolled-back", folder, step);
        if (rgm_path_is_folder(path))
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d",
                     found[0] != 0 ? " " : "", step);
    }
    CHECK_TEXT(expected, found);
}

static void what_was_taken_back_is_set_aside_until_the_run_has_gone_on(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 5);
    int64_t moved;

    (void)state;
    for (int turn = 0; turn < 2; turn++) { /* the second time over those of the first */
        for (int64_t step = 100; step <= 400; step += 100)
            save(store, step);
        CHECK_OK(rgm_checkpoint_store_set_aside(&moved, store, 200));
        CHECK_INT(2, moved);
        check_steps(store, "100 200");
    }
    CHECK_OK(rgm_checkpoint_store_set_aside(&moved, store, 200));
    CHECK_INT(0, moved);
    rgm_checkpoint_store_close(store);
    store = open_store(folder, 1); /* neither swept nor counted */
    check_aside(folder, "300 400");
    save(store, 250);
    check_aside(folder, "300 400");
    save(store, 300); /* as far again */
    check_steps(store, "300");
    check_aside(folder, "400");
    rgm_checkpoint_store_drop_aside(store, 399);
    check_aside(folder, "400");
    rgm_checkpoint_store_drop_aside(store, INT64_MAX);
    check_aside(folder, "");
    check_steps(store, "300");
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

/* As if the checkpoint had been saved `hours` after the beginning of the run at 10^9. */
static void save_at(const char *folder, rgm_checkpoint_store *store, int64_t step, double hours)
{
    struct timespec times[2] = {{.tv_sec = 1000000000 + (time_t)(hours * 3600)}};

    times[1] = times[0];
    save(store, step);
    CHECK_INT(0, utimensat(AT_FDCWD, file_in(folder, step, "manifest.json"), times, 0));
}

/* tf.train.CheckpointManager's keep_checkpoint_every_n_hours: decided when `keep` would delete
 * it. */
static void one_every_so_many_hours_is_kept_for_good(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store_options options = {.keep = 2, .keep_every_hours = 2};
    rgm_checkpoint_store *store = NULL;
    char since[256];

    (void)state;
    snprintf(since, sizeof since, "%s/kept_since", folder);
    CHECK_OK(rgm_file_create(since, "1000000000\n", 11));
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &options));
    for (int64_t step = 1; step <= 8; step++) /* 1 h, 2 h, ... */
        save_at(folder, store, step, (double)step);
    check_steps(store, "2 4 6 7 8"); /* 6 is marked */
    rgm_checkpoint_store_close(store);

    /* A resume, with the folder's times lost as after a plain copy: no kept checkpoint is deleted,
     * and the hours count from the last of them. */
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &options));
    for (int64_t step = 2; step <= 6; step += 2)
        CHECK_INT(0, utimensat(AT_FDCWD, file_in(folder, step, "manifest.json"), NULL, 0));
    save_at(folder, store, 9, 8.5);
    save_at(folder, store, 10, 8.6);
    save_at(folder, store, 11, 8.7);
    check_steps(store, "2 4 6 8 10 11");
    rgm_checkpoint_store_close(store);

    /* A spared checkpoint is judged when it is no longer spared. */
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &options));
    CHECK_OK(rgm_checkpoint_store_spare(store, (int64_t[]){10}, 1));
    save_at(folder, store, 12, 9);
    save_at(folder, store, 13, 9.1);
    check_steps(store, "2 4 6 8 10 12 13");
    CHECK_OK(rgm_checkpoint_store_spare(store, NULL, 0));
    save_at(folder, store, 14, 9.2);
    check_steps(store, "2 4 6 8 13 14");
    rgm_checkpoint_store_close(store);
    options.keep_every_hours = NAN;
    CHECK_STATUS(RGM_ERR_ARG, rgm_checkpoint_store_open(&store, folder, &options));
    CHECK_OK(rgm_folder_remove(folder));
}

static void what_an_interrupted_save_left_is_swept(void **state)
{
    const char *folder = check_folder();
    char path[256], inside[300];
    rgm_checkpoint_store_options reading = {.keep = 1, .read_only = true};
    rgm_checkpoint_store *store = NULL;

    (void)state;
    snprintf(path, sizeof path, "%s/step-00000009.tmp-123", folder);
    snprintf(inside, sizeof inside, "%s/weights.safetensors", path);
    CHECK_OK(rgm_folder_make(path));
    CHECK_OK(rgm_file_create(inside, "half", 4));
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &reading));
    check_steps(store, "");
    CHECK(rgm_path_exists(inside)); /* a reader must not sweep: a trainer may be writing it */
    rgm_checkpoint *c = NULL;
    CHECK_OK(make(&c, 1, false));
    CHECK_STATUS(RGM_ERR_ARG, rgm_checkpoint_save(store, c));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    store = open_store(folder, 1);
    CHECK(!rgm_path_exists(path));
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_store_open(&store, folder, &reading));
}

/* Rewrite the manifest's version, with a matching hash. */
static void set_version(const char *path, int version)
{
    char *data = NULL, *at;
    int64_t size;
    rgm_text text = {0};

    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    at = strstr(data, "\"version\": 1");
    CHECK(at != NULL);
    at[11] = (char)('0' + version);
    *strstr(data, "  \"xxh3\": \"") = 0; /* files' hashes are inside braces, with one space */
    CHECK_OK(rgm_text_printf(&text, "%s", data));
    CHECK_OK(rgm_text_printf(&text, "  \"xxh3\": \"%016llx\"\n}\n",
                             (unsigned long long)rgm_hash64(text.data, (size_t)text.size)));
    CHECK_OK(rgm_file_save(path, text.data, text.size));
    rgm_text_clear(&text);
    rgm_free(data);
}

static void an_unknown_version_is_refused_naming_both(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    rgm_checkpoint *c = NULL;

    (void)state;
    save(store, 1);
    save(store, 2);
    set_version(file_in(folder, 2, "manifest.json"), 7);
    CHECK_STATUS(RGM_ERR_VERSION, rgm_checkpoint_load_newest(&c, store));
    CHECK_MESSAGE("format version 7");
    CHECK_MESSAGE("reads version 1");
    set_version(file_in(folder, 1, "manifest.json"), 1);
    CHECK_OK(rgm_checkpoint_load_step(&c, store, 1));
    rgm_checkpoint_release(c);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_load_step(&c, store, 3));
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_renamed_checkpoint_is_not_taken_for_another_step(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    rgm_checkpoint *c = NULL;
    char from[256], to[256];

    (void)state;
    save(store, 1);
    save(store, 2);
    snprintf(from, sizeof from, "%s/step-00000002", folder);
    snprintf(to, sizeof to, "%s/step-00000003", folder);
    CHECK_INT(0, rename(from, to));
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_INT(1, rgm_checkpoint_step(c));
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void wrong_names_are_refused(void **state)
{
    rgm_checkpoint *c = NULL;
    rgm_tensor *t = filled(1, 0);

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_checkpoint_create(&c, -1));
    CHECK_OK(rgm_checkpoint_create(&c, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_checkpoint_set_blob(c, "../a", "x", 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_checkpoint_set_blob(c, "", "x", 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_checkpoint_set_text(c, "a", "\xff"));
    CHECK_OK(rgm_checkpoint_add_weight(c, "w", t));
    CHECK_STATUS(RGM_ERR_ARG, rgm_checkpoint_add_weight(c, "w", t));
    CHECK_OK(rgm_checkpoint_add_slot(c, "w", t));
    rgm_checkpoint_release(c);
    rgm_tensor_release(t);
}

static void crafted_manifests_are_refused(void **state)
{
    static const char *const bodies[] = {
        "",
        "{",
        "{}",
        "{\"format\": \"regimen-checkpoint\"}",
        "{\"format\": \"x\", \"version\": 1}",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": -1,",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": 1,",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": 1, \"files\": {\"../x\": "
        "{}},",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": 1, \"files\": {\"a.bin\": "
        "{}},",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": 1, \"files\": {\"a.bin\": "
        "{\"size\": 1, \"xxh3\": \"0x00000000000000\"}},",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": 1, \"files\": {}, "
        "\"ints\": "
        "{\"a\": 1.5}, \"numbers\": {}, \"texts\": {},",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": 1, \"files\": {}, "
        "\"ints\": "
        "{}, \"numbers\": {\"a\": \"x\"}, \"texts\": {},",
        "{\"format\": \"regimen-checkpoint\", \"version\": 1, \"step\": 1, \"files\": {}, "
        "\"ints\": "
        "{}, \"numbers\": {}, \"texts\": {\"a\": 1},",
    };
    rgm_text text = {0};

    (void)state;
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_checkpoint_manifest_check("{}", 2, "m"));
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        text.size = 0;
        CHECK_OK(rgm_text_printf(&text, "%s", bodies[i]));
        CHECK_OK(rgm_text_printf(&text, "  \"xxh3\": \"%016llx\"\n}\n",
                                 (unsigned long long)rgm_hash64(text.data, (size_t)text.size)));
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_checkpoint_manifest_check(text.data, text.size, "m"));
    }
    rgm_text_clear(&text);
}

/* What a page shows of a checkpoint, read when no file but the manifest is there. */
static void values_are_read_out_of_a_manifest_alone(void **state)
{
    rgmi_manifest manifest = {.step = 1200};
    rgm_checkpoint *c = NULL, *read = NULL;
    rgm_text text = {0};
    int64_t whole;

    (void)state;
    CHECK_OK(rgm_checkpoint_create(&c, 1200));
    CHECK_OK(rgm_checkpoint_set_int(c, "best_step", 1000));
    CHECK_OK(rgmi_manifest_print(&text, &manifest, c));
    CHECK_OK(rgm_checkpoint_from_manifest(&read, text.data, text.size, "m"));
    CHECK_INT(1200, rgm_checkpoint_step(read));
    CHECK_OK(rgm_checkpoint_int(&whole, read, "best_step"));
    CHECK_INT(1000, whole);
    rgm_checkpoint_release(read);
    CHECK_EVERY_OOM(rgm_checkpoint_from_manifest(&read, text.data, text.size, "m"),
                    rgm_checkpoint_release(read));
    text.data[text.size / 2] ^= 1;
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_checkpoint_from_manifest(&read, text.data, text.size, "m"));
    CHECK(read == NULL);
    rgm_checkpoint_release(c);
    rgm_text_clear(&text);
}

/* 40,000 values took 6.3 s when each was inserted after comparing it with those before it. */
static void a_manifest_of_very_many_values_and_files_is_read_in_no_time(void **state)
{
    enum { MANY = 40000 };
    rgmi_manifest manifest = {.step = 1}, again = {0};
    rgm_checkpoint *c = NULL, *read = NULL;
    rgm_text text = {0};
    clock_t begun;
    int64_t value;
    char name[32];

    (void)state;
    CHECK_OK(rgm_checkpoint_create(&c, 1));
    CHECK_OK(rgm_checkpoint_create(&read, 1));
    begun = clock();
    for (int64_t i = MANY; i-- > 0;) {
        snprintf(name, sizeof name, "value_%06lld", (long long)i);
        CHECK_OK(rgm_checkpoint_set_int(c, name, i));
        snprintf(name, sizeof name, "blob_%06lld.bin", (long long)i);
        CHECK_OK(rgmi_manifest_add_file(&manifest, name, i, 0));
    }
    CHECK_OK(rgmi_manifest_print(&text, &manifest, c));
    CHECK_OK(rgmi_manifest_parse(&again, read, text.data, text.size, "many"));
    CHECK_OK(rgm_checkpoint_int(&value, read, "value_012345"));
    CHECK_INT(12345, value);
    CHECK_INT(MANY, again.file_count);
    CHECK_TEXT("blob_000000.bin", again.files[0].name);
    CHECK((double)(clock() - begun) < 1.0 * CLOCKS_PER_SEC);
    rgmi_manifest_clear(&manifest);
    rgmi_manifest_clear(&again);
    rgm_text_clear(&text);
    rgm_checkpoint_release(c);
    rgm_checkpoint_release(read);
}

static void weights_go_back_into_parameters_or_nowhere(void **state)
{
    const rgm_init ones = {RGM_INIT_ONES, 0};
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 3);
    int64_t three = 3, four = 4;
    rgm_cgraph *graph = NULL, *other = NULL;
    rgm_parameters *p = NULL, *q = NULL;
    rgm_checkpoint *c = NULL;

    (void)state;
    CHECK_OK(rgm_cgraph_create(&graph));
    rgm_parameter(graph, "w/a", RGM_F32, 1, &three, ones);
    rgm_parameter(graph, "w/b", RGM_F32, 1, &three, ones);
    CHECK_OK(rgm_parameters_create(&p, graph, 1));
    save(store, 8);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_OK(rgm_checkpoint_restore_parameters(c, p));
    CHECK(rgm_tensor_f32(rgm_parameters_find(p, "w/a"))[2] == 8.5f);
    CHECK_OK(rgm_cgraph_create(&other));
    rgm_parameter(other, "w/a", RGM_F32, 1, &three, ones);
    CHECK_OK(rgm_parameters_create(&q, other, 1));
    CHECK_STATUS(RGM_ERR_DATA, rgm_checkpoint_restore_parameters(c, q));
    CHECK_MESSAGE("'w/b'");
    CHECK(rgm_tensor_f32(rgm_parameters_find(q, "w/a"))[2] == 1);
    rgm_parameters_release(q);
    rgm_parameter(other, "w/b", RGM_F32, 1, &four, ones);
    CHECK_OK(rgm_parameters_create(&q, other, 1));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_checkpoint_restore_parameters(c, q));
    CHECK_MESSAGE("'w/b' is f32[3] in the checkpoint, f32[4] in the model");
    CHECK(rgm_tensor_f32(rgm_parameters_find(q, "w/a"))[2] == 1);
    rgm_checkpoint_release(c);
    rgm_parameters_release(p);
    rgm_parameters_release(q);
    rgm_cgraph_release(graph);
    rgm_cgraph_release(other);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void what_was_detached_no_longer_changes(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = open_store(folder, 1);
    rgm_tensor *w = filled(3, 5), *loaded;
    rgm_status status = RGM_ERR_NOMEM;
    rgm_checkpoint *c;

    (void)state;
    CHECK_OK(rgm_checkpoint_create(&c, 1));
    CHECK_OK(rgm_checkpoint_add_weight(c, "w/a", w));
    CHECK_OK(rgm_checkpoint_add_slot(c, "w/b", w));
    for (int i = 0; i < 9; i++) { /* ten: a map with no room for one more */
        char name[20];

        snprintf(name, sizeof name, "w/%d", i);
        CHECK_OK(rgm_checkpoint_add_weight(c, name, w));
    }
    for (int64_t at = 0; status == RGM_ERR_NOMEM; at++) { /* half of it may be done, and counts */
        rgm_memory_fail_at(at, false);
        status = rgm_checkpoint_detach(c);
        rgm_memory_fail_at(-1, false);
    }
    CHECK_OK(status);
    rgm_tensor_f32(w)[0] = -1;
    rgm_tensor_release(w);
    CHECK_OK(rgm_checkpoint_save(store, c));
    rgm_checkpoint_release(c);
    CHECK_OK(rgm_checkpoint_load_newest(&c, store));
    CHECK_OK(rgm_safetensors_get(&loaded, rgm_checkpoint_weights(c), "w/a"));
    CHECK(rgm_tensor_f32(loaded)[0] == 5);
    rgm_tensor_release(loaded);
    CHECK_OK(rgm_safetensors_get(&loaded, rgm_checkpoint_slots(c), "w/b"));
    CHECK(rgm_tensor_f32(loaded)[0] == 5);
    rgm_tensor_release(loaded);
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

static void saving_and_loading_survive_every_failing_allocation(void **state)
{
    const char *folder = check_folder();
    rgm_checkpoint_store *store = NULL;
    rgm_checkpoint *c = NULL, *loaded = NULL;
    char at[256];

    (void)state;
    snprintf(at, sizeof at, "%s/step-00000006", folder);
    CHECK_EVERY_OOM(rgm_checkpoint_store_open(&store, folder, NULL),
                    rgm_checkpoint_store_close(store));
    store = open_store(folder, 1);
    CHECK_OK(make(&c, 6, false));
    CHECK_EVERY_OOM(rgm_checkpoint_save(store, c), (void)0);
    CHECK_EVERY_OOM(rgm_checkpoint_load(&loaded, at), rgm_checkpoint_release(loaded));
    CHECK_OK(rgm_checkpoint_load_newest(&loaded, store));
    rgm_checkpoint_release(loaded);
    rgm_checkpoint_release(c);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(what_is_saved_comes_back), cmocka_unit_test(numbers_keep_their_bits),
      cmocka_unit_test(the_bytes_depend_on_the_content_alone),
      cmocka_unit_test(what_fills_a_checkpoint_comes_and_goes_with_it),
      cmocka_unit_test(every_flipped_bit_is_detected),
      cmocka_unit_test(a_damaged_checkpoint_is_skipped_with_a_warning),
      cmocka_unit_test(values_come_without_the_tensors),
      cmocka_unit_test(weights_come_without_the_slots),
      cmocka_unit_test(a_damaged_step_is_replaced_when_it_is_reached_again),
      cmocka_unit_test(retention_keeps_the_newest),
      cmocka_unit_test(what_was_taken_back_is_set_aside_until_the_run_has_gone_on),
      cmocka_unit_test(one_every_so_many_hours_is_kept_for_good),
      cmocka_unit_test(what_an_interrupted_save_left_is_swept),
      cmocka_unit_test(an_unknown_version_is_refused_naming_both),
      cmocka_unit_test(a_renamed_checkpoint_is_not_taken_for_another_step),
      cmocka_unit_test(wrong_names_are_refused), cmocka_unit_test(crafted_manifests_are_refused),
      cmocka_unit_test(values_are_read_out_of_a_manifest_alone),
      cmocka_unit_test(a_manifest_of_very_many_values_and_files_is_read_in_no_time),
      cmocka_unit_test(weights_go_back_into_parameters_or_nowhere),
      cmocka_unit_test(what_was_detached_no_longer_changes),
      cmocka_unit_test(saving_and_loading_survive_every_failing_allocation))
