/*
 * Mistakes of a file, gathered so that a person sees all of them at once.
 */
#include <stdio.h>
#include <string.h>

#include "search_file_internal.h"

enum { MOST_LINES = 1000 }; /* a file of 1 MiB may have 80,000 mistakes: 39 MB of lines */

rgm_status rgmi_faults_note(rgmi_faults *mistakes, rgm_status status)
{
    const char *message = rgm_error_message();
    int64_t lines = 1; /* a message of a section may have several */

    if (status != RGM_ERR_CONFIG)
        return status;
    for (const char *at = message; *at != '\0'; at++)
        lines += *at == '\n';
    if (mistakes->count < MOST_LINES) {
        RGM_TRY(rgm_text_printf(&mistakes->lines, "%s\n", message));
        mistakes->kept += lines;
    }
    mistakes->count += lines;
    rgm_error_reset();
    return RGM_OK;
}

/* As many whole lines as the error record takes, and how many more there are. */
static void make_message(rgm_error *error, const rgmi_faults *mistakes)
{
    enum { LAST_LINE = 40 };
    const char *text = mistakes->lines.data;
    size_t room = sizeof error->message - LAST_LINE, size = 0;
    int64_t told = 0;

    for (const char *end; (end = strchr(text + size, '\n')) != NULL; told++) {
        if ((size_t)(end + 1 - text) > room && told > 0)
            break;
        size = (size_t)(end + 1 - text);
    }
    if (size > room) /* the first alone is too long */
        size = room;
    else
        size--; /* the last line feed */
    snprintf(error->message, sizeof error->message, "%.*s", (int)size, text);
    if (told < mistakes->count)
        snprintf(error->message + size, sizeof error->message - size,
                 "\n... and %lld more mistake%s", (long long)(mistakes->count - told),
                 mistakes->count - told > 1 ? "s" : "");
}

rgm_status rgmi_faults_tell(rgm_text *out, rgmi_faults *mistakes)
{
    rgm_error error;

    if (mistakes->count == 0)
        return RGM_OK;
    if (out != NULL)
        RGM_TRY(rgm_text_add(out, mistakes->lines.data, mistakes->lines.size));
    if (out != NULL && mistakes->kept < mistakes->count)
        RGM_TRY(rgm_text_printf(out, "... and %lld more mistakes\n",
                                (long long)(mistakes->count - mistakes->kept)));
    rgm_error_save(&error, RGM_FAIL(RGM_ERR_CONFIG, "mistakes"));
    make_message(&error, mistakes);
    return rgm_error_restore(&error);
}

void rgmi_faults_clear(rgmi_faults *mistakes)
{
    rgm_text_clear(&mistakes->lines);
    mistakes->count = mistakes->kept = 0;
}
