/*
 * An experiment from anywhere: each line of the input is a --set over the named experiment demo.
 * What is taken is printed in full, and the print must load again with as many values.
 */
#include <regimen/experiment.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

#define MOST_SETS 64

/* A file in memory, since experiments are loaded by name. */
static rgm_status load_text(rgm_experiment **out, const rgm_text *text)
{
    char path[64];
    int fd = memfd_create("experiment", 0);
    rgm_status status;

    if (fd < 0)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    status = rgm_write_all(fd, text->data, text->size, path);
    if (status == RGM_OK)
        status = rgm_experiment_load(out, path, NULL, 0);
    close(fd);
    return status;
}

static void print_again(const rgm_experiment *experiment)
{
    const rgm_experiment_value *values;
    rgm_experiment *again = NULL;
    rgm_text text = {0};

    if (rgm_experiment_print(&text, experiment) != RGM_OK || load_text(&again, &text) != RGM_OK) {
        fprintf(stderr, "%s\n%s\n", rgm_error_message(), text.data != NULL ? text.data : "");
        __builtin_trap();
    }
    if (rgm_experiment_values(&values, experiment) != rgm_experiment_values(&values, again))
        __builtin_trap();
    rgm_experiment_release(again);
    rgm_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_experiment *experiment = NULL;
    const char *sets[MOST_SETS];
    int64_t count = 0;
    char *text = NULL;

    if (size > 4096 || rgm_strndup(&text, (const char *)data, size) != RGM_OK)
        return 0;
    for (char *line = text; line != NULL && count < MOST_SETS;) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end++ = '\0';
        sets[count++] = line;
        line = end;
    }
    if (rgm_experiment_load(&experiment, "demo", sets, count) == RGM_OK)
        print_again(experiment);
    rgm_experiment_release(experiment);
    rgm_free(text);
    return 0;
}
