/*
 * What the keys of steps name: earlier steps, files, models.
 */
#include <stdio.h>
#include <string.h>

#include "distil_internal.h"

static const char *const side_files[] = {"source.txt", "target.txt"};
const char rgmi_scores_file[] = "scores.txt";
static const char *const products[] = {"pairs", "scores", "a model"};

/* ---- checks ---------------------------------------------------------------------------------- */

const rgmi_step *rgmi_earlier_step(const rgm_distil *d, const rgmi_step *step, const char *name)
{
    for (const rgmi_step *s = d->steps; s < step; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

rgm_status rgmi_step_fail(const rgmi_step *step, const char *key, const char *format, ...)
{
    const rgm_yaml_node *at = rgm_yaml_find(step->node, key);
    char text[RGM_MESSAGE_ROOM];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return rgm_yaml_fail(at != NULL ? at : step->node, "steps.%s.%s: %s", step->name, key, text);
}

rgm_status rgmi_check_input(const rgm_distil *d, const rgmi_step *step, const char *key,
                            const char *name, rgmi_product product)
{
    const rgmi_step *of = name != NULL ? rgmi_earlier_step(d, step, name) : NULL;

    if (of != NULL && of->type->product != product)
        return rgmi_step_fail(step, key, "step '%s' makes %s, not %s", name,
                              products[of->type->product], products[product]);
    return RGM_OK;
}

rgm_status rgmi_check_step(const rgm_distil *d, const rgmi_step *step, const char *key,
                           const char *name, rgmi_product product)
{
    const char *names[64];
    int64_t count = 0;

    if (name == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_check_input(d, step, key, name, product));
    if (rgmi_earlier_step(d, step, name) != NULL)
        return RGM_OK;
    for (const rgmi_step *s = d->steps; s < step && count < 64; s++)
        if (s->type->product == product)
            names[count++] = s->name;
    return rgmi_step_fail(
        step, key, "no step above this one is called '%s'%s", name,
        rgm_did_you_mean(name, names, count, NULL, "those that make it are ").text);
}

rgm_status rgmi_check_pairs(const rgm_distil *d, const rgmi_step *step, const char *pairs,
                            const char *source, const char *target)
{
    if ((pairs != NULL) == (source != NULL || target != NULL) ||
        (source != NULL) != (target != NULL))
        return rgmi_step_fail(step, "pairs",
                              "name an earlier step, or the files 'source' and 'target'");
    RGM_TRY(rgmi_check_input(d, step, "source", source, RGMI_MAKES_PAIRS));
    RGM_TRY(rgmi_check_input(d, step, "target", target, RGMI_MAKES_PAIRS));
    return rgmi_check_step(d, step, "pairs", pairs, RGMI_MAKES_PAIRS);
}

/* ---- paths ----------------------------------------------------------------------------------- */

rgm_status rgmi_step_path(char **out, const rgmi_step_work *work, const char *step,
                          const char *file)
{
    return rgm_strprintf(out, "%s/%s/%s", work->root, step, file);
}

rgm_status rgmi_side_path(char **out, const rgmi_step_work *work, const char *name, int side)
{
    if (rgmi_earlier_step(work->distil, work->step, name) != NULL)
        return rgmi_step_path(out, work, name, side_files[side]);
    return rgm_strdup(out, name);
}

rgm_status rgmi_model_path(char **out, const rgmi_step_work *work, const char *name)
{
    if (rgmi_earlier_step(work->distil, work->step, name) != NULL)
        return rgm_path_join(out, work->root, name);
    return rgm_strdup(out, name);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

rgm_status rgmi_pairs_load(rgm_corpus **out, const rgmi_step_work *work, const char *pairs,
                           const char *source, const char *target)
{
    rgm_status status = RGM_OK;
    char *paths[2] = {NULL, NULL};

    *out = NULL;
    RGM_GO(rgmi_side_path(&paths[0], work, pairs != NULL ? pairs : source, RGMI_SOURCES));
    if (pairs != NULL || target != NULL)
        RGM_GO(rgmi_side_path(&paths[1], work, pairs != NULL ? pairs : target, RGMI_TARGETS));
    RGM_GO(rgm_corpus_load(out, paths[0], paths[1], NULL));
done:
    rgm_free(paths[0]);
    rgm_free(paths[1]);
    return status;
}

rgm_status rgmi_pairs_save(const rgmi_step_work *work, const rgm_text *source,
                           const rgm_text *target)
{
    const rgm_text *sides[] = {source, target};

    for (int side = RGMI_SOURCES; side <= RGMI_TARGETS; side++) {
        rgm_status status;
        char *path;

        RGM_TRY(rgmi_step_path(&path, work, work->step->name, side_files[side]));
        status = rgm_file_save_own(path, sides[side]->size > 0 ? sides[side]->data : "",
                                   sides[side]->size);
        rgm_free(path);
        RGM_TRY(status);
    }
    return RGM_OK;
}
