/*
 * Experiments of every task type on a device whose memory is not the host's: each leaves the bytes
 * that it leaves on the CPU, also when it is stopped there and goes on on the other.
 */
#include "far_device_check.h"

#include "tasks_check.h"

static void every_task_type_leaves_the_bytes_of_the_cpu(void **state)
{
    const char *folder = check_fast_folder();

    (void)state;
    CHECK(chdir(folder) == 0);
    write_records();
    for (size_t i = 0; i < sizeof task_cases / sizeof *task_cases; i++) {
        const struct experiment_case *c = &task_cases[i];

        print_message("[          ] %s\n", c->name);
        CHECK_INT(RGM_OK, run_case(c, "here", NULL, -1));
        CHECK_INT(RGM_OK, run_case(c, "there", far.device, -1));
        check_same_run("here", "there");
        CHECK_INT(RGM_STOPPED, run_case(c, "turns", far.device, 2));
        if (run_case(c, "turns", NULL, 1) == RGM_STOPPED)
            CHECK_INT(RGM_OK, run_case(c, "turns", far.device, -1));
        check_same_run("here", "turns");
        CHECK_OK(rgm_folder_remove("here"));
        CHECK_OK(rgm_folder_remove("there"));
        CHECK_OK(rgm_folder_remove("turns"));
    }
    CHECK(atomic_load(&far.calls) > 10000);
    CHECK(chdir("/") == 0);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(FAR(every_task_type_leaves_the_bytes_of_the_cpu))
