/*
 * Status names and the thread's error record: one message and the trace of the functions it passed
 * through. The record has a fixed size, so an error can be recorded when memory is gone.
 */
#include "base_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct {
    char message[sizeof((rgm_error *)0)->message];
    char trace[sizeof((rgm_error *)0)->trace];
    char text[sizeof(rgm_error)];
    int system;
} record;

static const char *const error_names[] = {
    "RGM_OK",         "RGM_ERR_ARG",       "RGM_ERR_SHAPE",   "RGM_ERR_DTYPE",
    "RGM_ERR_NOMEM",  "RGM_ERR_IO",        "RGM_ERR_FORMAT",  "RGM_ERR_VERSION",
    "RGM_ERR_CONFIG", "RGM_ERR_NOT_FOUND", "RGM_ERR_NUMERIC", "RGM_ERR_UNSUPPORTED",
    "RGM_ERR_BUSY",   "RGM_ERR_DATA",
};

const char *rgm_status_name(rgm_status status)
{
    if (status == RGM_END)
        return "RGM_END";
    if (status == RGM_STOPPED)
        return "RGM_STOPPED";
    if (status > 0 || status < RGM_ERR_DATA)
        return "unknown status";
    return error_names[-status];
}

/* A text that had to be cut may end in half a UTF-8 character: drop that. */
static void drop_half_character(char *text)
{
    size_t n = strlen(text), lead = n;
    unsigned char c;

    while (lead > 0 && n - lead < 3 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
        lead--;
    if (lead == 0)
        return;
    c = (unsigned char)text[lead - 1];
    if (n - lead + 1 < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : c >= 0xc0 ? 2u : 1u))
        text[lead - 1] = 0;
}

#define CUT       " ... (cut) ... "
#define CUT_END   " ... (cut)"
#define CUT_SIZE  (sizeof CUT - 1)
#define TAIL_SIZE 300  /* of what is cut: its end, where the reason is, is kept too */
#define MOST      4096 /* that are formatted; a longer text loses its end */

static size_t escaped_size(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f ? 4 : 1;
}

/* Copy one line of text; control characters become \xNN. It may be cut at its end. */
static size_t copy_escaped(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; *from != 0 && n + escaped_size(*from) < size; from++)
        if (escaped_size(*from) > 1)
            n += (size_t)snprintf(to + n, 5, "\\x%02x", (unsigned char)*from);
        else
            to[n++] = *from;
    to[n] = 0;
    drop_half_character(to);
    return strlen(to);
}

/* The same; what is too long is cut in the middle, and says so. */
static void fit(char *to, size_t size, const char *from)
{
    const char *tail = from + strlen(from);
    size_t whole = 0, kept = 0;

    for (const char *c = from; *c != 0; c++)
        whole += escaped_size(*c);
    if (whole < size) {
        copy_escaped(to, size, from);
        return;
    }
    for (; kept + escaped_size(tail[-1]) <= TAIL_SIZE; tail--)
        kept += escaped_size(tail[-1]);
    while (((unsigned char)*tail & 0xc0) == 0x80)
        tail++;
    kept = copy_escaped(to, size - CUT_SIZE - TAIL_SIZE, from);
    memcpy(to + kept, CUT, CUT_SIZE);
    copy_escaped(to + kept + CUT_SIZE, size - kept - CUT_SIZE, tail);
}

/* A text of any length, as far as there is room for it. */
static void format_text(char text[MOST], const char *format, va_list args)
{
    int size = rgmi_vformat(text, MOST, format, args);

    if (size < 0)
        text[0] = 0;
    if (size < MOST)
        return;
    text[MOST - CUT_SIZE - 1] = 0;
    drop_half_character(text);
    memcpy(text + strlen(text), CUT_END, sizeof CUT_END);
}

static void add_frame(const char *file, int line, const char *function)
{
    const char *base = strrchr(file, '/');
    size_t used = strlen(record.trace), room = sizeof record.trace - used;
    int n = snprintf(record.trace + used, room, "  at %s (%s:%d)\n", function,
                     base != NULL ? base + 1 : file, line);

    if (n < 0 || (size_t)n >= room) /* a deep trace loses its outermost frames */
        record.trace[used] = 0;
}

rgm_status rgm_error_set(rgm_status code, const char *file, int line, const char *function,
                         const char *format, ...)
{
    /* The arguments may point into the record itself, so the message is made outside of it. */
    char message[MOST];
    va_list args;

    va_start(args, format);
    format_text(message, format, args);
    va_end(args);
    fit(record.message, sizeof record.message, message);
    record.trace[0] = 0;
    record.system = 0;
    add_frame(file, line, function);
    return code;
}

rgm_status rgm_error_system(int error, const char *file, int line, const char *function,
                            const char *doing, const char *path)
{
    char buffer[128];
    const char *why = strerror_r(error, buffer, sizeof buffer);
    rgm_status code = error == ENOENT   ? RGM_ERR_NOT_FOUND
                      : error == ENOMEM ? RGM_ERR_NOMEM
                                        : RGM_ERR_IO;

    rgm_error_set(code, file, line, function, "cannot %s '%s': %s", doing, path, why);
    record.system = error;
    return code;
}

bool rgm_error_is_of_the_machine(void)
{
    static const int errors[] = {ENOSPC, EDQUOT, EIO, EROFS, ESTALE, EMFILE, ENFILE, ENODEV, ENXIO};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (record.system == errors[i])
            return true;
    return false;
}

bool rgm_error_is_of_space(void)
{
    return record.system == ENOSPC || record.system == EDQUOT;
}

rgm_status rgm_error_trace(rgm_status status, const char *file, int line, const char *function)
{
    if (status < 0)
        add_frame(file, line, function);
    return status;
}

rgm_status rgm_error_prefix(rgm_status status, const char *format, ...)
{
    char text[MOST + sizeof record.message + 2];
    size_t size;
    va_list args;

    if (status >= 0)
        return status;
    va_start(args, format);
    format_text(text, format, args);
    va_end(args);
    size = strlen(text);
    snprintf(text + size, sizeof text - size, ": %s", record.message);
    fit(record.message, sizeof record.message, text);
    return status;
}

const char *rgm_error_message(void)
{
    return record.message;
}

const char *rgm_error_text(void)
{
    snprintf(record.text, sizeof record.text, "%s\n%s", record.message, record.trace);
    return record.text;
}

void rgm_error_reset(void)
{
    record.message[0] = record.trace[0] = 0;
    record.system = 0;
}

void rgm_error_save(rgm_error *error, rgm_status status)
{
    error->status = status;
    memcpy(error->message, record.message, sizeof error->message);
    memcpy(error->trace, record.trace, sizeof error->trace);
    error->system = record.system;
}

rgm_status rgm_error_restore(const rgm_error *error)
{
    if (error->status < 0) {
        memcpy(record.message, error->message, sizeof record.message);
        memcpy(record.trace, error->trace, sizeof record.trace);
        record.system = error->system;
    }
    return error->status;
}
