/*
 * The numbers that are wanted now: who makes which, what has come, what the trainer got. Each
 * number is given once, whoever makes it and however often it comes.
 */
#include "service_internal.h"

rgm_status rgmi_places_create(rgmi_service_places *places, int64_t ahead)
{
    *places = (rgmi_service_places){.ahead = ahead, .end = INT64_MAX};
    return RGM_NEW(places->items, ahead);
}

static void place_clear(rgmi_service_place *place)
{
    rgm_element_release(place->element);
    rgm_free(place->error);
    rgm_text_clear(&place->after);
    *place = (rgmi_service_place){.state = RGMI_PLACE_FREE};
}

void rgmi_places_clear(rgmi_service_places *places)
{
    for (int64_t i = 0; places->items != NULL && i < places->ahead; i++)
        place_clear(&places->items[i]);
    rgm_free(places->items);
    rgm_free(places->given);
    rgm_text_clear(&places->base);
    *places = (rgmi_service_places){0};
}

static bool was_given(const rgmi_service_places *places, int64_t number)
{
    for (int64_t i = 0; i < places->given_count; i++)
        if (places->given[i] == number)
            return true;
    return false;
}

static rgmi_service_place *slot(const rgmi_service_places *places, int64_t number)
{
    return &places->items[number % places->ahead];
}

static void enter(const rgmi_service_places *places, int64_t number)
{
    rgmi_service_place *place = slot(places, number);

    place_clear(place);
    if (was_given(places, number))
        place->state = RGMI_PLACE_GIVEN;
}

static void pass_given(rgmi_service_places *places)
{
    while (slot(places, places->low)->state == RGMI_PLACE_GIVEN) {
        places->low++;
        enter(places, places->low + places->ahead - 1);
    }
}

rgm_status rgmi_places_begin(rgmi_service_places *places, const rgm_text *position, int64_t first,
                             const int64_t *given, int64_t count)
{
    rgm_text base = {0};
    int64_t *copy = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_text_add(&base, position->data, position->size));
    RGM_GO(RGM_NEW(copy, count));
    for (int64_t i = 0; i < count; i++)
        copy[i] = given[i];
    rgm_text_clear(&places->base);
    rgm_free(places->given);
    places->base = base;
    places->given = copy;
    places->given_count = count;
    places->base_number = places->low = first;
    places->end = INT64_MAX;
    for (int64_t n = first; n < first + places->ahead; n++)
        enter(places, n);
    pass_given(places);
    return RGM_OK;
done:
    rgm_text_clear(&base);
    rgm_free(copy);
    return status;
}

rgmi_service_place *rgmi_places_at(const rgmi_service_places *places, int64_t number)
{
    return number >= places->low && number < places->low + places->ahead ? slot(places, number)
                                                                         : NULL;
}

int64_t rgmi_places_free(const rgmi_service_places *places)
{
    for (int64_t n = places->low; n < places->end && rgmi_places_at(places, n) != NULL; n++)
        if (slot(places, n)->state == RGMI_PLACE_FREE)
            return n;
    return -1;
}

int64_t rgmi_places_ready(const rgmi_service_places *places, rgm_service_order order)
{
    int64_t found = -1;

    for (int64_t n = places->low; rgmi_places_at(places, n) != NULL; n++) {
        const rgmi_service_place *place = slot(places, n);

        if (place->state == RGMI_PLACE_MADE &&
            (found < 0 || place->arrival < slot(places, found)->arrival))
            found = n;
        if (order == RGM_SERVICE_RECIPE)
            break;
    }
    return found;
}

/** The newest position behind which nothing was given, for workers that come later. */
static void keep_base(rgmi_service_places *places, int64_t number, const rgm_text *after)
{
    rgm_text copy = {0};

    if (number != places->low || after->size == 0 ||
        rgm_text_add(&copy, after->data, after->size) != RGM_OK)
        return;
    rgm_text_clear(&places->base);
    places->base = copy;
    places->base_number = number + 1;
}

void rgmi_places_give(rgm_made *out, char **error, bool *counted, rgmi_service_places *places,
                      int64_t number)
{
    rgmi_service_place *place = slot(places, number);

    *out = (rgm_made){number, place->status, place->element, place->after};
    *error = place->error;
    *counted = place->counted;
    keep_base(places, number, &place->after);
    /* An error that takes no element's place, such as too little memory, costs no element. */
    *place = (rgmi_service_place){
        .state = place->status == RGM_OK || place->counted ? RGMI_PLACE_GIVEN : RGMI_PLACE_FREE};
    pass_given(places);
}

/* An error that takes no element's place is met where there may be none. */
static bool has_element(const rgmi_service_place *place)
{
    return place->state == RGMI_PLACE_GIVEN ||
           (place->state == RGMI_PLACE_MADE && (place->status == RGM_OK || place->counted));
}

bool rgmi_places_may_end(const rgmi_service_places *places, int64_t end)
{
    bool may = end >= places->low;

    for (int64_t n = end; may && n < places->low + places->ahead; n++)
        may = !has_element(slot(places, n));
    for (int64_t i = 0; may && i < places->given_count; i++)
        may = places->given[i] < end;
    return may;
}

int64_t rgmi_places_drop(rgmi_service_places *places, int64_t worker)
{
    int64_t count = 0;

    for (int64_t i = 0; i < places->ahead; i++) {
        rgmi_service_place *place = &places->items[i];

        if (place->state != RGMI_PLACE_UNDER_WAY || place->worker != worker)
            continue;
        place->state = RGMI_PLACE_FREE;
        count++;
    }
    return count;
}

void rgmi_places_count(int64_t counts[4], const rgmi_service_places *places)
{
    memset(counts, 0, 4 * sizeof *counts);
    for (int64_t n = places->low; n < places->end && rgmi_places_at(places, n) != NULL; n++)
        counts[slot(places, n)->state]++;
}
