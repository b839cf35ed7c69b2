/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes, and networks by tag. */
#include "dd_networks.h"
#include "unit.h"

#include "failing_malloc.h"

TEST(arms_come_and_go_in_order)
{
    dd_node node = {.tag = 1}, copy = {0};
    for (int i = 0; i < 9; i++) {
        dd_arm *arm;
        assert_ok(dd_node_add_arm(&node, 10 + i, &arm));
        assert_true(arm->burgers[0] == 0 && arm->home == 0);
        arm->burgers[0] = i;
    }
    double sum[3];
    dd_node_burgers(&node, sum);
    assert_true(sum[0] == 36);
    assert_ok(dd_node_copy(&copy, &node));
    dd_node_remove_arm(&node, dd_node_find_arm(&node, 13));
    dd_node_remove_arm(&node, &node.arm[node.narms - 1]);
    dd_node_remove_arm(&node, &node.arm[0]);
    const dd_tag left[] = {11, 12, 14, 15, 16, 17};
    assert_int_equal(node.narms, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(node.arm[i].tag, left[i]);
    }
    assert_null(dd_node_find_arm(&node, 13));
    assert_int_equal(copy.narms, 9);
    dd_arm *arm;
    assert_ok(dd_node_add_arm(&copy, 99, &arm));
    dd_node_free(&node);
    dd_node_free(&copy);
    assert_ok(dd_node_copy(&copy, &node)); /* no arms */
    assert_ok(dd_node_add_arm(&copy, 5, &arm));
    dd_node_free(&copy);
}

TEST(networks_find_what_was_added_and_not_removed)
{
    enum { TAGS = 300 };
    bool is_in[TAGS] = {false};
    FREED_BY(dd_network_free) dd_network network;
    int64_t n = 0;
    dd_network_init(&network);
    assert_int_equal(dd_network_find(&network, 3), -1);
    for (uint64_t i = 0; i < 4000; i++) {
        const int t = (int)eqp_random_below(11, 0, i, TAGS);
        const dd_tag tag = DD_TAG(t % 3, t / 3);
        const int64_t place = dd_network_find(&network, tag);
        assert_int_equal(place >= 0, is_in[t]);
        if (place < 0) {
            dd_node node = {.tag = tag};
            dd_arm *arm;
            assert_ok(dd_node_add_arm(&node, 7, &arm));
            assert_ok(dd_network_add(&network, &node));
            assert_null(node.arm);
        } else if (i % 2) {
            dd_network_remove(&network, place);
        } else {
            dd_node node;
            dd_network_take(&network, place, &node);
            assert_int_equal(node.tag, tag);
            dd_node_free(&node);
        }
        n += is_in[t] ? -1 : 1;
        is_in[t] = !is_in[t];
        assert_int_equal(network.n, n);
        if (i % 500 == 0) {
            dd_network_sort(&network);
            for (int64_t p = 0; p < network.n; p++) {
                assert_true(p == 0 || network.node[p - 1].tag < network.node[p].tag);
                assert_int_equal(dd_network_find(&network, network.node[p].tag), p);
            }
        }
    }
    dd_node twice = {.tag = network.node[0].tag};
    assert_int_equal(dd_network_add(&network, &twice), EQP_ERR_DATA);
    assert_int_equal(network.n, n);
}

TEST(failing_allocations_change_nothing)
{
    SKIP_IF(!failing_malloc_works);
    for (int64_t k = 0, failures = 1; failures; k++) {
        FREED_BY(dd_network_free) dd_network network;
        dd_node node = {.tag = 1}, copy = {0};
        dd_arm *arm = NULL;
        dd_network_init(&network);
        failing_malloc_start(k);
        int code = dd_node_add_arm(&node, 2, &arm);
        assert_int_equal(node.narms, code == EQP_OK);
        if (code == EQP_OK) {
            code = dd_node_copy(&copy, &node);
            assert_int_equal(copy.narms, code == EQP_OK);
        }
        if (code == EQP_OK) {
            code = dd_network_add(&network, &node);
            assert_int_equal(network.n, code == EQP_OK);
            assert_int_equal(node.arm == NULL, code == EQP_OK);
        }
        failures = failing_malloc_stop();
        assert_int_equal(code, failures ? EQP_ERR_MEMORY : EQP_OK);
        assert_true(failures || k == 4);
        dd_node_free(&node);
        dd_node_free(&copy);
    }
}
