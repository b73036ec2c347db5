/*
 * For peer_search.py: a search by ask and tell over pipes, so that one Python program plays the
 * same trials to our searchers and to others' rules. search_ask SEED < FILE    FILE: YAML with
 * `hyperparameters` and `searcher`, ended by a line "---" Prints a line of JSON for each operation,
 * then an empty line; each further line of standard input is an event, "validated TRIAL LENGTH
 * METRIC..." or "closed TRIAL", and is answered in the same way.
 */
#include <regimen/search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rgm_status read_file(rgm_text *out)
{
    char line[4096];

    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "---\n") != 0)
        RGM_TRY(rgm_text_add(out, line, (int64_t)strlen(line)));
    return RGM_OK;
}

static rgm_status open_search(rgm_searcher **out, uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_yaml *yaml = NULL;
    rgm_space *space = NULL;
    const rgm_yaml_node *root;

    RGM_GO(read_file(&text));
    RGM_GO(rgm_yaml_parse(&yaml, text.data, text.size, "search"));
    root = rgm_yaml_root(yaml);
    RGM_GO(rgm_space_read(&space, rgm_yaml_find(root, "hyperparameters"),
                          rgm_yaml_find(root, "constraints")));
    RGM_GO(rgm_searcher_read(out, rgm_yaml_find(root, "searcher"), space, seed, NULL));
done:
    rgm_space_release(space);
    rgm_yaml_release(yaml);
    rgm_text_clear(&text);
    return status;
}

static rgm_status print_operations(rgm_searcher *searcher)
{
    rgm_operation o;

    while (rgm_searcher_next(&o, searcher)) {
        rgm_text values = {0};

        printf("{\"kind\": \"%s\", \"trial\": %lld, \"length\": %lld", rgm_operation_names[o.kind],
               (long long)o.trial, (long long)o.length);
        if (o.kind == RGM_ASK_CREATE) {
            RGM_TRY(rgm_space_print_json(&values, rgm_searcher_space(searcher), o.values));
            printf(", \"values\": %s", values.data);
            rgm_text_clear(&values);
        }
        printf("}\n");
    }
    printf("\n");
    fflush(stdout);
    return RGM_OK;
}

static rgm_status take_event(rgm_searcher *searcher, const char *line)
{
    long long trial = 0, length = 0;
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, searcher);
    double metrics[RGM_MAX_OBJECTIVES] = {0};
    rgm_search_event event = {.metrics = metrics};
    int at = 0;

    if (sscanf(line, "validated %lld %lld%n", &trial, &length, &at) == 2 && at > 0) {
        char *rest = (char *)(uintptr_t)line + at;
        for (int64_t i = 0; i < count; i++)
            metrics[i] = strtod(rest, &rest);
        event.kind = RGM_VALIDATED;
    } else if (sscanf(line, "closed %lld", &trial) == 1)
        event.kind = RGM_CLOSED;
    else
        return RGM_FAIL(RGM_ERR_FORMAT, "'%s' is no event", line);
    event.trial = trial;
    event.length = length;
    return rgm_searcher_tell(searcher, &event);
}

int main(int argc, char **argv)
{
    rgm_searcher *searcher = NULL;
    rgm_status status = RGM_OK;
    char line[256];

    RGM_GO(open_search(&searcher, argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0));
    RGM_GO(rgm_searcher_begin(searcher));
    RGM_GO(print_operations(searcher));
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        RGM_GO(take_event(searcher, line));
        RGM_GO(print_operations(searcher));
    }
done:
    if (status != RGM_OK)
        fprintf(stderr, "search_ask: %s\n", rgm_error_text());
    rgm_searcher_release(searcher);
    return status != RGM_OK;
}
