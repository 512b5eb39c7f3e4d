/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The domains that libvirt told of, by its driver for tests; and what is asked about those that it did not tell of.
 */
#include "daemon/known.h"

#include <errno.h>

#include "daemon/asking.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

#define UUID "0a1b2c3d-4e5f-4a6b-8c7d-%012u"
#define XML "<domain type='test'><name>n%u</name><uuid>" UUID "</uuid><memory unit='MiB'>64</memory><vcpu>1</vcpu>" \
        "<os><type arch='x86_64'>hvm</type></os></domain>"

static virConnectPtr libvirt;

static int set_up(void **state)
{
        (void) state;
        libvirt = virConnectOpen("test:///default");
        return libvirt ? 0 : -1;
}

static int tear_down(void **state)
{
        (void) state;
        return virConnectClose(libvirt) == 0 ? 0 : -1;
}

static virDomainPtr define(unsigned i)
{
        HN_FREE char *xml = NULL;
        virDomainPtr domain;

        assert_true(asprintf(&xml, XML, i, i) > 0);
        domain = virDomainDefineXML(libvirt, xml);
        assert_non_null(domain);
        return domain;
}

static void each_is_found_until_it_is_removed(void **state)
{
        struct hn_known known = { 0 };
        char uuid[HN_UUID_LENGTH + 1];
        (void) state;

        assert_null(hn_known_find(&known, "0a1b2c3d-4e5f-4a6b-8c7d-000000000000"));
        for (unsigned i = 0; i < 50; i++) {
                virDomainPtr domain = define(i);

                hn_known_add(&known, domain);
                assert_int_equal(virDomainUndefine(domain), 0);
                assert_int_equal(virDomainFree(domain), 0);
        }
        for (unsigned i = 0; i < 50; i += 2) {
                (void) snprintf(uuid, sizeof uuid, UUID, i);
                hn_known_remove(&known, uuid, hn_known_find(&known, uuid));
                assert_null(hn_known_find(&known, uuid));
                hn_known_remove(&known, uuid, NULL);
        }
        for (unsigned i = 1; i < 50; i += 2) {
                char name[16];

                (void) snprintf(uuid, sizeof uuid, UUID, i);
                (void) snprintf(name, sizeof name, "n%u", i);
                assert_string_equal(virDomainGetName(hn_known_find(&known, uuid)), name);
        }
        hn_known_clear(&known);
        assert_null(hn_known_find(&known, "0a1b2c3d-4e5f-4a6b-8c7d-000000000001"));
}

static void what_came_since_is_not_removed(void **state)
{
        struct hn_known known = { 0 };
        virDomainPtr before = define(1), since;
        (void) state;

        hn_known_add(&known, before);
        assert_int_equal(virDomainUndefine(before), 0);
        since = define(1);
        hn_known_add(&known, since);
        assert_int_equal(known.n, 1);
        hn_known_remove(&known, "0a1b2c3d-4e5f-4a6b-8c7d-000000000001", before);
        assert_ptr_equal(hn_known_find(&known, "0a1b2c3d-4e5f-4a6b-8c7d-000000000001"), since);
        assert_int_equal(virDomainUndefine(since), 0);
        (void) virDomainFree(before);
        (void) virDomainFree(since);
        hn_known_clear(&known);
}

static void no_signal(void *data, enum hn_signal signal)
{
        (void) data;
        (void) signal;
}

static void ask(void *data, virConnectPtr connection)
{
        assert_non_null(connection);
        ++*(unsigned *) data;
}

static void keep(void *data)
{
        (void) data;
}

/* Looking it up could hold up all others. */
static void only_what_libvirt_told_of_is_asked_about(void **state)
{
        HN_LOOP struct hn_loop *loop = NULL;
        struct hn_asking *asking = NULL;
        struct tree tree;
        unsigned asked = 0;
        virDomainPtr domain;
        struct hn_question question = { .uuid = "0a1b2c3d-4e5f-4a6b-8c7d-000000000001", .data = &asked, .ask = ask,
                                        .free = keep };
        (void) state;

        tree_make(&tree);
        assert_int_equal(hn_loop_open(no_signal, NULL, &loop), 0);
        assert_int_equal(hn_asking_new(&tree.root, HN_ASKING_SLOW_MS, &asking), 0);
        hn_asking_use(asking, "test:///default");
        domain = define(1);
        assert_int_equal(hn_asking_wait(asking, &question, 20000), -EAGAIN);
        hn_asking_meet(asking, domain);
        assert_int_equal(hn_asking_wait(asking, &question, 20000), 0);
        question.uuid = "0a1b2c3d-4e5f-4a6b-8c7d-000000000002";
        assert_int_equal(hn_asking_wait(asking, &question, 20000), -EAGAIN);
        /* That one is not there, then, which is worth asking too. */
        hn_asking_met_all(asking);
        assert_int_equal(hn_asking_wait(asking, &question, 20000), 0);
        hn_asking_forget(asking);
        hn_asking_use(asking, "test:///default");
        assert_int_equal(hn_asking_wait(asking, &question, 20000), -EAGAIN);
        assert_int_equal(asked, 2);
        assert_true(hn_asking_close(asking));
        assert_int_equal(virDomainUndefine(domain), 0);
        (void) virDomainFree(domain);
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_is_found_until_it_is_removed),
                cmocka_unit_test(what_came_since_is_not_removed),
                cmocka_unit_test(only_what_libvirt_told_of_is_asked_about),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
