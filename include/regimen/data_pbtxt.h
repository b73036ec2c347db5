/*
 * data: protobuf text: reading it with the place of every field, making it and printing it.
 */
#ifndef REGIMEN_DATA_PBTXT_H
#define REGIMEN_DATA_PBTXT_H

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rgm_pbtxt_kind {
    RGM_PBTXT_MESSAGE,
    RGM_PBTXT_STRING, /* quoted; text holds the bytes, escapes undone   */
    RGM_PBTXT_NUMBER, /* text as written, sign included                 */
    RGM_PBTXT_WORD    /* an enum's name, true, false                    */
} rgm_pbtxt_kind;

/**
 * A field with the place it was read from. Repeated fields, also `name: [a, b]`, are siblings with
 * one name. The document owns all fields.
 */
typedef struct rgm_pbtxt_field {
    const char *name; /* "" for the root                                 */
    rgm_pbtxt_kind kind;
    const char *text;              /* terminated; not for messages                    */
    int64_t size;                  /* of text                                         */
    int line, column;              /* 1-based, of the name; 0 when made by a program  */
    struct rgm_pbtxt_field *first; /* of a message */
    struct rgm_pbtxt_field *last;
    struct rgm_pbtxt_field *next; /* sibling      */
} rgm_pbtxt_field;

typedef struct rgm_pbtxt rgm_pbtxt;
/**
 * Parse a text of at most 64 MiB and 64 levels. `name` is put into messages.
 *
 * Errors: RGM_ERR_FORMAT "name:line:column: what"; RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_pbtxt_parse(rgm_pbtxt **out, const char *text, int64_t size, const char *name);
/** An empty document to add to. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_pbtxt_create(rgm_pbtxt **out);
void rgm_pbtxt_release(rgm_pbtxt *document);
/** The name given to rgm_pbtxt_parse(): that of the file. */
const char *rgm_pbtxt_name(const rgm_pbtxt *document);
rgm_pbtxt_field *rgm_pbtxt_root(const rgm_pbtxt *document);

/** The first field of a message with that name, or NULL; and the next sibling with the same name.
 */
const rgm_pbtxt_field *rgm_pbtxt_find(const rgm_pbtxt_field *message, const char *name);
const rgm_pbtxt_field *rgm_pbtxt_find_next(const rgm_pbtxt_field *field);
/**
 * RGM_ERR_FORMAT "file:line:column: unknown field 'shapee'; did you mean 'shape'?" unless every
 * field of the message has one of the names.
 */
rgm_status rgm_pbtxt_check_names(const rgm_pbtxt *document, const rgm_pbtxt_field *message,
                                 const char *const *names, int64_t count);
/** The value of a field; RGM_ERR_FORMAT with its place when it has another kind or is out of range.
 */
rgm_status rgm_pbtxt_int(int64_t *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field);
rgm_status rgm_pbtxt_double(double *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field);
rgm_status rgm_pbtxt_bool(bool *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field);
/** A text without zero bytes inside, so that it is a C string; borrowed. Errors: RGM_ERR_FORMAT. */
rgm_status rgm_pbtxt_string(const char **out, const rgm_pbtxt *document,
                            const rgm_pbtxt_field *field);
/** An enum's name; borrowed. Errors: RGM_ERR_FORMAT. */
rgm_status rgm_pbtxt_word(const char **out, const rgm_pbtxt *document,
                          const rgm_pbtxt_field *field);
/** RGM_OK if the field is a message. Errors: RGM_ERR_FORMAT. */
rgm_status rgm_pbtxt_message(const rgm_pbtxt *document, const rgm_pbtxt_field *field);
/** An error at a field's place: RGM_ERR_FORMAT "file:line:column: ...". */
rgm_status rgm_pbtxt_fail(const rgm_pbtxt *document, const rgm_pbtxt_field *field,
                          const char *format, ...) __attribute__((format(printf, 3, 4)));

/**
 * Append a field to a message. Texts are copied. *out (may be NULL) is the new field, borrowed.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_pbtxt_add_message(rgm_pbtxt_field **out, rgm_pbtxt *document,
                                 rgm_pbtxt_field *message, const char *name);
rgm_status rgm_pbtxt_add_string(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                                const char *text, int64_t size);
rgm_status rgm_pbtxt_add_int(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                             int64_t number);
rgm_status rgm_pbtxt_add_word(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                              const char *word);
/**
 * Print the fields of a message as text, indented by two spaces per level. The text parses to the
 * same fields.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_pbtxt_print(rgm_text *out, const rgm_pbtxt_field *message);

#ifdef __cplusplus
}
#endif
#endif
