/*
 * sync_halving: one bracket of successive halving with a budget, in any unit of length. Unlike
 * async_halving two rungs may have the same length.
 */
#include "search_internal.h"

typedef struct sync_halving_options {
    int64_t num_rungs, budget;
    int64_t max_steps;
    const rgm_yaml_node *max_length; /* while it is read alone */
    rgm_length length;
    double divisor;
} sync_halving_options;

#define RGM_OPTIONS sync_halving_options
static const rgm_field fields[] = {
    RGM_INT_FIELD(num_rungs, 1, 62, "rungs"),
    RGM_INT_FIELD(budget, 1, RGM_MAX_LENGTH, "of all trials together, about, in that unit"),
    RGM_FLOAT_FIELD(divisor, 1 + 0x1p-20, 1e6, "of a rung's trials one in so many goes on"),
    RGM_INT_FIELD(max_steps, 1, RGM_MAX_LENGTH, "of a trial that reaches the top"),
    {.name = "max_length",
     .kind = RGM_FIELD_NODE,
     .offset = offsetof(sync_halving_options, max_length),
     .help = "the same in any unit"},
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(sync_halving_options *)options = (sync_halving_options){.divisor = 4};
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    sync_halving_options *o = options;
    rgmi_tournament *t = state;
    rgmi_mistakes mistakes = {0};

    (void)searcher;
    RGM_GO(rgmi_search_need(&mistakes, o->num_rungs, "num_rungs", section));
    RGM_GO(rgmi_search_need(&mistakes, o->budget, "budget", section));
    RGM_GO(rgmi_mistake(&mistakes,
                        rgmi_read_max_length(&o->length, o->max_steps, o->max_length, section)));
    o->max_length = NULL;
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    RGM_GO(rgmi_tournament_create(t, 1));
    RGM_GO(rgm_yaml_place(rgmi_bracket_budgeted(&t->brackets[0], o->num_rungs, o->divisor,
                                                o->length.units, o->budget, false),
                          section));
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

static rgm_length max_length(const void *options)
{
    return ((const sync_halving_options *)options)->length;
}

const rgm_searcher_type rgmi_sync_halving_type = {
    .section = {.name = "sync_halving",
                .help = "one bracket of successive halving, with a budget in any unit",
                .options_size = sizeof(sync_halving_options),
                .defaults = defaults,
                .fields = fields},
    .state_size = sizeof(rgmi_tournament),
    .prepare = prepare,
    .max_length = max_length,
    RGMI_TOURNAMENT_FUNCTIONS};
