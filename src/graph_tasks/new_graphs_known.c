/*
 * What the parts of new graphs ask of the run: what a task asks about, what has a name of its own.
 */
#include <string.h>

#include "new_graphs.h"

bool rgmi_question_of(rgm_graph_question *out, const rgmi_learning *l, int64_t k)
{
    const rgm_graph_task *task = l->tasks[k];

    *out = (rgm_graph_question){.readout_set = NULL};
    return task->type->question != NULL && task->type->question(out, l->schema, task->options);
}

bool rgmi_next_name(rgm_str *out, const char **rest, const rgm_text *names)
{
    const char *begin = *rest != NULL ? *rest : names->data;
    const char *end = names->data + names->size, *stop;

    *out = (rgm_str){NULL, 0};
    if (names->size == 0 || begin == end)
        return false;
    stop = memchr(begin, '\n', (size_t)(end - begin));
    *out = (rgm_str){begin, (stop != NULL ? stop : end) - begin};
    *rest = stop != NULL ? stop + 1 : end;
    return true;
}

const char *rgmi_only_set(const rgm_schema *schema, rgm_piece piece)
{
    const char *only = NULL;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != piece || rgm_is_aux_set(set->name))
            continue;
        if (only != NULL)
            return NULL;
        only = set->name;
    }
    return only;
}
