/*
 * A YAML document as text that parses to the same document: block style, short lists of numbers and
 * names on one line. A text is written plain only if it was plain and reads back so; everything
 * else goes in double quotes with escapes.
 */
#include "base_internal.h"

#include <string.h>

#define LONGEST_FLOW_LIST  80
#define LONGEST_SIMPLE_KEY 120

/* Length of the UTF-8 character at s and its code. The text is valid: it came from the parser. */
static int decode(uint32_t *code, const char *text)
{
    const uint8_t *s = (const uint8_t *)text;

    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    if (s[0] < 0xe0) {
        *code = (uint32_t)(s[0] & 31) << 6 | (s[1] & 63);
        return 2;
    }
    if (s[0] < 0xf0) {
        *code = (uint32_t)(s[0] & 15) << 12 | (uint32_t)(s[1] & 63) << 6 | (s[2] & 63);
        return 3;
    }
    *code = (uint32_t)(s[0] & 7) << 18 | (uint32_t)(s[1] & 63) << 12 | (uint32_t)(s[2] & 63) << 6 |
            (s[3] & 63);
    return 4;
}

/* Characters that stand for themselves on a line of YAML. */
static bool is_printable(uint32_t c)
{
    return !rgmi_is_hidden(c) && c != 0xfeff && (c <= 0xfffd || c >= 0x10000);
}

bool rgmi_yaml_is_plain(const char *text)
{
    size_t n = strlen(text);
    uint32_t code;

    if (n == 0)
        return true;
    if (strchr(" ,[]{}#&*!|>'\"%@`", text[0]) != NULL || text[n - 1] == ' ' || text[n - 1] == ':')
        return false;
    if ((text[0] == '-' || text[0] == '?' || text[0] == ':') && (text[1] == 0 || text[1] == ' '))
        return false;
    if (strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0)
        return false;
    if (strstr(text, ": ") != NULL || strstr(text, " #") != NULL)
        return false;
    for (const char *s = text; *s != 0;) {
        s += decode(&code, s);
        if (!is_printable(code))
            return false;
    }
    return true;
}

static rgm_status print_quoted(rgm_text *out, const char *text)
{
    const char *begin = text;

    RGM_TRY(rgm_text_add(out, "\"", 1));
    while (*text != 0) {
        uint32_t code;
        int n = decode(&code, text);
        if (!is_printable(code) || code == '"' || code == '\\') {
            RGM_TRY(rgm_text_add(out, begin, text - begin));
            if (code == '"' || code == '\\')
                RGM_TRY(rgm_text_printf(out, "\\%c", (char)code));
            else if (code == '\n')
                RGM_TRY(rgm_text_add(out, "\\n", 2));
            else if (code == '\t')
                RGM_TRY(rgm_text_add(out, "\\t", 2));
            else
                RGM_TRY(rgm_text_printf(out, "\\U%08X", (unsigned)code));
            begin = text + n;
        }
        text += n;
    }
    RGM_TRY(rgm_text_add(out, begin, text - begin));
    RGM_TRY(rgm_text_add(out, "\"", 1));
    return RGM_OK;
}

static rgm_status print_scalar(rgm_text *out, const rgm_yaml_node *node)
{
    if (node->quoted || !rgmi_yaml_is_plain(node->text))
        RGM_TRY(print_quoted(out, node->text));
    else
        RGM_TRY(rgm_text_add(out, node->text, (int64_t)strlen(node->text)));
    return RGM_OK;
}

static bool is_word(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    if (*text == '-' && text[1] != 0)
        text++;
    return *text != 0 && strchr(letters, *text) != NULL &&
           text[strspn(text,
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/")] == 0;
}

static bool fits_on_a_line(const rgm_yaml_node *list)
{
    size_t size = 0;

    for (int64_t i = 0; i < list->count && size <= LONGEST_FLOW_LIST; i++) {
        const rgm_yaml_node *item = list->items[i];
        if (item->kind != RGM_YAML_SCALAR || item->quoted || !is_word(item->text))
            return false;
        size += strlen(item->text) + 2;
    }
    return size <= LONGEST_FLOW_LIST;
}

static rgm_status print_flow_list(rgm_text *out, const rgm_yaml_node *list)
{
    RGM_TRY(rgm_text_add(out, "[", 1));
    for (int64_t i = 0; i < list->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%s", i > 0 ? ", " : "", list->items[i]->text));
    RGM_TRY(rgm_text_add(out, "]", 1));
    return RGM_OK;
}

/* Scalars, {} and short lists stand behind their key or dash. */
static bool is_inline(const rgm_yaml_node *node)
{
    return node->kind == RGM_YAML_SCALAR || node->count == 0 ||
           (node->kind == RGM_YAML_LIST && fits_on_a_line(node));
}

static rgm_status print_inline(rgm_text *out, const rgm_yaml_node *node)
{
    if (node->kind == RGM_YAML_SCALAR)
        RGM_TRY(print_scalar(out, node));
    else if (node->kind == RGM_YAML_MAP)
        RGM_TRY(rgm_text_add(out, "{}", 2));
    else
        RGM_TRY(print_flow_list(out, node));
    RGM_TRY(rgm_text_add(out, "\n", 1));
    return RGM_OK;
}

/* A key longer than libyaml takes on one line (1024 characters) needs the form with "?". */
static rgm_status print_key(rgm_text *out, const char *key, int indent)
{
    bool simple = strlen(key) <= LONGEST_SIMPLE_KEY;

    if (!simple)
        RGM_TRY(rgm_text_add(out, "? ", 2));
    if (is_word(key))
        RGM_TRY(rgm_text_add(out, key, (int64_t)strlen(key)));
    else
        RGM_TRY(print_quoted(out, key));
    if (simple)
        RGM_TRY(rgm_text_add(out, ":", 1));
    else
        RGM_TRY(rgm_text_printf(out, "\n%*s:", indent, ""));
    return RGM_OK;
}

/* The entries of a list or map; the first line's indentation is written already. */
static rgm_status print_block(rgm_text *out, const rgm_yaml_node *node, int indent)
{
    for (int64_t i = 0; i < node->count; i++) {
        const rgm_yaml_node *item = node->items[i];
        bool nothing = item->kind == RGM_YAML_SCALAR && !item->quoted && item->text[0] == 0;
        if (i > 0)
            RGM_TRY(rgm_text_printf(out, "%*s", indent, ""));
        if (node->kind == RGM_YAML_MAP)
            RGM_TRY(print_key(out, item->key, indent));
        else
            RGM_TRY(rgm_text_add(out, "-", 1));
        if (is_inline(item)) {
            if (!nothing)
                RGM_TRY(rgm_text_add(out, " ", 1));
            RGM_TRY(print_inline(out, item));
            continue;
        }
        if (node->kind == RGM_YAML_MAP)
            RGM_TRY(rgm_text_printf(out, "\n%*s", indent + 2, ""));
        else
            RGM_TRY(rgm_text_add(out, " ", 1));
        RGM_TRY(print_block(out, item, indent + 2));
    }
    return RGM_OK;
}

rgm_status rgm_yaml_print(rgm_text *out, const rgm_yaml_node *node)
{
    if (is_inline(node))
        RGM_TRY(print_inline(out, node));
    else
        RGM_TRY(print_block(out, node, 0));
    return RGM_OK;
}

/* ---- on one line --------------------------------------------------------------------------- */

static bool is_flow_word(const char *text)
{
    return text[0] != '\0' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_.+-/") == strlen(text) &&
           strcmp(text, "-") != 0;
}

static rgm_status print_flow_text(rgm_text *out, const rgm_yaml_node *node, bool inside)
{
    rgm_yaml_node copy = *node;

    copy.quoted = node->quoted || (inside && !is_flow_word(node->text));
    RGM_TRY(rgm_yaml_print(out, &copy));
    out->data[--out->size] = '\0'; /* the printer ends the line */
    return RGM_OK;
}

rgm_status rgm_yaml_print_flow(rgm_text *out, const rgm_yaml_node *node, bool inside)
{
    bool map = node->kind == RGM_YAML_MAP;

    if (node->kind == RGM_YAML_SCALAR)
        return print_flow_text(out, node, inside);
    RGM_TRY(rgm_text_add(out, map ? "{" : "[", 1));
    for (int64_t i = 0; i < node->count; i++) {
        if (i > 0)
            RGM_TRY(rgm_text_add(out, ", ", 2));
        if (map) {
            const rgm_yaml_node key = {.kind = RGM_YAML_SCALAR, .text = node->items[i]->key};

            RGM_TRY(print_flow_text(out, &key, true));
            RGM_TRY(rgm_text_add(out, ": ", 2));
        }
        RGM_TRY(rgm_yaml_print_flow(out, node->items[i], true));
    }
    return rgm_text_add(out, map ? "}" : "]", 1);
}

rgm_status rgm_yaml_flow_text(char **out, const rgm_yaml_node *node)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    *out = NULL;
    if (node != NULL)
        RGM_GO(rgm_yaml_print_flow(&text, node, false));
    RGM_GO(rgm_strdup(out, text.size > 0 ? text.data : ""));
done:
    rgm_text_clear(&text);
    return status;
}
