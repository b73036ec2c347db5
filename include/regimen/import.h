/*
 * import: other people's weights as a run of ours. A folder or a file of another program becomes a
 * run folder with a checkpoint of step 0, which `generate`, `translate`, `eval`, `predict`,
 * `export` and trainer.initialize take like any other.
 *
 *     regimen import gpt2 --out runs/gpt2            config.json, *.safetensors, tokenizer.json
 *     regimen generate runs/gpt2 --prompt "A man in"
 *
 * Nothing is guessed: a key of the configuration that is not known, or has a value that would make
 * another function than ours, a tensor that is left over or missing is an error with its name.
 */
#ifndef REGIMEN_IMPORT_H
#define REGIMEN_IMPORT_H

#include <regimen/experiment.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgm_model_import_options {
    bool cut_vocabulary;      /* the model has more tokens than its tokenizer: leave those out that
                                 have no piece; false: RGM_ERR_CONFIG says so                        */
    const rgm_texts *ignored; /* keys of the configuration that are not known here, and that the
                                 user knows not to change the model; NULL: none */
} rgm_model_import_options;

/** One of their tensors, or a part of it, and what became of it. It owns its texts. */
typedef struct rgm_model_import_row {
    char *from;  /* their name; NULL: ours is made of nothing of theirs */
    char *shape; /* "f32 [768, 2304]" */
    char *how;   /* "as is", "turned, part 1 of 3"; of one that is left out why */
    char *to;    /* our name; NULL: it is left out */
} rgm_model_import_row;
/** What an import did. */
typedef struct rgm_model_import_report {
    const char *source, *family; /* of static storage: "Hugging Face", "qwen2" */
    int64_t parameters;          /* numbers that the model has */
    rgm_model_import_row *rows;
    int64_t count, capacity;
    rgm_text notes; /* what is otherwise than there, a line each */
} rgm_model_import_report;
void rgm_model_import_report_clear(rgm_model_import_report *report);
/** The report as a table, and as one JSON object. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_model_import_report_print(rgm_text *out, const rgm_model_import_report *report);
rgm_status rgm_model_import_report_print_json(rgm_text *out, const rgm_model_import_report *report);

/**
 * Make a run folder of another program's model. `folder` must not exist, or be empty; it has
 * nothing of a run before all of it is there.
 *
 * @param report   [out] cleared by the caller; may be NULL
 * @param source   [in] a folder of Hugging Face, or what docs/import.md lists
 * @param options  [in] NULL: none
 *
 * Errors: RGM_ERR_NOT_FOUND (no such source, a missing file or tensor), RGM_ERR_UNSUPPORTED (a
 * model or a value of its configuration that is not to be had here, by name), RGM_ERR_CONFIG (a
 * configuration that contradicts itself or its tokenizer), RGM_ERR_FORMAT, RGM_ERR_SHAPE,
 * RGM_ERR_DTYPE, RGM_ERR_DATA (a tensor that is left over), RGM_ERR_NUMERIC (a weight that is no
 * number), RGM_ERR_BUSY (`folder` is not empty), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_model_import(rgm_model_import_report *report, const char *source, const char *folder,
                            const rgm_model_import_options *options);

#ifdef __cplusplus
}
#endif
#endif
