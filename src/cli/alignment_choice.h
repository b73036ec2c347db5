/*
 * Options of verbs that align sources and targets: --alignment and what goes with it.
 */
#ifndef ALIGNMENT_CHOICE_H
#define ALIGNMENT_CHOICE_H

#include <regimen/translation.h>

/** Zero-initialised: none. */
typedef struct alignment_choice {
    bool wanted;
    rgm_alignment_options options;
} alignment_choice;

/** Its options for a verb's table. */
#define ALIGNMENT_ARGUMENTS(choice)                                                                \
    {"alignment", ARG_FLAG, &(choice).wanted, NULL,                                                \
     "which words of source and target go together, by attention: 0-0 1-2 .."},                    \
        {"alignment-pieces", ARG_FLAG, &(choice).options.pieces, NULL,                             \
         "with --alignment: pieces of the tokenizer instead of words"},                            \
    {                                                                                              \
        "alignment-threshold", ARG_FLOAT, &(choice).options.threshold, "X",                        \
            "with --alignment: all links with that attention, not each target's best"              \
    }

/** RGM_ERR_CONFIG: options without --alignment, a threshold out of range. */
static inline rgm_status alignment_choice_check(const alignment_choice *choice)
{
    if (!choice->wanted && (choice->options.pieces || choice->options.threshold != 0))
        return RGM_FAIL(RGM_ERR_CONFIG, "--alignment-%s goes with --alignment",
                        choice->options.pieces ? "pieces" : "threshold");
    return rgm_alignment_check(&choice->options);
}

#endif
