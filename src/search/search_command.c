/*
 * A command as the entrypoint: its words, and what stands in them for a hyperparameter.
 */
#include <string.h>

#include "search_file_internal.h"

enum { MOST_WORDS = 1000 };

/* What is next in a word. */
typedef struct piece {
    const char *text; /* plain text, or a hyperparameter's name */
    size_t size;
    bool is_name, is_open; /* is_open: a brace that nothing closes, or that nothing opened */
} piece;

/* False: the word has ended. "{{" is one brace, and so is "}}". */
static bool next_piece(piece *out, const char **at)
{
    const char *text = *at;
    size_t size = strcspn(text, "{}");

    *out = (piece){.text = text, .size = size};
    if (*text == '\0')
        return false;
    if (size > 0) {
        *at = text + size;
    } else if (text[1] == text[0]) {
        out->size = 1;
        *at = text + 2;
    } else {
        size = strcspn(text + 1, "{}");
        *out = (piece){text + 1, size, true, text[0] == '}' || text[size + 1] != '}'};
        *at = text + size + 2;
    }
    return true;
}

/* ---- checks --------------------------------------------------------------------------------- */

static rgm_status unknown_name(const rgm_search_file *file, const rgm_yaml_node *node,
                               const char *name)
{
    const char *names[256];
    int64_t count = rgm_space_count(file->space);

    count = count < 256 ? count : 256;
    for (int64_t i = 0; i < count; i++)
        names[i] = rgm_space_at(file->space, i)->name;
    return rgm_yaml_fail(node,
                         "entrypoint: '%s' in braces is no hyperparameter%s; braces of the "
                         "program's own are written twice, {{ and }}",
                         name, rgm_did_you_mean(name, names, count, NULL, "there are ").text);
}

static rgm_status check_word(const rgm_search_file *file, const rgm_yaml_node *node,
                             const char *word)
{
    const char *at = word;
    rgm_status status = RGM_OK;
    char *name = NULL;
    piece p;

    while (next_piece(&p, &at)) {
        if (!p.is_name)
            continue;
        if (p.is_open)
            RGM_GO(rgm_yaml_fail(node,
                                 "entrypoint: a brace of '%s' stands alone: {NAME} is a "
                                 "hyperparameter; braces of the program's own are written twice",
                                 word));
        rgm_free(name);
        RGM_GO(rgm_strndup(&name, p.text, p.size));
        if (rgm_space_find(file->space, name) < 0)
            RGM_GO(unknown_name(file, node, name));
    }
done:
    rgm_free(name);
    return status;
}

rgm_status rgmi_search_command_check(const rgm_search_file *file, rgmi_faults *mistakes)
{
    const rgm_texts *words = &file->options.command;
    const rgm_yaml_node *node = rgm_yaml_find(rgm_yaml_root(file->merged), "entrypoint");

    if (node == NULL || node->kind != RGM_YAML_LIST)
        return RGM_OK;
    if (words->count == 0 || words->items[0][0] == '\0')
        return rgmi_faults_note(
            mistakes,
            rgm_yaml_fail(node, "entrypoint: the first word of a command is a program, as "
                                "in [python3, train.py]"));
    if (words->count > MOST_WORDS)
        return rgmi_faults_note(mistakes, rgm_yaml_fail(node, "entrypoint: %lld words, at most %d",
                                                        (long long)words->count, (int)MOST_WORDS));
    for (int64_t i = 0; i < words->count; i++)
        RGM_TRY(rgmi_faults_note(mistakes, check_word(file, node->items[i], words->items[i])));
    return RGM_OK;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* A list or a map as JSON, a text without the quotes that YAML gives it. */
static rgm_status add_value(rgm_text *out, const rgm_search_file *file, int64_t i,
                            const rgm_hyper_value *value)
{
    const rgmi_item *item = file->space->order[i];
    bool is_listed =
        item->shown.kind == RGM_HYPER_CONST || item->shown.kind == RGM_HYPER_CATEGORICAL;
    rgm_status status = RGM_OK;
    const rgm_yaml_node *node;
    rgm_text line = {0};
    rgm_yaml *yaml = NULL;

    if (is_listed && strchr("[{", item->json[value->choice][0]) != NULL)
        return rgm_text_printf(out, "%s", item->json[value->choice]);

    RGM_GO(rgm_text_printf(&line, "v: "));
    RGM_GO(rgm_space_print_value(&line, file->space, i, value));
    RGM_GO(rgm_yaml_parse(&yaml, line.data, line.size, "a value"));
    node = rgm_yaml_find(rgm_yaml_root(yaml), "v");
    RGM_GO(rgm_text_printf(
        out, "%s", node != NULL && node->kind == RGM_YAML_SCALAR ? node->text : line.data + 3));
done:
    rgm_yaml_release(yaml);
    rgm_text_clear(&line);
    return status;
}

/* *is_there false: it names what the point does not have. */
static rgm_status print_word(rgm_text *out, bool *is_there, const rgm_search_file *file,
                             const char *word, const rgm_hyper_value *values)
{
    const char *at = word;
    piece p;

    *is_there = true;
    RGM_TRY(rgm_text_printf(out, "%s", ""));
    while (next_piece(&p, &at)) {
        char *name;
        int64_t i;

        if (!p.is_name) {
            RGM_TRY(rgm_text_add(out, p.text, (int64_t)p.size));
            continue;
        }
        RGM_TRY(rgm_strndup(&name, p.text, p.size));
        i = rgm_space_find(file->space, name);
        rgm_free(name);
        if (i < 0 || !values[i].is_set)
            *is_there = false;
        else
            RGM_TRY(add_value(out, file, i, &values[i]));
    }
    return RGM_OK;
}

rgm_status rgm_search_file_words(char ***words, int64_t *count, const rgm_search_file *file,
                                 const rgm_hyper_value *values)
{
    const rgm_texts *from = &file->options.command;
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char **made = NULL;
    int64_t size = 0;

    *words = NULL;
    *count = 0;
    RGM_GO(RGM_NEW(made, from->count + 1));
    for (int64_t i = 0; i < from->count; i++) {
        bool is_there;

        text.size = 0;
        RGM_GO(print_word(&text, &is_there, file, from->items[i], values));
        if (is_there)
            RGM_GO(rgm_strndup(&made[size++], text.data, (size_t)text.size));
    }
    *words = made;
    *count = size;
    made = NULL;
done:
    rgm_names_release(made, size);
    rgm_text_clear(&text);
    return status;
}
