/*
 * Decimal numbers in text, the same in every locale. Short ones, which is nearly all, are read
 * without strtod: a mantissa below 2^53 and a power of ten up to 22 are both exact as doubles, so
 * one multiplication or division rounds correctly (Clinger 1990).
 */
#include "data_internal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool rgmi_parse_i64(int64_t *out, const char *text, int64_t size)
{
    const char *p = text, *end = text + size;
    bool minus = size > 0 && *p == '-';
    uint64_t v = 0;

    p += size > 0 && (*p == '-' || *p == '+');
    if (p == end || end - p > 30)
        return false;
    for (; p < end; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (digit > 9 || v > ((uint64_t)INT64_MAX + minus - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/** Anything strtod reads but hexadecimal, whole and in the C locale. */
static bool parse_slowly(double *out, const char *text, int64_t size)
{
    char copy[512], *end;

    if (size <= 0 || size >= (int64_t)sizeof copy || text[0] == ' ' || text[0] == '\t' ||
        memchr(text, 'x', (size_t)size) != NULL || memchr(text, 'X', (size_t)size) != NULL)
        return false;
    pthread_once(&c_locale_once, make_c_locale);
    memcpy(copy, text, (size_t)size);
    copy[size] = '\0';
    *out = c_locale != (locale_t)0 ? strtod_l(copy, &end, c_locale) : strtod(copy, &end);
    return end == copy + size && copy[size - 1] != ')';
}

bool rgmi_parse_f64(double *out, const char *text, int64_t size)
{
    static const double ten_to[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = text, *end = text + size;
    bool minus = size > 0 && *p == '-';
    uint64_t mantissa = 0;
    int digits = 0, places = 0, exponent = 0;

    p += size > 0 && (*p == '-' || *p == '+');
    for (; p < end && (unsigned)(*p - '0') <= 9; p++, digits++)
        mantissa = digits < 18 ? mantissa * 10 + (unsigned)(*p - '0') : UINT64_MAX;
    if (p < end && *p == '.')
        for (p++; p < end && (unsigned)(*p - '0') <= 9; p++, digits++, places++)
            mantissa = digits < 18 ? mantissa * 10 + (unsigned)(*p - '0') : UINT64_MAX;
    if (digits == 0 || digits > 18 || mantissa >= UINT64_C(1) << 53)
        return parse_slowly(out, text, size);
    if (p < end && (*p == 'e' || *p == 'E')) {
        bool down = ++p < end && *p == '-';
        const char *from = p += p < end && (*p == '-' || *p == '+');
        for (; p < end && p - from < 4 && (unsigned)(*p - '0') <= 9; p++)
            exponent = exponent * 10 + (*p - '0');
        if (p == from)
            return false;
        exponent = down ? -exponent : exponent;
    }
    exponent -= places;
    if (p < end || exponent < -22 || exponent > 22)
        return parse_slowly(out, text, size);
    *out =
        exponent < 0 ? (double)mantissa / ten_to[-exponent] : (double)mantissa * ten_to[exponent];
    if (minus)
        *out = -*out;
    return true;
}
