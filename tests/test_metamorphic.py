"""Answers that do not depend on what must not matter: some cases of tests/metamorphic.py, for every relation."""

import numpy as np
import pytest

import metamorphic
import oracles
from metamorphic import CASES, EVERY_SPARK, RELATIONS, check_case, draw, variants
from quorate.algorithms.majority import Majority
from quorate.ensemble import Ensemble


@pytest.mark.parametrize("relation", metamorphic.OF_METHODS + metamorphic.OF_TABLES, ids=lambda one: one.__name__)
def test_relations(relation):
    """Every method once, or every format and engine but Spark."""
    first = RELATIONS.index(relation) * len(variants())
    outcomes = [check_case(seed) for seed in range(first, first + len(variants())) if seed % EVERY_SPARK]
    assert {outcome["relation"] for outcome in outcomes} == {relation.__name__}
    assert sum("excluded" not in outcome for outcome in outcomes) > len(outcomes) / 2


def test_equal_scores_of_k_are_recognized_at_a_rounding_edge():
    """The automatic number of clusters changed with names of labels: two scores were equal to 1e-15."""
    assert check_case(6_603_553)["relation"] == "label_names"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CASES, 1000))
def test_very_many_cases(first):
    for seed in range(first, first + 1000):
        check_case(seed)


def test_majority_moves_patterns_in_an_order_that_names_do_not_change():
    """Moves in the order of label codes ended in other local optima in 4 % of such ensembles."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        labels, weights = draw(rng), rng.random(40) + 0.5
        order = rng.permutation(labels.shape[1])
        renamed = np.stack([np.append(rng.permutation(20), -1)[column] for column in labels.T[order]], axis=1)
        influence = rng.random(labels.shape[1]) + 0.05
        answers = [
            Majority(weights=of_members).fit(
                Ensemble(
                    [[None if x < 0 else x for x in column] for column in table.T], row_weights=weights[: len(table)]
                )
            )
            for table, of_members in ((labels, influence), (renamed, influence[order]))
        ]
        one, other = (oracles.partition(fitted.labels_) for fitted in answers)
        assert one == other, seed
