/*
 * The path and the query of a request. A path is matched against patterns, and only the parts at a
 * pattern's braces are data; the query is decoded.
 */
#include <regimen/http.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* ---- the query ------------------------------------------------------------------------------ */

/* Decode in place. NUL is refused, so that the text ends where the request's does. */
static rgm_status decode(char *text)
{
    char *out = text;

    for (; *text != 0; text++) {
        if (*text == '+') {
            *out++ = ' ';
        } else if (*text == '%') {
            int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
            if (low < 0 || high * 16 + low == 0)
                return RGM_FAIL(RGM_ERR_ARG, "a bad %% in the query");
            *out++ = (char)(high * 16 + low);
            text += 2;
        } else {
            *out++ = *text;
        }
    }
    *out = 0;
    return RGM_OK;
}

static rgm_status read_pairs(rgm_target *out, char *rest)
{
    while (rest != NULL && *rest != 0) {
        char *pair = rest, *value;

        rest = strchr(pair, '&');
        if (rest != NULL)
            *rest++ = 0;
        value = strchr(pair, '=');
        if (value == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "'%s' in the query has no value", pair);
        *value++ = 0;
        if (out->query_count == RGM_TARGET_VALUES)
            return RGM_FAIL(RGM_ERR_ARG, "more than %d values in the query",
                            (int)RGM_TARGET_VALUES);
        RGM_TRY(decode(pair));
        RGM_TRY(decode(value));
        out->query[out->query_count].key = pair;
        out->query[out->query_count++].value = value;
    }
    return RGM_OK;
}

rgm_status rgm_target_read(rgm_target *out, const char *sent)
{
    char *query;
    rgm_status status;

    memset(out, 0, sizeof *out);
    RGM_TRY(rgm_strdup(&out->text, sent));
    out->path = out->text;
    query = strchr(out->text, '?');
    if (query == NULL)
        return RGM_OK;
    *query++ = 0;
    status = read_pairs(out, query);
    if (status != RGM_OK)
        out->query_count = 0;
    return status;
}

void rgm_target_clear(rgm_target *target)
{
    rgm_free(target->text);
    memset(target, 0, sizeof *target);
}

const char *rgm_target_value_at(const rgm_target *target, const char *key, int64_t i)
{
    for (int64_t k = 0; k < target->query_count; k++)
        if (strcmp(target->query[k].key, key) == 0 && i-- == 0)
            return target->query[k].value;
    return NULL;
}

const char *rgm_target_value(const rgm_target *target, const char *key, const char *otherwise)
{
    const char *value = rgm_target_value_at(target, key, 0);

    return value != NULL ? value : otherwise;
}

rgm_status rgm_target_int(int64_t *out, const rgm_target *target, const char *key,
                          int64_t otherwise, int64_t low, int64_t high)
{
    const char *text = rgm_target_value(target, key, NULL);
    char *end;

    *out = otherwise;
    if (text == NULL)
        return RGM_OK;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || value < low || value > high)
        return RGM_FAIL(RGM_ERR_ARG, "%s=%s is no number of %lld to %lld", key, text,
                        (long long)low, (long long)high);
    *out = value;
    return RGM_OK;
}

/* ---- the path ------------------------------------------------------------------------------- */

static bool read_id(rgm_path_values *values, int64_t *count, const char *text, size_t size)
{
    int64_t id = 0;

    if (size == 0 || size > 15 || text[0] == '0' || *count == 2)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        id = id * 10 + (text[i] - '0');
    }
    values->ids[(*count)++] = id;
    return true;
}

static bool read_hex(rgm_path_values *values, const char *text, size_t size)
{
    if (size != 16 || strspn(text, "0123456789abcdef") != size)
        return false;
    memcpy(values->hex, text, size);
    return true;
}

static bool read_uuid(rgm_path_values *values, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : hex_digit(text[i]) < 0)
            return false;
    if (size != 36)
        return false;
    memcpy(values->uuid, text, size);
    return true;
}

static bool read_name(rgm_path_values *values, const char *text, size_t size)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

    if (size == 0 || size >= sizeof values->name || text[0] == '.' || strspn(text, letters) != size)
        return false;
    memcpy(values->name, text, size);
    return true;
}

/* Moves *pattern past its braces. */
static bool read_value(rgm_path_values *values, int64_t *count, const char **pattern,
                       const char *text, size_t size)
{
    const char *kind = *pattern;

    *pattern = strchr(kind, '}') + 1;
    return strncmp(kind, "{id}", 4) == 0    ? read_id(values, count, text, size)
           : strncmp(kind, "{hex}", 5) == 0 ? read_hex(values, text, size)
           : strncmp(kind, "{uuid}", 6) == 0
               ? read_uuid(values, text, size)
               : strncmp(kind, "{name}", 6) == 0 && read_name(values, text, size);
}

/* What stands for braces ends with the part of the path, or where the pattern goes on in it. */
static size_t value_size(const char *pattern, const char *path)
{
    const char ends[] = {'/', strchr(pattern, '}')[1], '\0'};

    return strcspn(path, ends);
}

bool rgm_path_fits(rgm_path_values *values, const char *pattern, const char *path)
{
    int64_t count = 0;

    memset(values, 0, sizeof *values);
    while (*pattern != 0) {
        if (strcmp(pattern, "{rest}") == 0) {
            values->rest = path;
            return true;
        }
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
        } else {
            size_t size = value_size(pattern, path);

            if (!read_value(values, &count, &pattern, path, size))
                return false;
            path += size;
        }
    }
    return *path == 0;
}
