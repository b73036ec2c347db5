/*
 * Which processors make a slot, on machines that were written down: without and with two processors
 * a core (numbered side by side, and the second half behind the first), two packages, parts of a
 * machine.
 */
#include "check.h"
#include "cpus.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 256

/* A machine as the system numbers it: cores of a package first, all packages, then the second
 * processors of the cores (`behind`) or each beside the first. */
static int64_t machine(rgmi_cpu *cpus, int packages, int cores, int per_core, bool behind)
{
    int64_t n = (int64_t)packages * cores * per_core;

    for (int i = 0; i < (int)n; i++) {
        int core = behind ? i % (packages * cores) : i / per_core;

        cpus[i] =
            (rgmi_cpu){.cpu = i, .core = behind ? core : core * per_core, .package = core / cores};
    }
    return n;
}

/* "0 1|2 3": the processors of each slot. */
static void check_slots(const char *expected, const rgmi_cpu *cpus, int64_t n, int64_t count,
                        int64_t threads)
{
    rgmi_slots slots;
    rgm_text text = {0};

    CHECK_OK(rgmi_slots_divide(&slots, cpus, n, count, threads));
    for (int64_t s = 0; s < slots.num_slots; s++)
        for (int64_t i = 0; i < slots.slots[s].count; i++)
            CHECK_OK(rgm_text_printf(&text, "%s%d",
                                     i > 0   ? " "
                                     : s > 0 ? "|"
                                             : "",
                                     slots.cpus[slots.slots[s].first + i].cpu));
    CHECK_TEXT(expected, text.data);
    rgm_text_clear(&text);
    rgmi_slots_clear(&slots);
}

static void slots_are_cores(void **state)
{
    rgmi_cpu cpus[MOST];
    int64_t n = machine(cpus, 1, 4, 1, false);

    (void)state;
    check_slots("0|1|2|3", cpus, n, 0, 0);
    check_slots("0 1|2 3", cpus, n, 2, 0);
    check_slots("0 1|2 3", cpus, n, 0, 2);
    check_slots("0|1", cpus, n, 2, 1); /* two are left to others */
    check_slots("0 1 2", cpus, n, 0, 3);
    n = machine(cpus, 1, 2, 1, false);
    check_slots("0|1", cpus, n, 0, 0);
}

static void siblings_stay_together(void **state)
{
    rgmi_cpu cpus[MOST];
    int64_t n = machine(cpus, 1, 4, 2, true); /* cores 0 4, 1 5, 2 6, 3 7 */

    (void)state;
    check_slots("0 4|1 5|2 6|3 7", cpus, n, 4, 1); /* a thread a core, with its sibling */
    check_slots("0 4 1 5|2 6 3 7", cpus, n, 2, 2);
    check_slots("0 4|1 5|2 6|3 7", cpus, n, 4, 2);
    check_slots("0 4 1 5|2 6 3 7", cpus, n, 2, 4);
    check_slots("0|4|1|5|2|6|3|7", cpus, n, 8, 1);
    n = machine(cpus, 1, 4, 2, false); /* cores 0 1, 2 3, ... */
    check_slots("0 1|2 3|4 5|6 7", cpus, n, 4, 1);
    check_slots("0 1 2|3 4 5", cpus, n, 2, 3); /* more threads than cores */
}

static void packages_are_not_bridged(void **state)
{
    rgmi_cpu cpus[MOST];
    int64_t n = machine(cpus, 2, 3, 1, false);

    (void)state;
    check_slots("0 1|3 4", cpus, n, 2, 2);
    check_slots("0 1|2 3|4 5", cpus, n, 3, 2); /* as otherwise one has no place */
    check_slots("0 1 2|3 4 5", cpus, n, 2, 3);
    n = machine(cpus, 2, 2, 2, true); /* packages 0 4 1 5 and 2 6 3 7 */
    check_slots("0 4 1 5|2 6 3 7", cpus, n, 2, 4);
}

static void a_part_of_a_machine_is_enough(void **state)
{
    static const rgmi_cpu cpus[] = {{7, 3, 0}, {9, 9, 1}, {3, 3, 0}, {12, 12, 1}};
    rgmi_slots slots;

    (void)state;
    check_slots("3 7|9|12", cpus, 4, 3, 1);
    check_slots("3|7|9|12", cpus, 4, 4, 1);
    CHECK_OK(rgmi_slots_divide(&slots, cpus, 4, 3, 2)); /* six threads on four processors */
    CHECK(slots.is_overdrawn);
    CHECK_INT(3, slots.num_slots);
    for (int64_t s = 0; s < 3; s++)
        CHECK_INT(4, slots.slots[s].count);
    rgmi_slots_clear(&slots);
    CHECK_OK(rgmi_slots_divide(&slots, cpus, 4, 0, 9));
    CHECK_INT(1, slots.num_slots);
    CHECK(slots.is_overdrawn);
    rgmi_slots_clear(&slots);
    CHECK_OK(rgmi_slots_divide(&slots, cpus, 4, 9, 0));
    CHECK_INT(1, slots.threads);
    rgmi_slots_clear(&slots);
    CHECK_STATUS(RGM_ERR_ARG, rgmi_slots_divide(&slots, cpus, 4, -1, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgmi_slots_divide(&slots, cpus, 4, 0, INT64_MAX));
    CHECK_STATUS(RGM_ERR_ARG, rgmi_slots_divide(&slots, cpus, 0, 1, 1));
    CHECK_MESSAGE("1 slots of 1 threads on 0 processors");
}

/* No processor twice, as many as threads, and whole cores where there are enough. */
static void random_machines_are_divided(void **state)
{
    rgm_rng rng = rgm_rng_stream(11, "machines", 0);
    uint64_t at = 0;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        rgmi_cpu all[MOST], cpus[MOST];
        int packages = 1 + (int)rgm_rng_below(&rng, at++, 3);
        int cores = 1 + (int)rgm_rng_below(&rng, at++, 8);
        int per_core = 1 + (int)rgm_rng_below(&rng, at++, 2);
        int64_t n = machine(all, packages, cores, per_core, rgm_rng_below(&rng, at++, 2) > 0);
        int64_t count = 0, slot_count = (int64_t)rgm_rng_below(&rng, at++, 9);
        int64_t threads = (int64_t)rgm_rng_below(&rng, at++, 5);
        int owner[MOST] = {0};
        rgmi_slots slots;

        for (int64_t k = 0; k < n; k++)
            if (rgm_rng_below(&rng, at++, 4) > 0 || (k == n - 1 && count == 0))
                cpus[count++] = all[k];
        CHECK_OK(rgmi_slots_divide(&slots, cpus, count, slot_count, threads));
        CHECK(slots.num_slots >= 1 && slots.threads >= 1);
        CHECK(slot_count == 0 || slots.num_slots == slot_count);
        CHECK(threads == 0 || slots.threads == threads);
        CHECK_INT(slots.num_slots * slots.threads > count, slots.is_overdrawn);
        for (int64_t s = 0; s < slots.num_slots && !slots.is_overdrawn; s++) {
            CHECK(slots.slots[s].count >= slots.threads);
            for (int64_t k = 0; k < slots.slots[s].count; k++) {
                CHECK(slots.slots[s].first + k < count);
                CHECK_INT(0, owner[slots.cpus[slots.slots[s].first + k].cpu]++);
            }
        }
        rgmi_slots_clear(&slots);
    }
}

static void write_number(const char *folder, int cpu, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/cpu%d/topology", folder, cpu);
    CHECK_OK(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/cpu%d/topology/%s", folder, cpu, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
}

static void the_system_tells_of_cores(void **state)
{
    const char *folder = check_folder();
    rgmi_cpu *cpus;
    int64_t count, own = 0;
    cpu_set_t set;

    (void)state;
    CHECK_INT(0, sched_getaffinity(0, sizeof set, &set));
    while (!CPU_ISSET((size_t)own, &set))
        own++;
    write_number(folder, (int)own, "core_cpus_list", "5,9\n");
    write_number(folder, (int)own, "physical_package_id", "3\n");
    CHECK_OK(rgmi_cpus_find(&cpus, &count, folder));
    CHECK_INT(CPU_COUNT(&set), count);
    CHECK_INT(own, cpus[0].cpu);
    CHECK_INT(5, cpus[0].core);
    CHECK_INT(3, cpus[0].package);
    for (int64_t i = 1; i < count; i++) /* nothing is told of the others */
        CHECK_INT(cpus[i].cpu, cpus[i].core);
    rgm_free(cpus);
    write_number(folder, (int)own, "core_cpus_list", "none of your business\n");
    write_number(folder, (int)own, "physical_package_id", "-1\n");
    CHECK_OK(rgmi_cpus_find(&cpus, &count, folder));
    CHECK_INT(own, cpus[0].core);
    CHECK_INT(0, cpus[0].package);
    rgm_free(cpus);
    CHECK_EVERY_OOM(rgmi_cpus_find(&cpus, &count, folder), rgm_free(cpus));
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_process_keeps_to_its_slot(void **state)
{
    rgmi_cpu *cpus;
    rgmi_slots slots;
    int64_t count, last;
    cpu_set_t before, set;

    (void)state;
    CHECK_INT(0, sched_getaffinity(0, sizeof before, &before));
    CHECK_OK(rgmi_cpus_find(&cpus, &count, "/sys/devices/system/cpu"));
    CHECK_OK(rgmi_slots_divide(&slots, cpus, count, 0, 1));
    last = slots.num_slots - 1;
    CHECK_OK(rgmi_slots_bind(&slots, &last, 1, 0));
    CHECK_INT(0, sched_getaffinity(0, sizeof set, &set));
    CHECK_INT(slots.slots[last].count, CPU_COUNT(&set));
    CHECK(CPU_ISSET((size_t)slots.cpus[slots.slots[last].first].cpu, &set));
    CHECK_INT(0, sched_setaffinity(0, sizeof before, &before));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_slots_bind(&slots, &last, 1, 0x3fffffff));
    rgmi_slots_clear(&slots);
    CHECK_EVERY_OOM(rgmi_slots_divide(&slots, cpus, count, 2, 1), rgmi_slots_clear(&slots));
    rgm_free(cpus);
}

TESTS(cmocka_unit_test(slots_are_cores), cmocka_unit_test(siblings_stay_together),
      cmocka_unit_test(packages_are_not_bridged), cmocka_unit_test(a_part_of_a_machine_is_enough),
      cmocka_unit_test(random_machines_are_divided), cmocka_unit_test(the_system_tells_of_cores),
      cmocka_unit_test(a_process_keeps_to_its_slot))
