/*
 * Offsets in the arena, best fit: the largest piece of memory first, each into the tightest gap
 * between those that live at the same time. Batches of graphs have other sizes each time: a small
 * plan whose pieces live as those of the one before and fit into their room takes its offsets, and
 * where one does not fit, room is made for what either needs, up to a quarter more in all than the
 * largest needs. And the sequence of ops: as written, or
 * greedily the op that leaves the least memory in use, whichever has the lower peak.
 */
#include "executor_internal.h"
#include <math.h>
#include <stdlib.h>

bool rgmi_any_input(const rgm_op_type *type)
{
    return type->elementwise || type == &rgmi_map_op_type || type == &rgmi_dropout_add_op;
}

int rgmi_plan_in_place(const rgmi_plan *plan, const rgm_value *y, const rgm_executor *executor)
{
    if (y->type->in_place)
        return rgmi_any_input(y->type) ? y->inputs : 1;
    return y->type == &rgmi_matmul_op &&
           rgmi_matmul_in_place(&y->attributes, &plan->views[y->in[0]->slot], &plan->views[y->slot],
                                executor->device);
}

enum {
    ALIGN = 64,
    ROOM_MOST = 16 << 20 /* an arena above it has no room to spare: what it is for takes longer */
};

typedef struct item {
    size_t size, offset;
    int64_t begin, end, slot;
    bool scratch;
} item;

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static int by_size(const void *a, const void *b)
{
    const item *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Whether the pieces of memory live as those of `like` do: their sizes may differ. */
static bool lives_alike(const rgmi_plan *plan, const rgmi_plan *like, const rgm_executor *executor)
{
    if (plan->prologue != like->prologue || plan->step_count != like->step_count ||
        memcmp(plan->steps, like->steps, (size_t)plan->step_count * sizeof *plan->steps) != 0)
        return false;
    for (int64_t s = 0; s < executor->count; s++) {
        const rgmi_place *a = &plan->place[s], *b = &like->place[s];
        if (a->where != b->where || a->root != b->root || a->begin != b->begin || a->end != b->end)
            return false;
    }
    return true;
}

/* Room for what each piece needs, and for what it needed in a plan like this one (NULL: none). */
static void room_make(rgmi_plan *plan, const rgmi_plan *like, const rgm_executor *executor)
{
    for (int64_t s = 0; s < executor->count; s++) {
        rgmi_place *p = &plan->place[s];
        p->room = p->where == RGMI_ARENA && p->root == s ? aligned(most(p->bytes, 1)) : 0;
        p->scratch_room = aligned(p->scratch);
        if (like != NULL) {
            p->room = most(p->room, like->place[s].room);
            p->scratch_room = most(p->scratch_room, like->place[s].scratch_room);
        }
    }
}

/* The offsets of a plan like this one, if there is as much room as is wanted now. */
static bool room_take(rgmi_plan *plan, const rgmi_plan *like, const rgm_executor *executor)
{
    for (int64_t s = 0; s < executor->count; s++)
        if (plan->place[s].room > like->place[s].room ||
            plan->place[s].scratch_room > like->place[s].scratch_room)
            return false;
    for (int64_t s = 0; s < executor->count; s++) {
        rgmi_place *p = &plan->place[s];
        p->offset = like->place[s].offset;
        p->room = like->place[s].room;
        p->scratch_offset = like->place[s].scratch_offset;
        p->scratch_room = like->place[s].scratch_room;
    }
    plan->arena_bytes = like->arena_bytes;
    return true;
}

static int64_t items_collect(item *items, const rgmi_plan *plan, const rgm_executor *executor)
{
    int64_t count = 0;

    for (int64_t s = 0; s < executor->count; s++) {
        const rgmi_place *p = &plan->place[s];
        if (p->where == RGMI_ARENA && p->root == s && p->begin >= 0)
            items[count++] = (item){.size = p->room, .begin = p->begin, .end = p->end, .slot = s};
    }
    for (int64_t i = 0; i < plan->step_count; i++) {
        const rgmi_place *p = &plan->place[plan->steps[i]];
        if (p->scratch_room > 0)
            items[count++] = (item){.size = p->scratch_room,
                                    .begin = i,
                                    .end = i,
                                    .slot = plan->steps[i],
                                    .scratch = true};
    }
    return count;
}

/* `placed` is sorted by offset. */
static size_t gap_find(const item *it, item *const *placed, int64_t count)
{
    size_t cursor = 0, best = 0, tightest = SIZE_MAX;

    for (int64_t i = 0; i < count; i++) {
        const item *p = placed[i];
        if (p->end < it->begin || it->end < p->begin)
            continue;
        if (p->offset >= cursor + it->size && p->offset - cursor < tightest) {
            tightest = p->offset - cursor;
            best = cursor;
        }
        if (p->offset + p->size > cursor)
            cursor = p->offset + p->size;
    }
    return tightest == SIZE_MAX ? cursor : best;
}

static void place_insert(item **placed, int64_t count, item *it)
{
    int64_t i = count;

    for (; i > 0 && placed[i - 1]->offset > it->offset; i--)
        placed[i] = placed[i - 1];
    placed[i] = it;
}

/* Offsets for the rooms; items, placed: room for as many as there may be. */
static void offsets_find(rgmi_plan *plan, const rgm_executor *executor, item *items, item **placed)
{
    int64_t count = items_collect(items, plan, executor);
    size_t all = 0;

    plan->arena_bytes = ALIGN;
    if (count > 0)
        qsort(items, (size_t)count, sizeof *items, by_size);
    for (int64_t i = 0; i < count; i++) {
        item *it = &items[i];
        it->offset = executor->options.eager ? all : gap_find(it, placed, i);
        all += it->size;
        place_insert(placed, i, it);
        if (it->offset + it->size > plan->arena_bytes)
            plan->arena_bytes = it->offset + it->size;
        if (it->scratch)
            plan->place[it->slot].scratch_offset = it->offset;
        else
            plan->place[it->slot].offset = it->offset;
    }
    for (int64_t s = 0; s < executor->count; s++) /* results in place: their root's offset */
        if (plan->place[s].where == RGMI_ARENA)
            plan->place[s].offset = plan->place[plan->place[s].root].offset;
}

/* The last plan, if this one may go by it: it lives alike and is small. */
static const rgmi_plan *plan_like(const rgmi_plan *plan, const rgm_executor *executor)
{
    const rgmi_plan *like = executor->options.eager ? NULL : executor->current;

    if (like == NULL || like->arena_bytes > ROOM_MOST || !lives_alike(plan, like, executor))
        return NULL;
    return like;
}

rgm_status rgmi_plan_place(rgmi_plan *plan, rgm_executor *executor)
{
    rgm_status status = RGM_OK;
    const rgmi_plan *like = plan_like(plan, executor);
    item *items = NULL, **placed = NULL;

    room_make(plan, NULL, executor);
    if (like != NULL && room_take(plan, like, executor))
        return RGM_OK;
    RGM_GO(RGM_NEW(items, executor->count + plan->step_count));
    RGM_GO(RGM_NEW(placed, executor->count + plan->step_count));
    offsets_find(plan, executor, items, placed);
    executor->arena_least = most(executor->arena_least, plan->arena_bytes);
    if (like != NULL) {
        room_make(plan, like, executor);
        offsets_find(plan, executor, items, placed);
    }
    if (like != NULL && plan->arena_bytes > executor->arena_least + executor->arena_least / 4) {
        room_make(plan, NULL, executor);
        offsets_find(plan, executor, items, placed);
    }
done:
    rgm_free(items);
    rgm_free(placed);
    return status;
}

/* ---- sequence ---- */

typedef struct memory {
    int64_t *left;  /* by root slot: reads still to come                            */
    int64_t *root;  /* by slot                                                      */
    int64_t *waits; /* by slot: inputs not computed yet                            */
    size_t used, peak;
} memory;

static bool in_arena(const rgmi_plan *plan, const rgm_executor *executor, int64_t s)
{
    return executor->order[s]->type != NULL && !plan->place[s].kept &&
           !executor->order[s]->s.is_pattern;
}

static void memory_reset(memory *m, const rgm_executor *executor)
{
    m->used = m->peak = 0;
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        bool view = v->type != NULL && v->type->is_view != NULL && v->type->is_view(v);
        m->left[s] = 0;
        m->waits[s] = v->inputs;
        m->root[s] = view ? m->root[v->in[0]->slot] : s;
    }
    for (int64_t s = 0; s < executor->count; s++)
        for (int k = 0; k < executor->order[s]->inputs; k++)
            m->left[m->root[executor->order[s]->in[k]->slot]]++;
    for (int64_t i = 0; i < executor->fetch_count; i++)
        m->left[m->root[executor->fetch[i]->slot]]++;
}

/* Bytes that running s now would free. */
static size_t freed(const memory *m, const rgm_executor *executor, const rgmi_plan *plan, int64_t s)
{
    const rgm_value *v = executor->order[s];
    size_t bytes = 0;

    for (int k = 0; k < v->inputs; k++) {
        int64_t root = m->root[v->in[k]->slot], reads = 0;
        bool first = true;
        for (int j = 0; j < v->inputs; j++) {
            bool same = m->root[v->in[j]->slot] == root;
            reads += same;
            first = first && !(same && j < k);
        }
        if (first && m->left[root] == reads && m->root[s] != root && in_arena(plan, executor, root))
            bytes += plan->place[root].bytes;
    }
    return bytes;
}

static size_t taken(const memory *m, const rgm_executor *executor, const rgmi_plan *plan, int64_t s)
{
    return m->root[s] == s && in_arena(plan, executor, s) ? plan->place[s].bytes : 0;
}

/* Whether s can be written over an input that it is the last to read. */
static bool takes_over(const memory *m, const rgm_executor *executor, const rgmi_plan *plan,
                       int64_t s)
{
    const rgm_value *v = executor->order[s];
    int last = v->type != NULL ? rgmi_plan_in_place(plan, v, executor) : 0;

    for (int k = 0; k < last; k++) {
        int64_t root = m->root[v->in[k]->slot];
        if (m->left[root] == 1 && in_arena(plan, executor, root) &&
            plan->place[root].bytes == plan->place[s].bytes)
            return true;
    }
    return false;
}

static void memory_run(memory *m, const rgm_executor *executor, const rgmi_plan *plan, int64_t s)
{
    const rgm_value *v = executor->order[s];
    size_t give = freed(m, executor, plan, s), take = taken(m, executor, plan, s);
    size_t over = take > 0 && takes_over(m, executor, plan, s) ? take : 0;

    m->used += take;
    if (m->used - over > m->peak)
        m->peak = m->used - over;
    m->used -= give;
    for (int k = 0; k < v->inputs; k++)
        m->left[m->root[v->in[k]->slot]]--;
}

/* The first op from s on that runs in turn; [count]: there is none. */
static int64_t next_in_turn(const rgm_executor *executor, int64_t s)
{
    while (s < executor->count &&
           (executor->order[s]->type == NULL || !executor->order[s]->type->in_turn))
        s++;
    return s;
}

static bool is_late(const rgm_executor *executor, int64_t s)
{
    return executor->order[s]->type != NULL && executor->order[s]->type->late;
}

/* Whether the op would run before another whose turn it is. */
static bool is_early(const rgm_executor *executor, int64_t s, int64_t turn)
{
    return executor->order[s]->type != NULL && executor->order[s]->type->in_turn && s != turn;
}

/* Greedy list: of the ops that could run, the one after which least memory is in use. What others
 * wait for begins as soon as it can, and waiting is put off. */
static void greedy(int64_t *sequence, memory *m, const rgm_executor *executor,
                   const rgmi_plan *plan, int64_t *ready)
{
    int64_t ready_count = 0, done = 0, turn = next_in_turn(executor, 0);

    for (int64_t s = 0; s < executor->count; s++)
        if (m->waits[s] == 0)
            ready[ready_count++] = s;
    while (ready_count > 0) {
        int64_t best = -1;
        double lowest = 0;
        for (int64_t i = 0; i < ready_count; i++) {
            int64_t s = ready[i];
            if (is_early(executor, s, turn))
                continue;
            double growth =
                (double)taken(m, executor, plan, s) - (double)freed(m, executor, plan, s);
            if (s == turn)
                growth = -INFINITY;
            else if (is_late(executor, s))
                growth = INFINITY;
            if (best < 0 || growth < lowest || (growth == lowest && s < ready[best])) {
                best = i;
                lowest = growth;
            }
        }
        int64_t s = ready[best]; /* the op whose turn it is waits for none that is early */
        if (s == turn)
            turn = next_in_turn(executor, s + 1);
        ready[best] = ready[--ready_count];
        memory_run(m, executor, plan, s);
        sequence[done++] = s;
        for (int64_t u = s + 1; u < executor->count; u++)
            for (int k = 0; k < executor->order[u]->inputs; k++)
                if (executor->order[u]->in[k]->slot == s && --m->waits[u] == 0)
                    ready[ready_count++] = u;
    }
}

rgm_status rgmi_plan_sequence(rgm_executor *executor, const rgmi_plan *plan)
{
    rgm_status status = RGM_OK;
    int64_t n = executor->count, *sequence = NULL, *numbers = NULL;
    bool by_memory = !executor->options.eager && !executor->options.no_fusion;
    memory m;

    RGM_GO(RGM_NEW(sequence, n));
    RGM_GO(RGM_NEW(numbers, 4 * n));
    m = (memory){.left = numbers, .root = numbers + n, .waits = numbers + 2 * n};
    memory_reset(&m, executor);
    for (int64_t s = 0; s < n; s++)
        memory_run(&m, executor, plan, s);
    size_t written = m.peak;
    if (by_memory) {
        memory_reset(&m, executor);
        greedy(sequence, &m, executor, plan, numbers + 3 * n);
    }
    if (!by_memory || (m.peak >= written && next_in_turn(executor, 0) == n))
        for (int64_t s = 0; s < n; s++)
            sequence[s] = s;
    executor->sequence = sequence;
    sequence = NULL;
done:
    rgm_free(sequence);
    rgm_free(numbers);
    return status;
}
