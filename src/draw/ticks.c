/* Ranges and ticks: also a short logarithmic axis has numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_internal.h"

#define MOST_TICKS                                                                                 \
    (int)(sizeof((rgmi_chart_axis *)0)->ticks / sizeof *((rgmi_chart_axis *)0)->ticks)

/* "0.25", "200", "20k", "1.5M", "5e-05": as short as the distance between ticks allows. */
static void print_label(char out[16], double value, double distance)
{
    double size = fabs(value);
    const char *unit = "";
    int digits;

    if (distance < 1e-4 || size >= 1e9) {
        snprintf(out, 16, "%.4g", value);
        return;
    }
    if (size >= 1e6) {
        value /= 1e6;
        distance /= 1e6;
        unit = "M";
    } else if (size >= 1e4) {
        value /= 1e3;
        distance /= 1e3;
        unit = "k";
    }
    digits = distance < 1 ? (int)ceil(-log10(distance) - 1e-9) : 0;
    snprintf(out, 16, "%.*f", digits, value);
    if (unit[0] != '\0' && strchr(out, '.') != NULL) {
        size_t end = strlen(out);

        while (out[end - 1] == '0')
            end--;
        out[out[end - 1] == '.' ? end - 1 : end] = '\0';
    }
    strncat(out, unit, 2);
}

static void add_tick(rgmi_chart_axis *a, double at, double value, double distance)
{
    double slack = (a->high - a->low) * 1e-9;

    if (a->count == MOST_TICKS || at < a->low - slack || at > a->high + slack)
        return;
    print_label(a->labels[a->count], value, distance);
    a->ticks[a->count++] = at;
}

/* The smallest of 1, 2, 5, 10, 20, ... that is at least `distance`. */
static double nice(double distance)
{
    double power = pow(10, floor(log10(distance) + 1e-9));

    for (int i = 0; i < 3; i++)
        if ((double[]){1, 2, 5}[i] * power >= distance * (1 - 1e-9))
            return (double[]){1, 2, 5}[i] * power;
    return 10 * power;
}

/* Equal distances between values; on a logarithmic axis they stand at their logarithms. */
static void linear_ticks(rgmi_chart_axis *a, int most, double least)
{
    double low = a->log ? pow(10, a->low) : a->low, high = a->log ? pow(10, a->high) : a->high;
    double distance = nice(fmax((high - low) / most, least));
    double first = ceil(low / distance - 1e-9);

    for (int i = 0; i < MOST_TICKS && (first + i) * distance <= high + distance * 1e-9; i++) {
        double value = (first + i) * distance;

        if (fabs(value) < distance * 1e-9)
            value = 0;
        if (!a->log || value > 0)
            add_tick(a, a->log ? log10(value) : value, value, distance);
    }
}

/* 1, 2 and 5 times each power of ten, or powers alone when there are many. */
static void log_ticks(rgmi_chart_axis *a, int most)
{
    double decades = a->high - a->low;
    int within = decades * 3 <= most + 1 ? 3 : 1;
    double stride = within == 3 ? 1 : fmax(1, ceil(decades / most));

    for (double power = floor(a->low / stride) * stride; power <= a->high; power += stride)
        for (int i = 0; i < within; i++) {
            double value = (double[]){1, 2, 5}[i] * pow(10, power);

            add_tick(a, log10(value), value, value);
        }
}

void rgmi_axis_set(rgmi_chart_axis *a, double low, double high, bool log, int most, double least)
{
    *a = (rgmi_chart_axis){.log = log, .low = low, .high = high};
    if (!log || high - low < 1)
        linear_ticks(a, most, least);
    else
        log_ticks(a, most);
}
