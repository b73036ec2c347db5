/*
 * What the files of this layer share. A format (where weights and configuration are read) has
 * families (whose models they are); both are rows.
 */
#ifndef RGM_MODEL_IMPORT_INTERNAL_H
#define RGM_MODEL_IMPORT_INTERNAL_H

#include <regimen/import.h>
#include <regimen/sequence_names.h>
#include <regimen/translation.h>

struct rgmi_import_family;
struct rgmi_import_format;

/* ---- import_config.c: the foreign configuration, of which no key may stay unread ---- */

/** A configuration as JSON. Every key that is asked for is noted. */
typedef struct rgmi_import_config {
    rgm_json *json; /* an object, owned */
    char *name;     /* for messages: "gpt2/config.json", owned */
    rgm_map *asked;
} rgmi_import_config;
/** Takes `text`, JSON. RGM_ERR_FORMAT: it is no object. */
rgm_status rgmi_import_config_open(rgmi_import_config *out, const char *text, int64_t size,
                                   const char *name);
void rgmi_import_config_clear(rgmi_import_config *config);

/** Another file of the source's folder; *out NULL: there is none. RGM_ERR_FORMAT. */
rgm_status rgmi_import_load_json(rgm_json **out, const char *folder, const char *name);

/** For a key that must be there, in the place of what it otherwise is. */
#define RGMI_NEEDED      INT64_MIN
#define RGMI_NEEDED_REAL (-1e300)
/**
 * A key's number; `otherwise` where it is missing or null. RGM_ERR_NOT_FOUND: it is needed;
 * RGM_ERR_UNSUPPORTED: it is out of bounds; RGM_ERR_FORMAT: it is no such value.
 */
rgm_status rgmi_import_int(int64_t *out, rgmi_import_config *config, const char *key,
                           int64_t otherwise, int64_t least, int64_t most);
rgm_status rgmi_import_real(double *out, rgmi_import_config *config, const char *key,
                            double otherwise, double least, double most);
rgm_status rgmi_import_bool(bool *out, rgmi_import_config *config, const char *key, bool otherwise);
/** A text, borrowed; NULL where it is missing or null. */
rgm_status rgmi_import_text(const char **out, rgmi_import_config *config, const char *key);
/** The value itself, NULL where it is missing or null: for what is a map or a list. */
rgm_status rgmi_import_value(const rgm_json **out, rgmi_import_config *config, const char *key);
/** A value as JSON, at most `size` bytes of it. */
rgm_status rgmi_import_print_value(char *out, size_t size, const rgm_json *value);
/** NULL is null, too. */
bool rgmi_import_is_null(const rgm_json *value);
/** Whether a printed value is one of several, with one space between them. */
bool rgmi_import_is_one_of(const char *values, const char *value);
/** RGM_ERR_UNSUPPORTED "gpt2/config.json: key is value: why". */
rgm_status rgmi_import_refuse(const rgmi_import_config *config, const char *key, const char *why);

/** A key that a family takes with some values alone: "false", "null" where it is missing. */
typedef struct rgmi_import_fixed {
    const char *key;
    const char *values; /* JSON values, one space between them: "null false" */
    const char *why;    /* what other values would need: "scores by layer are not to be had here" */
} rgmi_import_fixed;
/** Every key was asked for, is fixed at a value of its row, is one of the family's or of those of
 * all that change no function, or is one of `ignored`. RGM_ERR_UNSUPPORTED names the first other.
 */
rgm_status rgmi_import_config_done(rgmi_import_config *config,
                                   const struct rgmi_import_family *family,
                                   const rgm_texts *ignored);

/* ---- import_source.c, import_tensors.c: tensors by name, wherever they lie ---- */

/** A tensor of the source. */
typedef struct rgmi_import_tensor {
    char *name;   /* owned */
    int64_t file; /* the format's own: which file has it */
    bool taken;   /* by some parameter, or left out with a reason */
} rgmi_import_tensor;

typedef struct rgmi_import_source {
    const struct rgmi_import_format *format;
    const struct rgmi_import_family *family;
    const char *type; /* the one of its types that the configuration names */
    const char *path; /* as the user named it */
    char *folder;     /* in which its other files lie, owned */
    rgmi_import_config config;
    rgmi_import_tensor *tensors;
    int64_t count, capacity;
    rgm_map *by_name; /* number + 1 */
    int64_t bytes;    /* of its files of tensors, which bound how large its model can be */
    void *state;      /* the format's own */
} rgmi_import_source;
/** Find the format, open it, find the family. */
rgm_status rgmi_import_source_open(rgmi_import_source *out, const char *path);
void rgmi_import_source_close(rgmi_import_source *source);
/** For a format's `open`: one tensor more. RGM_ERR_FORMAT: two have the name. */
rgm_status rgmi_import_source_add(rgmi_import_source *source, const char *name, int64_t file);
/** The number of a tensor, with or without the family's prefix; -1: there is none. */
int64_t rgmi_import_source_find(const rgmi_import_source *source, const char *name);

/* ---- rows ---- */

/** Where weights and configuration are read: a row. */
typedef struct rgmi_import_format {
    const char *name; /* "Hugging Face" */
    /** Whether the path looks like it. */
    bool (*fits)(const char *path);
    /** Set folder, config, tensors and bytes. What it has made is cleared by `close`, also after an
     * error. */
    rgm_status (*open)(rgmi_import_source *source);
    /** A tensor of any dtype; owned by the caller. */
    rgm_status (*load)(rgm_tensor **out, const rgmi_import_source *source, int64_t i);
    void (*close)(rgmi_import_source *source);
    const struct rgmi_import_family *const *families; /* ended by NULL */
} rgmi_import_format;

/** What an import is working on; for a family's `configure`. */
typedef struct rgmi_import_work {
    rgmi_import_source *source;
    const rgm_model_import_options *options;
    rgm_model_import_report *report;
    const rgm_weight_name *names;    /* the family's, unless configure sets others */
    rgm_weight_tokens tokens;        /* [out] of configure: rows of tables by token */
    rgm_weight_tokens target_tokens; /* the same of rows with RGM_WEIGHT_TARGET */
    int64_t *rows[2];                /* what their `from` are, owned            */
    int64_t numbers; /* [out] of configure: the weights that the model has at least. A file of fewer
                        bytes is refused before anything of that size is made                    */
} rgmi_import_work;

/** Tensors that are no parameter of ours. */
typedef struct rgmi_import_other {
    const char *pattern; /* a shell pattern of their name */
    const char *same_as; /* the tensor that it must be equal to; NULL: it is not looked at */
    const char *why;     /* for the table: "a mask, no weight" */
} rgmi_import_other;

/** Whose model it is: a row. */
typedef struct rgmi_import_family {
    const char *name;         /* "gpt2" */
    const char *const *types; /* `model_type` of configurations that it reads, ended by NULL */
    const char *const
        *prefixes; /* which their names may have or lack: "transformer."; NULL: none */
    const rgm_weight_name *names;    /* ended by {0} */
    const rgmi_import_other *others; /* ended by {0} */
    const rgmi_import_fixed *fixed;  /* ended by {0} */
    const char *const *free_keys;    /* keys that change no function, ended by NULL */
    /**
     * Read the configuration, check the tokenizer, set work->tokens and work->numbers, and write
     * the members of an experiment file that is an object of JSON: data, task, model. Keys that
     * nobody asked for are refused afterwards.
     */
    rgm_status (*configure)(rgm_json_writer *file, rgmi_import_work *work);
} rgmi_import_family;

extern const rgmi_import_format rgmi_import_huggingface, rgmi_import_npz;
extern const rgmi_import_family rgmi_import_gpt2, rgmi_import_llama, rgmi_import_marianmt,
    rgmi_import_marian;

/* ---- import_decoder.c: what decoders without a source have in common ---- */

/** A decoder as its configuration has it. */
typedef struct rgmi_import_decoder {
    int64_t layers, width, heads, key_heads, inner, positions, vocabulary;
    const char *activation; /* as theirs is called */
    double epsilon;
} rgmi_import_decoder;
/** Ours of their activation. RGM_ERR_UNSUPPORTED: we have none. */
rgm_status rgmi_import_activation(const char **out, const rgmi_import_config *config,
                                  const char *key, const char *theirs);
/** Bounds of what was read, work->tokens by the source's tokenizer, work->numbers; writes `data`.
 */
rgm_status rgmi_import_decoder_open(rgm_json_writer *file, rgmi_import_work *work,
                                    const rgmi_import_decoder *decoder);

/* ---- import_translation.c: what translation models have in common ---- */

/** One of its stacks. */
typedef struct rgmi_import_stack {
    int64_t layers, heads, inner;
} rgmi_import_stack;
/** A translation model as its configuration has it, in our words. */
typedef struct rgmi_import_translation {
    rgmi_import_stack encoder, decoder;
    int64_t width, positions;
    int64_t source_tokens, target_tokens; /* rows of their tables                          */
    const char *activation, *embeddings, *position_kind; /* values of keys of `model:`    */
    bool scaled, norm_first, final_norm;
    double epsilon, dropout, attention_dropout, inner_dropout;
    rgm_beam_search_options search;
    const char *tokenizer, *target_tokenizer;   /* files of the source's folder              */
    const char *vocabulary, *target_vocabulary; /* the latter NULL: one of both            */
    double missing; /* the logit of padding, where theirs has none                         */
} rgmi_import_translation;
/** The search that Marian and Transformers have, greedy without a key that says otherwise. */
#define RGMI_IMPORT_SEARCH_INIT                                                                    \
    {                                                                                              \
        .beam_size = 1, .n_best = 1, .alpha = 1, .length_penalty = RGM_LENGTH_POWER,               \
        .end_within_beam = true, .no_padding = true, .repetition_penalty = 1,                      \
        .diversity_groups = 1, .temperature = 1, .top_p = 1                                        \
    }
/** Check sizes, set work->tokens and work->numbers, and write the sections. */
rgm_status rgmi_import_translation_open(rgm_json_writer *file, rgmi_import_work *work,
                                        const rgmi_import_translation *translation);
/** A key of the configuration is the id that a vocabulary, which is JSON, gives a piece.
 * RGM_ERR_CONFIG: it is another one. */
rgm_status rgmi_import_check_token(rgmi_import_work *work, const char *key, const char *vocabulary,
                                   const char *piece);

/* ---- import_generation.c ---- */

/** Take over how a model of Transformers translates, from generation_config.json, or config.json
 * where there is none; what task.search lacks is noted. positions: the most of a translation. */
rgm_status rgmi_import_generation(rgm_beam_search_options *search, rgmi_import_work *work,
                                  int64_t positions);
/** Note what of it is said of a decoder: nothing is taken over. end: the token that ends a text. */
rgm_status rgmi_import_tell_generation(rgmi_import_work *work, int64_t end);

/* ---- import_report.c ---- */

/** A line of the report: what is otherwise than there. */
rgm_status rgmi_import_note(rgmi_import_work *work, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** A row of it; texts are copied, tensor NULL: its shape is not told. */
rgm_status rgmi_import_row_add(rgmi_import_work *work, const char *from, const rgm_tensor *tensor,
                               const char *how, const char *to);

#endif
