/* explanations/: one at a time, the newest first, and nothing that a page cannot draw. */
#include <fcntl.h>

#include "tab_check.h"

static rgm_json *explanations(const char *folder, const char *name)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_explanations(&out, folder, name));
    return parsed(&out);
}

#define HEAD                                                                                       \
    "{\"part\":\"test\",\"item\":2,\"node\":7,\"output\":\"logits\",\"class\":\"<b>\","            \
    "\"method\":\"gradient\",\"weights\":\"best\",\"step\":40,\"value\":1.5,\"nothing\":null,"     \
    "\"left\":\"x\","                                                                              \
    "\"edge_total\":9,\"feature_total\":1,"
#define NODES                                                                                      \
    "\"nodes\":[{\"set\":\"a\",\"name\":\"7\",\"asked\":true},{\"set\":\"a\",\"name\":\"8\"}],"
#define EDGES(to) "\"edges\":[{\"set\":\"cites\",\"from\":1,\"to\":" to ",\"score\":-0.5}],"
#define FEATURES                                                                                   \
    "\"features\":[{\"set\":\"a\",\"feature\":\"x\",\"item\":null,\"column\":3,\"score\":0.25}]}"

static void the_newest_is_told_or_the_one_that_is_asked_for(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = explanations(folder, NULL);
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    const rgm_json *e;
    char path[300];

    (void)state;
    CHECK_INT(0, count_of(answer, "names"));
    CHECK(text_of(answer, "name") == NULL && text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "explanations/test-1-mask.json", HEAD NODES EDGES("0") FEATURES);
    keep(folder, "explanations/test-2-gradient.json", HEAD NODES EDGES("0") FEATURES);
    keep(folder, "explanations/notes.txt", "no explanation");
    snprintf(path, sizeof path, "%s/explanations/test-2-gradient.json", folder);
    CHECK_INT(0, utimensat(AT_FDCWD, path, old, 0));
    answer = explanations(folder, NULL);
    CHECK_INT(2, count_of(answer, "names"));
    CHECK_INT(2, int_of(answer, "total"));
    CHECK_TEXT("test-1-mask", text_of(answer, "name"));
    rgm_json_release(answer);
    answer = explanations(folder, "test-2-gradient");
    CHECK_TEXT("test-2-gradient", text_of(answer, "name"));
    e = rgm_json_find(answer, "explanation");
    CHECK_TEXT("<b>", text_of(e, "class"));
    CHECK_TEXT("best", text_of(e, "weights"));
    CHECK_CLOSE(2, number_of_key(e, "item"), 0, 0);
    CHECK_CLOSE(1.5, number_of_key(e, "value"), 0, 0);
    CHECK(isnan(number_of_key(e, "nothing")) && isnan(number_of_key(e, "left")));
    CHECK(bool_of(item_of(e, "nodes", 0), "asked") && !bool_of(item_of(e, "nodes", 1), "asked"));
    CHECK_INT(1, int_of(item_of(e, "edges", 0), "from"));
    CHECK_CLOSE(-0.5, number_of_key(item_of(e, "edges", 0), "score"), 0, 0);
    CHECK_TEXT("x", text_of(item_of(e, "features", 0), "feature"));
    CHECK(text_of(item_of(e, "features", 0), "item") == NULL);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static void check_damage(const char *folder, const char *text, const char *said)
{
    rgm_json *answer;

    keep(folder, "explanations/test-1-mask.json", text);
    answer = explanations(folder, NULL);
    CHECK(!rgm_json_is_object(rgm_json_find(answer, "explanation")));
    CHECK(text_of(answer, "damage") != NULL && strstr(text_of(answer, "damage"), said) != NULL);
    rgm_json_release(answer);
}

static void what_is_no_explanation_is_told(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    check_damage(folder, HEAD NODES EDGES("2") FEATURES, "an edge has no node at its end 'to'");
    check_damage(folder, HEAD NODES EDGES("0.5") FEATURES, "no node at its end");
    check_damage(folder, HEAD EDGES("0") FEATURES, "no node at its end");
    check_damage(folder, "[1]", "no explanation");
    check_damage(folder, "{\"part\":", "test-1-mask.json");
    answer = explanations(folder, "../../secret");
    CHECK(text_of(answer, "name") == NULL && text_of(answer, "damage") == NULL);
    CHECK(!rgm_json_is_object(rgm_json_find(answer, "explanation")));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status tell_newest(rgm_text *out, const char *folder)
{
    return rgmi_tell_explanations(out, folder, NULL);
}

static rgm_status tell_once(const char *folder)
{
    rgm_text out = {0};
    rgm_status status = tell_newest(&out, folder);

    rgm_text_clear(&out);
    return status;
}

/* No more than a picture holds, whatever the file has; hostile files; no memory. */
static void large_and_hostile_folders_cost_little(void **state)
{
    const char *folder = check_folder();
    rgm_text text = {0};
    rgm_json *answer;

    (void)state;
    CHECK_OK(rgm_text_printf(&text, "%s", HEAD NODES "\"edges\":["));
    for (int i = 0; i < 1000; i++)
        CHECK_OK(rgm_text_printf(&text, "%s{\"from\":0,\"to\":1,\"score\":1}", i > 0 ? "," : ""));
    CHECK_OK(rgm_text_printf(&text, "],%s", FEATURES));
    keep(folder, "explanations/test-1-mask.json", text.data);
    rgm_text_clear(&text);
    answer = explanations(folder, NULL);
    CHECK_INT(300, count_of(rgm_json_find(answer, "explanation"), "edges"));
    rgm_json_release(answer);
    keep(folder, "explanations/test-1-mask.json", HEAD NODES EDGES("0") FEATURES);
    CHECK_EVERY_OOM(tell_once(folder), );
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(the_newest_is_told_or_the_one_that_is_asked_for),
      cmocka_unit_test(what_is_no_explanation_is_told),
      cmocka_unit_test(large_and_hostile_folders_cost_little))
