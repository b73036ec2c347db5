/*
 * How features become what a model starts from: the encoders that model.input names, and what they
 * learned of the training data. One row for each in encoders.c.
 */
#ifndef RGM_GRAPH_FEATURES_ENCODERS_H
#define RGM_GRAPH_FEATURES_ENCODERS_H

#include <stdatomic.h>
#include <string.h>

#include <regimen/graph_features.h>

typedef struct rgmi_encoder rgmi_encoder;

/** What was learned of one feature, or of a node set (feature NULL). */
typedef struct rgmi_learned {
    const rgmi_encoder *encoder; /* NULL: of a node set                                   */
    rgm_piece piece;
    char *set, *feature;
    int64_t nodes;      /* of a node set: how many there are in the one graph; -1: not so */
    int64_t seen;       /* values that were looked at                                     */
    int64_t count;      /* of the arrays below                                            */
    bool of_texts;      /* vocabulary: of texts, in                                       */
    rgm_tensor *texts;  /* RGM_STRING [count], the most frequent first, or                */
    int64_t *integers;  /* [count]                                                        */
    int64_t *counts;    /* [count] how often each was there                               */
    double *boundaries; /* buckets: [count]                                               */
    double *offset;     /* of numbers: [count], one for each of an item, which then is    */
    double *factor;     /* (x - offset) * factor                                          */
} rgmi_learned;

/** One feature as the options say that it is read. */
typedef struct rgmi_encoding {
    const rgmi_encoder *encoder; /* NULL: as it is                                    */
    const rgm_input_options *options;
    int64_t place;               /* in the encoder's list; -1: it is not named there  */
    const rgmi_learned *learned; /* NULL: nothing                                     */
    int64_t width;               /* of its embedding; 0: there is none                */
} rgmi_encoding;

/** Values as they are looked at. */
typedef struct rgmi_collected {
    const rgmi_encoding *encoding;
    int64_t width; /* numbers of an item; of lists 1 */
    int64_t seen;
    bool of_texts;
    rgm_map *counts; /* by how the file says a value */
    double *sum, *squares, *low, *high, *values;
    int64_t capacity;
} rgmi_collected;

/** An encoder: a key of model.input with a list of features. */
struct rgmi_encoder {
    const char *key;
    /** The features' names that the options have under the key. */
    rgm_texts (*names)(const rgm_input_options *options);
    /** RGM_ERR_CONFIG when the number that the options have at a place cannot be. NULL: any can. */
    rgm_status (*check)(const rgm_input_options *options, int64_t place);
    /** Categories: which column each value is. NULL: it makes numbers. */
    rgm_status (*lookup)(rgm_lookup **out, const rgmi_encoding *encoding);
    /** Numbers [n, ...] of any dtype to rows in the scope's dtype. */
    rgm_value *(*rows)(rgm_scope *scope, rgm_value *x, const rgmi_encoding *encoding);
    /** Look at number `column` of an item, values[i]; NULL: nothing is learned. */
    rgm_status (*add)(rgmi_collected *c, const rgm_tensor *values, int64_t i, int64_t column);
    /** What that comes to. */
    rgm_status (*learn)(rgmi_learned *out, const rgmi_collected *c);
    /** One value of a JSON object, and back; what is read is not believed. */
    rgm_status (*print)(rgm_text *out, const rgmi_learned *learned);
    rgm_status (*parse)(rgmi_learned *out, const rgm_json *json);
    /** For people: "1,203 texts of 1,400". */
    rgm_status (*describe)(rgm_text *out, const rgmi_learned *learned);
    bool finite; /* NaN, infinities and missing integers are an error of the data */
};
enum { RGMI_ENCODERS = 8 };
/** All of them; ended by NULL. */
extern const rgmi_encoder *const rgmi_encoders[RGMI_ENCODERS + 1];
/** What an embedding alone is of. */
extern const rgmi_encoder rgmi_vocabulary_encoder;
/** Element i as a number, of any dtype but text. */
double rgmi_number_of(const rgm_tensor *values, int64_t i);

/** The place in a list of the name that means this feature of the set; -1: none does. */
int64_t rgmi_feature_place(const char *const *names, int64_t count, const char *set,
                           const char *feature);
/** How the options say that a feature is read; learned is what options->learned has of it. */
rgmi_encoding rgmi_encoding_of(const rgm_input_options *options, rgm_piece piece, const char *set,
                               const char *feature);
/** Whether a model starts from a feature of nodes that no list names. */
bool rgmi_is_input(const rgm_feature_schema *feature, const char *set, const rgm_input_options *o);
bool rgmi_has_inputs(const rgm_set_schema *node_set, const rgm_input_options *o);
/** Width of the embedding of each node that the options name for a set; 0: none. */
int64_t rgmi_named_embedding(const rgm_input_options *options, const char *node_set);
/** Every number of the options' lists can be: RGM_ERR_CONFIG. */
rgm_status rgmi_input_options_check(const rgm_input_options *options);
/* ---- what was learned ---- */

struct rgm_learned_features {
    rgmi_learned *items;
    int64_t count, capacity;
    rgm_text text;   /* as the file has it */
    const char *why; /* nodes are not counted: what the data are instead; NULL: they are */
    atomic_long references;
};
const rgmi_learned *rgmi_learned_find(const rgm_learned_features *learned, rgm_piece piece,
                                      const char *set, const char *feature);
void rgmi_learned_clear(rgmi_learned *learned);
/** An entry of those names, to be filled in; feature NULL: of a node set. */
rgm_status rgmi_learned_add(rgmi_learned **out, rgm_learned_features *learned, rgm_piece piece,
                            const char *set, const char *feature);
rgm_status rgmi_learned_create(rgm_learned_features **out);
/** Fill in text. */
rgm_status rgmi_learned_print(rgm_learned_features *learned);
#endif
