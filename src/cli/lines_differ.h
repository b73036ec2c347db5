/* How one text becomes another, line by line, as `diff -u` prints it. */
#ifndef RGM_CLI_LINES_DIFFER_H
#define RGM_CLI_LINES_DIFFER_H

#include <regimen/base.h>

/**
 * Append what is to be done to `a` so that it becomes `b`: "@@ -3,7 +3,8 @@" and lines that begin
 * with ' ', '-' or '+'. Nothing where they are equal; one line that says so where they differ in
 * more than 2,000 lines. (Myers 1986.)
 *
 * Errors: RGM_ERR_NOMEM. Cost: O((lines of both) * lines that differ).
 */
rgm_status lines_differ(rgm_text *out, const char *a, const char *b);

#endif
