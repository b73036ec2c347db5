/*
 * The executor's own structures: the compiled program (a private graph in topological order, a slot
 * a value), and a plan, which is everything that depends on the sizes of one run.
 */
#ifndef REGIMEN_AUTODIFF_EXECUTOR_INTERNAL_H
#define REGIMEN_AUTODIFF_EXECUTOR_INTERNAL_H

#include "autodiff_internal.h"

enum { RGMI_PLANS = 32 }; /* unless the options say how many */

/* Where a slot's data lives in a plan. */
typedef enum rgmi_where {
    RGMI_NOWHERE, /* patterns, views: set as the run goes           */
    RGMI_LEAF,    /* fed, parameter or constant                     */
    RGMI_ARENA,
    RGMI_KEPT /* computed once for as long as the feeds stay    */
} rgmi_where;

typedef struct rgmi_place {
    rgmi_where where;
    bool prologue, kept, main;
    size_t bytes, offset;
    size_t room; /* bytes set aside at `offset`, of roots; what runs of other sizes needed too */
    size_t scratch, scratch_offset, scratch_room;
    int64_t root;       /* slot whose memory this is (views, results in place)              */
    int64_t begin, end; /* of the memory, in positions; for roots                           */
} rgmi_place;

typedef struct rgmi_plan {
    int64_t *symbols; /* bound sizes                                                         */
    rgm_view *views;  /* by slot                                                             */
    rgmi_place *place;
    int64_t *steps; /* slots: first `prologue` of them depend on feeds alone               */
    int64_t prologue, step_count;
    size_t arena_bytes;
    int64_t kept_bytes;
    uint64_t generation; /* of the memory that the views point into                          */
    rgm_tensor **fetched;
    uint64_t used;
} rgmi_plan;

/* A value kept from run to run. */
typedef struct rgmi_kept {
    void *data; /* of the device */
    size_t capacity;
    rgm_pattern *pattern;
    bool valid;
} rgmi_kept;

/* A parameter in the form in which a table's products like to read it. */
typedef struct rgmi_pack {
    char *name; /* the parameter's */
    const rgm_kernels *kernels;
    int64_t transposed, elements;
    void *data;       /* of the device; NULL: no run has needed it yet                     */
    uint64_t version; /* of the parameters that it was made of; 0: it is none's            */
} rgmi_pack;

/* Those of executors that keep them together. */
typedef struct rgmi_packs {
    int64_t owners;
    rgm_device *device;
    rgmi_pack **items;
    int64_t count, capacity;
    uint64_t changes; /* grows whenever one of them is made or is none's any more */
} rgmi_packs;

/* What a device whose memory is not the host's has of a value: see device_copies.c. */
typedef struct rgmi_device_copy {
    void *data; /* of a fed or constant leaf: the tensor's elements */
    size_t capacity;
    void *rows; /* numbers of the rows of a table that the elements are; or NULL */
    size_t row_capacity;
    bool numbered;        /* `rows` are there, the elements are still to be gathered */
    rgm_tensor *of;       /* whose elements they are, retained; NULL: none's */
    rgm_pattern *pattern; /* whose arrays these are, retained */
    void *arrays;
    size_t array_capacity;
    rgm_csr by_row, by_column;
    const int32_t *row_of, *column_of;
} rgmi_device_copy;

/* Who asks for an index check in a run, and where the answer stands. */
typedef struct rgm_index_watch {
    rgm_index_flag *flag;        /* of the device                                              */
    int64_t op;                  /* slot                                                       */
    const rgm_index_flag *found; /* what the flag said when the run was done; NULL: not yet    */
} rgm_index_watch;

typedef struct rgmi_fed {
    rgm_tensor *tensor; /* retained */
    rgm_pattern *pattern;
} rgmi_fed;

/* Feeds of the next run: see copies_ahead.c. */
typedef struct rgmi_ahead {
    rgmi_device_copy *next; /* by place in inputs; NULL: nothing was copied ahead yet      */
    rgmi_fed *fed;          /* likewise, borrowed: what the next run is said to be fed     */
    void *ready;            /* mark behind these copies, until somebody follows it         */
    void *run, *before;     /* marks behind the kernels of the run under way, and before it */
    bool running, missed;   /* a run has begun and set no mark; so had the one before it   */
    bool inside;            /* options.meanwhile is called                                 */
} rgmi_ahead;

struct rgm_executor {
    rgm_executor_options options;
    rgm_device *device;
    rgmi_device_copy *copies; /* by slot; NULL: the device's memory is the host's */
    int *reads;               /* by slot, of a pattern: what its ops read there   */
    rgmi_ahead ahead;
    rgm_index_flag *flag; /* the device's, where copies are made; else &host_flag */
    rgm_index_flag host_flag;
    const rgm_cgraph *source;
    rgm_cgraph *program;
    rgm_value **order; /* by slot, inputs first */
    int64_t count;
    int64_t *sequence; /* slots in the order in which they best run; made with the first plan */
    rgm_value **fetch;
    int64_t fetch_count;
    int64_t *first_fetch;       /* by slot: the first that it is; -1: none          */
    int64_t *next_fetch;        /* [fetch_count] the next of the same slot; -1: none */
    rgm_fetch_watcher *watcher; /* NULL: none */
    void *watcher_payload;
    bool *stays; /* [fetch_count] fetches that stay on the device; NULL: none */
    rgm_value **inputs;
    int64_t input_count;
    int64_t *input_of; /* by number of the source's input: place in `inputs`, or -1 */
    int64_t source_inputs;
    rgmi_fed *fed, *now; /* by place in inputs: of the last run; of this one          */
    bool *changed;
    uint64_t *depends; /* [count][words]: the inputs that a slot depends on          */
    int64_t words;
    rgmi_kept *kept;             /* by slot */
    bool *due;                   /* by slot: prologue step to run                              */
    const rgm_kernels **kernels; /* by slot */
    rgm_view *in;
    int64_t *binding;
    rgmi_plan **plans; /* [plan_most] */
    int64_t plan_count, plan_most;
    rgmi_plan *current;
    uint64_t clock, generation;
    rgmi_packs *packs;
    rgmi_pack **pack; /* by slot: the packed weight that it is, whose memory is the packs'; NULL */
    uint64_t packs_seen; /* packs->changes that `kept` knows of                            */
    uint64_t version;    /* of the parameters of the last run */
    void *arena;         /* of the device */
    size_t arena_bytes, arena_peak;
    size_t arena_least; /* what the plan of the largest needs by itself */
    bool profile;
    double *seconds; /* by slot */
    int64_t *runs;
    rgm_op_observer *observer; /* NULL: none */
    void *observer_payload;
};

/** Copy what the fetches need into executor->program. */
rgm_status rgmi_program_create(rgm_executor *executor, rgm_value *const *fetches, int64_t count);
/** Recompute executor->order (inputs before users, else as written), uses and fed_only. */
rgm_status rgmi_program_order(rgm_executor *executor);
/** All passes. */
rgm_status rgmi_program_optimize(rgm_executor *executor);
rgm_status rgmi_plan_create(rgmi_plan **out, rgm_executor *executor, const int64_t *symbols);
void rgmi_plan_release(rgmi_plan *plan, const rgm_executor *executor);
/** Whether such an op may be written over any of its inputs, not the first alone. */
bool rgmi_any_input(const rgm_op_type *type);
/** How many of y's first inputs it may be written over, if they are not needed again. */
int rgmi_plan_in_place(const rgmi_plan *plan, const rgm_value *y, const rgm_executor *executor);
/** Offsets for the places that are roots in the arena; the arena's size. */
rgm_status rgmi_plan_place(rgmi_plan *plan, rgm_executor *executor);
/** executor->sequence. */
rgm_status rgmi_plan_sequence(rgm_executor *executor, const rgmi_plan *plan);
/** Ops that one run takes after the passes, views not counted. */
int64_t rgmi_executor_op_count(const rgm_executor *executor);
/** Operations of v on these views: rgm_executor_flops(). */
int64_t rgmi_flops(const rgm_value *v, const rgm_view *in, const rgm_view *out);
/** What v moves at least: rgm_op_event. */
int64_t rgmi_bytes(const rgm_value *v, const rgm_view *in, const rgm_view *out);

/* ---- feeds ---- */

/** What each input is fed, by place in inputs, borrowed. RGM_ERR_ARG: a feed is for no input. */
rgm_status rgmi_feeds_take(const rgm_executor *executor, rgmi_fed *fed, const rgm_feed *feeds,
                           int64_t count);
/** Take what is fed into executor->now; *any_changed: something else than in the run before. */
rgm_status rgmi_feeds_match(rgm_executor *executor, const rgm_feed *feeds, int64_t count,
                            bool *any_changed);
/** Bind executor->binding to the sizes of what is fed. */
rgm_status rgmi_feeds_bind(rgm_executor *executor);
/** Remember what is fed; what was kept and depends on a changed input is no longer valid. */
void rgmi_feeds_accept(rgm_executor *executor);

/* ---- packed_weights.c ---- */

/** executor->packs and pack. RGM_ERR_ARG: options.packed_with is of another device. */
rgm_status rgmi_packs_open(rgm_executor *executor);
void rgmi_packs_close(rgm_executor *executor);
/** Memory for the packed weight of slot s. */
rgm_status rgmi_pack_reserve(rgm_executor *executor, int64_t s, size_t bytes);
/** kept[].valid of packed weights, for a run with parameters of that version. */
void rgmi_packs_accept(rgm_executor *executor, uint64_t version);
/** The packed weight of slot s is made now, of the run's parameters; or is none's any more. */
void rgmi_pack_set(rgm_executor *executor, int64_t s, bool is_made);

/* ---- copies for a device whose memory is not the host's; none is called for the CPU ---- */

/** executor->copies and flag, and the constants. */
rgm_status rgmi_copies_create(rgm_executor *executor);
void rgmi_copies_release(rgm_executor *executor);
/** view->data: the device's copy of a fed or constant leaf's tensor, made unless it is there. */
rgm_status rgmi_copies_leaf(rgm_executor *executor, rgm_view *view, const rgm_value *leaf,
                            rgm_tensor *tensor);
/** The device's copy of view->pattern, of slot s, made unless it is there. */
rgm_status rgmi_copies_pattern(rgm_executor *executor, rgm_view *view, int64_t s);
/** Memory for what is fed to a leaf. */
rgm_status rgmi_copies_reserve(rgm_executor *executor, rgmi_device_copy *copy,
                               const rgm_value *leaf, const rgmi_fed *fed);
/** Copy it there: elements, those of a pattern's arrays that are read, or the numbers of rows,
 * which are to be gathered. */
rgm_status rgmi_copies_fill(rgm_executor *executor, rgmi_device_copy *copy, const rgm_value *leaf,
                            rgm_device_queue queue, const rgmi_fed *fed);
/** Gather the elements of `tensor` by the numbers that have come, if they have. */
rgm_status rgmi_copies_gather(rgm_executor *executor, rgmi_device_copy *copy, const rgm_value *leaf,
                              const rgm_tensor *tensor);
/** A tensor of the device itself, or the device's copy of one that is lent; of the table that a
 * tensor has rows of. Or NULL. */
rgm_tensor *rgmi_copies_there(const rgm_executor *executor, const rgm_tensor *tensor);
rgm_tensor *rgmi_copies_table(const rgm_executor *executor, const rgm_tensor *tensor);
/** Free what it has. */
void rgmi_copy_clear(rgmi_device_copy *copy, rgm_device *device);
/** Let a run have what was copied ahead of what it is fed. */
rgm_status rgmi_ahead_take(rgm_executor *executor);
/** options.meanwhile of a run whose kernels are all queued. */
void rgmi_ahead_meanwhile(rgm_executor *executor);
void rgmi_ahead_release(rgm_executor *executor);
/** Run an op that works on the host. */
rgm_status rgmi_copies_run_on_host(rgm_executor *executor, rgm_op_run *run, const rgm_value *v);
/** RGM_ERR_DATA if the flag is up; waits. */
rgm_status rgmi_copies_look(rgm_executor *executor);
/** When a run is done, with `status`: what the flag says, as the error of the op that asked, or the
 * run's. After an error the flag is down and nothing is kept that the run may not have made. */
rgm_status rgmi_copies_check_indices(rgm_executor *executor, const rgmi_plan *plan,
                                     rgm_status status);
/** The fetched values of the run, on the host unless they stay. */
rgm_status rgmi_copies_fetch(rgm_executor *executor, rgmi_plan *plan);

/* ---- a run of one op ---- */

/** What v's forward function gets. */
rgm_op_run rgmi_op_run(rgm_executor *executor, const rgmi_plan *plan, int64_t s,
                       const rgm_index_watch *watch);
/** The error with the op's name and scope before it. */
rgm_status rgmi_in_context(rgm_status status, const rgm_value *v);

/* ---- passes: a rule gives what may stand in v's place, or NULL ---- */

typedef rgm_value *rgmi_rule(rgm_executor *executor, rgm_value *v);
/** The table whose kernels run v. */
const rgm_kernels *rgmi_kernels_of(const rgm_value *v, const rgm_executor *executor);
/** Made of parameters alone: kept for as long as they stay. */
static inline bool rgmi_is_packed_weight(const rgm_value *v)
{
    return v->type == &rgmi_matmul_pack_op;
}
/** Each rule at each value, inputs first, again until nothing changes. */
rgm_status rgmi_rules_apply(rgm_executor *executor, rgmi_rule *const *rules, int count);
/** The value of that op with those inputs and attributes, when the program has one. */
rgm_value *rgmi_program_find(const rgm_executor *executor, const rgm_op_type *type,
                             rgm_value *const *in, int inputs, const rgm_attributes *attributes);
bool rgmi_attributes_equal(const rgm_attributes *a, const rgm_attributes *b);
/** Scalar constant of x (through broadcasts)? */
bool rgmi_is_number(double *number, const rgm_value *x);
static inline bool rgmi_is(const rgm_value *v, const rgm_op_type *type)
{
    return v != NULL && v->type == type;
}
/** Used once, by whoever asks, and not fetched: it falls away when its user no longer needs it. */
static inline bool rgmi_single(const rgm_value *v)
{
    return v->uses == 1 && !v->fetched;
}
bool rgmi_has_shape(const rgm_value *v, const rgm_value *like);

rgmi_rule rgmi_rule_drop, rgmi_rule_movement, rgmi_rule_arithmetic, rgmi_rule_broadcast,
    rgmi_rule_slices, rgmi_rule_dropped_relu, rgmi_rule_norm_sum;
rgmi_rule rgmi_rule_entries, rgmi_rule_pool, rgmi_rule_pooled_sum, rgmi_rule_sddmm,
    rgmi_rule_scales;
rgmi_rule rgmi_rule_narrow, rgmi_rule_narrow_grad, rgmi_rule_entry_product;
rgmi_rule rgmi_rule_transposed, rgmi_rule_bias, rgmi_rule_activation, rgmi_rule_accumulate,
    rgmi_rule_masked_softmax, rgmi_rule_residual, rgmi_rule_sum_squares, rgmi_rule_product_sum,
    rgmi_rule_pack, rgmi_rule_dropped_sum, rgmi_rule_norm_relu_grad, rgmi_rule_base_scale;
rgmi_rule rgmi_rule_map;
rgmi_rule rgmi_rule_inner_rows, rgmi_rule_own_rows;
rgm_status rgmi_pass_common(rgm_executor *executor);

#endif
