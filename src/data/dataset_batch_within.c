/*
 * batch_within: lists of as many elements as fit into budgets. When a list is returned, the element
 * that did not fit has already been read; it begins the next list. So the position is that of the
 * lists already returned, as for an op that reads ahead.
 */
#include "data_internal.h"

/** An element that was read and not given out. */
typedef struct waiting {
    rgm_element *element;
    rgm_text snapshot; /* of the input behind it, if one was due */
    int64_t weights[RGM_MAX_BUDGETS];
} waiting;

typedef struct within_state {
    rgm_stage *input;
    rgmi_lookahead ahead;
    waiting *items;
    int64_t count, capacity;
    int64_t fits; /* of the items, one after the other; fewer than there are: the list is full */
    int64_t sums[RGM_MAX_BUDGETS];
    int64_t read;
    bool ended;
} within_state;

static const rgm_budgets *budgets_of(const rgm_stage *stage)
{
    return rgm_stage_options(stage);
}

static rgm_status within_open(rgm_stage *stage)
{
    within_state *s = stage->state;

    rgmi_lookahead_init(&s->ahead, stage->dataset->inputs[0]);
    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch);
}

/* The newest item goes into the list if all before it did and it fits. */
static void try_newest(within_state *s, const rgm_budgets *b)
{
    const waiting *item = &s->items[s->count - 1];

    if (s->fits < s->count - 1 || (b->elements > 0 && s->fits == b->elements))
        return;
    for (int64_t i = 0; i < b->count; i++)
        if (item->weights[i] > b->limits[i] - s->sums[i])
            return;
    for (int64_t i = 0; i < b->count; i++)
        s->sums[i] += item->weights[i];
    s->fits++;
}

/* The first n are the consumer's; the others open the next list. */
static void pass(within_state *s, const rgm_budgets *b, int64_t n)
{
    int64_t left = s->count - n;

    for (int64_t i = 0; i < n; i++) {
        rgmi_lookahead_consume(&s->ahead, &s->items[i].snapshot);
        rgm_element_release(s->items[i].element);
    }
    memset(s->sums, 0, sizeof s->sums);
    s->fits = 0;
    for (s->count = 0; s->count < left;) {
        s->items[s->count] = s->items[n + s->count];
        s->count++;
        try_newest(s, b);
    }
}

static rgm_status weigh(waiting *item, const rgm_budgets *b)
{
    rgm_status status = b->weigh(item->weights, item->element, b->payload);

    for (int64_t i = 0; status == RGM_OK && i < b->count; i++)
        if (item->weights[i] < 0)
            status = RGM_FAIL(RGM_ERR_ARG, "an element weighs %lld %s", (long long)item->weights[i],
                              b->names[i]);
    return rgmi_blame(status, item->element);
}

/* One more item. An error costs those that were collected before it. */
static rgm_status read_item(within_state *s, const rgm_budgets *b)
{
    waiting item = {.element = NULL};
    rgm_status status;

    RGM_TRY(RGM_RESERVE(s->items, s->capacity, s->count + 1));
    status = rgm_stage_next(&item.element, s->input);
    if (status > 0)
        return status;
    s->read++;
    /* Without memory for a snapshot a restore replays from the one before. */
    if (rgmi_lookahead_due(&s->ahead, s->read)) {
        rgm_error before;

        rgm_error_save(&before, status);
        if (rgm_stage_save(&item.snapshot, s->input) != RGM_OK)
            rgm_text_clear(&item.snapshot);
        if (status < 0)
            status = rgm_error_restore(&before);
    }
    if (status == RGM_OK)
        status = weigh(&item, b);
    s->items[s->count++] = item;
    if (status != RGM_OK) {
        pass(s, b, s->count);
        return status;
    }
    try_newest(s, b);
    return RGM_OK;
}

/* The only item that waits fits no list. */
static rgm_status refuse_first(within_state *s, const rgm_budgets *b)
{
    const waiting *item = &s->items[0];
    int64_t i = 0;
    rgm_status status;

    while (i < b->count - 1 && item->weights[i] <= b->limits[i])
        i++;
    status = rgmi_blame(RGM_FAIL(RGM_ERR_DATA,
                                 "an element of %lld %s is more than a batch may have, %lld",
                                 (long long)item->weights[i], b->names[i], (long long)b->limits[i]),
                        item->element);
    pass(s, b, 1);
    return status;
}

static rgm_status give(rgm_element **out, within_state *s, const rgm_budgets *b)
{
    rgm_element **items;
    rgm_status status;

    RGM_TRY(RGM_NEW(items, s->fits));
    for (int64_t i = 0; i < s->fits; i++)
        items[i] = s->items[i].element;
    status = rgm_element_create_list(out, items, s->fits);
    rgm_free(items);
    if (status == RGM_OK)
        pass(s, b, s->fits);
    return status;
}

static rgm_status within_next(rgm_element **out, rgm_stage *stage)
{
    within_state *s = stage->state;
    const rgm_budgets *b = budgets_of(stage);

    while (!s->ended && s->fits == s->count) {
        rgm_status status = read_item(s, b);

        if (status == RGM_END)
            s->ended = true;
        else
            RGM_TRY(status);
    }
    if (s->count == 0)
        return RGM_END;
    return s->fits > 0 ? give(out, s, b) : refuse_first(s, b);
}

static rgm_status within_save(rgm_text *out, const rgm_stage *stage)
{
    return rgmi_lookahead_save(out, &((const within_state *)stage->state)->ahead);
}

static rgm_status within_restore(rgm_stage *stage, rgm_state_reader *state)
{
    within_state *s = stage->state;

    RGM_TRY(rgmi_lookahead_restore(&s->ahead, s->input, state));
    s->read = s->ahead.consumed;
    return RGM_OK;
}

static void within_close(rgm_stage *stage)
{
    within_state *s = stage->state;

    for (int64_t i = 0; i < s->count; i++) {
        rgm_element_release(s->items[i].element);
        rgm_text_clear(&s->items[i].snapshot);
    }
    rgm_free(s->items);
    rgmi_lookahead_clear(&s->ahead);
    rgm_stage_close(s->input);
}

/* The lists never end when the elements never end; else only reading tells their number. */
static int64_t within_count(const rgm_dataset *dataset)
{
    int64_t count = rgm_dataset_count(dataset->inputs[0]);

    return count == 0 || count == INT64_MAX ? count : -1;
}

static rgm_status within_print(rgm_text *out, const void *options)
{
    const rgm_budgets *b = options;

    for (int64_t i = 0; i < b->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld %s", i > 0 ? ", " : "", (long long)b->limits[i],
                                b->names[i]));
    return b->elements > 0 ? rgm_text_printf(out, ", %lld elements", (long long)b->elements)
                           : RGM_OK;
}

static const rgm_dataset_type within_type = {
    .name = "batch_within",
    .options_size = sizeof(rgm_budgets),
    .state_size = sizeof(within_state),
    .open = within_open,
    .next = within_next,
    .save = within_save,
    .restore = within_restore,
    .close = within_close,
    .count = within_count,
    .print = within_print,
};

rgm_status rgm_dataset_batch_within(rgm_dataset **dataset, const rgm_budgets *budgets)
{
    if (budgets->count < 1 || budgets->count > RGM_MAX_BUDGETS || budgets->elements < 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld budgets of at most %lld elements, 1 to %d are possible",
                        (long long)budgets->count, (long long)budgets->elements, RGM_MAX_BUDGETS);
    for (int64_t i = 0; i < budgets->count; i++)
        if (budgets->limits[i] < 1 || budgets->names[i] == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "budget %lld is %lld %s", (long long)i,
                            (long long)budgets->limits[i],
                            budgets->names[i] != NULL ? budgets->names[i] : "of no name");
    return rgmi_dataset_extend(dataset, &within_type, budgets);
}
