/* Lookups inside the graph layer: what they are made of, and the patterns kept with a feature. */
#ifndef RGM_GRAPH_CATEGORY_LOOKUP_H
#define RGM_GRAPH_CATEGORY_LOOKUP_H

#include "graph_internal.h"

typedef enum rgmi_lookup_kind {
    RGMI_LOOKUP_RANGE,    /* 0 .. columns - 1                          */
    RGMI_LOOKUP_INTEGERS, /* a vocabulary                              */
    RGMI_LOOKUP_TEXTS,    /* a vocabulary                              */
    RGMI_LOOKUP_HASH,     /* XXH3 of the bytes, of decimals of integers */
    RGMI_LOOKUP_BUCKETS   /* how many boundaries are no more           */
} rgmi_lookup_kind;

struct rgm_lookup {
    atomic_int_fast64_t references;
    rgmi_lookup_kind kind;
    int64_t columns, other; /* other: column of what is not in the vocabulary, -1: none */
    int64_t count;          /* of the arrays below, each sorted by its keys             */
    int64_t *integers;
    double *boundaries;
    rgm_tensor *texts; /* RGM_STRING [count] */
    int64_t *column;   /* of each key        */
};

bool rgmi_lookup_equal(const rgm_lookup *a, const rgm_lookup *b);
/** Columns of a feature's pattern; RGM_ERR_DTYPE, _UNSUPPORTED, _ARG: it cannot be looked up so. */
rgm_status rgmi_lookup_width(int64_t *width, const rgm_lookup *lookup,
                             const rgm_feature_schema *schema, const char *title);

/** The column of values[i]; -1: it has none, and RGM_ERR_DATA says so of an item. */
int64_t rgmi_lookup_column(const rgm_lookup *lookup, const rgm_tensor *values, int64_t i);
rgm_status rgmi_lookup_unknown(const rgm_lookup *lookup, const rgm_tensor *values, int64_t i,
                               int64_t item);

/** A feature's pattern by one lookup. */
struct rgmi_looked_up {
    struct rgmi_looked_up *next;
    rgm_lookup *lookup;
    rgm_pattern *pattern;
};

#endif
