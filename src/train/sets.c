/*
 * Sets of files to train and evaluate on, beside the parts of the data: their numbers, keys,
 * weights and checks.
 */
#include <string.h>

#include <regimen/train.h>

/* The list that has set i, its part, and its index there. */
static const rgm_lists *list_of(const rgm_file_sets *sets, int64_t i, rgm_mode *mode, int64_t *at)
{
    bool valid = i < sets->valid->count;

    *mode = valid ? RGM_VALID : RGM_TEST;
    *at = valid ? i : i - sets->valid->count;
    return valid ? sets->valid : sets->test;
}

int64_t rgm_file_sets_count(const rgm_file_sets *sets)
{
    return sets->valid->count + sets->test->count;
}

void rgm_file_sets_list(rgm_eval_set *out, int64_t *count, const rgm_file_sets *sets)
{
    *count = rgm_file_sets_count(sets);
    for (int64_t i = 0; i < *count; i++) {
        int64_t at;
        const rgm_lists *list = list_of(sets, i, &out[i].mode, &at);

        out[i].name = list->names[at];
    }
}

const rgm_texts *rgm_file_sets_files(const rgm_file_sets *sets, int64_t i)
{
    rgm_mode mode;
    int64_t at;
    const rgm_lists *list = list_of(sets, i, &mode, &at);

    return &list->items[at];
}

rgm_status rgm_file_sets_key(char **key, const rgm_file_sets *sets, int64_t i)
{
    rgm_mode mode;
    int64_t at;
    const rgm_lists *list = list_of(sets, i, &mode, &at);

    return rgm_strprintf(key, "data.%s_sets.%s", rgm_mode_name(mode), list->names[at]);
}

/* Refuse a name that messages and metrics could confuse with another. */
static rgm_status check_name(const rgm_lists *list, int64_t at, const char *part)
{
    const char *name = list->names[at];

    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        if (strcmp(name, rgm_mode_name((rgm_mode)mode)) == 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "data.%s_sets.%s: '%s' is the name of a part; call the set otherwise",
                            part, name, name);
    for (int64_t i = 0; i < at; i++)
        if (strcmp(name, list->names[i]) == 0)
            return RGM_FAIL(RGM_ERR_CONFIG, "data.%s_sets: two sets are named '%s'", part, name);
    return RGM_OK;
}

static rgm_status check_list(const rgm_lists *list, bool beside, const char *part)
{
    if (list->count > 0 && !beside)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.%s_sets stand beside data.%s, which is not set", part,
                        part);
    for (int64_t i = 0; i < list->count; i++) {
        if (list->items[i].count == 0)
            return RGM_FAIL(RGM_ERR_CONFIG, "data.%s_sets.%s names no file", part, list->names[i]);
        RGM_TRY(check_name(list, i, part));
    }
    return RGM_OK;
}

rgm_status rgm_file_sets_check(const rgm_file_sets *sets, bool has_valid, bool has_test)
{
    if (rgm_file_sets_count(sets) > RGM_MAX_EVAL_SETS) /* before each is compared with each */
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.valid_sets and test_sets have %lld sets together; %d are the most",
                        (long long)rgm_file_sets_count(sets), RGM_MAX_EVAL_SETS);
    RGM_TRY(check_list(sets->valid, has_valid, "valid"));
    return check_list(sets->test, has_test, "test");
}

static rgm_status check_weight(const rgm_train_sets *sets, const char *name)
{
    bool known = sets->has_train && strcmp(name, "train") == 0;

    for (int64_t i = 0; i < sets->sets->count; i++)
        known |= strcmp(name, sets->sets->names[i]) == 0;
    if (known)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "data.weights.%s: no training data of that name%s; they are by name in "
                    "data.train_sets",
                    name, sets->has_train ? " but data.train" : "");
}

rgm_status rgm_train_sets_check(const rgm_train_sets *sets)
{
    for (int64_t i = 0; i < sets->sets->count; i++) {
        if (sets->sets->items[i].count == 0)
            return RGM_FAIL(RGM_ERR_CONFIG, "data.train_sets.%s names no file",
                            sets->sets->names[i]);
        if (strcmp(sets->sets->names[i], "train") == 0)
            return RGM_FAIL(RGM_ERR_CONFIG, "data.train_sets: 'train' is the name of data.train");
    }
    for (int64_t i = 0; i < sets->weights->count; i++)
        RGM_TRY(check_weight(sets, sets->weights->names[i]));
    return RGM_OK;
}

double rgm_train_sets_weight(const rgm_train_sets *sets, const char *name)
{
    for (int64_t i = 0; i < sets->weights->count; i++)
        if (strcmp(sets->weights->names[i], name) == 0)
            return sets->weights->values[i];
    return 1;
}
