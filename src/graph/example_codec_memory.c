/* The memory of a codec: giving it back, and the workspaces that decoding uses again and again. */
#include "example_codec.h"

static void workspace_release(rgmi_codec_workspace *workspace)
{
    if (workspace == NULL)
        return;
    for (int64_t i = 0; i < workspace->example_count; i++)
        rgm_example_release(workspace->examples[i]);
    rgm_free(workspace->examples);
    rgm_free(workspace->found);
    rgm_free(workspace->totals);
    rgm_free(workspace->components);
    rgm_free(workspace->sizes);
    rgm_free(workspace);
}

void rgmi_codec_release(rgmi_codec *codec)
{
    if (codec == NULL)
        return;
    while (codec->idle != NULL) {
        rgmi_codec_workspace *workspace = codec->idle;
        codec->idle = workspace->next;
        workspace_release(workspace);
    }
    for (int64_t i = 0; i < codec->slot_count; i++)
        rgm_free(codec->slots[i].key);
    for (int64_t i = 0; codec->sets != NULL && i < codec->set_count; i++)
        rgm_free(codec->sets[i].features);
    rgm_free(codec->slots);
    rgm_free(codec->sets);
    rgm_free(codec);
}

static rgm_status workspace_reserve(rgmi_codec_workspace *w, const rgmi_codec *codec,
                                    int64_t examples)
{
    RGM_TRY(RGM_RESERVE(w->examples, w->example_capacity, examples));
    while (w->example_count < examples) {
        RGM_TRY(rgm_example_create(&w->examples[w->example_count]));
        w->example_count++;
    }
    RGM_TRY(RGM_RESERVE(w->found, w->found_capacity, examples * codec->slot_count));
    RGM_TRY(RGM_RESERVE(w->totals, w->totals_capacity, examples * codec->set_count));
    return RGM_RESERVE(w->components, w->components_capacity, examples);
}

rgm_status rgmi_workspace_take(rgmi_codec_workspace **out, rgm_schema *schema, int64_t examples)
{
    rgmi_codec_workspace *workspace;
    rgm_status status;

    *out = NULL;
    pthread_mutex_lock(&schema->lock);
    workspace = schema->codec->idle;
    if (workspace != NULL)
        schema->codec->idle = workspace->next;
    pthread_mutex_unlock(&schema->lock);
    if (workspace == NULL)
        RGM_TRY(RGM_NEW(workspace, 1));
    status = workspace_reserve(workspace, schema->codec, examples);
    if (status < 0) {
        workspace_release(workspace);
        return status;
    }
    *out = workspace;
    return RGM_OK;
}

void rgmi_workspace_give_back(rgm_schema *schema, rgmi_codec_workspace *workspace)
{
    if (workspace == NULL)
        return;
    pthread_mutex_lock(&schema->lock);
    workspace->next = schema->codec->idle;
    schema->codec->idle = workspace;
    pthread_mutex_unlock(&schema->lock);
}
