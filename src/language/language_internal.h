/* What the files of the language model task share: its data as tokens, its state. */
#ifndef RGM_LANGUAGE_INTERNAL_H
#define RGM_LANGUAGE_INTERNAL_H

#include <regimen/language.h>

/** Parts: those of the modes, then valid_sets and test_sets. */
enum { RGMI_LANGUAGE_PARTS = RGM_TEST + 1 + RGM_MAX_EVAL_SETS };

typedef struct rgmi_language_data {
    const rgm_language_options *options; /* borrowed */
    int threads;
    rgm_tokenizer *tokenizer;
    char *tokenizer_path;                   /* where it was read */
    uint64_t hash;                          /* of its file */
    rgm_tokens *parts[RGMI_LANGUAGE_PARTS]; /* read when batches of them are first asked for */
    rgm_token_block_figures figures[RGMI_LANGUAGE_PARTS]; /* once batches were asked for */
} rgmi_language_data;
/** Read or train the tokenizer. Errors: the readers', RGM_ERR_DATA (one without an end). */
rgm_status rgmi_language_data_open(rgmi_language_data *out, const rgm_language_options *options,
                                   int threads);
void rgmi_language_data_clear(rgmi_language_data *data);
/** The tokenizer's file: rgm_task.files. */
void rgmi_language_files(rgm_task_file *out, int64_t *count, const rgmi_language_data *data);
/** The part of a set of rgm_task.eval_sets. */
static inline int rgmi_language_part_of_set(int64_t set)
{
    return RGM_TEST + 1 + (int)set;
}
rgm_file_sets rgmi_language_sets(const rgm_language_options *options);

/** Tensors of a batch; those before RGMI_LANGUAGE_INPUTS are fed. */
enum {
    RGMI_LANGUAGE_IDS,       /* i64 [rows, tokens]: what is read                           */
    RGMI_LANGUAGE_LABELS,    /* i64 [rows, tokens]                                         */
    RGMI_LANGUAGE_POSITIONS, /* i64 [rows, tokens]                                         */
    RGMI_LANGUAGE_SEGMENTS,  /* i64 [rows, tokens]; 0: nothing is there                    */
    RGMI_LANGUAGE_BYTES,     /* f32 [rows, tokens]                                         */
    RGMI_LANGUAGE_INPUTS,
    RGMI_LANGUAGE_DOCUMENTS = RGMI_LANGUAGE_INPUTS /* of predictions: i64 [rows] their numbers */
};
/** Batches of a part; *out is NULL when there is no such part. */
rgm_status rgmi_language_batches(rgm_dataset **out, rgmi_language_data *data, int part);
/** A document a row, in their order, each whole. RGM_ERR_DATA: one has more than `most` tokens. */
rgm_status rgmi_language_documents(rgm_dataset **out, rgmi_language_data *data, int part,
                                   int64_t most);
/** The same of text files that a pattern means, a line a document. */
rgm_status rgmi_language_lines(rgm_dataset **out, rgmi_language_data *data, const char *files,
                               int64_t most);

typedef struct rgmi_language_task {
    rgm_language_options options; /* texts are the caller's */
    rgmi_language_data data;
    rgm_decoder model;
    rgm_value *inputs[RGMI_LANGUAGE_INPUTS];
    rgm_head served;    /* log-probability and tokens of each row */
    bool owns_teachers; /* of the options: they were opened by their names */
} rgmi_language_task;

/**
 * The weights of the model without adapters: the task's own, or new ones with its adapters in them,
 * which *owned is then, to be released.
 */
rgm_status rgmi_language_weights(const rgm_parameters **out, rgm_parameters **owned,
                                 const rgmi_language_task *task, const rgm_parameters *parameters);

/* ---- language_text.c: the text of tokens that come one by one -------------------------------- */

/** `{0}` is a valid empty one. */
typedef struct rgmi_growing {
    const rgm_tokenizer *tokenizer;
    rgm_text text;      /* behind the prompt: whole characters */
    int64_t from, read; /* tokens before `read` are in the text; those from `from` on are decoded */
    rgm_text known;     /* what the tokens from .. read - 1 make */
    rgm_text now;
} rgmi_growing;
/** Begin behind the first `prompt` ids. */
rgm_status rgmi_growing_begin(rgmi_growing *growing, const rgm_tokenizer *tokenizer,
                              const int32_t *ids, int64_t prompt);
/** There are `count` ids now. */
rgm_status rgmi_growing_add(rgmi_growing *growing, const int32_t *ids, int64_t count);
void rgmi_growing_clear(rgmi_growing *growing);
/** Where the first of the stops begins in a text, of which the first `from` bytes have been
 * searched before; -1: there is none. */
int64_t rgmi_stop_find(const rgm_texts *stops, const rgm_text *text, int64_t from);
/** How many bytes at the end of a text may be the beginning of a stop. */
int64_t rgmi_stop_begun(const rgm_texts *stops, const rgm_text *text);

/* ---- language_wishes.c: a prompt, and what is wished of its text ------------------------------
 */

typedef struct rgmi_language_request {
    rgm_ids ids; /* the prompt behind the document's begin */
    rgm_generate_options options;
    char **stops; /* [stop_count] owned */
    int64_t stop_count;
    bool has_seed; /* of its own: the text depends on the request alone */
} rgmi_language_request;
/** wishes NULL: none; stops: those of the task, copied. Errors: those of rgm_task_writing.prepare.
 */
rgm_status rgmi_language_request_create(rgmi_language_request **out, const rgmi_language_task *task,
                                        rgm_str prompt, const rgm_generate_options *options,
                                        const rgm_texts *stops, const rgm_json *wishes);
void rgmi_language_request_release(rgmi_language_request *request);

/* ---- language_write.c -------------------------------------------------------------------------
 */

extern const rgm_task_writing rgmi_language_writing;

/* ---- language_serving.c: an export that is asked without its run ------------------------------
 */

rgm_status rgmi_language_save_serving(rgm_text *data, const char *folder, void *state);
rgm_status rgmi_language_serving_weights(rgm_parameters **out, const rgm_parameters *parameters,
                                         void *state);

/* ---- language_huggingface.c --------------------------------------------------------------------
 */

/** A folder that Transformers loads: rgm_task_format. */
rgm_status rgmi_language_save_huggingface(const char *folder, const rgm_parameters *parameters,
                                          void *state);
rgm_status rgmi_language_check_huggingface(const rgm_parameters *parameters, void *state);

/** Files of the export, and how it is saved, checked and compared: rgm_task_export. */
extern const char rgmi_language_description[];
rgm_status rgmi_language_save(const char *folder, const rgm_parameters *parameters, void *state);
rgm_status rgmi_language_check_export(const rgm_parameters *parameters, void *state);
rgm_status rgmi_language_verify(rgm_export_check *check, const char *folder,
                                const rgm_parameters *parameters, rgm_mode mode,
                                int64_t max_batches, void *state);

#endif
