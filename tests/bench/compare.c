/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * compare: homenode simulate with the peers as further policies.
 */
#include <stdio.h>

#include "bench/peers/peers.h"
#include "command/command.h"
#include "command/simulate.h"

int main(int argc, char **argv)
{
        static const struct hn_contender *const contenders[] = {
                &hn_contender_homenode, &hn_contender_homenode_start,
                &peer_numad,            &peer_numad_reserved,  &peer_xen,       &peer_nova_pack,
                &peer_nova_spread,      &peer_kubelet,     &peer_kubelet_closest, &peer_esxi,      &peer_first_fit,
                &peer_kernel_node,      &hn_contender_libvirt,
        };
        int r = hn_simulate("compare", contenders, sizeof contenders / sizeof *contenders, argc, argv);

        return fflush(stdout) == 0 ? r : HN_EXIT_FAILED;
}
