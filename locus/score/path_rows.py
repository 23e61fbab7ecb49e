"""Rows of the workspace ``paths`` of the path-set kernels: what a component expects of each traced path."""

SINE, DELAY, WEAKNESS, SINE_VARIANCE, DELAY_VARIANCE, CENTRE, INVERSE, TAIL_CENTRE, TAIL_INVERSE = range(9)
ODDS, LOG_ODDS, AZIMUTH, MISS, SHARE, LOG_SHARE = range(9, 15)
NUM_ROWS = 15
