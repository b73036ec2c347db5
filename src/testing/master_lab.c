/*
 * A master to be killed: at work in a folder with fake trials until every experiment is over.
 *
 *     master_lab FOLDER SLOTS
 */
#include "master_check.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    rgm_master *master = open_master(argv[1], atol(argv[2]));
    rgm_status status = rgm_master_serve(master, all_over, NULL);

    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_master_close(master);
    return status == RGM_OK ? 0 : 1;
}
