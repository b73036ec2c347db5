/*
 * Mistakes of a file, gathered and told in one message of several lines. Each line was a message of
 * its own before, so nothing in it steers a terminal.
 */
#include "search_internal.h"

#include <stdio.h>
#include <string.h>

#define LAST_LINE 40 /* "... and 12 more mistakes" */

static int64_t lines_of(const char *text)
{
    int64_t lines = 1;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

rgm_status rgmi_mistake(rgmi_mistakes *mistakes, rgm_status status)
{
    static const int64_t room = (int64_t)sizeof((rgm_error *)0)->message - LAST_LINE;
    const char *message = rgm_error_message();
    int64_t size = (int64_t)strlen(message);

    if (status != RGM_ERR_CONFIG)
        return status;
    mistakes->count += lines_of(message);
    if (mistakes->lines.size == 0 && size >= room) /* cut, rather than told of nothing */
        size = room - 1;
    /* Once one does not fit none does: those that are told are the first ones. */
    mistakes->full = mistakes->full || mistakes->lines.size + size + 1 > room;
    if (mistakes->full)
        return RGM_OK;
    if (mistakes->lines.size > 0)
        RGM_TRY(rgm_text_add(&mistakes->lines, "\n", 1));
    return rgm_text_add(&mistakes->lines, message, size);
}

rgm_status rgmi_mistakes_tell(rgmi_mistakes *mistakes)
{
    int64_t more;
    rgm_error error;

    if (mistakes->count == 0) {
        rgm_text_clear(&mistakes->lines);
        return RGM_OK;
    }
    more = mistakes->count - lines_of(mistakes->lines.data);
    rgm_error_save(&error, RGM_FAIL(RGM_ERR_CONFIG, "mistakes"));
    if (more > 0)
        snprintf(error.message, sizeof error.message, "%s\n... and %lld more mistake%s",
                 mistakes->lines.data, (long long)more, more > 1 ? "s" : "");
    else
        snprintf(error.message, sizeof error.message, "%s", mistakes->lines.data);
    rgm_text_clear(&mistakes->lines);
    *mistakes = (rgmi_mistakes){0};
    return rgm_error_restore(&error);
}

bool rgmi_mistakes_hint(const rgmi_mistakes *mistakes)
{
    return mistakes->count < 16;
}
