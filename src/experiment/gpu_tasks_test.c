/*
 * Experiments of every task type on a device that compiles its kernels: two runs leave the same
 * bytes, so does one that is stopped and goes on, and what they come to is what the CPU does.
 *
 *     REGIMEN_DEVICE=cuda:0 gpu_tasks_test      on which device; opencl:0 otherwise
 */
#include "tasks_check.h"

#include <math.h>
#include "device_check.h"

/* The number of that name in the last line of a split. */
static double last_of(const char *folder, const char *split, const char *name)
{
    char path[300], want[64], *data, *line, *rest;
    double value = NAN;
    int64_t size;

    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    snprintf(want, sizeof want, "\"split\":\"%s\"", split);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 24));
    for (line = strtok_r(data, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        rgm_json *json;

        if (strstr(line, want) == NULL)
            continue;
        CHECK_OK(rgm_json_parse(&json, line, (int64_t)strlen(line), path));
        CHECK(rgm_json_number(&value, rgm_json_find(json, name)));
        rgm_json_release(json);
    }
    rgm_free(data);
    return value;
}

static void every_task_type_trains_there(void **state)
{
    rgm_device *device = check_device();
    const char *folder = check_fast_folder();

    (void)state;
    CHECK(chdir(folder) == 0);
    write_records();
    for (size_t i = 0; i < sizeof task_cases / sizeof *task_cases; i++) {
        const struct experiment_case *c = &task_cases[i];

        print_message("[          ] %s\n", c->name);
        CHECK_INT(RGM_OK, run_case(c, "here", NULL, -1));
        CHECK_INT(RGM_OK, run_case(c, "there", device, -1));
        CHECK_INT(RGM_STOPPED, run_case(c, "turns", device, 2));
        CHECK_INT(RGM_OK, run_case(c, "turns", device, -1));
        check_same_run("there", "turns");
        double want = last_of("here", "train", "loss"), got = last_of("there", "train", "loss");
        if (!(fabs(got - want) <= c->tolerance * fabs(want)))
            fail_msg("%s: the loss is %.9g there, %.9g on the CPU", c->name, got, want);
        CHECK_INT(RGM_STOPPED, run_case(c, "both", device, 2)); /* the CPU goes on */
        CHECK_INT(RGM_OK, run_case(c, "both", NULL, -1));
        got = last_of("both", "train", "loss");
        if (!(fabs(got - want) <= c->tolerance * fabs(want)))
            fail_msg("%s: the loss is %.9g on both, %.9g on the CPU", c->name, got, want);
        CHECK_OK(rgm_folder_remove("both"));
        CHECK_INT(RGM_STOPPED, run_case(c, "both", NULL, 2)); /* and the other way round */
        CHECK_INT(RGM_OK, run_case(c, "both", device, -1));
        got = last_of("both", "train", "loss");
        if (!(fabs(got - want) <= c->tolerance * fabs(want)))
            fail_msg("%s: the loss is %.9g behind the CPU's, %.9g on it", c->name, got, want);
        CHECK_OK(rgm_folder_remove("here"));
        CHECK_OK(rgm_folder_remove("there"));
        CHECK_OK(rgm_folder_remove("turns"));
        CHECK_OK(rgm_folder_remove("both"));
    }
    rgm_device_release(device);
    CHECK(chdir("/") == 0);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(every_task_type_trains_there))
