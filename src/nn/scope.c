/*
 * Scopes: the places of layers. The root owns everything: an arena with all scopes, a map from full
 * path to scope, and the losses collected below it. A child is found again by its path, so a layer
 * called twice with one name shares its parameters.
 */
#include "nn_internal.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct rgm_scope {
    rgm_scope *root;
    rgm_cgraph *graph;
    rgm_dtype dtype;
    const char *path;
    int64_t streams;    /* random streams named so far */
    rgm_scope *follows; /* the scope whose parameters these follow; NULL: none */
    double momentum;
    /* only in the root */
    const rgm_lora_options *lora; /* NULL: parameters learn     */
    uint64_t met;                 /* targets of it, by number   */
    const rgm_parameters *held;   /* NULL: parameters are made  */
    rgm_arena *arena;
    rgm_map *scopes;      /* path -> scope                                          */
    rgm_map *regularized; /* parameter name -> itself: a shared one is counted once */
    rgm_value **losses;
    int64_t loss_count, loss_capacity;
};

rgm_status rgm_scope_create(rgm_scope **out, rgm_cgraph *graph, rgm_dtype dtype)
{
    rgm_status status = RGM_OK;
    rgm_arena *arena = NULL;
    rgm_map *scopes = NULL, *regularized = NULL;
    rgm_scope *root;

    *out = NULL;
    if (graph == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "scope: no compute graph");
    if (dtype != RGM_F32 && dtype != RGM_F64)
        return RGM_FAIL(RGM_ERR_DTYPE, "scope: parameters are f32 or f64, not %s",
                        rgm_dtype_name(dtype));
    RGM_GO(rgm_arena_create(&arena));
    RGM_GO(rgm_map_create(&scopes));
    RGM_GO(rgm_map_create(&regularized));
    root = rgm_arena_alloc(arena, sizeof *root);
    if (root == NULL) {
        status = RGM_FAIL(RGM_ERR_NOMEM, "out of memory: scope");
        goto done;
    }
    *root = (rgm_scope){.root = root,
                        .graph = graph,
                        .dtype = dtype,
                        .path = "",
                        .arena = arena,
                        .scopes = scopes,
                        .regularized = regularized};
    *out = root;
    return RGM_OK;
done:
    rgm_map_release(regularized);
    rgm_map_release(scopes);
    rgm_arena_release(arena);
    return status;
}

void rgm_scope_release(rgm_scope *root)
{
    rgm_arena *arena;

    if (root == NULL)
        return;
    root = root->root;
    arena = root->arena;
    rgm_free(root->losses);
    rgm_map_release(root->regularized);
    rgm_map_release(root->scopes);
    rgm_arena_release(arena); /* the arena contains the root itself */
}

/* "<path>/<name>" in the root's arena; NULL: no memory. */
static char *join(const rgm_scope *scope, const char *name)
{
    size_t a = strlen(scope->path), b = strlen(name), slash = a > 0;
    char *path = rgm_arena_alloc(scope->root->arena, a + slash + b + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, scope->path, a);
    if (slash)
        path[a] = '/';
    memcpy(path + a + slash, name, b + 1);
    return path;
}

static void *no_memory(const rgm_scope *scope)
{
    rgm_cgraph_fail(scope->graph, RGM_ERR_NOMEM, "out of memory: scope '%s'", scope->path);
    return NULL;
}

rgm_scope *rgm_scope_enter(rgm_scope *scope, const char *name)
{
    rgm_scope *child;
    char *path;

    if (scope == NULL)
        return NULL;
    if (name == NULL || name[0] == '\0') {
        rgm_cgraph_fail(scope->graph, RGM_ERR_ARG, "scope '%s': a child needs a name", scope->path);
        return NULL;
    }
    path = join(scope, name);
    if (path == NULL)
        return no_memory(scope);
    child = rgm_map_get(scope->root->scopes, path);
    if (child != NULL)
        return child;
    child = rgm_arena_alloc(scope->root->arena, sizeof *child);
    if (child == NULL || rgm_map_set(scope->root->scopes, path, child) != RGM_OK)
        return no_memory(scope);
    *child = (rgm_scope){
        .root = scope->root, .graph = scope->graph, .dtype = scope->dtype, .path = path};
    if (scope->follows != NULL) {
        child->follows = rgm_scope_enter(scope->follows, name);
        child->momentum = scope->momentum;
    }
    return child;
}

rgm_scope *rgm_scope_follow(rgm_scope *scope, const char *name, double momentum)
{
    rgm_scope *made;

    if (scope == NULL)
        return NULL;
    if (!(momentum >= 0 && momentum <= 1)) {
        rgm_cgraph_fail(scope->graph, RGM_ERR_ARG, "scope '%s': a momentum of %g is not in [0, 1]",
                        scope->path, momentum);
        return NULL;
    }
    made = rgm_scope_enter(scope->root, name);
    if (made != NULL && scope->path[0] != '\0')
        made = rgm_scope_enter(made, scope->path);
    if (made != NULL) {
        made->follows = scope;
        made->momentum = momentum;
    }
    return made;
}

rgm_cgraph *rgm_scope_graph(const rgm_scope *scope)
{
    return scope != NULL ? scope->graph : NULL;
}

const char *rgm_scope_path(const rgm_scope *scope)
{
    return scope != NULL ? scope->path : "";
}

rgm_dtype rgm_scope_dtype(const rgm_scope *scope)
{
    return scope != NULL ? scope->dtype : RGM_F32;
}

void rgmi_scope_mark(const rgm_scope *scope)
{
    if (scope != NULL)
        rgm_cgraph_set_scope(scope->graph, scope->path[0] != '\0' ? scope->path : NULL);
}

const char *rgmi_scope_stream(rgm_scope *scope, const char *kind)
{
    char name[64];
    const char *stream;

    snprintf(name, sizeof name, "%s_%lld", kind, (long long)scope->streams++);
    stream = join(scope, name);
    return stream != NULL ? stream : no_memory(scope);
}

/* The state of a scope that follows another, updated towards the parameter there. */
static rgm_value *following_state(rgm_scope *scope, const char *name, int rank,
                                  const int64_t *shape, rgm_init init)
{
    rgm_value *followed = rgm_scope_parameter(scope->follows, name, rank, shape, init);
    rgm_value *state = rgm_scope_state(scope, name, rank, shape, init), *next;

    if (followed == NULL || state == NULL)
        return NULL;
    followed = rgm_scale(rgm_stop_gradient(followed), 1 - scope->momentum);
    next = rgm_scale(state, scope->momentum);
    rgm_cgraph_update(scope->graph, state, rgm_add(next, followed));
    return state;
}

void rgm_scope_adapt(rgm_scope *root, const rgm_lora_options *lora)
{
    if (root != NULL)
        root->root->lora = lora->rank > 0 ? lora : NULL;
}

void rgm_scope_hold(rgm_scope *root, const rgm_parameters *values)
{
    if (root != NULL)
        root->root->held = values;
}

/* What was trained before, as a constant. */
static rgm_value *held_value(rgm_scope *scope, const char *name, int rank, const int64_t *shape)
{
    const char *path = join(scope, name);
    rgm_tensor *tensor;
    bool same;

    if (path == NULL)
        return no_memory(scope);
    tensor = rgm_parameters_find(scope->root->held, path);
    if (tensor == NULL)
        return rgm_cgraph_fail(scope->graph, RGM_ERR_NOT_FOUND, "the held weights have no '%s'",
                               path);
    if (rgm_tensor_dtype(tensor) != scope->dtype)
        return rgm_cgraph_fail(scope->graph, RGM_ERR_DTYPE, "the held weight '%s' is %s, not %s",
                               path, rgm_dtype_name(rgm_tensor_dtype(tensor)),
                               rgm_dtype_name(scope->dtype));
    same = rgm_tensor_rank(tensor) == rank;
    for (int i = 0; same && i < rank; i++)
        same = rgm_tensor_dim(tensor, i) == shape[i];
    if (!same)
        return rgm_cgraph_fail(scope->graph, RGM_ERR_SHAPE,
                               "the held weight '%s' has another shape than its layer", path);
    return rgm_constant(scope->graph, tensor);
}

rgm_status rgm_scope_adapt_check(const rgm_scope *root)
{
    const rgm_lora_options *lora = root->root->lora;

    if (lora != NULL && lora->targets.count > 64)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.lora.targets: %lld of them; at most 64",
                        (long long)lora->targets.count);
    for (int64_t i = 0; lora != NULL && i < lora->targets.count; i++)
        if ((root->root->met >> i % 64 & 1) == 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.lora.targets: no layer with a kernel is called '%s'",
                            lora->targets.items[i]);
    return RGM_OK;
}

static bool is_target(const rgm_lora_options *lora, uint64_t *met, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    bool any = lora->targets.count == 0;

    for (int64_t i = 0; i < lora->targets.count; i++)
        if (fnmatch(lora->targets.items[i], name, 0) == 0 ||
            fnmatch(lora->targets.items[i], path, 0) == 0) {
            *met |= UINT64_C(1) << i % 64;
            any = true;
        }
    return any;
}

/*
 * The kernel with its adapter, if the scope is a target's, or as it is. What a layer multiplies
 * with is a value of the graph, so that every layer can have an adapter and none knows of it.
 */
static rgm_value *adapted(rgm_scope *scope, rgm_value *kernel, const int64_t *shape)
{
    const rgm_lora_options *lora = scope->root->lora;
    const int64_t down[2] = {shape[0], lora->rank}, up[2] = {lora->rank, shape[1]};
    rgm_init start = {RGM_INIT_NORMAL, 1 / sqrt((double)shape[0])}, zeros = {RGM_INIT_ZEROS, 0};
    const char *names[2];
    rgm_value *a, *b;

    if (kernel == NULL || !is_target(lora, &scope->root->met, scope->path))
        return kernel;
    names[0] = join(scope, "lora_a");
    names[1] = join(scope, "lora_b");
    if (names[0] == NULL || names[1] == NULL)
        return no_memory(scope);
    a = rgm_parameter(scope->graph, names[0], scope->dtype, 2, down, start);
    b = rgm_parameter(scope->graph, names[1], scope->dtype, 2, up, zeros);
    return rgm_add(kernel, rgm_scale(rgm_matmul(a, b), lora->alpha / (double)lora->rank));
}

rgm_value *rgm_scope_parameter(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                               rgm_init init)
{
    char *path;

    if (scope == NULL)
        return NULL;
    if (scope->root->held != NULL)
        return held_value(scope, name, rank, shape);
    if (scope->root->lora != NULL) {
        rgm_value *own = rgm_scope_state(scope, name, rank, shape, init);

        return rank == 2 && strcmp(name, "kernel") == 0 ? adapted(scope, own, shape) : own;
    }
    if (scope->follows != NULL)
        return following_state(scope, name, rank, shape, init);
    path = join(scope, name);
    if (path == NULL)
        return no_memory(scope);
    return rgm_parameter(scope->graph, path, scope->dtype, rank, shape, init);
}

rgm_value *rgm_scope_state(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                           rgm_init init)
{
    char *path;

    if (scope == NULL)
        return NULL;
    if (scope->root->held != NULL)
        return held_value(scope, name, rank, shape);
    path = join(scope, name);
    if (path == NULL)
        return no_memory(scope);
    return rgm_state(scope->graph, path, scope->dtype, rank, shape, init);
}

void rgm_scope_add_loss(rgm_scope *scope, rgm_value *scalar)
{
    rgm_scope *root;

    if (scope == NULL || scalar == NULL || scope->follows != NULL)
        return;
    root = scope->root;
    if (rgm_value_rank(scalar) != 0) {
        char shape[128];
        rgm_cgraph_fail(scope->graph, RGM_ERR_SHAPE, "scope '%s': a loss is a scalar, not %s",
                        scope->path, rgm_value_describe(scalar, shape, sizeof shape));
        return;
    }
    if (RGM_RESERVE(root->losses, root->loss_capacity, root->loss_count + 1) != RGM_OK) {
        no_memory(scope);
        return;
    }
    root->losses[root->loss_count++] = scalar;
}

void rgm_scope_add_l2(rgm_scope *scope, rgm_value *parameter, double coefficient)
{
    const char *name;

    if (scope == NULL || parameter == NULL || coefficient == 0 || scope->follows != NULL)
        return;
    name = rgm_value_name(parameter);
    if (coefficient < 0 || name == NULL) {
        rgm_cgraph_fail(scope->graph, RGM_ERR_ARG,
                        "scope '%s': l2 needs a parameter and a coefficient >= 0, got %g",
                        scope->path, coefficient);
        return;
    }
    if (rgm_map_has(scope->root->regularized, name))
        return;
    if (rgm_map_set(scope->root->regularized, name, parameter) != RGM_OK) {
        no_memory(scope);
        return;
    }
    rgm_scope_add_loss(scope, rgm_scale(rgm_sum(rgm_square(parameter)), coefficient));
}

rgm_value *rgm_scope_loss(const rgm_scope *scope)
{
    rgm_value *sum = NULL;

    if (scope == NULL)
        return NULL;
    for (int64_t i = 0; i < scope->root->loss_count; i++)
        sum = i == 0 ? scope->root->losses[0] : rgm_add(sum, scope->root->losses[i]);
    return sum;
}
