/*
 * train_writing: how a task writes texts behind prompts, a token at a time, many together. A text
 * joins between two steps and leaves when it has ended, so that a server's long texts and short
 * ones share each step.
 */
#ifndef REGIMEN_TRAIN_WRITING_H
#define REGIMEN_TRAIN_WRITING_H

#include <regimen/train_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A text that is being written, as a step left it; borrowed during the call. */
typedef struct rgm_written {
    void *mine;     /* of who let it join */
    rgm_str text;   /* whole characters. It only grows, so that it can be told as it comes: what may
                       turn out to be a stop is not in it. Only the end may change it, where the
                       model wrote bytes that are no characters                                */
    int64_t tokens; /* that were written                                                       */
    int64_t end;    /* -1: it goes on; else why it ended, a class of rgm_task_writing.outputs  */
    double log_probability; /* of its tokens, the end's too, by the model, in nats             */
} rgm_written;
/** Called with each text behind a step; false: nobody wants it any more, and it leaves. */
typedef bool rgm_written_sink(const rgm_written *text, void *payload);

/** How a task writes texts behind prompts, a token at a time, many together: they join between two
 * steps and leave when they have ended. */
typedef struct rgm_task_writing {
    /**
     * Read a prompt, and what is wished of its text; in any thread, beside all else. *out is for
     * `join` or `discard`. wishes: an object, in which "prompt" says nothing; NULL: none.
     * Errors: RGM_ERR_DATA (a prompt that cannot be read or is too long, an unknown wish, a value
     * outside its bounds), RGM_ERR_FORMAT, RGM_ERR_ARG, RGM_ERR_NOMEM.
     */
    rgm_status (*prepare)(void **out, void *state, rgm_str prompt, const rgm_json *wishes);
    void (*discard)(void *prepared);
    /** Begin to write up to `most` texts together; 0: as many as the task's options say. */
    rgm_status (*open)(void **out, void *state, const rgm_asked_with *with, int64_t most);
    void (*close)(void *writing);
    /** A text joins. `prepared` is taken, also after an error. What is drawn depends on `number`.
     */
    rgm_status (*join)(void *writing, void *prepared, int64_t number, void *mine);
    /** One token more for each text. After an error no text is there any more. */
    rgm_status (*step)(void *writing, rgm_written_sink *sink, void *payload);
    /** "tokens", "log_probability" and "end" with its classes, ended by a name that is NULL. */
    const rgm_export_output *outputs;
} rgm_task_writing;

#ifdef __cplusplus
}
#endif
#endif
