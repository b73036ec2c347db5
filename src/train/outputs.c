/* What a model gives to others, in files and to predictors. */
#include <stdio.h>

#include "run_internal.h"

static void add_output(rgmi_outputs *list, const char *name, rgm_value *value, rgm_output_kind kind,
                       const rgm_head *head)
{
    list->values[list->count] = value;
    list->items[list->count++] = (rgm_export_output){
        .name = name, .value = value, .kind = kind, .classes = head->class_names};
}

void rgmi_outputs_of(rgmi_outputs *list, const rgm_task_model *model)
{
    *list = (rgmi_outputs){.heads = model->head_count};
    for (int64_t h = 0; h < model->head_count; h++) {
        const rgm_head *head = &model->heads[h];

        add_output(list, head->name, head->predictions,
                   head->is_number               ? RGM_OUTPUT_NUMBERS
                   : head->probabilities != NULL ? RGM_OUTPUT_LOGITS
                                                 : RGM_OUTPUT_OTHER,
                   head);
    }
    for (int64_t h = 0; h < model->head_count; h++) {
        const rgm_head *head = &model->heads[h];
        bool alone = model->head_count == 1;

        if (head->probabilities == NULL)
            continue;
        snprintf(list->names[h], sizeof list->names[h], "%s%sprobabilities",
                 alone ? "" : head->name, alone ? "" : ".");
        add_output(list, list->names[h], head->probabilities, RGM_OUTPUT_PROBABILITIES, head);
    }
}
