/*
 * data: elements as bytes, to send them to another process. What is decoded is checked first: the
 * bytes may come from anywhere.
 */
#ifndef REGIMEN_DATA_CODE_H
#define REGIMEN_DATA_CODE_H

#include <regimen/data_op.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Lists of lists of lists ...: the deepest that is encoded. */
#define RGM_MOST_ELEMENT_LEVELS 16

/**
 * Append an element as bytes: kind, content and origin. The same content gives the same bytes. What
 * is encoded stays valid between machines of one byte order, and within one version of Regimen.
 * Errors: RGM_ERR_UNSUPPORTED (a pointer whose type has no `encode`; deeper lists than
 * RGM_MOST_ELEMENT_LEVELS; a tensor of a device), those of the type's encode, RGM_ERR_NOMEM; `out`
 * is then as it was.
 */
rgm_status rgm_element_encode(rgm_text *out, const rgm_element *element);
/**
 * The element of such bytes.
 *
 * @param out    [out, owned]
 * @param types  [in] those that its pointers may have, ended by NULL; NULL: it holds no pointers
 *
 * Errors: RGM_ERR_FORMAT (damaged, cut), RGM_ERR_NOT_FOUND (a pointer of another type), those of
 * the type's decode, RGM_ERR_NOMEM.
 */
rgm_status rgm_element_decode(rgm_element **out, const void *data, int64_t size,
                              const rgm_element_type *const *types);
/**
 * Whether an element, which may come from anywhere, has the form of another one, so that who takes
 * that takes it: the same kind, as many tensors of the same dtypes and ranks, items of that form,
 * objects as their type's `check_like` says. Sizes may differ.
 * Errors: RGM_ERR_DATA (what differs), those of the type's check_like.
 */
rgm_status rgm_element_check_like(const rgm_element *element, const rgm_element *like);

/** Append a tensor of any dtype and shape to a state. Errors: RGM_ERR_UNSUPPORTED (of a device),
 * RGM_ERR_NOMEM. */
rgm_status rgm_state_put_tensor(rgm_text *out, const rgm_tensor *tensor);
/**
 * Read what rgm_state_put_tensor() wrote.
 *
 * @param out  [out, owned] a copy, NULL after an error
 *
 * Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM.
 */
rgm_status rgm_state_get_tensor(rgm_tensor **out, rgm_state_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
