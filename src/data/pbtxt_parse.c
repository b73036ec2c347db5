/*
 * The protobuf text format, read without a schema into a tree of fields that know their place:
 *   field   = name ":" value | name [":"] message        ("," or ";" may follow)
 *   name    = identifier | number (how printers show unknown fields) | "[" extension or URL "]"
 *   value   = string+ | number | identifier | message | "[" value, ... "]"
 *   message = "{" field* "}" | "<" field* ">"
 */
#include "pbtxt_internal.h"

enum { MAX_DEPTH = 64, MAX_SIZE = 64 << 20 };

typedef struct parser {
    rgm_pbtxt *document;
    const char *at, *end;
    const char *line_start;
    int line;
    rgm_text scratch; /* a string's bytes, a name */
} parser;

static int column_of(const parser *p, const char *at)
{
    return (int)(at - p->line_start) + 1;
}

static rgm_status parse_fail(const parser *p, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: %s", p->document->name, p->line, column_of(p, p->at),
                    what);
}

static rgm_status expected(const parser *p, const char *what)
{
    unsigned char c = p->at < p->end ? (unsigned char)*p->at : 0;

    if (p->at == p->end)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: expected %s, the text ends here",
                        p->document->name, p->line, column_of(p, p->at), what);
    if (c < 0x20 || c >= 0x7f)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: expected %s, not byte 0x%02x", p->document->name,
                        p->line, column_of(p, p->at), what, c);
    return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: expected %s, not '%c'", p->document->name, p->line,
                    column_of(p, p->at), what, c);
}

static rgm_status no_memory(const parser *p)
{
    return RGM_FAIL(RGM_ERR_NOMEM, "%s:%d: out of memory", p->document->name, p->line);
}

static void skip_space(parser *p)
{
    for (; p->at < p->end; p->at++) {
        if (*p->at == '#') {
            while (p->at < p->end && *p->at != '\n')
                p->at++;
            if (p->at == p->end)
                return;
        }
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        } else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r' && *p->at != '\f' &&
                   *p->at != '\v') {
            return;
        }
    }
}

/** Skip space, then the character if it comes next. */
static bool take(parser *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/** Digits of a word or number: letters, digits, '.'; '+' and '-' only after an exponent's letter.
 */
static const char *end_of_number(const char *at, const char *end)
{
    const char *from = at;
    bool hex = end - at > 1 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');

    while (at < end &&
           (is_letter(*at) || is_digit(*at) || *at == '.' ||
            ((*at == '+' || *at == '-') && at > from && !hex && (at[-1] == 'e' || at[-1] == 'E'))))
        at++;
    return at;
}

static rgm_status copy_text(const char **out, parser *p, const char *text, int64_t size)
{
    char *copy = rgm_arena_alloc(p->document->arena, (size_t)size + 1);

    if (copy == NULL)
        return no_memory(p);
    if (size > 0)
        memcpy(copy, text, (size_t)size);
    *out = copy;
    return RGM_OK;
}

static rgm_status parse_name(const char **out, parser *p)
{
    const char *from = p->at;

    if (take(p, '[')) {
        p->scratch.size = 0;
        RGM_TRY(rgm_text_add(&p->scratch, "[", 1));
        while (!take(p, ']')) {
            if (p->at == p->end || !(is_letter(*p->at) || is_digit(*p->at) || *p->at == '.' ||
                                     *p->at == '/' || *p->at == '-'))
                return expected(p, "an extension's name");
            RGM_TRY(rgm_text_add(&p->scratch, p->at++, 1));
        }
        RGM_TRY(rgm_text_add(&p->scratch, "]", 1));
        if (p->scratch.size == 2)
            return parse_fail(p, "an extension without a name");
        return copy_text(out, p, p->scratch.data, p->scratch.size);
    }
    if (p->at == p->end || !(is_letter(*p->at) || is_digit(*p->at)))
        return expected(p, "a field's name");
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        p->at++;
    return copy_text(out, p, from, p->at - from);
}

/* ---- strings -------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static rgm_status add_byte(parser *p, unsigned byte)
{
    char c = (char)byte;
    return rgm_text_add(&p->scratch, &c, 1);
}

/** \uXXXX or \UXXXXXXXX, behind the letter: as UTF-8. */
static rgm_status add_code_point(parser *p, int digits)
{
    uint32_t c = 0;

    for (int i = 0; i < digits; i++, p->at++) {
        int digit = p->at < p->end ? hex_digit(*p->at) : -1;
        if (digit < 0)
            return expected(p, digits == 4 ? "four hex digits after \\u"
                                           : "eight hex digits after \\U");
        c = c << 4 | (uint32_t)digit;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return parse_fail(p, "not a Unicode character");
    if (c < 0x80)
        return add_byte(p, c);
    if (c < 0x800) {
        RGM_TRY(add_byte(p, 0xc0 | c >> 6));
    } else if (c < 0x10000) {
        RGM_TRY(add_byte(p, 0xe0 | c >> 12));
        RGM_TRY(add_byte(p, 0x80 | (c >> 6 & 0x3f)));
    } else {
        RGM_TRY(add_byte(p, 0xf0 | c >> 18));
        RGM_TRY(add_byte(p, 0x80 | (c >> 12 & 0x3f)));
        RGM_TRY(add_byte(p, 0x80 | (c >> 6 & 0x3f)));
    }
    return add_byte(p, 0x80 | (c & 0x3f));
}

/** Behind the backslash. */
static rgm_status add_escape(parser *p)
{
    static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
    const char *found;
    unsigned v = 0;
    int n = 0;

    if (p->at == p->end)
        return expected(p, "an escape");
    if (*p->at >= '0' && *p->at <= '7') {
        for (; n < 3 && p->at < p->end && *p->at >= '0' && *p->at <= '7'; n++)
            v = v * 8 + (unsigned)(*p->at++ - '0');
        return v < 256 ? add_byte(p, v) : parse_fail(p, "an octal escape over \\377");
    }
    if (*p->at == 'x' || *p->at == 'X') {
        p->at++;
        for (; n < 2 && p->at < p->end && hex_digit(*p->at) >= 0; n++)
            v = v * 16 + (unsigned)hex_digit(*p->at++);
        return n > 0 ? add_byte(p, v) : expected(p, "hex digits after \\x");
    }
    if (*p->at == 'u' || *p->at == 'U') {
        int digits = *p->at++ == 'u' ? 4 : 8;
        return add_code_point(p, digits);
    }
    found = *p->at != '\0' ? strchr(from, *p->at) : NULL;
    if (found == NULL)
        return expected(p, "an escape that is known");
    p->at++;
    return add_byte(p, (unsigned char)to[found - from]);
}

/** One or several strings that stand side by side. */
static rgm_status parse_string(parser *p, rgm_pbtxt_field *field)
{
    p->scratch.size = 0;
    while (p->at < p->end && (*p->at == '"' || *p->at == '\'')) {
        char quote = *p->at++;
        for (;;) {
            const char *from = p->at;
            while (p->at < p->end && *p->at != quote && *p->at != '\\' && *p->at != '\n')
                p->at++;
            RGM_TRY(rgm_text_add(&p->scratch, from, p->at - from));
            if (p->at == p->end || *p->at == '\n')
                return parse_fail(p, "a string has no end on its line");
            if (*p->at++ == quote)
                break;
            RGM_TRY(add_escape(p));
        }
        skip_space(p);
    }
    field->kind = RGM_PBTXT_STRING;
    field->size = p->scratch.size;
    return copy_text(&field->text, p, p->scratch.data, p->scratch.size);
}

/* ---- values --------------------------------------------------------------------------------- */

/** A number or a word; `-` may stand apart from what follows. */
static rgm_status parse_scalar(parser *p, rgm_pbtxt_field *field)
{
    bool minus = take(p, '-');
    const char *from;
    double number;

    skip_space(p);
    from = p->at;
    if (p->at == p->end || !(is_letter(*p->at) || is_digit(*p->at) || *p->at == '.'))
        return expected(p, "a value");
    p->at = end_of_number(p->at, p->end);
    field->kind = minus || !is_letter(*from) ? RGM_PBTXT_NUMBER : RGM_PBTXT_WORD;
    p->scratch.size = 0;
    RGM_TRY(rgm_text_add(&p->scratch, "-", minus));
    RGM_TRY(rgm_text_add(&p->scratch, from, p->at - from));
    field->size = p->scratch.size;
    RGM_TRY(copy_text(&field->text, p, p->scratch.data, p->scratch.size));
    if (field->kind == RGM_PBTXT_WORD && memchr(from, '.', (size_t)(p->at - from)) != NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: '%.64s' is neither a number nor a name",
                        p->document->name, p->line, column_of(p, from), field->text);
    if (field->kind == RGM_PBTXT_NUMBER && !rgmi_pbtxt_number(&number, field->text, field->size))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: '%.64s' is not a number", p->document->name,
                        p->line, column_of(p, from), field->text);
    return RGM_OK;
}

/** Where the parser is in a message or list that is open. */
typedef struct level {
    rgm_pbtxt_field *message; /* to which fields are added                       */
    const char *list;         /* in a list: the name its values have, else NULL  */
    char close;
} level;

static rgm_status open_level(parser *p, level *levels, int *depth, level next)
{
    if (*depth + 1 == MAX_DEPTH)
        return parse_fail(p, "more than 64 levels");
    levels[++*depth] = next;
    return RGM_OK;
}

/** A value of the name in `field`, which is already in the tree. */
static rgm_status parse_value(parser *p, rgm_pbtxt_field *field, level *levels, int *depth,
                              bool colon)
{
    skip_space(p);
    if (p->at < p->end && (*p->at == '{' || *p->at == '<')) {
        char close = *p->at == '{' ? '}' : '>';
        RGM_TRY(open_level(p, levels, depth, (level){.message = field, .close = close}));
        p->at++;
        field->kind = RGM_PBTXT_MESSAGE;
        return RGM_OK;
    }
    if (!colon)
        return expected(p, "':' or a message");
    if (p->at < p->end && (*p->at == '"' || *p->at == '\''))
        return parse_string(p, field);
    return parse_scalar(p, field);
}

static rgm_status append(rgm_pbtxt_field **out, parser *p, rgm_pbtxt_field *message,
                         const char *name, int line, int column)
{
    *out = rgmi_pbtxt_append(p->document, message, name);
    if (*out == NULL)
        return no_memory(p);
    (*out)->line = line;
    (*out)->column = column;
    return RGM_OK;
}

/** name ":" value: the name and what follows it, up to the opening of a message or list. */
static rgm_status parse_field(parser *p, level *levels, int *depth)
{
    rgm_pbtxt_field *message = levels[*depth].message, *field;
    int line, column;
    const char *name;
    bool colon;

    skip_space(p);
    line = p->line;
    column = column_of(p, p->at);
    RGM_TRY(parse_name(&name, p));
    colon = take(p, ':');
    if (take(p, '[')) {
        if (take(p, ']'))
            return RGM_OK;
        return open_level(p, levels, depth,
                          (level){.message = message, .list = name, .close = ']'});
    }
    RGM_TRY(append(&field, p, message, name, line, column));
    return parse_value(p, field, levels, depth, colon);
}

static rgm_status parse_document(parser *p)
{
    level levels[MAX_DEPTH] = {{.message = &p->document->root}};
    int depth = 0;
    bool first_in_list = false;

    for (;;) {
        level *top = &levels[depth];
        int before = depth;

        skip_space(p);
        if (depth == 0 && p->at == p->end)
            return RGM_OK;
        if (top->list != NULL) {
            rgm_pbtxt_field *field;
            if (!first_in_list) {
                if (take(p, ']')) {
                    depth--;
                    (void)(take(p, ',') || take(p, ';'));
                    continue;
                }
                if (!take(p, ','))
                    return expected(p, "',' or ']'");
                skip_space(p);
            }
            first_in_list = false;
            RGM_TRY(append(&field, p, top->message, top->list, p->line, column_of(p, p->at)));
            RGM_TRY(parse_value(p, field, levels, &depth, true));
            continue;
        }
        if (depth > 0 && take(p, top->close)) {
            depth--;
            if (levels[depth].list == NULL)
                (void)(take(p, ',') || take(p, ';'));
            continue;
        }
        RGM_TRY(parse_field(p, levels, &depth));
        first_in_list = depth > before && levels[depth].list != NULL;
        if (depth == before)
            (void)(take(p, ',') || take(p, ';'));
    }
}

rgm_status rgm_pbtxt_parse(rgm_pbtxt **out, const char *text, int64_t size, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_pbtxt *document = NULL;
    parser p = {.at = text, .end = text + size, .line_start = text, .line = 1};

    *out = NULL;
    if (size < 0 || size > MAX_SIZE)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: %lld bytes; at most %d are read", name,
                        (long long)size, MAX_SIZE);
    RGM_GO(rgm_pbtxt_create(&document));
    document->name = rgm_arena_strdup(document->arena, name);
    if (document->name == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory", name));
    p.document = document;
    RGM_GO(parse_document(&p));
    *out = document;
    document = NULL;
done:
    rgm_text_clear(&p.scratch);
    rgm_pbtxt_release(document);
    return status;
}
