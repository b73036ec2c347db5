/*
 * base: YAML documents: nodes with their line and column, changes, printing.
 */
#ifndef REGIMEN_BASE_YAML_H
#define REGIMEN_BASE_YAML_H

#include <regimen/base_text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rgm_yaml_kind { RGM_YAML_SCALAR, RGM_YAML_LIST, RGM_YAML_MAP } rgm_yaml_kind;

/**
 * A node of a YAML document: plain data with the place it came from. Scalars are text, because the
 * schema decides on types (the parser does not guess at `1e-4` and `no`). The document owns all its
 * nodes.
 */
typedef struct rgm_yaml_node {
    rgm_yaml_kind kind;
    const char *key;    /* in a map: this entry's key, else NULL */
    const char *text;   /* scalar: its text                      */
    bool quoted;        /* scalar: in quotes or of several lines */
    int line, column;   /* 1-based                               */
    const char *origin; /* file name, "--set" or "$VARIABLE"     */
    struct rgm_yaml_node **items;
    int64_t count; /* of items                              */
} rgm_yaml_node;

typedef struct rgm_yaml rgm_yaml;
/**
 * Parse one document; an empty document is an empty map. It has at most 1 MiB, 64 levels and
 * 100,000 values. Anchors, aliases, tags and duplicate keys are refused. Errors are RGM_ERR_CONFIG
 * with "name:line:column: ...".
 */
rgm_status rgm_yaml_parse(rgm_yaml **out, const char *text, int64_t size, const char *name);
rgm_status rgm_yaml_load(rgm_yaml **out, const char *path);
void rgm_yaml_release(rgm_yaml *yaml);
rgm_yaml_node *rgm_yaml_root(const rgm_yaml *yaml);
/** Child of a map by key, NULL if absent. */
rgm_yaml_node *rgm_yaml_find(const rgm_yaml_node *node, const char *key);
/**
 * Set the value at a dotted path ("trainer.epochs") to a YAML text. Missing maps on the path are
 * made. The new nodes have the origin `origin`. For --set and for overlays.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_yaml_set(rgm_yaml *yaml, const char *path, const char *value, const char *origin);
/**
 * Merge `over` into `yaml`: maps are merged, and any other value of `over` replaces the one in
 * `yaml`. Values are copied, so `over` may be released at once. After RGM_ERR_NOMEM `yaml` is still
 * a valid document, with part of `over` in it.
 */
rgm_status rgm_yaml_merge(rgm_yaml *yaml, const rgm_yaml *over);
/** Print the document as YAML text that parses to the same document. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_yaml_print(rgm_text *out, const rgm_yaml_node *node);
/** Print a node on one line, without the line end: `3`, `"a b"`, `[1, 2]`, `{type: onnx}`. Set
 * `inside` for a node in brackets or a key, where a comma or a bracket would end a text. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgm_yaml_print_flow(rgm_text *out, const rgm_yaml_node *node, bool inside);
/** The same as a text of its own, to compare and to tell: rgm_free(*out). "" for no node (NULL).
 * Errors: RGM_ERR_NOMEM; *out is then NULL. */
rgm_status rgm_yaml_flow_text(char **out, const rgm_yaml_node *node);

/** Read one scalar as a number or a bool; RGM_ERR_CONFIG with its place when it is none. "1e-4" is
 * a number; a text with underscores is not. */
rgm_status rgm_yaml_int(int64_t *out, const rgm_yaml_node *node);
rgm_status rgm_yaml_float(double *out, const rgm_yaml_node *node);
rgm_status rgm_yaml_bool(bool *out, const rgm_yaml_node *node);
/** Record RGM_ERR_CONFIG "origin:line:column: <text>" and return it. */
rgm_status rgm_yaml_fail(const rgm_yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Add the place of a node to an error that was found without one; node NULL: there is no place.
 * Errors: returns the status that it is given. */
rgm_status rgm_yaml_place(rgm_status status, const rgm_yaml_node *node);

#ifdef __cplusplus
}
#endif
#endif
