/*
 * The masters that the page speaks to, by number: those of folders from 1, that of --master is
 * RGMI_MASTER_OF_URL. One call to each at a time; what was just asked is not asked again.
 */
#ifndef RGM_WEB_MASTERS_H
#define RGM_WEB_MASTERS_H

#include <regimen/master.h>

enum { RGMI_MASTER_OF_URL = 1000 };

typedef struct rgmi_masters rgmi_masters;
rgm_status rgmi_masters_open(rgmi_masters **out, const rgm_search_subject *subject);
/** No call may be under way; those that wait were given up after rgmi_masters_stop(). */
void rgmi_masters_close(rgmi_masters *masters);
/** Calls that wait are given up within about a second, and no new one is made. */
void rgmi_masters_stop(rgmi_masters *masters);
/** Master `id` is the one of a folder or address. Errors: RGM_ERR_NOMEM, RGM_ERR_ARG. */
rgm_status rgmi_masters_set(rgmi_masters *masters, int64_t id, const char *where);
bool rgmi_masters_has(rgmi_masters *masters, int64_t id);
/** The i-th by number from 0 with its place, which is valid as long as it; false: there are no
 * more. *served is what was known last, at most about 2 seconds old where it can be had at once. */
bool rgmi_masters_at(int64_t *id, const char **where, bool *served, rgmi_masters *masters,
                     int64_t i);
/**
 * Ask master `id`, or answer a GET as it was answered within the last half second, or since
 * anything changed in a folder where no master is at work (but of models and logs, which are files
 * beside its database).
 *
 * @param out  [out] cleared with rgm_response_clear(); an answer of any status
 *
 * Errors: RGM_ERR_NOT_FOUND (no such master), RGM_ERR_IO (it does not answer; for some seconds
 * after that nobody waits for it again), RGM_ERR_NOMEM. Threads: any; waits for others that ask it.
 */
rgm_status rgmi_masters_ask(rgm_response *out, rgmi_masters *masters, int64_t id,
                            const char *method, const char *path, const char *body);
/**
 * GET for who has other things to tell: waits half a second at most for others that ask (a
 * twentieth for one that has not answered yet) and two seconds for the master. Errors:
 * RGM_ERR_BUSY, those of rgmi_masters_ask().
 */
rgm_status rgmi_masters_look(rgm_response *out, rgmi_masters *masters, int64_t id,
                             const char *path);

#endif
