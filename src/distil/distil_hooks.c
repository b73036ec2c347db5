/*
 * Who looks on at the work on a step.
 */
#include <stdio.h>

#include "distil_internal.h"

void rgmi_say(const rgmi_step_work *work, const char *label, const char *format, ...)
{
    char text[RGM_MESSAGE_ROOM];
    va_list args;

    if (work->hooks->say == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    work->hooks->say(label, text, work->hooks->payload);
}

bool rgmi_should_stop(const rgmi_step_work *work)
{
    return work->hooks->should_stop != NULL && work->hooks->should_stop(work->hooks->payload);
}
