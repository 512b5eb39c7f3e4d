/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a fork and an exec cost by themselves.
 */
int main(void)
{
        return 0;
}
