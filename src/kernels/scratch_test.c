/* The free list of scratch memory. */
#include "kernels_internal.h"
#include <check.h>

static void scratch_is_aligned_kept_and_refused_on_demand(void **state)
{
    void *a = rgmi_scratch_take(100000), *b;

    (void)state;
    CHECK(a != NULL && (uintptr_t)a % 64 == 0);
    memset(a, 1, 100000);
    rgmi_scratch_give(a);
    b = rgmi_scratch_take(90000);
    CHECK(b == a);
    rgmi_scratch_give(b);
    rgmi_scratch_fail(true);
    CHECK(rgmi_scratch_take(1) == NULL);
    rgmi_scratch_fail(false);
    rgmi_scratch_give(NULL);
    rgmi_scratch_clear();
}

TESTS(cmocka_unit_test(scratch_is_aligned_kept_and_refused_on_demand))
