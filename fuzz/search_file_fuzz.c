/*
 * A search file from anywhere: what is taken has a text that is taken too and says the same, and
 * the file of a point of it can be had.
 */
#include <regimen/trial.h>

#include <string.h>

#include "target.h"

static void look_at_point(const rgm_search_file *file)
{
    rgm_hyper_value *values;
    rgm_mt19937 random;
    rgm_yaml *document = NULL;

    if (RGM_NEW(values, rgm_space_count(rgm_search_file_space(file))) != RGM_OK)
        return;
    rgm_mt19937_seed(&random, 1);
    if (rgm_space_draw(values, rgm_search_file_space(file), &random) == RGM_OK)
        (void)rgm_search_file_point(&document, file, values, 1);
    rgm_yaml_release(document);
    rgm_free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_search_file *file = NULL, *again = NULL;
    rgm_text mistakes = {0};
    const char *text;

    if (size > 1 << 16)
        return 0;
    if (rgm_search_file_parse(&file, &mistakes, (const char *)data, (int64_t)size, "input",
                              &rgm_trial_subject) == RGM_OK) {
        text = rgm_search_file_text(file);
        if (rgm_search_file_parse(&again, NULL, text, (int64_t)strlen(text), "input",
                                  &rgm_trial_subject) != RGM_OK ||
            strcmp(text, rgm_search_file_text(again)) != 0)
            __builtin_trap();
        look_at_point(file);
    }
    rgm_search_file_release(file);
    rgm_search_file_release(again);
    rgm_text_clear(&mistakes);
    rgm_error_reset();
    return 0;
}
