/* A tensor, a view of it, and what an error looks like. */
#include <stdio.h>

#include <regimen/tensor.h>

int main(void)
{
    rgm_tensor *x = NULL, *row = NULL, *wrong = NULL;
    const float data[] = {1, 2, 3, 4, 5, 6};
    char text[32];

    if (rgm_tensor_create_from(&x, RGM_F32, 2, (int64_t[]){2, 3}, data) != RGM_OK ||
        rgm_tensor_slice(&row, x, 1, 2) != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        return 1;
    }
    printf("x is %s, its last row begins with %g\n", rgm_tensor_describe(x, text, sizeof text),
           (double)rgm_tensor_f32(row)[0]);

    /* A view keeps its base alive. */
    rgm_tensor_release(x);
    printf("and still does: %g\n", rgm_tensor_at(row, 0));
    rgm_tensor_release(row);

    if (rgm_tensor_create(&wrong, RGM_F32, 1, (int64_t[]){-3}) != RGM_OK)
        printf("%s", rgm_error_text());
    return wrong != NULL;
}
