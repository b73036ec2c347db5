/* regimen data partition: one graph in as many files as there will be ranks at most. */
#include <string.h>

#include "cli.h"

#include <regimen/graph_import.h>
#include <regimen/parts.h>

static rgm_status method_of(rgm_partition_method *method, const char *name)
{
    for (int i = 0; rgm_partition_method_names[i] != NULL; i++)
        if (strcmp(name, rgm_partition_method_names[i]) == 0) {
            *method = (rgm_partition_method)i;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_CONFIG, "--method '%s' is none of metis, multilevel, random", name);
}

/* A line for each part: "part 0: 678 paper, copies of 213; 2741 cites". */
static rgm_status tell_part(const rgm_parts *parts, int64_t part, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    const char *between = "";

    for (int64_t i = 0; i < rgm_schema_set_count(schema) && status == RGM_OK; i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_CONTEXT_PIECE)
            continue;
        RGM_GO(rgm_text_printf(&text, "%s%s ", between,
                               grouped(rgm_parts_own(parts, part, set->piece, set->name))));
        RGM_GO(rgm_text_add_visible(&text, set->name));
        if (set->piece == RGM_NODE_SET)
            RGM_GO(rgm_text_printf(&text, " and copies of %s",
                                   grouped(rgm_parts_halo(parts, part, set->name))));
        between = ", ";
    }
    say("part", "%lld: %s", (long long)part, text.data != NULL ? text.data : "");
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status tell(const char *folder, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_parts *parts;

    RGM_TRY(rgm_parts_load(&parts, folder));
    for (int64_t p = 0; p < rgm_parts_count(parts) && status == RGM_OK; p++)
        status = tell_part(parts, p, schema);
    say("data", "%s, %lld parts by %s, %.2g %% of neighbours in two parts", folder,
        (long long)rgm_parts_count(parts), rgm_parts_made_by(parts), 100 * rgm_parts_cut(parts));
    rgm_parts_release(parts);
    return status;
}

int data_partition(int argc, char **argv)
{
    rgm_parts_options o = RGM_PARTS_OPTIONS_INIT;
    const char *to = NULL, *method = "metis", *split = NULL;
    int64_t seed = 1;
    text_list rest;
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "new folder (required)"},
        {"parts", ARG_INT, &o.parts, "N", "a power of two, at least the ranks, default 2"},
        {"method", ARG_TEXT, &method, "NAME",
         "who cuts: metis (default), multilevel (needs no METIS) or random"},
        {"balance", ARG_FLOAT, &o.balance, "X",
         "nodes of a part over an even share at most, default 1.03"},
        {"seed", ARG_INT, &seed, "N", "of the cut, default 1"},
        {"split", ARG_TEXT, &split, "NAME", "which split, default: the only one"},
        {0}};
    const usage how = {
        "data partition DATA --to DIR [--parts N] [options]",
        "Cut one graph into parts for training on as many ranks or fewer (data.type parts).\n"
        "Each part has its own nodes, copies of the nodes that these have edges\n"
        "with, and those edges. DATA is a graph file or a folder of `regimen data`.",
        arguments, 1, 1};
    rgm_graph_data data = {0};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (to == NULL || seed < 0)
        return usage_error("--to is needed, and --seed is at least 0");
    o.seed = (uint64_t)seed;
    status = method_of(&o.method, method);
    if (status == RGM_OK)
        status = rgm_graph_data_load(&data, rest.items[0], split);
    if (status == RGM_OK)
        status = rgm_parts_write(&data, to, &o);
    if (status == RGM_OK)
        status = tell(to, data.schema);
    rgm_graph_data_clear(&data);
    return report(status);
}
