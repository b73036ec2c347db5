/*
 * A line to translate and its translations as JSON.
 */
#include <string.h>

#include "translation_internal.h"

/* The texts of a list go to `room`, which has a place for each. */
static rgm_status read_texts(rgm_texts *out, const char **room, const char *key,
                             const rgm_json *value)
{
    int64_t count = rgm_json_count(value);

    if (count < 0)
        return RGM_FAIL(RGM_ERR_DATA, "\"%s\" is no list of texts", key);
    for (int64_t i = 0; i < count; i++) {
        room[i] = rgm_json_text(rgm_json_at(value, i));
        if (room[i] == NULL)
            return RGM_FAIL(RGM_ERR_DATA, "\"%s\" has an element %lld that is no text", key,
                            (long long)i);
    }
    *out = (rgm_texts){.items = room, .count = count};
    return RGM_OK;
}

static rgm_status read_text(const char **out, const char *key, const rgm_json *value)
{
    *out = rgm_json_text(value);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "\"%s\" is no text", key);
    return RGM_OK;
}

static rgm_status read_alignment(rgm_translation_request *r, const rgm_json *value)
{
    const char *unit = rgm_json_text(value);

    if (unit == NULL || (strcmp(unit, "words") != 0 && strcmp(unit, "pieces") != 0))
        return RGM_FAIL(RGM_ERR_DATA, "\"alignment\" is neither \"words\" nor \"pieces\"");
    r->alignment = (rgm_alignment_options){.pieces = unit[0] == 'p'};
    r->line.alignment = &r->alignment;
    return RGM_OK;
}

static int64_t texts_of(const rgm_json *object, const char *key)
{
    int64_t count = rgm_json_count(rgm_json_find(object, key));

    return count > 0 ? count : 0;
}

/* *text NULL: there is none. */
static rgm_status read_entries(const char **text, rgm_translation_request *r)
{
    rgm_json_entry entry = {0};
    int64_t required = texts_of(r->json, "required");

    *text = NULL;
    while (rgm_json_next(&entry, r->json)) {
        if (strcmp(entry.key, "text") == 0)
            RGM_TRY(read_text(text, entry.key, entry.value));
        else if (strcmp(entry.key, "target_tag") == 0)
            RGM_TRY(read_text(&r->line.target_tag, entry.key, entry.value));
        else if (strcmp(entry.key, "prefix") == 0)
            RGM_TRY(read_text(&r->line.prefix, entry.key, entry.value));
        else if (strcmp(entry.key, "required") == 0)
            RGM_TRY(read_texts(&r->line.required, r->texts, entry.key, entry.value));
        else if (strcmp(entry.key, "banned") == 0)
            RGM_TRY(read_texts(&r->line.banned, r->texts + required, entry.key, entry.value));
        else if (strcmp(entry.key, "alignment") == 0)
            RGM_TRY(read_alignment(r, entry.value));
        else
            return RGM_FAIL(RGM_ERR_DATA,
                            "unknown key \"%s\"; there are text, target_tag, prefix, required, "
                            "banned and alignment",
                            entry.key);
    }
    return RGM_OK;
}

static rgm_status read_request(const char **text, rgm_translation_request *out, rgm_str json,
                               const char *name)
{
    rgm_status status = RGM_OK;

    *out = (rgm_translation_request){0};
    RGM_GO(rgm_json_parse(&out->json, json.data, json.size, name));
    RGM_GO(
        RGM_NEW(out->texts, texts_of(out->json, "required") + texts_of(out->json, "banned") + 1));
    RGM_GO(read_entries(text, out));
done:
    if (status != RGM_OK)
        rgm_translation_request_clear(out);
    return status;
}

rgm_status rgm_translation_request_read(rgm_translation_request *out, rgm_str json,
                                        const char *name)
{
    const char *text;

    RGM_TRY(read_request(&text, out, json, name));
    if (text == NULL) {
        rgm_translation_request_clear(out);
        return RGM_FAIL(RGM_ERR_DATA, "no object with a \"text\"");
    }
    out->line.text = (rgm_str){.data = text, .size = (int64_t)strlen(text)};
    return RGM_OK;
}

rgm_status rgmi_translation_wish_read(rgm_translation_request *out, const char *json, rgm_str line)
{
    const char *text;

    RGM_TRY(read_request(&text, out, (rgm_str){json, (int64_t)strlen(json)}, "wishes"));
    if (!rgm_json_is_object(out->json)) {
        rgm_translation_request_clear(out);
        return RGM_FAIL(RGM_ERR_DATA, "wishes are an object, such as {\"required\": [\"dog\"]}");
    }
    out->line.text = line;
    return RGM_OK;
}

void rgm_translation_request_clear(rgm_translation_request *request)
{
    rgm_json_release(request->json);
    rgm_free(request->texts);
    *request = (rgm_translation_request){0};
}

rgm_status rgm_translation_result_print(rgm_text *out, const rgm_line_translation *translations,
                                        int64_t n_best)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_open_list(&w, "translations", RGM_JSON_SPACED));
    for (int64_t k = 0; k < n_best && translations[k].text != NULL; k++) {
        const rgm_line_translation *t = &translations[k];
        RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(&w, "text", t->text));
        RGM_TRY(rgm_json_write_number(&w, "score", t->score));
        RGM_TRY(rgm_json_write_number(&w, "log_probability", t->log_probability));
        RGM_TRY(rgm_json_write_bool(&w, "cut", t->cut));
        RGM_TRY(rgm_json_write_int(&w, "tokens", t->tokens));
        RGM_TRY(rgm_json_write_int(&w, "longest", t->longest));
        RGM_TRY(rgm_json_write_int(&w, "missing", t->missing));
        RGM_TRY(rgm_json_write_int(&w, "banned", t->banned));
        if (t->alignment != NULL)
            RGM_TRY(rgm_json_write_text(&w, "alignment", t->alignment));
        RGM_TRY(rgm_json_close(&w));
    }
    RGM_TRY(rgm_json_close(&w));
    return rgm_json_close(&w);
}
