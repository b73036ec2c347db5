/*
 * Where a task goes: on one agent, or on whole ones of an equal size.
 */
#include "scheduler.h"

/* Whether agent a is to be taken before b, both with room. Of equals the first. */
static bool is_better(int64_t a, int64_t b, const int64_t *free, const int64_t *sizes, bool spread)
{
    if (!spread)
        return free[a] < free[b];
    return (double)free[a] / (double)sizes[a] > (double)free[b] / (double)sizes[b];
}

static int64_t place_on_one(rgmi_agent_slots *places, int64_t slots, const int64_t *free,
                            const int64_t *sizes, int64_t num_agents, bool spread)
{
    int64_t best = -1;

    for (int64_t a = 0; a < num_agents; a++)
        if (free[a] >= slots && sizes[a] > 0 &&
            (best < 0 || is_better(a, best, free, sizes, spread)))
            best = a;
    if (best < 0)
        return 0;
    places[0] = (rgmi_agent_slots){.agent = best, .slots = slots};
    return 1;
}

/* The largest size below `below` that an idle agent has, that divides `slots`, and of which there
 * are enough; 0: none. */
static int64_t size_for(int64_t slots, const int64_t *free, const int64_t *sizes,
                        int64_t num_agents)
{
    int64_t below = INT64_MAX;

    for (;;) {
        int64_t size = 0, idle = 0;

        for (int64_t a = 0; a < num_agents; a++) {
            if (sizes[a] <= size || sizes[a] >= below || free[a] < sizes[a])
                continue;
            size = sizes[a];
        }
        if (size == 0)
            return 0;
        for (int64_t a = 0; a < num_agents; a++)
            idle += sizes[a] == size && free[a] >= size;
        if (slots % size == 0 && slots / size <= idle)
            return size;
        below = size;
    }
}

int64_t rgmi_place_task(rgmi_agent_slots *places, int64_t slots, const int64_t *free,
                        const int64_t *sizes, int64_t num_agents, bool spread)
{
    int64_t count = place_on_one(places, slots, free, sizes, num_agents, spread);
    int64_t size;

    if (count > 0 || slots <= 1 || num_agents < 2)
        return count;
    size = size_for(slots, free, sizes, num_agents);
    for (int64_t a = 0; size > 0 && a < num_agents && count < slots / size; a++)
        if (sizes[a] == size && free[a] >= size)
            places[count++] = (rgmi_agent_slots){.agent = a, .slots = size};
    return count;
}
