/*
 * base: waits of threads for each other that have a bound. Not a part of base.h, since <pthread.h>
 * has names that programs use.
 */
#ifndef REGIMEN_BASE_CONDITION_H
#define REGIMEN_BASE_CONDITION_H

#include <pthread.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A condition whose waits have bounds of rgm_deadline(): a clock that nobody sets. */
void rgm_condition_init(pthread_cond_t *condition);
/** The moment in so many seconds (below 0: it is over), for pthread_cond_timedwait() on such a
 * condition. */
void rgm_deadline(struct timespec *out, double seconds);

#ifdef __cplusplus
}
#endif

#endif
