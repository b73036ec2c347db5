/*
 * A bump allocator. Blocks double from 4 KiB up to 1 MiB; an object larger than a block gets its
 * own block. Memory is released only with the whole arena.
 */
#include "base_internal.h"

#include <string.h>

#define FIRST_BLOCK   ((size_t)4096)
#define LARGEST_BLOCK ((size_t)1 << 20)
#define ARENA_ALIGN   ((size_t)16)

typedef struct block {
    _Alignas(16) struct block *next; /* what follows the header begins aligned */
} block;

struct rgm_arena {
    block *blocks; /* newest first */
    char *at;      /* next free byte of the block being filled */
    size_t left, next_size;
};

rgm_status rgm_arena_create(rgm_arena **out)
{
    *out = NULL;
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->next_size = FIRST_BLOCK;
    return RGM_OK;
}

void rgm_arena_release(rgm_arena *arena)
{
    if (arena == NULL)
        return;
    for (block *b = arena->blocks, *next; b != NULL; b = next) {
        next = b->next;
        rgm_free(b);
    }
    rgm_free(arena);
}

static char *new_block(rgm_arena *arena, size_t size)
{
    block *b = rgm_malloc(sizeof *b + size);

    if (b == NULL)
        return NULL;
    b->next = arena->blocks;
    arena->blocks = b;
    return (char *)(b + 1);
}

void *rgm_arena_alloc(rgm_arena *arena, size_t size)
{
    char *memory;

    if (size > PTRDIFF_MAX - 4096)
        return NULL;
    size = size > 0 ? (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : ARENA_ALIGN;
    if (size > arena->left) {
        size_t block_size = arena->next_size - sizeof(block);
        if (size > block_size / 4) { /* its own block; the one being filled stays in use */
            memory = new_block(arena, size);
            return memory != NULL ? memset(memory, 0, size) : NULL;
        }
        memory = new_block(arena, block_size);
        if (memory == NULL)
            return NULL;
        arena->at = memory;
        arena->left = block_size;
        if (arena->next_size < LARGEST_BLOCK)
            arena->next_size *= 2;
    }
    memory = arena->at;
    arena->at += size;
    arena->left -= size;
    return memset(memory, 0, size);
}

char *rgm_arena_strdup(rgm_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = rgm_arena_alloc(arena, size);

    return copy != NULL ? memcpy(copy, text, size) : NULL;
}
