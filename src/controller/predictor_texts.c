/*
 * Questions that are prompts: each is written its text, as it is wished, and all together.
 */
#include <string.h>

#include "run_internal.h"

/** What a text came to. */
typedef struct written {
    char *text;
    int64_t tokens, end;
    double log_probability;
} written;

/** Texts that are being written, and the first failure to keep one. */
typedef struct keeping {
    int64_t left;
    rgm_status status;
} keeping;

static bool keep(const rgm_written *told, void *payload)
{
    keeping *k = payload;
    written *w = told->mine;

    if (told->end < 0)
        return true;
    k->left--;
    w->tokens = told->tokens;
    w->end = told->end;
    w->log_probability = told->log_probability;
    if (k->status == RGM_OK)
        k->status = rgm_strndup(&w->text, told->text.data, (size_t)told->text.size);
    return true;
}

static rgm_status prepare(void **out, const rgm_task *task, const rgm_questions *q, int64_t i)
{
    const char *wish = q->wishes != NULL ? q->wishes[i] : NULL;
    rgm_json *json = NULL;
    rgm_status status = RGM_OK;

    if (wish != NULL)
        status = rgm_json_parse(&json, wish, (int64_t)strlen(wish), "wishes");
    if (status == RGM_OK)
        status = task->writing->prepare(out, task->state, q->texts[i], json);
    rgm_json_release(json);
    return status == RGM_OK || status == RGM_ERR_NOMEM
               ? status
               : rgm_error_prefix(status, "prompt %lld", (long long)i + 1);
}

/* Nothing joins before every question is known to be good. */
static rgm_status prepare_all(void **out, const rgm_task *task, const rgm_questions *q)
{
    for (int64_t i = 0; i < q->count; i++)
        RGM_TRY(prepare(&out[i], task, q, i));
    return RGM_OK;
}

static rgm_status write_all(written *out, const rgm_task *task, void *writing, void **prepared,
                            const rgm_questions *q)
{
    keeping k = {.left = q->count};

    for (int64_t i = 0; i < q->count; i++) {
        void *one = prepared[i];

        prepared[i] = NULL;
        RGM_TRY(task->writing->join(writing, one, q->first + i, &out[i]));
    }
    while (k.left > 0)
        RGM_TRY(task->writing->step(writing, keep, &k));
    return k.status;
}

static rgm_status fill(rgm_answers *out, written *all, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_tensor *columns[3] = {NULL};

    for (int k = 0; k < 3; k++)
        RGM_GO(rgm_tensor_create(&columns[k], k == 1 ? RGM_F64 : RGM_I64, 1, &count));
    RGM_GO(RGM_NEW(out->texts, count + 1));
    for (int64_t i = 0; i < count; i++) {
        rgm_tensor_i64(columns[0])[i] = all[i].tokens;
        ((double *)rgm_tensor_data(columns[1]))[i] = all[i].log_probability;
        rgm_tensor_i64(columns[2])[i] = all[i].end;
    }
    for (int k = 0; k < 3; k++) {
        status = rgm_answers_add(out, columns[k], NULL, count);
        columns[k] = NULL;
        RGM_GO(status);
    }
    for (int64_t i = 0; i < count; i++) {
        out->texts[i] = all[i].text;
        all[i].text = NULL;
    }
    out->is_single = true;
done:
    for (int k = 0; k < 3; k++)
        rgm_tensor_release(columns[k]);
    return status;
}

rgm_status rgmi_answer_prompts(rgm_answers *out, const rgm_task *task, void *writing,
                               const rgm_questions *q)
{
    rgm_status status = RGM_OK;
    void **prepared = NULL;
    written *all = NULL;

    RGM_GO(RGM_NEW(prepared, q->count));
    RGM_GO(RGM_NEW(all, q->count));
    RGM_GO(prepare_all(prepared, task, q));
    RGM_GO(write_all(all, task, writing, prepared, q));
    RGM_GO(fill(out, all, q->count));
done:
    for (int64_t i = 0; i < q->count; i++) {
        if (prepared != NULL && prepared[i] != NULL)
            task->writing->discard(prepared[i]);
        if (all != NULL)
            rgm_free(all[i].text);
    }
    rgm_free(prepared);
    rgm_free(all);
    return status;
}
