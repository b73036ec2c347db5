/*
 * Streams of events: what has changed, never what it is now; whoever listens asks again.
 */
#ifndef RGM_WEB_EVENTS_H
#define RGM_WEB_EVENTS_H

#include "web_internal.h"

typedef struct rgmi_notices rgmi_notices;
/** Looks at what is listened to once a second, in threads of its own, while anybody listens. */
rgm_status rgmi_notices_open(rgmi_notices **out, rgm_web *web);
/** Whom to wake from now on; NULL: nobody, and no thread of it wakes anybody any more. */
void rgmi_notices_set_server(rgmi_notices *events, rgm_http *http);
/** Its threads end; calls that wait were given up after rgmi_masters_stop(). */
void rgmi_notices_stop(rgmi_notices *events);
/** After the last stream was closed. */
void rgmi_notices_close(rgmi_notices *events);
/** Open streams, for tests. */
int64_t rgmi_notices_count(rgmi_notices *events);

#endif
