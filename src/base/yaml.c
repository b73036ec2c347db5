/*
 * YAML documents from libyaml's events. The subset is what a configuration needs: maps with text
 * keys, lists, scalars kept as text. Refused: anchors, aliases, tags, duplicate keys, several
 * documents, more than 64 levels. The events are read one at a time and nesting is cut off at once,
 * because libyaml's own work grows with the square of the depth. No recursion on input.
 */
#include "base_internal.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

typedef struct level {
    rgm_yaml_node *node;
    rgm_map *keys;    /* of a map: those seen so far                  */
    const char *key;  /* of a map: the key whose value comes next     */
    int line, column; /* of that key                                  */
} level;

typedef struct builder {
    rgm_yaml *yaml;
    const char *name; /* in the arena */
    const char *text;
    int64_t size;
    int64_t at_character, at_byte; /* the same place in both counts, moving forward only */
    level levels[RGMI_YAML_MAX_DEPTH];
    int depth;
    int documents;
} builder;

#define FAIL_AT(b, mark, ...)                                                                      \
    fail_at((b)->name, (int)(mark).line + 1, (int)(mark).column + 1, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static rgm_status fail_at(const char *name, int line,
                                                                int column, const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    rgmi_vformat(text, sizeof text, format, args);
    va_end(args);
    return RGM_FAIL(RGM_ERR_CONFIG, "%s:%d:%d: %s", name, line, column, text);
}

/* What libyaml would refuse too, but without a place: bad UTF-8 and control characters. */
static rgm_status check_text(const char *text, int64_t size, const char *name)
{
    int64_t bad = rgm_utf8_check(text, size), end = bad >= 0 ? bad : size;
    int line = 1, column = 1;

    for (int64_t i = 0; i < end; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') {
            line++;
            column = 1;
        } else if (c == 0) {
            return fail_at(name, line, column, "a NUL byte");
        } else if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7f) {
            return fail_at(name, line, column, "control character 0x%02x", c);
        } else if ((c & 0xc0) != 0x80) {
            column++;
        }
    }
    if (bad >= 0)
        return fail_at(name, line, column, "byte 0x%02x is not valid UTF-8",
                       (unsigned char)text[bad]);
    return RGM_OK;
}

/* The byte at a mark, 0 at the end. Marks of successive events never go back. */
static char byte_at(builder *b, const yaml_mark_t *mark)
{
    while (b->at_byte < b->size && b->at_character < (int64_t)mark->index) {
        b->at_byte++;
        while (b->at_byte < b->size && (b->text[b->at_byte] & 0xc0) == 0x80)
            b->at_byte++;
        b->at_character++;
    }
    return b->at_byte < b->size ? b->text[b->at_byte] : 0;
}

static rgm_status syntax_error(builder *b, const yaml_parser_t *parser)
{
    const char *problem = parser->problem != NULL ? parser->problem : "not YAML";

    if (parser->error == YAML_MEMORY_ERROR)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory while reading %s", b->name);
    if (parser->error == YAML_READER_ERROR)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: byte %zu: %s", b->name, parser->problem_offset,
                        problem);
    if (strstr(problem, "cannot start any token") != NULL &&
        byte_at(b, &parser->problem_mark) == '\t')
        problem = "a tab cannot indent; use spaces";
    return FAIL_AT(b, parser->problem_mark, "%s%s%s", problem, parser->context ? " " : "",
                   parser->context ? parser->context : "");
}

rgm_status rgmi_yaml_node(rgm_yaml_node **out, rgm_yaml *yaml, rgm_yaml_kind kind,
                          const char *origin, int line, int column)
{
    *out = NULL;
    if (yaml->nodes >= RGMI_YAML_MAX_NODES)
        return fail_at(origin, line, column, "more than %d values", RGMI_YAML_MAX_NODES);
    *out = rgm_arena_alloc(yaml->arena, sizeof **out);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a value of %s", origin);
    yaml->nodes++;
    (*out)->kind = kind;
    (*out)->origin = origin;
    (*out)->line = line;
    (*out)->column = column;
    return RGM_OK;
}

rgm_status rgmi_yaml_append(rgm_yaml *yaml, rgm_yaml_node *parent, rgm_yaml_node *child)
{
    int64_t n = parent->count;

    if ((n & (n - 1)) == 0) { /* full: 0, 1, 2, 4, 8 ... */
        size_t room = (size_t)(n > 0 ? 2 * n : 1);
        rgm_yaml_node **items = rgm_arena_alloc(yaml->arena, room * sizeof(rgm_yaml_node *));
        if (items == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld values", (long long)n + 1);
        if (n > 0)
            memcpy(items, parent->items, (size_t)n * sizeof(rgm_yaml_node *));
        parent->items = items;
    }
    parent->items[parent->count++] = child;
    return RGM_OK;
}

static rgm_status copy_text(const char **out, builder *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (strlen(text) != event->data.scalar.length)
        return FAIL_AT(b, event->start_mark, "text with a NUL character in it");
    *out = rgm_arena_strdup(b->yaml->arena, text);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for text of %s", b->name);
    return RGM_OK;
}

static rgm_status check_properties(builder *b, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    if (event->type == YAML_ALIAS_EVENT)
        return FAIL_AT(b, event->start_mark, "alias '*%s': aliases are not read here",
                       event->data.alias.anchor);
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor != NULL)
        return FAIL_AT(b, event->start_mark, "anchor '&%s': anchors are not read here", anchor);
    if (tag != NULL || byte_at(b, &event->start_mark) == '!') /* libyaml drops a lone "!" */
        return FAIL_AT(b, event->start_mark, "tag '%s': tags are not read here",
                       tag != NULL ? (const char *)tag : "!");
    return RGM_OK;
}

static rgm_status add_key(builder *b, level *top, const yaml_event_t *event)
{
    const char *key = NULL;

    if (event->type != YAML_SCALAR_EVENT)
        return FAIL_AT(b, event->start_mark, "a key must be text, not a list or a map");
    RGM_TRY(copy_text(&key, b, event));
    if (rgm_map_has(top->keys, key)) {
        const rgm_yaml_node *first = rgm_map_get(top->keys, key);
        return FAIL_AT(b, event->start_mark, "key '%s' is there twice, first at line %d", key,
                       first->line);
    }
    top->key = key;
    top->line = (int)event->start_mark.line + 1;
    top->column = (int)event->start_mark.column + 1;
    return RGM_OK;
}

/* Put a node where it belongs: the root, the end of a list, or the value of the pending key. */
static rgm_status place_node(builder *b, rgm_yaml_node *node)
{
    level *top;

    if (b->depth == 0) {
        b->yaml->root = node;
        return RGM_OK;
    }
    top = &b->levels[b->depth - 1];
    if (top->node->kind == RGM_YAML_MAP) {
        node->key = top->key;
        RGM_TRY(rgm_map_set(top->keys, top->key, node));
        top->key = NULL;
    }
    RGM_TRY(rgmi_yaml_append(b->yaml, top->node, node));
    return RGM_OK;
}

static rgm_status add_value(builder *b, const yaml_event_t *event)
{
    rgm_yaml_kind kind = event->type == YAML_SCALAR_EVENT           ? RGM_YAML_SCALAR
                         : event->type == YAML_SEQUENCE_START_EVENT ? RGM_YAML_LIST
                                                                    : RGM_YAML_MAP;
    level *top = b->depth > 0 ? &b->levels[b->depth - 1] : NULL;
    int line = (int)event->start_mark.line + 1, column = (int)event->start_mark.column + 1;
    rgm_yaml_node *node;

    RGM_TRY(check_properties(b, event));
    if (top != NULL && top->node->kind == RGM_YAML_MAP && top->key == NULL)
        return add_key(b, top, event);
    RGM_TRY(rgmi_yaml_node(&node, b->yaml, kind, b->name, line, column));
    if (kind == RGM_YAML_SCALAR) {
        RGM_TRY(copy_text(&node->text, b, event));
        node->quoted =
            event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || !rgmi_yaml_is_plain(node->text);
    }
    if (kind != RGM_YAML_SCALAR && b->depth == RGMI_YAML_MAX_DEPTH)
        return FAIL_AT(b, event->start_mark, "more than %d levels", RGMI_YAML_MAX_DEPTH);
    RGM_TRY(place_node(b, node));
    if (kind != RGM_YAML_SCALAR) {
        b->levels[b->depth] = (level){.node = node};
        if (kind == RGM_YAML_MAP)
            RGM_TRY(rgm_map_create(&b->levels[b->depth].keys));
        b->depth++;
    }
    return RGM_OK;
}

/* One event; RGM_END after the last. */
static rgm_status take_event(builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_STREAM_END_EVENT:
        return RGM_END;
    case YAML_DOCUMENT_START_EVENT:
        if (++b->documents > 1)
            return FAIL_AT(b, event->start_mark, "a second document; one is expected");
        if (event->data.document_start.tag_directives.start !=
            event->data.document_start.tag_directives.end)
            return FAIL_AT(b, event->start_mark, "%%TAG: tags are not read here");
        return RGM_OK;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        rgm_map_release(b->levels[b->depth].keys);
        b->levels[b->depth].keys = NULL;
        return RGM_OK;
    case YAML_ALIAS_EVENT:
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return add_value(b, event);
    default:
        return RGM_OK;
    }
}

static rgm_status read_events(builder *b)
{
    rgm_status status = RGM_OK;
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser))
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory while reading %s", b->name);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)b->text, (size_t)b->size);
    while (status == RGM_OK) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = syntax_error(b, &parser);
            break;
        }
        status = take_event(b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    for (int i = 0; i < b->depth; i++)
        rgm_map_release(b->levels[i].keys);
    return status == RGM_END ? RGM_OK : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgmi_yaml_parse(rgm_yaml **out, const char *text, int64_t size, const char *name,
                           rgm_yaml_kind empty)
{
    rgm_status status = RGM_OK;
    builder *b = NULL;
    rgm_yaml *yaml = NULL;

    *out = NULL;
    if (size > RGMI_YAML_MAX_SIZE)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: has %lld bytes; the most that is read is %d", name,
                        (long long)size, RGMI_YAML_MAX_SIZE);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
        text += 3;
        size -= 3;
    }
    RGM_TRY(check_text(text, size, name));
    RGM_GO(RGM_NEW(yaml, 1));
    RGM_GO(rgm_arena_create(&yaml->arena));
    RGM_GO(RGM_NEW(b, 1));
    b->yaml = yaml;
    b->text = text;
    b->size = size;
    b->name = rgm_arena_strdup(yaml->arena, name);
    if (b->name == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory while reading %s", name));
    RGM_GO(read_events(b));
    if (yaml->root == NULL ||
        (yaml->root->kind == RGM_YAML_SCALAR && !yaml->root->quoted && yaml->root->text[0] == 0)) {
        RGM_GO(rgmi_yaml_node(&yaml->root, yaml, empty, b->name, 1, 1));
        if (empty == RGM_YAML_SCALAR)
            yaml->root->text = "";
    }
    *out = yaml;
    yaml = NULL;
done:
    rgm_free(b);
    rgm_yaml_release(yaml);
    return status;
}

rgm_status rgm_yaml_parse(rgm_yaml **out, const char *text, int64_t size, const char *name)
{
    RGM_TRY(rgmi_yaml_parse(out, text, size, name, RGM_YAML_MAP));
    return RGM_OK;
}

rgm_status rgm_yaml_load(rgm_yaml **out, const char *path)
{
    rgm_status status = RGM_OK;
    char *text = NULL;
    int64_t size;

    *out = NULL;
    RGM_GO(rgm_file_load(&text, &size, path, RGMI_YAML_MAX_SIZE));
    RGM_GO(rgm_yaml_parse(out, text, size, path));
done:
    rgm_free(text);
    return status;
}

void rgm_yaml_release(rgm_yaml *yaml)
{
    if (yaml == NULL)
        return;
    rgm_arena_release(yaml->arena);
    rgm_free(yaml);
}

rgm_yaml_node *rgm_yaml_root(const rgm_yaml *yaml)
{
    return yaml->root;
}

rgm_yaml_node *rgm_yaml_find(const rgm_yaml_node *node, const char *key)
{
    if (node == NULL || node->kind != RGM_YAML_MAP)
        return NULL;
    for (int64_t i = 0; i < node->count; i++)
        if (strcmp(node->items[i]->key, key) == 0)
            return node->items[i];
    return NULL;
}
