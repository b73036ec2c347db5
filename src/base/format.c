/*
 * Formatting that does not depend on the program's locale: a caller that has set a locale with a
 * decimal comma must not get other files or other messages.
 */
#include "base_internal.h"

#include <pthread.h>
#include <stdio.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t rgmi_c_locale(void)
{
    pthread_once(&c_locale_once, make_c_locale);
    return c_locale;
}

int rgmi_vformat(char *buffer, size_t size, const char *format, va_list args)
{
    locale_t c = rgmi_c_locale();
    locale_t old = c != (locale_t)0 ? uselocale(c) : (locale_t)0;
    int n = vsnprintf(buffer, size, format, args);

    if (old != (locale_t)0)
        uselocale(old);
    return n;
}
