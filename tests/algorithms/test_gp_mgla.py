"""GP-MGLA."""

import quorate as qt
from support import raises


def test_graph_methods_are_limited_by_the_number_of_clusters():
    labels = [[0, 0, 0, 1, 1, 1]]
    with raises("more-clusters-than-members-have", "n_clusters"):
        qt.GPMGLA(n_clusters=3).fit(labels)
