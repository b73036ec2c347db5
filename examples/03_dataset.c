/* A data set as a recipe, an iterator, and a position saved and restored by another iterator. */
#include <stdio.h>

#include <regimen/data.h>

static rgm_status print_next(rgm_iterator *iterator)
{
    rgm_element *batch;

    RGM_TRY(rgm_iterator_next(&batch, iterator));
    for (int64_t i = 0; i < rgm_element_count(batch); i++)
        printf(" %lld",
               (long long)rgm_tensor_at_int(rgm_element_tensor(rgm_element_item(batch, i), 0), 0));
    printf("\n");
    rgm_element_release(batch);
    return RGM_OK;
}

static rgm_status read_some(void)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_iterator *first = NULL, *second = NULL;
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_text position = {0};

    options.seed = 42;
    RGM_GO(rgm_dataset_range(&data, 0, 10));
    RGM_GO(rgm_dataset_shuffle(&data, 4));
    RGM_GO(rgm_dataset_batch(&data, 3, false));
    RGM_GO(rgm_iterator_create(&first, data, &options));
    RGM_GO(print_next(first));
    RGM_GO(rgm_iterator_save(&position, first));
    printf("next, by the same iterator:");
    RGM_GO(print_next(first));
    RGM_GO(rgm_iterator_create(&second, data, &options));
    RGM_GO(rgm_iterator_restore(second, position.data, position.size));
    printf("next, by a restored one:   ");
    RGM_GO(print_next(second));
done:
    rgm_text_clear(&position);
    rgm_iterator_release(first);
    rgm_iterator_release(second);
    rgm_dataset_release(data);
    return status;
}

int main(void)
{
    if (read_some() != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        return 1;
    }
    return 0;
}
