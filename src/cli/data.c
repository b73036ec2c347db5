/* regimen data: the verbs about graph data on disk. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} verbs[] = {
    {"import", data_import, "OGB folders or CSV tables to schema.pbtxt and TFRecords"},
    {"generate", data_generate, "a citation-like graph, or random graphs of a schema"},
    {"sample", data_sample, "subgraphs around seed nodes, in parallel"},
    {"inspect", data_inspect, "graphs in readable print"},
    {"validate", data_validate, "schema, every record, every index"},
    {"stats", data_stats, "counts and quantiles of sets and features"},
};
#define VERBS (int)(sizeof verbs / sizeof *verbs)

int verb_data(int argc, char **argv)
{
    const char *names[VERBS], *near;

    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        printf("usage: regimen data VERB [arguments]\n\n");
        for (int i = 0; i < VERBS; i++)
            printf("  %-9s %s\n", verbs[i].name, verbs[i].help);
        printf("\nregimen data VERB --help says more.\n");
        return argc < 2 ? EXIT_USAGE : EXIT_DONE;
    }
    for (int i = 0; i < VERBS; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
        names[i] = verbs[i].name;
    }
    near = rgm_nearest_name(argv[1], names, VERBS);
    if (near != NULL)
        return usage_error("no verb 'data %s'; did you mean 'data %s'?", argv[1], near);
    return usage_error("no verb 'data %s'; see regimen data --help", argv[1]);
}
