/* The merged configuration of a run, as text and value by value, with where each was set. */
#include <string.h>

#include "tab.h"

enum { LARGEST_CONFIG = 1 << 20, LARGEST_SOURCES = 4 << 20 };

typedef struct telling {
    rgm_text *out;
    const rgm_json *sources; /* NULL: not known */
    int64_t count;
} telling;

/* By the key, or by what it is in: a list or a map may have been set as a whole. */
static const char *source_of(const rgm_json *sources, const char *key, char *part, size_t room)
{
    size_t size = strlen(key);
    const char *source = rgm_json_text(rgm_json_find(sources, key));

    if (source != NULL || size >= room)
        return source;
    memcpy(part, key, size + 1);
    for (char *dot; source == NULL && (dot = strrchr(part, '.')) != NULL;) {
        *dot = '\0';
        source = rgm_json_text(rgm_json_find(sources, part));
    }
    return source;
}

static rgm_status tell_value(telling *t, const rgm_yaml_node *node, const char *key)
{
    rgm_text value = {0};
    char part[1024];
    rgm_status status = RGM_OK;

    RGM_GO(rgm_text_printf(t->out, "%s{\"key\":", t->count++ > 0 ? "," : ""));
    RGM_GO(rgmi_put_name(t->out, key));
    RGM_GO(rgm_text_printf(t->out, ",\"value\":"));
    if (node->kind == RGM_YAML_SCALAR) {
        RGM_GO(rgmi_put_name(t->out, node->text));
    } else {
        RGM_GO(rgm_yaml_print_flow(&value, node, false));
        RGM_GO(rgmi_put_text(t->out, value.data, value.size));
    }
    RGM_GO(rgm_text_printf(t->out, ",\"source\":"));
    RGM_GO(rgmi_put_name(t->out, source_of(t->sources, key, part, sizeof part)));
    RGM_GO(rgm_text_add(t->out, "}", 1));
done:
    rgm_text_clear(&value);
    return status;
}

static rgm_status tell_node(telling *t, const rgm_yaml_node *node, const char *prefix)
{
    char *key = NULL;
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < node->count; i++) {
        const rgm_yaml_node *item = node->items[i];

        rgm_free(key);
        key = NULL;
        RGM_GO(rgm_strprintf(&key, "%s%s%s", prefix, *prefix != '\0' ? "." : "", item->key));
        if (item->kind == RGM_YAML_MAP && item->count > 0)
            RGM_GO(tell_node(t, item, key));
        else
            RGM_GO(tell_value(t, item, key));
    }
done:
    rgm_free(key);
    return status;
}

static rgm_status read_sources(rgm_json **out, const char *folder)
{
    char *text = NULL;
    int64_t size;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_load(&text, &size, folder, "sources.json", LARGEST_SOURCES));
    RGM_GO(rgm_json_parse(out, text, size, "sources.json"));
done:
    rgm_free(text);
    return status;
}

rgm_status rgmi_tell_config(rgm_text *out, const char *folder)
{
    telling t = {.out = out};
    char *text = NULL, *damage = NULL;
    rgm_json *sources = NULL;
    rgm_yaml *yaml = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&damage, rgmi_kept_load(&text, &size, folder, "config.yaml", LARGEST_CONFIG)));
    if (text != NULL)
        RGM_GO(rgmi_note(&damage, rgm_yaml_parse(&yaml, text, size, "config.yaml")));
    RGM_GO(rgmi_note(&damage, read_sources(&sources, folder)));
    t.sources = sources;
    RGM_GO(rgm_text_printf(out, "{\"text\":"));
    RGM_GO(rgmi_put_text(out, text != NULL ? text : "", size));
    RGM_GO(rgm_text_printf(out, ",\"values\":["));
    if (yaml != NULL && rgm_yaml_root(yaml)->kind == RGM_YAML_MAP)
        RGM_GO(tell_node(&t, rgm_yaml_root(yaml), ""));
    RGM_GO(rgm_text_add(out, "]", 1));
    RGM_GO(rgmi_put_end(out, damage));
done:
    rgm_json_release(sources);
    rgm_yaml_release(yaml);
    rgm_free(text);
    rgm_free(damage);
    return status;
}
