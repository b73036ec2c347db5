/*
 * base: JSON, read strictly and printed.
 */
#ifndef REGIMEN_BASE_JSON_H
#define REGIMEN_BASE_JSON_H

#include <regimen/base_text.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parsed value. The root owns all values inside it; what the functions below return is borrowed.
 */
typedef struct rgm_json rgm_json;
/**
 * Parse one value, strictly: the text is UTF-8, no object has a key twice, and there are at most
 * 2,048 levels. `name` is for messages.
 *
 * Errors: RGM_ERR_FORMAT "name:line:column: what", RGM_ERR_NOMEM.
 */
rgm_status rgm_json_parse(rgm_json **out, const char *data, int64_t size, const char *name);
/** The same of what Python's json module prints: NaN, Infinity and -Infinity, which JSON lacks, are
 * read as the texts "nan", "inf" and "-inf". Errors: as rgm_json_parse(). */
rgm_status rgm_json_parse_relaxed(rgm_json **out, const char *data, int64_t size, const char *name);
void rgm_json_release(rgm_json *json);
/** The value of a key of an object; NULL: there is no such key, or `object` is no object. */
const rgm_json *rgm_json_find(const rgm_json *object, const char *key);
/** The number of elements of an array, -1 for any other value; and element i, NULL when there is
 * none. */
int64_t rgm_json_count(const rgm_json *array);
const rgm_json *rgm_json_at(const rgm_json *array, int64_t i);
bool rgm_json_is_object(const rgm_json *json);
/** A string's text, borrowed; NULL for any other value. */
const char *rgm_json_text(const rgm_json *json);
/** Returns false and leaves *out unchanged when the value is NULL or no integer of 64 bits. */
bool rgm_json_int(int64_t *out, const rgm_json *json);
/** The same for true and false. */
bool rgm_json_bool(bool *out, const rgm_json *json);
/** The same for a number, or for the texts that rgm_json_print_number() prints for numbers that
 * JSON lacks: "nan", "inf", "-inf". */
bool rgm_json_number(double *out, const rgm_json *json);
/** An entry of an object; `{0}` stands before the first entry. */
typedef struct rgm_json_entry {
    const char *key;
    const rgm_json *value;
    void *place;
} rgm_json_entry;
/** Go to the next entry, in the order of the file; false at the end, or when `object` is no object.
 */
bool rgm_json_next(rgm_json_entry *entry, const rgm_json *object);

/** Append a parsed value, compact, as it was read. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_json_print(rgm_text *out, const rgm_json *json);
/** Append "text" in quotes; bytes that are not UTF-8 become U+FFFD. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_json_print_text(rgm_text *out, const char *text);
/**
 * Append the shortest decimal that reads back to the same double, always with '.' or 'e'. "nan",
 * "inf" and "-inf" are printed in quotes, because JSON has no such numbers.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_json_print_number(rgm_text *out, double number);

/* ---- written value by value -------------------------------------------------------------------
 */

/** How an object or a list looks: {"a":1,"b":2}, {"a": 1, "b": 2}, or one value per line. */
typedef enum rgm_json_layout { RGM_JSON_COMPACT, RGM_JSON_SPACED, RGM_JSON_LINES } rgm_json_layout;

/** How many objects and lists may be open at once. */
enum { RGM_JSON_WRITER_LEVELS = 128 };
/** One that is open. */
typedef struct rgm_json_open {
    char end;
    rgm_json_layout layout;
    bool filled; /* it has a value */
} rgm_json_open;
/**
 * Appends JSON to a text. The caller gives the values; the writer adds commas, quotes, escapes and
 * line breaks. It owns nothing. `key` is the key of a value in an object, and NULL in a list and at
 * the top.
 *
 *     rgm_json_writer w = {.out = &text};
 *     RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
 *     RGM_TRY(rgm_json_write_text(&w, "name", "it"));
 *     RGM_TRY(rgm_json_close(&w));                                       {"name": "it"}
 */
typedef struct rgm_json_writer {
    rgm_text *out;
    int depth;
    rgm_json_open open[RGM_JSON_WRITER_LEVELS];
} rgm_json_writer;
/**
 * Errors: RGM_ERR_ARG (more than 128 levels, a key outside an object, a value in an object without
 * a key), RGM_ERR_NOMEM.
 */
rgm_status rgm_json_open_object(rgm_json_writer *writer, const char *key, rgm_json_layout layout);
/** As rgm_json_open_object(). Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_json_open_list(rgm_json_writer *writer, const char *key, rgm_json_layout layout);
/** Close the object or list opened last. Errors: RGM_ERR_ARG (none is open), RGM_ERR_NOMEM. */
rgm_status rgm_json_close(rgm_json_writer *writer);
/** A text that is NULL is written as null. Errors of all functions that write a value: RGM_ERR_ARG,
 * RGM_ERR_NOMEM. */
rgm_status rgm_json_write_text(rgm_json_writer *writer, const char *key, const char *text);
rgm_status rgm_json_write_int(rgm_json_writer *writer, const char *key, int64_t number);
/** Written as rgm_json_print_number() prints it. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_json_write_number(rgm_json_writer *writer, const char *key, double number);
rgm_status rgm_json_write_bool(rgm_json_writer *writer, const char *key, bool value);
/** A value that is JSON already. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_json_write_printed(rgm_json_writer *writer, const char *key, const char *json);

#ifdef __cplusplus
}
#endif
#endif
