/*
 * Answers to questions: rows of outputs, and which of them answer which question.
 */
#include <regimen/train_task.h>

const char *const rgm_question_form_names[] = {"rows", "examples", "lines", "prompts", NULL};

static void free_texts(char **texts, int64_t count)
{
    for (int64_t i = 0; texts != NULL && i < count; i++)
        rgm_free(texts[i]);
    rgm_free(texts);
}

void rgm_answers_clear(rgm_answers *answers)
{
    int64_t texts = 0;

    if (answers->texts != NULL && answers->output_count > 0)
        texts = rgm_tensor_dim(answers->outputs[0], 0);
    free_texts(answers->texts, texts);
    free_texts(answers->alignments, texts);
    for (int64_t o = 0; o < answers->output_count; o++) {
        rgm_tensor_release(answers->outputs[o]);
        rgm_free(answers->begins[o]);
    }
    *answers = (rgm_answers){0};
}

rgm_status rgm_answers_add(rgm_answers *answers, rgm_tensor *rows, const int64_t *items,
                           int64_t count)
{
    rgm_status status = RGM_OK;
    int64_t *begins = NULL, o = answers->output_count;
    int64_t given = rgm_tensor_rank(rows) > 0 ? rgm_tensor_dim(rows, 0) : 0;

    if (o == RGM_MAX_OUTPUTS)
        RGM_GO(RGM_FAIL(RGM_ERR_SHAPE, "more than %d outputs", RGM_MAX_OUTPUTS));
    RGM_GO(RGM_NEW(begins, count + 1));
    for (int64_t i = 0; i < count; i++)
        begins[i + 1] = begins[i] + (items != NULL ? items[i] : 1);
    if (begins[count] != given)
        RGM_GO(RGM_FAIL(RGM_ERR_SHAPE,
                        "output %lld has %lld rows, but its %lld questions have "
                        "%lld items",
                        (long long)o, (long long)given, (long long)count,
                        (long long)begins[count]));
    answers->outputs[o] = rows;
    answers->begins[o] = begins;
    answers->output_count++;
    answers->count = count;
    rows = NULL;
    begins = NULL;
done:
    rgm_tensor_release(rows);
    rgm_free(begins);
    return status;
}
