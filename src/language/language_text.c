/*
 * The text of tokens that come one by one, behind a prompt. Each time the last few tokens are
 * decoded, without and with the new one; what the new one adds is the text's. So a text takes time
 * by its length alone, and only whole characters are in it.
 */
#include <string.h>

#include "language_internal.h"

/* Tokens that are decoded again with each new one: some before it decide what it looks like. */
enum { WINDOW_LEAST = 16, WINDOW_MOST = 48 };

void rgmi_growing_clear(rgmi_growing *g)
{
    rgm_text_clear(&g->text);
    rgm_text_clear(&g->known);
    rgm_text_clear(&g->now);
}

static rgm_status decode(rgm_text *out, const rgmi_growing *g, const int32_t *ids, int64_t count)
{
    out->size = 0;
    return rgm_tokenizer_decode(out, g->tokenizer, ids, count);
}

static void swap(rgmi_growing *g)
{
    rgm_text known = g->known;

    g->known = g->now;
    g->now = known;
}

/* U+FFFD stands for bytes that are no character, or not yet. */
static bool ends_inside(const rgm_text *text)
{
    return text->size >= 3 && memcmp(text->data + text->size - 3, "\xef\xbf\xbd", 3) == 0;
}

static bool begins_with(const rgm_text *text, const rgm_text *begin)
{
    return text->size >= begin->size &&
           (begin->size == 0 || memcmp(text->data, begin->data, (size_t)begin->size) == 0);
}

/* Fewer tokens say the same from now on, if what they make is the end of what is known. */
static rgm_status slide(rgmi_growing *g, const int32_t *ids)
{
    int64_t from = g->read - WINDOW_LEAST, before;

    if (g->read - g->from <= WINDOW_MOST)
        return RGM_OK;
    RGM_TRY(decode(&g->now, g, ids + from, g->read - from));
    before = g->known.size - g->now.size;
    if (g->now.size == 0 || before < 0 ||
        memcmp(g->known.data + before, g->now.data, (size_t)g->now.size) != 0)
        return RGM_OK; /* another time */
    g->from = from;
    swap(g);
    return RGM_OK;
}

rgm_status rgmi_growing_begin(rgmi_growing *g, const rgm_tokenizer *tokenizer, const int32_t *ids,
                              int64_t prompt)
{
    g->tokenizer = tokenizer;
    g->text.size = 0;
    g->from = 0;
    g->read = prompt;
    RGM_TRY(decode(&g->known, g, ids, prompt));
    if (ends_inside(&g->known)) { /* the text stands for itself */
        g->from = prompt;
        g->known.size = 0;
        return RGM_OK;
    }
    return slide(g, ids);
}

rgm_status rgmi_growing_add(rgmi_growing *g, const int32_t *ids, int64_t count)
{
    RGM_TRY(decode(&g->now, g, ids + g->from, count - g->from));
    if (ends_inside(&g->now) || !begins_with(&g->now, &g->known))
        return RGM_OK; /* the next token tells more */
    if (g->now.size > g->known.size)
        RGM_TRY(rgm_text_add(&g->text, g->now.data + g->known.size, g->now.size - g->known.size));
    g->read = count;
    swap(g);
    return slide(g, ids);
}

/* ---- stop strings ---------------------------------------------------------------------------- */

int64_t rgmi_stop_find(const rgm_texts *stops, const rgm_text *text, int64_t from)
{
    int64_t found = -1;

    for (int64_t i = 0; i < stops->count; i++) {
        int64_t size = (int64_t)strlen(stops->items[i]), begin = from - size + 1;
        const char *at;

        begin = begin > 0 ? begin : 0;
        if (text->size - begin < size)
            continue;
        at =
            memmem(text->data + begin, (size_t)(text->size - begin), stops->items[i], (size_t)size);
        if (at != NULL && (found < 0 || at - text->data < found))
            found = at - text->data;
    }
    return found;
}

int64_t rgmi_stop_begun(const rgm_texts *stops, const rgm_text *text)
{
    int64_t most = 0;

    for (int64_t i = 0; i < stops->count; i++) {
        int64_t size = (int64_t)strlen(stops->items[i]) - 1;

        size = size < text->size ? size : text->size;
        while (size > most &&
               memcmp(text->data + text->size - size, stops->items[i], (size_t)size) != 0)
            size--;
        most = size > most ? size : most;
    }
    return most;
}
