/*
 * Symbolic dims. A dim < 0 names a symbol: free, or a sum, product, quotient or rest of dims that
 * were there before. Sums and products are brought to one form (constant and sorted atoms), so that
 * two dims are equal exactly when their numbers are.
 */
#include "autodiff_internal.h"
#include <stdio.h>

#define ATOMS_MAX 64

/* constant * atoms (product) or constant + atoms (sum), atoms sorted. */
typedef struct atoms {
    int64_t constant;
    rgm_dim atom[ATOMS_MAX];
    int count;
    bool full;  /* more atoms than there is room for */
    bool large; /* the constant is no int64          */
} atoms;

static rgm_dim symbol_add(rgm_cgraph *graph, rgmi_symbol_kind kind, rgm_dim a, rgm_dim b)
{
    for (int64_t i = 0; i < graph->symbol_count; i++) {
        const rgmi_symbol *s = &graph->symbols[i];
        if (s->kind == kind && kind != RGMI_FREE && s->a == a && s->b == b)
            return -(i + 1);
    }
    if (RGM_RESERVE(graph->symbols, graph->symbol_capacity, graph->symbol_count + 1) != RGM_OK) {
        rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for a symbol");
        return 0;
    }
    graph->symbols[graph->symbol_count++] = (rgmi_symbol){.kind = kind, .a = a, .b = b};
    return -graph->symbol_count;
}

static void atoms_insert(atoms *list, rgm_dim atom)
{
    int i = list->count;

    if (i == ATOMS_MAX) {
        list->full = true;
        return;
    }
    for (; i > 0 && list->atom[i - 1] < atom; i--)
        list->atom[i] = list->atom[i - 1];
    list->atom[i] = atom;
    list->count++;
}

/* Nesting is as deep as expressions were built: a few levels. */
static void atoms_expand(atoms *list, const rgm_cgraph *graph, rgmi_symbol_kind kind, rgm_dim dim)
{
    if (dim >= 0) { /* wrapped, it would be taken for a symbol that is not there */
        list->large |= kind == RGMI_SUM
                           ? __builtin_add_overflow(list->constant, dim, &list->constant)
                           : __builtin_mul_overflow(list->constant, dim, &list->constant);
        return;
    }
    const rgmi_symbol *s = &graph->symbols[-dim - 1];
    if (s->kind == kind) {
        atoms_expand(list, graph, kind, s->a);
        atoms_expand(list, graph, kind, s->b);
    } else {
        atoms_insert(list, dim);
    }
}

static rgm_dim atoms_fold(rgm_cgraph *graph, rgmi_symbol_kind kind, const atoms *list)
{
    int64_t neutral = kind == RGMI_SUM ? 0 : 1;

    if (list->full) {
        rgm_cgraph_fail(graph, RGM_ERR_UNSUPPORTED, "a size of more than %d symbols", ATOMS_MAX);
        return 0;
    }
    if (list->large) {
        rgm_cgraph_fail(graph, RGM_ERR_SHAPE, "a size is too large: above 2^63%s%s%s",
                        graph->scope != NULL ? " (in scope '" : "",
                        graph->scope != NULL ? graph->scope : "", graph->scope != NULL ? "')" : "");
        return 0;
    }
    if (list->count == 0 || (kind == RGMI_PRODUCT && list->constant == 0))
        return list->constant;
    rgm_dim dim = list->atom[0];
    for (int i = 1; i < list->count; i++)
        dim = symbol_add(graph, kind, dim, list->atom[i]);
    return list->constant == neutral ? dim : symbol_add(graph, kind, dim, list->constant);
}

rgm_dim rgmi_dim_sum(rgm_cgraph *graph, rgm_dim a, rgm_dim b)
{
    atoms list = {.constant = 0};

    atoms_expand(&list, graph, RGMI_SUM, a);
    atoms_expand(&list, graph, RGMI_SUM, b);
    return atoms_fold(graph, RGMI_SUM, &list);
}

rgm_dim rgmi_dim_product(rgm_cgraph *graph, rgm_dim a, rgm_dim b)
{
    atoms list = {.constant = 1};

    atoms_expand(&list, graph, RGMI_PRODUCT, a);
    atoms_expand(&list, graph, RGMI_PRODUCT, b);
    return atoms_fold(graph, RGMI_PRODUCT, &list);
}

rgm_dim rgmi_dim_quotient(rgm_cgraph *graph, rgm_dim a, rgm_dim b)
{
    atoms over = {.constant = 1}, under = {.constant = 1};

    if (a == b && a != 0)
        return 1;
    atoms_expand(&over, graph, RGMI_PRODUCT, a);
    atoms_expand(&under, graph, RGMI_PRODUCT, b);
    for (int i = 0; i < under.count;) {
        int j = 0;
        while (j < over.count && over.atom[j] != under.atom[i])
            j++;
        if (j == over.count) {
            i++;
            continue;
        }
        memmove(&over.atom[j], &over.atom[j + 1], (size_t)(--over.count - j) * sizeof(rgm_dim));
        memmove(&under.atom[i], &under.atom[i + 1], (size_t)(--under.count - i) * sizeof(rgm_dim));
    }
    over.full |= under.full;
    if (under.count == 0 && under.constant > 0 && over.constant % under.constant == 0) {
        over.constant /= under.constant;
        return atoms_fold(graph, RGMI_PRODUCT, &over);
    }
    return symbol_add(graph, RGMI_QUOTIENT, a, b);
}

static int64_t rest_of(int64_t whole, int64_t millionths)
{
    return whole - (int64_t)((__int128)whole * millionths / 1000000);
}

rgm_dim rgm_dim_rest(rgm_cgraph *graph, rgm_dim whole, double rate)
{
    int64_t millionths = (int64_t)(rate * 1e6 + 0.5);

    if (graph == NULL)
        return 0;
    if (!(rate >= 0 && rate <= 1)) {
        rgm_cgraph_fail(graph, RGM_ERR_ARG, "the share %g of a size is not in [0, 1]", rate);
        return 0;
    }
    if (millionths == 0)
        return whole;
    return whole >= 0 ? rest_of(whole, millionths)
                      : symbol_add(graph, RGMI_REST, whole, millionths);
}

rgm_dim rgmi_shape_product(rgm_cgraph *graph, const rgm_dim *shape, int rank)
{
    rgm_dim product = 1;

    for (int i = 0; i < rank; i++)
        product = rgmi_dim_product(graph, product, shape[i]);
    return product;
}

rgm_dim rgm_cgraph_symbol(rgm_cgraph *graph, const char *name)
{
    if (graph == NULL)
        return 0;
    for (int64_t i = 0; name != NULL && i < graph->symbol_count; i++)
        if (graph->symbols[i].name != NULL && strcmp(graph->symbols[i].name, name) == 0)
            return -(i + 1);
    rgm_dim dim = symbol_add(graph, RGMI_FREE, 0, 0);
    if (dim < 0 && name != NULL) {
        graph->symbols[-dim - 1].name = rgm_arena_strdup(graph->arena, name);
        if (graph->symbols[-dim - 1].name == NULL)
            rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for symbol '%s'", name);
    }
    return dim;
}

void rgmi_symbols_derive(int64_t *bound, const rgmi_symbol *symbols, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const rgmi_symbol *s = &symbols[i];
        if (s->kind == RGMI_FREE)
            continue;
        int64_t a = rgmi_dim_bind(s->a, bound), b = rgmi_dim_bind(s->b, bound), y = -1;
        bound[i] = -1;
        if (a < 0 || b < 0)
            continue;
        if (s->kind == RGMI_SUM)
            y = __builtin_add_overflow(a, b, &y) ? -1 : y;
        else if (s->kind == RGMI_PRODUCT)
            y = __builtin_mul_overflow(a, b, &y) ? -1 : y;
        else if (s->kind == RGMI_REST)
            y = rest_of(a, b);
        else
            y = b > 0 && a % b == 0 ? a / b : (a == 0 && b == 0 ? 0 : -1);
        bound[i] = y;
    }
}

void rgmi_dim_text(char *text, size_t size, const rgm_cgraph *graph, rgm_dim dim)
{
    static const char sign[] = {' ', '+', '*', '/', '\\'};
    size_t used = strlen(text);

    if (used + 1 >= size)
        return;
    if (dim >= 0) {
        snprintf(text + used, size - used, "%lld", (long long)dim);
        return;
    }
    if (dim == RGM_INFER || -dim > graph->symbol_count) {
        snprintf(text + used, size - used, "?");
        return;
    }
    const rgmi_symbol *s = &graph->symbols[-dim - 1];
    if (s->kind == RGMI_FREE && s->name != NULL) {
        snprintf(text + used, size - used, "%s", s->name);
    } else if (s->kind == RGMI_FREE) {
        snprintf(text + used, size - used, "#%lld", (long long)-dim);
    } else {
        snprintf(text + used, size - used, "(");
        rgmi_dim_text(text, size, graph, s->a);
        used = strlen(text);
        snprintf(text + used, size - used, "%c", sign[s->kind]);
        rgmi_dim_text(text, size, graph, s->b);
        used = strlen(text);
        snprintf(text + used, size - used, ")");
    }
}

const char *rgm_dim_describe(const rgm_cgraph *graph, rgm_dim dim, char *buffer, size_t size)
{
    size_t used;

    buffer[0] = '\0';
    rgmi_dim_text(buffer, size, graph, dim);
    used = strlen(buffer);
    if (used >= 2 && buffer[0] == '(' && buffer[used - 1] == ')') {
        memmove(buffer, buffer + 1, used - 2);
        buffer[used - 2] = '\0';
    }
    return buffer;
}

const char *rgm_cgraph_symbol_name(const rgm_cgraph *graph, rgm_dim dim)
{
    return dim < 0 && -dim - 1 < graph->symbol_count ? graph->symbols[-dim - 1].name : NULL;
}
