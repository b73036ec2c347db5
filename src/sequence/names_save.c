/* Our weights under other programs' names, as model.safetensors. */
#include <stdio.h>
#include <string.h>

#include <regimen/sequence_names.h>

enum { NAME_SIZE = 128 };

/** Tensors under their names. */
typedef struct given {
    char (*names)[NAME_SIZE];
    rgm_named_tensor *tensors;
    int64_t count;
} given;

static void given_clear(given *g)
{
    for (int64_t i = 0; i < g->count; i++)
        rgm_tensor_release(g->tensors[i].tensor);
    rgm_free(g->names);
    rgm_free(g->tensors);
}

/* The place of a name: that of an earlier part of the same tensor, or a new one. */
static int64_t place_of(given *g, const char *name)
{
    int64_t i = g->count;

    while (i > 0 && strcmp(g->names[i - 1], name) != 0)
        i--;
    if (i > 0)
        return i - 1;
    snprintf(g->names[g->count], NAME_SIZE, "%s", name);
    g->tensors[g->count] = (rgm_named_tensor){g->names[g->count], NULL};
    return g->count++;
}

static rgm_status give_all(given *g, const rgm_parameters *parameters, const rgm_weight_name *names,
                           const rgm_weight_tokens *tokens, const rgm_weight_tokens *target)
{
    int64_t count = rgm_parameters_count(parameters);

    RGM_TRY(RGM_NEW(g->names, count));
    RGM_TRY(RGM_NEW(g->tensors, count));
    RGM_TRY(rgm_parameters_to_host(parameters));
    for (int64_t i = 0; i < count; i++) {
        const char *ours = rgm_parameters_name(parameters, i);
        char name[NAME_SIZE];
        int64_t layer;
        const rgm_weight_name *row = rgm_weight_find(names, ours, &layer);

        if (row == NULL)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "export: no weight there is our '%s'", ours);
        RGM_TRY(rgm_weight_print(name, sizeof name, row->theirs, layer));
        RGM_TRY(rgm_weight_give(
            &g->tensors[place_of(g, name)].tensor, rgm_parameters_read(parameters, i), row,
            target != NULL && (row->how & RGM_WEIGHT_TARGET) != 0 ? target : tokens));
    }
    return RGM_OK;
}

rgm_status rgm_weights_save(const char *folder, const rgm_parameters *parameters,
                            const rgm_weight_name *names, const rgm_weight_tokens *tokens,
                            const rgm_weight_tokens *target)
{
    static const char *const format[] = {"format", "pt"};
    rgm_status status = RGM_OK;
    char *path = NULL, *beside = NULL;
    given g = {0};

    RGM_GO(give_all(&g, parameters, names, tokens, target));
    RGM_GO(rgm_path_join(&path, folder, "model.safetensors"));
    RGM_GO(rgm_file_beside(&beside, path));
    status = rgm_safetensors_save(beside, g.tensors, g.count, format, 1);
    RGM_GO(rgm_file_publish(beside, path, status));
done:
    given_clear(&g);
    rgm_free(path);
    rgm_free(beside);
    return status;
}
