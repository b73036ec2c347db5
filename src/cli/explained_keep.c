/* An explanation kept in its run's folder, for the run's page. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verb_explain.h"

static rgm_status write_finite(rgm_json_writer *w, const char *key, double number)
{
    return isfinite(number) ? rgm_json_write_number(w, key, number)
                            : rgm_json_write_text(w, key, NULL);
}

/* ---- which prediction ------------------------------------------------------------------------ */

static rgm_status write_head(rgm_json_writer *w, const explained_view *v)
{
    const rgm_explanation *e = &v->explanation;

    RGM_TRY(rgm_json_write_text(w, "part", v->part));
    RGM_TRY(rgm_json_write_int(w, "item", v->item));
    if (v->node >= 0)
        RGM_TRY(rgm_json_write_int(w, "node", v->node));
    else
        RGM_TRY(rgm_json_write_text(w, "node", NULL));
    RGM_TRY(rgm_json_write_text(w, "output", v->head->name));
    RGM_TRY(rgm_json_write_text(w, "class", v->head->is_number ? NULL : explained_target(v)));
    RGM_TRY(rgm_json_write_text(w, "method", v->method));
    RGM_TRY(rgm_json_write_text(w, "weights", v->weights));
    RGM_TRY(rgm_json_write_int(w, "step", v->step));
    RGM_TRY(write_finite(w, "value", e->output));
    RGM_TRY(write_finite(w, "nothing", e->nothing));
    RGM_TRY(write_finite(w, "left", e->left));
    RGM_TRY(rgm_json_write_int(w, "edge_total", v->edge_total));
    return rgm_json_write_int(w, "feature_total", v->feature_total);
}

/* ---- what it rests on ------------------------------------------------------------------------ */

static rgm_status write_nodes(rgm_json_writer *w, const explained_picture *p)
{
    RGM_TRY(rgm_json_open_list(w, "nodes", RGM_JSON_LINES));
    for (int64_t i = 0; i < p->node_count; i++) {
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "set", p->nodes[i].set));
        RGM_TRY(rgm_json_write_text(w, "name", p->nodes[i].name));
        RGM_TRY(rgm_json_write_bool(w, "asked", p->nodes[i].marked));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

static rgm_status write_edges(rgm_json_writer *w, const explained_picture *p, int64_t count)
{
    RGM_TRY(rgm_json_open_list(w, "edges", RGM_JSON_LINES));
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "set", p->edges[i].set));
        RGM_TRY(rgm_json_write_int(w, "from", p->edges[i].from));
        RGM_TRY(rgm_json_write_int(w, "to", p->edges[i].to));
        RGM_TRY(write_finite(w, "score", p->edges[i].score));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

static rgm_status write_features(rgm_json_writer *w, const explained_view *v)
{
    RGM_TRY(rgm_json_open_list(w, "features", RGM_JSON_LINES));
    for (int64_t i = 0; i < v->feature_count; i++) {
        explained_place place;

        explained_feature(&place, v, v->features[i]);
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "set", place.set));
        RGM_TRY(rgm_json_write_text(w, "feature", place.feature));
        RGM_TRY(rgm_json_write_text(w, "item", place.item[0] != '\0' ? place.item : NULL));
        RGM_TRY(rgm_json_write_int(w, "column", place.column));
        RGM_TRY(write_finite(w, "score", v->features[i].score));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

static rgm_status write_all(rgm_text *out, const explained_view *v, const explained_picture *p)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(write_head(&w, v));
    RGM_TRY(write_nodes(&w, p));
    RGM_TRY(write_edges(&w, p, v->edge_count));
    RGM_TRY(write_features(&w, v));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}

/* ---- where ----------------------------------------------------------------------------------- */

/* "test-1-integrated_gradients.json", with what is not so by default between. */
static rgm_status file_name(char **out, const explained_view *v)
{
    char head[40] = "", class[40] = "", what[16] = "";

    if (v->head_number > 0)
        snprintf(head, sizeof head, "-head%lld", (long long)v->head_number);
    if (v->asks_class)
        snprintf(class, sizeof class, "-class%lld", (long long)v->explanation.target);
    if (v->only != NULL)
        snprintf(what, sizeof what, "-%s", v->only);
    return rgm_strprintf(out, "%s-%lld%s%s-%s%s.json", v->part, (long long)v->item, head, class,
                         v->method, what);
}

rgm_status explained_keep(char **path, const char *run_dir, const explained_view *v)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, *name = NULL;
    rgm_text text = {0};
    explained_picture p = {0};

    *path = NULL;
    RGM_GO(explained_collect(&p, v));
    RGM_GO(write_all(&text, v, &p));
    RGM_GO(rgm_path_join(&folder, run_dir, EXPLANATIONS_FOLDER));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(file_name(&name, v));
    RGM_GO(rgm_path_join(path, folder, name));
    RGM_GO(rgm_file_save_own(*path, text.data, text.size));
done:
    if (status != RGM_OK) {
        rgm_free(*path);
        *path = NULL;
    }
    explained_picture_clear(&p);
    rgm_text_clear(&text);
    rgm_free(folder);
    rgm_free(name);
    return status;
}
