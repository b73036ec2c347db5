/*
 * Patterns: POSIX's extended regular expressions, by the system, with bounds on what is matched.
 */
#include "base_internal.h"

#include <regex.h>
#include <string.h>

enum { LONGEST_PATTERN = 256, LONGEST_LINE = 4096 };

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

rgm_status rgm_line_pattern_create(rgm_line_pattern **out, const char *text)
{
    rgm_line_pattern *p;
    char why[160];
    int code;

    *out = NULL;
    if (text[0] == '\0' || strlen(text) > LONGEST_PATTERN)
        return RGM_FAIL(RGM_ERR_CONFIG, "a pattern of %zu bytes: it has 1 to %d", strlen(text),
                        (int)LONGEST_PATTERN);
    if (refers_back(text))
        return RGM_FAIL(RGM_ERR_CONFIG, "the pattern '%s' refers back (\\1), which is not done",
                        text);
    RGM_TRY(RGM_NEW(p, 1));
    code = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
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
