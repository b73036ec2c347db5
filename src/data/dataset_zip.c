/*
 * zip: the n-th elements of several inputs as one list, to the end of the shortest.
 */
#include "data_internal.h"

typedef struct zip_state {
    rgm_stage **inputs;  /* [inputs]                    */
    rgm_element **items; /* [inputs] of the list that is being made; NULL between two */
    bool over, torn;     /* torn: stopped when some inputs had given theirs */
} zip_state;

static rgm_status zip_open(rgm_stage *stage)
{
    zip_state *s = stage->state;
    int64_t count = stage->dataset->input_count;

    RGM_TRY(RGM_NEW(s->inputs, count));
    RGM_TRY(RGM_NEW(s->items, count));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(
            rgm_stage_open(&s->inputs[i], stage, stage->dataset->inputs[i], i + 1, stage->epoch));
    return RGM_OK;
}

static void drop_items(const rgm_stage *stage)
{
    zip_state *s = stage->state;

    for (int64_t i = 0; s->items != NULL && i < stage->dataset->input_count; i++) {
        rgm_element_release(s->items[i]);
        s->items[i] = NULL;
    }
}

/*
 * One of each input. An error in one costs the others theirs of the same number, so that the inputs
 * stay beside each other; the first one is told. An end ends all, whatever else there was.
 */
static rgm_status next_items(rgm_stage *stage)
{
    zip_state *s = stage->state;
    rgm_error error = {.status = RGM_OK};

    for (int64_t i = 0; i < stage->dataset->input_count; i++) {
        rgm_status status = rgm_stage_next(&s->items[i], s->inputs[i]);

        s->torn = i > 0 && status == RGM_STOPPED;
        if (status >= 0 && status != RGM_OK)
            return status;
        if (status != RGM_OK && error.status == RGM_OK)
            rgm_error_save(&error, status);
    }
    return error.status == RGM_OK ? RGM_OK : rgm_error_restore(&error);
}

static rgm_status zip_next(rgm_element **out, rgm_stage *stage)
{
    zip_state *s = stage->state;
    rgm_status status = RGM_END;

    if (s->over)
        return RGM_END;
    RGM_GO(next_items(stage));
    RGM_GO(rgm_element_create_list(out, s->items, stage->dataset->input_count));
done:
    s->over = status == RGM_END;
    drop_items(stage);
    return status;
}

static rgm_status zip_save(rgm_text *out, const rgm_stage *stage)
{
    const zip_state *s = stage->state;

    if (s->torn)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the iterator was stopped between the inputs of a zip: "
                        "there is no position to save");
    RGM_TRY(rgm_state_put_int(out, s->over));
    for (int64_t i = 0; i < stage->dataset->input_count; i++)
        RGM_TRY(rgm_stage_save(out, s->inputs[i]));
    return RGM_OK;
}

static rgm_status zip_restore(rgm_stage *stage, rgm_state_reader *state)
{
    zip_state *s = stage->state;
    int64_t number;

    RGM_TRY(rgm_state_get_count(&number, state, 1, "zip's end"));
    s->over = number != 0;
    for (int64_t i = 0; i < stage->dataset->input_count; i++)
        RGM_TRY(rgm_stage_restore(s->inputs[i], state));
    return RGM_OK;
}

static void zip_close(rgm_stage *stage)
{
    zip_state *s = stage->state;

    drop_items(stage);
    for (int64_t i = 0; s->inputs != NULL && i < stage->dataset->input_count; i++)
        rgm_stage_close(s->inputs[i]);
    rgm_free(s->inputs);
    rgm_free(s->items);
}

/** The least; known where all are. */
static int64_t zip_count(const rgm_dataset *dataset)
{
    int64_t least = INT64_MAX;

    for (int64_t i = 0; i < dataset->input_count; i++) {
        int64_t count = rgm_dataset_count(dataset->inputs[i]);

        if (count < 0)
            return -1;
        least = count < least ? count : least;
    }
    return least;
}

static rgm_status zip_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    zip_state *s = stage->state;
    rgm_status status = RGM_OK;

    for (int64_t k = 0; k < stage->dataset->input_count; k++)
        RGM_GO(rgm_stage_at(&s->items[k], s->inputs[k], i));
    RGM_GO(rgm_element_create_list(out, s->items, stage->dataset->input_count));
done:
    drop_items(stage);
    return status;
}

static const rgm_dataset_type zip_type = {
    .name = "zip",
    .state_size = sizeof(zip_state),
    .open = zip_open,
    .next = zip_next,
    .save = zip_save,
    .restore = zip_restore,
    .close = zip_close,
    .count = zip_count,
    .at = zip_at,
};

rgm_status rgm_dataset_zip(rgm_dataset **out, rgm_dataset *const *inputs, int64_t count)
{
    *out = NULL;
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "a zip of %lld inputs", (long long)count);
    return rgm_dataset_create(out, &zip_type, NULL, inputs, count);
}
