/* Histograms and sample translations out of event files: of restarts, of long runs, of damage. */
#include <fcntl.h>
#include <regimen/store.h>

#include "tab_check.h"

static rgm_json *histograms(const char *folder, rgmi_kept_cache *cache, const char *tag)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_histograms(&out, folder, cache, tag));
    return parsed(&out);
}

static rgm_json *samples(const char *folder)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_samples(&out, folder, NULL));
    return parsed(&out);
}

/* A start: a histogram of {0, scale} every `every` steps. */
static void train(const char *folder, int64_t first, int64_t last, int64_t every, float scale)
{
    rgm_event_file *file;
    rgm_tensor *tensor;
    char path[512];

    snprintf(path, sizeof path, "%s/train", folder);
    CHECK_OK(rgm_tensor_create(&tensor, RGM_F32, 1, (int64_t[]){2}));
    rgm_tensor_f32(tensor)[0] = 0;
    rgm_tensor_f32(tensor)[1] = scale;
    CHECK_OK(rgm_event_file_create(&file, path, first > 1 ? first : 0));
    for (int64_t step = first; step <= last; step += every) {
        CHECK_OK(rgm_event_file_scalar(file, "epoch_loss", step, 1));
        CHECK_OK(rgm_event_file_histogram(file, "conv1.weight", step, tensor));
        CHECK_OK(rgm_event_file_histogram(file, "gradients/conv1.weight", step, tensor));
    }
    CHECK_OK(rgm_event_file_flush(file));
    rgm_event_file_close(file);
    rgm_tensor_release(tensor);
}

static void tags_and_steps_are_told(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = histograms(folder, NULL, NULL);
    const rgm_json *step;

    (void)state;
    CHECK_INT(0, count_of(answer, "tags"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    train(folder, 1, 3, 1, 3);
    answer = histograms(folder, NULL, NULL);
    CHECK_INT(2, count_of(answer, "tags"));
    CHECK_TEXT("conv1.weight", text_of(item_of(answer, "tags", 0), "tag"));
    CHECK_TEXT("weight", text_of(item_of(answer, "tags", 0), "kind"));
    CHECK_TEXT("gradient", text_of(item_of(answer, "tags", 1), "kind"));
    rgm_json_release(answer);
    answer = histograms(folder, NULL, "conv1.weight");
    CHECK_INT(3, int_of(answer, "total"));
    CHECK_INT(3, count_of(answer, "steps"));
    step = item_of(answer, "steps", 1);
    CHECK_INT(2, int_of(step, "step"));
    CHECK(fabs(number_of_key(step, "time") - rgm_wall_time()) < 60);
    CHECK_INT(31, count_of(step, "limits"));
    CHECK_INT(30, count_of(step, "counts"));
    for (int64_t i = 0; i <= 30; i++) {
        double limit = NAN, count = NAN;

        CHECK(rgm_json_number(&limit, item_of(step, "limits", i)));
        CHECK_CLOSE((double)i / 10, limit, 1e-9, 1e-12);
        if (i < 30)
            CHECK(rgm_json_number(&count, item_of(step, "counts", i)));
        CHECK(i == 30 || count == (i == 0 || i == 29 ? 1 : 0));
    }
    rgm_json_release(answer);
    answer = histograms(folder, NULL, "<nothing>");
    CHECK_INT(0, count_of(answer, "steps"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Killed behind step 30 with its last checkpoint at 20, as the test of tensorboard's own reader. */
static void lost_work_is_left_out(void **state)
{
    static const int64_t want[] = {10, 20, 21, 31, 41, 51};
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    train(folder, 10, 30, 10, 100);
    train(folder, 21, 51, 10, 3);
    for (int round = 0; round < 2; round++) {
        answer = histograms(folder, NULL, round == 0 ? "conv1.weight" : "gradients/conv1.weight");
        CHECK_INT(6, count_of(answer, "steps"));
        for (int64_t i = 0; i < 6; i++) {
            CHECK_INT(want[i], int_of(item_of(answer, "steps", i), "step"));
            CHECK_CLOSE(want[i] <= 20 ? 100 : 3, number_of_key(item_of(answer, "steps", i), "max"),
                        0, 0);
        }
        rgm_json_release(answer);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_long_run_is_told_in_a_hundred_steps(void **state)
{
    const char *folder = check_folder();
    rgmi_kept_cache *cache;
    rgm_json *answer;
    int64_t before = 0;

    (void)state;
    CHECK_OK(rgmi_kept_cache_create(&cache, 1 << 22));
    train(folder, 1, 5000, 1, 3);
    answer = histograms(folder, cache, "conv1.weight");
    CHECK_INT(5000, int_of(answer, "total"));
    CHECK_INT(RGMI_TOLD_STEPS, count_of(answer, "steps"));
    CHECK_INT(1, int_of(item_of(answer, "steps", 0), "step"));
    CHECK_INT(5000, int_of(item_of(answer, "steps", RGMI_TOLD_STEPS - 1), "step"));
    for (int64_t i = 1; i < RGMI_TOLD_STEPS; i++) {
        int64_t step = int_of(item_of(answer, "steps", i), "step");

        CHECK(i == 1 || (step - before >= 50 && step - before <= 51));
        before = step;
    }
    rgm_json_release(answer);
    train(folder, 4001, 4200, 1, 3); /* taken back, and longer by what is new */
    answer = histograms(folder, cache, "conv1.weight");
    CHECK_INT(4200, int_of(answer, "total"));
    CHECK_INT(4200, int_of(item_of(answer, "steps", RGMI_TOLD_STEPS - 1), "step"));
    rgm_json_release(answer);
    CHECK(rgmi_kept_cache_bytes(cache) > 0);
    rgmi_kept_cache_release(cache);
    CHECK_OK(rgm_folder_remove(folder));
}

static const char *only_file(const char *folder, const char *name)
{
    static char path[1024];
    rgmi_kept_list list;

    CHECK_OK(rgmi_kept_list_load(&list, folder, name));
    CHECK(list.count > 0);
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, list.entries[0].name);
    rgmi_kept_list_clear(&list);
    return path;
}

static void what_is_damaged_is_told_and_what_is_before_it_shown(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;
    int64_t size;
    char *data;
    int fd;

    (void)state;
    train(folder, 1, 3, 1, 3);
    CHECK_OK(rgm_file_load(&data, &size, only_file(folder, "train"), 1 << 20));
    fd = open(only_file(folder, "train"), O_WRONLY);
    CHECK(fd >= 0);
    CHECK_INT(1, pwrite(fd, "?", 1, size - 700)); /* of the last step's */
    close(fd);
    answer = histograms(folder, NULL, "conv1.weight");
    CHECK_INT(2, count_of(answer, "steps"));
    CHECK(strstr(text_of(answer, "damage"), "record at byte") != NULL);
    rgm_json_release(answer);
    rgm_free(data);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status tell_weight(rgm_text *out, const char *folder)
{
    return rgmi_tell_histograms(out, folder, NULL, "w");
}

static rgm_status tell_samples(rgm_text *out, const char *folder)
{
    return rgmi_tell_samples(out, folder, NULL);
}

static void links_in_the_place_of_folders_are_not_followed(void **state)
{
    const char *folder = check_folder();
    char path[512], to[512];
    rgm_json *answer;

    (void)state;
    train(folder, 1, 1, 1, 3);
    snprintf(path, sizeof path, "%s/moved", folder);
    snprintf(to, sizeof to, "%s/train", folder);
    CHECK_INT(0, rename(to, path));
    CHECK_INT(0, symlink("moved", to));
    answer = histograms(folder, NULL, NULL);
    CHECK_INT(0, count_of(answer, "tags"));
    CHECK(strstr(text_of(answer, "damage"), "'train' is a link") != NULL);
    rgm_json_release(answer);
    unlink(to);
    CHECK_OK(rgm_folder_make(to)); /* and its files: pipes and links are no files of the list */
    snprintf(path, sizeof path, "%s/train/events.out.tfevents.1", folder);
    CHECK_INT(0, mkfifo(path, 0600));
    answer = histograms(folder, NULL, NULL);
    CHECK_INT(0, count_of(answer, "tags"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- samples ------------------------------------------------------------------------------- */

/* A validation's texts, as runs write them. */
static void validate(const char *folder, int64_t first, int64_t last, int64_t pairs)
{
    rgm_event_file *file;
    char path[512], tag[32], text[256];

    snprintf(path, sizeof path, "%s/validation", folder);
    CHECK_OK(rgm_event_file_create(&file, path, first > 1 ? first : 0));
    for (int64_t step = first; step <= last; step++) {
        for (int64_t k = 0; k < pairs; k++) {
            snprintf(tag, sizeof tag, "pair_%lld", (long long)(k * 10 + 1));
            snprintf(text, sizeof text,
                     "source: s%lld <b>  \ntranslation: t%lld from %lld: x  \nreference: r",
                     (long long)k, (long long)step, (long long)first);
            CHECK_OK(rgm_event_file_text(file, tag, step, text));
        }
        CHECK_OK(rgm_event_file_text(file, "note", step, "source: no"));
    }
    CHECK_OK(rgm_event_file_flush(file));
    rgm_event_file_close(file);
}

static void texts_of_event_files_become_samples(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = samples(folder);
    const rgm_json *step, *sample;

    (void)state;
    CHECK_INT(0, count_of(answer, "steps"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    validate(folder, 1, 5, 3);
    validate(folder, 4, 6, 3); /* a restart */
    answer = samples(folder);
    CHECK_INT(6, int_of(answer, "total"));
    CHECK_INT(6, count_of(answer, "steps"));
    for (int64_t i = 0; i < 6; i++) {
        char want[64];

        step = item_of(answer, "steps", i);
        CHECK_INT(i + 1, int_of(step, "step"));
        CHECK_TEXT("valid", text_of(step, "split"));
        CHECK(fabs(number_of_key(step, "time") - rgm_wall_time()) < 60);
        CHECK_INT(3, count_of(step, "samples"));
        sample = item_of(step, "samples", 2);
        CHECK_TEXT("s2 <b>", text_of(sample, "source"));
        snprintf(want, sizeof want, "t%lld from %d: x", (long long)i + 1, i < 3 ? 1 : 4);
        CHECK_TEXT(want, text_of(sample, "translation"));
        CHECK_TEXT("r", text_of(sample, "reference"));
        CHECK(rgm_json_is_object(rgm_json_find(sample, "scores")));
    }
    rgm_json_release(answer);
    validate(folder, 7, 1000, 1);
    answer = samples(folder);
    CHECK_INT(1000, int_of(answer, "total"));
    CHECK_INT(RGMI_TOLD_STEPS, count_of(answer, "steps"));
    CHECK_INT(1000, int_of(item_of(answer, "steps", RGMI_TOLD_STEPS - 1), "step"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status tell_once(rgm_status (*told)(rgm_text *out, const char *folder),
                            const char *folder)
{
    rgm_text out = {0};
    rgm_status status = told(&out, folder);

    rgm_text_clear(&out);
    return status;
}

static rgm_status tell_conv1(rgm_text *out, const char *folder)
{
    return rgmi_tell_histograms(out, folder, NULL, "conv1.weight");
}

static rgm_status tell_tags(rgm_text *out, const char *folder)
{
    return rgmi_tell_histograms(out, folder, NULL, NULL);
}

static void hostile_folders_and_failing_allocations_are_told(void **state)
{
    const char *folder = check_folder();

    (void)state;
    check_hostile(folder, "tables.jsonl", tell_samples);
    train(folder, 1, 2, 1, 3);
    validate(folder, 1, 2, 1);
    CHECK_EVERY_OOM(tell_once(tell_conv1, folder), );
    CHECK_EVERY_OOM(tell_once(tell_tags, folder), );
    CHECK_EVERY_OOM(tell_once(tell_weight, folder), );
    CHECK_EVERY_OOM(tell_once(tell_samples, folder), );
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(tags_and_steps_are_told), cmocka_unit_test(lost_work_is_left_out),
      cmocka_unit_test(a_long_run_is_told_in_a_hundred_steps),
      cmocka_unit_test(what_is_damaged_is_told_and_what_is_before_it_shown),
      cmocka_unit_test(links_in_the_place_of_folders_are_not_followed),
      cmocka_unit_test(texts_of_event_files_become_samples),
      cmocka_unit_test(hostile_folders_and_failing_allocations_are_told))
