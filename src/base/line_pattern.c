/*
 * Patterns: POSIX's extended regular expressions, by the system, with bounds on what is matched.
 */
#include "base_internal.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PATTERN = 256, LONGEST_LINE = 4096, MOST_DOUBLED = 4, MOST_REPEATS = 255 };

struct rgm_line_pattern {
    regex_t regex;
};

/* "\1" makes matching take time without bound. */
static bool refers_back(const char *text)
{
    for (; *text != '\0'; text++)
        if (text[0] == '\\' && *++text >= '1' && *text <= '9')
            return true;
        else if (*text == '\0')
            break;
    return false;
}

/* How many + stand behind what may have a + in it. regcomp() doubles with each what it compiles, so
 * that twenty of them in each other take a second, and thirty a quarter of an hour. */
static int count_doubled(const char *text)
{
    int count = 0;

    for (const char *c = text; *c != '\0'; c++)
        count += c > text && *c == '+' && strchr(")*+?}", c[-1]) != NULL;
    return count;
}

/* What counts in braces come to, as if each stood in the one before: it compiles a copy for each.
 */
static int64_t count_repeats(const char *text)
{
    int64_t product = 1;

    for (const char *c = text; *c != '\0' && product <= MOST_REPEATS; c++) {
        long least, most;
        char *end;

        if (*c == '\\' && c[1] != '\0') {
            c++;
            continue;
        }
        if (*c != '{' || c[1] < '0' || c[1] > '9')
            continue;
        least = most = strtol(c + 1, &end, 10);
        if (*end == ',')
            most = end[1] >= '0' && end[1] <= '9' ? strtol(end + 1, NULL, 10) : least + 1;
        most = most > least ? most : least;
        product *= most < 1 ? 1 : most < MOST_REPEATS + 1 ? most : MOST_REPEATS + 1;
    }
    return product;
}

/* What takes time beyond the length of pattern and text. */
static rgm_status check_time(const char *text)
{
    if (refers_back(text))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the pattern '%s' refers back (\\1), which may take for ever", text);
    if (count_doubled(text) > MOST_DOUBLED)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the pattern '%s' has a + behind more than %d groups, which may take for "
                        "ever: write * where that does",
                        text, (int)MOST_DOUBLED);
    if (count_repeats(text) > MOST_REPEATS)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the pattern '%s' has counts in braces that come to more than %d "
                        "together, which may take for ever",
                        text, (int)MOST_REPEATS);
    return RGM_OK;
}

rgm_status rgm_line_pattern_create(rgm_line_pattern **out, const char *text, bool any_case)
{
    rgm_line_pattern *p;
    char why[160];
    int code;

    *out = NULL;
    if (text[0] == '\0' || strlen(text) > LONGEST_PATTERN)
        return RGM_FAIL(RGM_ERR_CONFIG, "a pattern of %zu bytes: it has 1 to %d", strlen(text),
                        (int)LONGEST_PATTERN);
    RGM_TRY(check_time(text));
    RGM_TRY(RGM_NEW(p, 1));
    code = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0));
    if (code == 0) {
        *out = p;
        return RGM_OK;
    }
    regerror(code, &p->regex, why, sizeof why);
    rgm_free(p);
    return code == REG_ESPACE ? RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a pattern")
                              : RGM_FAIL(RGM_ERR_CONFIG,
                                         "'%s' is no pattern (an extended regular "
                                         "expression): %s",
                                         text, why);
}

void rgm_line_pattern_release(rgm_line_pattern *pattern)
{
    if (pattern == NULL)
        return;
    regfree(&pattern->regex);
    rgm_free(pattern);
}

bool rgm_line_pattern_fits(const rgm_line_pattern *pattern, const char *line, int64_t size)
{
    char text[LONGEST_LINE + 1];

    size = size < LONGEST_LINE ? size : LONGEST_LINE;
    for (int64_t i = 0; i < size; i++)
        text[i] = line[i] != '\0' ? line[i] : ' ';
    text[size] = '\0';
    return regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}
