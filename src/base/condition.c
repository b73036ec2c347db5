/*
 * Waits of threads for each other that have a bound.
 */
#include <math.h>
#include <regimen/base_condition.h>

void rgm_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void rgm_deadline(struct timespec *out, double seconds)
{
    double whole = floor(seconds);

    clock_gettime(CLOCK_MONOTONIC, out);
    out->tv_sec += (time_t)whole;
    out->tv_nsec += (long)((seconds - whole) * 1e9);
    if (out->tv_nsec >= 1000000000) {
        out->tv_sec++;
        out->tv_nsec -= 1000000000;
    }
}
