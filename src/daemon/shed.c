/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/shed.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KERNELS_OWN "linux-" /* "linux-vdso.so.1": no file's pages */

/* Segments that may be written hold relocated constants as well; those are left. */
static int shed_library(struct dl_phdr_info *library, size_t size, void *data)
{
        uintptr_t page = *(const uintptr_t *) data;
        (void) size;

        if (strncmp(library->dlpi_name, KERNELS_OWN, strlen(KERNELS_OWN)) == 0)
                return 0;
        for (unsigned i = 0; i < library->dlpi_phnum; i++) {
                const ElfW(Phdr) *part = &library->dlpi_phdr[i];
                uintptr_t start = (uintptr_t) library->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;

                if (part->p_type != PT_LOAD || part->p_flags & PF_W)
                        continue;
                /* whole pages alone: the ends may be shared with the next segment */
                start = (start + page - 1) / page * page;
                end = end / page * page;
                if (start < end)
                        (void) madvise((void *) start, end - start, MADV_DONTNEED);
        }
        return 0;
}

void hn_shed_pages(void)
{
        uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);

        (void) dl_iterate_phdr(shed_library, &page);
}
