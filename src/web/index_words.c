/*
 * Words of a search: "gcn seed OR /lr-[0-9]+$/". Words hold by themselves anywhere in a text, in
 * any case; what stands between slashes is an extended regular expression of POSIX.
 */
#include "index_choose.h"

#include <string.h>

enum { MOST_WORDS = 64 };

typedef struct word {
    const char *text; /* NULL: the pattern */
    rgm_line_pattern *pattern;
    bool begins; /* an alternative */
} word;

struct rgmi_search_words {
    char *copy; /* what the texts are in */
    int64_t count;
    word words[MOST_WORDS];
};

void rgmi_search_words_release(rgmi_search_words *words)
{
    if (words == NULL)
        return;
    for (int64_t i = 0; i < words->count; i++)
        rgm_line_pattern_release(words->words[i].pattern);
    rgm_free(words->copy);
    rgm_free(words);
}

static rgm_status compile(rgm_line_pattern **out, const char *text)
{
    rgm_status status = rgm_line_pattern_create(out, text, true);

    return status == RGM_ERR_CONFIG ? RGM_FAIL(RGM_ERR_ARG, "q: %s", rgm_error_message()) : status;
}

/* The slash that ends a pattern: a space or nothing is behind it. NULL: it is a word. */
static char *end_of_pattern(char *text)
{
    for (char *at = text + 1; (at = strchr(at, '/')) != NULL; at++)
        if (at > text + 1 && at[-1] != '\\' && (at[1] == ' ' || at[1] == 0))
            return at;
    return NULL;
}

static rgm_status add_word(rgmi_search_words *words, char *text, bool is_pattern, bool begins)
{
    word *w = &words->words[words->count];

    if (words->count == MOST_WORDS)
        return RGM_FAIL(RGM_ERR_ARG, "q: at most %d words", MOST_WORDS);
    w->begins = begins;
    if (is_pattern)
        RGM_TRY(compile(&w->pattern, text));
    else
        w->text = text;
    words->count++;
    return RGM_OK;
}

static rgm_status read_words(rgmi_search_words *words)
{
    bool begins = true;

    for (char *at = words->copy, *end; *(at += strspn(at, " ")) != 0; at = end) {
        char *slash = *at == '/' ? end_of_pattern(at) : NULL;

        end = slash != NULL ? slash + 1 : at + strcspn(at, " ");
        end += *end == ' ' ? (*end = 0, 1) : 0;
        if (slash != NULL)
            *slash = 0;
        if (strcmp(at, "OR") == 0) {
            begins = true;
            continue;
        }
        RGM_TRY(add_word(words, at + (slash != NULL), slash != NULL, begins));
        begins = false;
    }
    return RGM_OK;
}

rgm_status rgmi_search_words_read(rgmi_search_words **out, const char *text)
{
    rgm_status status;

    RGM_TRY(RGM_NEW(*out, 1));
    status = rgm_strdup(&(*out)->copy, text);
    if (status == RGM_OK)
        status = read_words(*out);
    if (status != RGM_OK) {
        rgmi_search_words_release(*out);
        *out = NULL;
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static bool is_in(const word *w, const char *text)
{
    return w->text != NULL ? strcasestr(text, w->text) != NULL
                           : rgm_line_pattern_fits(w->pattern, text, (int64_t)strlen(text));
}

static bool is_in_any(const word *w, const char *const *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (texts[i] != NULL && is_in(w, texts[i]))
            return true;
    return false;
}

bool rgmi_search_words_fit(const rgmi_search_words *words, const char *const *texts, int64_t count)
{
    bool fits = words->count == 0;

    for (int64_t i = 0; i < words->count; i++) {
        if (words->words[i].begins) {
            if (fits)
                return true;
            fits = true;
        }
        fits = fits && is_in_any(&words->words[i], texts, count);
    }
    return fits;
}
