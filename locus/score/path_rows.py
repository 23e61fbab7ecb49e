"""Rows of the workspace ``paths`` of the path-set kernels: what a component expects of each traced path."""

SINE, DELAY, WEAKNESS, SINE_VARIANCE, DELAY_VARIANCE, CENTRE, INVERSE, TAIL_CENTRE, TAIL_INVERSE = range(9)
"""Sine, delay and weakness of a path, variances of the first two, and centre and inverse of its strength, as from
:func:`locus.score.strength.shape`: of an undisturbed estimate, and of a disturbed one, in the tail."""
ODDS, LOG_ODDS, AZIMUTH, MISS, SHARE, LOG_SHARE = range(9, 15)
"""Odds of being found, and their logarithm; azimuth; probability of a miss above the threshold; share of disturbed
estimates, and its logarithm."""
NUM_ROWS = 15
