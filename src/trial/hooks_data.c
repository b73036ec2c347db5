/*
 * The data of hooks: batches of tensors, and what those of training and validation have in common.
 */
#include <stdio.h>
#include <string.h>

#include "hooks.h"

enum { LOOKED = 2 }; /* batches that the form of a data set is learned from */

/* ---- one batch ----------------------------------------------------------------------------- */

static const char *kind_of(rgm_element_kind kind)
{
    return kind == RGM_ELEMENT_BYTES  ? "bytes: decode them with rgm_dataset_map(), or batch them"
           : kind == RGM_ELEMENT_LIST ? "lists of other than tensors and bytes"
                                      : "objects: make tensors of them with rgm_dataset_map()";
}

/* The form of a batch; lists of tensors are stacked by who asks. */
static rgm_status form_of(rgmi_element_form *form, const rgm_element *batch, const char *what)
{
    int64_t count = rgm_element_count(batch);

    if (rgm_element_get_kind(batch) != RGM_ELEMENT_TENSORS)
        return RGM_FAIL(RGM_ERR_DATA, "%s data give %s", what,
                        kind_of(rgm_element_get_kind(batch)));
    if (count < 1 || count > RGMI_MAX_TENSORS)
        return RGM_FAIL(RGM_ERR_DATA, "a batch of %s data has %lld tensors; 1 to %d are possible",
                        what, (long long)count, RGMI_MAX_TENSORS);
    form->count = count;
    for (int64_t i = 0; i < count; i++) {
        const rgm_tensor *tensor = rgm_element_tensor(batch, i);
        rgmi_tensor_form *f = &form->tensors[i];

        *f = (rgmi_tensor_form){.dtype = rgm_tensor_dtype(tensor), .rank = rgm_tensor_rank(tensor)};
        if (f->rank == 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "tensor %lld of %s data is a scalar: they are not batched; "
                            "rgm_dataset_batch() makes batches",
                            (long long)i, what);
        if (rgm_tensor_dim(tensor, 0) != rgm_tensor_dim(rgm_element_tensor(batch, 0), 0))
            return RGM_FAIL(RGM_ERR_DATA,
                            "a batch of %s data has tensors of %lld and %lld records: all begin "
                            "with the same axis",
                            what, (long long)rgm_tensor_dim(rgm_element_tensor(batch, 0), 0),
                            (long long)rgm_tensor_dim(tensor, 0));
        for (int a = 1; a < f->rank; a++)
            f->shape[a] = rgm_tensor_dim(tensor, a);
    }
    return RGM_OK;
}

/* "x: f32[batch,2], y: i32[batch]", by the names of training's tensors. */
static rgm_status print_form(rgm_text *out, const rgmi_element_form *form,
                             const rgmi_hooks_task *task)
{
    for (int64_t i = 0; i < form->count; i++) {
        const rgmi_tensor_form *f = &form->tensors[i];

        RGM_TRY(rgm_text_printf(out, "%s%s: %s[batch", i > 0 ? ", " : "",
                                i < task->form.count ? task->names[i] : "?",
                                rgm_dtype_name(f->dtype)));
        for (int a = 1; a < f->rank; a++)
            RGM_TRY(f->shape[a] < 0 ? rgm_text_printf(out, ",?")
                                    : rgm_text_printf(out, ",%lld", (long long)f->shape[a]));
        RGM_TRY(rgm_text_printf(out, "]"));
    }
    return RGM_OK;
}

/* Axes that differ vary from batch to batch; anything else is a difference. */
static bool join(rgmi_element_form *form, const rgmi_element_form *other)
{
    if (form->count != other->count)
        return false;
    for (int64_t i = 0; i < form->count; i++) {
        rgmi_tensor_form *f = &form->tensors[i];

        if (f->dtype != other->tensors[i].dtype || f->rank != other->tensors[i].rank)
            return false;
        for (int a = 1; a < f->rank; a++)
            if (f->shape[a] != other->tensors[i].shape[a])
                f->shape[a] = -1;
    }
    return true;
}

/* Whether a form allows another: the same, but where it varies. */
static bool allows(const rgmi_element_form *form, const rgmi_element_form *other)
{
    if (form->count != other->count)
        return false;
    for (int64_t i = 0; i < form->count; i++) {
        const rgmi_tensor_form *f = &form->tensors[i], *o = &other->tensors[i];

        if (f->dtype != o->dtype || f->rank != o->rank)
            return false;
        for (int a = 1; a < f->rank; a++)
            if (f->shape[a] >= 0 && f->shape[a] != o->shape[a])
                return false;
    }
    return true;
}

/* ---- both data sets ------------------------------------------------------------------------- */

/* Batches of a list are stacked, so that all that follows sees tensors. */
static rgm_status stack(rgm_dataset **data, const char *what)
{
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;
    rgm_element *first = NULL;

    RGM_GO(rgm_iterator_create(&iterator, *data, NULL));
    status = rgm_iterator_next(&first, iterator);
    if (status == RGM_END)
        status = RGM_FAIL(RGM_ERR_DATA, "the %s data set is empty", what);
    RGM_GO(status);
    if (rgm_element_get_kind(first) == RGM_ELEMENT_LIST)
        RGM_GO(rgm_dataset_map_each(data, rgm_element_stack, NULL, NULL, 0));
done:
    rgm_element_release(first);
    rgm_iterator_release(iterator);
    return status;
}

/* The form of the first LOOKED batches, which may show what varies. */
static rgm_status look(rgmi_element_form *form, const rgm_dataset *data, const char *what)
{
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;
    rgmi_element_form next = {.count = 0};

    memset(form, 0, sizeof *form);
    RGM_GO(rgm_iterator_create(&iterator, data, NULL));
    for (int i = 0; i < LOOKED; i++) {
        rgm_element *batch = NULL;

        status = rgm_iterator_next(&batch, iterator);
        if (status == RGM_END && i > 0) {
            status = RGM_OK;
            break;
        }
        if (status == RGM_OK) {
            memset(&next, 0, sizeof next);
            status = form_of(i == 0 ? form : &next, batch, what);
        }
        rgm_element_release(batch);
        RGM_GO(status);
        if (i > 0 && !join(form, &next))
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "batches of %s data differ in number or type of tensors",
                            what));
    }
done:
    rgm_iterator_release(iterator);
    return status;
}

static int64_t count_names(const char *const *names)
{
    int64_t count = 0;

    while (names != NULL && count <= RGMI_MAX_TENSORS && names[count] != NULL)
        count++;
    return count;
}

/* A tensor "image" and one "image/label" cannot both be. */
static rgm_status check_pair(const char *a, const char *b)
{
    size_t sizes[2] = {strlen(a), strlen(b)};
    const char *outer = sizes[0] < sizes[1] ? a : b, *inner = outer == a ? b : a;
    size_t size = outer == a ? sizes[0] : sizes[1];

    if (strcmp(a, b) == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "two tensors are named '%s'", a);
    if (strncmp(outer, inner, size) == 0 && inner[size] == '/')
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "a tensor is named '%s', and another '%s', which would be inside it", outer,
                        inner);
    return RGM_OK;
}

static rgm_status take_names(rgmi_hooks_task *task, const char *const *names)
{
    int64_t count = count_names(names);

    if (names != NULL && count != task->form.count)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld names for batches of %lld tensors", (long long)count,
                        (long long)task->form.count);
    for (int64_t i = 0; i < task->form.count; i++) {
        if (names != NULL)
            RGM_TRY(rgm_strdup(&task->name_texts[i], names[i]));
        else
            RGM_TRY(rgm_strprintf(&task->name_texts[i], "%lld", (long long)i));
        task->names[i] = task->name_texts[i];
        for (int64_t k = 0; k < i; k++)
            RGM_TRY(check_pair(task->names[k], task->names[i]));
    }
    return RGM_OK;
}

/* ---- axes that vary --------------------------------------------------------------------------
 */

int rgmi_axis_root(const rgmi_element_form *form, int64_t tensor, int axis)
{
    int at = rgmi_axis_number(tensor, axis);

    for (int next; (next = form->tensors[at / RGM_MAX_RANK].same[at % RGM_MAX_RANK]) != 0;)
        at = next;
    return at;
}

/* "tokens/1", of `size` bytes: an axis, of a name that may have a '/' itself. */
static rgm_status find_axis(int64_t *tensor, int *axis, const rgmi_hooks_task *task,
                            const char *text, size_t size, const char *entry)
{
    const char *slash = memrchr(text, '/', size);
    size_t name = slash != NULL ? (size_t)(slash - text) : size;
    char digits[16] = "";
    double number = 0;
    int64_t i = 0;

    if (slash != NULL)
        snprintf(digits, sizeof digits, "%.*s", (int)(size - name - 1), slash + 1);
    while (i < task->form.count &&
           (strncmp(task->names[i], text, name) != 0 || task->names[i][name] != '\0'))
        i++;
    if (slash == NULL || !rgm_number_parse(&number, digits))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "`varying` has '%s', which is no axis: a tensor's name, '/' and the axis' "
                        "number, from 1, and perhaps '=' and another axis",
                        entry);
    if (i == task->form.count)
        return RGM_FAIL(
            RGM_ERR_CONFIG, "`varying` has '%s': no tensor is named so%s", entry,
            rgm_did_you_mean(text, task->names, task->form.count, NULL, "there are ").text);
    if (!(number >= 1 && number < task->form.tensors[i].rank) || number != (double)(int)number)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "`varying` has '%s': the tensor has axes 0, of records, which always "
                        "varies, to %d",
                        entry, task->form.tensors[i].rank - 1);
    *tensor = i;
    *axis = (int)number;
    return RGM_OK;
}

/* "tokens/1", or "mask/1=tokens/1". */
static rgm_status let_vary(rgmi_hooks_task *task, const char *const *axes)
{
    for (; axes != NULL && *axes != NULL; axes++) {
        const char *equal = strchr(*axes, '=');
        int64_t tensor[2];
        int axis[2], root[2];

        RGM_TRY(find_axis(&tensor[0], &axis[0], task, *axes,
                          equal != NULL ? (size_t)(equal - *axes) : strlen(*axes), *axes));
        task->form.tensors[tensor[0]].shape[axis[0]] = -1;
        if (equal == NULL)
            continue;
        RGM_TRY(find_axis(&tensor[1], &axis[1], task, equal + 1, strlen(equal + 1), *axes));
        task->form.tensors[tensor[1]].shape[axis[1]] = -1;
        for (int k = 0; k < 2; k++)
            root[k] = rgmi_axis_root(&task->form, tensor[k], axis[k]);
        if (root[0] != root[1])
            task->form.tensors[root[0] / RGM_MAX_RANK].same[root[0] % RGM_MAX_RANK] = root[1];
    }
    return RGM_OK;
}

/* Whether axes that vary as others have their sizes. */
static rgm_status check_same(const rgmi_hooks_task *task, const rgmi_element_form *batch)
{
    for (int64_t i = 0; i < batch->count; i++)
        for (int a = 1; a < batch->tensors[i].rank; a++) {
            int root = rgmi_axis_root(&task->form, i, a);
            int64_t of = root / RGM_MAX_RANK, axis = root % RGM_MAX_RANK;

            if (batch->tensors[i].shape[a] != batch->tensors[of].shape[axis])
                return RGM_FAIL(RGM_ERR_SHAPE,
                                "axis %s/%d has %lld elements, but %s/%d, as which it varies, has "
                                "%lld",
                                task->names[i], a, (long long)batch->tensors[i].shape[a],
                                task->names[of], (int)axis,
                                (long long)batch->tensors[of].shape[axis]);
        }
    return RGM_OK;
}

/* ---- both against each other ------------------------------------------------------------------
 */

static rgm_status compare(rgmi_hooks_task *task, const rgmi_data_words *words)
{
    rgmi_element_form valid;
    rgm_text a = {0}, b = {0};
    rgm_status status = RGM_OK;

    RGM_GO(look(&task->form, task->train, "training"));
    RGM_GO(take_names(task, words->names));
    for (size_t i = 0; i < sizeof words->varying / sizeof *words->varying; i++)
        RGM_GO(let_vary(task, words->varying[i]));
    RGM_GO(look(&valid, task->valid, "validation"));
    if (allows(&task->form, &valid))
        goto done;
    RGM_GO(print_form(&a, &task->form, task));
    RGM_GO(print_form(&b, &valid, task));
    status = RGM_FAIL(RGM_ERR_DATA,
                      "training data give (%s), but validation data (%s): one graph takes both; "
                      "`varying` names axes that differ, as \"%s/1\"",
                      a.data, b.data, task->names[0]);
done:
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    return status;
}

rgm_status rgmi_hooks_check_batch(const rgmi_hooks_task *task, const rgm_element *batch)
{
    rgmi_element_form form = {.count = 0};
    rgm_text a = {0}, b = {0};
    rgm_status status = RGM_OK;

    RGM_TRY(form_of(&form, batch, "these"));
    if (allows(&task->form, &form))
        return check_same(task, &form);
    RGM_GO(print_form(&a, &task->form, task));
    RGM_GO(print_form(&b, &form, task));
    status =
        RGM_FAIL(RGM_ERR_SHAPE, "a batch of (%s), where the first ones were (%s)", b.data, a.data);
    for (int64_t i = 0; i < form.count && form.count == task->form.count; i++)
        for (int axis = 1; axis < form.tensors[i].rank; axis++)
            if (task->form.tensors[i].rank == form.tensors[i].rank &&
                task->form.tensors[i].shape[axis] >= 0 &&
                task->form.tensors[i].shape[axis] != form.tensors[i].shape[axis])
                RGM_GO(rgm_error_prefix(status, "`varying` has no \"%s/%d\", but that axis varies",
                                        task->names[i], axis));
done:
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    return status;
}

/* The first batches of a data set against the form, so that no step finds out. */
static rgm_status check_batches(const rgmi_hooks_task *task, const rgm_dataset *data,
                                const char *what)
{
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;

    RGM_GO(rgm_iterator_create(&iterator, data, NULL));
    for (int64_t i = 0; i < task->checked; i++) {
        rgm_element *batch = NULL;

        status = rgm_iterator_next(&batch, iterator);
        if (status == RGM_END) {
            status = RGM_OK;
            break;
        }
        if (status == RGM_OK)
            status = rgm_error_prefix(rgmi_hooks_check_batch(task, batch), "batch %lld of %s data",
                                      (long long)i + 1, what);
        rgm_element_release(batch);
        RGM_GO(status);
    }
done:
    rgm_iterator_release(iterator);
    return status;
}

/* ---- tensors by name ------------------------------------------------------------------------- */

/* Where each tensor of training stands in an element of validation. */
typedef struct tensor_order {
    int64_t at[RGMI_MAX_TENSORS], count;
} tensor_order;

/* A map function: tensors as training has them. */
static rgm_status reorder(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                          void *payload)
{
    const tensor_order *order = payload;
    rgm_tensor *tensors[RGMI_MAX_TENSORS];

    (void)call;
    if (rgm_element_count(element) != order->count ||
        rgm_element_get_kind(element) != RGM_ELEMENT_TENSORS)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld names for batches of %lld tensors",
                        (long long)order->count, (long long)rgm_element_count(element));
    for (int64_t i = 0; i < order->count; i++)
        tensors[i] = rgm_element_tensor(element, order->at[i]);
    return rgm_element_create_tensors(out, tensors, order->count);
}

static rgm_status find_order(tensor_order *order, const rgmi_data_words *words)
{
    int64_t count = count_names(words->names), others = count_names(words->valid_names);

    if (words->names == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "validation's tensors have names ('%s', ...), training's have none: they "
                        "are found by name",
                        words->valid_names[0] != NULL ? words->valid_names[0] : "");
    if (count != others || count > RGMI_MAX_TENSORS)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%lld tensors of validation have names, but %lld of training",
                        (long long)others, (long long)count);
    order->count = count;
    for (int64_t i = 0; i < count; i++) {
        int64_t k = 0;

        while (k < count && strcmp(words->valid_names[k], words->names[i]) != 0)
            k++;
        if (k == count)
            return RGM_FAIL(
                RGM_ERR_CONFIG, "no tensor of validation is named '%s', as in training%s",
                words->names[i],
                rgm_did_you_mean(words->names[i], words->valid_names, count, NULL, "there are ")
                    .text);
        if ((i >= count - words->labels) != (k >= count - words->labels))
            return RGM_FAIL(
                RGM_ERR_CONFIG, "'%s' is a %s, but a %s in training: the last %lld are labels",
                words->names[i], k >= count - words->labels ? "label" : "feature",
                i >= count - words->labels ? "label" : "feature", (long long)words->labels);
        order->at[i] = k;
    }
    return RGM_OK;
}

/* Validation's tensors stand where training has those of their names. */
static rgm_status order_by_name(rgmi_hooks_task *task, const rgmi_data_words *words)
{
    rgm_status status = RGM_OK;
    tensor_order *order = NULL;
    bool moves = false;

    if (words->labels != words->valid_labels)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld labels, but %lld in training",
                        (long long)words->valid_labels, (long long)words->labels);
    if (words->valid_names == NULL || words->valid_names == words->names)
        return RGM_OK;
    RGM_GO(RGM_NEW(order, 1));
    RGM_GO(find_order(order, words));
    for (int64_t i = 0; i < order->count; i++)
        moves = moves || order->at[i] != i;
    if (moves) {
        RGM_GO(rgm_dataset_map(&task->valid, reorder, order, rgm_free, 0));
        order = NULL;
    }
done:
    rgm_free(order);
    return status;
}

rgm_status rgmi_hooks_data(rgmi_hooks_task *task, const rgmi_data_words *words)
{
    if (task->train == NULL || task->valid == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "it gave no %s data set",
                        task->train == NULL ? "training" : "validation");
    if (rgm_dataset_count(task->valid) == INT64_MAX && task->validation_steps == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "the validation data never end: without a repeat, a "
                                        "validation is one pass over them");
    RGM_TRY(stack(&task->train, "training"));
    RGM_TRY(stack(&task->valid, "validation"));
    RGM_TRY(order_by_name(task, words));
    RGM_TRY(compare(task, words));
    if (task->checked == 0)
        return RGM_OK;
    RGM_TRY(check_batches(task, task->train, "training"));
    return check_batches(task, task->valid, "validation");
}
