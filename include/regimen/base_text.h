/*
 * base: growing text, UTF-8, similar names for messages; a map from text keys to pointers.
 */
#ifndef REGIMEN_BASE_TEXT_H
#define REGIMEN_BASE_TEXT_H

#include <regimen/base_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A growing text; it ends with a 0 as soon as something was added. `{0}` is a valid empty one. */
typedef struct rgm_text {
    char *data;
    int64_t size;
    int64_t capacity;
} rgm_text;
void rgm_text_clear(rgm_text *text);
/** Append bytes, or what a format prints. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_text_add(rgm_text *text, const void *data, int64_t size);
rgm_status rgm_text_printf(rgm_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Append text for people, on one line. Control and direction characters (ESC, U+0080 to U+009F,
 * U+202E, ...) and bytes that are not UTF-8 become visible escapes, so that a name from a file
 * cannot control a terminal. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_text_add_visible(rgm_text *text, const char *shown);
/** The same for several lines: line feeds and tabs stay. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_text_add_visible_lines(rgm_text *text, const char *shown);

/** Offset of the first byte that is not valid UTF-8, or -1. */
int64_t rgm_utf8_check(const void *data, int64_t size);
/** The length in bytes of the valid UTF-8 sequence at `text`, 0 when there is none; *code is its
 * code point. */
int rgm_utf8_next(uint32_t *code, const char *text);

/** An extended regular expression (POSIX), of at most 256 bytes and without what takes time beyond
 * the length of pattern and line: references back, more than four groups with a + behind them,
 * counts in braces that come to more than 255 together. */
typedef struct rgm_line_pattern rgm_line_pattern;
/** Errors: RGM_ERR_CONFIG (it is none; the message says why), RGM_ERR_NOMEM. */
rgm_status rgm_line_pattern_create(rgm_line_pattern **out, const char *text, bool any_case);
void rgm_line_pattern_release(rgm_line_pattern *pattern);
/** Whether a part of a line fits; of one that is longer the first 4,096 bytes are looked at. */
bool rgm_line_pattern_fits(const rgm_line_pattern *pattern, const char *line, int64_t size);

/** Read a text that is a decimal or "inf"; false for any other text. */
bool rgm_number_parse(double *out, const char *text);

/** The one of `names` that is nearest to `name` by edit distance, or NULL when none is near. */
const char *rgm_nearest_name(const char *name, const char *const *names, int64_t count);
/** The end of a message; "" when there is nothing to say. */
typedef struct rgm_hint {
    char text[640];
} rgm_hint;
/**
 * The hint for a `name` (or NULL) that is none of `names`. When one is near, it is "; did you mean
 * 'b'?" with `prefix` (or NULL) before the name. Else it is "; <otherwise>a, b, c", or "" without
 * `otherwise`.
 *
 *     RGM_FAIL(code, "no schedule '%s'%s", name,
 *              rgm_did_you_mean(name, names, count, NULL, "there are ").text);
 */
rgm_hint rgm_did_you_mean(const char *name, const char *const *names, int64_t count,
                          const char *prefix, const char *otherwise);

/** Text keys to pointers, in order of insertion. The map copies keys and does not own the values.
 */
typedef struct rgm_map rgm_map;
/** An empty map. A key that is set again keeps its place. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_map_create(rgm_map **out);
void rgm_map_release(rgm_map *map);
rgm_status rgm_map_set(rgm_map *map, const char *key, void *value);
void *rgm_map_get(const rgm_map *map, const char *key); /* NULL if absent */
bool rgm_map_has(const rgm_map *map, const char *key);
int64_t rgm_map_count(const rgm_map *map);
const char *rgm_map_key(const rgm_map *map, int64_t i);
void *rgm_map_value(const rgm_map *map, int64_t i);

/** A number with its name: a metric, a figure of a checkpoint. */
typedef struct rgm_named_number {
    const char *name;
    double value;
} rgm_named_number;

#ifdef __cplusplus
}
#endif
#endif
