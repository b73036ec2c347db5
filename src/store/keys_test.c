/*
 * The table of values that runs keep: no name appears twice, and each kind is restored as it was
 * saved.
 */
#include <check.h>

#include <regimen/store.h>

static void names_are_plain_and_stand_once(void **state)
{
    (void)state;
    for (int i = 0; i < RGM_KEY_COUNT; i++) {
        const char *name = rgm_run_keys[i].name;

        CHECK(strlen(name) == strspn(name, "abcdefghijklmnopqrstuvwxyz_"));
        CHECK(rgm_run_keys[i].meaning[0] != '\0');
        for (int k = 0; k < i; k++)
            CHECK(strcmp(name, rgm_run_keys[k].name) != 0);
    }
}

static void each_kind_comes_back(void **state)
{
    int64_t step = 12;
    bool finished = true;
    double best = 0.1;
    const char *metric = "valid.accuracy";
    rgm_str data = {"pos\0ition", 9};
    const rgm_key_place places[] = {{RGM_KEY_BEST_STEP, &step},
                                    {RGM_KEY_FINISHED, &finished},
                                    {RGM_KEY_BEST_VALUE, &best},
                                    {RGM_KEY_BEST_METRIC, &metric},
                                    {RGM_KEY_DATA, &data}};
    rgm_key_place missing = {RGM_KEY_EPOCH, &step};
    rgm_checkpoint *checkpoint;
    int64_t truth;

    (void)state;
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 0));
    CHECK_OK(rgm_checkpoint_set_keys(checkpoint, places, 5));
    CHECK_OK(rgm_checkpoint_int(&truth, checkpoint, "finished"));
    CHECK_INT(1, truth);
    step = 0;
    finished = false;
    best = 0;
    metric = NULL;
    data = (rgm_str){NULL, 0};
    CHECK_OK(rgm_checkpoint_get_keys(checkpoint, places, 5));
    CHECK_INT(12, step);
    CHECK(finished && best == 0.1);
    CHECK_TEXT("valid.accuracy", metric);
    CHECK_INT(9, data.size);
    CHECK(memcmp(data.data, "pos\0ition", 9) == 0);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_checkpoint_get_keys(checkpoint, &missing, 1));
    CHECK_MESSAGE("no integer 'epoch'");
    rgm_checkpoint_release(checkpoint);
}

TESTS(cmocka_unit_test(names_are_plain_and_stand_once), cmocka_unit_test(each_kind_comes_back))
